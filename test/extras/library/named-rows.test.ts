/** The library's tables by name, as an integrator uses them, against a sandbox whose user is not in UTC. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  openDatabase,
  openOrigin,
  type NamedDatabase,
  type NamedRow,
  type Value,
} from '../../../src/extras/library/library.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';

let sandbox: TestSandbox;
let database: NamedDatabase;

beforeEach(async () => {
  sandbox = await startTestSandbox({
    tables: [
      {
        name: 'Visit',
        columns: [
          { name: 'Code', type: 'Text', options: ['Unique'] },
          { name: 'Begins', type: 'Timestamp' },
          { name: 'Paid', type: 'Checkbox' },
          { name: 'Fee', type: 'Numeric' },
        ],
        rows: Array.from({ length: 7 }, (_, index) => ({ Code: `V${index + 1}`, Begins: '2026-07-01T10:22:15Z' })),
      },
    ],
  });
  sandbox.store.changeUser({ id: 1, timezone: 'Europe/Paris' });
  const { url, token } = sandbox;
  database = await openDatabase({ url, database: sandbox.database, credentials: { kind: 'bearer', token } });
});

afterEach(async () => {
  await database.close();
  await sandbox.stop();
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

test('rows are objects by column, from as many pages as there are', async () => {
  const visits = await database.table('Visit');

  const rows = await all(visits.rows({ columns: ['Code', 'Paid'], pageRows: 3 }));

  expect(rows.map(({ values }) => values['Code'])).toEqual(['V1', 'V2', 'V3', 'V4', 'V5', 'V6', 'V7']);
  expect(Object.keys(rows[0]?.values ?? {})).toEqual(['Code', 'Paid']);
  expect(sandbox.requests.count({ method: 'select' })).toBe(4);
  expect(visits.description.columns.map(({ name }) => name)).toContain('Begins');
});

test('a filter and an order are the origin’s', async () => {
  const visits = await database.table('Visit');
  const query = { filter: '[Code] <> "V2"', sort: [{ column: 'Code', descending: true }], columns: ['Code'] };

  const pages = await all(visits.pages({ ...query, pageRows: 4 }));

  expect(pages.map(({ rows }) => rows.map(({ values }) => values['Code']))).toEqual([
    ['V7', 'V6', 'V5', 'V4'],
    ['V3', 'V1'],
  ]);
});

test('a Timestamp that is read and written back is the same instant, whatever the zone of the user', async () => {
  const visits = await database.table('Visit');
  const [first] = await all(visits.rows({ pageRows: 1 }));
  const { id, values } = first as NamedRow; // there are seven

  const statuses = await visits.update([{ id, values: { Begins: values['Begins'] ?? null, Fee: 12.5 } }]);

  expect(statuses).toMatchObject([{ status: 200, id, errors: [] }]);
  const { rows } = await visits.byIds([id], { columns: ['Begins', 'Fee'] });
  expect(rows[0]?.values).toEqual({ Begins: '2026-07-01T10:22:15Z', Fee: 12.5 });
});

test('an upsert by a match column updates one row and makes the other; both can be deleted', async () => {
  const visits = await database.table('Visit');

  const statuses = await visits.upsert(
    [{ values: { Code: 'V3', Paid: true } }, { values: { Code: 'New', Paid: false } }],
    { match: 'Code' },
  );

  expect(statuses.map(({ status }) => status)).toEqual([200, 201]);
  const ids = statuses.flatMap(({ id }) => id ?? []);
  expect((await visits.delete(ids)).map(({ status }) => status)).toEqual([200, 200]);
  expect(sandbox.store.rows('Visit')).toHaveLength(6);
});

test.each([
  ['true', /row 2, column "Paid" \(Checkbox\)/],
  [undefined, /row 2, column "Paid" \(Checkbox\)/],
])('a value that does not fit (%j) names row and column, and nothing is sent', async (value, complaint) => {
  const visits = await database.table('Visit');
  const rows = [{ values: { Code: 'A' } }, { values: { Paid: value as unknown as Value } }];

  await expect(visits.create(rows)).rejects.toThrow(complaint);
  expect(sandbox.requests.count({ method: 'create' })).toBe(0);
});

test('a name that does not exist is an error that lists the names', async () => {
  const visits = await database.table('Visit');

  await expect(database.table('Vist')).rejects.toMatchObject({ code: 'usage.invalid', message: /"Visit"/ });
  await expect(visits.create([{ values: { Cod: 'A' } }])).rejects.toMatchObject({ message: /"Cod".*"Code"/ });
  await expect(visits.pages({ columns: ['Cod'] }).next()).rejects.toMatchObject({ code: 'usage.invalid' });
});

test('a row that cannot be read is listed by pages, and ends rows', async () => {
  const visits = await database.table('Visit');
  const body = '[{"@row.id":1,"Code":"a"},{"@row.id":2,"Code":"half \\ud83d"}]';
  const answer = { status: 200, headers: { 'Content-Type': 'application/json' }, body };
  sandbox.answerInstead(1, answer, { method: 'select' });
  sandbox.answerInstead(4, answer, { method: 'select' });

  const [page] = await all(visits.pages({ columns: ['Code'], pageRows: 500 }));

  expect(page).toMatchObject({ rows: [{ id: 1 }], unreadable: [{ id: 2, column: 'Code' }] });
  await expect(all(visits.rows({ columns: ['Code'] }))).rejects.toThrow(/row 2 of "Visit", column "Code"/);
});

test('a refusal has the origin’s words, and a hint for a program', async () => {
  const visits = await database.table('Visit');
  sandbox.store.dropColumn('Visit', 'Paid');

  const refused = all(visits.rows({ columns: ['Paid'] }));

  await expect(refused).rejects.toMatchObject({ code: 'origin.refused', message: /Paid/ });
  await expect(refused).rejects.toSatisfy(
    (error: Error & { hint: string }) => !/under tables|next run/.test(error.hint),
  );
});

test('no hint of the library speaks of the daemon or its configuration', async () => {
  const { url } = sandbox;
  const wrong = openOrigin({ url, database: sandbox.database, credentials: { kind: 'bearer', token: 'wrong' } });
  const errors = [
    await wrong.user().catch((error: unknown) => error),
    await openDatabase({ url: 'ftp://x', database: '1', credentials: { kind: 'bearer', token: 'a' } }).catch(
      (error: unknown) => error,
    ),
  ] as { message: string; hint: string }[];
  await wrong.close();

  for (const { message, hint } of errors) {
    expect(`${message} ${hint}`).not.toMatch(/tokenFile|origin\.user|The configuration|next run|under tables/);
  }
});
