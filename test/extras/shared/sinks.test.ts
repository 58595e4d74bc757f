/**
 * What the replica remembers of each sink: how far it is, what keeps it back, and what a person asked for. The account
 * has its problems.
 */
import { describe, expect, test } from 'vitest';
import { problemsOf, readAccount } from '../../../src/daemon/account-facts.ts';
import { EXTRAS } from '../../../src/extras.ts';
import { storeContractComplaints } from '../../../src/extras/contracts/complaints.ts';
import {
  askForLoad,
  ensureSinks,
  forgetRequestedLoad,
  inheritSeries,
  readPlace,
  readRequestedLoad,
  readSinkStatus,
  storePlace,
  storeSinkState,
  type SinkPlace,
} from '../../../src/extras/shared/sinks.ts';
import { must } from '../../../src/base/assert.ts';

import { openReader } from '../../../src/replica/reader.ts';
import { NOTHING_KEPT } from '../../support/kept.ts';
import { aroundWrites, startFixture, type Fixture } from '../../support/replica.ts';
import { NOTE } from '../../support/two-way.ts';

const SINCE = '2026-06-01T12:00:00Z';

test('problems of sinks and of registered queries are told as they are stored, by what each needs', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  const problems = (): readonly unknown[] => {
    using reader = openReader(fixture.replica.path);
    const around = { ...NOTHING_KEPT, added: problemsOf(EXTRAS), keeper: 'nobody', complaints: [] } as const;
    const found = readAccount(reader, { ...around, nowMs: Date.parse(SINCE) });
    return found.map(({ code, severity, sentence, since }) => [code, severity, sentence, since]);
  };
  const before = problems();
  const failed = (code: string) => ({ code, message: 'it said no', hint: 'ask it' });
  const held = { tableId: 1, tableName: 'note', state: 'held', problem: failed('sink.foreign') } as const;
  const live = { tableId: 2, tableName: 'other', state: 'live', problem: null } as const;

  await ensureSinks(fixture.replica, ['a', 'b', 'c']);
  const at = SINCE;
  await storeSinkState(fixture.replica, 'a', { problem: failed('sink.rights'), tables: [held, live], at });
  await storeSinkState(fixture.replica, 'b', { problem: failed('sink.unreachable'), tables: null, at });
  await fixture.replica.write('Noting a query', (tx) =>
    storeContractComplaints(tx, [{ ...failed('contract.breaks'), name: 'one.sql', since: SINCE }]),
  );
  const after = problems();
  await ensureSinks(fixture.replica, []);

  expect(before).toEqual([]);
  expect(after).toEqual([
    ['contract.breaks', 'person', 'it said no', SINCE],
    ['sink.failed', 'person', 'Sink a: it said no', SINCE],
    ['sink.held', 'person', 'Sink a: it said no', null],
    ['sink.late', 'late', 'Sink b: it said no', SINCE],
  ]);
  expect(problems()).toEqual([['contract.breaks', 'person', 'it said no', SINCE]]);
});

