/**
 * Decides whether a failing origin is down, or fails for one table only. Slow rows or a broken rule cause a 5xx or a
 * time-out, too. One small request tells the two apart; it is sent only while other tables wait.
 */
import { runAll } from '../base/concurrency.ts';
import type { ErrorCode, RowsyncError } from '../base/errors.ts';
import type { Origin } from './client.ts';

/** If so many tables fail like this and none succeeds, the origin is down, even if it answers the small request. */
const FAILED_TABLES_MAX = 3;

/** Whether an error may concern one table only: the origin failed on this request. A 429 refuses every request. */
export function mayBeOfOneTable({ kind, code, refusal }: Pick<RowsyncError, 'kind' | 'code' | 'refusal'>): boolean {
  if (kind !== 'originDown' || refusal?.status === 429) return false;
  return code === 'origin.busy' || code === 'origin.timeout' || code === 'origin.unknownOutcome';
}

/** Whether an error of one table, not about rights, would occur for every other table too. */
export function concernsAllTables({ kind, code }: RowsyncError): boolean {
  if (OF_ONE_TABLE.has(code)) return false;
  // A damaged file must not be written to.
  return kind === 'originDown' || code === 'replica.full' || code === 'replica.damaged';
}

/** Errors that always concern one table, whatever their kind. */
const OF_ONE_TABLE: ReadonlySet<ErrorCode> = new Set([
  'origin.moving',
  'pull.unsettled',
  'push.forbidden',
  'push.unanswered',
]);

/** Works on tables concurrently. Returns the first error after which none can succeed; the rest gets it as `stop`. */
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
    // If the credentials are still accepted, they only lack a right to this table.
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
