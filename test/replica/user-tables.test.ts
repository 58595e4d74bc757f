/**
 * The shape of user tables and their bases, which follow in step: no value is lost by a rename, a new column, or what
 * another client dropped.
 */
import { describe, expect, test } from 'vitest';
import { asRowsyncError } from '../../src/base/errors.ts';
import { sql } from '../../src/base/sql.ts';
import { readColumns } from '../../src/replica/bookkeeping/columns.ts';
import { configureHistory, findHistory } from '../../src/replica/bookkeeping/history.ts';
import { readTable, storeFacts } from '../../src/replica/bookkeeping/tables.ts';
import { writeRows } from '../../src/replica/rows.ts';
import { hasTable } from '../../src/replica/schema-objects.ts';
import { ensureTriggers, guardsOf } from '../../src/replica/triggers.ts';
import { must } from '../../src/base/assert.ts';
import {
  addColorColumn,
  addColumns,
  dropBase,
  dropColumn,
  enterTable,
  forgetParts,
  hasBase,
  isMade,
  isUnmade,
  readPhysicalColumns,
  readStanding,
  readTakenNames,
  renameColumns,
  renameTables,
  replaceChangesView,
  requireShape,
  restoreColumn,
  restoreTable,
} from '../../src/replica/user-tables.ts';
import { described, openBare, type Bare } from '../support/bare.ts';
import { AT } from '../support/two-way.ts';

const NOTE = { id: 1, localName: 'Note' };
const COLUMNS = [described('Title'), described('Count', 'Numeric'), described('Done', 'Checkbox')];

/** Note with a base, a row in both, and an edit of it. */
async function startTwoWay(): Promise<Bare> {
  const bare = await openBare(COLUMNS, { isTwoWay: true });
  bare.execute(
    `INSERT INTO _rowsync_base_1 VALUES (1, 'Edit', 'base', 7, 1); INSERT INTO "Note" VALUES (1, 'Edit', 'mine', 7, 1)`,
  );
  return bare;
}

function columnOf(bare: Bare, name: string) {
  return must(
    readColumns(bare.replica, 1).find(({ localName }) => localName === name),
    'it is there',
  );
}

/** A column as it is added, behind those of Note. */
function added(name: string, type = 'Text') {
  return { descriptor: described(name, type, { id: 99 }), localName: name, position: 9 };
}

const shapeOf = (bare: Bare, name = 'Note'): readonly string[] => readPhysicalColumns(bare.replica, name);

test('a row that changes before and after its table gets a column, in one transaction, has an entry for each', async () => {
  await using bare = await openBare(COLUMNS);
  bare.execute(`INSERT INTO "Note" VALUES (1, 'Edit', 'old', 7, 1);
    INSERT INTO _rowsync_history_tables (table_id, begun_seq) VALUES (1, 1)`);
  const target = { ...NOTE, columns: [{ localName: 'Title', type: 'Text' as const }] };
  const wider = { ...target, columns: [...target.columns, { localName: 'Late', type: 'Text' as const }] };

  await bare.replica.write('Changing a row and its table', (tx) => {
    writeRows(tx, target, [{ id: 1, allow: 'Edit', values: ['first'] }]);
    addColumns(tx, NOTE, [added('Late')], AT);
    writeRows(tx, wider, [{ id: 1, allow: 'Edit', values: ['second', 'late'] }]);
  });

  expect(bare.lines(`SELECT id, "column", before, after FROM sync_history_cells ORDER BY id, "column"`)).toEqual([
    [1, 'Title', 'old', 'first'],
    [2, 'Late', null, 'late'],
    [2, 'Title', 'first', 'second'],
  ]);
});

test('a table is made strict, with our columns in front and the storage that each type needs', async () => {
  await using bare = await openBare(COLUMNS);

  expect(bare.lines(`SELECT name, type, pk FROM pragma_table_info('Note')`)).toEqual([
    ['_id', 'INTEGER', 1],
    ['_allow', 'TEXT', 0],
    ['Title', 'TEXT', 0],
    ['Count', 'ANY', 0],
    ['Done', 'INTEGER', 0],
  ]);
  expect(bare.lines(`SELECT strict FROM pragma_table_list('Note')`)).toEqual([[1]]);
  expect(readTakenNames(bare.replica)).toEqual(expect.arrayContaining(['Note', 'sync_status', '_rowsync_tables']));
});

test('new columns come into the table and its base, empty, and no row changes otherwise', async () => {
  await using bare = await startTwoWay();

  await bare.write((tx) => addColumns(tx, NOTE, [added('Due', 'Date')], AT));

  expect(bare.lines('SELECT * FROM "Note"')).toEqual([[1, 'Edit', 'mine', 7, 1, null]]);
  expect(bare.lines('SELECT * FROM _rowsync_base_1')).toEqual([[1, 'Edit', 'base', 7, 1, null]]);
});

