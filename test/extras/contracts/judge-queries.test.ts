/**
 * What is wrong with each registered query, from the schema of today and what was seen before.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { storeContractComplaints, type ContractComplaint } from '../../../src/extras/contracts/complaints.ts';
import {
  announceEnds,
  complainOfUnwanted,
  judge,
  readContracts,
  type Contract,
  type JudgedContract,
} from '../../../src/extras/contracts/judge-queries.ts';
import { keepOldNames, readNames } from '../../../src/extras/contracts/old-names.ts';
import { SchemaModel } from '../../../src/extras/contracts/schema-model.ts';
import { startFixture, temporaryFolder, type Fixture } from '../../support/replica.ts';

const NOW_MS = Date.parse('2026-11-25T08:00:00Z');
const GOOD = {
  name: 'Good',
  systemColumns: false,
  columns: [
    { name: 'Title', type: 'Text' as const },
    { name: 'Price', type: 'Numeric' as const },
  ],
  rows: [{ Title: 'a', Price: 1 }],
};

async function startGood(): Promise<Fixture> {
  const fixture = await startFixture({ tables: [GOOD, { ...GOOD, name: 'Maker' }] });
  await fixture.pull();
  return fixture;
}

function judged(
  fixture: Fixture,
  texts: readonly string[],
  kind: Contract['kind'] = 'query',
): readonly JudgedContract[] {
  using model = new SchemaModel(fixture.replica);
  const contracts = texts.map((text, index) => ({ name: `${index}.sql`, kind, text }));
  return judge(fixture.replica, model, { contracts, nowMs: NOW_MS });
}

test('files come in the order of their names, then views; other files are none', async () => {
  await using fixture = await startGood();
  using home = temporaryFolder();
  mkdirSync(join(home.path, 'folder'));
  for (const name of ['b.check.sql', 'a.sql', 'notes.md', 'c.SQL']) writeFileSync(join(home.path, name), `-- ${name}`);
  fixture.execute(`CREATE VIEW "a ""view""" AS SELECT 1`);

  // As an editor locks a file that is being edited.
  symlinkSync('person@machine.1234', join(home.path, '.#a.sql'));
  const all = readContracts(fixture.replica, { folder: home.path, keepDays: 0 });
  const views = readContracts(fixture.replica, { folder: null, keepDays: 0 });

  expect(all).toEqual([
    { name: 'a.sql', kind: 'query', text: '-- a.sql' },
    { name: 'b.check.sql', kind: 'check', text: '-- b.check.sql' },
    { name: 'the view a "view"', kind: 'view', text: 'SELECT * FROM "a ""view"""' },
  ]);
  expect(views).toEqual(all.slice(2));
  expect(() => readContracts(fixture.replica, { folder: join(home.path, 'nowhere'), keepDays: 0 })).toThrow('ENOENT');
});

test('a query in order has no complaint; one that does not compile has, with its text as it would', async () => {
  await using fixture = await startGood();
  fixture.sandbox.store.renameColumn('Good', 'Price', 'Cost');
  await fixture.pull();

  const found = judged(fixture, [
    'SELECT Title FROM Good',
    'SELECT Price FROM Good',
    'SELECT Price FROM Good -- dear',
    'SELECT 1 FROM Nope',
  ]);

  expect(found.map(({ complaints }) => complaints.map(({ code }) => code))).toEqual([
    [],
    ['contract.breaks'],
    ['contract.breaks'],
    ['contract.breaks'],
  ]);
  expect(found.map(({ corrected }) => corrected)).toEqual([
    null,
    'SELECT "Cost" FROM Good',
    'SELECT "Cost" FROM Good -- dear',
    null,
  ]);
  expect(found.flatMap(({ complaints }) => complaints.map(({ hint }) => hint))).toEqual([
    'With the names of today: SELECT "Cost" FROM Good',
    'rowsync contracts prints the text with the names of today.',
    'Correct the query: rowsync contracts, and sync_columns for the names of today.',
  ]);
  expect(found[1]?.complaints[0]).toMatchObject({
    name: '1.sql',
    since: '2026-11-25T08:00:00Z',
    message: expect.stringContaining(
      '1.sql does not compile: no such column: Price; Good.Cost: the origin renamed',
    ) as unknown,
  });
});

test('a table or column that the origin no longer shows is named, with the view through which it is read', async () => {
  await using fixture = await startGood();
  fixture.execute('CREATE VIEW dear AS SELECT _id, Price FROM Good');
  fixture.sandbox.store.dropColumn('Good', 'Price');
  fixture.sandbox.store.dropTable('Maker');
  await fixture.pull({ confirm: true });

  const found = judged(fixture, [
    'SELECT Price FROM Good',
    'SELECT _id FROM dear',
    'SELECT * FROM dear',
    'SELECT Title FROM Maker',
  ]);

  expect(found.map(({ complaints }) => complaints.map(({ message }) => message).join())).toEqual([
    '0.sql reads Good.Price, which the origin no longer shows',
    '1.sql reads Good.Price, which the origin no longer shows',
    '2.sql reads Good.Price, which the origin no longer shows',
    '3.sql reads Maker, which is no longer at the origin',
  ]);
  expect(found.every(({ corrected }) => corrected === null)).toBe(true);
});

test('what was seen before stays: a failed check until it holds, a changed meaning for a week, the time of a break', async () => {
  await using fixture = await startGood();
  const complaint = (code: string, since: string, name = '0.sql'): ContractComplaint => ({
    name,
    code,
    message: code,
    hint: '',
    since,
  });
  await fixture.replica.write('Storing', (tx) =>
    storeContractComplaints(tx, [
      complaint('contract.fails', '2026-01-01T00:00:00Z'),
      complaint('contract.changed', '2026-11-19T00:00:00Z'),
      complaint('contract.changed', '2026-11-10T00:00:00Z', '1.sql'),
      complaint('contract.breaks', '2026-11-01T00:00:00Z', '1.sql'),
      complaint('contract.breaks', '2026-11-01T00:00:00Z'),
      complaint('contract.fails', '2026-11-01T00:00:00Z', 'gone.sql'),
    ]),
  );

  const [holds, breaks] = judged(fixture, ['SELECT Title FROM Good', 'SELECT Nope FROM Good']);

  expect(holds?.complaints.map(({ code }) => code)).toEqual(['contract.changed', 'contract.fails']);
  expect(breaks?.complaints.map(({ code, since }) => [code, since])).toEqual([
    ['contract.breaks', '2026-11-01T00:00:00Z'],
  ]);
});

test('an old name is named where it is read, and announced a week before its end', async () => {
  await using fixture = await startGood();
  const before = readNames(fixture.replica);
  fixture.sandbox.store.renameColumn('Good', 'Price', 'Cost');
  await fixture.pull();
  await fixture.replica.write('Keeping', (tx) => keepOldNames(tx, before, readNames(tx), '2026-12-05'));
  const endsAt = (days: number) =>
    announceEnds(fixture.replica, NOW_MS + days * 86_400_000).map(({ message }) => message);

  const [reads, reads2] = judged(fixture, ['SELECT Price FROM Good', 'SELECT Cost FROM Good']);

  expect(reads).toMatchObject({
    corrected: 'SELECT "Cost" FROM Good',
    complaints: [
      {
        code: 'contract.oldName',
        message: '0.sql reads the old name Good.Price of Cost, which ends on 2026-12-05',
        hint: 'With the names of today: SELECT "Cost" FROM Good',
      },
    ],
  });
  expect(reads2?.complaints).toEqual([]);
  expect([endsAt(0), endsAt(3), endsAt(10)]).toEqual([
    [],
    ['The old name Good.Price of Cost, which ends on 2026-12-05'],
    ['The old name Price of Cost should have ended on 2026-12-05; it stays while a view of yours reads it'],
  ]);
  expect(complainOfUnwanted({ table: null, name: 'Good', now: 'Article', until: '2026-12-05' })).toMatchObject({
    code: 'contract.oldName',
    name: 'old name .Good',
    since: '2026-12-05T00:00:00Z',
  });
});
