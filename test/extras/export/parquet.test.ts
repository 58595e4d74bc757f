/**
 * Tables as Parquet files, as another reader finds them: every digit of numbers, every value of its type, or counted as
 * left out.
 */
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { expect, test } from 'vitest';
import { writeParquet, type ParquetColumn } from '../../../src/extras/export/parquet.ts';
import type { Stored } from '../../../src/replica/connection.ts';
import { temporaryFolder } from '../../support/replica.ts';

interface Written {
  readonly columns: Awaited<ReturnType<typeof writeParquet>>;
  readonly rows: readonly Record<string, unknown>[];
  readonly groups: readonly number[];
}

async function write(columns: readonly ParquetColumn[], rows: readonly (readonly Stored[])[]): Promise<Written> {
  using folder = temporaryFolder();
  const path = join(folder.path, 'table.parquet');
  const written = await writeParquet(path, columns, () => rows);
  const file = await asyncBufferFromFile(path);
  const { row_groups: groups } = await parquetMetadataAsync(file);
  return {
    columns: written,
    rows: await parquetReadObjects({ file }),
    groups: groups.map(({ num_rows: count }) => Number(count)),
  };
}

/** One column, with these values; returns what a reader finds. */
async function column(type: ParquetColumn['type'], values: readonly Stored[]) {
  const { columns, rows } = await write(
    [{ name: 'x', type }],
    values.map((value) => [value]),
  );
  return { words: columns[0]?.type, emptied: columns[0]?.emptiedCount ?? 0, values: rows.map(({ x }) => x ?? null) };
}

test.each([
  { what: 'short numbers', values: [1n, '-2.50', 0.25, null], words: 'decimal(18, 2)', found: [1, -2.5, 0.25, null] },
  { what: 'no number', values: [null], words: 'decimal(18, 0)', found: [null] },
  { what: 'nothing', values: [], words: 'decimal(18, 0)', found: [] },
  {
    what: 'a whole number of 18 digits',
    values: [999999999999999999n],
    words: 'decimal(18, 0)',
    found: [Number('999999999999999999')],
  },
  {
    what: 'long numbers',
    values: ['-1234567890123456789.5', 1n],
    words: 'decimal(38, 1)',
    found: [Number('-1234567890123456789.5'), 1],
  },
  {
    what: 'numbers of more than 38 digits',
    values: ['1234567890123456789012345678901234567890', '0.5', 7n],
    words: 'text',
    found: ['1234567890123456789012345678901234567890', '0.5', '7'],
  },
  { what: 'an exponent', values: ['1e3', 1e21], words: 'decimal(38, 0)', found: [1000, 1e21] },
] as const)('a column with $what is $words', async ({ values, words, found }) => {
  expect(await column('numeric', values)).toEqual({ words, emptied: 0, values: found });
});

test('text that is no number is left out and counted', async () => {
  expect(await column('numeric', ['12a', Infinity, 3n, ''])).toMatchObject({
    emptied: 3,
    values: [null, null, 3, null],
  });
});

test.each([
  { type: 'text', stored: ['a\0b', '', null, 'ü'], found: ['a\0b', '', null, 'ü'], words: 'text' },
  { type: 'bigint', stored: [9007199254740993n, -1n], found: [9007199254740993n, -1n], words: 'bigint' },
  { type: 'boolean', stored: [1n, 0n, null], found: [true, false, null], words: 'boolean' },
  {
    type: 'date',
    stored: ['2026-11-21', '1969-12-31', '9999-12-31'],
    found: [new Date('2026-11-21'), new Date('1969-12-31'), new Date('9999-12-31')],
    words: 'date',
  },
  { type: 'time', stored: ['00:00:00', '23:59:59'], found: [0n, 86_399_000_000n], words: 'time' },
  {
    type: 'timestamptz',
    stored: ['2026-11-21T17:05:00Z', '1969-12-31T23:59:59.5Z', '2026-11-21T17:05:00.123Z'],
    found: [new Date('2026-11-21T17:05:00Z'), new Date('1969-12-31T23:59:59.5Z'), new Date('2026-11-21T17:05:00.123Z')],
    words: 'timestamp with time zone',
  },
] as const)('every value of type $type is there', async ({ type, stored, found, words }) => {
  expect(await column(type, stored)).toEqual({ words, emptied: 0, values: found });
});

test.each([
  { type: 'boolean', stored: [2n, 'x'] },
  { type: 'date', stored: ['0000-01-01', '2026-02-30'] },
  { type: 'time', stored: ['25:00:00', '5'] },
  { type: 'timestamptz', stored: ['0000-01-01T00:00:00Z', '2026-11-21 17:05', '2026-11-21T17:05:00.1234567Z'] },
  { type: 'bigint', stored: ['5', 1.5] },
] as const)('what is no $type is left out and counted', async ({ type, stored }) => {
  expect(await column(type, stored)).toMatchObject({ emptied: stored.length, values: stored.map(() => null) });
});

test('rows keep their order over groups of 20,000', async () => {
  const rows = Array.from({ length: 40_001 }, (_, index) => [BigInt(index), `row ${index}`] as const);

  const { rows: found, groups } = await write(
    [
      { name: '_id', type: 'bigint' },
      { name: 'a "name"', type: 'text' },
    ],
    rows,
  );

  expect(groups).toEqual([20_000, 20_000, 1]);
  expect(found).toHaveLength(40_001);
  expect(found.at(-1)).toEqual({ _id: 40_000n, 'a "name"': 'row 40000' });
  expect(found.every(({ _id }, index) => _id === BigInt(index))).toBe(true);
});

test('without rows a file has its columns', async () => {
  const { rows, columns } = await write([{ name: '_id', type: 'bigint' }], []);

  expect([rows, columns]).toEqual([[], [{ name: '_id', type: 'bigint' }]]);
});
