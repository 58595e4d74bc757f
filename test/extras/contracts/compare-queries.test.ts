/**
 * Queries that still compile and mean something else: another column under the same name, another type, other columns
 * of the answer.
 */
import { expect, test } from 'vitest';
import { changesSince, lookBefore } from '../../../src/extras/contracts/compare-queries.ts';
import type { Contract } from '../../../src/extras/contracts/judge-queries.ts';
import { readNames } from '../../../src/extras/contracts/old-names.ts';
import { SchemaModel } from '../../../src/extras/contracts/schema-model.ts';
import { startFixture } from '../../support/replica.ts';
import type { TestSandbox } from '../../support/sandbox.ts';

const GOOD = {
  name: 'Good',
  systemColumns: false,
  columns: [
    { name: 'Title', type: 'Text' as const },
    { name: 'Price', type: 'Numeric' as const },
    { name: 'Short', type: 'Text' as const },
  ],
  rows: [{ Title: 'a', Price: 1 }],
};
const SINCE = '2026-11-25T08:00:00Z';

/** What is said of a query after a change at the origin and a pull. */
async function complaintsAfter(
  text: string,
  change: (store: TestSandbox['store']) => void,
  kind: Contract['kind'] = 'query',
): Promise<readonly string[]> {
  await using fixture = await startFixture({ tables: [GOOD] });
  await fixture.pull();
  fixture.execute(
    'CREATE VIEW dear AS SELECT _id, Price FROM Good; CREATE VIEW texts AS SELECT Title, Short FROM Good',
  );
  const contracts = [{ name: 'q.sql', kind, text }];
  const before = lookBefore(fixture.replica, contracts);
  change(fixture.sandbox.store);
  await fixture.pull({ confirm: true });
  using model = new SchemaModel(fixture.replica);
  const found = changesSince(before, { contracts, model, after: readNames(fixture.replica) }, SINCE);
  expect(
    found.every(({ name, code, since }) => name === 'q.sql' && code === 'contract.changed' && since === SINCE),
  ).toBe(true);
  return found.map(({ message }) => message);
}

const RETYPED = 'q.sql answers differently: Good.Price was of type Numeric, and is of type Text';

function retype(store: TestSandbox['store']): void {
  store.changeColumn('Good', 'Price', { type: 'Text' });
}

function swap(store: TestSandbox['store']): void {
  store.renameColumn('Good', 'Title', 'Between');
  store.renameColumn('Good', 'Short', 'Title');
  store.renameColumn('Good', 'Between', 'Short');
}

test.each([
  ['reads a column that was retyped', 'SELECT Price FROM Good', retype, [RETYPED]],
  ['takes all columns, one of them retyped', 'SELECT * FROM Good', retype, [RETYPED]],
  ['reads it in a condition', 'SELECT Title FROM Good WHERE Price > 1', retype, [RETYPED]],
  ['reads another column', 'SELECT Title FROM Good', retype, []],
  ['does not compile, before and after', 'SELECT Nope FROM Good', retype, []],
  [
    'compiled before',
    'SELECT Price FROM Good',
    (store: TestSandbox['store']) => store.renameColumn('Good', 'Price', 'Cost'),
    [],
  ],
  [
    'takes all columns, one of them renamed',
    'SELECT * FROM Good',
    (store: TestSandbox['store']) => store.renameColumn('Good', 'Price', 'Cost'),
    ['q.sql answers differently: its answer has no column Price any more, but _id, _allow, Id and 2 more'],
  ],
  [
    'takes all columns, to which one came',
    'SELECT * FROM Good',
    (store: TestSandbox['store']) => store.addColumn('Good', { name: 'New', type: 'Text' }),
    [],
  ],
] as const)('a query that %s', async (_what, text, change, messages) => {
  const found = await complaintsAfter(text, change);

  expect(found.map((message) => message.replace(/, but .*$/, ''))).toEqual(
    messages.map((message) => message.replace(/, but .*$/, '')),
  );
});

test('a view is judged by its answer alone, since it follows its columns', async () => {
  expect(await complaintsAfter('SELECT * FROM dear', retype, 'view')).toEqual([
    expect.stringContaining('its answer has no column Price any more'),
  ]);
  expect(await complaintsAfter('SELECT * FROM dear', () => undefined, 'view')).toEqual([]);
  expect(await complaintsAfter('SELECT * FROM texts', swap, 'view')).toEqual([]);
});

test('another column of the same type under the name is a different one', async () => {
  expect(await complaintsAfter('SELECT Title FROM Good', swap)).toEqual([
    'q.sql answers differently: Good.Title is a different column now',
  ]);
});
