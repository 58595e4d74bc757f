/**
 * How far back the history of each table goes; a question about an earlier time gets no answer.
 */
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import {
  checkKnown,
  chooseKnownTables,
  findKnownTable,
  lastSeqAt,
  readKnownTables,
  type KnownTable,
} from '../../../src/extras/history/known-since.ts';
import { prune } from '../../../src/extras/schema/prune.ts';
import { openReader } from '../../../src/replica/reader.ts';
import { HISTORY } from '../../support/history.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { AT, NOTE } from '../../support/two-way.ts';

const START_MS = Date.parse('2026-11-25T08:00:00Z');
const secondOf = (minute: number): number => START_MS / 1000 + minute * 60;

/** Tables Note, with history, and Other, without, at 08:00; `at` moves the clock to a minute after. */
async function startKept(): Promise<Fixture & { readonly at: (minute: number) => void }> {
  const time = { nowMs: START_MS };
  const clock = { ...systemClock, nowMs: () => time.nowMs };
  const settings = {
    maxDeletePercent: 100,
    tableOptions: (name: string) => ({ sort: null, ...(name === 'Note' ? { history: HISTORY } : {}) }),
  };
  const fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }], clock }, { settings, clock });
  await fixture.pull();
  return Object.assign(fixture, { at: (minute: number) => void (time.nowMs = START_MS + minute * 60_000) });
}

function known(fixture: Fixture): readonly KnownTable[] {
  using reader = openReader(fixture.path);
  return readKnownTables(reader);
}

function check(fixture: Fixture, table: KnownTable, minute: number): () => void {
  return () => {
    using reader = openReader(fixture.path);
    checkKnown(reader, table, { moment: secondOf(minute), nowMs: START_MS + 60 * 60_000 });
  };
}

test('a table is known from the beginning of its history on, and not where none is kept', async () => {
  await using fixture = await startKept();

  const tables = known(fixture);
  const [note] = tables;

  expect(tables.map(({ table, since }) => [table, since])).toEqual([['Note', '2026-11-25T08:00:00Z']]);
  if (note === undefined) return;
  expect(check(fixture, note, 0)).not.toThrow();
  expect(check(fixture, note, 60)).not.toThrow();
  expect(check(fixture, note, -1)).toThrow('What Note was at 2026-11-25T07:59:00Z is not known');
  expect(check(fixture, note, 61)).toThrow('2026-11-25T09:01:00Z lies ahead');
  expect(check(fixture, { ...note, since: null }, 5)).toThrow('The changes of Note are not kept');
});

test('what was pruned, and what a restored copy does not have, is not known', async () => {
  await using fixture = await startKept();
  fixture.execute(`INSERT INTO _rowsync_history (table_id, kind, at, cause, cells)
    SELECT id, 'pruned', unixepoch('2026-11-25T08:30:00Z'), 'pull', '{"until":"2026-11-25T08:10:00Z","entries":2}' FROM _rowsync_tables WHERE name = 'Note';
    INSERT INTO _rowsync_history (kind, at, cause, cells)
    VALUES ('restored', unixepoch('2026-11-25T08:40:00Z'), 'restore', '{"knownUntil":"2026-11-25T08:35:00Z"}')`);

  const [note] = known(fixture);

  expect(note?.since).toBe('2026-11-25T08:10:00Z');
  if (note === undefined) return;
  expect(check(fixture, note, 35)).not.toThrow();
  expect(check(fixture, note, 37)).toThrow('an older copy was restored at 2026-11-25T08:40:00Z');
  expect(check(fixture, note, 40)).not.toThrow();
});

test('a history that ended is known by name only', async () => {
  await using fixture = await startKept();
  await fixture.pull({ settings: { tableOptions: () => ({ sort: null }) } });

  expect(known(fixture).map(({ table, since }) => [table, since])).toEqual([['Note', null]]);
});

test('of two tables of one name that which is here is meant, not the one that was pruned', async () => {
  await using fixture = await startKept();
  const { store } = fixture.sandbox;
  fixture.at(10);
  store.dropTable('Note');
  await fixture.pull({ confirm: true });
  await fixture.replica.write('Pruning', (tx) => prune(tx, AT));
  store.addTable({ ...NOTE, rows: [{ Title: 'anew' }] });
  fixture.at(20);
  await fixture.pull();

  const tables = known(fixture);

  expect(tables.map(({ table, since }) => [table, since])).toEqual([
    ['Note', '2026-11-25T08:20:00Z'],
    ['Note (pruned)', null],
  ]);
  expect(findKnownTable(tables, 'note').since).toBe('2026-11-25T08:20:00Z');
  // As an earlier version left it.
  fixture.execute(`UPDATE _rowsync_history_names SET name = 'Note' WHERE column_seq = 0`);
  expect(findKnownTable(known(fixture), 'note').since).toBe('2026-11-25T08:20:00Z');
});

test('a name is found in either case, the exact one first; another one is refused with a guess', () => {
  const tables = ['note', 'Note', 'Other'].map((table, id) => ({ id, table, since: null }));

  expect(findKnownTable(tables, 'Note').id).toBe(1);
  expect(findKnownTable(tables, 'OTHER').id).toBe(2);
  expect(() => findKnownTable(tables, 'Othr')).toThrow('No history is kept of a table "Othr" (did you mean Other?)');
  expect(chooseKnownTables(tables, 'note')).toEqual([tables[0]]);
});

test('without a name those are meant that are kept now; there is at least one', () => {
  const tables = [null, '2026-11-25T08:20:00Z'].map((since, id) => ({ id, table: `Note ${id}`, since }));

  expect(chooseKnownTables(tables, undefined)).toEqual([tables[1]]);
  expect(() => chooseKnownTables(tables.slice(0, 1), undefined)).toThrow('No history is kept of any table');
});

test('the last entry at a moment is that of its second, none before the first', async () => {
  await using fixture = await startKept();
  fixture.at(10);
  for (const title of ['one', 'two']) {
    fixture.sandbox.store.update('Note', 1, { Title: title });
    await fixture.pull();
  }

  const at = [-1, 0, 9, 10, 11].map((minute) => lastSeqAt(fixture.replica, secondOf(minute)));

  expect(at).toEqual([0, 1, 1, 3, 3]);
});

test('a file of an earlier version is refused before anything is read', async () => {
  await using fixture = await startKept();
  using reader = openReader(fixture.path);
  const older = Object.assign(Object.create(reader) as typeof reader, { isOlder: () => true });

  expect(() => readKnownTables(older)).toThrow('was written by an earlier version of rowsync');
});
