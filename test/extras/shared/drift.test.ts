/**
 * How the replica differs from the shape that the origin describes, and what of it a person may drop.
 */
import { expect, test } from 'vitest';
import { readDrift, readPrunable } from '../../../src/extras/shared/drift.ts';
import { openReader } from '../../../src/replica/reader.ts';
import { startFixture } from '../../support/replica.ts';
import { NOTE } from '../../support/two-way.ts';

test('a table that follows the origin has no drift; what the origin no longer describes is listed, and can be dropped', async () => {
  await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }, { ...NOTE, name: 'Third' }] });
  const { store } = fixture.sandbox;
  await fixture.pull();
  using reader = openReader(fixture.path);
  expect([readDrift(reader), readPrunable(reader)]).toEqual([[], []]);
  store.dropTable('Other');
  store.dropColumn('Note', 'Body');
  store.dropColumn('Note', 'Count');
  await fixture.pull();

  const drift = readDrift(reader).map(({ table, column, kind, since }) => [table, column, kind, since !== null]);

  expect(drift).toEqual([
    ['Note', 'Body', 'removed', true],
    ['Note', 'Count', 'removed', true],
    ['Other', null, 'gone', false],
  ]);
  expect(readPrunable(reader).toSorted()).toEqual(['Note.Body', 'Note.Count', 'Other']);
});

test('columns of a table that is gone are not listed one by one', async () => {
  await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
  const { store } = fixture.sandbox;
  await fixture.pull();
  store.dropColumn('Other', 'Body');
  await fixture.pull();
  store.dropTable('Other');
  await fixture.pull();
  using reader = openReader(fixture.path);

  expect(readDrift(reader).map(({ table, column }) => [table, column])).toEqual([['Other', null]]);
  expect(readPrunable(reader)).toEqual(['Other']);
});

test('a table that a guard of its shape stops says why and what to do; any other problem is no drift', async () => {
  await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
  await fixture.pull();
  fixture.execute(`UPDATE _rowsync_tables SET problem_code = iif(name = 'Note', 'guard.schema', 'guard.deletes'),
    problem_message = 'too much', problem_hint = 'look'`);
  using reader = openReader(fixture.path);

  expect(readDrift(reader)).toEqual([
    { table: 'Note', column: null, kind: 'stopped', since: null, problem: 'too much', hint: 'look' },
  ]);
  expect(readPrunable(reader)).toEqual([]);
});

test('a column that waits for a decision, since it is missing at the origin, can be dropped', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.execute(`UPDATE _rowsync_tables SET missing_columns =
    json_array((SELECT seq FROM _rowsync_columns WHERE name = 'Body'))`);
  using reader = openReader(fixture.path);

  expect(readPrunable(reader)).toEqual(['Note.Body']);
});
