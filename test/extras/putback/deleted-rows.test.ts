/** Rows whose deletes another command takes back: planned first, and put back once a person agrees. */
import { expect, test } from 'vitest';
import { putBackDeleted, referringCells } from '../../../src/extras/putback/deleted-rows.ts';
import type { RowEdits } from '../../../src/extras/shared/linked-extra.ts';
import { LostRows } from '../../../src/extras/putback/lost-rows.ts';
import { loadNamedConfig } from '../../../src/cli/runtime/invocation.ts';
import { openReader } from '../../../src/replica/reader.ts';
import { startFamily } from '../../support/putback.ts';
import { invocationIn } from '../../support/invocation.ts';

/** A family of which customer 3, her order and what hangs on it were purged, and a call for some of the lost rows. */
async function startLost() {
  const world = await startFamily();
  for (const [table, id] of [
    ['Line', 7],
    ['Line', 8],
    ['Line', 9],
    ['Order', 3],
    ['Customer', 3],
  ] as const)
    world.store.delete(table, id, { purge: true });
  await world.run('pull', '--confirm');
  const idOf = (table: string): number =>
    (world.rows(`SELECT id FROM _rowsync_tables WHERE name = '${table}'`) as { id: number }[])[0]?.id ?? 0;
  const columnIdOf = (table: string, column: string): number =>
    (
      world.rows(`SELECT id FROM _rowsync_columns WHERE table_id = ${idOf(table)} AND name = '${column}'`) as {
        id: number;
      }[]
    )[0]?.id ?? 0;
  return {
    world,
    idOf,
    columnIdOf,
    putBack: async (tables: readonly string[], isConfirmed: boolean, edits: RowEdits = new Map()) => {
      const rows = (() => {
        using reader = openReader(`${world.folder}/replica.db`);
        const lost = new LostRows(reader, { kind: 'deleted' });
        return tables.flatMap((name) => lost.rows(idOf(name)));
      })();
      return await putBackDeleted(invocationIn(world.folder).invocation, rows, { isConfirmed, edits });
    },
  };
}

test('without consent nothing is sent, and a person is needed if a row would be created', async () => {
  const { world: opened, putBack, idOf, columnIdOf } = await startLost();
  await using world = opened;
  world.sandbox.requests.clear();

  const { text, json, needsPerson, goneKeys } = await putBack(['Customer', 'Order'], false);

  expect(text).toMatch(/^would be created, parents first:\n {2}Customer 3\n {4}Order 3\n/);
  expect(json).toMatchObject({
    rows: [
      { table: 'Customer', oldId: 3, fate: 'create' },
      { table: 'Order', oldId: 3 },
    ],
  });
  expect(needsPerson).toBe(true);
  // The numbers that these rows had are gone for good: no cell may get them, and there are no new ones yet.
  expect([...goneKeys.keys()].toSorted()).toEqual(
    [
      `${idOf('Order')} ${columnIdOf('Order', 'Customer')} 3`,
      `${idOf('Line')} ${columnIdOf('Line', 'Order Id')} 3`,
      `${idOf('Link')} ${columnIdOf('Link', 'Customer')} 3`,
      `${idOf('Link')} ${columnIdOf('Link', 'Order')} 3`,
      `${idOf('Customer')} ${columnIdOf('Customer', 'Parent Customer')} 3`,
    ].toSorted(),
  );
  expect(new Set(goneKeys.values())).toEqual(new Set([null]));
  expect(world.sandbox.requests.count({ method: 'create' }) + world.sandbox.requests.count({ method: 'upsert' })).toBe(
    0,
  );
});

test('with consent exactly the given rows come back, once', async () => {
  const { world: opened, putBack } = await startLost();
  await using world = opened;
  const before = world.store.rows('Line').length;

  const first = await putBack(['Customer', 'Order'], true);
  const second = await putBack(['Customer', 'Order'], true);

  expect(first.text).toMatch(/^Customer: done 1\nOrder: done 1\n/);
  expect([first.needsPerson, second.needsPerson]).toEqual([false, false]);
  expect(second.text).toMatch(/^Nothing to put back\nleft alone:\n/);
  expect(world.graph()).toContain('["Order","o3","c3"]');
  expect(world.store.rows('Customer')).toHaveLength(6);
  expect(world.store.rows('Line')).toHaveLength(before);
});

test('what the same edits delete or let refer to something else is not linked again, and of emptied references those that they give back', async () => {
  const { world: opened, putBack, idOf, columnIdOf } = await startLost();
  await using world = opened;
  world.store.update('Link', 1, { Customer: '3' });
  await world.run('pull');
  world.store.update('Link', 1, { Customer: '' });
  await world.run('pull');
  const [order, customer] = [columnIdOf('Link', 'Order'), columnIdOf('Link', 'Customer')];
  const relinked = async (edits: RowEdits) =>
    ((await putBack(['Customer', 'Order'], false, edits)).json as { relinked: { oldId: number }[] }).relinked
      .map(({ oldId }) => oldId)
      .toSorted((one, other) => one - other);
  const name = (id: number) => `${idOf('Link')} ${id}`;

  expect(await relinked(new Map())).toEqual([2, 3]);
  expect(await relinked(new Map([[name(2), new Map([[customer, '1']])]]))).toEqual([2, 3]);
  expect(await relinked(new Map([[name(2), new Map([[order, '1']])]]))).toEqual([3]);
  expect(await relinked(new Map([[name(3), null]]))).toEqual([2]);
  expect(await relinked(new Map([[name(1), new Map([[customer, '3']])]]))).toEqual([1, 2, 3]);
});

test('a row that is refused needs a person', async () => {
  const { world: opened, putBack } = await startLost();
  await using world = opened;
  const close = (): void => world.store.changeColumn('Customer', 'Region', { readOnly: true });
  world.sandbox.before(1, close, { method: 'create' });

  const { text, needsPerson } = await putBack(['Customer'], true);

  expect([needsPerson, text]).toEqual([true, expect.stringContaining('Customer: refused 1')]);
});

test('a row whose key is not known is referred to by no cell, least of all by an empty one', async () => {
  const { world: opened, idOf, columnIdOf } = await startLost();
  await using world = opened;
  const config = await loadNamedConfig(invocationIn(world.folder).invocation, { needsCredentials: false });
  using reader = openReader(`${world.folder}/replica.db`);
  const known = new LostRows(reader, { kind: 'deleted' }).rows(idOf('Customer'));
  const keyId = columnIdOf('Customer', 'Id');
  const keyless = known.map((row) => ({ ...row, values: new Map([...row.values].filter(([id]) => id !== keyId)) }));

  const cells = [known, keyless].map((rows) => referringCells(reader, config, rows));

  expect(cells.map(({ size }) => size)).toEqual([3, 0]);
});
