/**
 * What a person lets through once counts once, and what they decide stays decided, also where the power fails behind
 * it.
 */
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { carryOutDecision } from '../../src/capture/person-decision.ts';
import { resync } from '../../src/cli/commands/resync.ts';
import { confirmHeld } from '../../src/replica/confirmation.ts';
import { openReplica } from '../../src/replica/database.ts';
import { surround, type TransactionFacts } from '../support/surround.ts';
import { codesOf, pushNow } from '../support/push.ts';
import { copyReplica, startFixture, type Fixture } from '../support/replica.ts';
import { startTwoWay, twoWaySettings } from '../support/two-way.ts';

/** Opens the replica once more; the transactions that were kept of what is done with it from then on. */
function watch(fixture: Fixture): readonly TransactionFacts[] {
  const seen: TransactionFacts[] = [];
  fixture.replica.close();
  fixture.replica = openReplica(fixture.path, { clock: systemClock });
  surround(fixture.replica, (facts, run) => {
    seen.push(facts);
    return run(() => undefined);
  });
  return seen;
}

test('a name means one table, also where another one has it at the origin', async () => {
  const named: Readonly<Record<string, string>> = { 'Order Archive': 'Order', Order: 'live' };
  const settings = { ...twoWaySettings({}), ownNameOf: (name: string) => named[name] };
  const table = { columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }, { Title: 'b' }] };
  const tables = Object.keys(named).map((name) => ({ name, ...table }));
  await using fixture = await startFixture({ tables }, { settings });
  await fixture.pull();
  fixture.execute(`UPDATE "Order" SET "Title" = 'mine'; UPDATE live SET "Title" = 'mine'`);
  const push = { settings: { maxPushRows: 1 } };
  await pushNow(fixture, push);

  const consents = confirmHeld(fixture.path, ['push'], ['Order']);
  const pulled = await fixture.pull({ tables: ['Order'] });
  const chosen = await resync(fixture.replica, ['Order']);
  const pushed = await pushNow(fixture, { ...push, tables: ['Order'], confirm: true });
  const refused = pushNow(fixture, {
    settings: { tableOptions: (name) => (name === 'Order' ? { conflict: 'origin', workflow: 'run' } : null) },
    tables: ['Order'],
    confirm: true,
  });

  expect(consents).toEqual([{ table: 'Order', kind: 'push', rowCount: 2 }]);
  expect(pulled.tables.map((report) => report.table)).toEqual(['Order']);
  expect(chosen).toEqual(['Order']);
  expect(pushed.tables).toMatchObject([{ table: 'Order', held: null }]);
  await expect(refused).rejects.toThrow('No table whose edits are pushed is called "Order"');
  expect(fixture.sandbox.store.rows('Order').map(({ values }) => values['Title'])).toEqual(['a', 'b']);

  // The table is a mirror from now on, and the edits of the other one are not meant.
  await fixture.pull({
    settings: {
      ...settings,
      tableOptions: (name) => (name === 'Order' ? settings.tableOptions(name) : { sort: null }),
    },
  });
  const discard = { kind: 'discard', table: 'Order', rowId: null } as const;
  const discarded = await carryOutDecision(fixture.replica, discard, '2026-11-21T12:00:00Z');
  expect(discarded).toMatchObject({ kind: 'problem', words: 'no two-way table is called "Order"' });
});

const USED_UP = { what: 'Using a confirmation', isKept: true, isDurable: true };

test('a consent to a push is used up for good', async () => {
  await using fixture = await startTwoWay({});
  const settings = { maxPushRows: 1 };
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine'`);
  await pushNow(fixture, { settings });
  expect(confirmHeld(fixture.path, ['push'], [])).toHaveLength(1);
  const seen = watch(fixture);

  await pushNow(fixture, { settings });

  expect(seen).toContainEqual(USED_UP);
});