test('columns beyond what SQLite can hold are refused, and none of them is added', async () => {
  await using bare = await openBare();
  const many = Array.from({ length: 1_997 }, (_, index) => added(`C${index}`));
  const add = bare.write((tx) => addColumns(tx, NOTE, many, AT));

  await expect(add).rejects.toMatchObject({
    code: 'replica.schema',
    message: expect.stringContaining('1998 columns') as unknown,
  });

  expect(shapeOf(bare)).toEqual(['_id', '_allow', 'Title']);
  expect(readColumns(bare.replica, 1)).toHaveLength(1);
});

test('columns that exchange their names keep their values, in the table, its base and the bookkeeping', async () => {
  await using bare = await startTwoWay();
  const [title, count, done] = ['Title', 'Count', 'Done'].map((name) => columnOf(bare, name));

  await bare.write((tx) =>
    renameColumns(tx, NOTE, [
      { column: must(title, ''), localName: 'count' },
      { column: must(count, ''), localName: 'Title' },
      { column: must(done, ''), localName: 'Finished' },
    ]),
  );

  expect(bare.rows('SELECT * FROM "Note"')).toEqual([{ _id: 1, _allow: 'Edit', count: 'mine', Title: 7, Finished: 1 }]);
  expect(bare.rows('SELECT * FROM _rowsync_base_1')).toEqual([
    { _id: 1, _allow: 'Edit', count: 'base', Title: 7, Finished: 1 },
  ]);
  expect(readColumns(bare.replica, 1).map(({ seq, localName }) => [seq, localName])).toEqual([
    [1, 'count'],
    [2, 'Title'],
    [3, 'Finished'],
  ]);
});

describe('renamed tables', () => {
  const rename = (bare: Bare, names: readonly [number, string, string][], makesRoom = false): Promise<void> =>
    bare.write((tx) =>
      renameTables(
        tx,
        names.map(([id, from, to]) => ({ id, from, to, isMade: true })),
        { makesRoom },
      ),
    );

  async function startTwo(): Promise<Bare> {
    const bare = await openBare();
    await bare.makeTable(2, 'Task', [described('Title')]);
    bare.execute(
      `INSERT INTO "Note" (_id, "Title") VALUES (1, 'a note'); INSERT INTO "Task" (_id, "Title") VALUES (1, 'a task')`,
    );
    return bare;
  }

  test('may exchange their names, also where one differs in case only', async () => {
    await using bare = await startTwo();

    await rename(bare, [
      [1, 'Note', 'TASK'],
      [2, 'Task', 'NOTE'],
    ]);

    expect([bare.lines('SELECT "Title" FROM task'), bare.lines('SELECT "Title" FROM note')]).toEqual([
      [['a note']],
      [['a task']],
    ]);
    expect(bare.lines('SELECT id, local_name FROM _rowsync_tables ORDER BY id')).toEqual([
      [1, 'TASK'],
      [2, 'NOTE'],
    ]);
  });

  test('take views along, but not where a table that is gone makes room', async () => {
    await using bare = await startTwo();
    bare.execute('CREATE VIEW mine AS SELECT "Title" FROM "Note"');
    await rename(bare, [[1, 'Note', 'Letter']]);
    expect(bare.lines('SELECT * FROM mine')).toEqual([['a note']]);

    await rename(
      bare,
      [
        [1, 'Letter', 'Letter_1'],
        [2, 'Task', 'Letter'],
      ],
      true,
    );

    expect(bare.lines('SELECT * FROM mine')).toEqual([['a task']]);
    // The next renames take views along again.
    await rename(bare, [[2, 'Letter', 'Task']]);
    expect(bare.lines('SELECT * FROM mine')).toEqual([['a task']]);
  });

  test('lose the triggers that name them: the caller makes them again', async () => {
    await using bare = await startTwo();
    await bare.write((tx) => ensureTriggers(tx, 1, guardsOf(NOTE, 'no')));

    await rename(bare, [[1, 'Note', 'Letter']]);

    expect(bare.lines(`SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '_rowsync_guard*'`)).toEqual(
      [],
    );
  });
});

