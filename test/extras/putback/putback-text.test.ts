/** What `rowsync putback` prints of a plan and of what came of it. */
import { describe, expect, test } from 'vitest';
import type { KeyLink, PlannedFile, PlannedPutback } from '../../../src/extras/putback/lost-row-outcome.ts';
import type { PutbackPlan } from '../../../src/extras/putback/make-plan.ts';
import type { PutbackPlace } from '../../../src/extras/putback/putback-file.ts';
import type { PutbackRecord } from '../../../src/extras/putback/putback-records.ts';
import {
  putbackPlanJson,
  putbackPlanText,
  putbackRunText,
  putbackStatusText,
  statusJson,
} from '../../../src/extras/putback/putback-text.ts';
import { openPlace, startShop } from '../../support/putback.ts';

const [CUSTOMER, ORDER] = [1, 2];
const NAMES = new Map([
  [CUSTOMER, 'Customer'],
  [ORDER, 'Order'],
]);
const FILE: PlannedFile = { columnId: 22, name: 'a.txt', sha256: 'ab', bytes: 12, path: '/store/ab' };

function rowOf(tableId: number, oldId: number, given: Partial<PlannedPutback> = {}): PlannedPutback {
  const oldKey = String(oldId);
  return {
    tableId,
    oldId,
    oldKey,
    fate: 'create',
    reason: null,
    there: null,
    cells: new Map(),
    links: [],
    files: [],
    ...given,
  };
}

const linkTo = (oldId: number): KeyLink => ({ columnId: 21, toId: CUSTOMER, oldId, oldKey: String(oldId) });

function planOf(rows: readonly PlannedPutback[], given: Partial<PutbackPlan> = {}): PutbackPlan {
  const nameOf = (id: number): string => NAMES.get(id) ?? String(id);
  return { rows, orphans: [], guessed: [], unwritable: new Map(), missing: [], nameOf, ...given };
}

describe('a plan', () => {
  test('is a tree: rows stand below the first row that they refer to, each once, also in a circle', () => {
    const rows = [
      rowOf(ORDER, 5, { oldKey: 'o5', links: [linkTo(1)], files: [FILE] }),
      rowOf(CUSTOMER, 1),
      rowOf(CUSTOMER, 2, { links: [linkTo(3)] }),
      rowOf(CUSTOMER, 3, { links: [linkTo(2)] }),
      rowOf(CUSTOMER, 4, { links: [linkTo(4)], reason: 'without: the file in Scan is not here' }),
      rowOf(ORDER, 6, { oldKey: null, links: [linkTo(9)] }),
    ];

    expect(putbackPlanText(planOf(rows), null)).toBe(`would be created, parents first:
  Customer 1
    Order 5 (o5) with 1 file of 12 B
  Customer 4 without: the file in Scan is not here
  Order 6
  Customer 2
    Customer 3
6 rows, about 6 requests; 1 file of 12 B
`);
  });

  test('names what is left alone, what cannot be done, what is linked again, and what is left out', () => {
    const rows = [
      rowOf(CUSTOMER, 1, { fate: 'there', reason: 'the origin has it again' }),
      rowOf(ORDER, 2, { fate: 'cannot', reason: 'the calling user may not add rows' }),
    ];
    const orphans = [
      rowOf(ORDER, 3),
      rowOf(ORDER, 4, { reason: 'Customer was 1' }),
      rowOf(ORDER, 5, { fate: 'cannot', reason: 'Customer may not be written' }),
    ];
    const column = { localName: 'Customer' } as PutbackPlan['guessed'][number]['column'];
    const guessed = [{ tableId: ORDER, column, toId: CUSTOMER, isConfigured: false }];
    const plan = planOf(rows, {
      orphans,
      guessed,
      unwritable: new Map([['Order', ['Id', 'Total']]]),
      missing: ['the table Line'],
    });

    expect(putbackPlanText(plan, null)).toBe(`Nothing to put back
left alone:
  Customer 1: the origin has it again
cannot be put back:
  Order 2: the calling user may not add rows
would be linked again to a new key: 1 row that stayed at the origin
stayed at the origin with an emptied reference, and would be linked again:
  Order 4: Customer was 1
stayed at the origin, and cannot be linked again:
  Order 5: Customer may not be written
guessed: Order."Customer" refers to Customer (set tables.Order.references to say so)
missing there, and not created:
  the table Line
left to the origin in Order: Id, Total
`);
    expect(putbackPlanJson(plan)).toMatchObject({
      rows: [
        { table: 'Customer', oldId: 1, fate: 'there', refersTo: [], files: { count: 0, bytes: 0 } },
        { table: 'Order', oldId: 2, fate: 'cannot' },
      ],
      relinked: [{ oldId: 3 }, { oldId: 4 }, { oldId: 5 }],
      guessed: [{ table: 'Order', column: 'Customer', refersTo: 'Customer' }],
      leftToOrigin: { Order: ['Id', 'Total'] },
      missing: ['the table Line'],
    });
  });

  test('has at most 60 lines of rows, and counts the rest', () => {
    const text = putbackPlanText(planOf(Array.from({ length: 61 }, (_, index) => rowOf(CUSTOMER, index + 1))), null);

    expect(text).toContain('  Customer 60\n  ... and 1 more\n61 rows, about 3 requests\n');
    expect(text).not.toContain('Customer 61');
  });

  test('for a person to confirm says how workflow rules run, and what a guard would hold', async () => {
    await using shop = await startShop();
    using suppressed = await openPlace(shop, { workflow: 'suppress' });
    const { place } = suppressed;
    const strict: PutbackPlace = {
      ...place,
      workflow: 'run',
      push: { ...place.push, settings: { ...place.push.settings, maxPushRows: 0 } },
    };
    const plan = planOf([rowOf(CUSTOMER, 1)]);

    expect(putbackPlanText(plan, place)).toContain(
      '1 row, about 3 requests; workflow rules are suppressed\nNothing was sent: --confirm puts them back\n',
    );
    expect(putbackPlanText(plan, strict)).toContain(
      '; workflow rules run\nmore than safety.maxPushRows (0): --confirm lets them through\nNothing was sent',
    );
    expect(putbackPlanText(planOf([]), place)).toBe('Nothing to put back\n');
    const run = { concerned: [], news: [] };
    expect(putbackRunText(run, { plan: planOf([]), place, verified: null })).toBe('Nothing to put back\n');
    const news = [recordOf({ state: 'done', newId: 9 })];
    expect(putbackRunText({ concerned: news, news }, { plan, place, verified: null })).toMatch(/^Customer: done 1\n/);
  });
});

