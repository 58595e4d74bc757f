/** A pull from an origin that answers in XML, and what becomes of a replica when the format is changed. */
import { expect, test } from 'vitest';

import type { PullReport } from '../../src/pull/report.ts';
import { readOrigin, readReplica, type Tables } from '../support/compare.ts';
import { startFixture } from '../support/replica.ts';

/** The sample data has 22,000 rows. */
const RUN_MS_MAX = 60_000;

function sums({ tables, error }: PullReport): Readonly<Record<string, unknown>> {
  const sum = (key: 'pagesReadCount' | 'insertedCount' | 'updatedCount' | 'deletedCount'): number =>
    tables.reduce((total, table) => total + table[key], 0);
  return {
    error: error ?? tables.find((table) => table.error ?? table.held)?.error ?? null,
    pagesReadCount: sum('pagesReadCount'),
    insertedCount: sum('insertedCount'),
    updatedCount: sum('updatedCount'),
    deletedCount: sum('deletedCount'),
  };
}

/** Columns of the sample data whose numbers have more than six decimals or twenty digits. */
const LONG_NUMBERS = new Set(['Unit Cost (exact)', 'Shrinkage']);

function withoutLongNumbers(tables: Tables): Tables {
  const rowWithout = (row: Tables[string][number]): Tables[string][number] =>
    Object.fromEntries(Object.entries(row).filter(([column]) => !LONG_NUMBERS.has(column)));
  return Object.fromEntries(Object.entries(tables).map(([table, rows]) => [table, rows.map(rowWithout)]));
}

test(
  'gives the same replica as JSON, cell by cell, and a second one reads no page',
  async () => {
    await using fixture = await startFixture({}, { format: 'xml' });

    const first = await fixture.pull();
    const second = await fixture.pull();

    expect(first.tables.filter(({ error, unreadableCount }) => error !== null || unreadableCount > 0)).toEqual([]);
    expect(withoutLongNumbers(readReplica(fixture.path))).toEqual(withoutLongNumbers(readOrigin(fixture.sandbox)));
    expect(sums(second)).toEqual({
      error: null,
      pagesReadCount: 0,
      insertedCount: 0,
      updatedCount: 0,
      deletedCount: 0,
    });
    expect(fixture.sandbox.requests.all.filter(({ path }) => path.includes('.json'))).toEqual([]);
  },
  RUN_MS_MAX,
);

test(
  'after a change of the format reads every page once, writes no row, and trusts no ETag of the other format',
  async () => {
    const rows = Array.from({ length: 1_200 }, (_, index) => ({
      Title: index % 3 === 0 ? '' : index % 3 === 1 ? null : ` ${index}\u00A0<&> `,
      Text: 'one\ntwo',
      Amount: index / 8,
    }));
    const columns = [
      { name: 'Title', type: 'Text' },
      { name: 'Text', type: 'Multiline' },
      { name: 'Amount', type: 'Numeric' },
    ] as const;
    await using fixture = await startFixture({ tables: [{ name: 'Note', columns, rows }] });
    await fixture.pull();
    const before = readReplica(fixture.path);

    for (const format of ['xml', 'json'] as const) {
      fixture.sandbox.requests.clear();
      await fixture.useFormat(format);
      const changed = await fixture.pull();
      const readCount = fixture.sandbox.requests.count({ method: 'select', status: 200 });
      const again = await fixture.pull();

      expect(sums(changed)).toMatchObject({ error: null, insertedCount: 0, updatedCount: 0, deletedCount: 0 });
      expect(readCount).toBeGreaterThanOrEqual(3);
      expect(sums(again)).toMatchObject({ error: null, pagesReadCount: 0 });
      expect(fixture.sandbox.requests.count({ method: 'describe', status: 200 })).toBe(2);
    }
    expect(readReplica(fixture.path)).toEqual(before);
    expect(before).toEqual(readOrigin(fixture.sandbox));
  },
  RUN_MS_MAX,
);

test('keeps ETags of descriptions apart: none goes out to the other format', async () => {
  await using fixture = await startFixture({
    tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }] }],
  });
  await fixture.pull();
  await fixture.useFormat('xml');
  fixture.sandbox.requests.clear();

  await fixture.pull();

  const described = fixture.sandbox.requests.all.filter(({ path }) => path.includes('describe.xml'));
  // The last one asks with the ETag of the one before.
  expect(described.map(({ status }) => status)).toEqual([200, 200, 304]);
});

test('numbers come with six decimals, as XML says them', async () => {
  const columns = [{ name: 'Amount', type: 'Numeric' }] as const;
  const rows = [{ Amount: 0.1234567 }, { Amount: 3 }, { Amount: 9_007_199_254_740_993n }, { Amount: null }];
  await using fixture = await startFixture({ tables: [{ name: 'Note', columns, rows }] }, { format: 'xml' });

  await fixture.pull();

  expect(fixture.rows('SELECT CAST("Amount" AS TEXT) AS amount FROM "Note" ORDER BY _id')).toEqual(
    ['0.123457', '3', '9007199254740993', null].map((amount) => ({ amount })),
  );
});
