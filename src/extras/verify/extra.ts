/**
 * Verify: compares every cell and every attached file with the origin, by command and on schedule.
 */
import { sql } from '../../base/sql.ts';
import type { Extra } from '../../extra.ts';

declare module '../../reconcile/account/facts.ts' {
  interface ExtraProblems {
    readonly 'rows.different': true;
  }
}

/** Tables in differences.ts of which not every page was read since; reading all, as after a resync, ends it. */
const STILL_DIFFERENT = sql`
  SELECT d.code, d.message, d.hint, d.since, t.local_name AS subject FROM _rowsync_differences d JOIN _rowsync_tables t ON t.id = d.table_id
  WHERE t.state <> 'gone' AND (d.answers IS NULL OR t.sweep_open OR t.applied = d.answers
    OR EXISTS (SELECT 1 FROM _rowsync_pages p WHERE p.table_id = d.table_id AND p.applied <= d.answers))
  ORDER BY t.local_name COLLATE NOCASE`;

export const VERIFY: Extra = {
  name: 'verify',
  problems: [
    {
      code: 'rows.different',
      severity: 'person',
      why: 'The last comparison of every cell found that a table differs from the origin although nothing changed meanwhile, and not all of it was read anew since.',
      before: 'work.failed',
      stored: { table: '_rowsync_differences', select: STILL_DIFFERENT },
    },
  ],
  commands: [
    { group: 'Look', names: ['verify'], load: async () => (await import('./command.ts')).addVerifyCommand },
    { names: ['files'], load: async () => (await import('./files-command.ts')).addFilesVerifyCommand },
  ],
  loadOptions: async () => {
    const doc = 'When the daemon compares every cell with the origin, which costs a request for every page.';
    return { jobs: { verify: { doc, ofTables: true } } };
  },
  join: async () => (await import('./differences.ts')).countDifferences(),
  jobs: { verify: async (context) => (await import('./command.ts')).verifyOnSchedule(context) },
};
