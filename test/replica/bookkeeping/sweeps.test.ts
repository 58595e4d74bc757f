/** How far a table was read: a sweep is continued until it is closed, and what closes it is trusted from then on. */
import { expect, test } from 'vitest';
import {
  closeSweep,
  doubtIdentity,
  nextAnswer,
  openSweep,
  restartSweep,
  storeFollowed,
} from '../../../src/replica/bookkeeping/sweeps.ts';
import { storeProblem } from '../../../src/replica/bookkeeping/table-errors.ts';
import { readTable, storeFacts, type TableRecord } from '../../../src/replica/bookkeeping/tables.ts';
import { openBare, type Bare } from '../../support/bare.ts';

const FIRST = '2026-11-21T12:00:00Z';
const SECOND = '2026-11-21T13:00:00Z';
const THIRD = '2026-11-21T14:00:00Z';
const PROBLEM = { code: 'origin.refused', message: 'it failed', hint: 'try again' };

/** Facts of Note. */
function facts<K extends keyof TableRecord>({ replica }: Bare, ...names: readonly K[]): Pick<TableRecord, K> {
  const table = readTable(replica, 1);
  return Object.fromEntries(names.map((name) => [name, table[name]])) as Pick<TableRecord, K>;
}

function sweep(bare: Bare, at: string, end: { watermark?: string | null; filter?: string | null } = {}): Promise<void> {
  return bare.write((tx) => {
    openSweep(tx, 1, at);
    closeSweep(tx, 1, { at, watermark: null, filter: null, ...end });
  });
}

test('a sweep keeps its number and its beginning until it is closed', async () => {
  await using bare = await openBare();

  const numbers = await bare.write((tx) => [openSweep(tx, 1, FIRST), openSweep(tx, 1, SECOND)]);
  const begun = bare.rows('SELECT sweep_started_at AS at FROM _rowsync_tables');
  await bare.write((tx) => closeSweep(tx, 1, { at: SECOND, watermark: null, filter: null }));
  const next = await bare.write((tx) => openSweep(tx, 1, THIRD));

  expect([...numbers, next]).toEqual([1, 1, 2]);
  expect(begun).toEqual([{ at: FIRST }]);
});

test('a table that was read to its end is steady, and its last failure is forgotten', async () => {
  await using bare = await openBare();
  await bare.write((tx) => {
    storeProblem(tx, 1, 'problem', PROBLEM);
    storeFacts(tx, 1, { doubted: 1, ignored_measures: ['count'] });
  });

  await sweep(bare, FIRST, { watermark: SECOND });

  expect(
    facts(
      bare,
      'state',
      'sweepOpen',
      'sweptAt',
      'endProven',
      'isDistrusted',
      'problemCode',
      'watermark',
      'ignoredMeasures',
    ),
  ).toEqual({
    state: 'steady',
    sweepOpen: false,
    sweptAt: FIRST,
    endProven: true,
    isDistrusted: false,
    problemCode: null,
    watermark: SECOND,
    ignoredMeasures: [],
  });
});

test.each([
  ['push.shape', null],
  ['guard.pushRows', 'guard.pushRows'],
])('of a push, %s becomes %s', async (code, left) => {
  await using bare = await openBare();
  await bare.write((tx) => storeProblem(tx, 1, 'push', { ...PROBLEM, code }));

  await sweep(bare, FIRST);

  expect(facts(bare, 'pushCode')).toEqual({ pushCode: left });
});

test('the first sweep says by which filter the rows were chosen, and no later one; a missing watermark leaves the last', async () => {
  await using bare = await openBare();
  await sweep(bare, FIRST, { watermark: FIRST, filter: '[Done]' });

  await sweep(bare, SECOND, { filter: '[Open]' });

  expect(facts(bare, 'rowsFilter', 'rowsWanted', 'watermark')).toEqual({
    rowsFilter: '[Done]',
    rowsWanted: '[Done]',
    watermark: FIRST,
  });
});

test('a follow proves what it could see: without deletes it gives no age, without sums no comparison', async () => {
  await using bare = await openBare();
  await sweep(bare, FIRST, { watermark: FIRST });
  await bare.write((tx) => storeProblem(tx, 1, 'problem', PROBLEM));
  const read = () => facts(bare, 'watermark', 'hasLargeTail', 'readAt', 'comparedAt', 'problemCode');

  await bare.write((tx) => storeFollowed(tx, 1, { watermark: SECOND, at: null, isLarge: true, comparedAt: null }));
  const blind = read();
  await bare.write((tx) => storeFollowed(tx, 1, { watermark: THIRD, at: THIRD, isLarge: false, comparedAt: SECOND }));

  expect(blind).toEqual({
    watermark: SECOND,
    hasLargeTail: true,
    readAt: Date.parse(FIRST) / 1000,
    comparedAt: FIRST,
    problemCode: null,
  });
  expect(read()).toMatchObject({
    watermark: THIRD,
    hasLargeTail: false,
    readAt: Date.parse(THIRD) / 1000,
    comparedAt: SECOND,
  });
});

test('answers are counted for each table', async () => {
  await using bare = await openBare();
  await bare.makeTable(2, 'Task', []);

  expect(await bare.write((tx) => [1, 1, 2, 1].map((id) => nextAnswer(tx, id)))).toEqual([1, 2, 1, 3]);
});

test('a sweep that starts over is not continued, and its end proves nothing any more', async () => {
  await using bare = await openBare();
  await sweep(bare, FIRST);
  await bare.write((tx) => {
    storeFacts(tx, 1, { one_window: 'no stamps' });
    openSweep(tx, 1, SECOND);
    restartSweep(tx, 1);
  });

  expect(facts(bare, 'sweepOpen', 'endProven', 'oneWindow')).toEqual({
    sweepOpen: false,
    endProven: false,
    oneWindow: null,
  });
  expect(await bare.write((tx) => openSweep(tx, 1, THIRD))).toBe(3);
});

test('another caller interrupts the sweep of every table, and takes each consent to deletes back', async () => {
  await using bare = await openBare();
  await bare.makeTable(2, 'Task', []);
  await bare.write((tx) => {
    for (const id of [1, 2]) storeFacts(tx, id, { identity_checked: 1, pull_consent: 3, push_consent: 4 });
    openSweep(tx, 2, FIRST);
  });

  await bare.write(doubtIdentity);

  for (const id of [1, 2]) {
    expect(readTable(bare.replica, id)).toMatchObject({
      identityChecked: false,
      sweepOpen: false,
      endProven: false,
      pullConfirmedCount: null,
      pushConfirmedCount: 4,
    });
  }
});
