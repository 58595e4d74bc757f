/** One pull by rowsync, with its own parts and the default settings; what the command does, without printing. */
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { openOrigin } from '../../src/origin/client.ts';
import { pull } from '../../src/pull/pull.ts';
import type { PullReport } from '../../src/pull/report.ts';
import { openReplica } from '../../src/replica/database.ts';
import type { Address } from './origin-child.ts';

/** Requests in flight, on both sides of every comparison. */
export const CONCURRENCY = 4;
/** Rows per page, on both sides of every comparison. */
export const PAGE_ROWS = 500;

/** Pulls everything into the replica at `path`, which is made if it is missing. */
export async function pullOnce(
  address: Address,
  path: string,
  options: { readonly compress: boolean },
): Promise<PullReport> {
  const { url, database, token } = address;
  const log = createLogger({ level: 'silent', destination: { write: () => true }, secrets: [] });
  const origin = openOrigin(
    { url, database, credentials: { kind: 'bearer', token }, concurrency: CONCURRENCY, compress: options.compress },
    { clock: systemClock, log },
  );
  const replica = openReplica(path, { clock: systemClock });
  try {
    const settings = {
      pageRows: PAGE_ROWS,
      maxDeletePercent: 50,
      concurrency: CONCURRENCY,
      tableOptions: () => ({ sort: null }),
    };
    const report = await pull({ origin, replica, clock: systemClock, log, settings }, { tables: [], confirm: false });
    const error = report.error ?? report.tables.find((table) => table.error ?? table.held)?.error;
    if (error) throw error;
    return report;
  } finally {
    replica.close();
    await origin.close();
  }
}
