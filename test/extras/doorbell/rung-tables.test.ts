/**
 * Which tables following leaves to the doorbell.
 */
import { expect, test } from 'vitest';
import { RungTables, waitsForRing } from '../../../src/extras/doorbell/rung-tables.ts';
import type { WorkEvent } from '../../../src/daemon/context.ts';

test.each([
  ['no ring ever brought something', { broughtMs: -Infinity }, false],
  ['a ring brought the last change', {}, true],
  ['that was an hour ago', { broughtMs: -3_000_000 }, true],
  ['that was longer ago', { broughtMs: -3_000_001 }, false],
  ['the schedule brought one since', { missedMs: 1 }, false],
  ['the schedule brought one in that moment', { missedMs: 0 }, false],
  ['the schedule brought one before', { missedMs: -1 }, true],
  ['it was read ten minutes ago', { readMs: 0 }, false],
  ['it was read a bit later', { readMs: 1 }, true],
])('following leaves a table to the doorbell where %s: %j is %s', (_what, changes, expected) => {
  expect(waitsForRing({ broughtMs: 0, missedMs: -Infinity, readMs: 1, ...changes }, 600_000)).toBe(expected);
});

const READ = {
  kind: 'ended',
  work: 'follow',
  isRefresh: false,
  isRecorded: true,
  outcome: 'done',
  durationMs: 10,
  finishedAtMs: 0,
  words: null,
  hint: null,
} as const;

/** The end of a run that read a table and brought some rows. */
function readOf(changedCount: number, changes: Partial<WorkEvent> = {}): WorkEvent {
  const counts = { insertedCount: 0, updatedCount: changedCount, deletedCount: 0 };
  const table = { name: 'Note', localName: 'Note', error: null, held: null, counts, isFollowed: true };
  return { ...READ, tables: [table], ...changes } as WorkEvent;
}

test.each([
  ['brought nothing', readOf(0), true],
  ['brought a change', readOf(1), false],
  ['read it because somebody wanted it now', readOf(1, { isRefresh: true }), true],
  ['did something else', readOf(1, { work: 'push' }), true],
])('a table of which a ring brought rows waits for rings after a run that %s: %o is %s', (_what, event, expected) => {
  const tables = new RungTables({ monotonicMs: () => 1_000 });
  tables.note(readOf(0));

  tables.note(event);

  expect(tables.waits('Note', 900)).toBe(expected);
});

test('a table that nothing has read yet waits for no ring', () => {
  expect(new RungTables({ monotonicMs: () => 1_000 }).waits('Note', 900)).toBe(false);
});
