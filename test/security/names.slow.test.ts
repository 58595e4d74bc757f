/**
 * Names of tables and columns come from the origin, and are whatever its users type. Ten thousand hostile ones at once.
 * The schema of the replica is exactly what was meant, every value stands in its own column, and no statement ran but
 * ours.
 */
import { readdirSync } from 'node:fs';

import fc from 'fast-check';
import { expect, test } from 'vitest';

import { fuzzRuns } from '../support/fuzz.ts';
import { startPlain, type Plain, type PlainTable } from '../support/plain-origin.ts';

const TABLE_COUNT = 25;
const COLUMN_COUNT = 400;
/** Tables whose edits are captured, which takes triggers and a view with every name in them. */
const TWO_WAY_COUNT = 5;

/** Pieces that mean something to SQLite, to JavaScript, to a terminal, or to whoever builds text from names. */
const PIECES = [
  [
    '"',
    '""',
    "'",
    "''",
    '`',
    '[',
    ']',
    '\\',
    '\\"',
    ';',
    '--',
    '/*',
    '*/',
    '(',
    ')',
    ',',
    '.',
    '\0',
    '\n',
    '\r\n',
    '\t',
  ],
  ['?', '?1', ':a', '@a', '$a', '$1', '$&', "$'", '${x}', '{}', '%s', '%00', '%22', '&quot;', '<', '>', '\u0000'],
  [
    'DROP TABLE victim',
    'DELETE FROM victim',
    "ATTACH '/tmp/rowsync-x' AS x",
    'PRAGMA writable_schema=1',
    'VACUUM INTO',
  ],
  ['SELECT', 'FROM', 'WHERE', 'UNION ALL', 'NULL', 'rowid', '_rowid_', 'oid', 'main', 'temp', 'old', 'new', 'excluded'],
  ['sqlite_', 'SQLITE_', 'sqlite_sequence', '_rowsync_', 'sync_status', '_id', '_ID', '_allow', 'victim', 'VICTIM'],
  [
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'then',
    '0',
    '-1',
    '1e3',
    'NaN',
    '',
    ' ',
    '\u00A0',
    '\uFEFF',
  ],
  [
    '\u202E',
    '\u200B',
    '\uD800',
    '\uDFFF',
    '\uD83D\uDE00',
    'é',
    'e\u0301',
    'ß',
    'ẞ',
    'İ',
    'ı',
    'K',
    '\u001B[2J',
    '\u009B',
    '\u007F',
  ],
  ['a', 'A', 'b', 'z'.repeat(300), '漢字', '_', '-', '#', '@row.id', '@row.allow', '*'],
].flat();

const name = fc
  .oneof(
    fc.array(fc.constantFrom(...PIECES), { maxLength: 5 }).map((pieces) => pieces.join('')),
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 }).map((units) => String.fromCharCode(...units)),
    // Half a character is in a test of its own.
  )
  .map((text) => text.toWellFormed());

