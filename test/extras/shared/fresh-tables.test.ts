/**
 * How old the tables of a question are, by what is in the file, and that one that is too old gives no answer.
 */
import { describe, expect, test } from 'vitest';
import { asRowsyncError, RowsyncError } from '../../../src/base/errors.ts';
import {
  ageBound,
  readAges,
  readHeldMoment,
  readLastMoment,
  readRefiltered,
  requireFresh,
  staleTables,
} from '../../../src/extras/shared/fresh-tables.ts';
import { storeMoment, touchTable } from '../../../src/replica/bookkeeping/changed-rows.ts';
import { openReader, type ReplicaReader } from '../../../src/replica/reader.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { NOTE } from '../../support/two-way.ts';

const READ_AT = '2026-06-01T12:00:00Z';
const READ_MS = Date.parse(READ_AT);

/** Two tables, read whole at READ_AT. */
async function readTables(): Promise<Fixture & { readonly reader: ReplicaReader }> {
  const fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
  await fixture.pull();
  fixture.execute(`UPDATE _rowsync_tables SET sweep_started_at = '${READ_AT}', followed_at = NULL`);
  return Object.assign(fixture, { reader: openReader(fixture.path) });
}

/** When Note was last read, as its age says. */
function asOf({ reader }: { readonly reader: ReplicaReader }): string | null | undefined {
  return readAges(reader, ['Note'])[0]?.asOf;
}

describe('an age', () => {
  test('is that of the last full read, or of the last following after it', async () => {
    await using fixture = await readTables();
    const plain = asOf(fixture);
    fixture.execute(`UPDATE _rowsync_tables SET followed_at = '2026-06-01T12:05:00Z'`);
    const followed = asOf(fixture);
    fixture.execute(`UPDATE _rowsync_tables SET followed_at = '2026-06-01T11:00:00Z'`);

    expect([plain, followed, asOf(fixture)]).toEqual([READ_AT, '2026-06-01T12:05:00Z', READ_AT]);
  });

  test('is that of the following alone while a full read is under way', async () => {
    await using fixture = await readTables();
    fixture.execute(`UPDATE _rowsync_tables SET sweep_open = 1`);
    const unknown = asOf(fixture);
    fixture.execute(`UPDATE _rowsync_tables SET followed_at = '2026-06-01T11:00:00Z'`);

    expect([unknown, asOf(fixture)]).toEqual([null, '2026-06-01T11:00:00Z']);
  });

  test.each([
    ['is being read for the first time', `state = 'loading'`],
    ['has an end that is not proven', 'end_proven = 0'],
    ['was read under a user who was not checked', 'identity_checked = 0'],
    ['is doubted', 'doubted = 1'],
    ['has something that a guard holds', `held_code = 'guard.deletes'`],
    ['misses columns', `missing_columns = '[1]'`],
    ['becomes two-way with the next pull', `push = 'waiting'`],
  ])('is not known of a table that %s', async (_what, change) => {
    await using fixture = await readTables();
    fixture.execute(`UPDATE _rowsync_tables SET ${change} WHERE name = 'Note'`);

    expect(asOf(fixture)).toBe(null);
    expect(readAges(fixture.reader, ['Other'])[0]?.asOf).toBe(READ_AT);
  });

  test('is not known of a table with a row that cannot be read', async () => {
    await using fixture = await readTables();
    const columns = fixture.rows(`SELECT name, type FROM pragma_table_info('_rowsync_unreadable')`) as {
      name: string;
      type: string;
    }[];
    const values = columns.map(({ name, type }) =>
      name === 'table_id' ? `(SELECT id FROM _rowsync_tables WHERE name = 'Note')` : type === 'TEXT' ? `'x'` : '1',
    );
    fixture.execute(`INSERT INTO _rowsync_unreadable VALUES (${values.join(', ')})`);

    expect(asOf(fixture)).toBe(null);
  });

  test('is not known where the rows were chosen by another filter, of the last pull or of the configuration', async () => {
    await using fixture = await readTables();
    const { reader } = fixture;
    const filterOf = (name: string): string | null | undefined => (name === 'Note' ? '[Done]' : undefined);
    const nothing = readRefiltered(reader);
    const given = [...readRefiltered(reader, filterOf)];
    const ages = readAges(reader, ['Note', 'Other'], filterOf).map((table) => table.asOf);
    fixture.execute(`UPDATE _rowsync_tables SET rows_wanted = '[Done]' WHERE name = 'Other'`);

    expect([...nothing]).toEqual([]);
    expect(given).toEqual(['Note']);
    expect(ages).toEqual([null, READ_AT]);
    expect([...readRefiltered(reader)]).toEqual(['Other']);
  });

  test('is that of the tables that a query reads, also by their base; of all for a table of ours', async () => {
    await using fixture = await readTables();
    const ages = (...names: readonly string[]): readonly string[] =>
      readAges(fixture.reader, names).map(({ localName }) => localName);
    const [{ id } = { id: 0 }] = fixture.rows(`SELECT id FROM _rowsync_tables WHERE name = 'Note'`) as { id: number }[];

    expect(ages('Note')).toEqual(['Note']);
    expect(ages(`_rowsync_base_${id}`)).toEqual(['Note']);
    expect(ages('_rowsync_conflicts').toSorted()).toEqual(['Note', 'Other']);
    expect(ages('a table of another program')).toEqual([]);
    fixture.execute(`UPDATE _rowsync_tables SET state = 'gone' WHERE name = 'Other'`);
    expect(ages('_rowsync_conflicts')).toEqual(['Note']);
    expect(readAges(fixture.reader, ['Other']).map((table) => table.asOf)).toEqual([null]);
  });
});