describe('what another client dropped', () => {
  test('a table comes back from its base, as the origin confirmed it', async () => {
    await using bare = await startTwoWay();
    bare.execute('DROP TABLE "Note"');

    await bare.write((tx) => restoreTable(tx, NOTE));

    expect(bare.lines('SELECT * FROM "Note"')).toEqual([[1, 'Edit', 'base', 7, 1]]);
    expect(bare.lines(`SELECT strict FROM pragma_table_list('Note')`)).toEqual([[1]]);
  });

  test('a column comes back with the values of the base, and rows that are only here have none', async () => {
    await using bare = await startTwoWay();
    bare.execute(`INSERT INTO "Note" (_id, "Title") VALUES (-2, 'new'); ALTER TABLE "Note" DROP COLUMN "Title"`);

    await bare.write((tx) => restoreColumn(tx, NOTE, { localName: 'Title', type: 'Text' }, AT));

    expect(bare.rows('SELECT _id, "Title", "Count" FROM "Note" ORDER BY _id')).toEqual([
      { _id: -2, Title: null, Count: null },
      { _id: 1, Title: 'base', Count: 7 },
    ]);
  });

  test('a column of a mirror comes back empty, and its history begins anew with the next sweep', async () => {
    await using bare = await openBare(COLUMNS);
    bare.execute(`INSERT INTO "Note" VALUES (1, NULL, 'theirs', 7, 1);
      UPDATE _rowsync_tables SET state = 'steady', swept_at = '${AT}'`);
    await bare.write((tx) => configureHistory(tx, 1, { isWanted: true, at: AT }));
    bare.execute('ALTER TABLE "Note" DROP COLUMN "Title"');

    await bare.write((tx) => restoreColumn(tx, NOTE, { localName: 'Title', type: 'Text' }, AT));

    expect(bare.rows('SELECT * FROM "Note"')).toEqual([{ _id: 1, _allow: null, Count: 7, Done: 1, Title: null }]);
    expect(findHistory(bare.replica, 1)).toMatchObject({ begunSeq: null });
  });
});

test('a column is dropped from the table, its base and the bookkeeping, also where one of them has it no more', async () => {
  await using bare = await startTwoWay();
  const [title, count] = [columnOf(bare, 'Title'), columnOf(bare, 'Count')];
  bare.execute('ALTER TABLE "Note" DROP COLUMN "Count"');

  await bare.write((tx) => {
    dropColumn(tx, NOTE, title);
    dropColumn(tx, NOTE, count);
  });

  expect([shapeOf(bare), shapeOf(bare, '_rowsync_base_1')]).toEqual([
    ['_id', '_allow', 'Done'],
    ['_id', '_allow', 'Done'],
  ]);
  expect(readColumns(bare.replica, 1).map(({ localName }) => localName)).toEqual(['Done']);
});

test.each([
  ['as it was made', (text: string) => text, true],
  ['without STRICT, but with columns of any type as such', (text: string) => text.replace(' STRICT', ''), false],
  ['without a key', (text: string) => text.replace('INTEGER PRIMARY KEY', 'INTEGER'), false],
  ['with a number in place of a text', (text: string) => text.replace('"Title" TEXT', '"Title" INTEGER'), false],
  [
    'without STRICT and without types',
    (text: string) => text.replaceAll(/ (?:TEXT|ANY)\b/gu, '').replace(' STRICT', ''),
    true,
  ],
  [
    'with types of the same affinity',
    (text: string) =>
      text.replace('"Title" TEXT', '"Title" VARCHAR').replace('"Count" ANY', '"Count"').replace(' STRICT', ''),
    true,
  ],
])('a table that another client rebuilt %s', async (_what, change, isSound) => {
  await using bare = await openBare(COLUMNS);
  const [[text] = ['']] = bare.lines(`SELECT sql FROM sqlite_schema WHERE name = 'Note'`) as [string][];
  bare.execute(`DROP TABLE "Note"; ${change(text)}`);

  expect(problemOf(bare)).toBe(isSound ? null : 'replica.schema');
});

/** The code of what is wrong with the shape of Note; null if nothing is. */
function problemOf(bare: Bare): string | null {
  try {
    requireShape(bare.replica, NOTE);
    return null;
  } catch (thrown) {
    return asRowsyncError(thrown).code;
  }
}

test('a table that becomes sound again is taken again', async () => {
  await using bare = await openBare(COLUMNS);
  const [[text] = ['']] = bare.lines(`SELECT sql FROM sqlite_schema WHERE name = 'Note'`) as [string][];
  const rebuild = (now: string): void => bare.execute(`DROP TABLE "Note"; ${now}`);
  expect(problemOf(bare)).toBeNull();
  rebuild(text.replace(' STRICT', ''));
  expect(problemOf(bare)).toBe('replica.schema');

  rebuild(text);

  expect(problemOf(bare)).toBeNull();
});

