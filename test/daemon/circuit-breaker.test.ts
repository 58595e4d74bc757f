/**
 * What the daemon remembers of failures: which work waits, for how long, and what ends the wait. Also whether a failure
 * concerns one table, one kind of work or the whole origin, by the error and one small request.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { RowsyncError, type ErrorKind } from '../../src/base/errors.ts';
import { createLogger, type Logger } from '../../src/base/log.ts';
import { BACKOFFS } from '../../src/base/retries.ts';
import {
  afterFailure,
  answerQuestion,
  oneMore,
  questionOf,
  Retries,
  type Circuit,
  type FailureCause,
} from '../../src/daemon/circuit-breaker.ts';
import type { TableOutcome, WorkOutcome } from '../../src/daemon/work-kinds.ts';
import { testClock, type TestClock } from '../support/clock.ts';

const MINUTE = 60_000;
const BEGINNING = { nowMs: 0, random: 1 };

let clock: TestClock;
let at: { readonly clock: TestClock; readonly log: Logger };
let retries: Retries;
let events: string[];
beforeEach(() => {
  events = [];
  clock = testClock({ random: () => 1 });
  const note = (line: string): boolean => events.push((JSON.parse(line) as { event: string }).event) > 0;
  at = { clock, log: createLogger({ level: 'info', destination: { write: note }, secrets: [] }) };
  retries = new Retries();
});

function errorOf(kind: ErrorKind): RowsyncError {
  return new RowsyncError(kind, 'bug.assertion', { message: kind, hint: '' });
}

/** Work of the table Note, which failed alone if there is an error. */
function ends(work: 'pull' | 'push', error: RowsyncError | null = null, included = ['Note']): void {
  const counts = { insertedCount: 0, updatedCount: 0, deletedCount: 0 };
  const tables: TableOutcome[] = [{ name: 'Note', localName: 'Note', error, held: null, counts, isFollowed: false }];
  retries.succeeded({ work, turnMs: clock.monotonicMs() }, { tables, included: new Set(included) }, at);
}

function failedAlready(kind: ErrorKind, count: number): void {
  for (let n = 0; n < count; n += 1) retries.failed(errorOf(kind), at);
}

test('a failure of everything has all work wait, each time longer, until work succeeds', () => {
  expect([retries.failure, retries.waitMs(clock.monotonicMs())]).toEqual([null, 0]);
  failedAlready('originDown', 2);
  expect(retries.waitMs(clock.monotonicMs())).toBe(MINUTE);
  clock.advance(MINUTE + 1);
  expect(retries.waitMs(clock.monotonicMs())).toBe(0);
  expect(retries.failure).toMatchObject({ kind: 'originDown', cause: 'originDown', failureCount: 2 });

  ends('pull');

  expect(retries.failure).toBeNull();
  expect(events).toEqual(['circuit.opened', 'circuit.opened', 'circuit.closed']);
});

test('failures in a row have one beginning, and each has a number of its own', () => {
  retries.failed(errorOf('originDown'), at);
  clock.advance(MINUTE);
  retries.failed(errorOf('auth'), at);
  expect(retries.failure).toMatchObject({ since: '2026-01-01T00:00:00Z', number: 2, cause: 'auth', failureCount: 1 });

  ends('pull');
  retries.failed(errorOf('auth'), at);

  expect(retries.failure).toMatchObject({ since: '2026-01-01T00:01:00Z', number: 3 });
});

test('work that a person asks for is let through at once, and its failure waits as one more of its kind', () => {
  failedAlready('originDown', 5);

  retries.letThrough();

  expect(retries.waitMs(clock.monotonicMs())).toBe(0);
  expect(retries.failure).not.toBeNull();
  retries.failed(errorOf('originDown'), at);
  expect(retries.waitMs(clock.monotonicMs())).toBe(MINUTE);
});

test('nothing is let through that did not fail', () => {
  retries.letThrough();

  expect(retries.failure).toBeNull();
});

test('a table that fails alone in a pull waits with its pushes, too, and goes on after a success', () => {
  ends('pull', errorOf('originRefused'));
  expect(retries.troubleOf('pull', 'Note')).toEqual({ failureCount: 1, retryAtMs: MINUTE });
  expect(retries.troubleOf('push', 'Note')).toEqual({ failureCount: 1, retryAtMs: MINUTE });
  expect(retries.troubleOf('pull', 'Other')).toBeUndefined();

  ends('pull');

  expect(retries.troubleOf('pull', 'Note')).toBeUndefined();
  expect(events).toEqual(['table.waits', 'table.recovered']);
});

test('a table whose push fails without having taken part in the run is still pulled', () => {
  ends('push', errorOf('auth'), []);

  expect([...retries.byTable.keys()]).toEqual([]);
  expect([...retries.pushesByTable.keys()]).toEqual(['Note']);
  expect(retries.troubleOf('pull', 'Note')).toBeUndefined();
  expect(retries.troubleOf('push', 'Note')).toMatchObject({ failureCount: 1 });
});

test('a table that has left the origin is forgotten once its turn has come', () => {
  ends('pull', errorOf('originRefused'));
  ends('pull', null, []);
  expect(retries.byTable.size).toBe(1);

  clock.advance(MINUTE);
  ends('pull', null, []);

  expect(retries.byTable.size).toBe(0);
});

