/**
 * The options `schedule`, of all tables and of one. Part of the one table of options.
 */
import * as z from 'zod';
import { isZone } from '../wire/time-zones.ts';
import { section, text } from './option-kinds.ts';
import { cronComplaint } from './cron-times.ts';

const OF_TABLES = {
  sync: cron('When the daemon runs a whole cycle, a pull and then a push; it also does when it starts.').optional(),
  pull: cron('When the daemon brings the replica up to date; by default as sync.').optional(),
  push: cron('When the daemon pushes what was edited in tables with push: true; by default as sync.').optional(),
  follow: cronOrAuto(
    'When the daemon reads only changed rows, which costs a few requests however large a table is. ' +
      'It notices deletes by the number of rows. Most numbers from formulas over other tables come within ten minutes, the rest with sync. ' +
      'A cron expression of five fields, false for never, or auto: every minute, for tables of 8 pages and more. While rings of the doorbell bring their changes, it is every ten minutes.',
  ).optional(),
  files: cron(
    'When the daemon looks for attached files and downloads them, apart from the rows. Left out, they come with every pull; ' +
      'false leaves them to rowsync files pull.',
  ).optional(),
};

const OF_ALL = {
  timeZone: text({
    mustBe: 'must be the name of a time zone, such as Europe/Paris',
    doc: 'The zone that the expressions are read in, by its IANA name.',
  })
    .refine(isZone, { error: 'must be the name of a time zone, such as Europe/Paris' })
    .default('UTC'),
  ...OF_TABLES,
  sync: OF_TABLES.sync.unwrap().default('*/5 * * * *'),
  follow: OF_TABLES.follow.unwrap().default('auto'),
};

/** A kind of work that an extra adds. */
export interface AddedJob {
  /** What its option means. */
  readonly doc: string;
  /** Whether tables may have a schedule of their own for it. */
  readonly ofTables?: true;
  /** The expression where the file has none, and the other kind of work that has to be scheduled then. */
  readonly usual?: { readonly text: string; readonly beside: string };
}

export type AddedJobs = readonly (readonly [kind: string, job: AddedJob])[];

/** When the daemon does what; `jobs` are further kinds of work. */
export function scheduleWith(jobs: AddedJobs) {
  const added = jobs.map(([kind, { doc, usual }]) => {
    return [kind, usual === undefined ? cron(doc).default(false) : cron(doc).optional()] as const;
  });
  const shape: typeof OF_ALL = Object.assign({}, OF_ALL, Object.fromEntries(added));
  return section(shape, 'When `rowsync daemon` does what.');
}

/** The schedule of the tables that a pattern matches. */
export function tableScheduleWith(jobs: AddedJobs) {
  const added = jobs.flatMap(([kind, { doc, ofTables }]) =>
    ofTables === true ? [[kind, cron(doc).optional()] as const] : [],
  );
  const shape: typeof OF_TABLES = Object.assign({}, OF_TABLES, Object.fromEntries(added));
  return section(shape, 'Where these tables have a schedule of their own.').optional();
}

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
  const error = 'must be a cron expression, such as "*/5 * * * *", false for never, or auto';
  return z.union([z.literal('auto'), cron(doc)], { error }).meta({ description: doc });
}