describe('a consent to a push', () => {
  const settings = { maxPushRows: 1 };

  /** So many edited rows, which are held, and a consent to them. */
  async function startAgreed(rowCount: number): Promise<Fixture> {
    const fixture = await startTwoWay({});
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id <= ${rowCount}`);
    await pushNow(fixture, { settings });
    expect(confirmHeld(fixture.path, ['push'], [])).toMatchObject([{ rowCount }]);
    return fixture;
  }

  function editOthers(fixture: Fixture): void {
    fixture.execute(`UPDATE "Note" SET "Title" = 'later' WHERE _id > 3`);
  }

  function titles(fixture: Fixture): readonly unknown[] {
    return fixture.sandbox.store.rows('Note').map(({ values }) => values['Title']);
  }

  const LEFT = ['mine', 'mine', 'mine', 'title 4', 'title 5', 'title 6'];

  test('is none to what is edited while these rows are pushed', async () => {
    await using fixture = await startAgreed(3);
    const report = await pushNow(fixture, {
      settings,
      before: (step) => {
        if (step === 'settle') editOthers(fixture);
      },
    });

    expect(codesOf(report)).toEqual(['guard.pushRows']);
    expect(titles(fixture)).toEqual(LEFT);
  });

  test('is none to later edits, also where some of these rows were put back before they were pushed', async () => {
    await using fixture = await startAgreed(6);
    fixture.execute(`UPDATE "Note" SET "Title" = 'title ' || _id WHERE _id > 3`);
    await pushNow(fixture, { settings });
    editOthers(fixture);

    const report = await pushNow(fixture, { settings });

    expect(codesOf(report)).toEqual(['guard.pushRows']);
    expect(titles(fixture)).toEqual(LEFT);
  });

  test('is none to later edits where fewer rows were pushed than it was given for', async () => {
    await using fixture = await startAgreed(6);
    fixture.execute(`UPDATE "Note" SET "Title" = 'title ' || _id WHERE _id > 2`);
    const held = await pushNow(fixture, {
      settings,
      before: (step) => {
        if (step === 'settle') fixture.execute(`UPDATE "Note" SET "Title" = 'later' WHERE _id <> 2`);
      },
    });
    fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);

    const report = await pushNow(fixture, { settings });

    expect([held, report].map(codesOf)).toEqual([['guard.pushRows'], ['guard.pushRows']]);
    expect(titles(fixture)).toEqual(['mine', 'mine', 'title 3', 'title 4', 'title 5', 'title 6']);
  });

  test('is none to what is edited after the process ended, once these rows were pushed', async () => {
    await using fixture = await startAgreed(3);
    fixture.replica.close();
    fixture.replica = openReplica(fixture.path, { clock: systemClock });
    surround(fixture.replica, ({ what }, run) => {
      if (what === USED_UP.what) throw new Error('the process ends');
      return run(() => undefined);
    });
    await pushNow(fixture, { settings });
    fixture.replica.close();
    fixture.replica = openReplica(fixture.path, { clock: systemClock });
    editOthers(fixture);

    const report = await pushNow(fixture, { settings });

    expect(codesOf(report)).toEqual(['guard.pushRows']);
    expect(titles(fixture)).toEqual(LEFT);
  });
});

test('a consent to deletes is used up for good', async () => {
  await using fixture = await startTwoWay({});
  for (const { id } of fixture.sandbox.store.rows('Note')) fixture.sandbox.store.delete('Note', id);
  await fixture.pull();
  expect(confirmHeld(fixture.path, ['pull'], [])).toHaveLength(1);
  const seen = watch(fixture);

  await fixture.pull();

  expect(seen).toContainEqual(USED_UP);
});

test('a consent to deletes lets the next ones through no more', async () => {
  await using fixture = await startTwoWay({});
  const { store } = fixture.sandbox;
  const ids = store.rows('Note').map(({ id }) => id);
  for (const id of ids.slice(0, 4)) store.delete('Note', id);
  await fixture.pull();
  expect(confirmHeld(fixture.path, ['pull'], [])).toMatchObject([{ rowCount: 4 }]);
  await fixture.pull();
  for (const id of ids.slice(4)) store.delete('Note', id);

  const report = await fixture.pull();

  expect(report.tables).toMatchObject([{ deletedCount: 0, held: { code: 'guard.deletes' } }]);
});

test.each([
  ['confirms deletes', { confirm: true }],
  ['gives up edits', { discard: true, settings: { tableOptions: () => ({ sort: null }) } }],
] as const)('a pull with which a person %s is on the disk before they are told', async (_what, options) => {
  await using fixture = await startTwoWay({});
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  const seen = watch(fixture);

  const report = await fixture.pull(options);

  expect(report).toMatchObject({ error: null, tables: [{ error: null, held: null }] });
  expect(seen.at(-1)).toEqual({ what: 'Recording a run', isKept: true, isDurable: true });
});

test('a resync is on the disk before the person who asked for it is told', async () => {
  await using fixture = await startTwoWay({});
  const seen = watch(fixture);

  await resync(fixture.replica, ['Note']);

  expect(seen).toEqual([{ what: 'Forgetting ETags', isKept: true, isDurable: true }]);
});

test('a consent to deletes is none to columns that vanish', async () => {
  await using fixture = await startTwoWay({});
  const settings = { ...twoWaySettings({}), tableOptions: () => ({ sort: null, editing: null }) };
  for (const { id } of fixture.sandbox.store.rows('Note')) fixture.sandbox.store.delete('Note', id);
  await fixture.pull({ settings });
  expect(confirmHeld(fixture.path, ['pull'], [])).toHaveLength(1);
  const gone = ['Body', 'Count', 'Done', 'Due', 'Starts', 'Seen', 'Spent', 'Total', 'Photo'];
  for (const column of gone) fixture.sandbox.store.dropColumn('Note', column);

  const held = await fixture.pull({ settings });
  confirmHeld(fixture.path, ['pull'], []);
  const agreed = await fixture.pull({ settings });

  expect(held.tables[0]).toMatchObject({ held: { code: 'guard.schema' } });
  expect(agreed.tables[0]).toMatchObject({ error: null, held: null });
});

test('a consent to deletes is none to those that another caller finds', async () => {
  await using fixture = await startTwoWay({});
  const { store } = fixture.sandbox;
  for (const { id } of store.rows('Note').slice(0, 5)) store.delete('Note', id);
  await fixture.pull();
  expect(confirmHeld(fixture.path, ['pull'], [])).toMatchObject([{ rowCount: 5 }]);
  store.setRole({ name: 'Reader', canWrite: true, hiddenTables: [], hiddenColumns: [] });
  store.changeUser({ role: 'Reader' });

  const held = await fixture.pull();
  const stillHeld = await fixture.pull();

  for (const { tables } of [held, stillHeld]) {
    expect(tables).toMatchObject([{ deletedCount: 0, rowCount: 6, held: { code: 'guard.deletes' } }]);
  }
});

test('a consent that stands in an older copy lets nothing through once the copy is put back', async () => {
  await using fixture = await startTwoWay({});
  const copy = join(fixture.folder, 'copy.db');
  const settings = { maxPushRows: 1 };
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine'`);
  await pushNow(fixture, { settings });
  expect(confirmHeld(fixture.path, ['push'], [])).toHaveLength(1);
  await copyReplica(fixture.path, copy);
  await pushNow(fixture, { settings });
  fixture.replica.close();
  for (const ending of ['-wal', '-shm']) rmSync(fixture.path + ending, { force: true });
  copyFileSync(copy, fixture.path);
  fixture.restart();
  fixture.execute(`UPDATE "Note" SET "Title" = 'by a slip'`);

  const report = await pushNow(fixture, { settings });

  expect(codesOf(report)).toEqual(['guard.olderCopy']);
});
