/**
 * The writing half of the specification as statements about any server that claims to speak it (sections 2.4 to 2.8,
 * 4.6 to 4.9 and 7). Against a real database it runs only where ROWSYNC_CONTRACT_WRITE names a table; rows are created
 * in it and deleted again, nothing else is touched. The table needs a Text column that may be left with any value.
 */
import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest';

import type { ColumnFields, RowFields, TableFields } from '../../src/extras/questions/server.ts';
import { fill, isFree, planWriting, type WritingPlan } from '../../src/extras/questions/writing.ts';
import { keepRows, needFor, openTarget, query, segment, type Target } from './target.ts';

interface Status {
  readonly status: number;
  readonly id?: number;
  readonly key?: string;
  readonly errors?: readonly { readonly error: number; readonly code: number; readonly message: string }[];
  readonly error?: { readonly error: number; readonly code: number; readonly message: string };
}

let target: Target;
let plan: WritingPlan | null = null;
let kept: Awaited<ReturnType<typeof keepRows>> | null = null;
let serial = 0;

beforeAll(async () => {
  target = await openTarget();
  if (target.writable === null) return;
  plan = planWriting(target.writable);
  if (plan !== null) kept = await keepRows(target, target.writable, plan.mark);
});

afterAll(async () => {
  await kept?.clean();
  await target.stop();
});

function need<T>(subject: T | undefined | null, what: string, context: TestContext): T {
  return needFor(target, subject, what, context);
}

/** The table, a column to write texts to, and a text that no other client uses. */
function start(context: TestContext): { table: TableFields; text: string; unique: string } {
  const table = need(target.writable, 'table that may be written to', context);
  const { mark } = need(plan, 'Text column to write to', context);
  need(plan?.unfilled.length === 0 ? plan : null, 'value for each Required column', context);
  serial += 1;
  return { table, text: mark.name, unique: `${kept?.marker} ${serial}` };
}

/** A new row with what is required of one. */
function newRow(cells: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  serial += 1;
  return { ...(plan === null ? {} : fill(plan, kept?.marker ?? '', serial)), ...cells };
}

function columnFor(table: TableFields, type: string): ColumnFields | undefined {
  return table.columns.find((column) => column.type === type && isFree(column));
}

async function write(
  method: string,
  table: TableFields,
  rows: readonly Readonly<Record<string, unknown>>[],
  parameters = '',
): Promise<readonly Status[]> {
  const answer = await target.call(`${table.alias}/${method}.json${parameters}`, {
    verb: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(method === 'update' ? rows : rows.map(newRow)),
  });
  expect(answer.status).toBe(200);
  const statuses = JSON.parse(answer.text) as readonly Status[];
  return statuses;
}

async function read(table: TableFields, id: number | undefined, columns: readonly string[]): Promise<RowFields> {
  const pairs = [['id', id ?? 0] as const, ...columns.map((name) => ['column', name] as const)];
  const rows = (await target.json(`${table.alias}/retrieve.json?${query(...pairs)}`)) as readonly RowFields[];
  expect(rows).toHaveLength(1);
  return rows[0] as RowFields;
}

