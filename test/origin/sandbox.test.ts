/** The client against the real sandbox: what both must agree on, without a byte written by hand. */
import { describe, expect, test } from 'vitest';

import { silentLogger } from '../../src/base/log.ts';
import { moreMethods } from '../../src/extras/library/more-methods.ts';
import { openOrigin, type Origin, type OriginSettings } from '../../src/origin/client.ts';
import type { Credentials } from '../../src/origin/credentials.ts';
import { columnType, type ColumnShape, type TableDescriptor, type Value } from '../../src/wire/schema.ts';
import type { OutgoingRow } from '../../src/wire/writes.ts';
import { testClock } from '../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';

const SORT = [{ column: 'Id' }];

/** An origin on the sandbox, closed at the end of the test. */
function open(
  sandbox: TestSandbox,
  changes: Pick<Partial<OriginSettings>, 'credentials' | 'compress' | 'format'> = {},
): Origin & AsyncDisposable {
  const { url, database, token } = sandbox;
  const settings = { url, database, credentials: { kind: 'bearer', token } as const, ...changes };
  const origin = openOrigin(settings, { clock: testClock(), log: silentLogger });
  return Object.assign(origin, { [Symbol.asyncDispose]: () => origin.close() });
}

/** The value of an answer that must be there. */
async function valueOf<T>(answer: Promise<{ kind: 'notModified' } | { kind: 'ok'; value: T }>): Promise<T> {
  const settled = await answer;
  if (settled.kind !== 'ok') throw new Error('not modified');
  return settled.value;
}

function shapesOf(table: TableDescriptor): readonly ColumnShape[] {
  return table.columns.map(({ name, type }) => ({ name, type: columnType(type) }));
}

function notes(count: number): {
  tables: [{ name: string; columns: [{ name: string; type: 'Text' }]; rows: { Title: string }[] }];
} {
  const rows = Array.from({ length: count }, (_, index) => ({ Title: `note ${index + 1}` }));
  return { tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows }] };
}

describe('the sample data', () => {
  test('every table is described and its first page read, compressed or not', async () => {
    await using sandbox = await startTestSandbox();
    await using origin = open(sandbox);
    await using plain = open(sandbox, { compress: false });

    const { tables } = await valueOf(origin.describeDatabase());
    expect(tables.length).toBeGreaterThanOrEqual(8);
    for (const { recordName: name, alias } of tables) {
      const table = { name, alias };
      const descriptor = await valueOf(origin.describeTable(table));
      const columns = shapesOf(descriptor);
      const query = { columns: columns.map((column) => column.name), sort: [{ column: descriptor.key }] };

      const page = await valueOf(origin.select({ table, columns, query }));

      expect(page.unreadable).toEqual([]);
      expect(await valueOf(plain.select({ table, columns, query }))).toEqual(page);
      expect(await valueOf(plain.describeTable({ name, alias: '' }))).toEqual(descriptor);
    }
    expect(origin.counters().receivedBytes).toBeLessThan(plain.counters().receivedBytes / 2);
  });
});

describe('a small table', () => {
  test('pages by top and skip meet without a gap', async () => {
    await using sandbox = await startTestSandbox(notes(7));
    await using origin = open(sandbox);
    const table = { name: 'Note', alias: '' };
    const columns = [{ name: 'Title', type: 'Text' }] as const;

    const pages = [0, 3, 6].map((skip) =>
      valueOf(origin.select({ table, columns, query: { columns: ['Title'], sort: SORT, top: 3, skip } })),
    );

    const rows = (await Promise.all(pages)).flatMap((page) => page.rows);
    expect(rows.map((row) => row.values)).toEqual([1, 2, 3, 4, 5, 6, 7].map((at) => [`note ${at}`]));
  });

  test('an unchanged page is not modified, a changed one comes with another ETag', async () => {
    await using sandbox = await startTestSandbox(notes(3));
    await using origin = open(sandbox);
    const request = {
      table: { name: 'Note', alias: '' },
      columns: [{ name: 'Title', type: 'Text' }],
      query: { columns: ['Title'], sort: SORT },
    } as const;

    const first = await origin.select(request);
    const etag = first.kind === 'ok' ? first.etag : null;
    const again = await origin.select(request, { etag });
    sandbox.store.insert('Note', { Title: 'a colleague’s' });
    const later = await origin.select(request, { etag });

    expect(etag).not.toBeNull();
    expect(again).toEqual({ kind: 'notModified' });
    expect(later).toMatchObject({ kind: 'ok', value: { rows: { length: 4 } } });
    expect(later.kind === 'ok' && later.etag).not.toBe(etag);
    expect(origin.counters()).toMatchObject({ requestCount: 3, notModifiedCount: 1 });
  });

  test('retrieve gives the rows that exist, in batches that the sandbox takes', async () => {
    await using sandbox = await startTestSandbox(notes(1_100));
    await using origin = open(sandbox);
    const table = { name: 'Note', alias: '' };
    const columns = [{ name: 'Title', type: 'Text' }] as const;
    const known = sandbox.store.rows('Note').map((row) => row.id);
    sandbox.store.delete('Note', known[700] ?? 0);

    const batches = origin.idBatches(known, ['Title']);
    const pages = await Promise.all(
      batches.map((ids) => valueOf(origin.retrieve({ table, columns, names: ['Title'], ids }))),
    );

    const expected = known.filter((_, index) => index !== 700).toSorted((a, b) => a - b);
    expect(batches).toHaveLength(3);
    expect(pages.flatMap((page) => page.ids).toSorted((a, b) => a - b)).toEqual(expected);
  });
});

