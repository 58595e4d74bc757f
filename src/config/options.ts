/**
 * Every option of the configuration file, declared once: its type, default, bounds, unit and meaning. From this schema
 * come the validation and its messages (problems.ts), the type `Options`, and the JSON Schema in config/.
 *
 * An option is here only if something reads it: one that is accepted and ignored would be a promise not kept.
 * Pure.
 */
import * as z from 'zod';
import { isZone } from '../wire/zone.ts';
import { columns, mask, maskedNeeds } from './column-options.ts';
import { history } from './history-option.ts';
import { byteCount, decimalNumber, PRINTABLE, section, text, wholeNumber } from './option-kinds.ts';
import { cron, cronOrAuto } from './cron-options.ts';
import { origin } from './origin-options.ts';
import { SECRET_REFERENCE } from './secrets.ts';

const replica = section(
  {
    path: text({
      pattern: PRINTABLE,
      mustBe: 'must be the path of the SQLite file',
      doc: 'The SQLite file to keep. Its folder must exist; the file is made by the first pull.',
    }),
    shared: z
      .boolean({ error: 'must be true or false' })
      .default(false)
      .meta({
        description:
          'Whether the group of the file may read and write it, as other SQL clients on this machine have to; they also need ' +
          'to write to its folder. Takes effect when the file is opened.',
      }),
    files: text({
      pattern: PRINTABLE,
      mustBe: 'must be the path of the folder for attached files',
      doc:
        'The folder for the content of attached files, of this replica alone; it is made when there is something to put ' +
        'there. By default the path of the replica with .files behind it.',
    }).optional(),
    maskKeyFile: text({
      pattern: PRINTABLE,
      mustBe: 'must be the path of a file',
      doc:
        'The file with the key of the mask hash; it is made, for its owner alone, when a key is first needed. By default the path of the ' +
        'replica with .mask-key behind it. With another key, the masked columns are read anew.',
    }).optional(),
  },
  'The local copy.',
);

const SYNC_DOC = 'When the daemon runs a whole cycle, a pull and then a push; it also does when it starts.';
const PULL_DOC = 'When the daemon brings the replica up to date; by default as sync.';
const PUSH_DOC = 'When the daemon pushes what was edited in tables with push: true; by default as sync.';
const FOLLOW_DOC =
  'When the daemon reads only the rows that were changed, which costs a few requests however large a table is. ' +
  'Deletes show in the number of rows. Of what the origin does not stamp, such as formulas over other tables, most numbers come within ten minutes, the rest with sync. ' +
  'A cron expression of five fields, false for never, or auto: every minute, for tables of 8 pages and more, which sweeping costs more.';
const FILES_DOC =
  'When the daemon looks for attached files and downloads them, apart from the rows. Left out, they come with every pull; ' +
  'false leaves them to rowsync files pull.';
const VERIFY_DOC = 'When the daemon compares every cell with the origin, which costs a request for every page.';

const schedule = section(
  {
    timeZone: text({
      pattern: PRINTABLE,
      mustBe: 'must be the name of a time zone, such as Europe/Paris',
      doc: 'The zone that the expressions are read in, by its IANA name.',
    })
      .refine(isZone, { error: 'must be the name of a time zone, such as Europe/Paris' })
      .default('UTC'),
    sync: cron(SYNC_DOC).default('*/5 * * * *'),
    pull: cron(PULL_DOC).optional(),
    push: cron(PUSH_DOC).optional(),
    follow: cronOrAuto(FOLLOW_DOC).default('auto'),
    files: cron(FILES_DOC).optional(),
    verify: cron(VERIFY_DOC).default(false),
    backup: cron('When the daemon makes a backup in backup.folder.').default(false),
  },
  'When `rowsync daemon` does what.',
);

/** Bytes of a filter of rows in an address; the origin takes no longer ones, with the columns and windows beside it. */
const ROWS_BYTES_MAX = 4_000;
const ROWS_MUST_BE =
  'must be a filter in the language of the origin, in one line of at most 4000 characters as an address has them; left out for all rows';

