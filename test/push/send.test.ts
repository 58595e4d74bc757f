/**
 * What comes of a request: rows or whole batches that are refused, no answer, or one that proves nothing. No row holds
 * up another one.
 */
import { describe, expect, test } from 'vitest';
import { readWaiting } from '../../src/replica/bookkeeping/refusals.ts';
import { UNANSWERED_MAX } from '../../src/reconcile/push-answer.ts';
import { startBehindProxy } from '../support/fault-proxy.ts';
import { http, json, type FaultAnswer, type FaultRequest } from '../support/fault-server.ts';
import { atOrigin, changesSent, codesOf, countsOf, pushNow } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, captured, NOTE, startTwoWay } from '../support/two-way.ts';
import { retryRows } from '../../src/capture/writer/apply-outcome.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import type { Origin } from '../../src/origin/client.ts';

const MATCHED = { editing: { match: 'Code' } } as const;

const HTML = { 'Content-Type': 'text/html' } as const;

const BLOCKED =
  '<html><head><title>Access\n denied</title><style>b{}</style></head><body><b>Incident 7</b></body></html>';

function isPoisoned({ body }: FaultRequest): boolean {
  return body.includes('<script>');
}

function failures(fixture: Fixture): readonly unknown[] {
  return fixture.rows('SELECT row_id, kind, status, reason FROM sync_failures ORDER BY row_id');
}

async function retryAll(fixture: Fixture): Promise<void> {
  await fixture.replica.write('Retrying', (tx) => retryRows(tx, readWaiting(tx, []), AT));
}

const KINDS: readonly (readonly [string, FaultAnswer, number, string])[] = [
  ['403 with a page', http(403, HTML, BLOCKED), 403, 'text/html ("Access denied")'],
  ['406 with a page that has no title', http(406, HTML, '<p>Not <i>acceptable</i></p>'), 406, '("Not acceptable")'],
  ['413 with a page', http(413, HTML, BLOCKED), 413, '("Access denied")'],
  ['403 without a body', http(403, {}), 403, 'the origin answered 403 without a message'],
  ['500', http(500, HTML, BLOCKED), 500, 'the origin answered 500 with text/html ("Access denied")'],
  ['a cut connection', 'reset', 0, 'closed by the other side'],
  ['200 with a page', http(200, HTML, BLOCKED), 200, 'answered 200 with text/html ("Access denied")'],
  ['statuses without a status', json([{}, {}, {}, {}, {}, {}]), 200, 'the answer cannot be read: '],
];

