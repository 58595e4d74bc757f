import { describe, expect, test } from 'vitest';

import { must } from '../../../src/base/assert.ts';
import { SAMPLE_USERS } from '../../../src/sandbox/data/sample.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call } from '../client.ts';

const tables: readonly TableSpec[] = [
  { name: 'Team', key: 'Code', columns: [{ name: 'Code', type: 'Text' }], rows: [{ Code: 'a' }, { Code: 'b' }] },
  {
    name: 'Person',
    columns: [
      { name: 'Name', type: 'Text' },
      { name: 'Age', type: 'Numeric' },
      { name: 'Paid', type: 'Checkbox' },
      { name: 'Team', type: 'Text' },
      { name: 'Label', type: 'Text', computed: { how: 'join', columns: ['Name', 'Team'] } },
    ],
    views: [{ name: 'Pick', type: 'RecordPicker', columns: ['Label', 'Age', 'Paid'] }],
    rows: [
      { Name: 'Cid', Age: '12345678901234567.25', Paid: true, Team: 'b' },
      { Name: 'ann', Age: 7, Paid: false },
      { Name: 'Bob' },
    ],
  },
];

const jonas = must(SAMPLE_USERS[1], 'the sample has colleagues');

/** A sandbox at 2026-01-01T00:00:00.040Z, where row 1 was changed 60.005 s and row 2 120.1 s after they were made. */
async function changedSandbox(): Promise<TestSandbox> {
  const clock = testClock({ startMs: Date.UTC(2026, 0, 1, 0, 0, 0, 40) });
  const sandbox = await startTestSandbox({ tables, clock });
  clock.advance(60_005);
  sandbox.store.update('Person', 1, { Name: 'Cyd' });
  clock.advance(60_095);
  sandbox.store.update('Person', 2, { Name: 'Ann' });
  return sandbox;
}

async function ids(sandbox: TestSandbox, path: string): Promise<readonly number[]> {
  const answer = await call(sandbox, path);
  expect(answer).toMatchObject({ status: 200 });
  return (JSON.parse(answer.text) as { '@row.id': number }[]).map((row) => row['@row.id']);
}

describe('updated', () => {
  test('lists rows by their last change, the latest first, in the caller’s zone with milliseconds', async () => {
    await using sandbox = await changedSandbox();

    const { text, headers } = await call(sandbox, 'Person/updated.json');

    expect(text).toBe(
      '[{"@row.id":2,"key":"2","created":"2026-01-01T01:00:00.040+01:00","modified":"2026-01-01T01:02:00.140+01:00"},' +
        '{"@row.id":1,"key":"1","created":"2026-01-01T01:00:00.040+01:00","modified":"2026-01-01T01:01:00.045+01:00"},' +
        '{"@row.id":3,"key":"3","created":"2026-01-01T01:00:00.040+01:00","modified":"2026-01-01T01:00:00.040+01:00"}]',
    );
    expect(headers['etag']).toMatch(/^"/);
  });

  test('speaks XML', async () => {
    await using sandbox = await changedSandbox();

    expect((await call(sandbox, 'Person/updated.xml?from=2026-01-01T00:02:00Z')).text).toBe(
      '<?xml version="1.0" encoding="utf-8"?><Response xmlns:i="http://www.w3.org/2001/XMLSchema-instance">' +
        '<row id="2"><key>2</key><created>2026-01-01T01:00:00.040+01:00</created>' +
        '<modified>2026-01-01T01:02:00.140+01:00</modified></row></Response>',
    );
  });

  test.each([
    ['a start in UTC', 'from=2026-01-01T00:01:00Z', [2, 1]],
    ['a start with an offset', 'from=2026-01-01T02:01:00%2B02:00', [2, 1]],
    ['a start whose plus sign nobody encoded', 'from=2026-01-01T02:01:00+02:00', [2, 1]],
    ['a start without a zone, which is the caller’s', 'from=2026-01-01T01:01:00', [2, 1]],
    ['a start to the millisecond', 'from=2026-01-01T00:01:00.046Z', [2]],
    ['an end, which counts', 'to=2026-01-01T00:01:00.045Z', [1, 3]],
    ['both ends', 'from=2026-01-01T00:01:00Z&to=2026-01-01T00:02:00Z', [1]],
    ['a day', 'from=2026-01-01', [2, 1, 3]],
    ['a day in UTC', 'from=2026-01-01Z', [2, 1, 3]],
    ['a day with an offset', 'from=2026-01-01-00:01', [2, 1]],
    ['a day with an encoded plus sign', 'to=2026-01-02%2B23:59', [3]],
    ['ends in the wrong order', 'from=2026-02-01&to=2026-01-01', []],
    ['ends that are empty, and so absent', 'from=&to=', [2, 1, 3]],
  ])('takes %s', async (_what, query, expected) => {
    await using sandbox = await changedSandbox();

    expect(await ids(sandbox, `Person/updated.json?${query}`)).toEqual(expected);
  });

  test.each(['from', 'to'])('refuses a %s that is no time', async (parameter) => {
    await using sandbox = await changedSandbox();

    for (const value of ['yesterday', '2026-02-30T00:00:00Z', '1767225600']) {
      const answer = await call(sandbox, `Person/updated.json?${parameter}=${value}`);
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.text)).toMatchObject({ code: 2100, source: parameter });
    }
  });

  test('has no limit on rows', async () => {
    await using sandbox = await startTestSandbox();

    expect(await ids(sandbox, 'Order/updated.json')).toHaveLength(4000);
  });

  test('does not show a key that the role may not see', async () => {
    await using sandbox = await changedSandbox();
    sandbox.store.setRole({ name: 'R', canWrite: false, hiddenTables: [], hiddenColumns: [['Person', 'Id']] });
    sandbox.store.changeUser({ role: 'R' });

    expect((await call(sandbox, 'Person/updated.json')).text).toContain('{"@row.id":2,"key":null,');
  });
});

