/**
 * Runs the checks in a process of their own, so that a slow query holds up nothing, and ends after a while.
 */
import { json } from 'node:stream/consumers';
import { asRowsyncError } from '../../base/errors.ts';
import { openReader } from '../../replica/reader.ts';
import { jsonAnswer, serveQuestions } from '../shared/child-process.ts';
import { ChildFailure, ChildPool } from '../shared/child-pool.ts';
import { CHECK_PROCESS } from './extra.ts';

/** All checks together may take so long, since the pull waits for them. */
const CHECKS_MS_MAX = 60_000;
/** Rows that are counted, and those that are named. */
const ROWS_MAX = 10_000;
const NAMED_MAX = 5;

interface CheckRequest {
  readonly replicaPath: string;
  readonly text: string;
}

/** The rows of a check, up to a bound; `ids` are some of their `_id` that are numbers. */
export type CheckRows =
  | { readonly problem: null; readonly count: number; readonly isMore: boolean; readonly ids: readonly number[] }
  | { readonly problem: string };

export function serveChecks(): void {
  serveQuestions((request: CheckRequest) => jsonAnswer(200, runHere(request)));
}

function runHere({ replicaPath, text }: CheckRequest): CheckRows {
  try {
    using reader = openReader(replicaPath);
    const { columns, rows } = reader.query(text);
    const place = columns.indexOf('_id');
    const ids: number[] = [];
    let count = 0;
    for (const row of rows) {
      if (count === ROWS_MAX) return { problem: null, count, isMore: true, ids };
      count += 1;
      const id = row[place];
      if (typeof id === 'number' && ids.length < NAMED_MAX) ids.push(id);
    }
    return { problem: null, count, isMore: false, ids };
  } catch (thrown) {
    return { problem: asRowsyncError(thrown).message };
  }
}

export async function runChecks(
  replicaPath: string,
  checks: readonly { readonly name: string; readonly text: string }[],
): Promise<ReadonlyMap<string, CheckRows>> {
  const results = new Map<string, CheckRows>();
  if (checks.length === 0) return results;
  using pool = new ChildPool<CheckRequest>(1, CHECK_PROCESS);
  const late = AbortSignal.timeout(CHECKS_MS_MAX);
  for (const { name, text } of checks) results.set(name, await ask(pool, { replicaPath, text }, late));
  return results;
}

async function ask(pool: ChildPool<CheckRequest>, request: CheckRequest, late: AbortSignal): Promise<CheckRows> {
  try {
    const { body } = await pool.ask(request, { msMax: CHECKS_MS_MAX, signal: late });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own program sends nothing else
    return (await json(body)) as CheckRows;
  } catch (thrown) {
    if (!(thrown instanceof ChildFailure)) throw thrown;
    const problem = late.aborted ? `the checks took more than ${CHECKS_MS_MAX / 1000} seconds` : 'its process ended';
    return { problem };
  }
}
