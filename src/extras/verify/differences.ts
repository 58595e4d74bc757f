/**
 * Tables that differed when they were last compared with the origin, in the replica file, so that every process can
 * tell. The table is made with the first difference.
 */
import type { ErrorCode } from '../../base/errors.ts';
import { sql } from '../../base/sql.ts';
import type { Complaint } from '../../reconcile/account/facts.ts';
import type { Replica } from '../../replica/database.ts';
import { hasTable } from '../../replica/schema-objects.ts';
import type { LinkedPart, Metric } from '../shared/linked-extra.ts';

/** `answers`: the number of answers with rows so far; null for a row on no page, which only a comparison can judge. */
const DIFFERENCES = sql`
  CREATE TABLE _rowsync_differences (
    table_id INTEGER PRIMARY KEY, code TEXT NOT NULL, message TEXT NOT NULL, hint TEXT NOT NULL, since TEXT NOT NULL, answers INTEGER
  ) STRICT`;

/** A table that was compared to its end. */
export interface ComparedTable {
  /** Its name here. */
  readonly table: string;
  readonly difference: Complaint | null;
  /** Whether a row is here that the origin did not list. */
  readonly isUnpaged: boolean;
}

/** Keeps what a comparison found, and forgets what it found equal. */
export async function storeDifferences(replica: Replica, tables: readonly ComparedTable[], at: string): Promise<void> {
  if (!hasTable(replica, '_rowsync_differences') && tables.every(({ difference }) => difference === null)) return;
  await replica.write('Storing what differs', (tx) => {
    if (!hasTable(tx, '_rowsync_differences')) tx.prepare(DIFFERENCES).run();
    tx.prepare(sql`DELETE FROM _rowsync_differences WHERE table_id NOT IN (SELECT id FROM _rowsync_tables)`).run();
    const clear = tx.prepare(
      sql`DELETE FROM _rowsync_differences WHERE table_id = (SELECT id FROM _rowsync_tables WHERE local_name = ?)`,
    );
    const store = tx.prepare(sql`
      INSERT INTO _rowsync_differences (table_id, code, message, hint, since, answers)
      SELECT id, @code, @message, @hint, @at, iif(@isUnpaged, NULL, applied) FROM _rowsync_tables WHERE local_name = @table
      ON CONFLICT (table_id) DO UPDATE
      SET code = excluded.code, message = excluded.message, hint = excluded.hint, answers = excluded.answers`);
    for (const { table, difference, isUnpaged } of tables) {
      if (difference === null) clear.run(table);
      else {
        const { code, message, hint } = difference;
        store.run({ table, code, message, hint, at, isUnpaged: Number(isUnpaged) });
      }
    }
  });
}

const FOUND: ReadonlySet<ErrorCode | undefined> = new Set(['verify.mismatch', 'verify.notModified']);

/** Counts what a daemon finds. */
export function countDifferences(): LinkedPart {
  let foundCount = 0;
  return {
    takeWork: (event) => {
      if (event.kind === 'ended' && event.work === 'verify')
        foundCount += event.tables.filter(({ held }) => FOUND.has(held?.code)).length;
    },
    metrics: () => [mismatchMetric(foundCount)],
  };
}

export function mismatchMetric(value: number): Metric {
  const help = 'Tables that verify found to differ from the origin.';
  return { name: 'audit_mismatch_total', kind: 'counter', help, samples: [{ value }] };
}