test('before its columns are known, a table of that name is ours only if it has no row that was not counted', async () => {
  await using bare = await openBare();
  const task = { id: 2, localName: 'Task' };
  await bare.write((tx) => enterTable(tx, { ...task, name: 'Task', alias: 't' }, AT));
  const facts = (): unknown => [isMade(bare.replica, task), isUnmade(bare.replica, task)];
  expect(facts()).toEqual([false, true]);

  bare.execute('CREATE TABLE task (_id INTEGER PRIMARY KEY, _allow TEXT)');
  expect(facts()).toEqual([true, false]);
  bare.execute('INSERT INTO task (_id) VALUES (1)');
  expect(facts()).toEqual([false, true]);
  bare.execute('DROP TABLE task; CREATE TABLE task (_id INTEGER PRIMARY KEY, own TEXT)');
  expect(facts()).toEqual([false, true]);
});

test('a table that is read anew loads again without what was known of its rows, and keeps its conflicts and deletes', async () => {
  await using bare = await startTwoWay();
  bare.execute(`INSERT INTO _rowsync_suspects VALUES (1, 1, 0); INSERT INTO _rowsync_rows VALUES (1, 1, 'edited', 0);
    INSERT INTO _rowsync_suspects VALUES (2, 1, 0);
    INSERT INTO _rowsync_conflicts (table_id, table_name, row_id, kind, winner, at, state) VALUES (1, 'Note', 1, 'cell', 'origin', '', 'decided');
    DROP TABLE "Note"`);

  await bare.write((tx) => enterTable(tx, { ...NOTE, name: 'Note', alias: 'n' }, AT));

  expect(readTable(bare.replica, 1)).toMatchObject({ state: 'loading', rowCount: 0, alias: 'n' });
  expect([hasBase(bare.replica, 1), readColumns(bare.replica, 1)]).toEqual([false, []]);
  expect(bare.lines('SELECT table_id FROM _rowsync_suspects')).toEqual([[2]]);
  expect(bare.lines('SELECT * FROM _rowsync_rows')).toEqual([]);
  expect(bare.rows('SELECT * FROM sync_conflicts')).toHaveLength(1);
});

test('parts of one table are forgotten, and its line stays', async () => {
  await using bare = await openBare();
  await bare.makeTable(2, 'Task', [described('Title')]);

  await bare.write((tx) => forgetParts(tx, 1));

  expect([readColumns(bare.replica, 1), readColumns(bare.replica, 2).length]).toEqual([[], 1]);
  expect(readTable(bare.replica, 1).localName).toBe('Note');
});

test('a base that is dropped leaves the table', async () => {
  await using bare = await startTwoWay();

  await bare.write((tx) => {
    dropBase(tx, 1);
    dropBase(tx, 1);
  });

  expect([hasBase(bare.replica, 1), hasTable(bare.replica, '_rowsync_base_1')]).toEqual([false, false]);
  expect(bare.lines('SELECT "Title" FROM "Note"')).toEqual([['mine']]);
});

test('colors get their column once some were seen, in both tables, unless the name is taken', async () => {
  await using bare = await startTwoWay();
  const add = (): Promise<boolean> => bare.write((tx) => addColorColumn(tx, NOTE));
  expect(await add()).toBe(false);
  await bare.write((tx) => storeFacts(tx, 1, { row_colors: 'seen' }));
  bare.execute('ALTER TABLE "Note" ADD COLUMN _COLOR TEXT');
  expect(await add()).toBe(false);
  bare.execute('ALTER TABLE "Note" DROP COLUMN _COLOR');

  expect([await add(), await add()]).toEqual([true, false]);

  expect([shapeOf(bare).at(-1), shapeOf(bare, '_rowsync_base_1').at(-1)]).toEqual(['_color', '_color']);
  expect(readTable(bare.replica, 1).rowColors).toBe('kept');
});

test('names are columns of a table as SQLite takes them: in either case, and none of a table that is gone', async () => {
  await using bare = await openBare(COLUMNS);

  expect(readStanding(bare.replica, 'note', ['TITLE', 'Done', 'Due'])).toEqual(['TITLE', 'Done']);
  expect([readStanding(bare.replica, 'Note', []), readStanding(bare.replica, 'Gone', ['Title'])]).toEqual([[], []]);
});

test('the view of changes is replaced only by another one', async () => {
  await using bare = await openBare();
  const view = sql`
    CREATE VIEW sync_changes AS SELECT 1 AS one`;
  const replace = (): Promise<unknown> =>
    bare.write((tx) => {
      replaceChangesView(tx, view);
      return tx
        .prepare(sql`PRAGMA schema_version`)
        .pluck()
        .get();
    });

  const version = await replace();

  expect(bare.rows('SELECT * FROM sync_changes')).toEqual([{ one: 1 }]);
  expect(await replace()).toBe(version);
});
