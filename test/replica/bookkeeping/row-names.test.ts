/** Rows are named as people know them: by key and name, else by the first text; also rows that are gone. */
import { expect, test } from 'vitest';
import { storeDeleted } from '../../../src/replica/bookkeeping/deleted-rows.ts';
import { storeDescriptor } from '../../../src/replica/bookkeeping/descriptors.ts';
import { rowNamer } from '../../../src/replica/bookkeeping/row-names.ts';
import type { ColumnDescriptor } from '../../../src/wire/schema.ts';
import { described, openBare, type Bare } from '../../support/bare.ts';
import { AT } from '../../support/two-way.ts';

const KEY = described('Ref', 'Autonumber', { kind: 'Key' });
const NAME = described('Name');
const CITY = described('City');

/** Note with some columns, of which the origin uses one as the name of its records. */
async function startWith(
  columns: readonly ColumnDescriptor[],
  { nameColumn, isTwoWay = false }: { nameColumn?: string; isTwoWay?: boolean } = {},
): Promise<Bare> {
  const bare = await openBare(columns, { isTwoWay });
  const value = { name: 'Note', other: { nameColumn } } as never;
  if (nameColumn !== undefined) await bare.write((tx) => storeDescriptor(tx, 1, { etag: '"x"', value }));
  return bare;
}

function nameOf({ replica }: Bare, id: number): string {
  return rowNamer(replica)('Note', id);
}

test.each<readonly [string, readonly ColumnDescriptor[], string | undefined, string, string]>([
  ['the key and the name', [CITY, NAME, KEY], 'Name', `'Oslo', 'Ann', '17'`, '17 Ann'],
  ['the key alone where there is no name', [CITY, NAME, KEY], undefined, `'Oslo', 'Ann', 'K-17'`, 'K-17'],
  ['the name where the key is empty', [CITY, NAME, KEY], 'Name', `'Oslo', 'Ann', NULL`, 'Ann'],
  ['one of two that are the same', [NAME, KEY], 'Name', `'K1', 'K1'`, 'K1'],
  [
    'the first text where the key is only the number of the row',
    [CITY, NAME, KEY],
    undefined,
    `'Oslo', 'Ann', '5'`,
    'Oslo',
  ],
  [
    'the first text where there is neither',
    [described('Count', 'Numeric'), CITY, NAME],
    undefined,
    `1, 'Oslo', 'Ann'`,
    'Oslo',
  ],
  [
    'the first text where an empty name adds nothing to the number',
    [CITY, NAME, KEY],
    'Name',
    `'Oslo', '', '5'`,
    'Oslo',
  ],
  ['nothing where there is no text', [described('Count', 'Numeric')], undefined, '1', ''],
])('by %s', async (_what, columns, nameColumn, values, expected) => {
  await using bare = await startWith(columns, nameColumn === undefined ? {} : { nameColumn });
  bare.execute(`INSERT INTO "Note" SELECT 5, NULL, ${values}`);

  expect(nameOf(bare, 5)).toBe(expected);
});

test('a row that was deleted here keeps the name that the origin confirmed', async () => {
  await using bare = await startWith([NAME], { isTwoWay: true });
  bare.execute(
    `INSERT INTO _rowsync_base_1 (_id, "Name") VALUES (5, 'Ann'); INSERT INTO "Note" (_id, "Name") VALUES (6, 'Bob')`,
  );

  expect([nameOf(bare, 5), nameOf(bare, 6)]).toEqual(['Ann', 'Bob']);
});

test('a row that is gone has its last name, and one that was never here has none', async () => {
  await using bare = await startWith([NAME]);
  await bare.write((tx) => {
    for (const name of ['first', 'last']) {
      storeDeleted(tx, bare.target(), { id: 5, values: `{"Name":"${name}"}` }, { reason: 'origin', at: AT });
    }
  });

  expect([nameOf(bare, 5), nameOf(bare, 6)]).toEqual(['last', '']);
});

test('a column that is no longer described names no row, and a table that is not known has no names', async () => {
  await using bare = await startWith([NAME, CITY]);
  bare.execute(
    `INSERT INTO "Note" VALUES (5, NULL, 'Ann', 'Oslo'); UPDATE _rowsync_columns SET state = 'removed' WHERE seq = 1`,
  );

  expect(nameOf(bare, 5)).toBe('Oslo');
  expect(rowNamer(bare.replica)('Task', 5)).toBe('');
});

test('a table or a column that another client dropped is no error: what is kept of its rows can still be listed', async () => {
  await using bare = await startWith([NAME, KEY], { isTwoWay: true });
  bare.execute(`INSERT INTO _rowsync_base_1 VALUES (5, NULL, 'Ann', 'K1'); INSERT INTO "Note" VALUES (5, NULL, 'Ann', 'K1');
    ALTER TABLE "Note" DROP COLUMN "Ref"`);
  expect(nameOf(bare, 5)).toBe('K1');

  bare.execute('DROP TABLE "Note"');

  expect(nameOf(bare, 5)).toBe('K1');
});