/** Tables with ids from 1 and columns with ids that no other one has; each cell holds the id of its column. */
function tablesFrom(names: readonly string[], columns: readonly string[]): readonly PlainTable[] {
  return names.map((tableName, at) => {
    const ids = Array.from({ length: COLUMN_COUNT }, (_, index) => 1_000 + at * COLUMN_COUNT + index);
    // The origin keeps names apart; so a name that is there already is not the same one.
    const unique = new Set<string>();
    const described = ids.map((id, index) => {
      let text = columns[at * COLUMN_COUNT + index] ?? '';
      while (unique.has(text) || text.startsWith('@row.')) text = `${id}~${text}`;
      unique.add(text);
      return { id, name: text, type: 'Text' };
    });
    const cells = described.map((column) => `${JSON.stringify(column.name)}:"v${column.id}"`);
    return { id: at + 1, name: tableName, columns: described, rows: `[{"@row.id":1,${cells.join(',')}}]` };
  });
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

function byTable(one: Record<string, unknown>, other: Record<string, unknown>): number {
  return String(one['table']) < String(other['table']) ? -1 : 1;
}

/** What stands in the file beside the tables of users and what hangs on them. */
function ours(plain: Plain): readonly string[] {
  return plain
    .rows(
      `SELECT type || ' ' || name AS object FROM sqlite_schema WHERE name LIKE '\\_rowsync\\_%' ESCAPE '\\' OR type = 'view'`,
    )
    .map(({ object }) => String(object));
}

test(
  `${TABLE_COUNT * COLUMN_COUNT} hostile names make ${TABLE_COUNT} tables of ${COLUMN_COUNT} columns, and nothing else`,
  { timeout: 300_000 },
  async () => {
    const { seed } = fuzzRuns(1);
    const [names = []] = fc.sample(fc.uniqueArray(name, { minLength: TABLE_COUNT, maxLength: TABLE_COUNT }), {
      numRuns: 1,
      seed,
    });
    const columns = fc.sample(name, { numRuns: TABLE_COUNT * COLUMN_COUNT, seed });
    const editing = { match: null, conflict: 'origin', workflow: 'run' } as const;
    const twoWay = new Set(names.slice(0, TWO_WAY_COUNT));
    await using plain = await startPlain([], (table) => ({ sort: null, editing: twoWay.has(table) ? editing : null }));
    await plain.pull();
    const own = new Set(ours(plain));
    plain.execute(`CREATE TABLE victim (a); INSERT INTO victim VALUES ('stands')`);
    plain.tables = tablesFrom(names, columns);

    const report = await plain.pull();

    expect(report.error).toBeNull();
    expect(report.tables.filter(({ error }) => error !== null).map(({ error }) => error?.message)).toEqual([]);
    expect(report.tables).toHaveLength(TABLE_COUNT);
    const known = plain.rows('SELECT "table", "column", origin_id FROM sync_columns');
    const tables = [...new Set(known.map(({ table }) => String(table)))];
    expect(tables).toHaveLength(TABLE_COUNT);
    // Each cell stands in the column that the ledger names, and no column stands beside them.
    for (const table of tables) {
      const mine = known.filter((column) => column['table'] === table);
      const [id, allow, ...cells] = plain.cells(`SELECT * FROM ${quoted(table)}`);
      expect([id, allow]).toEqual([
        ['_id', 1n],
        ['_allow', null],
      ]);
      expect(new Map(cells)).toEqual(new Map(mine.map(({ column, origin_id }) => [column, `v${String(origin_id)}`])));
      expect(mine).toHaveLength(COLUMN_COUNT);
    }
    // No object but the tables, their bases and triggers, ours and the victim.
    const objects = plain.rows(
      `SELECT type, name, tbl_name FROM sqlite_schema WHERE sql IS NOT NULL AND name <> 'sqlite_sequence'`,
    );
    const expected = new Set([...tables, 'victim']);
    const others = objects.filter(
      ({ type, name: object, tbl_name }) =>
        !own.has(`${String(type)} ${String(object)}`) &&
        !(type === 'table' && expected.has(String(object))) &&
        !(type === 'table' && /^_rowsync_base_\d+$/.test(String(object))) &&
        !(type === 'trigger' && expected.has(String(tbl_name)) && /^_rowsync_\w+$/.test(String(object))) &&
        object !== 'sync_changes',
    );
    expect(others).toEqual([]);
    expect(objects.filter(({ type, name: object }) => type === 'table' && expected.has(String(object)))).toHaveLength(
      TABLE_COUNT + 1,
    );
    expect(plain.rows('SELECT * FROM victim')).toEqual([{ a: 'stands' }]);
    expect(plain.rows('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(
      readdirSync(plain.folder).filter((file) => !/^replica\.db(?:-wal|-shm|\.lock.*|\.sent)?$/.test(file)),
    ).toEqual([]);

    // An edit of any column is found under its name, and under no other.
    const open = plain.rows(`SELECT local_name AS name, id FROM _rowsync_tables WHERE push = 'on' ORDER BY id`);
    const edited = open.map(({ name: table, id }) => {
      const column = known.filter((each) => each['table'] === table)[Number(id)]?.['column'];
      plain.execute(`UPDATE ${quoted(String(table))} SET ${quoted(String(column))} = 'edited'`);
      return { table, column, local: 'edited' };
    });
    const changes = plain.rows('SELECT "table", "column", local FROM sync_changes');
    expect(edited).toHaveLength(TWO_WAY_COUNT);
    expect(changes.toSorted(byTable)).toEqual(edited.toSorted(byTable));
    const second = await plain.pull();
    expect(second.tables.filter(({ error }) => error !== null).map(({ error }) => error?.message)).toEqual([]);
  },
);

test('half a character in a name is refused where it would be lost, and the other tables go on', async () => {
  const tables: readonly PlainTable[] = [
    { id: 1, name: 'Half \uD83D', columns: [{ id: 10, name: 'A', type: 'Text' }], rows: '[{"@row.id":1,"A":"x"}]' },
    {
      id: 2,
      name: 'Cut',
      columns: [{ id: 20, name: 'half \uD83D', type: 'Text' }],
      rows: JSON.stringify([{ '@row.id': 1, 'half \uD83D': 'x' }]),
    },
    { id: 3, name: 'Whole', columns: [{ id: 30, name: 'A', type: 'Text' }], rows: '[{"@row.id":1,"A":"x"}]' },
  ];
  await using plain = await startPlain(tables);

  const report = await plain.pull();

  expect(report.error).toBeNull();
  expect(Object.fromEntries(report.tables.map(({ table, error }) => [table, error?.code ?? 'done']))).toEqual({
    Cut: 'origin.unexpected',
    'Half \uFFFD': 'done',
    Whole: 'done',
  });
  expect(plain.rows('SELECT A FROM "Half \uFFFD" UNION ALL SELECT A FROM Whole')).toEqual([{ A: 'x' }, { A: 'x' }]);
});

test.each([
  ['more columns than a table of SQLite holds', 2_500],
  ['as many columns as it holds', 1_997],
])('a table of %s ends with a sentence or a table, and the others go on', async (_title, count) => {
  const columns = Array.from({ length: count }, (_, index) => ({ id: 100 + index, name: `c ${index}`, type: 'Text' }));
  const cells = columns.map((column) => `"${column.name}":"v"`).join(',');
  await using plain = await startPlain([
    { id: 1, name: 'Wide', columns, rows: `[{"@row.id":1,${cells}}]` },
    { id: 2, name: 'Other', columns: [{ id: 10, name: 'A', type: 'Text' }], rows: '[{"@row.id":1,"A":"x"}]' },
  ]);

  const report = await plain.pull();

  expect(report.error).toBeNull();
  const wide = report.tables.find(({ table }) => table === 'Wide');
  expect(wide?.error?.code ?? 'done').toBe(count > 1_997 ? 'replica.schema' : 'done');
  expect(plain.rows('SELECT A FROM Other')).toEqual([{ A: 'x' }]);
});
