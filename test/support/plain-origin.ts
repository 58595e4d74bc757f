/**
 * An origin that says exactly what a test says. Descriptors of tables and their rows as JSON texts, byte by byte, and a
 * replica that is pulled from it. For what a sandbox cannot say, because it keeps rules of its own.
 *
 *    await using plain = await startPlain([{ id: 1, name: 'Note', columns: [{ id: 10, name: 'Title', type: 'Text' }],
 *      rows: '[{"@row.id":1,"Title":"a"}]' }]);
 *    await plain.pull();  plain.rows('SELECT * FROM "Note"');
 */
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import Database from 'better-sqlite3';

import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin } from '../../src/origin/client.ts';
import type { PullSettings } from '../../src/pull/context.ts';
import { pull } from '../../src/pull/pull.ts';
import type { PullReport } from '../../src/pull/report.ts';
import { openReplica, type Replica } from '../../src/replica/database.ts';
import { http, startFaultServer, type FaultServer } from './fault-server.ts';
import { temporaryFolder } from './replica.ts';

/** A table as the origin describes it, and the text of its only page. */
export interface PlainTable {
  readonly id: number;
  readonly name: string;
  readonly columns: readonly { readonly id: number; readonly name: string; readonly type: string }[];
  readonly rows: string;
  /** Whether the page comes compressed. */
  readonly isCompressed?: boolean;
}

/** An origin and a replica of it. */
export interface Plain {
  readonly server: FaultServer;
  readonly replica: Replica;
  readonly folder: string;
  /** The tables that the origin has; may be changed. */
  tables: readonly PlainTable[];
  pull(): Promise<PullReport>;
  /** Reads the replica through a connection of its own; whole numbers are bigint. */
  rows(query: string): readonly Record<string, unknown>[];
  /** The first row of a query: names of columns and values, in order, so that no name can mean anything else. */
  cells(query: string): readonly (readonly [string, unknown])[];
  /** Runs SQL as another SQL client would. */
  execute(statements: string): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts an origin with these tables and an empty replica. */
export async function startPlain(
  tables: readonly PlainTable[],
  tableOptions: PullSettings['tableOptions'] = () => ({ sort: null }),
): Promise<Plain> {
  const folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  const state = { tables };
  const server = await startFaultServer((_nth, request) => answer(state.tables, request.path, request.headers));
  const replica = openReplica(path, { clock: systemClock });
  const origin = openOrigin(
    { url: server.url, database: '1', credentials: { kind: 'bearer', token: 'a-token' } },
    { clock: { ...systemClock, sleep: async () => undefined }, log: silentLogger },
  );
  const using = <T>(use: (db: Database.Database) => T): T => {
    const db = new Database(path);
    try {
      return use(db);
    } finally {
      db.close();
    }
  };
  return Object.assign(state, {
    server,
    replica,
    folder: folder.path,
    pull: () => {
      const settings = { pageRows: 500, maxDeletePercent: 50, concurrency: 4, tableOptions };
      const context = { origin, replica, clock: systemClock, log: silentLogger, settings };
      return pull(context, { tables: [], confirm: false });
    },
    rows: (query: string) => using((db) => db.prepare<[], Record<string, unknown>>(query).safeIntegers().all()),
    cells: (query: string) =>
      using((db) => {
        const statement = db.prepare(query);
        const values = statement.raw().safeIntegers().get() as readonly unknown[];
        return statement.columns().map(({ name }, index) => [name, values[index]] as const);
      }),
    execute: (statements: string) => void using((db) => db.exec(statements)),
    [Symbol.asyncDispose]: async () => {
      replica.close();
      await origin.close();
      await server.stop();
      folder[Symbol.dispose]();
    },
  });
}

const WRITABLE = { dataOptions: '', displayOptions: '', kind: 'Updatable', readOnly: false };

function answer(tables: readonly PlainTable[], path: string, headers: Readonly<Record<string, string>>): Buffer {
  const [, segment = '', method = ''] = /^\/secure\/api\/v2\/1(?:\/t_(\d+))?\/(\w+)\.json/.exec(path) ?? [];
  const table = tables.find(({ id }) => String(id) === segment);
  const body = ((): string => {
    if (method === 'user') return JSON.stringify({ id: 1, email: 'a@example.org', role: 'Admin', timezone: 'UTC' });
    if (table === undefined) {
      const summaries = tables.map(({ id, name }) => ({ id, recordName: name, alias: `t_${id}` }));
      return JSON.stringify({ id: '1', name: 'plain', tables: method === 'describe' ? summaries : [] });
    }
    if (method !== 'describe') return path.includes('skip=') ? '[]' : table.rows;
    const columns = table.columns.map(({ id, name, type }) => ({ id, name, alias: `c_${id}`, type, ...WRITABLE }));
    return JSON.stringify({
      id: table.id,
      recordName: table.name,
      alias: `t_${table.id}`,
      key: '',
      columns,
      views: [],
    });
  })();
  const etag = `"${body.length}"`;
  if (headers['if-none-match'] === etag) return http(304, { ETag: etag });
  const isCompressed = table?.isCompressed === true && method === 'select';
  const type = { 'Content-Type': 'application/json', ETag: etag };
  return isCompressed ? http(200, { ...type, 'Content-Encoding': 'gzip' }, gzipSync(body)) : http(200, type, body);
}
