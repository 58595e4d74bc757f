import { beforeAll, describe, expect, test } from 'vitest';

import type { Sandbox } from '../../../src/sandbox/main.ts';
import { sampleTables } from '../../../src/sandbox/data/sample.ts';
import type { CellInput, TableSpec } from '../../../src/sandbox/store/spec.ts';
import { COLUMN_TYPES } from '../../../src/wire/schema.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { call, post } from '../client.ts';

interface Counted {
  readonly spec: TableSpec;
  readonly rows: readonly Readonly<Record<string, CellInput>>[];
}

function read(seed: number): readonly Counted[] {
  return sampleTables(seed).map((spec) => ({ spec, rows: [...(spec.rows ?? [])] }));
}

/** Everything as one text; bytes of files and long integers included. */
function asText(tables: readonly Counted[]): string {
  return JSON.stringify(
    tables.map(({ rows }) => rows),
    (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
  );
}

describe('the sample data', () => {
  let tables: readonly Counted[] = [];
  beforeAll(() => {
    tables = read(1);
  });

  test('has at least 8 tables and 20,000 rows', () => {
    expect(tables.length).toBeGreaterThanOrEqual(8);
    expect(tables.reduce((sum, { rows }) => sum + rows.length, 0)).toBeGreaterThanOrEqual(20_000);
  });

  test('is the same for the same seed and another for another', () => {
    expect(asText(read(1))).toBe(asText(tables));
    expect(asText(read(2))).not.toBe(asText(tables));
  });

  test('has every column type, and computed columns', () => {
    const columns = tables.flatMap(({ spec }) => spec.columns);
    const keys = tables.some(({ spec }) => spec.key === undefined) ? ['Autonumber'] : [];

    const types = new Set([...columns.map(({ type }) => type), ...keys]);

    expect(COLUMN_TYPES.filter((type) => type !== 'Unknown' && !types.has(type))).toEqual([]);
    expect(columns.filter(({ computed }) => computed !== undefined).length).toBeGreaterThanOrEqual(3);
  });

  test.each([
    ['a space', / /],
    ['an accent', /[À-ÿ]/],
    ['a slash', /\//],
    ['a double quote', /"/],
  ])('has a table name with %s', (_what, pattern) => {
    expect(tables.filter(({ spec }) => pattern.test(spec.name))).not.toEqual([]);
  });

  test.each([
    ['a space', / /],
    ['an accent', /[À-ÿ]/],
    ['a slash', /\//],
    ['an apostrophe', /'/],
  ])('has a column name with %s', (_what, pattern) => {
    expect(tables.flatMap(({ spec }) => spec.columns).filter(({ name }) => pattern.test(name))).not.toEqual([]);
  });

  test('has an empty table, and one of several whole pages', () => {
    const counts = tables.map(({ rows }) => rows.length);

    expect(counts).toContain(0);
    expect(counts.filter((count) => count > 500 && count % 500 === 0)).not.toEqual([]);
    expect(counts.filter((count) => count > 500 && count % 500 !== 0)).not.toEqual([]);
  });

  test('has nulls, multi-line texts and numbers that a double cannot hold', () => {
    const cells = tables.flatMap(({ rows }) => rows).flatMap((row) => Object.values(row));

    expect(cells).toContain(null);
    expect(cells.some((cell) => typeof cell === 'string' && cell.includes('\n'))).toBe(true);
    expect(cells.some((cell) => typeof cell === 'bigint' && !Number.isSafeInteger(Number(cell)))).toBe(true);
    expect(cells.some((cell) => typeof cell === 'string' && /^\d+\.\d{16}$/.test(cell))).toBe(true);
  });
});

test('is served whole: every page of every table is JSON with as many rows as the store has', async () => {
  await using sandbox = await startTestSandbox();

  for (const table of sandbox.store.catalog.tables) {
    const columns = table.columns.map(({ alias }) => `column=${alias}`).join('&');
    let count = 0;
    for (let skip = 0; skip <= sandbox.store.count(table.name); skip += 500) {
      const answer = await call(sandbox, `${table.alias}/select.json?${columns}&skip=${skip}`);
      const rows = JSON.parse(answer.text) as object[];
      expect(Object.keys(rows[0] ?? {}).length).toBe(rows.length === 0 ? 0 : table.columns.length + 2);
      count += rows.length;
    }
    expect(count).toBe(sandbox.store.count(table.name));
  }
});

test('refers to rows that exist', async () => {
  await using sandbox = await startTestSandbox();

  const line = sandbox.store.rows('Order Line').find(({ values }) => values['Product Name'] === null);
  const order = sandbox.store.rows('Order').find(({ values }) => values['Customer Name'] === null);

  expect(line).toBeUndefined();
  expect(order).toBeUndefined();
});

describe('the users of the sample', () => {
  const roles = ['Administrator', 'Staff', 'Reader', 'Trainee'] as const;

  async function asEach(
    send: (sandbox: Sandbox, authorization: string) => Promise<{ readonly status: number; readonly text: string }>,
  ): Promise<readonly string[]> {
    await using sandbox = await startTestSandbox();
    const answers: string[] = [];
    for (const role of roles) {
      const { token = '' } = sandbox.users.find((user) => user.role === role) ?? {};
      const { status, text } = await send(sandbox, `Bearer ${token}`);
      const rows = status === 200 ? (JSON.parse(text) as { readonly status?: number; '@row.allow'?: string }[]) : [];
      answers.push(`${status} ${rows[0]?.status ?? rows[0]?.['@row.allow'] ?? ''}`.trim());
    }
    return answers;
  }

  test('may change rows, or their own alone, or none', async () => {
    const allowed = await asEach((sandbox, authorization) =>
      call(sandbox, 'Customer/select.json?top=1', { authorization }),
    );
    const written = await asEach((sandbox, authorization) =>
      post(sandbox, 'Customer/update.json', { Id: '1', Segment: 'Other' }, { authorization }),
    );

    expect(allowed).toEqual(['200 Edit, Delete', '200 Edit, Delete', '200', '200']);
    expect(written).toEqual(['200 200', '200 304', '403', '200 403']);
  });

  test('may suppress workflow rules only with ManageData', async () => {
    const written = await asEach((sandbox, authorization) =>
      post(sandbox, 'Customer/update.json?workflow=0', { Id: '1', Segment: 'Other' }, { authorization }),
    );

    expect(written).toEqual(['200 200', '403', '403', '403']);
  });

  test('see every table, but for one of them', async () => {
    const seen = await asEach((sandbox, authorization) =>
      call(sandbox, 'Employee/select.json?top=1', { authorization }),
    );

    expect(seen).toEqual(['200 Edit, Delete', '200 Edit, Delete', '200', '403']);
  });

  test('see every column, but for one of them', async () => {
    const seen = await asEach((sandbox, authorization) =>
      call(sandbox, 'Customer/select.json?top=1&column=Cr%C3%A9dit%20accord%C3%A9', { authorization }),
    );

    expect(seen).toEqual(['200 Edit, Delete', '200 Edit, Delete', '200', '403']);
  });

  test('see times in their own time zone', async () => {
    await using sandbox = await startTestSandbox();
    const times: string[] = [];
    for (const role of roles) {
      const { token = '' } = sandbox.users.find((user) => user.role === role) ?? {};
      const path = 'Order/select.json?top=1&column=Ordered%20At';
      const { text } = await call(sandbox, path, { authorization: `Bearer ${token}` });
      times.push(/"Ordered At":"([^"]+)"/.exec(text)?.[1] ?? text);
    }

    expect(new Set(times.map((time) => Date.parse(time))).size).toBe(1);
    expect(times.map((time) => time.slice(-6))).toEqual(['+01:00', '+01:00', '+05:30', '+01:00']);
  });
});

test('has workflow rules that change what was written', async () => {
  await using sandbox = await startTestSandbox({ clock: testClock() });

  const paid = await post(sandbox, 'Order/create.json', { Customer: '1', Status: 'New', Paid: true });
  const claim = await post(sandbox, 'R%C3%A9clamation%20%2F%20Claim/create.json', { Order: 'SO-000001' });

  expect(paid.text).toBe('[{"status":201,"id":4001,"key":"SO-004001"}]');
  expect(sandbox.store.rows('Order').at(-1)?.values).toMatchObject({
    Status: 'Confirmed',
    'Ordered At': '2026-01-01T00:00:00Z',
  });
  expect(claim.status).toBe(200);
  expect(sandbox.store.rows('Réclamation / Claim').at(-1)?.values).toMatchObject({
    'Handled By': 'Alice Martin <alice.martin@example.com>',
  });
});

test('addresses have no two dots in a row', () => {
  const customers = sampleTables(1).find(({ name }) => name === 'Customer');
  const addresses = [...(customers?.rows ?? [])].flatMap((row) => [row['E-Mail'], row['Website']]);

  const texts = addresses.filter((address) => typeof address === 'string');
  expect(texts.length).toBeGreaterThan(1000);
  expect(texts.filter((address) => address.includes('..'))).toEqual([]);
});
