/**
 * A family of tables at a sandbox, and what its rows say about each other, by code that knows nothing of rowsync.
 * `isUnique`: every table has a column by which a row is found again.
 */
import { writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { makePlace } from '../../src/extras/putback/putback-file.ts';
import { readColumns } from '../../src/replica/bookkeeping/columns.ts';
import { readTables } from '../../src/replica/bookkeeping/tables.ts';
import { openReplica } from '../../src/replica/database.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { makeWorkspace, startRowsync } from './child.ts';
import { pushContext } from './push.ts';
import { startFixture } from './replica.ts';
import { startTestSandbox } from './sandbox.ts';
import { runCli } from './session.ts';

const text = (name: string, options: readonly string[] = []) => ({ name, type: 'Text', options });

function scan(at: number) {
  return { name: `scan; of ${at}.txt`, mediaType: 'text/plain', bytes: Buffer.from(`content of ${at}`) };
}

/**
 * Four levels. Region has a text key, the others are numbered; customers refer to each other, and links are what a
 * multi-reference keeps. Of each group of five customers two are parent and child, one is its own parent, and two are
 * each other's. The last customer stays.
 */
function familyOf(groupCount: number, isUnique: boolean): readonly TableSpec[] {
  const own = isUnique ? ['Unique'] : [];
  const count = groupCount * 5;
  const customers = Array.from({ length: count }, (_, index) => {
    const first = index - (index % 5);
    const parent = [null, first + 1, first + 3, first + 5, first + 4][index % 5] ?? null;
    return { Name: `c${index + 1}`, Region: 'N', 'Parent Customer': parent === null ? null : String(parent) };
  });
  const numbers = Array.from({ length: count + 1 }, (_, index) => index + 1);
  return [
    {
      name: 'Region',
      key: 'Code',
      columns: [{ name: 'Code', type: 'Text' }, text('Title')],
      rows: [{ Code: 'N', Title: 'North' }],
    },
    {
      name: 'Customer',
      columns: [text('Name', ['Required', ...own]), text('Region'), text('Parent Customer')],
      rows: [...customers, { Name: 'stays', Region: 'N' }],
    },
    {
      name: 'Order',
      columns: [text('Number', ['Unique', 'Required']), text('Customer', ['Required'])],
      rows: numbers.map((at) => ({ Number: `o${at}`, Customer: String(at) })),
    },
    {
      name: 'Line',
      columns: [
        text('What', own),
        text('Order Id'),
        { name: 'Scan', type: 'Attachment', options: ['AllowSeeRevisionHistory'] },
      ],
      rows: numbers.flatMap((at) =>
        ['a', 'b', 'c'].map((line) => ({
          What: `${line}${at}`,
          'Order Id': String(at),
          ...(line === 'a' ? { Scan: scan(at) } : {}),
        })),
      ),
    },
    {
      name: 'Link',
      columns: [text('Pair', own), text('Customer'), text('Order')],
      rows: numbers
        .slice(0, -1)
        .map((at) => ({ Pair: `p${at}`, Customer: String(at), Order: String((at % count) + 1) })),
    },
  ];
}

const NAMES = ['Region', 'Customer', 'Order', 'Line', 'Link'];

/** A pulled family; every command is a minute later. */
export async function startFamily({ groups = 1, isUnique = false, yaml = '' } = {}) {
  let nowMs = Date.parse('2026-11-25T08:00:00Z');
  const clock = { ...systemClock, nowMs: () => nowMs, sleep: () => Promise.resolve() };
  const sandbox = await startTestSandbox({ tables: familyOf(groups, isUnique), clock });
  const made = makeWorkspace(sandbox, yaml);
  const run = (...args: readonly string[]) => {
    nowMs += 60_000;
    return runCli(args, { folder: made.folder, clock });
  };
  const { store } = sandbox;
  const read = (table: string) => store.rows(table).map(({ id, values }) => ({ id, values }));
  await run('pull');
  return {
    sandbox,
    store,
    run,
    folder: made.folder,
    graph: () => graphOf(read),
    /** Purges all customers but the last, with what hangs on them. */
    purge: async () => {
      for (const table of NAMES.slice(1)) {
        const rows = read(table);
        const kept = new Set(table === 'Link' ? [] : rows.slice(table === 'Line' ? -3 : -1).map(({ id }) => id));
        for (const { id } of rows) if (!kept.has(id)) store.delete(table, id, { purge: true });
      }
      await run('pull', '--confirm');
    },
    wait: (ms: number) => {
      nowMs += ms;
    },
    /** Asks the replica. */
    rows: (query: string) => {
      const db = new Database(join(made.folder, 'replica.db'), { readonly: true });
      const rows = db.prepare(query).all();
      db.close();
      return rows;
    },
    /** Edits the replica as any SQL client. */
    execute: (statements: string) => {
      const db = new Database(join(made.folder, 'replica.db'));
      db.exec(statements);
      db.close();
    },
    /** What `sync_putback` says. */
    records: () => {
      const db = new Database(join(made.folder, 'replica.db.putback'), { readonly: true });
      const rows = db
        .prepare(`SELECT "table", old_id, old_key, new_id, new_key, state FROM sync_putback ORDER BY id`)
        .all();
      db.close();
      return rows as {
        table: string;
        old_id: number;
        old_key: string;
        new_id: number | null;
        new_key: string;
        state: string;
      }[];
    },
    /**
     * Runs a command in processes that are killed at so many requests, then to its end; returns how many were killed.
     */
    putBackUnderKills: async (args: readonly string[], requestCounts: readonly number[]) => {
      let killedCount = 0;
      for (const nth of requestCounts) {
        const child = startRowsync(args, { folder: made.folder });
        sandbox.before(nth, () => child.process.kill('SIGKILL'));
        await child.end;
        if (child.process.signalCode === 'SIGKILL') killedCount += 1;
      }
      await run(...args);
      return killedCount;
    },
    [Symbol.asyncDispose]: async () => {
      made[Symbol.dispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

/**
 * An empty database with the tables of a family, in another order, so that their ids differ; `other.yaml` in its folder
 * is the configuration.
 */
export async function startOther(
  family: { readonly folder: string },
  { isUnique = false, change = (tables: readonly TableSpec[]): readonly TableSpec[] => tables } = {},
) {
  const tables = familyOf(0, isUnique)
    .toReversed()
    .map((table) => ({ ...table, rows: [] }));
  const changed = change(tables);
  const sandbox = await startTestSandbox({ tables: [{ name: 'First', columns: [text('A')] }, ...changed] });
  writeFileSync(join(family.folder, 'other-token'), sandbox.token, { mode: 0o600 });
  writeFileSync(
    join(family.folder, 'other.yaml'),
    `origin: { url: "${sandbox.url}", database: "${sandbox.database}", tokenFile: other-token }\nreplica: { path: other.db }\n`,
  );
  const { store } = sandbox;
  return {
    sandbox,
    store,
    graph: () => graphOf((table) => (changed.some(({ name }) => name === table) ? store.rows(table) : [])),
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}

/**
 * Rows by what they say, with references as what the other row says: nothing of ids and keys. Knows nothing of rowsync.
 */
function graphOf(read: (table: string) => readonly { values: Readonly<Record<string, unknown>> }[]): readonly string[] {
  const byKey = new Map(
    ['Customer', 'Order'].map((table) => [table, new Map(read(table).map(({ values }) => [values['Id'], values]))]),
  );
  const said = (table: string, key: unknown, column: string): unknown =>
    key === null || key === '' ? null : (byKey.get(table)?.get(key)?.[column] ?? `? ${JSON.stringify(key)}`);
  const order = (key: unknown): unknown => said('Order', key, 'Number');
  const customer = (key: unknown): unknown => said('Customer', key, 'Name');
  return [
    ...read('Region').map(({ values }) => ['Region', values['Code'], values['Title']]),
    ...read('Customer').map(({ values }) => [
      'Customer',
      values['Name'],
      values['Region'],
      customer(values['Parent Customer']),
    ]),
    ...read('Order').map(({ values }) => ['Order', values['Number'], customer(values['Customer'])]),
    ...read('Line').map(({ values }) => [
      'Line',
      values['What'],
      order(values['Order Id']),
      String(values['Scan']).replace(/;\d+;[^;]*$/, ''),
    ]),
    ...read('Link').map(({ values }) => ['Link', customer(values['Customer']), order(values['Order'])]),
  ]
    .map((row) => JSON.stringify(row))
    .toSorted();
}

/** A customer has many orders; both tables are numbered. */
const SHOP: readonly TableSpec[] = [
  {
    name: 'Customer',
    columns: [text('Name', ['Unique']), text('City')],
    rows: ['Ada', 'Bob', 'Cem'].map((Name) => ({ Name, City: 'Ghent' })),
  },
  {
    name: 'Order',
    columns: [text('Number', ['Unique']), text('Customer')],
    rows: ['1', '1', '2', '3'].map((Customer, index) => ({ Number: `o${index + 1}`, Customer })),
  },
];

/** A pulled shop with history, in this process: for tests that need no command. Each pull is a minute later. */
export async function startShop(tables: readonly TableSpec[] = SHOP) {
  let nowMs = Date.parse('2026-11-25T08:00:00Z');
  const clock = { ...systemClock, nowMs: () => nowMs, sleep: () => Promise.resolve() };
  const history = { keepDays: 30, bytesMax: 1_000_000 };
  const settings = { maxDeletePercent: 100, tableOptions: () => ({ sort: null, history }) };
  const fixture = await startFixture({ tables, clock }, { clock, settings });
  const pull = async () => {
    nowMs += 60_000;
    const report = await fixture.pull({ confirm: true });
    if (report.error !== null) throw report.error;
  };
  await pull();
  return Object.assign(fixture, {
    store: fixture.sandbox.store,
    /** Time passes, then all tables are pulled. */
    pullLater: async (ms = 0) => {
      nowMs += ms;
      await pull();
    },
    nowMs: () => nowMs,
    /** Rows are purged at the origin, and leave the replica. */
    lose: async (table: string, ...ids: readonly number[]) => {
      for (const id of ids) fixture.sandbox.store.delete(table, id, { purge: true });
      await pull();
    },
    table: (name: string) => {
      const found = readTables(fixture.replica).find((table) => table.name === name);
      if (found === undefined) throw new Error(`no table ${name}`);
      return found;
    },
    /** The origin's id of a column. */
    columnId: (table: string, name: string) => {
      const { id } = readTables(fixture.replica).find((each) => each.name === table) ?? { id: 0 };
      return readColumns(fixture.replica, id).find((column) => column.name === name)?.id ?? 0;
    },
  });
}

/** The small replica of a shop in which rows are put back, opened as a command opens it. */
export async function openPlace(
  shop: Awaited<ReturnType<typeof startShop>>,
  { workflow = null, isElsewhere = false }: Partial<Parameters<typeof makePlace>[1]> = {},
) {
  const context = shop.context();
  const replica = openReplica(`${shop.path}.putback`, { clock: context.clock });
  const push = pushContext({ ...shop, replica }, { clock: context.clock });
  const close = () => replica.close();
  try {
    const place = await makePlace({ pull: { ...context, replica }, push }, { workflow, isElsewhere });
    return { place, replica, [Symbol.dispose]: close };
  } catch (thrown) {
    close();
    throw thrown;
  }
}
