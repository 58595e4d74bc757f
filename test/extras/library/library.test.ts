/**
 * The client as programs use it, `rowsync/client`, against answers that the sandbox does not give: an origin of another
 * version, one that is busy, one that answers half.
 */
import nock from 'nock';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openOrigin, RowsyncError, type Origin } from '../../../src/extras/library/library.ts';
import { testClock } from '../../support/clock.ts';

const URL_OF_ORIGIN = 'https://origin.example';
const API = '/secure/api/v2/21995';
const CUSTOMER = { name: 'Customer', alias: 't_7' };
const NAME = { name: 'Name', type: 'Text' } as const;

let origin: Origin;
let scope: nock.Scope;

beforeEach(() => {
  nock.disableNetConnect();
  scope = nock(URL_OF_ORIGIN, { reqheaders: { authorization: 'Bearer a-token' } });
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  origin = openOrigin({ url: URL_OF_ORIGIN, database: '21995', credentials }, { clock: testClock() });
});

afterEach(async () => {
  await origin.close();
  nock.cleanAll();
  nock.enableNetConnect();
});

// Specification, client: 2.9-4
test('a descriptor with fields of a later version is read, and keeps them', async () => {
  const user = { id: 7, email: 'a@b.example', role: 'Admin', mood: { now: 'fine' } };
  scope.get(`${API}/user.json`).reply(200, user);

  expect(await origin.user()).toMatchObject({
    kind: 'ok',
    value: { id: 7, email: 'a@b.example', role: 'Admin', firstName: '', other: { mood: { now: 'fine' } } },
  });
});

test('an origin that is busy twice is asked a third time', async () => {
  scope.get(/select/).reply(429, '', { 'Retry-After': '2' });
  scope.get(/select/).reply(503, 'down for maintenance', { 'Content-Type': 'text/plain' });
  scope.get(/select/).reply(200, [{ '@row.id': 1, Name: 'a' }], { ETag: '"e1"' });

  const answer = await origin.select({ table: CUSTOMER, columns: [NAME], query: { columns: ['*'], sort: [] } });

  expect(answer).toMatchObject({ kind: 'ok', etag: '"e1"', value: { ids: [1] } });
  expect(origin.counters()).toMatchObject({ requestCount: 3, retryCount: 2 });
});

// Specification, client: 4.6-17, 4.6-30, 4.6-31
test('a write whose rows fared differently gives each its status, with codes that no specification names', async () => {
  const statuses = [
    { status: 201, id: 8, key: 'K-8', warnings: ['later'] },
    { status: 418, errors: [{ error: 418, code: 9999, message: 'No coffee', source: 'Name' }] },
  ];
  scope.post(/create/, [{ Name: 'a' }, { Name: 'b' }]).reply(200, statuses);

  const rows = ['a', 'b'].map((value) => ({ id: null, cells: [{ ...NAME, value }] }));
  const answer = await origin.create({ table: CUSTOMER, rows, workflow: 'run', zone: 'UTC' });

  expect(answer).toMatchObject([
    { status: 201, id: 8, errors: [] },
    { status: 418, errors: [{ code: 9999, message: 'No coffee', source: 'Name' }] },
  ]);
});

test('a write whose answer has fewer statuses than rows has an unknown outcome', async () => {
  scope.post(/create/).reply(200, [{ status: 201, id: 8 }]);

  const rows = ['a', 'b'].map((value) => ({ id: null, cells: [{ ...NAME, value }] }));
  const creating = origin.create({ table: CUSTOMER, rows, workflow: 'run', zone: 'UTC' });

  await expect(creating).rejects.toBeInstanceOf(RowsyncError);
  await expect(creating).rejects.toMatchObject({ code: 'origin.unknownOutcome' });
});
