/** Which tables a sink gets, by their name and the one that they had before. */
import { expect, test } from 'vitest';
import { tableRules } from '../../../src/config/table-patterns.ts';
import { chosenSources, keptOut } from '../../../src/extras/postgres/table-selection.ts';
import { prune } from '../../../src/extras/schema/prune.ts';
import { HISTORY } from '../../support/history.ts';
import { startFixture } from '../../support/replica.ts';
import { sinkSettings } from '../../support/sink.ts';
import { AT, NOTE } from '../../support/two-way.ts';

const NOWHERE = {
  host: '',
  port: 0,
  database: '',
  user: '',
  password: null,
  sslMode: 'disable',
  sslRoot: null,
  sslCert: null,
  sslKey: null,
} as const;

test.each([
  ['every table', { '*': {} }, true],
  ['the former name out', { '*': {}, Memo: false }, false],
  ['the present name out', { '*': {}, Note: false }, false],
  ['one name out, the other in', { Memo: {}, Note: false }, false],
  ['the former name alone', { Memo: {} }, true],
  ['the present name alone', { Note: {} }, true],
  ['the present name among what stays', { '*': false, Note: {} }, true],
  ['a pattern of the former name out', { '*': {}, 'M*': false }, false],
  ['nothing', { '*': false }, false],
] as const)('a renamed table, with %s', async (_what, tables, isSent) => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.execute(`UPDATE _rowsync_described SET bound_name = 'Memo'`);

  const sources = chosenSources(fixture.replica, { ...sinkSettings(NOWHERE), tables: tableRules(tables) });

  expect(sources.map(({ table }) => table.name)).toEqual(isSent ? ['Note'] : []);
});

test('a name of no table that keeps one out is refused', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  const choose = (tables: Parameters<typeof tableRules>[0]) =>
    chosenSources(fixture.replica, { ...sinkSettings(NOWHERE), tables: tableRules(tables) });

  expect(() => choose({ '*': {}, Noet: false })).toThrow('no table is called Noet (did you mean Note?)');
  expect(choose({ '*': {}, 'Tmp*': false })).toHaveLength(1);
});

test('of a table that was pruned here nothing is sent any more, and a new one under its name is', async () => {
  const settings = { maxDeletePercent: 100, tableOptions: () => ({ sort: null, history: HISTORY }) };
  await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Salary' }] }, { settings });
  const out = () => [...keptOut(fixture.replica, { ...sinkSettings(NOWHERE), tables: tableRules({ Note: {} }) })];
  await fixture.pull();
  const before = out();
  for (const name of ['Note', 'Salary']) fixture.sandbox.store.dropTable(name);
  await fixture.pull({ confirm: true });
  await fixture.replica.write('Pruning', (tx) => prune(tx, AT));
  fixture.sandbox.store.addTable(NOTE);
  await fixture.pull();

  expect(before).toEqual(['Salary']);
  expect(out().toSorted()).toEqual(['Note (pruned)', 'Salary (pruned)']);
});
