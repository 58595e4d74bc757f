/**
 * Orders, filters and ETags are kept while rows change. Whatever was asked and changed before, an answer is what
 * reading every row would give. The table is large enough for its orders to follow changes rather than to be read
 * again.
 */
import { expect, test } from 'vitest';
import { Random } from '../../../src/sandbox/data/random.ts';
import type { Store } from '../../../src/sandbox/store/store.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import type { Value } from '../../../src/wire/schema.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { seeds } from '../../support/seeds.ts';
import { call } from '../client.ts';

const ROWS = 11_000;
const START_MS = Date.UTC(2026, 0, 1);

function makeTable(random: Random): TableSpec {
  const rows = Array.from({ length: ROWS }, () => ({
    Name: `n${random.integer(0, 300)}`,
    Number: random.chance(0.1) ? null : random.integer(0, 50) / 4,
  }));
  const columns = [
    { name: 'Name', type: 'Text' },
    { name: 'Number', type: 'Numeric' },
    { name: 'Note', type: 'Text' },
  ];
  return { name: 'T', columns, rows, createdFromMs: START_MS };
}

type Cells = Readonly<Record<string, Value>>;
interface Row {
  readonly id: number;
  readonly values: Cells;
}

const instantOf = (value: Value): string => String(value ?? '').replace('Z', '');
const KEYS: Readonly<Record<string, (cells: Cells) => string | number>> = {
  Name: (cells) => String(cells['Name'] ?? ''),
  Number: (cells) => Number(cells['Number'] ?? -1),
  'Date Created': (cells) => instantOf(cells['Date Created'] ?? null),
  'Date Modified': (cells) => instantOf(cells['Date Modified'] ?? null),
};
const literal = (instant: string): string => `#${instant.slice(0, 19).replace('T', ' ')}#`;

interface Condition {
  readonly column: string;
  readonly text: string;
  readonly holds: (cells: Cells) => boolean;
}

function drawInstant(random: Random): string {
  return new Date(START_MS + random.integer(-100, ROWS + 2_000) * 1_000).toISOString().slice(0, 19);
}

function drawCondition(random: Random): Condition {
  const instant = drawInstant(random);
  const column = random.pick(['Date Created', 'Date Modified']);
  const operator = random.pick(['>=', '>', '<', '<=']);
  const number = random.integer(0, 12);
  if (random.chance(0.25))
    return { column: 'Number', text: `[Number] > ${number}`, holds: (cells) => Number(cells['Number'] ?? -1) > number };
  const compare = (value: string): boolean =>
    operator === '>='
      ? value >= instant
      : operator === '>'
        ? value > instant
        : operator === '<'
          ? value < instant
          : value <= instant;
  return {
    column,
    text: `[${column}] ${operator} ${literal(instant)}`,
    holds: (cells) => cells[column] !== null && compare(instantOf(cells[column] ?? null)),
  };
}

function change(random: Random, store: Store): void {
  const id = random.integer(1, ROWS);
  switch (random.integer(0, 5)) {
    case 0:
      store.delete('T', id);
      return;
    case 1:
      store.insert('T', { Name: `n${random.integer(0, 300)}`, Number: random.integer(0, 12) });
      return;
    case 2:
      store.update('T', id, { Note: `note ${random.next()}` });
      return;
    case 3:
      store.update('T', id, { Number: random.chance(0.2) ? null : random.integer(0, 50) / 4 });
      return;
    case 4:
      store.update('T', id, {
        'Date Created': random.chance(0.2) ? null : `${drawInstant(random)}${random.pick(['', '.5'])}Z`,
      });
      return;
    default:
      store.change(() => {
        for (let count = 0; count < 5; count += 1) store.update('T', random.integer(1, ROWS), { Name: `m${count}` });
      });
  }
}

function withoutAllow(row: Cells): Cells {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== '@row.allow'));
}

interface Question {
  readonly path: string;
  readonly answer: (rows: readonly Row[]) => readonly unknown[];
}

function drawQuestion(random: Random): Question {
  const conditions = Array.from({ length: random.integer(0, 2) }, () => drawCondition(random));
  // In the order of their column, the rows that meet a condition stand together.
  const own = conditions[0]?.column;
  const first = own !== undefined && random.chance(0.6) ? own : random.pick(Object.keys(KEYS));
  const sort = [first, random.pick(Object.keys(KEYS))].map((column) => ({ column, descending: random.chance(0.4) }));
  const [skip, top] = [random.pick([0, 0, 7, 500, 9_000]), random.pick([1, 20, 500])];
  const sorts = sort.map(({ column, descending }) => `sort=${encodeURIComponent(column)}${descending ? '//DESC' : ''}`);
  const text = conditions.map((condition) => condition.text).join(' and ');
  const filter = text === '' ? '' : `&filter=${encodeURIComponent(text)}`;
  const order = (one: Row, other: Row): number => {
    for (const { column, descending } of sort) {
      const [left, right] = [KEYS[column]?.(one.values) ?? '', KEYS[column]?.(other.values) ?? ''];
      if (left !== right) return (left < right ? -1 : 1) * (descending ? -1 : 1);
    }
    return one.id - other.id;
  };
  return {
    path: `T/select.json?column=Name&column=Number&column=Note&${sorts.join('&')}${filter}&skip=${skip}&top=${top}`,
    answer: (rows) =>
      rows
        .filter(({ values }) => conditions.every(({ holds }) => holds(values)))
        .toSorted(order)
        .slice(skip, skip + top)
        .map(({ id, values }) => ({
          '@row.id': id,
          Name: values['Name'],
          Number: values['Number'],
          Note: values['Note'],
        })),
  };
}

