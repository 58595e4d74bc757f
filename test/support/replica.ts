/**
 * A replica in a temporary folder, and a pull from a test sandbox into it, as the command line would make it.
 *
 *    await using fixture = await startFixture({ tables: [...] });      // a test sandbox, an origin client, a replica
 *    const report = await fixture.pull();                              // or pull({ tables: ['Note'], confirm: true })
 *    fixture.rows('SELECT "Title" FROM "Note" ORDER BY _id');          // another connection's view of the replica
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import Database from 'better-sqlite3';

import { systemClock, type Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin, type Origin } from '../../src/origin/client.ts';
import { ORIGIN_LIMITS, type OriginLimits } from '../../src/origin/limits.ts';
import { openTransport, type Transport } from '../../src/origin/transport.ts';
import { must } from '../../src/base/assert.ts';
import { applySchema } from '../../src/pull/apply-schema.ts';
import { NO_PERMISSION } from '../../src/pull/column-selection.ts';
import type { PreparedTable, PullContext, PullOptions, PullSettings } from '../../src/pull/context.ts';
import { pull } from '../../src/pull/pull.ts';
import type { PullProgress, PullReport } from '../../src/pull/report.ts';
import { readTableDescriptor } from '../../src/replica/bookkeeping/descriptors.ts';
import { readTables } from '../../src/replica/bookkeeping/tables.ts';
import { openReplica, type Replica } from '../../src/replica/database.ts';
import type { SandboxOptions } from '../../src/sandbox/main.ts';
import type { Extension } from '../../src/wire/format.ts';
import { startTestSandbox, type TestSandbox } from './sandbox.ts';

/** A temporary folder that is removed when the scope ends. */
export function temporaryFolder(): { readonly path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), 'rowsync-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Copies a replica as it is now; others may be writing to it. */
export async function copyReplica(path: string, copy: string): Promise<void> {
  const db = new Database(path, { readonly: true });
  try {
    await db.backup(copy);
  } finally {
    db.close();
  }
}

/** Pull settings for small tables. */
function testSettings(settings: Partial<PullSettings> = {}): PullSettings {
  return { pageRows: 500, maxDeletePercent: 50, concurrency: 4, tableOptions: () => ({ sort: null }), ...settings };
}

