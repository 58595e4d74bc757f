/**
 * The options `tables`: which tables come, and how each is treated. Part of the one table of options.
 */
import * as z from 'zod';
import { choice, mapping, PRINTABLE, section, size, text, textList } from './option-kinds.ts';
import { tableScheduleWith, type AddedJobs } from './schedule-options.ts';
import { matchesPattern } from '../base/name-pattern.ts';
import { ownName, type NameScope } from '../reconcile/naming.ts';
import { MASK_KINDS } from '../wire/schema.ts';

const COLUMNS_MUST_BE = 'must be a mapping of exclude or include, each a list of column names or patterns';
const ONE_MUST_BE = 'must be a mapping of either exclude or include, not of both';
const MASK_MUST_BE = 'must be hash, last4, year, domain, null, or a constant, such as { constant: hidden }';

const patterns = textList('must be a list of column names or patterns, such as [Notes*]');

const columns = mapping(COLUMNS_MUST_BE, {
  exclude: patterns.optional().meta({ description: 'Columns that are left out; all others come.' }),
  include: patterns.optional().meta({ description: 'Columns that come; all others are left out.' }),
})
  .refine(({ exclude, include }) => (exclude === undefined) !== (include === undefined), { error: ONE_MUST_BE })
  .optional()
  .meta({
    description:
      'Which columns to copy, by their names at the origin or patterns; case is ignored. A column that is left out is never requested. ' +
      'The key, the times of creation and change, and the columns in match and sort always come.',
  });

const mask = z
  .record(
    z.string().min(1),
    z.union(
      [
        z.enum(MASK_KINDS).exclude(['constant']),
        z.null().transform(() => 'null' as const),
        mapping(MASK_MUST_BE, { constant: z.string({ error: MASK_MUST_BE }) }),
      ],
      { error: MASK_MUST_BE },
    ),
    { error: 'must be a mapping from column names or patterns to masks, such as { E-Mail: hash }' },
  )
  .optional()
  .meta({
    description:
      'Columns whose values are replaced before anything is stored, by their names at the origin or patterns. The most specific name ' +
      'decides. Masks are hash (keyed; equal values stay equal), last4 (the last four characters), year (of a date, as a number), ' +
      'domain (of an e-mail or web address), null (nothing), { constant: text } (that text). Masked columns cannot be edited here.',
  });

const HISTORY_MUST_BE = 'must be true, false or a mapping of keep and maxBytes';

const history = z
  .union(
    [
      z.boolean(),
      mapping(HISTORY_MUST_BE, {
        keep: dayCount('How long changes are kept; 400d by default. Unit: days, with d after the number.').optional(),
        maxBytes: size(
          'How much the changes of one table may take in the replica; the oldest go first. 2GB by default.',
        ).optional(),
      }),
    ],
    { error: HISTORY_MUST_BE },
  )
  .optional()
  .meta({
    description:
      'Whether every change of a row is kept in sync_history, with old values, time and cause. ' +
      'With true, 400 days and at most 2 GB of each table are kept; a mapping sets other bounds. By default nothing is kept.',
  });

/** A number of days as people write it, 400d; in days. */
function dayCount(doc: string) {
  const error = 'must be a number of days, such as 400d';
  return z
    .string({ error })
    .regex(/^[1-9]\d{0,4}d$/, { error })
    .transform((given) => Number(given.slice(0, -1)))
    .meta({ description: doc });
}

/** Bytes of a row filter in a URL; with the columns and windows, the origin accepts no longer ones. */
const ROWS_BYTES_MAX = 4_000;
const ROWS_MUST_BE =
  'must be a filter in the language of the origin, in one line of at most 4000 characters as an address has them; left out for all rows';

const SORT_MUST_BE = 'must be a list of 1 to 10 different column names';

const FILES_MUST_BE = 'must be latest, all or none, or a mapping of revisions, maxFileBytes and types';
const TYPES_MUST_BE = 'must be a list of media types, such as image/png or image/*';

const mediaType = z.string({ error: TYPES_MUST_BE }).regex(/^[\w.+-]+\/(?:\*|[\w.+-]+)$/, { error: TYPES_MUST_BE });

const revisions = z.enum(['latest', 'all', 'none'], { error: 'must be latest, all or none' });