describe('a bound', () => {
  test('is read as people write it, or refused with the forms that there are', () => {
    expect(ageBound('10m', 5)).toEqual({ text: '10m', askedMs: 5, withinMs: 600_000, filterOf: undefined });
    expect(() => ageBound('soon', 5)).toThrow('Cannot read "soon" as an age');
  });

  test('names the tables that are too old', async () => {
    await using fixture = await readTables();
    fixture.execute(`UPDATE _rowsync_tables SET sweep_started_at = '2026-06-01T11:00:00Z' WHERE name = 'Other'`);
    const stale = (text: string): readonly string[] =>
      staleTables(fixture.reader, ['Note', 'Other'], ageBound(text, READ_MS + 60_000)).map(({ name }) => name);

    expect([stale('2h'), stale('1h'), stale('10s')].map((names) => names.join())).toEqual(['', 'Other', 'Note,Other']);
  });

  test('that is kept leaves the reader in the snapshot that was judged', async () => {
    await using fixture = await readTables();
    const bound = ageBound('10m', READ_MS);

    const tables = requireFresh(fixture.reader, { names: () => ['Note'], bound });
    fixture.execute(`UPDATE _rowsync_tables SET doubted = 1`);

    expect(tables.map(({ localName }) => localName)).toEqual(['Note']);
    expect(asOf(fixture)).toBe(READ_AT);
  });

  test('that is not kept gives no answer, but how old each table is, and why it could not be read now', async () => {
    await using fixture = await readTables();
    const failure = new RowsyncError('originDown', 'origin.unexpected', { message: 'it is away', hint: 'Wait.' });
    const refusal = (given: { readonly failure?: RowsyncError }): RowsyncError => {
      using reader = openReader(fixture.path);
      const bound = ageBound('10m', READ_MS + 3_600_000);
      try {
        requireFresh(reader, { names: () => ['Note'], bound, ...given });
        throw new Error('it was answered');
      } catch (thrown) {
        return asRowsyncError(thrown);
      }
    };

    expect(refusal({})).toMatchObject({
      code: 'fresh.stale',
      message: 'Older than 10m, so there is no answer: Note is 1 h old',
    });
    expect(refusal({ failure })).toMatchObject({
      message: 'Older than 10m, so there is no answer: Note is 1 h old (it is away)',
      hint: 'Wait.',
    });
  });
});

test('the last moment is read with what it covers, and is held until a row may have changed', async () => {
  await using fixture = await readTables();
  const { replica } = fixture;
  expect([readLastMoment(replica), readHeldMoment(replica)]).toEqual([null, null]);
  const moment = { at: READ_AT, tables: ['Note'], notCovered: ['Note.Total'] };
  await replica.write('Test', (tx) => storeMoment(tx, { ...moment, at: '2026-06-01T11:00:00Z' }));
  await replica.write('Test', (tx) => storeMoment(tx, moment));

  expect(readLastMoment(replica)).toEqual({ ...moment, holds: true });
  expect(readHeldMoment(replica)).toEqual({ ...moment, holds: true });
  await replica.write('Test', (tx) => touchTable(tx, 1));
  expect(readLastMoment(replica)).toEqual({ ...moment, holds: false });
  expect(readHeldMoment(replica)).toBe(null);
});