const SORT_MUST_BE = 'must be a list of 1 to 10 different column names';

const CONFLICT_MUST_BE = 'must be origin, local or ask';
const WORKFLOW_MUST_BE = 'must be run or suppress';

const FILES_MUST_BE = 'must be latest, all or none, or a mapping of revisions, maxFileBytes and types';
const TYPES_MUST_BE = 'must be a list of media types, such as image/png or image/*';

const revisions = z.enum(['latest', 'all', 'none'], { error: 'must be latest, all or none' });

const tableFiles = z
  .union(
    [
      revisions,
      z.strictObject({
        revisions: revisions.optional().meta({
          description: 'Which revisions to fetch: latest (default), all, or none.',
        }),
        maxFileBytes: byteCount('Larger files are left out.'),
        types: z
          .array(z.string({ error: TYPES_MUST_BE }).regex(/^[\w.+-]+\/(?:\*|[\w.+-]+)$/, { error: TYPES_MUST_BE }), {
            error: TYPES_MUST_BE,
          })
          .min(1, { error: TYPES_MUST_BE })
          .optional()
          .meta({ description: 'Only files of these media types are fetched; image/* stands for every image.' }),
      }),
    ],
    { error: FILES_MUST_BE },
  )
  .optional()
  .meta({
    description:
      'Which attached files to fetch: the latest revision of each (default), all revisions, where the column lets its ' +
      'history be seen, or none. A mapping narrows them by size and type as well.',
  });

const tableOptions = section(
  {
    columns,
    mask,
    rows: z
      .string({ error: ROWS_MUST_BE })
      .regex(PRINTABLE, { error: ROWS_MUST_BE })
      .refine((rows) => Buffer.byteLength(encodeURIComponent(rows.toWellFormed())) <= ROWS_BYTES_MAX, {
        error: ROWS_MUST_BE,
      })
      .optional()
      .meta({
        description:
          'Which rows come here: a filter in the language of the origin, such as [Status] <> "Archived". It goes with every request that lists or ' +
          'counts rows. A row that it does not select any more leaves here, and stays at the origin. By default all rows.',
      }),
    files: tableFiles,
    history,
    push: z
      .boolean({ error: 'must be true or false' })
      .optional()
      .meta({
        description:
          'Whether the table may be edited here. Edits are captured and sent to the origin; without it (default), the table ' +
          'is a read-only mirror.',
      }),
    match: text({
      pattern: PRINTABLE,
      mustBe: 'must be the name of a column that is unique and writable at the origin',
      doc:
        'The column that identifies rows, by its name at the origin: unique, and writable. With it, an insert whose answer ' +
        'was lost is never sent twice. Needs push: true.',
    }).optional(),
    conflict: z
      .enum(['origin', 'local', 'ask'], { error: CONFLICT_MUST_BE })
      .optional()
      .meta({
        description:
          'Who wins where a cell was changed here and at the origin: the origin (default), the local edit, or nobody until ' +
          'a person decides. Whoever loses is kept in sync_conflicts. Needs push: true.',
      }),
    workflow: z
      .enum(['run', 'suppress'], { error: WORKFLOW_MUST_BE })
      .optional()
      .meta({
        description:
          'Whether the workflow of the origin runs for what is pushed: run (default) or suppress, which needs the right to ' +
          'manage data. Needs push: true.',
      }),
    sort: z
      .array(z.string({ error: SORT_MUST_BE }).min(1, { error: SORT_MUST_BE }), { error: SORT_MUST_BE })
      .min(1, { error: SORT_MUST_BE })
      .max(10, { error: SORT_MUST_BE })
      .refine((names) => new Set(names).size === names.length, { error: SORT_MUST_BE })
      .optional()
      .meta({
        description:
          'The columns to read the table in order of. By default the time of creation and the key, where the table has ' +
          'them. Set it where another order is cheaper to follow: best is one in which new rows come last.',
      }),
    schedule: section(
      {
        sync: cron(SYNC_DOC).optional(),
        pull: cron(PULL_DOC).optional(),
        push: cron(PUSH_DOC).optional(),
        follow: cronOrAuto(FOLLOW_DOC).optional(),
        files: cron(FILES_DOC).optional(),
        verify: cron(VERIFY_DOC).optional(),
      },
      'Where these tables have a schedule of their own.',
    ).optional(),
  },
  'How to treat the tables that the pattern matches.',
).superRefine((options, context) => {
  for (const { pattern, option, name } of maskedNeeds(options)) {
    const message = `names "${name}", which ${option} needs as it is at the origin`;
    context.addIssue({ code: 'custom', path: ['mask', pattern], message });
  }
  if (options.push === true) return;
  for (const key of ['match', 'conflict', 'workflow'] as const) {
    if (options[key] === undefined) continue;
    context.addIssue({ code: 'custom', path: [key], message: 'says how to push, and needs push: true beside it' });
  }
});

