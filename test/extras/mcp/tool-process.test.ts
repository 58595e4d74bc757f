/** One question of an agent, answered over a replica: within bounds, with how old it is, and only by reading. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ToolQuestion } from '../../../src/extras/mcp/request.ts';
import { answerRequest, listTables } from '../../../src/extras/mcp/tool-process.ts';
import type { Problem } from '../../../src/reconcile/account/account.ts';
import { openReader } from '../../../src/replica/reader.ts';
import type { Fixture } from '../../support/replica.ts';
import { startTwoWay } from '../../support/two-way.ts';

const NOW_MS = Date.now() + 60_000;

type Answer = Readonly<Record<string, unknown>>;

function problemOf(table: string | null): Problem {
  const text = { sentence: `wrong ${'x'.repeat(400)}`, hint: 'do' };
  return { code: 'rows.refused', severity: 'person', table, count: 1, since: null, ...text };
}

/** The status and the JSON of an answer, and its length. */
function ask(fixture: Pick<Fixture, 'path'>, question: ToolQuestion, problems: readonly Problem[] = []) {
  const { status, chunks } = answerRequest({ replicaPath: fixture.path, question, nowMs: NOW_MS, problems });
  const text = [...chunks].join('');
  return { status, chars: text.length, value: JSON.parse(text) as Answer };
}

const query = (sql: string, given: { rowsMax?: number; within?: string | null } = {}): ToolQuestion => {
  return { tool: 'query', sql, rowsMax: 100, within: null, ...given };
};

describe('a query', () => {
  test('is answered with columns, rows and the age of what it read', async () => {
    await using fixture = await startTwoWay();

    const { status, value } = ask(
      fixture,
      query('-- all\n/* of it */ SELECT _id, "Title", "Due" FROM "Note" WHERE _id < 3'),
    );

    expect(status).toBe(200);
    expect(value).toMatchObject({
      now: expect.stringMatching(/Z$/) as string,
      columns: ['_id', 'Title', 'Due'],
      rows: [
        [1, 'title 1', '2026-11-21'],
        [2, 'title 2', '2026-11-21'],
      ],
      row_count: 2,
      is_cut: false,
      how_old: [{ table: 'Note', state: 'steady', edits_not_at_origin: 0 }],
    });
    const [{ age_seconds: age }] = value['how_old'] as [{ age_seconds: number }];
    expect(age).toBeGreaterThanOrEqual(55);
  });

  test('gives numbers with every digit, bytes by their count, and long values cut', async () => {
    await using fixture = await startTwoWay();

    const { value } = ask(fixture, query(`SELECT 9007199254740993, x'00ff', NULL, hex(zeroblob(1001))`));

    expect(value['rows']).toEqual([['9007199254740993', '(2 bytes)', null, `${'0'.repeat(2_000)}… (2002 characters)`]]);
  });

  test.each([
    ['rows', query('SELECT _id FROM "Note"', { rowsMax: 2 }), 2],
    [
      'characters',
      query('WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) SELECT hex(zeroblob(900)) FROM n', {
        rowsMax: 500,
      }),
      null,
    ],
  ])('is cut after too many %s, and says so', async (_what, question, count) => {
    await using fixture = await startTwoWay();

    const { chars, value } = ask(fixture, question);

    expect(value['is_cut']).toBe(true);
    expect(value['row_count']).toBe(count ?? (value['rows'] as unknown[]).length);
    expect(value['row_count']).toBeGreaterThan(1);
    expect(chars).toBeLessThanOrEqual(100_000);
  });

  test.each([
    'DELETE FROM "Note"',
    'WITH x AS (SELECT 1) DELETE FROM "Note"',
    'PRAGMA user_version = 1',
    'EXPLAIN SELECT 1',
    '-- SELECT\nDROP TABLE "Note"',
    '/* SELECT */',
    'SELECT 1; SELECT 2',
    'SELECT nothing',
    '',
  ])('is refused, and changes nothing: %s', async (sql) => {
    await using fixture = await startTwoWay();

    const { status, value } = ask(fixture, query(sql));

    expect([status, typeof value['error'], typeof value['code']]).toEqual([400, 'string', 'string']);
    expect(fixture.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 6 }]);
  });

  test('that cannot be shortened is refused', async () => {
    await using fixture = await startTwoWay();
    const names = Array.from({ length: 1_000 }, (_, index) => `1 AS "${'n'.repeat(200)}${index}"`).join(', ');

    expect(ask(fixture, query(`SELECT ${names}`))).toMatchObject({
      status: 400,
      value: { code: 'usage.invalid', error: 'The answer has more than 100000 characters' },
    });
  });

  test('may ask for an age: older tables are named by `stale`, and the query is refused', async () => {
    await using fixture = await startTwoWay();
    const sql = 'SELECT * FROM "Note"';

    const stale = ask(fixture, { tool: 'stale', sql, within: '10s' });

    expect(stale.value).toMatchObject({ stale: ['Note'], ages: expect.stringContaining('Note') as string });
    expect(ask(fixture, { tool: 'stale', sql, within: '1h' }).value).toMatchObject({ stale: [] });
    expect(ask(fixture, query(sql, { within: '10s' })).status).toBe(400);
    expect(ask(fixture, query(sql, { within: '1h' })).status).toBe(200);
    expect(ask(fixture, { tool: 'stale', sql: 'DELETE FROM "Note"', within: '1h' }).status).toBe(400);
  });
});

