import { expect, test } from 'vitest';

import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call } from '../client.ts';

const tables: readonly TableSpec[] = [
  {
    name: 'Person',
    key: 'Code',
    columns: [
      { name: 'Code', type: 'Text', options: ['Unique', 'Required'] },
      { name: 'Login', type: 'Text', options: ['Unique'] },
      { name: 'Name', type: 'Text' },
      { name: 'Age', type: 'Numeric' },
      { name: 'Done', type: 'Checkbox' },
      { name: 'Seen', type: 'Timestamp' },
      { name: 'Label', type: 'Text', computed: { how: 'join', columns: ['Name'] } },
      { name: 'Fixed', type: 'Text', readOnly: true },
    ],
    rows: Array.from({ length: 50 }, (_, index) => ({
      Code: `c${index}`,
      Login: `l${index}`,
      Name: `n${index % 9}`,
      Age: index,
      Done: index % 2 === 0,
      Fixed: 'as it was',
    })),
  },
  { name: 'Empty', columns: [{ name: 'X', type: 'Text' }] },
];

function everything(sandbox: TestSandbox): string {
  return JSON.stringify(sandbox.store.catalog.tables.map(({ name }) => sandbox.store.rows(name)));
}

test('plays edits, inserts and deletes, as many as asked for', async () => {
  await using sandbox = await startTestSandbox({ tables });

  const { updatedCount, insertedCount, deletedCount } = sandbox.playActivity(200);

  expect(updatedCount + insertedCount + deletedCount).toBe(200);
  expect(Math.min(updatedCount, insertedCount, deletedCount)).toBeGreaterThan(5);
  expect(sandbox.store.count('Person')).toBe(50 + insertedCount - deletedCount);
});

test('plays the same changes for the same seed, and others for another', async () => {
  const ends: string[] = [];
  for (const seed of [7, 7, 8]) {
    await using sandbox = await startTestSandbox({ tables, seed, clock: testClock() });
    sandbox.playActivity(100);
    ends.push(everything(sandbox));
  }

  expect(ends[0]).toBe(ends[1]);
  expect(ends[0]).not.toBe(ends[2]);
});

test('changes exactly one row with every edit, as a colleague and not as the owner of the token', async () => {
  await using sandbox = await startTestSandbox({ tables, clock: testClock() });
  const texts = (): Map<number, string> =>
    new Map(sandbox.store.rows('Person').map(({ id, values }) => [id, JSON.stringify(values)]));

  for (let played = 0; played < 40; played += 1) {
    const before = texts();
    const { updatedCount } = sandbox.playActivity(1);
    const changed = [...texts()].filter(([id, text]) => before.has(id) && before.get(id) !== text);
    expect(changed).toHaveLength(updatedCount);
    expect(changed.filter(([, text]) => text.includes('"Last Modified By":"Alice'))).toEqual([]);
  }
});

test('leaves keys, unique, read-only and computed columns of existing rows alone', async () => {
  await using sandbox = await startTestSandbox({ tables });
  const pick = (): Map<number, string> =>
    new Map(
      sandbox.store
        .rows('Person')
        .map(({ id, values }) => [
          id,
          `${String(values['Code'])} ${String(values['Login'])} ${String(values['Fixed'])}`,
        ]),
    );
  const before = pick();

  sandbox.playActivity(500);

  const after = [...pick()].filter(([id]) => before.has(id));
  expect(after.every(([id, text]) => before.get(id) === text)).toBe(true);
  const codes = sandbox.store.rows('Person').map(({ values }) => values['Code']);
  expect(new Set(codes).size).toBe(codes.length);
});

test('never empties a table, and starts nothing in an empty one', async () => {
  await using sandbox = await startTestSandbox({
    tables: [
      { ...tables[0], name: 'Small', columns: tables[0]?.columns ?? [], rows: [{ Code: 'a' }] },
      { name: 'Empty', columns: [] },
    ],
  });

  sandbox.playActivity(300);

  expect(sandbox.store.count('Small')).toBeGreaterThan(0);
  expect(sandbox.store.count('Empty')).toBe(0);
});

test('plays nothing where there is nothing', async () => {
  await using sandbox = await startTestSandbox({ tables: [] });

  expect(sandbox.playActivity(10)).toEqual({ updatedCount: 0, insertedCount: 0, deletedCount: 0 });
});

test('works on the sample data, and every page stays readable', async () => {
  await using sandbox = await startTestSandbox();

  sandbox.playActivity(2000);

  for (const { alias } of sandbox.store.catalog.tables) {
    expect(await call(sandbox, `${alias}/select.json`)).toMatchObject({ status: 200 });
  }
});

test.each([
  [5, 5],
  [400, 400],
])('runs %i changes in a second by the clock', async (activityPerSecond, count) => {
  const clock = testClock({ sleepsAdvance: false });
  await using sandbox = await startTestSandbox({ tables, clock, activityPerSecond });
  const version = (): string => everything(sandbox);
  const before = version();
  let steps = 0;

  for (let passedMs = 0; passedMs < 1000;) {
    await clock.sleeper();
    const stepMs = clock.waits.at(-1) ?? 0;
    clock.advance(stepMs);
    passedMs += stepMs;
    steps += 1;
  }
  await clock.sleeper();

  const modified = sandbox.store
    .rows('Person')
    .filter(({ values }) => values['Date Modified'] !== '2026-01-01T00:00:00Z');
  expect(version()).not.toBe(before);
  expect(steps).toBe(Math.min(count, 50));
  expect(modified.length).toBeLessThanOrEqual(count);
});

test('stops with the sandbox', async () => {
  const clock = testClock({ sleepsAdvance: false });
  const sandbox = await startTestSandbox({ tables, clock, activityPerSecond: 10 });
  await clock.sleeper();

  await sandbox.stop();
  clock.advance(10_000);

  expect(clock.waits).toHaveLength(1);
});