/** The tables of the file that are there only while a sink is configured. */
function tablesOf(fixture: Fixture): readonly unknown[] {
  return fixture.rows(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN
    ('_rowsync_sinks', '_rowsync_sink_tables', '_rowsync_touched') ORDER BY 1`);
}

const PLACE: SinkPlace = { epoch: 'b', former: 'a', sent: 5, pending: 8 };
const PROBLEM = { code: 'sink.rights', message: 'no right', hint: 'GRANT it' };
const LATER = '2026-06-01T13:00:00Z';

describe('the sinks of a file', () => {
  test('are those of the configuration: a new one begins, one that stays keeps its place, one that is gone is forgotten', async () => {
    await using fixture = await startFixture({ tables: [] });
    const { replica } = fixture;
    await ensureSinks(replica, ['a', 'b']);
    await replica.write('Test', (tx) => storePlace(tx, 'b', PLACE));
    const live = { tableId: 1, tableName: 'note', state: 'live', problem: null } as const;
    for (const name of ['a', 'b']) await storeSinkState(replica, name, { problem: null, tables: [live], at: SINCE });

    await ensureSinks(replica, ['b', 'c']);

    expect(readSinkStatus(replica).map(({ name, tables }) => [name, tables.length])).toEqual([
      ['b', 1],
      ['c', 0],
    ]);
    expect(['a', 'b', 'c'].map((name) => readPlace(replica, name))).toEqual([
      null,
      PLACE,
      { epoch: null, former: null, sent: 0, pending: null },
    ]);
    expect(fixture.rows('SELECT DISTINCT sink FROM _rowsync_sink_tables')).toEqual([{ sink: 'b' }]);
  });

  test('leave nothing in the file once none is configured', async () => {
    await using fixture = await startFixture({ tables: [] });
    expect(tablesOf(fixture)).toEqual([]);

    await ensureSinks(fixture.replica, ['a']);
    expect(tablesOf(fixture)).toHaveLength(3);
    await ensureSinks(fixture.replica, []);

    expect(tablesOf(fixture)).toEqual([]);
    expect(readSinkStatus(fixture.replica)).toEqual([]);
    expect(readPlace(fixture.replica, 'a')).toBe(null);
    expect(readRequestedLoad(fixture.replica, 'a')).toBe(null);
  });

  test('are behind by the rows that changed since, for as long as the first of them waits', async () => {
    await using fixture = await startFixture({ tables: [NOTE] });
    const { replica } = fixture;
    await fixture.pull();
    await ensureSinks(replica, ['a']);
    for (const id of [1, 2]) {
      fixture.sandbox.store.update('Note', id, { Title: 'changed' });
      await fixture.pull();
    }
    fixture.execute(`UPDATE _rowsync_touched SET at = at - 100 * seq`);
    const behind = readSinkStatus(replica)[0];
    await replica.write('Test', (tx) => storePlace(tx, 'a', { ...PLACE, sent: 1 }));
    const half = readSinkStatus(replica)[0];
    await replica.write('Test', (tx) => storePlace(tx, 'a', { ...PLACE, sent: 2 }));

    expect(behind?.lagRows).toBe(2);
    expect(Math.floor((behind?.lagSeconds ?? 0) / 100)).toBe(1);
    expect([half?.lagRows, Math.floor((half?.lagSeconds ?? 0) / 100)]).toEqual([1, 2]);
    expect(readSinkStatus(replica)[0]).toMatchObject({ lagRows: 0, lagSeconds: 0, epoch: 'b' });
  });
});

describe('the state of a sink', () => {
  const held = { tableId: 1, tableName: 'note', state: 'held', problem: { ...PROBLEM, code: 'sink.foreign' } } as const;

  test('says since when its problem lasts, also where its words change, and nothing once it is over', async () => {
    await using fixture = await startFixture({ tables: [] });
    const { replica } = fixture;
    await ensureSinks(replica, ['a']);
    const note = async (problem: typeof PROBLEM | null, at: string) => {
      await storeSinkState(replica, 'a', { problem, tables: null, at });
      return readSinkStatus(replica)[0]?.problem;
    };

    expect(await note(PROBLEM, SINCE)).toEqual({ ...PROBLEM, since: SINCE });
    expect(await note({ ...PROBLEM, message: 'none at all' }, LATER)).toEqual({
      ...PROBLEM,
      message: 'none at all',
      since: SINCE,
    });
    expect(await note(null, LATER)).toBe(null);
    expect(await note(PROBLEM, LATER)).toMatchObject({ since: LATER });
  });

  test('is written only where it is other than before, and only of a sink that is configured', async () => {
    await using fixture = await startFixture({ tables: [] });
    const { replica } = fixture;
    await ensureSinks(replica, ['a']);
    const state = { problem: PROBLEM, tables: [held], at: SINCE };
    await storeSinkState(replica, 'a', state);
    const before = readSinkStatus(replica);
    const writes: string[] = [];
    aroundWrites(replica, (what, write) => {
      writes.push(what);
      return write();
    });

    await storeSinkState(replica, 'a', { ...state, at: LATER });
    await storeSinkState(replica, 'a', { ...state, tables: null, at: LATER });
    await storeSinkState(replica, 'other', state);

    expect(readSinkStatus(replica)).toEqual(before);
    expect(writes).toEqual([]);
    expect(before[0]?.tables).toEqual([held]);
    await storeSinkState(replica, 'a', { ...state, tables: [] });
    expect(writes).toHaveLength(1);
  });
});

test('a person asks for tables, or all, to be loaded again, until that is forgotten', async () => {
  await using fixture = await startFixture({ tables: [] });
  const { replica } = fixture;
  await ensureSinks(replica, ['a', 'b']);
  const asked = () => ['a', 'b'].map((name) => readRequestedLoad(replica, name));

  askForLoad(fixture.path, 'a', ['Note', "it's"]);
  expect(asked()).toEqual([['Note', "it's"], null]);
  askForLoad(fixture.path, 'b', []);
  expect(asked()).toEqual([['Note', "it's"], []]);
  await replica.write('Test', (tx) => forgetRequestedLoad(tx, 'a'));
  expect(asked()).toEqual([null, []]);
});

test.each([
  ['the copy is from before the series of the replaced file', 'old', { epoch: 'new', former: 'x' }, 'new'],
  ['both have the same series', 'same', { epoch: 'same', former: 'x' }, 'x'],
  ['the replaced file sent nothing', 'old', { epoch: null, former: null }, 'f'],
])('a copy that is put back knows which series the target has: %s', async (_what, epoch, replaced, former) => {
  await using copy = await startFixture({ tables: [] });
  await using file = await startFixture({ tables: [] });
  await ensureSinks(copy.replica, ['a', 'b']);
  await ensureSinks(file.replica, ['a']);
  const place = { epoch, former: 'f', sent: 1, pending: null };
  await copy.replica.write('Test', (tx) => ['a', 'b'].forEach((name) => storePlace(tx, name, place)));
  await file.replica.write('Test', (tx) => storePlace(tx, 'a', { ...place, ...replaced }));

  await copy.replica.write('Test', (tx) => inheritSeries(tx, file.replica));

  expect(must(readPlace(copy.replica, 'a'), 'it is configured')).toEqual({ ...place, former });
  expect(readPlace(copy.replica, 'b')).toEqual(place);
});

test('a copy of a file without sinks inherits none', async () => {
  await using copy = await startFixture({ tables: [] });
  await using file = await startFixture({ tables: [] });
  await ensureSinks(file.replica, ['a']);

  await copy.replica.write('Test', (tx) => inheritSeries(tx, file.replica));
  await file.replica.write('Test', (tx) => inheritSeries(tx, copy.replica));

  expect(readSinkStatus(copy.replica)).toEqual([]);
  expect(readPlace(file.replica, 'a')?.former).toBe(null);
});
