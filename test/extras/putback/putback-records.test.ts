/** The lines of `sync_putback`: what is planned again keeps its line, and what a line says of its row. */
import { describe, expect, test } from 'vitest';
import type { KeyLink, PlannedFile, PlannedPutback } from '../../../src/extras/putback/lost-row-outcome.ts';
import {
  addRecords,
  changeRecords,
  createRecords,
  hasRecordOf,
  isUnfinished,
  lacksKey,
  needsPerson,
  readCells,
  readRecords,
  readRecordsOf,
  type PutbackRecord,
} from '../../../src/extras/putback/putback-records.ts';
import { startFixture } from '../../support/replica.ts';

const TABLE = 7;
const LINK: KeyLink = { columnId: 21, toId: TABLE, oldId: 2, oldKey: '2', later: true };
const FILE: PlannedFile = { columnId: 22, name: 'a.txt', sha256: 'ab', bytes: 12, path: '/store/ab' };

function plannedOf(oldId: number, given: Partial<PlannedPutback> = {}): PlannedPutback {
  const plain = { tableId: TABLE, oldId, oldKey: String(oldId), fate: 'create', reason: null, there: null } as const;
  return { ...plain, cells: new Map(), links: [], files: [], ...given };
}

/** A replica with an empty `sync_putback`, and what planning adds to it. */
async function startRecords() {
  const fixture = await startFixture({ tables: [] });
  const { replica } = fixture;
  await replica.write('Opening', createRecords);
  return {
    path: fixture.path,
    replica,
    write: (work: Parameters<typeof replica.write>[1]) => replica.write('A test', work),
    add: (kind: 'row' | 'link', ...planned: readonly PlannedPutback[]) =>
      replica.write('Planning', (tx) => addRecords(tx, kind, planned)),
    records: () => readRecords(replica),
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

function recordOf(given: Partial<PutbackRecord>): PutbackRecord {
  const plain = { id: 1, kind: 'row', table: 'Note', tableId: TABLE, oldId: 1, oldKey: '1' } as const;
  return {
    ...plain,
    newId: 9,
    newKey: '9',
    state: 'done',
    reason: null,
    stagedId: null,
    links: [],
    files: [],
    ...given,
  };
}

describe('planned rows', () => {
  test('wait if they are to be created, with every digit of their values; the others have their fate and the row in their place', async () => {
    await using world = await startRecords();
    const cells = new Map<number, string | number | bigint | null>([
      [10, 'text'],
      [11, 9_007_199_254_740_993n],
      [12, 0.1],
      [13, null],
    ]);
    const there = { newId: 40, newKey: '400', reason: 'the origin has it again' };

    await world.add(
      'row',
      plannedOf(1, { cells, links: [LINK], files: [FILE] }),
      plannedOf(2, { fate: 'there', there, reason: there.reason }),
      plannedOf(3, { fate: 'cannot', reason: 'no rights', oldKey: null }),
    );

    const [first, ...others] = world.records();
    expect(first).toMatchObject({
      kind: 'row',
      table: '7',
      oldKey: '1',
      state: 'waiting',
      newId: null,
      links: [LINK],
      files: [FILE],
    });
    expect(others).toMatchObject([
      { state: 'there', newId: 40, newKey: '400', reason: 'the origin has it again' },
      { state: 'cannot', newId: null, oldKey: null, reason: 'no rights' },
    ]);
    expect(first === undefined ? null : readCells(world.replica, [first]).get(first.id)).toEqual(cells);
  });

  test('keep their line if they are planned again, unless nothing came of it', async () => {
    await using world = await startRecords();
    await world.add(
      'row',
      plannedOf(1, { cells: new Map([[10, 'old']]) }),
      plannedOf(2, { fate: 'cannot', reason: 'no rights' }),
    );
    const [sent] = world.records();
    if (sent === undefined) throw new Error('a line was added');
    await world.write((tx) => changeRecords(tx, [[sent, { state: 'sent', stagedId: -3 }]]));

    await world.add('row', plannedOf(1, { cells: new Map([[10, 'new']]) }), plannedOf(2, { links: [LINK] }));

    expect(world.records()).toMatchObject([
      { oldId: 1, state: 'sent', stagedId: -3 },
      { oldId: 2, state: 'waiting', reason: null, links: [LINK] },
    ]);
    expect(readCells(world.replica, [sent]).get(sent.id)).toEqual(new Map([[10, 'old']]));
  });

  test('that stayed at the origin are lines of their own, which gather their links', async () => {
    await using world = await startRecords();
    const other = { ...LINK, columnId: 31 };
    await world.add('row', plannedOf(1));
    await world.add('link', plannedOf(1, { links: [LINK] }));

    await world.add('link', plannedOf(1, { links: [LINK, other] }));

    expect(world.records()).toMatchObject([
      { kind: 'row', oldId: 1, state: 'waiting', newId: null },
      { kind: 'link', oldId: 1, state: 'done', newId: 1, links: [LINK, other] },
    ]);
  });
});

test('a change keeps what it does not name', async () => {
  await using world = await startRecords();
  await world.add('row', plannedOf(1, { links: [LINK] }), plannedOf(2));
  const [first] = world.records();
  if (first === undefined) throw new Error('a line was added');

  await world.write((tx) => changeRecords(tx, [[first, { newId: 9, newKey: '90', state: 'done' }]]));

  expect(world.records()).toEqual([
    { ...first, newId: 9, newKey: '90', state: 'done' },
    expect.objectContaining({ oldId: 2, newId: null, state: 'waiting' }),
  ]);
});

test('a file is asked for a row by the ids that it had and has; one without the table knows none', async () => {
  await using world = await startRecords();
  await using empty = await startFixture({ tables: [] });
  await world.add('row', plannedOf(1, { fate: 'there', there: { newId: 40, newKey: null, reason: '' } }));
  const has = (tableId: number, ...ids: readonly number[]) => hasRecordOf(world.path, { tableId, ids });

  expect([has(TABLE, 1), has(TABLE, 8, 40), has(TABLE, 2), has(TABLE + 1, 1), has(TABLE)]).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  expect([readRecordsOf(world.path).length, readRecordsOf(empty.path).length]).toEqual([1, 0]);
});

describe('a line says', () => {
  test('whether the key of its row is still to be asked for', () => {
    expect(lacksKey(recordOf({ newKey: null }))).toBe(true);
    for (const given of [{ newKey: '9' }, { newId: null }, { oldKey: null }, { kind: 'link' }] as const)
      expect(lacksKey(recordOf({ newKey: null, ...given }))).toBe(false);
  });

  test('whether references or files of a row that is there are left', () => {
    const states = ['waiting', 'sent', 'refused', 'inDoubt', 'done', 'there', 'given up', 'cannot'] as const;
    const unfinished = states.filter((state) => isUnfinished(recordOf({ state, links: [LINK] })));

    expect(unfinished).toEqual(['refused', 'inDoubt', 'done']);
    expect(isUnfinished(recordOf({ files: [FILE] }))).toBe(true);
    expect(isUnfinished(recordOf({ files: [{ ...FILE, sent: true }] }))).toBe(false);
    expect(isUnfinished(recordOf({ newId: null, links: [LINK] }))).toBe(false);
    const { later: _, ...now } = LINK;
    expect(isUnfinished(recordOf({ links: [now] }))).toBe(false);
    expect(states.filter((state) => needsPerson(recordOf({ state })))).toEqual(['refused', 'inDoubt']);
  });
});
