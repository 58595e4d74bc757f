/**
 * The names in an open replica are watched: what a change of the schema breaks is named, and old names are kept for a
 * while.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { RowsyncError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import type { Config } from '../../../src/config/load.ts';
import type { DaemonView } from '../../../src/daemon/context.ts';
import type { Resources } from '../../../src/daemon/resources.ts';
import { CONTRACTS } from '../../../src/extras/contracts/extra.ts';
import { judgeAll, watchContracts } from '../../../src/extras/contracts/watch.ts';
import { readContractComplaints } from '../../../src/extras/contracts/complaints.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { prune } from '../../../src/extras/schema/prune.ts';
import { pushNow } from '../../support/push.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { startTwoWay } from '../../support/two-way.ts';

const DAY_MS = 86_400_000;

const GOOD: TableSpec = {
  name: 'Good',
  systemColumns: false,
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Price', type: 'Numeric' },
  ],
  rows: [
    { Title: 'a', Price: 1 },
    { Title: 'b', Price: 2 },
  ],
};
const MAKER: TableSpec = {
  name: 'Maker',
  systemColumns: false,
  columns: [{ name: 'Title', type: 'Text' }],
  rows: [{ Title: 'm' }],
};

/** A replica with registered queries, and a clock that a test moves. */
async function startWatched(
  queries: Readonly<Record<string, string>>,
  { keepDays = 0, views = '' }: { readonly keepDays?: number; readonly views?: string } = {},
) {
  const fixture = await startFixture({ tables: [GOOD, MAKER] });
  await fixture.pull();
  const folder = join(fixture.folder, 'contracts');
  mkdirSync(folder);
  for (const [name, text] of Object.entries(queries)) writeFileSync(join(folder, name), text);
  fixture.execute(views);
  const time = { aheadMs: 0 };
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + time.aheadMs };
  const settings = { folder, keepDays };
  await watchContracts(fixture.replica, settings, clock);
  return Object.assign(fixture, {
    time,
    contracts: folder,
    state: () => judgeAll(fixture.replica, settings, clock.nowMs()),
    complaints: () => readContractComplaints(fixture.replica).map(({ code, message }) => `${code}: ${message}`),
    hints: () => readContractComplaints(fixture.replica).map(({ hint }) => hint),
  });
}

const day = (aheadDays: number): string => new Date(Date.now() + aheadDays * DAY_MS).toISOString().slice(0, 10);

function fails(fixture: Fixture, query: string): boolean {
  try {
    fixture.rows(query);
    return false;
  } catch {
    return true;
  }
}

test('a query that a rename breaks is named with the rename and the corrected text', async () => {
  await using fixture = await startWatched({
    'dear.sql': 'SELECT Title FROM Good\nWHERE good.Price > 1',
    'other.sql': 'SELECT Title FROM Maker',
  });
  fixture.sandbox.store.renameColumn('Good', 'Price', 'Unit Price');
  fixture.sandbox.store.renameTable('Good', 'Article');

  await fixture.pull();

  expect(fixture.complaints()).toEqual([
    `contract.breaks: dear.sql does not compile: no such table: Good; Article: the origin renamed the table, which was called Good (${day(0)}); Article.Unit Price: the origin renamed the column, which was called Price (${day(0)})`,
  ]);
  expect(fixture.hints()).toEqual([
    'With the names of today: SELECT Title FROM "Article" WHERE "Article"."Unit Price" > 1',
  ]);
});

test('a name that two tables have is corrected where it was renamed', async () => {
  const text = `SELECT g.Title, m.Title, 'Title' -- Title\nFROM Good g JOIN Maker m`;
  await using fixture = await startWatched({ 'both.sql': text });
  fixture.sandbox.store.renameColumn('Good', 'Title', 'Heading');

  await fixture.pull();

  expect(fixture.state().contracts[0]?.corrected).toBe(text.replace('g.Title', 'g."Heading"'));
});

