import { describe, expect, test } from 'vitest';

import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call, type RawAnswer } from '../client.ts';

const tables: readonly TableSpec[] = [
  { name: 'Team', key: 'Code', columns: [{ name: 'Code', type: 'Text' }], rows: [{ Code: 'a' }, { Code: 'b' }] },
  {
    name: 'Person',
    columns: [
      { name: 'Name', type: 'Text' },
      { name: 'Team', type: 'Text' },
      { name: 'Age', type: 'Numeric' },
      { name: 'Salary', type: 'Numeric' },
      { name: 'Born', type: 'Date' },
      { name: 'Boss', type: 'User' },
      { name: 'Full Label', type: 'Text', computed: { how: 'join', columns: ['Name', 'Team'] } },
    ],
    rows: [
      {
        Name: 'Cid',
        Team: 'b',
        Age: 30,
        Salary: 1,
        Born: '2026-01-01',
        Boss: 'Alice Martin <alice.martin@example.com>',
      },
      { Name: 'ann', Team: 'a', Age: 4, Salary: 2, Born: '2026-01-02' },
      { Name: 'Bob', Team: 'b', Age: null, Salary: 3, Boss: 'jonas.weber@example.com' },
      { Name: 'Dot', Team: 'A', Age: 200, Salary: 4 },
    ],
  },
];

const selectPath = (filter: string, more = ''): string =>
  `Person/select.json?column=Name${more}&filter=${encodeURIComponent(filter)}`;

async function names(sandbox: TestSandbox, filter: string, more = ''): Promise<string> {
  const answer = await call(sandbox, selectPath(filter, more));
  expect(answer).toMatchObject({ status: 200 });
  return (JSON.parse(answer.text) as { Name: string }[]).map(({ Name }) => Name).join(' ');
}

function conditional(sandbox: TestSandbox, path: string, { headers }: RawAnswer): Promise<RawAnswer> {
  return call(sandbox, path, { headers: { 'If-None-Match': headers['etag'] ?? '' } });
}

describe('a filter keeps the rows', () => {
  // Specification, sandbox: 4.4-5
  test.each([
    ['that match', '[Age] > 4', 'Cid Dot'],
    ['that match by alias', '[ALIAS] = "b"', 'Cid Bob'],
    ['whatever the case of a name', '[AGE] >= 4 and [age] < 100', 'Cid ann'],
    ['that match by a computed column', 'Begins([Full Label], "bob")', 'Bob'],
    ['whose id it names, with no column', 'RecordId() = "2"', 'ann'],
    ['of the caller', '[Boss] = User()', 'Cid'],
    ['none, where nothing matches', 'false', ''],
    ['all, where it says nothing about rows', 'true', 'Cid ann Bob Dot'],
  ])('%s', async (_what, filter, expected) => {
    await using sandbox = await startTestSandbox({ tables });
    const alias = sandbox.store.table('Person').columns.find(({ name }) => name === 'Team')?.alias ?? '';

    expect(await names(sandbox, filter.replace('ALIAS', alias))).toBe(expected);
  });

  test('in the order asked for, and pages are cut after filtering', async () => {
    await using sandbox = await startTestSandbox({ tables });
    const filter = '[Salary] >= 2';

    expect(await names(sandbox, filter, '&sort=Name//DESC')).toBe('Dot Bob ann');
    expect(await names(sandbox, filter, '&sort=Name&top=1')).toBe('ann');
    expect(await names(sandbox, filter, '&sort=Name&top=2&skip=1')).toBe('Bob Dot');
    expect(await names(sandbox, filter, '&sort=Name&skip=3')).toBe('');
  });

  test('that pass every one of several filters', async () => {
    await using sandbox = await startTestSandbox({ tables });

    expect(await names(sandbox, '[Team] = "b"', '&filter=%5BAge%5D+%3D+30')).toBe('Cid');
  });

  test('that match a variable of the call, with raw and with encoded brackets', async () => {
    await using sandbox = await startTestSandbox({ tables });

    expect(await names(sandbox, '[Name] = Var[Who]', '&var[Who]=Dot')).toBe('Dot');
    expect(await names(sandbox, '[Name] = Var[Who]', '&var%5BWho%5D=Cid')).toBe('Cid');
  });

  test('again, after each kind of change to them', async () => {
    await using sandbox = await startTestSandbox({ tables });
    const { store } = sandbox;
    expect(await names(sandbox, '[Age] > 4')).toBe('Cid Dot');

    store.update('Person', 2, { Age: 5 });
    expect(await names(sandbox, '[Age] > 4')).toBe('Cid ann Dot');
    store.delete('Person', 1);
    expect(await names(sandbox, '[Age] > 4')).toBe('ann Dot');
    store.insert('Person', { Name: 'New', Age: 6 });
    expect(await names(sandbox, '[Age] > 4')).toBe('ann Dot New');
    store.update('Person', 2, { Team: 'z' });
    expect(await names(sandbox, '[Age] > 4')).toBe('ann Dot New');
  });

  test('of all of a large table, page by page', async () => {
    const rows = Array.from({ length: 3000 }, (_, index) => ({ Name: `n${index}`, Age: index }));
    await using sandbox = await startTestSandbox({
      tables: [
        {
          name: 'Person',
          columns: [
            { name: 'Name', type: 'Text' },
            { name: 'Age', type: 'Numeric' },
          ],
          rows,
        },
      ],
    });

    const pages = await Promise.all([0, 500, 1000].map((skip) => names(sandbox, 'Mod([Age], 2) = 1', `&skip=${skip}`)));

    const expected = rows.filter(({ Age }) => Age % 2 === 1).map(({ Name }) => Name);
    expect(pages.join(' ').split(' ')).toEqual(expected);
  });
});

