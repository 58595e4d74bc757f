/**
 * What leaves the history: the oldest entries beyond its bounds, and every value of a column that the configuration
 * leaves out.
 */
import { expect, test } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { forgetColumn, pruneHistories } from '../../src/history/prune.ts';
import { readColumns } from '../../src/replica/bookkeeping/columns.ts';
import { ENTRY_BYTES, findHistory, secondsOf } from '../../src/replica/bookkeeping/history.ts';
import { must } from '../../src/base/assert.ts';
import type { Bounds } from '../../src/reconcile/history-bounds.ts';
import { described, openBare, type Bare } from '../support/bare.ts';
import { AT } from '../support/two-way.ts';

const DAY_S = 86_400;
const NOW_S = secondsOf(AT);

/** Note with a history of so many entries, one each day, the newest now; each has cells of ten bytes. */
async function startWith(count: number, { isBegun = true } = {}): Promise<Bare> {
  const bare = await openBare([
    described('Title'),
    described('Secret'),
    described('By', 'User', { kind: 'LastModifiedBy' }),
  ]);
  bare.execute(`
    WITH RECURSIVE day (number) AS (SELECT ${count} - 1 UNION ALL SELECT number - 1 FROM day WHERE number > 0)
    INSERT INTO _rowsync_history (table_id, row_id, kind, at, cause, cells)
      SELECT 1, 5, 'update', ${NOW_S} - number * ${DAY_S}, 'pull', '[[1,1,2]]' || char(32) FROM day WHERE ${count} > 0;
    INSERT INTO _rowsync_history_tables (table_id, begun_seq, bytes, oldest_at)
      VALUES (1, ${isBegun ? 1 : 'NULL'}, ${count} * (${ENTRY_BYTES} + 10), ${NOW_S} - (${count} - 1) * ${DAY_S})`);
  return bare;
}

function prune(bare: Bare, bounds: Partial<Bounds> | null, clockAheadMs: number | null = 0): Promise<number> {
  const history = bounds === null ? null : { keepDays: 10_000, bytesMax: 1_000_000_000, ...bounds };
  return pruneHistories({
    replica: bare.replica,
    clock: { nowMs: () => NOW_S * 1000 },
    clockAheadMs,
    log: silentLogger,
    settings: { tableOptions: (name) => (name === 'Note' ? { history } : null) },
  });
}

function countLeft(bare: Bare): unknown {
  return bare.lines(`SELECT count(*), min(at) FROM _rowsync_history WHERE kind = 'update'`)[0];
}

test('a share of the entries that are too old goes at once, the oldest first, and an entry says until when', async () => {
  await using bare = await startWith(100);

  const removedCount = await prune(bare, { keepDays: 30 });

  expect(removedCount).toBe(10);
  expect(countLeft(bare)).toEqual([90, NOW_S - 89 * DAY_S]);
  expect(bare.lines(`SELECT note, cause FROM sync_history WHERE kind = 'pruned'`)).toEqual([
    ['{"until":"2026-08-23T12:00:00Z","entries":10}', 'pull'],
  ]);
  expect(findHistory(bare.replica, 1)).toMatchObject({ bytes: 90 * 120, oldestAt: NOW_S - 89 * DAY_S });
});

test('no entry goes that is young enough, whatever is old', async () => {
  await using bare = await startWith(32);

  expect(await prune(bare, { keepDays: 30 })).toBe(1);

  expect(countLeft(bare)).toEqual([31, NOW_S - 30 * DAY_S]);
  expect(await prune(bare, { keepDays: 30 })).toBe(0);
});

test('what takes too much space goes whatever its age, until there is some slack', async () => {
  await using bare = await startWith(100);

  expect(await prune(bare, { bytesMax: 50 * 120 })).toBe(51);

  expect(findHistory(bare.replica, 1)?.bytes).toBe(49 * 120);
});

test('more entries than one transaction takes go in several, each with an entry that says so', async () => {
  await using bare = await startWith(12_000);

  expect(await prune(bare, { bytesMax: 1_000 * 120 })).toBe(11_020);

  const notes = bare.lines(`SELECT note ->> 'entries' FROM sync_history WHERE kind = 'pruned' ORDER BY id`);
  expect(notes).toEqual([[5000], [5000], [1020]]);
});

test.each<readonly [string, Partial<Bounds> | null, boolean]>([
  ['has no bounds', null, true],
  ['has not begun', { bytesMax: 1 }, false],
  ['is within its bounds', {}, true],
])('a history that %s loses nothing', async (_what, bounds, isBegun) => {
  await using bare = await startWith(20, { isBegun });

  expect(await prune(bare, bounds)).toBe(0);

  expect(countLeft(bare)).toEqual([20, NOW_S - 19 * DAY_S]);
});