test('a mended query, and one whose name came back, are named no longer', async () => {
  await using fixture = await startWatched({ 'a.sql': 'SELECT Price FROM Good', 'b.sql': 'SELECT Price FROM Good' });
  fixture.sandbox.store.renameColumn('Good', 'Price', 'Cost');
  await fixture.pull();
  expect(fixture.complaints()).toHaveLength(2);
  writeFileSync(join(fixture.contracts, 'a.sql'), 'SELECT Cost FROM Good');
  await fixture.pull();
  expect(fixture.complaints()).toEqual([expect.stringContaining('b.sql')]);
  fixture.sandbox.store.renameColumn('Good', 'Cost', 'Price');

  await fixture.pull();

  expect(fixture.complaints()).toEqual([expect.stringContaining('a.sql does not compile')]);
});

test('a query is named where a column vanished, also through a view', async () => {
  await using fixture = await startWatched(
    { 'price.sql': 'SELECT Price FROM Good', 'title.sql': 'SELECT Title FROM Good' },
    { views: 'CREATE VIEW dear AS SELECT _id, Price FROM Good' },
  );
  fixture.sandbox.store.dropColumn('Good', 'Price');

  await fixture.pull();

  expect(fixture.complaints()).toEqual([
    'contract.breaks: price.sql reads Good.Price, which the origin no longer shows',
    'contract.breaks: the view dear reads Good.Price, which the origin no longer shows',
  ]);
});

test('a query is named where its table vanished, until that is back', async () => {
  await using fixture = await startWatched({ 'maker.sql': 'SELECT Title FROM Maker' });
  const hidden = { name: 'Administrator', canWrite: true, hiddenColumns: [] };
  fixture.sandbox.store.setRole({ ...hidden, hiddenTables: ['Maker'] });
  await fixture.pull({ confirm: true });
  const gone = fixture.complaints();
  fixture.sandbox.store.setRole({ ...hidden, hiddenTables: [] });

  await fixture.pull();

  expect(gone).toEqual(['contract.breaks: maker.sql reads Maker, which is no longer at the origin']);
  expect(fixture.complaints()).toEqual([]);
});

test('a query is named where a column got another type, and no longer after a week', async () => {
  await using fixture = await startWatched(
    { 'all.sql': 'SELECT * FROM Good', 'price.sql': 'SELECT Price FROM Good', 'title.sql': 'SELECT Title FROM Good' },
    { views: 'CREATE VIEW dear AS SELECT _id, Price FROM Good' },
  );
  fixture.sandbox.store.changeColumn('Good', 'Price', { type: 'Text' });

  await fixture.pull();
  const before = fixture.complaints();
  fixture.time.aheadMs = 8 * DAY_MS;
  await fixture.pull();

  expect(before).toEqual([
    'contract.changed: all.sql answers differently: Good.Price was of type Numeric, and is of type Text',
    'contract.changed: price.sql answers differently: Good.Price was of type Numeric, and is of type Text',
    expect.stringContaining('contract.breaks: the view dear reads Good.Price (was Numeric'),
    expect.stringContaining('contract.changed: the view dear answers differently: its answer has no column Price'),
  ]);
  expect(fixture.complaints()).toEqual([expect.stringContaining('contract.breaks: the view dear reads')]);
});

test('a query that reads another column under the same name after a swap is named', async () => {
  await using fixture = await startWatched({ 'title.sql': 'SELECT Title FROM Good' }, { keepDays: 30 });
  const { store } = fixture.sandbox;
  store.renameColumn('Good', 'Title', 'Between');
  store.renameColumn('Good', 'Price', 'Title');
  store.renameColumn('Good', 'Between', 'Price');

  await fixture.pull();

  expect(fixture.complaints()).toEqual([
    'contract.changed: title.sql answers differently: Good.Title was of type Text, and is of type Numeric',
  ]);
});

