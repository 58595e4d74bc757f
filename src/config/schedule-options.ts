/**
 * The options `schedule`, of all tables and of one. Part of the one table of options.
 */
import * as z from 'zod';
import { isZone } from '../wire/zone.ts';
import { PRINTABLE, section, text } from './option-kinds.ts';
import { cronComplaint } from './cron-times.ts';

const SYNC_DOC = 'When the daemon runs a whole cycle, a pull and then a push; it also does when it starts.';
const PULL_DOC = 'When the daemon brings the replica up to date; by default as sync.';
const PUSH_DOC = 'When the daemon pushes what was edited in tables with push: true; by default as sync.';
const FOLLOW_DOC =
  'When the daemon reads only changed rows, which costs a few requests however large a table is. ' +
  'It notices deletes by the number of rows. From formulas over other tables, most numbers come within ten minutes, the rest with sync. ' +
  'A cron expression of five fields, false for never, or auto: every minute, for tables of 8 pages and more; every ten minutes while rings of the doorbell bring their changes.';
const FILES_DOC =
  'When the daemon looks for attached files and downloads them, apart from the rows. Left out, they come with every pull; ' +
  'false leaves them to rowsync files pull.';
const VERIFY_DOC = 'When the daemon compares every cell with the origin, which costs a request for every page.';

const CORE = {
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
};

/** When the daemon does what; `jobs` are further kinds of work, with their meanings. */
export function scheduleWith(jobs: Readonly<Record<string, string | { readonly doc: string }>>) {
  const added = Object.entries(jobs).map(
    ([kind, job]) => [kind, typeof job === 'string' ? cron(job).default(false) : cron(job.doc).optional()] as const,
  );
  const shape: typeof CORE = Object.assign({}, CORE, Object.fromEntries(added));
  return section(shape, 'When `rowsync daemon` does what.');
}

/** The schedule of the tables that a pattern matches. */
export const tableSchedule = section(
  {
    sync: cron(SYNC_DOC).optional(),
    pull: cron(PULL_DOC).optional(),
    push: cron(PUSH_DOC).optional(),
    follow: cronOrAuto(FOLLOW_DOC).optional(),
    files: cron(FILES_DOC).optional(),
    verify: cron(VERIFY_DOC).optional(),
  },
  'Where these tables have a schedule of their own.',
).optional();

/** A cron expression, or false for never. */
function cron(doc: string) {
  return z
    .union([z.string(), z.literal(false)], {
      error: 'must be a cron expression, such as "*/5 * * * *", or false for never',
    })
    .superRefine((expression, context) => {
      const complaint = expression === false ? null : cronComplaint(expression);
      if (complaint === null) return;
      const message = `must be a cron expression, such as "*/5 * * * *", or false for never: it ${complaint}`;
      context.addIssue({ code: 'custom', message });
    })
    .meta({
      description: `${doc} A cron expression of five fields (minute hour day month weekday), or false for never.`,
    });
}

function cronOrAuto(doc: string) {
  return z.union([z.literal('auto'), cron(doc)]).meta({ description: doc });
}