/** A sandbox, an origin client and a replica, wired together. */
export interface Fixture {
  readonly sandbox: TestSandbox;
  readonly folder: string;
  readonly path: string;
  origin: Origin;
  replica: Replica;
  readonly progress: PullProgress[];
  /** Changes the text of every answer with rows; null to leave them as they are. */
  rewrite: ((body: string) => string) | null;
  /** The key of masks; another one counts from the next request on. */
  maskKey: string;
  context(settings?: Partial<PullSettings>): PullContext;
  pull(
    options?: Partial<PullOptions> & { settings?: Partial<PullSettings>; signal?: AbortSignal },
  ): Promise<PullReport>;
  /** Reads the replica through a connection of its own. */
  rows(query: string, ...values: unknown[]): unknown[];
  /** Runs SQL as another SQL client would. */
  execute(statements: string): void;
  /** Closes the replica and opens it again, as after a restart. */
  restart(): void;
  /** Goes on with a client whose answers come in this format, as after an edit of the configuration. */
  useFormat(format: Extension): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a fixture; sandbox options as for `startTestSandbox`. */
export async function startFixture(
  options: Partial<SandboxOptions> = {},
  extra: {
    readonly settings?: Partial<PullSettings>;
    readonly clock?: Clock;
    /** Where the replica goes instead of a folder of its own. */
    readonly folder?: string;
    readonly format?: Extension;
    readonly limits?: Partial<OriginLimits>;
    /** What the client talks to. Default a test sandbox. */
    readonly start?: (options: Partial<SandboxOptions>) => Promise<TestSandbox>;
  } = {},
): Promise<Fixture> {
  const folder = temporaryFolder();
  const sandbox = await (extra.start ?? startTestSandbox)(options);
  const path = join(extra.folder ?? folder.path, 'replica.db');
  const clock = extra.clock ?? systemClock;
  const progress: PullProgress[] = [];
  const openClient = (format: Extension): Origin =>
    openOrigin(
      {
        url: sandbox.url,
        database: sandbox.database,
        credentials: { kind: 'bearer', token: sandbox.token },
        format,
        concurrency: extra.settings?.concurrency ?? 4,
        requestsPerSecond: 0,
        maskKey: () => fixture.maskKey,
        limits: extra.limits,
      },
      {
        clock: { ...clock, sleep: async () => undefined },
        log: silentLogger,
        transport: rewriting(sandbox.url, () => fixture.rewrite, { ...ORIGIN_LIMITS, ...extra.limits }),
      },
    );
  const fixture: Fixture = {
    rewrite: null,
    maskKey: 'the key of masks in tests',
    sandbox,
    folder: extra.folder ?? folder.path,
    path,
    origin: openClient(extra.format ?? 'json'),
    replica: openReplica(path, { clock }),
    progress,
    context: (settings) => ({
      origin: fixture.origin,
      replica: fixture.replica,
      clock,
      log: silentLogger,
      settings: testSettings({ ...extra.settings, ...settings }),
      onProgress: (event) => void progress.push(event),
    }),
    pull: ({ settings, signal, ...choice } = {}) =>
      pull({ ...fixture.context(settings), signal }, { tables: [], confirm: false, ...choice }),
    rows: (query, ...values) => {
      const db = new Database(path, { readonly: true });
      try {
        return db.prepare(query).all(...values);
      } finally {
        db.close();
      }
    },
    execute: (statements) => {
      const db = new Database(path);
      try {
        db.exec(statements);
      } finally {
        db.close();
      }
    },
    restart: () => {
      fixture.replica.close();
      fixture.replica = openReplica(path, { clock });
    },
    useFormat: async (format) => {
      await fixture.origin.close();
      fixture.origin = openClient(format);
    },
    [Symbol.asyncDispose]: async () => {
      fixture.replica.close();
      await fixture.origin.close();
      await sandbox[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
  return fixture;
}

/** Connections whose answers with rows are changed on the way, as `rewrite` says at that time. */
function rewriting(url: string, rewrite: () => Fixture['rewrite'], limits: OriginLimits): Transport {
  const transport = openTransport(new URL(url).origin, limits, 4, {});
  return {
    ...transport,
    send: async (request) => {
      const answer = await transport.send(request);
      const change = rewrite();
      if (change === null || answer.kind === 'fault' || !/\/(select|retrieve)\./.test(request.path)) return answer;
      const { 'content-encoding': encoding, 'content-length': _, ...headers } = answer.headers;
      const body = encoding === 'gzip' ? gunzipSync(answer.body) : answer.body;
      return { ...answer, headers, body: Buffer.from(change(body.toString('utf8'))) };
    },
  };
}

/** A table that was pulled, ready to be read again as it was described then. */
export async function preparedTable({ replica }: Fixture, context: PullContext, name = 'Note'): Promise<PreparedTable> {
  const { id } = must(
    readTables(replica).find((table) => table.name === name),
    'it was pulled',
  );
  const { descriptor } = must(readTableDescriptor(replica, id), 'it was pulled');
  const options = must(context.settings.tableOptions(name), 'every table is copied');
  return await applySchema(context, descriptor, { ...options, permission: NO_PERMISSION });
}

/**
 * Calls `around` in place of each transaction of a replica, also of those with a cause of their own, with what it is
 * for.
 */
export function aroundWrites(
  replica: Replica,
  around: <T>(what: string, write: () => Promise<T>) => Promise<T>,
): Replica {
  for (const name of ['write', 'writeDurably'] as const) {
    const write: Replica['write'] = replica[name].bind(replica);
    replica[name] = (what, change, signal) => around(what, () => write(what, change, signal));
  }
  const because = replica.because.bind(replica);
  replica.because = (cause) => aroundWrites(because(cause), around);
  return replica;
}
