/**
 * A table of very many columns is pulled, edited, pushed and verified like any other. SQLite bounds the depth of an
 * expression, the terms of a compound SELECT and the columns of a result, and nothing of ours comes near them.
 */
import { expect, test } from 'vitest';
import { scriptOfTable } from '../../src/extras/backup/rebuild-command.ts';
import { verify } from '../../src/extras/verify/verify.ts';
import type { Cells, ColumnSpec, TableSpec } from '../../src/sandbox/store/spec.ts';
import { startPlain, type PlainTable } from '../support/plain-origin.ts';
import { atOrigin, codesOf, countsOf, here, pushNow } from '../support/push.ts';
import { startFixture } from '../support/replica.ts';
import { captured, startTwoWay, twoWayTable } from '../support/two-way.ts';

const TYPES = ['Text', 'Multiline', 'Numeric', 'Date', 'Timestamp', 'Checkbox', 'Duration', 'Time'] as const;

/**
 * A table of so many columns, `Id` included: C0 and every eighth behind it are required texts, and `last` is a text as
 * well.
 */
function wide(columnCount: number): TableSpec {
  const columns = Array.from({ length: columnCount - 2 }, (_, index): ColumnSpec => {
    const type = TYPES[index % TYPES.length] ?? 'Text';
    return { name: `C${index}`, type, ...(type === 'Text' ? { width: 20, options: ['Required'] } : {}) };
  });
  return {
    name: 'Note',
    systemColumns: false,
    columns: [...columns, { name: 'last', type: 'Text' }],
    rows: Array.from({ length: 6 }, () => texts(columnCount)),
  };
}

function texts(columnCount: number): Cells {
  return Object.fromEntries(requiredNames(columnCount).map((name) => [name, 'text']));
}

function requiredNames(columnCount: number): readonly string[] {
  return Array.from({ length: columnCount - 2 }, (_, index) => `C${index}`).filter((_, index) => index % 8 === 0);
}

/** A new row, with what is required. */
function insertOf(columnCount: number): string {
  const names = requiredNames(columnCount);
  return `INSERT INTO "Note" (${names.join(', ')}, last) VALUES (${names.map(() => `'new'`).join(', ')}, 'new')`;
}

test.each([500, 1_997])(
  'a table of %d columns takes edits, which reach the origin, and meets those of a colleague',
  async (count) => {
    await using fixture = await startTwoWay({ tables: [wide(count)], editing: { conflict: 'ask' } });
    const { store } = fixture.sandbox;
    fixture.execute(`UPDATE "Note" SET C0 = 'mine', C2 = 7, last = 'mine' WHERE _id = 1;
    UPDATE "Note" SET last = 'mine' WHERE _id = 2;
    DELETE FROM "Note" WHERE _id = 3;
    ${insertOf(count)};
    INSERT OR REPLACE INTO "Note" (_id, ${requiredNames(count).join(', ')}, last) SELECT _id, ${requiredNames(count).join(', ')}, 'put' FROM "Note" WHERE _id = 4`);

    expect(
      fixture.rows(
        `SELECT row_id, kind, "column", base, local FROM sync_changes WHERE row_id > 0 ORDER BY row_id, "column"`,
      ),
    ).toEqual([
      { row_id: 1, kind: 'update', column: 'C0', base: 'text', local: 'mine' },
      { row_id: 1, kind: 'update', column: 'C2', base: null, local: 7 },
      { row_id: 1, kind: 'update', column: 'last', base: null, local: 'mine' },
      { row_id: 2, kind: 'update', column: 'last', base: null, local: 'mine' },
      { row_id: 3, kind: 'delete', column: null, base: null, local: null },
      { row_id: 4, kind: 'update', column: 'last', base: null, local: 'put' },
    ]);
    expect(fixture.rows('SELECT count(*) AS cells FROM sync_changes WHERE row_id < 0')).toEqual([
      { cells: requiredNames(count).length + 2 },
    ]);

    store.update('Note', 1, { C1: 'theirs' });
    store.update('Note', 2, { last: 'theirs' });
    store.update('Note', 5, { last: 'theirs' });
    const pulled = await fixture.pull();
    const pushed = await pushNow(fixture);

    expect(pulled.tables).toMatchObject([{ error: null, updatedCount: 3 }]);
    expect(codesOf(pushed)).toEqual([]);
    expect(countsOf(pushed)).toEqual({ inserted: 1, updated: 2, deleted: 1, openConflict: 1 });
    const rows = [
      [1, 'mine', 'theirs', 7, 'mine'],
      [2, 'text', null, null, 'theirs'],
      [4, 'text', null, null, 'put'],
      [5, 'text', null, null, 'theirs'],
      [6, 'text', null, null, null],
      [7, 'new', null, null, 'new'],
    ];
    expect(atOrigin(fixture, ['C0', 'C1', 'C2', 'last'])).toEqual(rows);
    expect(fixture.rows('SELECT row_id, "column", local, remote, winner FROM sync_conflicts')).toEqual([
      { row_id: 2, column: 'last', local: 'mine', remote: 'theirs', winner: 'nobody' },
    ]);

    fixture.execute(`UPDATE sync_conflicts SET resolution = 'remote'`);
    const again = await fixture.pull();
    const verified = await verify(fixture.context(), { tables: [] });

    expect(again.tables).toMatchObject([{ error: null }]);
    expect(verified.tables).toMatchObject([{ error: null, comparedCount: 6, mismatchCount: 0 }]);
    expect(here(fixture, ['C0', 'C1', 'C2', 'last'])).toEqual(rows);
    expect(fixture.rows('SELECT * FROM sync_changes')).toEqual([]);
  },
);

