/**
 * The state of the daemon as JSON.
 */
import { stampFromMs } from '../../base/clock.ts';
import type { WorkKind } from '../../daemon/jobs.ts';
import { statusLine, type DaemonState } from '../../daemon/state.ts';

export function stateJson(state: DaemonState): Readonly<Record<string, unknown>> {
  const { failure } = state;
  return {
    startedAt: stampFromMs(state.startedAtMs),
    status: statusLine(state),
    working: state.working,
    notes: state.notes,
    failure:
      failure === null
        ? null
        : {
            kind: failure.kind,
            code: failure.code,
            message: failure.message,
            hint: failure.hint,
            cause: failure.cause,
            count: failure.failureCount,
            number: failure.number,
            retryInMs: Math.round(state.circuitWaitMs),
          },
    jobs: state.jobs.map(({ id, nextAtMs, isDue }) => ({ job: id, nextAt: stampFromMs(nextAtMs), isDue })),
    last: Object.fromEntries(
      [...state.lastByWork].map(([work, { finishedAtMs, outcome, durationMs }]) => [
        work,
        {
          finishedAt: stampFromMs(finishedAtMs),
          outcome,
          durationMs: Math.round(durationMs),
          endedCount: countOf(state, work),
        },
      ]),
    ),
  };
}

/** Pieces of work of one kind that ended, however they did. */
function countOf({ workCounts }: DaemonState, work: WorkKind): number {
  return [...workCounts].reduce((sum, [counted, count]) => sum + (counted.startsWith(`${work} `) ? count : 0), 0);
}