test.each([
  ['is not confirmed', null, "no answer of the origin had a date that confirms this machine's clock"],
  ['is ahead', 3 * DAY_S * 1000, 'the clock of this machine is 3 days ahead of that of the origin'],
])(
  'a clock that %s removes nothing by age, and the reason is kept until the clock is right',
  async (_what, ahead, why) => {
    await using bare = await startWith(100);

    expect(await prune(bare, { keepDays: 30 }, ahead)).toBe(0);
    expect(findHistory(bare.replica, 1)?.pruningHeld).toBe(why);
    // Space is no matter of clocks.
    expect(await prune(bare, { keepDays: 30, bytesMax: 99 * 120 }, ahead)).toBeGreaterThan(0);

    expect(await prune(bare, { keepDays: 30 })).toBeGreaterThan(0);
    expect(findHistory(bare.replica, 1)?.pruningHeld).toBeNull();
  },
);

test('entries of other tables stay', async () => {
  await using bare = await startWith(10);
  bare.execute(`INSERT INTO _rowsync_history (table_id, kind, at, cause) VALUES (2, 'begin', 0, 'pull')`);

  await prune(bare, { bytesMax: 0 });

  expect(bare.lines(`SELECT kind FROM _rowsync_history WHERE table_id = 2`)).toEqual([['begin']]);
});

/** Forgets a column of Note, as the pull does that leaves it out. */
function forget(bare: Bare, name: string): Promise<readonly string[]> {
  const column = must(
    readColumns(bare.replica, 1).find(({ localName }) => localName === name),
    'it is there',
  );
  return bare.write((tx) => forgetColumn(tx, 1, column, AT));
}

const [TITLE, SECRET] = [1, 2];

test('no value of the column is left in any entry or known edit, and the others keep their digits', async () => {
  await using bare = await startWith(0);
  const cells = (...seqs: readonly number[]): string =>
    JSON.stringify(seqs.map((seq) => [seq, 'was', 'LONG'])).replaceAll('"LONG"', '9007199254740993');
  bare.execute(`
    UPDATE _rowsync_history_tables SET bytes = 1000;
    INSERT INTO _rowsync_history (table_id, row_id, kind, at, cause, origin_by, cells) VALUES
      (1, 5, 'update', 0, 'pull', 'Ann', '${cells(0, TITLE, SECRET)}'), (1, 6, 'update', 0, 'pull', 'Bob', '${cells(TITLE)}'),
      (1, 7, 'update', 0, 'pull', NULL, '${cells(99, SECRET)}'), (2, 5, 'update', 0, 'pull', 'Cid', '${cells(SECRET)}');
    INSERT INTO _rowsync_history_edits VALUES (1, 5, jsonb('[[${TITLE},9007199254740993],[${SECRET},"x"]]')), (1, 6, NULL)`);

  await forget(bare, 'Secret');

  const left = bare.lines(`SELECT cells, origin_by FROM _rowsync_history WHERE kind = 'update' ORDER BY seq`);
  expect(left).toEqual([
    [cells(0, TITLE), 'Ann'],
    [cells(TITLE), 'Bob'],
    // A number that no column has now may be of this one, from before another program dropped the table.
    ['[]', null],
    [cells(SECRET), 'Cid'],
  ]);
  expect(bare.lines('SELECT row_id, json(cells) FROM _rowsync_history_edits ORDER BY row_id')).toEqual([
    [5, `[[${TITLE},9007199254740993]]`],
    [6, null],
  ]);
  expect(bare.lines(`SELECT note, cause FROM sync_history WHERE kind = 'forgotten'`)).toEqual([
    [`{"column":"Secret","columnSeq":${SECRET},"entries":2}`, 'schema'],
  ]);
  expect(findHistory(bare.replica, 1)?.bytes).toBe(1000 - (cells(SECRET).length - 1) - (cells(99, SECRET).length - 2));
});

test('who changed rows last is forgotten with the column that says so', async () => {
  await using bare = await startWith(0);
  bare.execute(`INSERT INTO _rowsync_history (table_id, row_id, kind, at, cause, origin_by, cells) VALUES
    (1, 5, 'update', 0, 'pull', 'Ann', '[[3,1,2]]'), (2, 5, 'update', 0, 'pull', 'Bob', '[]')`);

  await forget(bare, 'By');

  expect(bare.lines(`SELECT table_id, origin_by FROM _rowsync_history WHERE kind = 'update' ORDER BY 1`)).toEqual([
    [1, null],
    [2, 'Bob'],
  ]);
});