test('edits of a table of 1,900 columns that no trigger saw are found, and judged', async () => {
  await using fixture = await startTwoWay({ tables: [wide(1_900)] });
  const triggers = fixture.rows(`SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'Note'`);
  fixture.execute(`${triggers.map((trigger) => `DROP TRIGGER ${(trigger as { name: string }).name};`).join('')}
    UPDATE "Note" SET last = 'mine' WHERE _id = 1;
    UPDATE "Note" SET C0 = NULL, C8 = 'longer than its width' WHERE _id = 2`);
  await fixture.pull();

  const report = await pushNow(fixture);

  expect(countsOf(report)).toEqual({ updated: 1, refused: 1, parked: 1 });
  expect(fixture.rows('SELECT row_id, reason FROM sync_failures')).toEqual([
    { row_id: 2, reason: '"C0" of Note must have a value' },
  ]);
});

test('the script of edits deletes a row of 1,900 columns where it is as it was', async () => {
  await using fixture = await startTwoWay({ tables: [wide(1_900)] });
  fixture.execute('DELETE FROM "Note" WHERE _id = 3');
  const script = [...scriptOfTable(fixture.replica, twoWayTable(fixture).id)].join('\n');
  const names = requiredNames(1_900).join(', ');
  fixture.execute(`INSERT INTO "Note" (_id, ${names}) SELECT 3, ${names} FROM "Note" WHERE _id = 4`);

  fixture.execute(script);

  expect(await captured(fixture)).toEqual(['delete 3']);
});

test.each([
  ['mirror', null],
  ['two-way', { match: null, conflict: 'origin', workflow: 'run' }],
] as const)('a %s table of more columns than fit says so, and holds up no other', async (mode, editing) => {
  const tables = [1_998, 1_997].map((count, index): PlainTable => {
    const columns = Array.from({ length: count }, (_, at) => ({ id: at + 1, name: `C${at}`, type: 'Text' }));
    const cells = Object.fromEntries(columns.map(({ name }) => [name, 'a']));
    return {
      id: index + 1,
      name: index === 0 ? 'Over' : 'Full',
      columns,
      rows: JSON.stringify([{ '@row.id': 1, ...cells }]),
    };
  });
  await using plain = await startPlain(tables, () => ({ sort: null, editing }));

  const report = await plain.pull();

  expect(report.tables).toMatchObject([
    {
      error: {
        code: 'replica.schema',
        message: 'Over: 1998 columns are too many; a table in SQLite has room for 1997 beside _id and _allow',
      },
    },
    { error: null, rowCount: 1 },
  ]);
  expect(plain.rows(`SELECT mode, state FROM sync_status WHERE "table" = 'Full'`)).toEqual([{ mode, state: 'steady' }]);
});

test('a table whose computed columns are too many for a query says so, and holds up no other', async () => {
  const columns = Array.from({ length: 700 }, (_, at) => ({
    name: `A computed one ${at}`,
    type: 'Text',
    kind: 'Formula',
  }));
  await using fixture = await startFixture({ tables: [{ name: 'Over', columns }, wide(500)] });

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([
    { table: 'Over', error: { code: 'origin.refused', hint: expect.stringContaining('hide columns') as string } },
    { table: 'Note', error: null, rowCount: 6 },
  ]);
});
