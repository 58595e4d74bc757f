/** Which tables a sink gets, by their name and the one that they had before. */
import { expect, test } from 'vitest';
import { tableRules } from '../../../src/config/table-patterns.ts';
import { chosenSources } from '../../../src/extras/postgres/table-selection.ts';
import { startFixture } from '../../support/replica.ts';
import { sinkSettings } from '../../support/sink.ts';
import { NOTE } from '../../support/two-way.ts';

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
