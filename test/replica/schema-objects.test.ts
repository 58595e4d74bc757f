/**
 * What is kept of the schema: it is read again once someone has changed it, and a change that is taken back leaves
 * nothing behind.
 */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica, type Replica } from '../../src/replica/database.ts';
import { changeColumns, readColumns } from '../../src/replica/bookkeeping/columns.ts';
import { changeTable, hasForeignTriggers, hasTable, isWrittenStrict } from '../../src/replica/schema-objects.ts';
import { dropTriggers, ensureTriggers, guardsOf, hasTriggers } from '../../src/replica/triggers.ts';
import { literal, sql } from '../../src/base/sql.ts';
import { temporaryFolder } from '../support/replica.ts';

/** A replica, another client of its file, and how often the replica has read the whole schema. */
function open(): {
  readonly replica: Replica;
  readonly other: Database.Database;
  countReadings(): number;
  [Symbol.dispose](): void;
} {
  const folder = temporaryFolder();
  const path = `${folder.path}/replica.db`;
  let readingCount = 0;
  const verbose = (text: unknown): void => {
    if (String(text).includes('sqlite_schema')) readingCount += 1;
  };
  const replica = openReplica(path, {
    clock: systemClock,
    connect: (file, options) => new Database(file, { ...options, verbose }),
  });
  const other = new Database(path);
  return {
    replica,
    other,
    countReadings: () => readingCount,
    [Symbol.dispose]: () => {
      other.close();
      replica.close();
      folder[Symbol.dispose]();
    },
  };
}

const TABLE = sql`CREATE TABLE "Mine" (a)`;
const MAKING = { text: TABLE, name: 'Mine', isMade: true };
const TRIGGER = sql`CREATE TRIGGER mine AFTER INSERT ON _rowsync_runs BEGIN SELECT 1; END`;

test('the schema is read once, in and out of transactions, until it changes', async () => {
  using opened = open();
  const { replica, other } = opened;
  const before = opened.countReadings();

  const ask = (): boolean => hasForeignTriggers(replica);
  expect([ask(), await replica.write('Asking', ask), await replica.write('Asking', ask)]).toEqual([
    false,
    false,
    false,
  ]);
  expect(opened.countReadings()).toBe(before + 1);

  other.exec(TRIGGER);
  expect([ask(), await replica.write('Asking', ask)]).toEqual([true, true]);
  expect(opened.countReadings()).toBe(before + 2);
});

test('names of tables are found in either case of ASCII letters', () => {
  using opened = open();
  opened.other.exec('CREATE TABLE "Äpfel" (a); CREATE VIEW "Birnen" AS SELECT 1');

  expect(['Äpfel', 'ÄPFEL', 'äpfel', 'Birnen'].map((name) => hasTable(opened.replica, name))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test.each([
  ['is rehearsed', false],
  ['fails', true],
])('what a transaction that %s has made is forgotten, also where somebody else makes as much', async (_how, fails) => {
  using opened = open();
  const { replica, other } = opened;
  const make = replica.rehearse('Making', (tx) => {
    tx.prepare(TRIGGER).run();
    expect(hasForeignTriggers(tx)).toBe(true);
    if (fails) throw new Error('as a full disk does');
  });
  await make.catch(() => undefined);

  other.exec(TABLE); // the version of the schema is now what it was inside

  expect([hasForeignTriggers(replica), hasTable(replica, 'Mine')]).toEqual([false, true]);
});

test('a change of ours leaves known which views there are, until another client changes the schema', async () => {
  using opened = open();
  const { replica, other } = opened;
  expect(hasTable(replica, 'Mine')).toBe(false);
  expect(isWrittenStrict(replica, 'Mine')).toBe(false);
  const before = opened.countReadings();

  await replica.write('Making a table', (tx) => changeTable(tx, MAKING));
  expect([hasTable(replica, 'Mine'), hasTable(replica, 'Seen')]).toEqual([true, false]);
  expect(opened.countReadings()).toBe(before);

  other.exec('CREATE VIEW "Seen" AS SELECT 1');
  expect(hasTable(replica, 'Seen')).toBe(false);
  other.exec('DROP VIEW "Seen"; CREATE TABLE "Seen" (a)');
  expect(hasTable(replica, 'Seen')).toBe(true);
  expect(opened.countReadings()).toBe(before + 2);
});

test('triggers that a table was given are known, until another client drops one, or they are taken back', async () => {
  using opened = open();
  const { replica, other } = opened;
  const guards = guardsOf({ id: 7, localName: 'Mine' }, 'a mirror');
  await replica.write('Making a table', (tx) => {
    changeTable(tx, MAKING);
    ensureTriggers(tx, 7, guards);
  });
  const before = opened.countReadings();
  expect(hasTriggers(replica, 7, guards)).toBe(true);
  expect(opened.countReadings()).toBe(before);

  await replica.rehearse('Dropping them', (tx) => dropTriggers(tx, 7));
  expect(hasTriggers(replica, 7, guards)).toBe(true);
  other.exec('DROP TRIGGER _rowsync_guard_insert_7');
  expect(hasTriggers(replica, 7, guards)).toBe(false);
});

test('columns are the same object until they change here or by another client, and what was taken back is forgotten', async () => {
  using opened = open();
  const { replica, other } = opened;
  const add = (seq: number): ReturnType<typeof sql> =>
    sql`INSERT INTO _rowsync_columns (seq, table_id, id, name, alias, local_name, type, value_form, stored_as, writable, options, position, state, since)
        VALUES (${seq}, 7, ${seq}, 'C', 'C', ${literal(`C${seq}`)}, 'Text', 'Text', 'TEXT', 0, '', ${seq}, 'live', '')`;
  const read = (): readonly number[] => readColumns(replica, 7).map(({ seq }) => seq);
  await replica.write('Adding', (tx) => changeColumns(tx, add(1)).run());
  const first = readColumns(replica, 7);

  await replica.rehearse('Adding', (tx) => {
    changeColumns(tx, add(2)).run();
    expect(readColumns(tx, 7)).toHaveLength(2);
  });
  expect(read()).toEqual([1]);
  const second = readColumns(replica, 7);
  expect(second).toEqual(first);
  other.exec("INSERT INTO _rowsync_runs (kind, started_at, outcome) VALUES ('pull', '', 'running')");
  expect(readColumns(replica, 7)).toBe(second);
  other.exec(add(3));
  expect(read()).toEqual([1, 3]);
  await replica.write('Adding', (tx) => changeColumns(tx, add(4)).run());
  expect(read()).toEqual([1, 3, 4]);
});
