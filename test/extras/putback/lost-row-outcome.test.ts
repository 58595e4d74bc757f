/**
 * What becomes of each lost row, and in which order rows are created. Table 1 has parents, table 2 their children,
 * whose column 21 refers to them.
 */
import { describe, expect, test } from 'vitest';
import {
  planPutback,
  readyRows,
  rowName,
  type KeyLink,
  type PlanFacts,
  type PlannedFile,
  type PlanTable,
} from '../../../src/extras/putback/lost-row-outcome.ts';
import type { LostRow } from '../../../src/extras/shared/linked-extra.ts';

const [PARENTS, CHILDREN] = [1, 2];
const [ID, NAME] = [10, 11];
const [CHILD_ID, PARENT, SCAN] = [20, 21, 22];

function column(id: number, localName: string, given: Partial<PlanTable['columns'][number]> = {}) {
  return { id, localName, type: 'Text', writable: true, required: false, automatic: false, ...given } as const;
}

const AUTONUMBER = { type: 'Autonumber', writable: false } as const;

function tableOf(id: number, keyId: number, columns: PlanTable['columns'], given: Partial<PlanTable> = {}): PlanTable {
  return { id, localName: `T${id}`, keyId, allowsAdd: true, matchId: null, columns, ...given };
}

const PARENT_TABLE = tableOf(PARENTS, ID, [column(ID, 'Id', AUTONUMBER), column(NAME, 'Name')]);
const CHILD_TABLE = tableOf(CHILDREN, CHILD_ID, [
  column(CHILD_ID, 'Id', AUTONUMBER),
  column(PARENT, 'Parent'),
  column(SCAN, 'Scan', { type: 'Attachment' }),
]);

function factsOf(given: Partial<PlanFacts> = {}, tables = [PARENT_TABLE, CHILD_TABLE]): PlanFacts {
  return {
    tables: new Map(tables.map((table) => [table.id, table])),
    references: [{ tableId: CHILDREN, column: { id: PARENT }, toId: PARENTS }],
    isLiveKey: () => false,
    thereOf: () => null,
    earlier: new Map(),
    lostIdOf: () => null,
    filesOf: () => [],
    ...given,
  };
}

function rowOf(
  tableId: number,
  oldId: number,
  values: readonly (readonly [number, string | number | null])[],
): LostRow {
  return { tableId, oldId, values: new Map(values), deletedAt: null };
}

const parent = rowOf(PARENTS, 7, [
  [ID, '70'],
  [NAME, 'Ada'],
]);
const childOf = (key: string | null): LostRow =>
  rowOf(CHILDREN, 8, [
    [CHILD_ID, '80'],
    [PARENT, key],
  ]);

/** The plan of a child, or of the last of several rows. */
function planOf(rows: readonly LostRow[], given: Partial<PlanFacts> = {}, tables?: PlanTable[]) {
  const planned = planPutback(rows, factsOf(given, tables)).at(-1);
  if (planned === undefined) throw new Error('nothing was planned');
  return planned;
}

describe('a row that is created', () => {
  test('has its values without those that the origin gives, and the key that it had', () => {
    expect(planOf([parent])).toEqual({
      tableId: PARENTS,
      oldId: 7,
      oldKey: '70',
      fate: 'create',
      reason: null,
      there: null,
      cells: new Map([[NAME, 'Ada']]),
      links: [],
      files: [],
    });
  });

  test('lacks what cannot be written', () => {
    const closed = tableOf(PARENTS, ID, [column(NAME, 'Name', { writable: false })]);

    expect(planOf([parent], {}, [closed])).toMatchObject({ fate: 'create', cells: new Map(), reason: null });
  });

  test.each<[string, Partial<PlanFacts>, readonly LostRow[], object]>([
    [
      'keeps the key of a parent that is at the origin',
      { isLiveKey: (tableId, key) => tableId === PARENTS && key === '70' },
      [],
      { cells: new Map([[PARENT, '70']]), links: [], reason: null },
    ],
    [
      'is linked to a parent that is put back with it',
      {},
      [parent],
      { cells: new Map(), links: [{ columnId: PARENT, toId: PARENTS, oldId: 7, oldKey: '70' }], reason: null },
    ],
    [
      'is linked to a parent that was put back before',
      { earlier: new Map([[rowName(PARENTS, '70'), 7]]) },
      [],
      { links: [{ columnId: PARENT, toId: PARENTS, oldId: 7, oldKey: '70' }], reason: null },
    ],
    [
      'is to be linked later to a lost parent that stays lost now',
      { lostIdOf: (tableId, key) => (tableId === PARENTS && key === '70' ? 7 : null) },
      [],
      {
        links: [{ columnId: PARENT, toId: PARENTS, oldId: 7, oldKey: '70', later: true }],
        reason: 'without: Parent refers to a row that is gone and not put back',
      },
    ],
    [
      'goes without a parent of which nothing is known',
      {},
      [],
      { cells: new Map(), links: [], reason: 'without: Parent refers to a row that is gone and not put back' },
    ],
  ])('%s', (_what, given, others, expected) => {
    expect(planOf([...others, childOf('70')], given)).toMatchObject({ fate: 'create', ...expected });
  });

  test('keeps a reference that was an empty text as it was', () => {
    expect(planOf([childOf('')])).toMatchObject({ fate: 'create', cells: new Map([[PARENT, '']]), reason: null });
  });

  test('has the files of a cell that are here, and says where none is', () => {
    const scanned = rowOf(CHILDREN, 8, [[SCAN, 'a.txt;1;guid']]);
    const file: PlannedFile = { columnId: SCAN, name: 'a.txt', sha256: 'ab', bytes: 2, path: '/store/ab' };

    expect(planOf([scanned], { filesOf: () => [file] })).toMatchObject({
      files: [file],
      cells: new Map(),
      reason: null,
    });
    expect(planOf([scanned])).toMatchObject({ files: [], reason: 'without: the file in Scan is not here' });
  });
});

