/** Where a running pull stands, after each step of it. */
import { expect, test } from 'vitest';
import { PULL_BEGINNING, positionAfter, type PullProgress } from '../../src/pull/report.ts';
import { startFixture } from '../support/replica.ts';
import { notes } from '../support/small-tables.ts';

test('tables and rows are counted as they come, in whichever order', () => {
  const events: readonly PullProgress[] = [
    { kind: 'start', tableCount: 2, expectedRowCount: 10 },
    { kind: 'tableStart', table: 'A' },
    { kind: 'tableStart', table: 'B' },
    { kind: 'page', table: 'A', rowCount: 3 },
    { kind: 'page', table: 'B', rowCount: 4 },
    { kind: 'tableEnd' },
  ];

  const positions = events.map((_, index) => events.slice(0, index + 1).reduce(positionAfter, PULL_BEGINNING));

  expect(positions.map(({ table, tablesDoneCount, rowCount }) => [table, tablesDoneCount, rowCount])).toEqual([
    [null, 0, 0],
    ['A', 0, 0],
    ['B', 0, 0],
    ['A', 0, 3],
    ['B', 0, 7],
    ['B', 1, 7],
  ]);
  expect(positions.at(-1)).toMatchObject({ tableCount: 2, expectedRowCount: 10 });
});

test('at the end of a pull every row and table was counted once', async () => {
  await using fixture = await startFixture({ tables: [notes(23), notes(4, 'Other')] }, { settings: { pageRows: 5 } });

  await fixture.pull();

  expect(fixture.progress.reduce(positionAfter, PULL_BEGINNING)).toMatchObject({
    tableCount: 2,
    tablesDoneCount: 2,
    rowCount: 27,
  });
});