const tableFiles = z
  .union(
    [
      revisions,
      mapping(FILES_MUST_BE, {
        revisions: revisions.optional().meta({
          description: 'Which revisions to fetch: latest (default), all, or none.',
        }),
        maxFileBytes: size('Larger files are left out; by default none.').optional(),
        types: textList(TYPES_MUST_BE, mediaType)
          .optional()
          .meta({ description: 'Only files of these media types are fetched; image/* matches every image.' }),
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

function ownNameOf(scope: NameScope) {
  const error = `must be a name that SQL can use for a ${scope} here: not empty, and none that rowsync keeps for itself`;
  return z
    .string({ error })
    .regex(PRINTABLE, { error })
    .refine((name) => ownName({ scope, style: 'origin' }, { name, id: 0 }) === name, { error });
}

const PUSH_MUST_BE = 'must be true, false or { insert: false }';
const MUST_BE_REFERENCES = {
  error: 'must be a mapping from columns to the tables that they refer to, such as { Customer: Customer }',
};

const TABLE_OPTIONS = {
  name: ownNameOf('table').optional().meta({
    description: 'What the table is called here; only under the name of one table. By default as replica.names says.',
  }),
  columnNames: z
    .record(z.string().min(1), ownNameOf('column'), {
      error: 'must be a mapping from columns at the origin to their names here, such as { Unit Price: price }',
    })
    .optional()
    .meta({
      description:
        'What columns are called here, by their names at the origin. The others are called as replica.names says. The next pull renames them.',
    }),
  columns,
  mask,
  rows: text({
    mustBe: ROWS_MUST_BE,
    doc:
      'Which rows come here: a filter in the language of the origin, such as [Status] <> "Archived". rowsync sends it with every ' +
      'request that lists or counts rows. A row that no longer matches is removed here and stays at the origin. By default all rows.',
  })
    .refine((rows) => Buffer.byteLength(encodeURIComponent(rows.toWellFormed())) <= ROWS_BYTES_MAX, {
      error: ROWS_MUST_BE,
    })
    .optional(),
  files: tableFiles,
  history,
  push: z
    .union(
      [
        z.boolean(),
        mapping(PUSH_MUST_BE, {
          insert: z
            .boolean({ error: PUSH_MUST_BE })
            .optional()
            .meta({ description: 'Whether rows may be added here (default true).' }),
        }),
      ],
      { error: PUSH_MUST_BE },
    )
    .optional()
    .meta({
      description:
        'Whether the table may be edited here. Edits are captured and sent to the origin; without it (default), the table ' +
        'is a read-only mirror. { insert: false } means true, but new rows are refused.',
    }),
  match: text({
    mustBe: 'must be the name of a column that is unique and writable at the origin',
    doc:
      'The column that identifies rows, by its name at the origin: unique, and writable. With it, an insert whose answer ' +
      'was lost is never sent twice. Needs push: true.',
  }).optional(),
  conflict: choice(
    ['origin', 'local', 'ask'],
    'Who wins if a cell was changed both here and at the origin: origin (default), local, or ask, which lets a person decide. ' +
      'The losing value is kept in sync_conflicts. Needs push: true.',
  ).optional(),
  workflow: choice(
    ['run', 'suppress'],
    'Whether the workflow of the origin runs for what is pushed: run (default) or suppress, which needs the right to ' +
      'manage data. Needs push: true.',
  ).optional(),
  delete: choice(
    ['bin', 'purge'],
    'Where rows that are deleted here go: to the recycle bin of the origin (bin, the default), or nowhere (purge). ' +
      'The origin cannot bring purged rows back. Needs push: true.',
  ).optional(),
  references: z
    .record(z.string().min(1), z.string(MUST_BE_REFERENCES).min(1, MUST_BE_REFERENCES), MUST_BE_REFERENCES)
    .optional()
    .meta({
      description:
        'Which tables columns refer to, by their names at the origin. Their values are keys of that table, which rowsync putback rewrites ' +
        'when a row gets a new key. By default it takes columns that are called like a table and hold only keys of it.',
    }),
  sort: textList(SORT_MUST_BE)
    .max(10, { error: SORT_MUST_BE })
    .refine((names) => new Set(names).size === names.length, { error: SORT_MUST_BE })
    .optional()
    .meta({
      description:
        'The columns to read the table in order of. By default the time of creation and the key, where the table has ' +
        'them. Set it where another order is cheaper to follow: new rows should come last.',
    }),
};

const tableOptionsWith = (jobs: AddedJobs) =>
  section(
    { ...TABLE_OPTIONS, schedule: tableScheduleWith(jobs) },
    'How to treat the tables that the pattern matches.',
  ).superRefine((options, context) => {
    const needed = { match: options.match === undefined ? [] : [options.match], sort: options.sort ?? [] };
    for (const pattern of Object.keys(options.mask ?? {})) {
      for (const [option, names] of Object.entries(needed)) {
        const name = names.find((one) => matchesPattern(pattern, one, { ignoreCase: true }));
        if (name === undefined) continue;
        const message = `names "${name}", which ${option} needs as it is at the origin`;
        context.addIssue({ code: 'custom', path: ['mask', pattern], message });
      }
    }
    if (isPushed(options)) return;
    for (const key of ['match', 'conflict', 'workflow', 'delete'] as const) {
      if (options[key] === undefined) continue;
      context.addIssue({ code: 'custom', path: [key], message: 'says how to push, and needs push: true beside it' });
    }
  });

/** Whether a table may be edited here. */
export function isPushed({ push }: { readonly push?: boolean | object | undefined }): boolean {
  return (push ?? false) !== false;
}

/** The options of tables, by their names or patterns. */
export const tablesWith = (jobs: AddedJobs) =>
  z
    .record(
      z.string().min(1),
      z.union([tableOptionsWith(jobs), z.literal(false)], {
        error: 'must be a mapping of options: {} for the defaults, or false to leave the table alone',
      }),
      { error: 'must be a mapping from table names or patterns to options, such as { "*": {} }' },
    )
    .superRefine((given, context) => {
      for (const [key, options] of Object.entries(given)) {
        if (options === false || options.name === undefined || !key.includes('*')) continue;
        context.addIssue({ code: 'custom', path: [key, 'name'], message: 'is for one table, not for a pattern' });
      }
    })
    .default({ '*': {} })
    .meta({
      description:
        'Which tables to copy, and how. A key is the singular name of a table or a pattern, in which * matches any text. ' +
        'The most specific one decides alone. false leaves a table alone, as does matching nothing.',
    });