describe('names', () => {
  test.each([
    'In/Out',
    '100% sure?',
    String.raw`back\slash`,
    'a&b=c+d',
    '"quoted"',
    'Küche 中 😀',
    'sort//DESC',
    '..',
    '%2F',
  ])('a table and column called %s are reached by name', async (name) => {
    await using sandbox = await startTestSandbox({
      tables: [{ name, columns: [{ name, type: 'Text' }], rows: [{ [name]: 'b' }, { [name]: 'a' }] }],
    });
    await using origin = open(sandbox);
    const { tables } = await valueOf(origin.describeDatabase());
    const alias = tables[0]?.alias ?? '';
    const columns = [{ name, type: 'Text' }] as const;
    const query = { columns: [name], sort: [{ column: name }] };

    // A table named `..` has no address but its alias: as a name it climbs out of the database.
    const table = { name, alias: name === '..' ? alias : '' };
    const page = await valueOf(origin.select({ table, columns, query }));

    expect(page.rows.map((row) => row.values)).toEqual([['a'], ['b']]);
  });
});

describe('authorization', () => {
  test('the user is the one of the token or of the password', async () => {
    await using sandbox = await startTestSandbox(notes(1));
    await using byToken = open(sandbox);
    await using byPassword = open(sandbox, {
      credentials: { kind: 'basic', user: sandbox.user.email, password: sandbox.user.password },
    });

    const user = await valueOf(byToken.user());

    expect(user.email).toBe(sandbox.user.email);
    expect(await valueOf(byPassword.user())).toEqual(user);
  });

  test.each<[string, Credentials]>([
    ['a wrong token', { kind: 'bearer', token: 'f'.repeat(32) }],
    ['a wrong password', { kind: 'basic', user: 'nobody@example.org', password: 'x' }],
  ])('%s is a failure of authorization', async (_title, credentials) => {
    await using sandbox = await startTestSandbox(notes(1));
    await using origin = open(sandbox, { credentials });

    await expect(origin.describeDatabase()).rejects.toMatchObject({ kind: 'auth', code: 'origin.forbidden' });
  });

  test('a table that does not exist is refused, and is no failure of authorization', async () => {
    await using sandbox = await startTestSandbox(notes(1));
    await using origin = open(sandbox);

    await expect(origin.describeTable({ name: 'Nothing', alias: '' })).rejects.toMatchObject({ kind: 'originRefused' });
  });

  test('an unknown column is refused by name', async () => {
    await using sandbox = await startTestSandbox(notes(1));
    await using origin = open(sandbox);
    const query = { columns: ['Nmae'], sort: [] };

    await expect(origin.select({ table: { name: 'Note', alias: '' }, columns: [], query })).rejects.toMatchObject({
      kind: 'originRefused',
      code: 'origin.refused',
      message: expect.stringContaining('Nmae') as unknown,
    });
  });
});