describe('create, update, upsert (4.6)', () => {
  // Specification, sandbox: 2.6-1, 2.6-2, 2.6-3, 4.6-1, 4.6-11, 4.6-26, 4.6-28
  test('creates rows: 201, an integer id, the key as a string, in input order', async (context) => {
    const { table, text, unique } = start(context);

    const statuses = await write('create', table, [{ [text]: `${unique} a` }, { [text]: `${unique} b` }]);

    expect(statuses).toMatchObject([
      { status: 201, id: expect.any(Number) as number, key: expect.any(String) as string },
      { status: 201, id: expect.any(Number) as number, key: expect.any(String) as string },
    ]);
    expect((await read(table, statuses[0]?.id, [text]))[text]).toBe(`${unique} a`);
    expect((await read(table, statuses[1]?.id, [text]))[text]).toBe(`${unique} b`);
  });

  // Specification, sandbox: 2.5-6, 4.6-6, 4.6-27, 4.6-29
  test('updates by id and by key; an unchanged row is 304', async (context) => {
    const { table, text, unique } = start(context);
    const [made] = await write('create', table, [{ [text]: unique }]);

    expect(await write('update', table, [{ '@row.id': made?.id, [text]: `${unique} 2` }])).toMatchObject([
      { status: 200, id: made?.id },
    ]);
    expect(await write('update', table, [{ [table.key]: made?.key, [text]: `${unique} 3` }])).toMatchObject([
      { status: 200, id: made?.id },
    ]);
    expect(await write('update', table, [{ '@row.id': made?.id, [text]: `${unique} 3` }])).toMatchObject([
      { status: 304, id: made?.id },
    ]);
    expect((await read(table, made?.id, [text]))[text]).toBe(`${unique} 3`);
  });

  // Specification, sandbox: 2.6-5, 2.7-1, 2.7-3, 4.6-17, 4.6-30, 4.6-31
  test('a failed row leaves the others alone, and says why', async (context) => {
    const { table, text, unique } = start(context);

    const statuses = await write('update', table, [
      { '@row.id': 2_147_483_600, [text]: unique },
      { 'No such column here': 1 },
    ]);
    const [mixed] = await write('upsert', table, [{ [text]: unique }, { 'No such column here': 1 }]);

    for (const status of statuses) {
      expect(status.status).toBeGreaterThanOrEqual(400);
      expect(status.errors?.[0]).toMatchObject({
        error: expect.any(Number) as number,
        message: expect.any(String) as string,
      });
    }
    expect(mixed?.status).toBe(201);
  });

  // Specification, sandbox: 4.6-18, 7-1
  test('create refuses a key that exists', async (context) => {
    const { table, text, unique } = start(context);
    const [made] = await write('create', table, [{ [text]: unique }]);

    const [again] = await write('create', table, [{ [table.key]: made?.key, [text]: unique }]);

    expect(again).toMatchObject({ status: 400, errors: [{ error: 409 }] });
  });

  // Specification, sandbox: 4.6-23, 4.6-24
  test('upsert creates what does not exist and updates what does', async (context) => {
    const { table, text, unique } = start(context);
    const [made] = await write('upsert', table, [{ [text]: unique }]);

    const [again] = await write('upsert', table, [{ [table.key]: made?.key, [text]: `${unique} 2` }]);

    expect(made?.status).toBe(201);
    expect(again).toMatchObject({ status: 200, id: made?.id });
  });

  // Specification, sandbox: 4.6-22
  test('the id takes precedence over the key of another row, which stays as it is', async (context) => {
    const { table, text, unique } = start(context);
    const [one, other] = await write('create', table, [{ [text]: `${unique} 1` }, { [text]: `${unique} 2` }]);

    const [status] = await write('update', table, [
      { '@row.id': one?.id, [table.key]: other?.key, [text]: `${unique} 1b` },
    ]);

    // The row that the id names is updated without its key, or refused because the key is taken.
    expect(status?.id ?? one?.id).toBe(one?.id);
    expect([200, 400, 409]).toContain(status?.status);
    const after = status?.status === 200 ? `${unique} 1b` : `${unique} 1`;
    expect((await read(table, one?.id, [text]))[text]).toBe(after);
    expect((await read(table, other?.id, [text]))[text]).toBe(`${unique} 2`);
  });

  // Specification, sandbox: 4.6-4
  test('match finds the row by a unique column', async (context) => {
    const { table, text, unique } = start(context);
    const match = need(
      table.columns.find((column) => column.type === 'Text' && /Unique/.test(column.dataOptions) && isFree(column)),
      'unique Text column to match by',
      context,
    );
    const parameters = `?${query(['match', match.name])}`;
    const [made] = await write('upsert', table, [{ [match.name]: unique, [text]: unique }], parameters);
    const [again] = await write('upsert', table, [{ [match.name]: unique, [text]: `${unique} 2` }], parameters);

    expect(made?.status).toBe(201);
    expect(again).toMatchObject({ status: 200, id: made?.id });
  });

  test('match by a column that is not unique is refused with code 3106', async (context) => {
    const { table, text, unique } = start(context);

    const answer = await target.call(`${table.alias}/upsert.json?${query(['match', text])}`, {
      verb: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify([newRow({ [text]: unique })]),
    });

    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ error: 400, code: 3106 });
  });

  // Specification, sandbox: 2.4-1
  test('null empties a cell', async (context) => {
    const { table, text, unique } = start(context);
    const column = need(columnFor(table, 'Multiline'), 'Multiline column to write to', context);
    const [made] = await write('create', table, [{ [text]: unique, [column.name]: 'x' }]);

    await write('update', table, [{ '@row.id': made?.id, [column.name]: null }]);

    expect((await read(table, made?.id, [column.name]))[column.name]).toBeNull();
  });

  // Specification, sandbox: 2.4-5, 2.4-7, 2.4-9, 2.4-11, 2.4-14, 2.4-19
  test.for([
    ['Multiline', 'one\ntwo', 'one\r\ntwo'],
    ['Checkbox', true, true],
    ['Numeric', 1234.5, 1234.5],
    ['Date', '2024-02-29', '2024-02-29T00:00:00+00:00'],
    ['Time', '23:59:58', '0001-01-01T23:59:58+00:00'],
    ['Duration', 5400, 5400],
  ] as const)('%s: %j is stored and read as the specification says', async ([type, sent, expected], context) => {
    const { table, text, unique } = start(context);
    const column = need(columnFor(table, type), `${type} column to write to`, context);

    const [made] = await write('create', table, [{ [text]: unique, [column.name]: sent }]);

    expect(made?.status).toBe(201);
    expect((await read(table, made?.id, [column.name]))[column.name]).toBe(expected);
  });

  // Specification, sandbox: 2.4-17, 2.4-35
  test("Timestamp without an offset is in the calling user's zone", async (context) => {
    const { table, text, unique } = start(context);
    const column = need(columnFor(table, 'Timestamp'), 'Timestamp column to write to', context);

    const [made] = await write('create', table, [{ [text]: unique, [column.name]: '2026-07-01T12:34:56' }]);

    const value = (await read(table, made?.id, [column.name]))[column.name];
    expect(value).toMatch(/^2026-07-01T12:34:56[+-]\d\d:\d\d$/);
  });

  // Specification, sandbox: 1-2, 2.4-4, 4.6-10, 4.6-13, 4.6-14
  test('XML in and JSON out, JSON in and XML out', async (context) => {
    const { table, text, unique } = start(context);
    const column = columnFor(table, 'Text');
    const cells = Object.entries(newRow({ [text]: `${unique} &lt;x&gt;` })).map(([name, value]) => {
      const xmlName = name.replaceAll(' ', '_x0020_');
      return `<${xmlName}>${String(value)}</${xmlName}>`;
    });
    expect(column).toBeDefined();

    const fromXml = await target.call(`${table.alias}/create.json`, {
      verb: 'POST',
      headers: { 'Content-Type': 'text/xml' },
      body: `<anything><record>${cells.join('')}</record></anything>`,
    });
    const statuses = JSON.parse(fromXml.text) as readonly Status[];
    const toXml = await target.call(`${table.alias}/update.xml`, {
      verb: 'POST',
      headers: { 'Content-Type': 'application/json; charset=utf-8' },
      body: JSON.stringify([{ '@row.id': statuses[0]?.id, [text]: `${unique} 2` }]),
    });

    expect(statuses).toMatchObject([{ status: 201 }]);
    expect(toXml.text).toMatch(/<Response[^>]*><row>(?:<id>\d+<\/id>|<key>[^<]*<\/key>|<status>200<\/status>)+<\/row>/);
    expect((await read(table, statuses[0]?.id, [text]))[text]).toBe(`${unique} 2`);
  });

  test.each([
    ['no JSON', 'application/json', '[{', 400],
    ['no XML', 'text/xml', '<a><b>', 400],
    ['nothing', 'application/json', '', 400],
    ['a media type that is not understood', 'image/png', 'x', 415],
    ['multipart without a boundary', 'multipart/related', 'x', 400],
  ])('refuses a body that is %s', async (_what, type, body, status) => {
    const table = target.writable;
    if (table === null) return; // read-only run: nothing may be posted
    const answer = await target.call(`${table.alias}/create.json`, {
      verb: 'POST',
      headers: { 'Content-Type': type },
      body,
    });

    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ error: status });
  });
});

