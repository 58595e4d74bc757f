/**
 * Every option of the configuration file, declared once: its type, default, bounds, unit and meaning. Those of the
 * origin, of tables and of schedules are in the files beside it that end with -options.ts; extras declare their own.
 * From this schema come the validation and its messages (config-errors.ts), the type `Options`, and the JSON Schema in
 * config/.
 *
 * An option is here only if something reads it: one that is accepted and ignored would be a promise not kept.
 */
import * as z from 'zod';
import { choice, decimalNumber, integerOption, section, size, text } from './option-kinds.ts';
import { origin } from './origin-options.ts';
import { scheduleWith, type AddedJob, type AddedJobs } from './schedule-options.ts';
import type { ConfigProblem, OptionPath } from './config-errors.ts';
import { SECRET_REFERENCE, type SecretSources } from './secrets.ts';
import { tablesWith } from './table-options.ts';

const replica = section(
  {
    path: text({
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
    names: choice(
      ['origin', 'snake'],
      'How tables and columns are called here: as the origin calls them, or in lower case with words joined by _, such as order_line. ' +
        'The next pull renames what is there. This file names tables and columns as the origin does; sync_columns has both names.',
    ).default('origin'),
    files: text({
      mustBe: 'must be the path of the folder for attached files',
      doc:
        'The folder for the content of attached files, of this replica alone; it is made when there is something to put ' +
        'there. By default the path of the replica followed by .files.',
    }).optional(),
    maskKeyFile: text({
      mustBe: 'must be the path of a file',
      doc:
        'The file with the key of the mask hash; it is made, for its owner alone, when a key is first needed. By default the path of the ' +
        'replica followed by .mask-key. With another key, the masked columns are read anew.',
    }).optional(),
  },
  'The local copy.',
);

const limits = section(
  {
    concurrency: integerOption({
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
    pageRows: integerOption({
      from: 2,
      to: 500,
      default: 500,
      unit: 'rows',
      doc: 'How many rows to ask for in one request. Smaller pages cost more requests, but less is read again after a change.',
    }),
  },
  'How many requests the origin gets.',
);

const files = section(
  {
    maxBytes: size(
      'How much attached files may take on disk, all together; no bound by default. Once it is reached, no more are fetched; nothing is deleted.',
    ).optional(),
    uploadDir: text({
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
        'A pull that would delete more than this share of a table here holds the deletes until it is run with --confirm. ' +
        'So does a push that would delete more at the origin.',
    }),
    maxPushRows: integerOption({
      from: 0,
      to: 10_000_000,
      default: 1000,
      unit: 'rows',
      doc: 'A push that would change more rows of a table than this is held until it is run with --confirm.',
    }),
  },
  'When to stop and ask a person.',
);

const MUST_BE_DELAY = { error: 'must be a whole number of seconds from 0 to 3600, or false to push on schedule only' };

const push = section(
  {
    delay: z
      .union([z.int(MUST_BE_DELAY).min(0, MUST_BE_DELAY).max(3600, MUST_BE_DELAY), z.literal(false)], MUST_BE_DELAY)
      .default(5)
      .meta({
        description:
          'How long after the last edit of another client the daemon pushes, without waiting for the schedule; only tables whose ' +
          'pushes are scheduled. A refused row is sent again at its time in the same way. false pushes on schedule only. Unit: seconds.',
      }),
  },
  'When edits leave.',
);

/** The settings of extras, by their sections; each extra declares its own here. */
export interface ExtraSettings {}

/** A section that an extra adds to the file. */
export interface OptionSection {
  /** Left out, with what belongs to it, by an extra that only adds kinds of scheduled work. */
  readonly key?: keyof ExtraSettings;
  readonly schema?: z.ZodType;
  /** Kinds of scheduled work, each an option under `schedule`. */
  readonly jobs?: Readonly<Record<string, AddedJob>>;
  /** Whether a text is a secret, or means one, by its path in the file. */
  readonly isSecret?: (path: OptionPath) => boolean;
  /** Makes the settings of valid options; `needsSecrets` is false for commands that never use them. */
  readonly read?: (
    options: unknown,
    context: {
      readonly schedule: Readonly<Record<string, unknown>>;
      readonly folder: string;
      readonly sources: SecretSources;
      readonly needsSecrets: boolean;
    },
  ) => SectionResult;
}

/** What came of reading a section. */
export interface SectionResult {
  readonly settings: unknown;
  readonly problems?: readonly ConfigProblem[];
  /** Whether changes come by rings, so that `follow: auto` asks less often. */
  readonly isRung?: boolean;
}

const coreWith = (jobs: AddedJobs) => ({
  origin,
  replica,
  tables: tablesWith(jobs),
  files: files.prefault({}),
  schedule: scheduleWith(jobs).prefault({}),
  push: push.prefault({}),
  limits: limits.prefault({}),
  safety: safety.prefault({}),
});

export function addedJobs(sections: readonly OptionSection[]): AddedJobs {
  return sections.flatMap(({ jobs = {} }) => Object.entries(jobs));
}

export function optionsSchema(sections: readonly OptionSection[] = []) {
  const added = Object.fromEntries(
    sections.flatMap(({ key, schema }) => (key === undefined || schema === undefined ? [] : [[key, schema] as const])),
  );
  const shape: ReturnType<typeof coreWith> = Object.assign(coreWith(addedJobs(sections)), added);
  return section(shape, 'Configuration of rowsync.');
}

/** The options as they are in the file, with the defaults filled in and before paths and secrets are resolved. */
export type Options = z.output<ReturnType<typeof optionsSchema>>;

export type TableOptions = Options['tables'][string];

/** Added to a pattern, it lets texts with a variable pass. */
const OR_VARIABLE = '|\\$\\{';

/** The JSON Schema that editors complete and check the file with; committed as config/rowsync.schema.json. */
export function optionsJsonSchema(sections: readonly OptionSection[]): unknown {
  const schema = z.toJSONSchema(optionsSchema(sections), {
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