test('it is gone from deleted rows, also under names that no column has now', async () => {
  await using bare = await startWith(0);
  const store = (tableId: number, values: string): void =>
    bare.execute(`INSERT INTO _rowsync_deleted (table_id, table_name, row_id, deleted_at, reason, row_values)
      VALUES (${tableId}, 'Note', 5, '', '', '${values}')`);
  store(1, '{"_id":5,"_allow":null,"title":9007199254740993,"SECRET":"x","Former":"y"}');
  store(2, '{"Secret":"x"}');

  await forget(bare, 'Secret');

  expect(bare.lines('SELECT row_values FROM _rowsync_deleted ORDER BY seq')).toEqual([
    ['{"_id":5,"_allow":null,"title":9007199254740993}'],
    ['{"Secret":"x"}'],
  ]);
});

test('conflicts about its cells go, and those about whole rows lose its value in every version', async () => {
  await using bare = await startWith(0);
  const row = (secret: string): string => `'{"_id":5,"Title":"t",${secret}"Count":9007199254740993}'`;
  const full = row('"secret":"x",');
  bare.execute(`INSERT INTO _rowsync_conflicts (table_id, table_name, row_id, kind, column_seq, base, local, remote, winner, at, state) VALUES
    (1, 'Note', 5, 'cell', ${SECRET}, 'a', 'b', 'c', 'origin', '', 'decided'),
    (1, 'Note', 5, 'cell', ${TITLE}, 'a', '{"Secret":1}', 'c', 'origin', '', 'decided'),
    (1, 'Note', 5, 'deletedHere', NULL, ${full}, NULL, ${full}, 'nobody', '', 'open'),
    (2, 'Task', 5, 'cell', ${SECRET}, 'a', 'b', 'c', 'origin', '', 'decided')`);

  await forget(bare, 'Secret');

  const rest = row('').slice(1, -1);
  expect(bare.lines('SELECT table_id, base, local, remote FROM _rowsync_conflicts ORDER BY id')).toEqual([
    [1, 'a', '{"Secret":1}', 'c'],
    [1, rest, null, rest],
    [2, 'a', 'b', 'c'],
  ]);
});

test('words of the origin go, which may quote a value; a row in doubt keeps its line without the value that was sent', async () => {
  await using bare = await startWith(0);
  bare.execute(`INSERT INTO _rowsync_rows VALUES (1, 5, 'inDoubt', 0), (1, 6, 'refused', 0);
    INSERT INTO _rowsync_refusals (table_id, row_id, kind, reason, sent, tries, since_ms) VALUES
      (1, 5, 'insert', 'no answer', '{"Title":1,"Secret":"x"}', 1, 0), (1, 6, 'update', 'x is too long', '{"Title":1}', 1, 0),
      (2, 6, 'update', 'x is too long', '{"Secret":1}', 1, 0)`);

  await forget(bare, 'Secret');

  expect(bare.lines('SELECT table_id, row_id, sent FROM _rowsync_refusals ORDER BY 1, 2')).toEqual([
    [1, 5, '{"Title":1}'],
    [2, 6, '{"Secret":1}'],
  ]);
});

test('it is no reason any more that a row cannot be read, and a history that has nothing of it is not told', async () => {
  await using bare = await openBare([described('Title'), described('Secret')]);
  bare.execute(`INSERT INTO _rowsync_unreadable VALUES (1, 5, 'Secret', '', ''), (1, 6, 'Title', '', '')`);

  expect(await forget(bare, 'Secret')).toEqual([]);

  expect(bare.lines('SELECT row_id FROM _rowsync_unreadable')).toEqual([[6]]);
  expect(bare.rows('SELECT * FROM sync_history')).toEqual([]);
});

test('files of the column are forgotten, and their contents are named for whoever removes them', async () => {
  await using bare = await startWith(0);
  const hash = 'a'.repeat(64);
  bare.execute(`INSERT INTO _rowsync_files (table_id, column_id, row_id, table_name, column_name, revision, guid, name, sha256, state)
    VALUES (1, 2, 5, 'Note', 'Secret', 1, 'g1', 'a.png', '${hash}', 'here'), (1, 1, 5, 'Note', 'Title', 1, 'g2', 'a.png', '${hash}', 'here')`);

  expect(await forget(bare, 'Secret')).toEqual([hash]);

  expect(bare.lines('SELECT guid FROM sync_files')).toEqual([['g2']]);
});
