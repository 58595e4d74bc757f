/**
 * The state of the daemon as JSON.
 */
import { stampFromMs } from '../../base/clock.ts';
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
    last: lastJson(state.lastByWork),
    lastAsked: lastJson(state.lastAskedByWork),
  };
}

function lastJson(lastByWork: DaemonState['lastByWork']): object {
  return Object.fromEntries(
    [...lastByWork].map(([work, { finishedAtMs, outcome, exitCode, durationMs, account, endedCount }]) => [
      work,
      {
        finishedAt: stampFromMs(finishedAtMs),
        outcome,
        exitCode,
        durationMs: Math.round(durationMs),
        account,
        endedCount,
      },
    ]),
  );
}
