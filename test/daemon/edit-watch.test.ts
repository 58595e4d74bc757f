/** When noticed edits are pushed, also after pushes that failed. */
import { expect, test } from 'vitest';
import { EditWatch } from '../../src/daemon/edit-watch.ts';
import { startTwoWay } from '../support/two-way.ts';

const DELAY_MS = 2_000;
const HOURS_MS = 6 * 3_600_000;

test('a push on schedule that fails delays no noticed edit; one of noticed edits makes them wait, longer each time', async () => {
  await using fixture = await startTwoWay();
  const edits = new EditWatch(fixture.replica);
  const tables = (nowMs: number): readonly string[] => [
    ...edits.tables({ nowMs, wallMs: 0, delayMs: DELAY_MS }, (name) => name === 'Note'),
  ];
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);

  expect(tables(0)).toEqual([]);
  edits.notePush({ nowMs: 1_000, random: 0.5, hasFailed: true, tables: new Set() });
  expect(tables(DELAY_MS)).toEqual(['Note']);

  const waitOf = (nowMs: number): number => {
    edits.notePush({ nowMs, random: 0.5, hasFailed: true, tables: new Set(['Note']) });
    const seconds = Array.from({ length: HOURS_MS / 1_000 }, (_, second) => second + 1);
    return seconds.find((second) => tables(nowMs + second * 1_000).length > 0) ?? Infinity;
  };
  const first = waitOf(10_000);
  const second = waitOf(HOURS_MS);
  expect(first).toBeGreaterThan(30);
  expect(second).toBeGreaterThan(first);

  edits.notePush({ nowMs: 0, random: 0.5, hasFailed: false, tables: new Set(['Note']) });
  expect(tables(3 * HOURS_MS)).toEqual([]);
});