describe('delete (4.7)', () => {
  // Specification, sandbox: 2.6-4, 2.6-6, 2.7-1, 2.7-2, 4.7-2, 4.7-8, 4.7-9, 4.7-10, 4.7-11
  test('deletes each record by itself, with HTTP 200 for the whole', async (context) => {
    const { table, text, unique } = start(context);
    const [made] = await write('create', table, [{ [text]: unique }]);

    const answer = await target.call(`${table.alias}/delete.json?id=${made?.id}&id=2147483600&purge=1`);

    expect(answer.status).toBe(200);
    expect(answer.headers.get('etag')).toBeNull();
    expect(JSON.parse(answer.text)).toMatchObject([
      { status: 200, id: made?.id },
      { status: 403, id: 2_147_483_600, error: { error: 403, code: 4000 } },
    ]);
    expect(await target.json(`${table.alias}/retrieve.json?id=${made?.id}`)).toEqual([]);
  });

  // Specification, sandbox: 4.7-1
  test('deletes by key', async (context) => {
    const { table, text, unique } = start(context);
    const [made] = await write('create', table, [{ [text]: unique }]);

    const statuses = (await target.json(
      `${table.alias}/delete.json?${query(['key', made?.key ?? ''])}&purge=1`,
    )) as readonly Status[];

    expect(statuses).toMatchObject([{ status: 200, key: made?.key }]);
  });

  // Specification, sandbox: 2.1-7, 4.7-6
  test('refuses keys mixed with ids, and none at all', async (context) => {
    const { table } = start(context);

    expect(await target.call(`${table.alias}/delete.json?key=none&id=2147483600`)).toMatchObject({ status: 400 });
    expect(await target.call(`${table.alias}/delete.json`)).toMatchObject({ status: 400 });
  });
});

