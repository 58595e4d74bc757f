/** How work ended: its outcome, its exit code, what is logged, and what stays wrong. */
import { beforeEach, expect, test } from 'vitest';
import { RowsyncError, type ErrorCode, type ErrorKind } from '../../src/base/errors.ts';
import { loggerOf } from '../../src/base/log.ts';
import { Results } from '../../src/daemon/results.ts';
import type { TableOutcome, WorkOutcome } from '../../src/daemon/work-kinds.ts';

let results: Results;
let events: string[];
beforeEach(() => {
  results = new Results();
  events = [];
});
const log = loggerOf((level) => (event, facts) => {
  events.push([level, event, facts?.table ?? facts?.outcome].filter((part) => part !== undefined).join(' '));
});

const errorOf = (kind: ErrorKind, code: ErrorCode): RowsyncError =>
  new RowsyncError(kind, code, { message: `${code} happened`, hint: `mend ${code}` });
const BUSY = errorOf('originDown', 'origin.busy');
const REFUSED = errorOf('originRefused', 'origin.refused');
const GUARD = errorOf('needsPerson', 'guard.deletes');

const table = (changes: Partial<TableOutcome>): TableOutcome => ({
  name: 'Note',
  localName: 'Note',
  error: null,
  held: null,
  isFollowed: false,
  counts: { insertedCount: 0, updatedCount: 0, deletedCount: 0 },
  ...changes,
});

function note(
  changes: Partial<WorkOutcome>,
  { work = 'pull', isAsked = false, isStopped = false }: { work?: string; isAsked?: boolean; isStopped?: boolean } = {},
) {
  const outcome = { error: null, isOver: false, own: null, held: null, tables: [], facts: {}, ...changes };
  const end = { durationMs: 10.6, finishedAtMs: Date.UTC(2026, 5, 1), isStopped };
  return results.note({ work, isAsked }, outcome, end, log);
}

test.each<[string, Partial<WorkOutcome>, string, number]>([
  ['nothing went wrong', {}, 'done', 0],
  ['everything failed', { error: BUSY, isOver: true }, 'failed', 75],
  ['this work alone failed', { own: REFUSED }, 'failed', 1],
  ['a table failed', { tables: [table({ error: BUSY }), table({})] }, 'failed', 75],
  ['a table is held', { tables: [table({ held: GUARD })] }, 'held', 3],
  ['a guard over all tables waits', { held: GUARD }, 'held', 3],
  [
    'a table failed and another one is held',
    { tables: [table({ error: REFUSED }), table({ held: GUARD })] },
    'failed',
    3,
  ],
])('where %s', (_what, changes, outcome, exitCode) => {
  expect(note(changes)).toMatchObject({ outcome, exitCode });
  expect(events[0]).toBe(`info work.finished ${outcome}`);
  expect(results.workCounts).toEqual(new Map([[`pull ${outcome}`, 1]]));
});

test('work that was told to stop is neither done nor failed', () => {
  expect(note({ error: BUSY }, { isStopped: true })).toMatchObject({ outcome: 'stopped', exitCode: 1 });
});

test('the words of how it ended are those of the worst that concerns all tables', () => {
  expect(note({ error: BUSY, own: REFUSED, held: GUARD })).toMatchObject({ words: BUSY.message, hint: BUSY.hint });
  expect(note({ own: REFUSED, held: GUARD })).toMatchObject({ words: REFUSED.message });
  expect(note({ held: GUARD })).toMatchObject({ words: GUARD.message });
  expect(note({ tables: [table({ error: REFUSED })] })).toMatchObject({ words: null, hint: null });
});

test('a failure that the replica has as the problem of a table is told once, by the table', () => {
  note({ own: REFUSED }, { work: 'push' });
  note({ own: BUSY, isStored: true }, { work: 'push' });
  expect(results.complaints).toEqual([]);
  expect(events).toContain('error work.failed');
});

test('work that has failed alone is complained of until it succeeds, whatever else does', () => {
  note({ own: REFUSED }, { work: 'backup' });
  note({}, { work: 'pull' });
  // The origin is away, which says nothing about the backup.
  note({ error: BUSY }, { work: 'backup' });
  expect(results.complaints).toMatchObject([
    { about: 'work.failed', code: 'origin.refused', since: '2026-06-01T00:00:00Z' },
  ]);
  expect(results.complaints[0]?.message).toBe('The last backup failed: origin.refused happened');

  note({}, { work: 'backup' });

  expect(results.complaints).toEqual([]);
});

test('every hold is logged with its table', () => {
  note({ held: GUARD, tables: [table({ held: GUARD }), table({ name: 'Order' })] });

  expect(events).toEqual(['info work.finished held', 'warn guard.waits', 'warn guard.waits Note']);
});

test('work is counted by kind and outcome, and what a person asked for is kept apart', () => {
  note({});
  note({ own: BUSY });
  note({}, { isAsked: true });
  note({}, { work: 'push' });

  expect(results.workCounts).toEqual(
    new Map([
      ['pull done', 2],
      ['pull failed', 1],
      ['push done', 1],
    ]),
  );
  expect(results.lastByWork.get('pull')).toMatchObject({ outcome: 'done', endedCount: 3 });
  expect([...results.lastAskedByWork.keys()]).toEqual(['pull']);
});

test('a run is recorded in the replica if it has a number', () => {
  expect(note({ facts: { runId: 7 } }).isRecorded).toBe(true);
  expect(note({ facts: { runId: 0 } }).isRecorded).toBe(false);
  expect(note({ facts: {} }).isRecorded).toBe(false);
});