const tables = z
  .record(
    z.string().min(1),
    z.union([tableOptions, z.literal(false)], {
      error: 'must be a mapping of options: {} for the defaults, or false to leave the table alone',
    }),
    { error: 'must be a mapping from table names or patterns to options, such as { "*": {} }' },
  )
  .default({ '*': {} })
  .meta({
    description:
      'Which tables to copy, and how. A key is the singular name of a table or a pattern, in which * stands for any text; ' +
      'the most specific one decides alone. false leaves a table alone, as does matching nothing.',
  });

const limits = section(
  {
    concurrency: wholeNumber({
      from: 1,
      to: 10,
      default: 4,
      unit: 'requests',
      doc: 'How many requests may be under way at the same time; the hosted service refuses more than 10.',
    }),
    requestsPerSecond: decimalNumber({
      from: 0,
      to: 1000,
      default: 0,
      unit: 'requests per second; 0 means as fast as the origin answers',
      doc: 'How many requests may be sent in a second.',
    }),
    pageRows: wholeNumber({
      from: 2,
      to: 500,
      default: 500,
      unit: 'rows',
      doc: 'How many rows to ask for in one request. Smaller pages cost more requests, but less is read again after a change.',
    }),
  },
  'How hard to lean on the origin.',
);

const files = section(
  {
    maxBytes: byteCount(
      'How much attached files may take on disk, all together. Once it is reached, no more are fetched; nothing is deleted.',
    ),
    uploadDir: text({
      pattern: PRINTABLE,
      mustBe: 'must be the path of a folder',
      doc:
        'The folder in which relative names of files to attach are looked up: file:photo.jpg. A relative path starts at the ' +
        'folder of the configuration file. Without it, only absolute names can be attached.',
    }).optional(),
  },
  'Attached files, of all tables together.',
);

const safety = section(
  {
    maxDeletePercent: decimalNumber({
      from: 0,
      to: 100,
      default: 50,
      unit: 'percent of the rows of a table',
      doc:
        'A pull that would delete more than this share of a table here, or a push that would delete more than it at the ' +
        'origin, holds the deletes until it is run with --confirm.',
    }),
    maxPushRows: wholeNumber({
      from: 0,
      to: 10_000_000,
      default: 1000,
      unit: 'rows',
      doc: 'A push that would change more rows of a table than this is held until it is run with --confirm.',
    }),
  },
  'When to stop and ask a person.',
);

const DELAY_MUST_BE = 'must be a whole number of seconds from 0 to 3600, or false to push on schedule only';

const push = section(
  {
    delay: z
      .union([z.int().min(0).max(3600), z.literal(false)], { error: DELAY_MUST_BE })
      .default(5)
      .meta({
        description:
          'How long after the last edit of another client the daemon pushes, without waiting for the schedule; only tables whose ' +
          'pushes are scheduled. false pushes on schedule only. Unit: seconds.',
      }),
  },
  'When edits leave.',
);

const LISTEN_MUST_BE =
  'must be a loopback address with a port, such as 127.0.0.1:8787, the absolute path of a unix socket, or false';