describe('attachments (4.6, 4.8, 4.9)', () => {
  const BYTES = Uint8Array.from({ length: 3000 }, (_, index) => (index * 7) % 256);

  /** The body as the specification describes it, written out by hand. */
  function multipart(boundary: string, rows: unknown): Buffer {
    return Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Type: application/json\r\n\r\n${JSON.stringify(rows)}\r\n`),
      Buffer.from(
        `--${boundary}\r\nContent-Disposition: attachment; filename="résumé; 1.bin"\r\n` +
          'Content-Type: application/x-contract\r\nContent-ID: file1\r\n\r\n',
      ),
      BYTES,
      Buffer.from(`\r\n--${boundary}--`),
    ]);
  }

  async function attach(context: TestContext): Promise<{ table: TableFields; column: ColumnFields; status: Status }> {
    const { table, text, unique } = start(context);
    const column = need(columnFor(table, 'Attachment'), 'Attachment column to write to', context);
    const answer = await target.call(`${table.alias}/create.json`, {
      verb: 'POST',
      headers: { 'Content-Type': 'multipart/related; boundary=contract0123456789' },
      body: multipart('contract0123456789', [newRow({ [text]: unique, [column.name]: 'cid:file1' })]),
    });
    const statuses = JSON.parse(answer.text) as readonly Status[];
    expect(statuses).toMatchObject([{ status: 201 }]);
    return { table, column, status: statuses[0] as Status };
  }

  // Specification, sandbox: 2.8-1, 2.8-2, 2.8-3, 2.8-4, 4.8-1, 4.8-3, 4.8-5
  test('a file sent with a row is listed with all its fields', async (context) => {
    const { table, column, status } = await attach(context);

    const list = await target.json(`${table.alias}/${segment(column.name)}/attachments.json?id=${status.id}`);

    expect(list).toEqual([
      expect.objectContaining({
        name: 'résumé; 1.bin',
        revision: 1,
        type: 'application/x-contract',
        size: BYTES.length,
        guid: expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i) as string,
        author: expect.stringMatching(/<[^>]+@[^>]+>$/) as string,
        created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/) as string,
      }),
    ]);
  });

  // Specification, sandbox: 4.6-9, 4.9-1, 4.9-5, 4.9-7, 4.9-8, 4.9-9, 4.9-10, 4.9-11, 4.9-12, 4.9-13, 4.9-14, 4.9-15
  test('the file comes back byte for byte, by id, by key and by guid, with the headers of 4.9', async (context) => {
    const { table, column, status } = await attach(context);
    const path = `${table.alias}/${segment(column.name)}`;
    const [info] = (await target.json(`${path}/attachments.json?id=${status.id}`)) as readonly { guid: string }[];
    const load = async (rest: string): Promise<{ bytes: Buffer; headers: Headers; status: number }> => {
      const response = await fetch(`${target.root}/${path}/${rest}`, {
        headers: { Authorization: `Bearer ${target.token}` },
      });
      return {
        bytes: Buffer.from(await response.arrayBuffer()),
        headers: response.headers,
        status: response.status,
      };
    };

    const byId = await load(`attachment?id=${status.id}`);
    const others = [
      await load(`attachment?${query(['key', status.key ?? ''])}`),
      await load(`attachment?id=${status.id}&guid=${info?.guid}`),
      await load(`attachment/${info?.guid}?id=${status.id}`),
      await load(`attachment?id=${status.id}&revision=1`),
    ];

    expect(byId.bytes.equals(BYTES)).toBe(true);
    for (const other of others) expect(other.bytes.equals(BYTES)).toBe(true);
    expect(byId.headers.get('x-revision')).toBe('1');
    expect(byId.headers.get('content-type')).toMatch(/^application\/x-contract/);
    expect(byId.headers.get('content-length')).toBe(String(BYTES.length));
    expect(byId.headers.get('content-disposition')).toMatch(/^attachment;.*filename\*=UTF-8''r%C3%A9sum%C3%A9/i);
    expect(byId.headers.get('last-modified')).toMatch(/ GMT$/);
    expect(byId.headers.get('x-author')).toMatch(/@/);
    expect(byId.headers.get('cache-control')).toBe('private, must-revalidate, max-age=0');
    expect(byId.headers.get('etag')).not.toBeNull();
  });

  // Specification, sandbox: 4.9-2
  test('HEAD returns the headers alone', async (context) => {
    const { table, column, status } = await attach(context);

    const answer = await target.call(`${table.alias}/${segment(column.name)}/attachment?id=${status.id}`, {
      verb: 'HEAD',
    });

    expect(answer.status).toBe(200);
    expect(answer.text).toBe('');
    expect(answer.headers.get('content-length')).toBe(String(BYTES.length));
    expect(answer.headers.get('x-revision')).toBe('1');
  });

  test('the cell reads name;revision;guid', async (context) => {
    const { table, column, status } = await attach(context);

    expect((await read(table, status.id, [column.name]))[column.name]).toMatch(/^résumé; 1\.bin;1;[0-9a-f-]{36}$/i);
  });
});