describe('deleted', () => {
  test('lists what lies in the recycle bin with the columns of the Record Picker, the latest first', async () => {
    const clock = testClock({ startMs: Date.UTC(2026, 0, 1) });
    await using sandbox = await startTestSandbox({ tables, clock });
    const { etag = '' } = (await call(sandbox, 'Person/deleted.json')).headers;
    sandbox.store.delete('Person', 1);
    clock.advance(1007);
    sandbox.store.delete('Person', 2, { as: jonas });
    sandbox.store.delete('Person', 3, { purge: true });

    const answer = await call(sandbox, 'Person/deleted.json', { headers: { 'If-None-Match': etag } });

    expect(answer.text).toBe(
      '[{"@row.id":2,"Label":"ann","Age":7,"Paid":false,"deletedby":"Jonas Weber <jonas.weber@example.com>",' +
        '"deleted":"2026-01-01T01:00:01.007+01:00"},' +
        '{"@row.id":1,"Label":"Cid b","Age":12345678901234567.25,"Paid":true,' +
        '"deletedby":"Alice Martin <alice.martin@example.com>","deleted":"2026-01-01T01:00:00.000+01:00"}]',
    );
    expect((await call(sandbox, 'Person/deleted.xml?from=2026-01-01T00:00:01Z')).text).toContain(
      '<row id="2"><Label>ann</Label><Age>7.000000</Age><Paid>false</Paid>' +
        '<deletedby>Jonas Weber &lt;jonas.weber@example.com&gt;</deletedby><deleted>2026-01-01T01:00:01.007+01:00</deleted></row>',
    );
  });

  test('shows the key where there is no Record Picker', async () => {
    await using sandbox = await startTestSandbox({ tables, clock: testClock() });

    sandbox.store.delete('Team', 2);

    expect((await call(sandbox, 'Team/deleted.json')).text).toMatch(/^\[\{"@row\.id":2,"Code":"b","deletedby":/);
  });

  test('shows users without ManageData their own deletions only', async () => {
    await using sandbox = await startTestSandbox({ tables });
    sandbox.store.delete('Person', 1);
    sandbox.store.delete('Person', 2, { as: jonas });

    expect(await ids(sandbox, 'Person/deleted.json')).toEqual([2, 1]);
    sandbox.store.changeUser({ admin: ['ManageUsers'] });
    expect(await ids(sandbox, 'Person/deleted.json')).toEqual([1]);
  });
});

test.each(['Person/updated.json', 'Person/deleted.json', 'Person/Pick/select.json'])(
  'answers %s with 405 where extensions are switched off',
  async (path) => {
    await using sandbox = await startTestSandbox({ tables, extensions: false });

    const answer = await call(sandbox, path);

    expect(answer.status).toBe(405);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 2000, message: 'Invalid method name' });
  },
);