function recordOf(given: Partial<PutbackRecord>): PutbackRecord {
  const plain = { id: 1, kind: 'row', table: 'Customer', tableId: CUSTOMER, oldId: 1, oldKey: '1' } as const;
  return {
    ...plain,
    newId: null,
    newKey: null,
    state: 'done',
    reason: null,
    stagedId: null,
    links: [],
    files: [],
    ...given,
  };
}

describe('what came of it', () => {
  const path = '/data/replica.db.putback';

  test('is counted by table and state; rows for a person are named first, and --resume is named', () => {
    const records = [
      recordOf({ state: 'done' }),
      recordOf({ state: 'done' }),
      recordOf({ table: 'Order', oldId: 4, state: 'there', reason: 'the origin has it again' }),
      recordOf({ table: 'Order', kind: 'link', oldId: 7, state: 'refused', reason: 'read-only' }),
      recordOf({ oldId: 8, state: 'inDoubt' }),
    ];

    expect(putbackStatusText(records, { path, verified: null })).toBe(`Customer: done 2
Order: there 1
Order: references refused 1
Customer: inDoubt 1
  Order 7 refused: read-only
  Customer 8 inDoubt: 
  Order 4 there: the origin has it again
In doubt: look at the origin. If the row is not there, rowsync putback --resume --again sends it, and what waits for it.
If it is there without its children or references, delete it there before: it would be there twice.
rowsync putback --resume continues
Each row with its new id and key: table sync_putback in ${path}
`);
  });

  test.each<[PutbackRecord['state'], string]>([
    ['done', 'The next pull brings them here'],
    ['waiting', 'rowsync putback --resume continues'],
    ['sent', 'rowsync putback --resume continues'],
  ])('of rows that are %s, it says what follows', (state, expected) => {
    expect(putbackStatusText([recordOf({ state })], { path, verified: null })).toContain(`\n${expected}\n`);
  });

  test('is nothing where nothing was begun, and has what a comparison found', () => {
    const verified = { comparedCount: 2, differences: ['Customer 1, now 9: Name'] };

    expect(putbackStatusText([], { path, verified: null })).toBe('Nothing was put back yet\n');
    expect(putbackStatusText([], { path, verified })).toBe(
      `verified: 2 rows compared, 1 differ\n  differs: Customer 1, now 9: Name\nEach row with its new id and key: table sync_putback in ${path}\n`,
    );
    expect(statusJson([recordOf({ newId: 9, newKey: 'k' })])).toEqual({
      rows: [
        { kind: 'row', table: 'Customer', oldId: 1, oldKey: '1', newId: 9, newKey: 'k', state: 'done', reason: null },
      ],
    });
  });
});
