/**
 * The promise, for each column of the sample database: whatever becomes of it, each registered query answers as before,
 * or is named.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readContracts } from '../../../src/extras/contracts/judge-queries.ts';
import { watchContracts } from '../../../src/extras/contracts/watch.ts';
import { readContractComplaints } from '../../../src/extras/contracts/complaints.ts';
import { sampleTables } from '../../../src/sandbox/data/sample.ts';
import type { Sandbox } from '../../../src/sandbox/main.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';

const TABLES = sampleTables(1).map((table) => ({ ...table, rows: [...(table.rows ?? [])].slice(0, 8) }));
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

type Column = Sandbox['store']['catalog']['tables'][number]['columns'][number];

const CHANGES: Readonly<Record<string, (store: Sandbox['store'], table: string, column: Column) => void>> = {
  'is renamed': (store, table, { name }) => store.renameColumn(table, name, `New ${name}`),
  'gets another type': (store, table, { name, valueType, computed }) => {
    if (computed !== null) throw new Error('it has the type of its formula');
    store.changeColumn(table, name, { type: valueType === 'Text' ? 'Numeric' : 'Text' });
  },
  'is dropped': (store, table, { name }) => store.dropColumn(table, name),
};

/** One query for each column, and for each table one with all of them, and a view. */
function register(fixture: Fixture, folder: string): void {
  for (const [index, { name, columns }] of fixture.sandbox.store.catalog.tables.entries()) {
    writeFileSync(join(folder, `${index}.all.sql`), `SELECT * FROM ${quoted(name)} ORDER BY _id`);
    for (const [place, { name: column }] of columns.entries())
      writeFileSync(
        join(folder, `${index}.${place}.sql`),
        `SELECT _id, ${quoted(column)} FROM ${quoted(name)} ORDER BY _id`,
      );
    const names = columns.map((column) => quoted(column.name)).join(', ');
    fixture.execute(`CREATE VIEW "view of ${index}" AS SELECT _id, ${names} FROM ${quoted(name)}`);
  }
}

type Answer = readonly Record<string, unknown>[];

/** Whether an answer has what it had; an old name that is kept is one more column of `SELECT *`. */
function isAsBefore(before: Answer | null, after: Answer | null | undefined): boolean {
  return (
    before?.length === after?.length &&
    (before ?? []).every((row, index) => Object.entries(row).every(([name, value]) => after?.[index]?.[name] === value))
  );
}

/** What every query answers on one new connection. */
function answersOf(fixture: Fixture, folder: string): ReadonlyMap<string, Answer | null> {
  const db = new Database(fixture.path, { readonly: true });
  try {
    return new Map(
      readContracts(fixture.replica, { folder, keepDays: 0 }).map(({ name, text }) => {
        try {
          return [name, db.prepare(text).all() as Answer];
        } catch {
          return [name, null];
        }
      }),
    );
  } finally {
    db.close();
  }
}

/** Changes the column at a place of each table, where the sandbox lets it. */
function changeAll(store: Sandbox['store'], place: number, change: (typeof CHANGES)[string]): number {
  return store.catalog.tables
    .map(({ name, columns }) => ({ name, column: columns.toSorted((a, b) => a.id - b.id)[place] }))
    .filter(({ name, column }) => {
      try {
        if (column !== undefined) change(store, name, column);
        return column !== undefined;
      } catch {
        return false; // the key, or a column that others are computed from
      }
    }).length;
}

test.each(Object.keys(CHANGES).flatMap((title) => [0, 30].map((keepDays) => ({ title, keepDays }))))(
  'every query answers as before or is named when its column $title, with old names kept for $keepDays days',
  { timeout: 300_000 },
  async ({ title, keepDays }) => {
    await using fixture = await startFixture({ tables: TABLES });
    await fixture.pull();
    const folder = join(fixture.folder, 'contracts');
    mkdirSync(folder);
    register(fixture, folder);
    await watchContracts(fixture.replica, { folder, keepDays }, systemClock);
    const { store } = fixture.sandbox;
    const change = CHANGES[title];
    if (change === undefined) throw new Error(title);
    const silent: string[] = [];
    let changedCount = 0;
    let before = answersOf(fixture, folder);
    // Columns that are dropped make room: the first that can be is always at the next place.
    for (let place = 0, turn = 0; turn < 17; turn += 1) {
      const count = changeAll(store, place, change);
      changedCount += count;
      if (title !== 'is dropped' || count < TABLES.length) place += 1;
      const report = await fixture.pull({ confirm: true });
      expect(report.tables.map(({ error }) => error)).toEqual(TABLES.map(() => null));
      const named = new Set(readContractComplaints(fixture.replica).map(({ name }) => name));
      const after = answersOf(fixture, folder);
      for (const [name, answer] of before)
        if (!isAsBefore(answer, after.get(name)) && !named.has(name)) silent.push(`${turn}: ${name}`);
      before = after;
    }

    expect(silent).toEqual([]);
    expect(changedCount).toBeGreaterThan(50);
  },
);
