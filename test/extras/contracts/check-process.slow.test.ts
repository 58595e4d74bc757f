/**
 * Checks run in a process of their own, which counts the rows of each and ends with them.
 */
import { expect, test } from 'vitest';
import { runChecks } from '../../../src/extras/contracts/check-process.ts';
import { startFixture } from '../../support/replica.ts';
import { NOTE } from '../../support/two-way.ts';

const MANY = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= 20000)';

test('each check has its rows, and one that fails keeps no other from running', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  const texts = {
    none: 'SELECT _id FROM "Note" WHERE _id < 0',
    some: 'SELECT "Title", _id FROM "Note" ORDER BY _id',
    unnamed: 'SELECT "Title" FROM "Note"',
    many: `${MANY} SELECT i AS _id FROM n`,
    just: `${MANY} SELECT i AS _id FROM n WHERE i <= 10000`,
    wrong: 'SELECT nope FROM "Note"',
    writes: 'DELETE FROM "Note" RETURNING _id',
    fails: `SELECT abs(-9223372036854775808) FROM "Note"`,
    joined: 'SELECT o._id FROM "Note" n LEFT JOIN "Note" o ON o._id = n._id AND o._id > 4 ORDER BY n._id',
    last: 'SELECT 1 AS _id',
  };

  const found = await runChecks(
    fixture.path,
    Object.entries(texts).map(([name, text]) => ({ name, text })),
  );

  const five = { ids: [1, 2, 3, 4, 5], problem: null };
  expect(Object.fromEntries(found)).toMatchObject({
    none: { problem: null, count: 0, isMore: false, ids: [] },
    some: { ...five, count: 6, isMore: false },
    unnamed: { problem: null, count: 6, isMore: false, ids: [] },
    many: { ...five, count: 10_000, isMore: true },
    just: { ...five, count: 10_000, isMore: false },
    wrong: { problem: expect.stringContaining('no such column: nope') as unknown },
    writes: { problem: expect.any(String) as unknown },
    fails: { problem: expect.stringContaining('integer overflow') as unknown },
    joined: { problem: null, count: 6, ids: [5, 6] },
    last: { problem: null, count: 1, ids: [1] },
  });
  expect([...found.keys()]).toEqual(Object.keys(texts));
  expect(fixture.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 6 }]);
});

test('without checks no process is started, and a replica that is not there is a problem of each check', async () => {
  expect(await runChecks('/nowhere/replica.db', [])).toEqual(new Map());
  expect(await runChecks('/nowhere/replica.db', [{ name: 'a', text: 'SELECT 1' }])).toEqual(
    new Map([['a', { problem: expect.stringContaining('/nowhere/replica.db') as unknown }]]),
  );
});