describe.each(['json', 'xml'] as const)('changes in %s', (format) => {
  const table = { name: 'Note', alias: '' };

  test('create, update and upsert give a status for each row, and the rows read back as they were sent', async () => {
    await using sandbox = await startTestSandbox({
      tables: [
        {
          name: 'Note',
          columns: [
            { name: 'Title', type: 'Text' },
            { name: 'Body', type: 'Multiline' },
            { name: 'Done', type: 'Checkbox' },
            { name: 'Amount', type: 'Numeric' },
            { name: 'Day', type: 'Date' },
            { name: 'At', type: 'Timestamp' },
            { name: 'Took', type: 'Duration' },
          ],
          rows: [],
        },
      ],
    });
    await using origin = open(sandbox, { format });
    const { timezone: zone } = await valueOf(origin.user());
    const columns = shapesOf(await valueOf(origin.describeTable(table)));
    const written = columns.filter(({ name }) =>
      ['Title', 'Body', 'Done', 'Amount', 'Day', 'At', 'Took'].includes(name),
    );
    const values = [' <Zoë> & "co" ', 'one\ntwo', true, 12.5, '2026-02-28', '2026-07-01T10:00:00Z', 5400] as const;
    const rowOf = (id: number | null, changes: Readonly<Record<string, Value>> = {}): OutgoingRow => ({
      id,
      cells: written.map((column, index) => ({ ...column, value: changes[column.name] ?? values[index] ?? null })),
    });

    const created = await origin.create({ table, zone, rows: [rowOf(null), rowOf(null, { Title: 'second' })] });
    const ids = created.map(({ id }) => id ?? 0);
    const [first = 0, second = 0] = ids;
    const changed = await origin.update({ table, zone, rows: [rowOf(first), rowOf(second, { Title: 'other' })] });
    const missing = await origin.update({ table, zone, rows: [rowOf(9_999)] });
    const upserted = await origin.upsert({ table, zone, rows: [rowOf(null, { Title: 'third' })] });

    expect([created, changed, missing, upserted].map((list) => list.map(({ status }) => status))).toEqual([
      [201, 201],
      [304, 200],
      [404],
      [201],
    ]);
    const names = written.map(({ name }) => name);
    const page = await valueOf(origin.retrieve({ table, columns: written, names, ids }));
    const titles = new Map(page.rows.map((row) => [row.id, row.values]));
    expect(titles.get(first)).toEqual(values);
    expect(titles.get(second)).toEqual(['other', ...values.slice(1)]);
  });

  test('an unknown match column refuses the whole request', async () => {
    await using sandbox = await startTestSandbox(notes(1));
    await using origin = open(sandbox, { format });
    const rows = [{ id: null, cells: [{ name: 'Title', type: 'Text', value: 'x' }] }] as const;

    await expect(origin.upsert({ table, zone: 'UTC', rows, match: 'Nmae' })).rejects.toMatchObject({
      kind: 'originRefused',
      code: 'origin.refused',
      refusal: { status: 400, code: 3100, source: 'Nmae' },
    });
  });

  test('what was updated and deleted since is told, with times in UTC', async () => {
    await using sandbox = await startTestSandbox(notes(3));
    await using origin = open(sandbox, { format });
    const known = sandbox.store.rows('Note').map((row) => row.id);
    sandbox.store.delete('Note', known[1] ?? 0);

    const more = moreMethods(origin, undefined);
    const updated = await valueOf(more.updated({ table, from: '2000-01-01T00:00:00Z' }));
    const deleted = await valueOf(more.deleted({ table, columns: [], from: '2000-01-01T00:00:00Z' }));

    expect(new Set(updated.map(({ id }) => id))).toEqual(new Set([known[0], known[2]]));
    for (const { modifiedAt } of updated) expect(modifiedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    expect(deleted).toMatchObject([{ id: known[1], values: [] }]);
  });
});

describe('the other ways to log in', () => {
  test('a token in the path and the cookie of a session reach the same user, and no log of the sandbox', async () => {
    await using sandbox = await startTestSandbox(notes(1));
    await using byPath = open(sandbox, { credentials: { kind: 'urlToken', token: sandbox.token } });
    await using bySession = open(sandbox, { credentials: { kind: 'session', cookie: sandbox.session } });

    const users = await Promise.all([valueOf(byPath.user()), valueOf(bySession.user())]);

    expect(users.map(({ email }) => email)).toEqual([sandbox.user.email, sandbox.user.email]);
    expect(sandbox.requests.all.filter(({ path }) => path.includes(sandbox.token))).toEqual([]);
  });
});

describe.each(['json', 'xml'] as const)('files and deletes in %s', (format) => {
  test('a file goes out with its row, comes back byte by byte, and its row is deleted once', async () => {
    await using sandbox = await startTestSandbox({
      tables: [{ name: 'Note', columns: [{ name: 'File', type: 'Attachment' }], rows: [] }],
    });
    await using origin = open(sandbox, { format });
    const table = { name: 'Note', alias: '' };
    const column = { name: 'File', alias: '' };
    const bytes = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, index) => index % 251));
    const files = [{ contentId: 'f1', name: 'Zoë €.bin', type: 'application/x-test', bytes }];
    const rows = [{ id: null, cells: [{ name: 'File', type: 'Attachment', value: 'cid:f1' }] }] as const;

    const [created] = await origin.create({ table, zone: 'UTC', rows, files });
    const record = { id: created?.id ?? 0 };
    const [revision] = await valueOf(origin.attachments({ table, column, record }));
    const chunks: Uint8Array[] = [];
    const file = await valueOf(origin.attachment({ table, column, record }, (chunk) => void chunks.push(chunk)));
    const version = { guid: revision?.guid ?? '' };
    const headers = await valueOf(origin.attachmentHeaders({ table, column, record, version }));
    const deletes = [
      await origin.delete({ table, ids: [record.id] }),
      await origin.delete({ table, ids: [record.id] }),
    ];

    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
    const facts = { name: 'Zoë €.bin', revision: revision?.revision, length: bytes.length };
    expect([file, headers]).toMatchObject([facts, facts]);
    expect(revision).toMatchObject({ name: 'Zoë €.bin', size: bytes.length });
    expect(deletes.map(([status]) => status?.status)).toEqual([200, 403]);
  });
});