describe('tables', () => {
  test('are listed with what waits in them, and each problem once: at its table, or on top', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);

    const { value } = ask(fixture, { tool: 'list_tables' }, [problemOf('Note'), problemOf(null), problemOf('Gone')]);

    expect(value['tables']).toMatchObject([
      {
        table: 'Note',
        rows: 6,
        may_propose_edits: true,
        edits_not_at_origin: 1,
        problems: [{ table: 'Note', hint: 'do' }],
      },
    ]);
    expect(value['problems']).toMatchObject([{ table: null }, { table: 'Gone' }]);
    const [{ problem }] = value['problems'] as [{ problem: string }];
    expect(problem.length).toBeLessThan(350);
  });

  test('beyond 500 are counted', async () => {
    await using fixture = await startTwoWay();
    using reader = openReader(fixture.path);
    const [status] = reader.status();
    if (status === undefined) throw new Error('a table was pulled');
    const many = Array.from({ length: 501 }, (_, index) => ({ ...status, table: `T${index}` }));

    const listed = listTables(many, [], { nowMs: NOW_MS, problems: [problemOf('T500')] });

    expect(listed).toMatchObject({ not_listed: 1, problems: [{ table: 'T500' }] });
    expect(listed['tables']).toHaveLength(500);
  });

  test('are described with what may be written, and another name is answered with the nearest', async () => {
    await using fixture = await startTwoWay();

    const { value } = ask(fixture, { tool: 'describe_table', table: 'Note' });

    expect(value).toMatchObject({ table: 'Note', rows: 6, key_column: 'Id', may_add_rows: true });
    const columns = value['columns'] as { name: string; writable: boolean; required?: boolean }[];
    const byName = new Map(columns.map((column) => [column.name, column]));
    expect(byName.get('_id')?.writable).toBe(false);
    expect(byName.get('Title')).toMatchObject({ type: 'Text', stored_as: 'TEXT', writable: true, required: true });
    expect([byName.get('Total')?.writable, byName.get('Photo')?.writable]).toEqual([false, false]);
    expect(ask(fixture, { tool: 'describe_table', table: 'Notes' })).toMatchObject({
      status: 400,
      value: { error: 'There is no table Notes (did you mean Note?)' },
    });
  });
});

test('edits are looked at, and nothing is written', async () => {
  await using fixture = await startTwoWay();
  const edits = [{ table: 'Note', action: 'update', row_id: 1, values: { Title: 'new' } }] as const;

  const { status, value } = ask(fixture, { tool: 'look_at_edits', edits });

  expect([status, value]).toEqual([
    200,
    {
      edits: [
        { table: 'Note', kind: 'update', rowId: 1, cells: [{ column: 'Title', was: '"title 1"', value: '"new"' }] },
      ],
      complaints: [],
    },
  ]);
  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'title 1' }]);
});

test('without a replica there is a sentence', async () => {
  await using fixture = await startTwoWay();

  const { status, value } = ask({ path: join(fixture.folder, 'missing.db') }, { tool: 'list_tables' });

  expect([status, value['error']]).toEqual([400, expect.stringContaining('missing.db')]);
});