test('old names can be read until their end, which is announced', async () => {
  await using fixture = await startWatched({ 'dear.sql': 'SELECT Price FROM Good' }, { keepDays: 30 });
  fixture.sandbox.store.renameColumn('Good', 'Price', 'Cost');
  fixture.sandbox.store.renameTable('Good', 'Article');

  await fixture.pull();
  expect(fixture.rows('SELECT Price FROM Good')).toEqual([{ Price: 1 }, { Price: 2 }]);
  expect(fixture.complaints()).toEqual([
    `contract.oldName: dear.sql reads the old name Article.Price of Cost, which ends on ${day(30)}, the old name Good of Article, which ends on ${day(30)}`,
  ]);
  expect(fixture.hints()).toEqual(['With the names of today: SELECT "Cost" FROM "Article"']);
  fixture.sandbox.store.update('Article', 1, { Cost: 7 });
  await fixture.pull();
  expect(fixture.rows('SELECT Price FROM Good')).toEqual([{ Price: 7 }, { Price: 2 }]);
  fixture.time.aheadMs = 25 * DAY_MS;
  await fixture.pull();
  expect(fixture.complaints()).toHaveLength(3);
  fixture.time.aheadMs = 31 * DAY_MS;
  await fixture.pull();

  expect(fails(fixture, 'SELECT 1 FROM Good')).toBe(true);
  expect(fails(fixture, 'SELECT Price FROM Article')).toBe(true);
  expect(fixture.complaints()).toEqual([expect.stringContaining('contract.breaks: dear.sql does not compile')]);
});

test('an old name gives way to what the origin calls so, and follows a further rename', async () => {
  await using fixture = await startWatched({}, { keepDays: 30 });
  const { store } = fixture.sandbox;
  store.renameColumn('Good', 'Price', 'Cost');
  store.renameTable('Good', 'Article');
  await fixture.pull();
  store.renameColumn('Article', 'Cost', 'Amount');
  await fixture.pull();
  expect(fixture.rows('SELECT Price, Cost, Amount FROM Good WHERE _id = 1')).toEqual([
    { Price: 1, Cost: 1, Amount: 1 },
  ]);
  store.addColumn('Article', { name: 'Price', type: 'Text', defaultValue: 'new' });
  store.addTable({ ...MAKER, name: 'Good' });

  await fixture.pull();

  expect(fixture.rows('SELECT Price, Cost FROM Article WHERE _id = 1')).toEqual([{ Price: 'new', Cost: 1 }]);
  expect(fixture.rows('SELECT Title FROM Good')).toEqual([{ Title: 'm' }]);
});

test('an old name stays beyond its end while a view reads it, and goes with its column', async () => {
  await using fixture = await startWatched({}, { keepDays: 1 });
  fixture.sandbox.store.renameColumn('Good', 'Price', 'Cost');
  await fixture.pull();
  fixture.execute('CREATE VIEW dear AS SELECT Price FROM Good');
  fixture.time.aheadMs = 3 * DAY_MS;
  await fixture.pull();
  expect(fixture.rows('SELECT Price FROM dear')).toHaveLength(2);
  expect(fixture.complaints().join()).toContain('it stays while a view of yours reads it');
  fixture.execute('DROP VIEW dear');

  await fixture.pull();

  expect(fails(fixture, 'SELECT Price FROM Good')).toBe(true);
  expect(fixture.complaints()).toEqual([]);
});

test('without the option, nothing is left of it', async () => {
  await using fixture = await startWatched({ 'dear.sql': 'SELECT Price FROM Good' }, { keepDays: 30 });
  fixture.sandbox.store.renameColumn('Good', 'Price', 'Cost');
  await fixture.pull();

  await watchContracts(fixture.replica, undefined, systemClock);

  expect(fails(fixture, 'SELECT Price FROM Good')).toBe(true);
  expect(fixture.complaints()).toEqual([]);
});

