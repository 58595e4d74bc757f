/** When noticed edits are pushed, also after pushes that failed. */
import { expect, test } from 'vitest';
import { sql } from '../../src/base/sql.ts';
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

test('waits after failed pushes begin anew once nothing is left to push', async () => {
  await using fixture = await startTwoWay();
  const edits = new EditWatch(fixture.replica);
  const isDue = (nowMs: number): boolean => edits.tables({ nowMs, wallMs: 0, delayMs: 0 }, () => true).size > 0;
  const fail = (nowMs: number): void =>
    edits.notePush({ nowMs, random: 0.5, hasFailed: true, tables: new Set(['Note']) });
  for (let count = 0; count < 10; count += 1) fail(0);
  expect(isDue(10 * HOURS_MS)).toBe(false); // nothing waits

  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  expect(isDue(11 * HOURS_MS)).toBe(true);
  fail(11 * HOURS_MS);
  expect(isDue(11 * HOURS_MS + 120_000)).toBe(true);
});

test('a row that was refused after the clock was set back is sent at its time', async () => {
  await using fixture = await startTwoWay();
  const edits = new EditWatch(fixture.replica);
  const isDue = (wallMs: number): boolean => edits.tables({ nowMs: wallMs, wallMs, delayMs: 0 }, () => true).size > 0;
  expect(isDue(HOURS_MS)).toBe(false);

  const dueMs = 1_000_000;
  await fixture.replica.write('Refusing a row', (tx) => {
    tx.prepare(sql`INSERT INTO _rowsync_rows SELECT id, 1, 'refused', 0 FROM _rowsync_tables`).run();
    tx.prepare(
      sql`INSERT INTO _rowsync_refusals (table_id, row_id, kind, reason, tries, since_ms, retry_at_ms)
          SELECT id, 1, 'update', 'busy', 1, 0, ? FROM _rowsync_tables`,
    ).run(dueMs);
  });
  edits.notePush({ nowMs: 0, random: 0.5, hasFailed: false, tables: new Set() });

  expect(isDue(dueMs - 1)).toBe(false);
  expect(isDue(dueMs)).toBe(true);
});
