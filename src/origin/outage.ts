/**
 * Whether an origin that fails is down, or fails at one table alone. Rows that take too long to compute, or a rule that breaks,
 * are answered with 5xx or with nothing in time, as by an origin in trouble. One small question tells the two apart, and is asked
 * only while other tables wait for their turn.
 */
import { runAll } from '../base/concurrency.ts';
import type { ErrorCode, RowsyncError } from '../base/errors.ts';
import type { Origin } from './client.ts';

/** The number of tables that fail so, without any that succeeds, after which the origin counts as down, even if it answers about the user. */
const FAILED_TABLES_MAX = 3;

/** Whether an error may concern one table alone: the origin was reached, and failed at this request. A 429 refuses every request. */
export function mayBeOfOneTable({ kind, code, refusal }: Pick<RowsyncError, 'kind' | 'code' | 'refusal'>): boolean {
  if (kind !== 'originDown' || refusal?.status === 429) return false;
  return code === 'origin.busy' || code === 'origin.timeout' || code === 'origin.unknownOutcome';
}

/** Whether an error of one table, not about rights, would occur for every other table too. */
export function concernsAllTables({ kind, code }: RowsyncError): boolean {
  // A damaged file is not written to any more.
  if (code === 'replica.damaged') return true;
  if (code === 'origin.moving' || code === 'pull.unsettled') return false;
  return kind === 'originDown' || code === 'origin.stopped' || code === 'replica.full';
}

/** Errors of one table, whatever their kind. */
const OF_ONE_TABLE: ReadonlySet<ErrorCode> = new Set(['push.forbidden', 'push.unanswered']);

/** Works on the tables of a run side by side, and tells each what stops the run: the first error after which no further table can succeed. Returns that. */
export async function workOnTables<T>(
  { origin, signal }: { readonly origin: Pick<Origin, 'user'>; readonly signal?: AbortSignal | undefined },
  { tables, concurrency }: { readonly tables: readonly T[]; readonly concurrency: number },
  work: (table: T, stop: RowsyncError | null) => Promise<RowsyncError | null>,
): Promise<RowsyncError | null> {
  let stop: RowsyncError | null = null;
  let leftCount = tables.length;
  let [finishedCount, failedCount] = [0, 0];
  const saysWhoCalls = (): Promise<boolean> =>
    origin.user({ signal }).then(
      () => true,
      () => false,
    );
  const isOfAll = async (error: RowsyncError): Promise<boolean> => {
    if (OF_ONE_TABLE.has(error.code)) return false;
    if (mayBeOfOneTable(error)) {
      if (leftCount === 0) return false;
      failedCount += 1;
      return (finishedCount === 0 && failedCount >= FAILED_TABLES_MAX) || !(await saysWhoCalls());
    }
    // Credentials that are still accepted lack a right to this table alone.
    return error.kind === 'auth' ? !(await saysWhoCalls()) : concernsAllTables(error);
  };
  await runAll(tables, concurrency, async (table) => {
    leftCount -= 1;
    const error = await work(table, stop);
    if (error === null) finishedCount += 1;
    else if (stop === null && (await isOfAll(error))) stop ??= error;
  });
  return stop;
}
