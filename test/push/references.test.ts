/**
 * Rows that name rows of other tables, which go side by side. The origin refuses an order line whose order it does not
 * have yet, and takes it once it has.
 */
import { expect, test } from 'vitest';
import { readWaiting } from '../../src/replica/bookkeeping/refusals.ts';
import type { Origin } from '../../src/origin/client.ts';
import type { PushStep } from '../../src/push/context.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { atOrigin, codesOf, pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { startTwoWay } from '../support/two-way.ts';
import { retryRows } from '../../src/capture/writer/apply-outcome.ts';

const TABLES: readonly TableSpec[] = [
  {
    name: 'Line',
    columns: [
      { name: 'Order', type: 'Text' },
      { name: 'Count', type: 'Numeric' },
    ],
    rows: [],
  },
  { name: 'Order', columns: [{ name: 'Code', type: 'Text', options: ['Unique'] }], rows: [{ Code: 'o1' }] },
];

/**
 * Two tables, of which the origin refuses lines without their order; returns how many times it was asked to take lines.
 */
async function startOrders(): Promise<Fixture & { readonly asked: { count: number } }> {
  const fixture = await startTwoWay({ tables: TABLES });
  const { origin, sandbox } = fixture;
  const asked = { count: 0 };
  const create: Origin['create'] = async (request, options) => {
    if (request.table.name !== 'Line') return origin.create(request, options);
    asked.count += 1;
    const orders = new Set(sandbox.store.rows('Order').map(({ values }) => values['Code']));
    const isKnown = request.rows.every(({ cells }) =>
      cells.some(({ type, value }) => type === 'Text' && orders.has(value)),
    );
    if (isKnown) return origin.create(request, options);
    const errors = [{ error: 400, code: null, message: 'no such order', source: 'Order' }];
    return request.rows.map(() => ({ status: 400, id: null, key: null, errors }));
  };
  fixture.origin = { ...origin, create };
  return Object.assign(fixture, { asked });
}

/** Keeps a step of one table waiting until another one is at a step, for the given time. */
function inTurn(
  waits: readonly [table: string, step: PushStep],
  until: readonly [table: string, step: PushStep, time: number],
): (step: PushStep, table: string) => Promise<void> {
  const reached = Promise.withResolvers<undefined>();
  let times = 0;
  return async (step, table) => {
    if (table === until[0] && step === until[1] && (times += 1) === until[2]) reached.resolve(undefined);
    if (table === waits[0] && step === waits[1]) await reached.promise;
  };
}

const ORDER_AND_LINE = `INSERT INTO "Order" ("Code") VALUES ('o2');
  INSERT INTO "Line" ("Order", "Count") VALUES ('o2', 5)`;

test('a line that the origin refused before its order was sent is taken in the same push', async () => {
  await using fixture = await startOrders();
  fixture.execute(ORDER_AND_LINE);
  const { origin } = fixture;
  // Sent before the order, whenever its answer comes.
  const isEarly = { isLine: true };
  fixture.origin = {
    ...origin,
    create: (request, options) => {
      if (request.table.name === 'Line' && isEarly.isLine) {
        isEarly.isLine = false;
        const errors = [{ error: 400, code: null, message: 'no such order', source: 'Order' }];
        return Promise.resolve([{ status: 400, id: null, key: null, errors }]);
      }
      return origin.create(request, options);
    },
  };

  const report = await pushNow(fixture, { before: inTurn(['Order', 'send'], ['Line', 'store', 1]) });

  expect(codesOf(report)).toEqual([]);
  expect(atOrigin(fixture, ['Order', 'Count'], 'Line')).toEqual([[1, 'o2', 5]]);
  expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
  expect(report.tables.find(({ table }) => table === 'Line')).toMatchObject({ insertedCount: 1, parkedCount: 0 });
});

test('a line whose order is made by a later push waits until a person lets it be tried again', async () => {
  await using fixture = await startOrders();
  fixture.execute(`INSERT INTO "Line" ("Order") VALUES ('o2')`);
  await pushNow(fixture);
  fixture.execute(`INSERT INTO "Order" ("Code") VALUES ('o2')`);
  await pushNow(fixture);
  const parked = fixture.rows('SELECT reason FROM sync_failures');

  await fixture.replica.write('Trying again', (tx) => retryRows(tx, readWaiting(tx, []), '2026-01-01T00:00:00Z'));
  await pushNow(fixture);

  expect(parked).toEqual([{ reason: 'no such order' }]);
  expect(atOrigin(fixture, ['Order'], 'Line')).toEqual([[1, 'o2']]);
});

test('a line that is refused for another reason is tried once more in a push that made orders, and in no other', async () => {
  await using fixture = await startOrders();
  fixture.execute(
    `INSERT INTO "Line" ("Order", "Count") VALUES ('none', 7); INSERT INTO "Order" ("Code") VALUES ('7')`,
  );
  await pushNow(fixture, { before: inTurn(['Order', 'send'], ['Line', 'store', 1]) });
  const first = fixture.asked.count;

  for (const code of ['a', 'b', 'c']) {
    fixture.execute(`INSERT INTO "Order" ("Code") VALUES ('${code}')`);
    await pushNow(fixture);
  }

  expect([first, fixture.asked.count]).toEqual([2, 2]);
  expect(fixture.rows('SELECT reason FROM sync_failures')).toEqual([{ reason: 'no such order' }]);
});
