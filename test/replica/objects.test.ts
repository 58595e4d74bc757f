/**
 * What is kept of the schema: it is read again once someone has changed it, and a change that is taken back leaves nothing behind.
 */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica, type Replica } from '../../src/replica/database.ts';
import { hasForeignTriggers, hasTable } from '../../src/replica/objects.ts';
import { sql } from '../../src/base/sql.ts';
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