test('a changed configuration lets everything be tried at once, and forgets tables that it leaves out', () => {
  ends('pull', errorOf('originRefused'));
  ends('push', errorOf('auth'), []);
  failedAlready('auth', 2);

  retries.tryAgain({ pull: () => true, push: () => false });

  expect(retries.waitMs(clock.monotonicMs())).toBe(0);
  expect(retries.failure).toMatchObject({ cause: 'auth', failureCount: 1 });
  expect(retries.troubleOf('pull', 'Note')).toEqual({ failureCount: 1, retryAtMs: 0 });

  ends('pull');

  expect(retries.pushesByTable.size).toBe(0);
});

describe('a circuit', () => {
  const failed = (kind: ErrorKind): RowsyncError => new RowsyncError(kind, 'bug.assertion', { message: '', hint: '' });
  /** The waits of the first failures in a row, in seconds, without jitter. */
  const waits = (kind: ErrorKind, count: number): readonly number[] => {
    let circuit: Circuit | null = null;
    return Array.from({ length: count }, () => {
      circuit = afterFailure(circuit, failed(kind), { nowMs: 1000, random: 1 });
      return (circuit.retryAtMs - 1000) / 1000;
    });
  };

  test.each<[ErrorKind, readonly number[]]>([
    ['originDown', [30, 60, 120, 240, 480, 900, 900]],
    ['auth', [900, 900, 900]],
    ['replica', [30, 60, 120, 240, 300, 300]],
    ['bug', [60, 120, 240, 480, 900, 900]],
  ])('after failures of the kind %s waits %j seconds', (kind, expected) => {
    expect(waits(kind, expected.length)).toEqual(expected);
  });

  test('never stops trying, however long it fails', () => {
    expect(waits('originDown', 5000).at(-1)).toBe(900);
  });

  test('counts anew for another cause', () => {
    const down = afterFailure(afterFailure(null, failed('originDown'), BEGINNING), failed('originDown'), BEGINNING);

    expect(down.failureCount).toBe(2);
    expect(afterFailure(down, failed('replica'), BEGINNING)).toEqual({
      failureCount: 1,
      cause: 'replica',
      retryAtMs: 30_000,
    });
  });

  test('lets chance take up to a quarter off a wait', () => {
    expect(afterFailure(null, failed('originDown'), { ...BEGINNING, random: 0 }).retryAtMs).toBe(22_500);
  });

  test.each<[ErrorKind, FailureCause]>([
    ['originDown', 'originDown'],
    ['auth', 'auth'],
    ['replica', 'replica'],
    ['wireFormat', 'other'],
    ['bug', 'other'],
  ])('takes an error of the kind %s for %s', (kind, cause) => {
    expect(afterFailure(null, failed(kind), { ...BEGINNING, random: 0 }).cause).toBe(cause);
  });
});

test('a table that fails by itself waits longer each time, up to six hours', () => {
  const first = oneMore(undefined, BACKOFFS.table, BEGINNING);
  const second = oneMore(first, BACKOFFS.table, BEGINNING);

  expect([first.retryAtMs, second.retryAtMs]).toEqual([MINUTE, 2 * MINUTE]);
  expect(oneMore({ failureCount: 60, retryAtMs: 0 }, BACKOFFS.table, BEGINNING).retryAtMs).toBe(360 * MINUTE);
});

describe('the question about a failure', () => {
  const BUSY = new RowsyncError('originDown', 'origin.busy', { message: 'busy', hint: '' });
  const GONE = new RowsyncError('originDown', 'origin.unreachable', { message: 'not reached', hint: '' });
  const REFUSED = new RowsyncError('auth', 'origin.forbidden', { message: 'refused', hint: '' });

  function outcome(parts: Partial<WorkOutcome>): WorkOutcome {
    return { error: null, isOver: false, own: null, held: null, tables: [], facts: {}, ...parts };
  }

  /** One table that failed. */
  function tableFailed(error: RowsyncError): Pick<WorkOutcome, 'tables'> {
    const counts = { insertedCount: 0, updatedCount: 0, deletedCount: 0 };
    return { tables: [{ name: 'Note', localName: 'Note', error, held: null, counts, isFollowed: false }] };
  }

  test.each([
    ['nothing failed', 'pull', outcome({}), null],
    ['a table that could not be read', 'pull', outcome({ error: BUSY, ...tableFailed(BUSY) }), 'outage'],
    ['work that knows that all would fail', 'pull', outcome({ error: BUSY, isOver: true }), null],
    ['an origin that cannot be reached', 'pull', outcome({ error: GONE }), null],
    ['a table that may not be read', 'pull', outcome(tableFailed(REFUSED)), 'rights'],
    ['a pull that was refused as a whole', 'pull', outcome({ error: REFUSED }), null],
    ['a push that was refused as a whole', 'push', outcome({ error: REFUSED }), 'rights'],
  ] as const)('asks where it is in doubt: %s', (_what, work, came, doubt) => {
    expect(questionOf(work, came)).toBe(doubt);
  });

  test.each([
    ['the origin is down', outcome({ error: BUSY, ...tableFailed(BUSY) }), 'outage', GONE, { error: GONE, own: null }],
    ['one table fails', outcome({ error: BUSY, ...tableFailed(BUSY) }), 'outage', null, { error: null, own: null }],
    ['the work fails beside its tables', outcome({ error: BUSY }), 'outage', null, { error: null, own: BUSY }],
    [
      'a push lacks a right',
      outcome({ error: REFUSED, ...tableFailed(REFUSED) }),
      'rights',
      null,
      { error: null, own: REFUSED },
    ],
    ['the credentials are refused', outcome({ error: REFUSED }), 'rights', REFUSED, { error: REFUSED, own: null }],
  ] as const)('puts the error where it belongs: %s', (_what, came, doubt, refusal, expected) => {
    expect(answerQuestion(came, doubt, refusal)).toMatchObject(expected);
  });
});