describe.each(KINDS)('a row that ends its request with %s', (_what, answer, status, words) => {
  test('is parked with these words, and the other edits arrive', async () => {
    await using fixture = await startBehindProxy(MATCHED);
    fixture.proxy.play({ match: isPoisoned, answer, isApplied: false });
    fixture.execute(`UPDATE "Note" SET "Title" = iif(_id = 3, 'a <script>', 'good')`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(countsOf(report)).toEqual({ updated: 5, refused: 1, parked: 1 });
    const reason = expect.stringContaining(words) as unknown;
    expect(failures(fixture)).toEqual([{ row_id: 3, kind: 'update', status, reason }]);
    const titles = atOrigin(fixture, ['Title']).map((row) => (row as unknown[])[1]);
    expect(titles).toEqual(['good', 'good', 'title 3', 'good', 'good', 'good']);
  });

  test('is parked as a new row with a match value, and the others are made once', async () => {
    await using fixture = await startBehindProxy(MATCHED);
    fixture.proxy.play({ match: isPoisoned, answer, isApplied: false });
    fixture.execute(
      `INSERT INTO "Note" ("Code", "Title") VALUES ('n1', 'one'), ('n2', 'two'), ('n3', '<script>'), ('n4', 'four')`,
    );

    const report = await pushNow(fixture);

    expect(countsOf(report)).toEqual({ inserted: 3, refused: 1, parked: 1 });
    expect(failures(fixture)).toMatchObject([{ kind: 'insert', status }]);
    const made = atOrigin(fixture, ['Code']).map((row) => (row as unknown[])[1]);
    expect(made.slice(6)).toEqual(['n1', 'n2', 'n4']);
  });
});

test('new rows without a match column, whose request got no answer, are in doubt with these words, and not sent again', async () => {
  await using fixture = await startBehindProxy({ editing: { match: null } });
  fixture.proxy.play({ match: isPoisoned, answer: http(403, HTML, BLOCKED), isApplied: true });
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('<script>'), ('two')`);

  const report = await pushNow(fixture);
  await pushNow(fixture);

  expect(countsOf(report)).toEqual({ inDoubt: 2, parked: 2 });
  const reason = expect.stringContaining('answered 403 with text/html ("Access denied")') as unknown;
  expect(failures(fixture)).toMatchObject([{ kind: 'inDoubt', status: 403, reason }, { status: 403 }]);
  expect(atOrigin(fixture, ['Title'])).toHaveLength(8);
});

test('deletes that a firewall refuses together are found one by one', async () => {
  await using fixture = await startBehindProxy(MATCHED);
  const match = ({ path }: FaultRequest): boolean => path.includes('/delete.') && /[?&]id=2(?!\d)/.test(path);
  fixture.proxy.play({ match, answer: http(403, HTML, BLOCKED), isApplied: false });
  fixture.execute(`DELETE FROM "Note" WHERE _id < 4`);

  const report = await pushNow(fixture);

  expect(countsOf(report)).toEqual({ deleted: 2, refused: 1, parked: 1 });
  expect(failures(fixture)).toMatchObject([{ row_id: 2, kind: 'delete', status: 403 }]);
});

test('a batch that was done although a page came is settled, and nothing is parked', async () => {
  await using fixture = await startBehindProxy(MATCHED);
  const match = ({ path }: FaultRequest): boolean => path.includes('/update.');
  fixture.proxy.play({ match, answer: json([{}, {}, {}, {}, {}, {}]), isApplied: true });
  fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);

  const report = await pushNow(fixture);

  expect(countsOf(report)).toEqual({ updated: 6 });
  expect(changesSent(fixture)).toEqual(['update']);
});

test('one cut connection is no fault of a row', async () => {
  await using fixture = await startBehindProxy(MATCHED);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id = 1`);
  let count = 0;
  const match = ({ path }: FaultRequest): boolean => path.includes('/update.') && (count += 1) === 1;
  fixture.proxy.play({ match, answer: 'reset', isApplied: false });

  expect(countsOf(await pushNow(fixture))).toEqual({ updated: 1 });
});

test.each(KINDS.filter(([, , status]) => status !== 500))(
  'an origin that also answers a question with %s is away: the table stops and no row is parked',
  async (_what, answer) => {
    await using fixture = await startBehindProxy(MATCHED);
    fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);
    let isAway = false;
    const match = ({ path }: FaultRequest): boolean => (isAway ||= path.includes('/update.'));
    fixture.proxy.play({ match, answer, isApplied: false });

    const report = await pushNow(fixture);

    expect(codesOf(report)).toHaveLength(1);
    expect(countsOf(report)).toEqual({ waiting: 6 });
    expect(failures(fixture)).toEqual([]);
    fixture.proxy.play(null);
    expect(countsOf(await pushNow(fixture))).toEqual({ updated: 6 });
  },
);

test('a parked row leaves alone when it is tried again, so that it costs one request', async () => {
  await using fixture = await startBehindProxy(MATCHED);
  fixture.proxy.play({ match: isPoisoned, answer: http(403, HTML, BLOCKED), isApplied: false });
  fixture.execute(`UPDATE "Note" SET "Title" = '<script>' WHERE _id = 3`);
  await pushNow(fixture);
  fixture.execute(`UPDATE "Note" SET "Title" = 'good' WHERE _id <> 3`);
  await retryAll(fixture);
  fixture.proxy.play({ match: isPoisoned, answer: http(403, HTML, BLOCKED), isApplied: false });

  const report = await pushNow(fixture);

  expect(countsOf(report)).toEqual({ updated: 5, refused: 1, parked: 1 });
  expect(fixture.proxy.faultedCount).toBe(1);
  expect(fixture.rows('SELECT tries FROM _rowsync_refusals')).toEqual([{ tries: 2 }]);
});

test('a match value that a firewall does not let through in a question parks its row, and the others arrive', async () => {
  await using fixture = await startBehindProxy(MATCHED);
  const match = ({ path }: FaultRequest): boolean => decodeURIComponent(path).includes('<script>');
  fixture.proxy.play({ match, answer: http(403, HTML, BLOCKED), isApplied: false });
  fixture.execute(`INSERT INTO "Note" ("Code", "Title") VALUES ('n1', 'one'), ('<script>', 'two'), ('n3', 'three')`);

  const report = await pushNow(fixture);

  expect(codesOf(report)).toEqual([]);
  expect(countsOf(report)).toEqual({ inserted: 2, refused: 1, parked: 1 });
});