test('a check fires once its tables were read whole, and recovers', { timeout: 60_000 }, async () => {
  await using fixture = await startWatched({ 'cheap.check.sql': 'SELECT _id, Title FROM Good WHERE Price < 2' });
  fixture.sandbox.store.update('Maker', 1, { Title: 'n' });
  await fixture.pull({ tables: ['Maker'] });
  expect(fixture.complaints()).toEqual([]);
  await fixture.pull({ tables: ['Good'] });
  expect(fixture.complaints()).toEqual([
    'contract.fails: The check cheap.check.sql returned 1 row; the first have _id 1',
  ]);
  fixture.sandbox.store.update('Good', 1, { Price: 5 });
  const { origin } = fixture;
  const failure = new RowsyncError('originDown', 'origin.unreachable', { message: 'no answer', hint: '' });
  fixture.origin = { ...origin, select: () => Promise.reject(failure) };
  await fixture.pull();
  fixture.origin = origin;
  expect(fixture.complaints()).toHaveLength(1);

  await fixture.pull();

  expect(fixture.complaints()).toEqual([]);
});

test('a check that was removed and comes back is one that was not run yet', { timeout: 60_000 }, async () => {
  const text = 'SELECT * FROM "Good" WHERE "Price" < 0';
  await using fixture = await startWatched({ 'neg.check.sql': text });
  await fixture.pull();
  const checked = (): readonly unknown[] => fixture.rows('SELECT name FROM _rowsync_contracts_checked');
  const before = checked();
  rmSync(join(fixture.contracts, 'neg.check.sql'));
  await fixture.pull();

  expect(before).toEqual([{ name: 'neg.check.sql' }]);
  expect(checked()).toEqual([]);
});

test('a folder that cannot be read is named, and views are still watched', async () => {
  await using fixture = await startWatched({}, { views: 'CREATE VIEW dear AS SELECT absent FROM Good' });
  await watchContracts(fixture.replica, { folder: join(fixture.folder, 'missing'), keepDays: 0 }, systemClock);

  await fixture.pull();

  expect(fixture.complaints()).toEqual([
    expect.stringContaining('contract.breaks: The folder of registered queries cannot be read'),
    'contract.breaks: the view dear does not compile: no such column: absent',
  ]);
});

test('a folder that is a file is named, and no failure of the pull', async () => {
  await using fixture = await startWatched({ 'dear.sql': 'SELECT Price FROM Good' });
  const folder = join(fixture.contracts, 'dear.sql');
  await watchContracts(fixture.replica, { folder, keepDays: 0 }, systemClock);

  const { error } = await fixture.pull();

  expect(error).toBeNull();
  expect(fixture.complaints()).toEqual([expect.stringContaining('registered queries cannot be read: ENOTDIR')]);
});

