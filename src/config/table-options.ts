/**
 * The options `tables`: which tables come, and how each is treated. Part of the one table of options.
 */
import * as z from 'zod';
import { columns, mask, maskedNeeds } from './column-options.ts';
import { history } from './history-option.ts';
import { byteCount, PRINTABLE, section, text } from './option-kinds.ts';
import { tableSchedule } from './schedule-options.ts';

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
          'Which rows come here: a filter in the language of the origin, such as [Status] <> "Archived". rowsync sends it with every ' +
          'request that lists or counts rows. A row that no longer matches is removed here and stays at the origin. By default all rows.',
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
          'Who wins if a cell was changed both here and at the origin: origin (default), local, or ask, which lets a person decide. ' +
          'The losing value is kept in sync_conflicts. Needs push: true.',
      }),
    workflow: z
      .enum(['run', 'suppress'], { error: WORKFLOW_MUST_BE })
      .optional()
      .meta({
        description:
          'Whether the workflow of the origin runs for what is pushed: run (default) or suppress, which needs the right to ' +
          'manage data. Needs push: true.',
      }),
    delete: z
      .enum(['bin', 'purge'], { error: 'must be bin or purge' })
      .optional()
      .meta({
        description:
          'Where rows go that are deleted here: to the recycle bin of the origin (bin, the default), or nowhere (purge). ' +
          'The origin cannot bring purged rows back. Needs push: true.',
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
          'them. Set it where another order is cheaper to follow: new rows should come last.',
      }),
    schedule: tableSchedule,
  },
  'How to treat the tables that the pattern matches.',
).superRefine((options, context) => {
  for (const { pattern, option, name } of maskedNeeds(options)) {
    const message = `names "${name}", which ${option} needs as it is at the origin`;
    context.addIssue({ code: 'custom', path: ['mask', pattern], message });
  }
  if (options.push === true) return;
  for (const key of ['match', 'conflict', 'workflow', 'delete'] as const) {
    if (options[key] === undefined) continue;
    context.addIssue({ code: 'custom', path: [key], message: 'says how to push, and needs push: true beside it' });
  }
});

/** The options of tables, by their names or patterns. */
export const tables = z
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
      'Which tables to copy, and how. A key is the singular name of a table or a pattern, in which * matches any text; ' +
      'the most specific one decides alone. false leaves a table alone, as does matching nothing.',
  });
