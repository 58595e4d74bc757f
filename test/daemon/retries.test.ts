/**
 * What the daemon remembers of failures: which work waits, for how long, and what ends the wait.
 */
import { beforeEach, expect, test } from 'vitest';
import { RowsyncError, type ErrorKind } from '../../src/base/errors.ts';
import { createLogger, type Logger } from '../../src/base/log.ts';
import { Retries } from '../../src/daemon/circuit-breaker.ts';
import type { TableOutcome } from '../../src/daemon/work-kinds.ts';
import { testClock, type TestClock } from '../support/clock.ts';

const MINUTE = 60_000;

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
