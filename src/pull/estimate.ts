/**
 * The number of rows of a first pull, for a progress bar. Costs a request for a small table, and a dozen of one row each for a large one, so it is
 * done on demand only. Its failures are ignored, because the pull itself reports them.
 */
import { RowsyncError } from '../base/errors.ts';
import { estimatedCount, narrowRange, nextProbe, type CountRange } from '../reconcile/estimate.ts';
import type { TableSummary } from '../wire/schema.ts';
import type { PullContext } from './context.ts';
import { runAll } from '../base/pool.ts';

/** The estimated rows of all tables together; a table whose request fails counts as empty. */
export async function estimateRowCount(context: PullContext, tables: readonly TableSummary[]): Promise<number> {
  let rowCount = 0;
  // The request names no column, so its answer has the omitted ones too.
  const asked = tables.filter(
    ({ recordName }) => (context.settings.tableOptions(recordName)?.columns ?? null) === null,
  );
  await runAll(asked, context.settings.concurrency, async (table) => {
    const estimated = await estimateTable(context, table);
    rowCount += estimated; // apart from the await, or tables asked side by side would forget each other
  });
  return rowCount;
}

async function estimateTable({ origin, settings, signal }: PullContext, table: TableSummary): Promise<number> {
  let range: CountRange = { low: 0, high: null };
  try {
    for (;;) {
      const skip = nextProbe(range, settings.pageRows);
      if (skip === null) return estimatedCount(range); // ends: the range doubles a bounded number of times, then halves
      const { rows } = settings.tableOptions(table.recordName) ?? {};
      const address = { name: table.recordName, alias: table.alias, rows };
      const request = { table: address, columns: [], query: { columns: [], sort: [], top: 1, skip } };
      const { ids } = (await origin.select(request, { signal })).value;
      range = narrowRange(range, skip, ids.length > 0);
    }
  } catch (thrown) {
    if (thrown instanceof RowsyncError) return 0;
    throw thrown;
  }
}