describe('a filter that cannot be read is refused with its place:', () => {
  test.each([
    ['an unfinished comparison', '[Age] >', 2200, /offset 7 \(line 1, column 8\)/],
    ['an unknown column', '[Age] > 1 and [Nope] = 1', 3100, /offset 14 \(line 1, column 15\)/],
    ['a text that is no question', '[Age]', 2200, /offset 0/],
    ['two types', '\n[Age] = "x"', 2200, /offset 1 \(line 2, column 1\)/],
    ['an unknown function', 'Nope()', 2200, /offset 0/],
    ['a doubled quote', "[Name] = 'a''b'", 2200, /offset 12/],
  ])('%s', async (_what, filter, code, place) => {
    await using sandbox = await startTestSandbox({ tables });

    const answer = await call(sandbox, selectPath(filter));

    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ error: 400, code, source: 'filter' });
    expect((JSON.parse(answer.text) as { message: string }).message).toMatch(place);
  });

  test('too many parentheses, without a stack overflow', async () => {
    await using sandbox = await startTestSandbox({ tables });

    const answer = await call(sandbox, selectPath(`${'('.repeat(4000)}true${')'.repeat(4000)}`));

    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 2200, source: 'filter' });
  });

  test('a column that the role may not see, in the same words as one that does not exist', async () => {
    await using sandbox = await startTestSandbox({ tables });
    sandbox.store.setRole({
      name: 'Reader',
      canWrite: false,
      hiddenTables: [],
      hiddenColumns: [['Person', 'Salary']],
    });
    sandbox.store.changeUser({ role: 'Reader' });
    const alias = sandbox.store.table('Person').columns.find(({ name }) => name === 'Salary')?.alias ?? '';

    const hidden = await call(sandbox, selectPath('[Salary] > 2'));
    const byAlias = await call(sandbox, selectPath(`[${alias}] > 2`));
    const unknown = await call(sandbox, selectPath('[Nothin] > 2'));

    expect([hidden.status, byAlias.status]).toEqual([400, 400]);
    expect(hidden.text).toBe(unknown.text);
    expect(JSON.parse(byAlias.text)).toMatchObject({ code: 3100 });
  });
});

describe('an answer to a filter', () => {
  test('has an ETag that moves exactly if its bytes do', async () => {
    await using sandbox = await startTestSandbox({ tables });
    const path = selectPath('[Age] > 4');
    const first = await call(sandbox, path);

    expect(await conditional(sandbox, path, first)).toMatchObject({ status: 304, text: '' });
    sandbox.store.update('Person', 2, { Team: 'q' });
    expect(await conditional(sandbox, path, first)).toMatchObject({ status: 304 });
    sandbox.store.update('Person', 2, { Age: 5 });
    expect(await conditional(sandbox, path, first)).toMatchObject({ status: 200 });
  });

  test.each([
    ['Now()', '[Date Created] < Now() - 1h', 3_600_001],
    ['Today()', '[Born] = Today()', 86_400_000],
  ])('follows the time where %s stands in it, though no row changes', async (_what, filter, waitMs) => {
    const clock = testClock();
    await using sandbox = await startTestSandbox({ tables, clock });
    const path = selectPath(filter);

    const before = await call(sandbox, path);
    expect(await conditional(sandbox, path, before)).toMatchObject({ status: 304 });
    clock.advance(waitMs);
    const after = await conditional(sandbox, path, before);

    expect(after.status).toBe(200);
    expect(after.text).not.toBe(before.text);
  });

  test('is the caller’s own where User() or Role() stands in it', async () => {
    await using sandbox = await startTestSandbox({ tables });
    const mine = await call(sandbox, selectPath('[Boss] = User()'));
    expect(mine.text).toContain('Cid');

    sandbox.store.changeUser({ email: 'nobody@example.com' });

    expect(await names(sandbox, '[Boss] = User()')).toBe('');
    expect(await names(sandbox, 'Role() = "Administrator"')).toBe('Cid ann Bob Dot');
    sandbox.store.changeUser({ role: 'Staff' });
    expect(await names(sandbox, 'Role() = "Administrator"')).toBe('');
  });
});