test('one row at fault among 200 costs as many requests as halving takes', async () => {
  const rows = Array.from({ length: 200 }, (_, index) => ({ Title: `title ${index}`, Code: `c${index}` }));
  await using fixture = await startBehindProxy({ ...MATCHED, tables: [{ ...NOTE, rows }] });
  fixture.proxy.play({ match: isPoisoned, answer: 'reset', isApplied: false });
  fixture.execute(`UPDATE "Note" SET "Title" = iif(_id = 77, '<script>', 'good')`);

  expect(countsOf(await pushNow(fixture))).toEqual({ updated: 199, refused: 1, parked: 1 });
  expect(fixture.proxy.faultedCount).toBe(Math.ceil(Math.log2(200)) + 1);
});

test('many rows at fault cost a bounded number of requests in one push, and the next push goes on', async () => {
  const rows = Array.from({ length: 50 }, (_, index) => ({ Title: `title ${index}`, Code: `c${index}` }));
  await using fixture = await startBehindProxy({ ...MATCHED, tables: [{ ...NOTE, rows }] });
  fixture.proxy.play({ match: isPoisoned, answer: http(403, HTML, BLOCKED), isApplied: false });
  fixture.execute(`UPDATE "Note" SET "Title" = iif(_id % 4, '<script>', 'good')`);

  const report = await pushNow(fixture);

  expect(codesOf(report)).toEqual(['push.unanswered']);
  expect(fixture.proxy.faultedCount).toBe(UNANSWERED_MAX);
  const { parked = 0 } = countsOf(report);
  expect(parked).toBeGreaterThan(10);
  expect(countsOf(await pushNow(fixture))).toMatchObject({ parked: 38, updated: expect.any(Number) as unknown });
});

/** From now on the origin refuses every update as a whole that has a row with this title; null for every one. */
function refuseWhole(
  fixture: Fixture,
  status: number,
  title: string | null,
): { readonly update: Origin['update']; length: number } {
  const { origin } = fixture;
  const update: Origin['update'] = (request, options) => origin.update(request, options);
  const attempts = { update, length: 0 };
  const refusing: Origin['update'] = async (request, options) => {
    attempts.length += 1;
    const isBad = request.rows.some(({ cells }) => cells.some(({ value }) => title === null || value === title));
    if (!isBad) return update(request, options);
    const refusal = { status, code: 7, words: 'no', source: 'Title' };
    throw new RowsyncError('originRefused', 'origin.refused', { message: 'refused', hint: 'none', refusal });
  };
  fixture.origin = { ...fixture.origin, update: refusing };
  return attempts;
}