test('what keeps an old name from its end is named until it is gone, and no failure of the pull', async () => {
  await using fixture = await startWatched({}, { keepDays: 1 });
  fixture.sandbox.store.renameColumn('Good', 'Price', 'Cost');
  await fixture.pull();
  fixture.execute('ALTER TABLE Good ADD COLUMN twice ANY AS (Price * 2)');
  fixture.time.aheadMs = 3 * DAY_MS;

  const reports = [await fixture.pull(), await fixture.pull()];
  const before = fixture.complaints().filter((one) => one.startsWith('contract.breaks'));
  fixture.execute('ALTER TABLE Good DROP COLUMN twice');
  await fixture.pull();

  expect(reports.map(({ error }) => error)).toEqual([null, null]);
  expect(before).toEqual([expect.stringMatching(/^contract.breaks: Contracts: .*no such column: "?Price/)]);
  expect(fixture.complaints()).toEqual([]);
  expect(fails(fixture, 'SELECT Price FROM Good')).toBe(true);
});

const INDEXES = `
  CREATE INDEX plain ON Good(Title, Price);
  CREATE INDEX expression ON Good(abs("price"));
  CREATE INDEX part ON Good(Title) WHERE Price > 1;
  CREATE INDEX other ON Good(Cost)`;

test('an old name ends with the indexes of other programs on it', async () => {
  await using fixture = await startWatched({}, { keepDays: 1 });
  fixture.sandbox.store.renameColumn('Good', 'Price', 'Cost');
  await fixture.pull();
  fixture.execute(INDEXES);
  fixture.time.aheadMs = 3 * DAY_MS;

  const { error } = await fixture.pull();

  expect(error).toBeNull();
  expect(fails(fixture, 'SELECT Price FROM Good')).toBe(true);
  expect(fixture.rows("SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'Good'")).toEqual([
    { name: 'other' },
  ]);
});

test('an old name with an index gives way to what the origin calls so', async () => {
  await using fixture = await startWatched({}, { keepDays: 30 });
  fixture.sandbox.store.renameColumn('Good', 'Price', 'Cost');
  await fixture.pull();
  fixture.execute(INDEXES);
  fixture.sandbox.store.addColumn('Good', { name: 'Price', type: 'Text', defaultValue: 'new' });

  const { error, tables } = await fixture.pull();

  expect([error, ...tables.map((table) => table.error)]).toEqual([null, null, null]);
  expect(fixture.rows('SELECT Price FROM Good WHERE _id = 1')).toEqual([{ Price: 'new' }]);
});

test('without the option, old names with an index or a dependent column keep no command from its work', async () => {
  await using fixture = await startWatched({}, { keepDays: 30 });
  fixture.sandbox.store.renameColumn('Good', 'Price', 'Cost');
  fixture.sandbox.store.renameColumn('Maker', 'Title', 'Heading');
  await fixture.pull();
  fixture.execute(INDEXES);
  await watchContracts(fixture.replica, undefined, systemClock);
  const isEnded = fails(fixture, 'SELECT Price FROM Good') && fails(fixture, 'SELECT Title FROM Maker');
  await watchContracts(fixture.replica, { folder: null, keepDays: 30 }, systemClock);
  fixture.sandbox.store.renameColumn('Maker', 'Heading', 'Name');
  await fixture.pull();
  fixture.execute('ALTER TABLE Maker ADD COLUMN twice ANY AS (Heading || Heading)');

  await watchContracts(fixture.replica, undefined, systemClock);

  expect(isEnded).toBe(true);
  expect(fixture.complaints()).toEqual([expect.stringMatching(/^contract.breaks: Contracts: .*Heading/)]);
});

test('a daemon whose old names cannot be ended says so, and goes on', async () => {
  const fixture = await startWatched({}, { keepDays: 30 });
  fixture.sandbox.store.renameColumn('Good', 'Price', 'Cost');
  await fixture.pull();
  fixture.replica.close();
  const failures: unknown[] = [];
  const log = { ...silentLogger, error: (event: string) => void failures.push(event) };

  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that it reads
  const config = { extras: {} } as Config;
  const resources = { config, replica: fixture.replica, log } as Resources;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  const part = await CONTRACTS.join?.({ clock: systemClock, resources: () => resources } as DaemonView);
  await (await part?.prepare?.(config))?.use();
  await part?.prepare?.(null);

  expect(failures).toEqual(['contracts.failed']);
  await fixture[Symbol.asyncDispose]();
});

test('without the option, an old name stays while a view reads it, and tables can be changed', async () => {
  await using fixture = await startWatched({}, { keepDays: 30 });
  const { store } = fixture.sandbox;
  store.renameColumn('Good', 'Price', 'Cost');
  store.renameColumn('Good', 'Title', 'Heading');
  store.renameTable('Maker', 'Firm');
  await fixture.pull();
  fixture.execute('CREATE VIEW dear AS SELECT Price FROM Good; CREATE VIEW makers AS SELECT * FROM Maker');

  await watchContracts(fixture.replica, undefined, systemClock);
  const complaints = fixture.complaints();
  store.renameColumn('Good', 'Cost', 'Amount');
  store.dropTable('Firm');
  store.addTable({ ...GOOD, name: 'Firm' });
  const { error, tables } = await fixture.pull({ confirm: true });

  expect(complaints).toEqual([
    'contract.oldName: Without contracts in the configuration, the old name Maker of Firm ends; it stays while a view of yours reads it',
    'contract.oldName: Without contracts in the configuration, the old name Price of Cost ends; it stays while a view of yours reads it',
  ]);
  expect(fails(fixture, 'SELECT Title FROM Good')).toBe(true);
  expect([error, ...tables.map((table) => table.error)]).toEqual([null, null, null]);
  expect(fixture.rows('SELECT Price FROM dear')).toHaveLength(2);
  expect(fixture.rows('SELECT Title FROM makers')).toEqual([{ Title: 'm' }]);
  fixture.execute('DROP VIEW dear; DROP VIEW makers');
  await fixture.pull();
  expect(fails(fixture, 'SELECT Price FROM Good')).toBe(true);
  expect(fixture.complaints()).toEqual([]);
});

test('a two-way table with old names is edited, pushed and made again as before', { timeout: 60_000 }, async () => {
  await using fixture = await startTwoWay();
  await watchContracts(fixture.replica, { folder: null, keepDays: 30 }, systemClock);
  const { store } = fixture.sandbox;
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  store.renameColumn('Note', 'Title', 'Heading');
  store.renameTable('Note', 'Memo');
  await fixture.pull();
  expect(fixture.rows('SELECT "Title" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'mine' }]);
  fixture.execute(`
    UPDATE "Memo" SET "Heading" = 'edited' WHERE _id = 2;
    DELETE FROM "Memo" WHERE _id = 3;
    INSERT INTO "Memo" ("Heading", "Code") VALUES ('new', 'n1')`);
  expect(() => fixture.execute(`UPDATE "Memo" SET "Title" = 'x'`)).toThrow(/generated column/);
  expect(() => fixture.execute(`UPDATE "Note" SET "Heading" = 'x'`)).toThrow(/view/);

  const report = await pushNow(fixture);
  store.update('Memo', 4, { Heading: 'theirs' });
  await fixture.pull();

  expect(report.tables.map(({ error, refusedCount }) => [error, refusedCount])).toEqual([[null, 0]]);
  const titles = ['mine', 'edited', 'theirs', 'title 5', 'title 6', 'new'];
  expect(store.rows('Memo').map(({ values }) => values['Heading'])).toEqual(titles);
  expect(fixture.rows('SELECT "Title" FROM "Note" ORDER BY _id')).toEqual(titles.map((Title) => ({ Title })));
});

test('pruning drops the old names of what it drops', async () => {
  await using fixture = await startWatched({ 'dear.sql': 'SELECT Title FROM Article' }, { keepDays: 30 });
  const { store } = fixture.sandbox;
  store.renameColumn('Good', 'Price', 'Cost');
  store.renameTable('Maker', 'Firm');
  await fixture.pull();
  store.dropColumn('Good', 'Cost');
  store.dropTable('Firm');
  await fixture.pull({ confirm: true });
  expect(fixture.rows('SELECT Price, Title FROM Good')).toHaveLength(2);
  expect(fixture.rows('SELECT Title FROM Maker')).toHaveLength(1);

  await fixture.replica.write('Pruning', (tx) => prune(tx, '2026-11-21T12:00:00Z'));

  expect(fails(fixture, 'SELECT Price FROM Good')).toBe(true);
  expect(fails(fixture, 'SELECT Title FROM Maker')).toBe(true);
});

test('an old name leads to its table where that makes room for another one', async () => {
  await using fixture = await startWatched({}, { keepDays: 30 });
  const { store } = fixture.sandbox;
  store.renameTable('Maker', 'Firm');
  await fixture.pull();
  store.dropTable('Firm');
  store.addTable({ ...GOOD, name: 'Firm' });

  await fixture.pull({ confirm: true });

  expect(fixture.rows('SELECT Title FROM Maker')).toEqual([{ Title: 'm' }]);
});