describe('a row that is not created', () => {
  test('is at the origin, whatever else is known of it', () => {
    const there = { newId: 9, newKey: '90', reason: 'the origin has it again' };

    const planned = planOf([parent], { thereOf: () => there, tables: new Map() });

    expect(planned).toMatchObject({ fate: 'there', reason: there.reason, there, cells: new Map(), links: [] });
  });

  test.each<[string, readonly PlanTable[]]>([
    ['its table cannot be written here', []],
    ['the calling user may not add rows', [{ ...PARENT_TABLE, allowsAdd: false }]],
    [
      'Name must have a value, and may not be written',
      [tableOf(PARENTS, ID, [column(NAME, 'Name', { required: true, writable: false })])],
    ],
    [
      'Code must have a value, and has no value that can be put back',
      [tableOf(PARENTS, ID, [column(NAME, 'Name'), column(12, 'Code', { required: true })])],
    ],
  ])('%s', (reason, tables) => {
    expect(planOf([parent], {}, [...tables])).toMatchObject({ fate: 'cannot', reason, cells: new Map(), there: null });
  });

  test('a required column counts as filled by the origin, by a match value, by a link or by a file', () => {
    const required = (given: Partial<PlanTable['columns'][number]>, id = 12) =>
      column(id, 'Code', { ...given, required: true });
    const fatesOf = (table: PlanTable, row: LostRow, given: Partial<PlanFacts> = {}) =>
      planOf([parent, row], given, [PARENT_TABLE, table]).fate;
    const plain = rowOf(CHILDREN, 8, []);
    const scanned = rowOf(CHILDREN, 8, [[SCAN, 'a.txt;1;guid']]);
    const file: PlannedFile = { columnId: SCAN, name: 'a.txt', sha256: 'ab', bytes: 2, path: '/store/ab' };

    expect(fatesOf(tableOf(CHILDREN, CHILD_ID, [required({ automatic: true })]), plain)).toBe('create');
    expect(fatesOf(tableOf(CHILDREN, CHILD_ID, [required({})], { matchId: 12 }), plain)).toBe('create');
    expect(fatesOf(tableOf(CHILDREN, CHILD_ID, [required({}, PARENT)]), childOf('70'))).toBe('create');
    expect(fatesOf(tableOf(CHILDREN, CHILD_ID, [required({ type: 'Attachment' }, SCAN)]), scanned)).toBe('cannot');
    expect(
      fatesOf(tableOf(CHILDREN, CHILD_ID, [required({ type: 'Attachment' }, SCAN)]), scanned, {
        filesOf: () => [file],
      }),
    ).toBe('create');
    // A link that has to wait leaves the cell empty when the row is created.
    expect(fatesOf(tableOf(CHILDREN, CHILD_ID, [required({}, PARENT)]), childOf('71'), { lostIdOf: () => 9 })).toBe(
      'cannot',
    );
  });

  test('takes those with it that must refer to it, and theirs', () => {
    const table = tableOf(PARENTS, ID, [column(ID, 'Id', AUTONUMBER), column(NAME, 'Boss', { required: true })]);
    const references = [{ tableId: PARENTS, column: { id: NAME }, toId: PARENTS }];
    const rows = [
      rowOf(PARENTS, 1, [
        [ID, '1'],
        [NAME, '2'],
      ]),
      rowOf(PARENTS, 2, [
        [ID, '2'],
        [NAME, '3'],
      ]),
      rowOf(PARENTS, 3, [
        [ID, '3'],
        [NAME, null],
      ]),
    ];

    const planned = planPutback(rows, factsOf({ references }, [table]));

    expect(planned.map(({ fate }) => fate)).toEqual(['cannot', 'cannot', 'cannot']);
  });
});

describe('rows that can be created now', () => {
  const link = (oldId: number, later?: true): KeyLink => ({
    columnId: NAME,
    toId: PARENTS,
    oldId,
    oldKey: String(oldId),
    ...(later === undefined ? {} : { later }),
  });
  const waiting = (oldId: number, ...links: readonly KeyLink[]) => ({ tableId: PARENTS, oldId, links });
  const ready = (rows: readonly ReturnType<typeof waiting>[], done: readonly number[], isRequired = () => false) =>
    readyRows(rows, ({ oldId, later }) => later === true || done.includes(oldId), isRequired);

  test('are those whose links lead to existing rows', () => {
    const rows = [waiting(1), waiting(2, link(1)), waiting(3, link(9)), waiting(4, link(5, true))];

    expect(ready(rows, [9]).map(({ oldId }) => oldId)).toEqual([1, 3, 4]);
  });

  test('break a circle at those that others wait for, which get their open links later', () => {
    const rows = [waiting(1, link(2)), waiting(2, link(1), link(9)), waiting(3, link(1))];

    expect(ready(rows, [9])).toEqual([waiting(1, link(2, true)), waiting(2, link(1, true), link(9))]);
  });

  test('are none of a circle whose links may not be empty, and none that waits for a row outside', () => {
    expect(ready([waiting(1, link(2)), waiting(2, link(1))], [], () => true)).toEqual([]);
    expect(ready([waiting(1, link(7)), waiting(2, link(1))], [])).toEqual([]);
    expect(ready([], [])).toEqual([]);
  });
});