describe('a batch that is refused whole', () => {
  test.each([400, 403, 409, 413])('with %i is cut until the row at fault stands alone', async (status) => {
    await using fixture = await startTwoWay(MATCHED);
    refuseWhole(fixture, status, 'bad');
    fixture.execute(`UPDATE "Note" SET "Title" = CASE _id WHEN 4 THEN 'bad' ELSE 'good' END`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(countsOf(report)).toEqual({ updated: 5, refused: 1, parked: 1 });
    expect(failures(fixture)).toMatchObject([{ row_id: 4, status }]);
    expect(atOrigin(fixture, ['Title']).map((row) => (row as unknown[])[1])).toEqual([
      'good',
      'good',
      'good',
      'title 4',
      'good',
      'good',
    ]);
  });

  test('with 413 for each of many large rows holds no smaller one up', async () => {
    await using fixture = await startTwoWay(MATCHED);
    refuseWhole(fixture, 413, 'large');
    fixture.execute(`UPDATE "Note" SET "Title" = iif(_id < 5, 'large', 'good')`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual([]);
    expect(countsOf(report)).toEqual({ updated: 2, refused: 4, parked: 4 });
  });

  test('for every row stops the table after a few requests, and parks none', async () => {
    await using fixture = await startTwoWay(MATCHED);
    const attempts = refuseWhole(fixture, 403, null);
    fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);

    const report = await pushNow(fixture);

    expect(codesOf(report)).toEqual(['push.forbidden']);
    expect(countsOf(report)).toEqual({ waiting: 6 });
    expect(attempts.length).toBeLessThan(12);
    expect(fixture.rows('SELECT problem FROM sync_status')).toMatchObject([
      { problem: expect.stringContaining('refuses') as unknown },
    ]);
    fixture.origin = { ...fixture.origin, update: attempts.update };
    expect(countsOf(await pushNow(fixture))).toEqual({ updated: 6 });
    expect(fixture.rows('SELECT problem FROM sync_status')).toEqual([{ problem: null }]);
  });
});

test('a token that loses its right to write in the middle stops the table; the rest waits', async () => {
  await using fixture = await startTwoWay(MATCHED);
  fixture.execute(`UPDATE "Note" SET "Title" = 'x'`);
  const { role } = fixture.sandbox.store.user;
  fixture.sandbox.before(
    2,
    () => fixture.sandbox.store.setRole({ name: role, canWrite: false, hiddenTables: [], hiddenColumns: [] }),
    {
      method: 'update',
    },
  );

  const report = await pushNow(fixture, { settings: { batchLimits: { rowsMax: 2, bytesMax: 100_000 } } });

  expect(codesOf(report)).toEqual(['push.forbidden']);
  expect(countsOf(report)).toEqual({ updated: 2, waiting: 4 });
  expect(failures(fixture)).toEqual([]);
});

describe('an answer that proves nothing', () => {
  const answers: readonly (readonly [string, unknown])[] = [
    ['too few statuses', [{ status: 200, id: 1 }]],
    ['too many statuses', [1, 2, 3].map((id) => ({ status: 200, id }))],
    [
      'statuses in another order',
      [
        { status: 200, id: 2 },
        { status: 200, id: 1 },
      ],
    ],
    ['no list of statuses', { status: 200 }],
  ];

  test.each(answers)('(%s) settles no row that was not taken', async (_what, body) => {
    await using fixture = await startTwoWay({ editing: { match: null } });
    fixture.execute(`UPDATE "Note" SET "Title" = 'x' WHERE _id < 3`);
    fixture.sandbox.answerInstead(
      1,
      { status: 200, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) },
      { method: 'update' },
    );

    await pushNow(fixture);
    const second = await pushNow(fixture);

    expect(codesOf(second)).toEqual([]);
    expect(atOrigin(fixture, ['Title']).slice(0, 2)).toEqual([
      [1, 'x'],
      [2, 'x'],
    ]);
    expect(await captured(fixture)).toEqual([]);
  });
});

// Specification, client: 4.6-5, 4.6-12, 4.6-15
test.each([
  ['json', '[{"@row.id":1,"title_alias":"mine"}]', '[{"title_alias":"new","code_alias":"c9"}]'],
  [
    'xml',
    '<?xml version="1.0" encoding="utf-8"?><rows><row id="1"><title_alias>mine</title_alias></row></rows>',
    '<?xml version="1.0" encoding="utf-8"?><rows><row><title_alias>new</title_alias><code_alias>c9</code_alias></row></rows>',
  ],
] as const)(
  'an update and an upsert name columns by aliases, the one to match too (%s)',
  async (format, update, upsert) => {
    await using fixture = await startBehindProxy({ editing: { match: 'Code' }, format });
    const { proxy, sandbox } = fixture;
    for (const name of ['Title', 'Code'])
      sandbox.store.changeColumn('Note', name, { alias: `${name.toLowerCase()}_alias` });
    await fixture.pull();
    fixture.execute(`
    UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1;
    INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'c9')`);

    const report = await pushNow(fixture);

    const sent = proxy.requests.filter(({ method }) => method === 'POST');
    const named = sent.map(({ path, body }) => `${path.split('/').at(-1)} ${body.toString()}`);
    expect(named.toSorted()).toEqual([`update.${format} ${update}`, `upsert.${format}?match=code_alias ${upsert}`]);
    expect(codesOf(report)).toEqual([]);
    expect(atOrigin(fixture, ['Title'])).toContainEqual([1, 'mine']);
  },
);

test('a value reaches its column where that is renamed before the request, and another one gets its name', async () => {
  await using fixture = await startBehindProxy();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.before(
    1,
    () => {
      fixture.sandbox.store.renameColumn('Note', 'Title', 'Heading');
      fixture.sandbox.store.renameColumn('Note', 'Body', 'Title');
    },
    { method: 'update' },
  );

  await pushNow(fixture);

  expect(atOrigin(fixture, ['Heading', 'Title'])).toContainEqual([1, 'mine', null]);
});