test.each(seeds(1))(
  'pages are those of all rows, read anew, after any changes: seed %i',
  { timeout: 120_000 },
  async (seed) => {
    const random = new Random(seed);
    const clock = testClock({ startMs: START_MS + ROWS * 1_000 });
    await using sandbox = await startTestSandbox({ tables: [makeTable(random)], clock });
    sandbox.store.change(() => {
      for (let count = 0; count < 300; count += 1)
        sandbox.store.update('T', random.integer(1, ROWS), { 'Date Created': null });
    });
    const questions = Array.from({ length: 8 }, () => drawQuestion(random));
    const known = new Map<string, { readonly etag: string; readonly rows: unknown }>();

    for (let step = 0; step < 45; step += 1) {
      const { path, answer } = random.chance(0.8) ? random.pick(questions) : drawQuestion(random);
      const before = known.get(path);
      const got = await call(sandbox, path, { headers: { 'If-None-Match': before?.etag ?? '' } });
      const isKept = got.status === 304;
      const rows = isKept ? before?.rows : (JSON.parse(got.text) as Cells[]).map(withoutAllow);

      const expected = answer(sandbox.store.rows('T'));
      expect({ path, rows, isKept }).toEqual({ path, rows: expected, isKept: got.headers['etag'] === before?.etag });
      known.set(path, { etag: got.headers['etag'] ?? '', rows });
      clock.advance(random.integer(0, 3) * 1_000);
      for (let count = random.integer(0, 2); count > 0; count -= 1) change(random, sandbox.store);
    }
  },
);

test.each(seeds(1))('sums of days are those of all rows of the days: seed %i', async (seed) => {
  const random = new Random(seed);
  await using sandbox = await startTestSandbox({ tables: [makeTable(random)] });
  const condition = drawCondition(random);
  const columns = [
    'Date Created//HH',
    'Id//COUNT',
    'Number//SUM',
    'Number//MIN',
    'Name//MAX',
    'Number//AVG',
    'Number//COUNT',
  ];
  const query = columns.map((column) => `column=${encodeURIComponent(column)}`).join('&');

  const { text } = await call(sandbox, `T/select.json?${query}&filter=${encodeURIComponent(condition.text)}`);

  const rows = sandbox.store.rows('T').filter(({ values }) => condition.holds(values));
  const rounded = (value: unknown): unknown => (typeof value === 'number' ? Number(value.toFixed(9)) : value);
  const addedUp = (some: readonly Row[]): readonly unknown[] => {
    const numbers = some.flatMap(({ values }) => (values['Number'] === null ? [] : [Number(values['Number'])]));
    const sum = numbers.reduce((total, number) => total + number, 0);
    const names = some.map(({ values }) => String(values['Name'])).toSorted();
    return [some.length, sum, Math.min(...numbers), names.at(-1), rounded(sum / numbers.length), numbers.length];
  };
  const hours = Map.groupBy(rows, ({ values }) => instantOf(values['Date Created'] ?? null).slice(0, 13));
  const found = (JSON.parse(text) as Cells[]).map((row) => columns.slice(1).map((column) => rounded(row[column])));
  expect(
    [...hours.keys()]
      .toSorted()
      .map((hour) => addedUp(hours.get(hour) ?? []))
      .concat([addedUp(rows)]),
  ).toEqual(found);
});

test.each([
  ['<', '', [1, 2]],
  ['<', '//DESC', [2, 1]],
  ['>=', '', [3, 4]],
  ['>=', '//DESC', [4, 3]],
] as const)('a row without the time is on no side of it: %s in the order%s', async (operator, order, expected) => {
  const rows = Array.from({ length: 9 }, () => ({ Name: 'x' }));
  const table = { name: 'T', columns: [{ name: 'Name', type: 'Text' }], rows, createdFromMs: START_MS };
  await using sandbox = await startTestSandbox({ tables: [table] });
  for (let id = 5; id <= 9; id += 1) sandbox.store.update('T', id, { 'Date Created': null });
  const filter = `[Date Created] ${operator} ${literal(new Date(START_MS + 2_000).toISOString())}`;

  const { text } = await call(
    sandbox,
    `T/select.json?sort=Date%20Created${order}&filter=${encodeURIComponent(filter)}`,
  );

  expect((JSON.parse(text) as Cells[]).map((row) => row['@row.id'])).toEqual(expected);
});
