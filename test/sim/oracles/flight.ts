/**
 * Whatever is marked as sent stands in a batch, and the reverse.
 */
import type { Replica } from '../../../src/replica/database.ts';
import { sql } from '../../../src/base/sql.ts';

/** What is wrong with a transaction that is about to be committed. */
export function flightComplaints(replica: Replica): readonly string[] {
  const keys = (text: ReturnType<typeof sql>): ReadonlySet<unknown> => new Set(replica.prepare(text).pluck().all());
  const marked = keys(
    sql`SELECT 'row ' || row_id || ' of table ' || table_id FROM _rowsync_rows WHERE state = 'sending'`,
  );
  const inBatch = keys(
    sql`SELECT 'row ' || (r.value ->> 0) || ' of table ' || table_id FROM _rowsync_batches, json_each(rows) r`,
  );
  return [
    ...[...marked.difference(inBatch)].map((row) => `${String(row)} is in flight, and in no batch`),
    ...[...inBatch.difference(marked)].map((row) => `${String(row)} is in a batch, and not in flight`),
  ];
}