const RECORD_URL_MUST_BE =
  'must be an address with {id} in it, such as https://www.teamdesk.net/secure/db/21995/preview.aspx?t={tableId}&id={id}';

const http = section(
  {
    listen: z
      .union(
        [
          z
            .string()
            .regex(/^(?:(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]):\d{1,5}|\/[^\p{Cc}]+)$/u, { error: LISTEN_MUST_BE }),
          z.literal(false),
        ],
        { error: LISTEN_MUST_BE },
      )
      .refine(
        (address) => address === false || address.startsWith('/') || Number(/\d+$/.exec(address)?.[0]) <= 65_535,
        {
          error: LISTEN_MUST_BE,
        },
      )
      .default(false)
      .meta({
        description:
          'Where the daemon shows its status page (/) and answers /livez, /readyz, /status and /metrics: a loopback address with a port, or the path of a ' +
          'unix socket (safer: its mode says who may ask); false for nowhere.',
      }),
    recordUrl: z
      .string({ error: RECORD_URL_MUST_BE })
      .regex(/^https?:\/\/[^\s\p{Cc}]*\{id\}[^\s\p{Cc}]*$/u, { error: RECORD_URL_MUST_BE })
      .refine((address) => URL.canParse(address.replaceAll(/[{}]/g, '')), { error: RECORD_URL_MUST_BE })
      .optional()
      .meta({
        description:
          'The address under which people open a record of the hosted database in their browser; the page of a row then has a link to it. {id} stands for the ' +
          'number of the record, {tableId} and {table} for the number and the name of its table.',
      }),
  },
  'The HTTP server of `rowsync daemon`.',
);

const backup = section(
  {
    folder: text({
      pattern: PRINTABLE,
      mustBe: 'must be the path of a folder',
      doc: 'Where the daemon puts its backups; the folder must exist. Best on another disk.',
    }).optional(),
    keep: wholeNumber({
      from: 1,
      to: 1000,
      default: 7,
      unit: 'backups',
      doc: 'How many backups of the daemon are kept in the folder; older ones are deleted. Files of other names, and backups of other replicas, never are.',
    }),
  },
  'Backups on schedule.',
);

const SINK_MUST_BE = 'must be the name of a schema: 1 to 63 bytes';

const postgres = section(
  {
    url: text({
      pattern: PRINTABLE,
      mustBe:
        'must be an address such as postgresql://user@host/database, or name an environment variable, as ${WAREHOUSE_URL}',
      doc:
        'The address of the server, as libpq writes it: postgresql://user@host:5432/database?sslmode=verify-full. Without a password; ' +
        'or an environment variable that has all of it, written as ${NAME}. sslmode is that of libpq; left out, the server is verified ' +
        '(verify-full), but for a loopback address or a unix socket (?host=/var/run/postgresql).',
    }).optional(),
    urlFile: text({
      pattern: PRINTABLE,
      mustBe: 'must be the path of a file that holds the address',
      doc: 'A file that holds the address, with the password in it. Nobody but the user who runs rowsync should be able to read it.',
    }).optional(),
    passwordFile: text({
      pattern: PRINTABLE,
      mustBe: 'must be the path of a file that holds the password',
      doc: 'A file that holds the password, where the address has none.',
    }).optional(),
    schema: z
      .string({ error: SINK_MUST_BE })
      .regex(PRINTABLE, { error: SINK_MUST_BE })
      .refine((name) => Buffer.byteLength(name) <= 63 && !/^pg_|^information_schema$/.test(name), {
        error: SINK_MUST_BE,
      })
      .meta({
        description: 'The schema that the tables stand in; made if it is missing. One replica may write to a schema.',
      }),
  },
  'A PostgreSQL server, 14 or newer: url or urlFile, and the schema.',
);

