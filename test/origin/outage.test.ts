/** Whether a failure is of one table or of the origin, by the error, the other tables and one small request. */
import { beforeEach, describe, expect, test } from 'vitest';
import { RowsyncError, type ErrorCode, type ErrorKind } from '../../src/base/errors.ts';
import { concernsAllTables, mayBeOfOneTable, workOnTables } from '../../src/origin/outage.ts';

const errorOf = (kind: ErrorKind, code: ErrorCode, status?: number): RowsyncError => {
  const refusal = status === undefined ? undefined : { status, code: null, words: '', source: null };
  return new RowsyncError(kind, code, { message: '', hint: '', refusal });
};
const BUSY = errorOf('originDown', 'origin.busy', 503);
const GONE = errorOf('originDown', 'origin.unreachable');
const FORBIDDEN = errorOf('auth', 'origin.forbidden', 403);
const REFUSED = errorOf('originRefused', 'origin.refused', 400);

test.each([
  ['busy', BUSY, true],
  ['busy for everybody', errorOf('originDown', 'origin.busy', 429), false],
  ['too slow', errorOf('originDown', 'origin.timeout'), true],
  ['an unknown outcome', errorOf('originDown', 'origin.unknownOutcome'), true],
  ['not reached', GONE, false],
  ['a refusal', REFUSED, false],
])('a table alone can be the reason of: %s', (_what, error, expected) => {
  expect(mayBeOfOneTable(error)).toBe(expected);
});

test.each([
  [GONE, true],
  [errorOf('originDown', 'origin.stopped'), true],
  [errorOf('replica', 'replica.damaged'), true],
  [errorOf('replica', 'replica.full'), true],
  [errorOf('originDown', 'origin.moving'), false],
  [errorOf('originDown', 'pull.unsettled'), false],
  [REFUSED, false],
  [errorOf('needsPerson', 'guard.deletes'), false],
])('every other table would fail like $code: %s', (error, expected) => {
  expect(concernsAllTables(error)).toBe(expected);
});

describe('work on tables', () => {
  let askedCount: number;
  let isReached: boolean;
  beforeEach(() => {
    askedCount = 0;
    isReached = true;
  });
  const origin = {
    user: () => {
      askedCount += 1;
      return isReached ? Promise.resolve({}) : Promise.reject(GONE);
    },
  };

  /**
   * Works on a table after the other, each with its error, and returns what stopped it and which tables were stopped.
   */
  async function run(errors: readonly (RowsyncError | null)[]) {
    const stops: (RowsyncError | null)[] = [];
    const tables = { tables: errors.map((error) => ({ error })), concurrency: 1 };
    const stop = await workOnTables({ origin: origin as never }, tables, async ({ error }, stopped) => {
      stops.push(stopped);
      return stopped ?? error;
    });
    return { stop, stoppedCount: stops.filter((each) => each !== null).length };
  }

  test('asks the origin nothing where all goes well, or a table is refused', async () => {
    expect(await run([null, REFUSED, null])).toEqual({ stop: null, stoppedCount: 0 });
    expect(askedCount).toBe(0);
  });

  test('goes on after a table that is too slow, while the origin answers', async () => {
    expect(await run([BUSY, null, null])).toEqual({ stop: null, stoppedCount: 0 });
    expect(askedCount).toBe(1);
  });

  test('ends where the origin does not answer either', async () => {
    isReached = false;

    expect(await run([null, BUSY, null, null])).toEqual({ stop: BUSY, stoppedCount: 2 });
    expect(askedCount).toBe(1);
  });

  test('ends at once with what every table would meet', async () => {
    expect(await run([GONE, null])).toEqual({ stop: GONE, stoppedCount: 1 });
    expect(askedCount).toBe(0);
  });

  test('takes the origin for down after three tables of which none was finished, though it answers', async () => {
    expect(await run([BUSY, BUSY, BUSY, null])).toEqual({ stop: BUSY, stoppedCount: 1 });
    expect(askedCount).toBe(2);
  });

  test('does not, once a table was finished', async () => {
    expect(await run([null, BUSY, BUSY, BUSY, BUSY, null])).toEqual({ stop: null, stoppedCount: 0 });
  });

  test('does not ask for the sake of the last table', async () => {
    isReached = false;

    expect(await run([null, BUSY])).toEqual({ stop: null, stoppedCount: 0 });
    expect(askedCount).toBe(0);
  });

  test('asks whether credentials that were refused are refused for all', async () => {
    expect(await run([FORBIDDEN, null])).toEqual({ stop: null, stoppedCount: 0 });
    isReached = false;
    expect(await run([FORBIDDEN, null])).toEqual({ stop: FORBIDDEN, stoppedCount: 1 });
  });

  test.each(['push.forbidden', 'push.unanswered'] as const)(
    'leaves %s to its table, whatever its kind',
    async (code) => {
      isReached = false;

      expect(await run([errorOf('auth', code), errorOf('originDown', code), null])).toEqual({
        stop: null,
        stoppedCount: 0,
      });
      expect(askedCount).toBe(0);
    },
  );
});