const sinks = z
  .record(
    z.string().regex(/^[A-Za-z0-9_-]{1,40}$/, { error: 'is no name of a sink: letters, digits, _ and -, at most 40' }),
    section(
      {
        postgres,
        tables: z
          .record(z.string().min(1), z.union([z.literal(false), section({}, 'No options yet: {} sends the tables.')]), {
            error: 'must be a mapping from table names or patterns to {} or false',
          })
          .default({ '*': {} })
          .meta({
            description: 'Which tables are sent, as under tables: {} for those that are, false for those that are not.',
          }),
        deletes: z.enum(['remove', 'keep'], { error: 'must be remove or keep' }).default('remove').meta({
          description:
            'What becomes there of a row that was deleted: it goes too, or stays with the time in _deleted_at.',
        }),
      },
      'One sink.',
    ),
    { error: 'must be a mapping from names of sinks to what they are' },
  )
  .default({})
  .meta({ description: 'Where the replica is streamed to: PostgreSQL servers, each under a name of your choice.' });

const COMMAND_MUST_BE = 'must be a list of texts: a program and its arguments';

const WEBHOOK_MUST_BE = 'must be the http or https address that notices are posted to';

const notify = section(
  {
    command: z
      .array(z.string({ error: COMMAND_MUST_BE }).min(1, { error: COMMAND_MUST_BE }), { error: COMMAND_MUST_BE })
      .min(1, { error: COMMAND_MUST_BE })
      .max(50, { error: COMMAND_MUST_BE })
      .optional()
      .meta({
        description:
          'A program and its arguments, run by the daemon when something needs a person, keeps failing, or is well again. It ' +
          'gets a JSON object with kind, subject, code, message and hint on its standard input. No shell is involved.',
      }),
    webhook: z
      .string({ error: WEBHOOK_MUST_BE })
      .regex(/^https?:\/\/[^\s\p{Cc}]+$/u, { error: WEBHOOK_MUST_BE })
      .refine((address) => URL.canParse(address), { error: WEBHOOK_MUST_BE })
      .optional()
      .meta({
        description:
          'An address that the daemon posts the same JSON object to, with a text beside it that chat services show. Write ${NAME}, ' +
          'an environment variable, where the address itself is a secret.',
      }),
    repeatMinutes: wholeNumber({
      from: 1,
      to: 10_080,
      default: 360,
      unit: 'minutes',
      doc: 'How soon the same thing may be told again; of all together at most 12 are told in an hour.',
    }),
  },
  'Whom the daemon tells.',
);

/** The whole configuration file. */
export const optionsSchema = section(
  {
    origin,
    replica,
    tables,
    files: files.prefault({}),
    schedule: schedule.prefault({}),
    push: push.prefault({}),
    limits: limits.prefault({}),
    safety: safety.prefault({}),
    http: http.prefault({}),
    backup: backup.prefault({}),
    notify: notify.prefault({}),
    sinks,
  },
  'Configuration of rowsync.',
).refine((options) => options.schedule.backup === false || options.backup.folder !== undefined, {
  path: ['backup', 'folder'],
  error: 'has to be there where schedule.backup is',
});

/** The options as they stand in the file, with the defaults filled in and before paths and secrets are resolved. */
export type Options = z.output<typeof optionsSchema>;

/** The options of one table pattern; false leaves the tables alone. */
export type TableOptions = Options['tables'][string];

/** Added to a pattern, it lets texts with a variable pass. */
const OR_VARIABLE = '|\\$\\{';

/** The JSON Schema that editors complete and check the file with; committed as config/rowsync.schema.json. */
export function optionsJsonSchema(): unknown {
  const schema = z.toJSONSchema(optionsSchema, {
    io: 'input',
    target: 'draft-2020-12',
    override: ({ jsonSchema }) => {
      // Editors see the file before the variables of the environment are put in, so these have to pass.
      const { pattern } = jsonSchema;
      if (pattern === undefined || pattern === SECRET_REFERENCE.source || pattern.endsWith(OR_VARIABLE)) return;
      jsonSchema.pattern = `${pattern}${OR_VARIABLE}`;
    },
  });
  return { $schema: schema.$schema, title: 'rowsync configuration', ...schema };
}
