/**
 * Starts and stops the sandbox: a server on the loopback interface that speaks the Records API over a SQLite file of its
 * own. Input: options, already parsed from the command line but checked here. Output: a handle with the address, the
 * credentials, and direct access to the store for tests and the demo. Owns the life of the server, of the store's file
 * and of the simulated colleagues.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

import { must } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { RowsyncError } from '../base/errors.ts';
import { Colleagues, type ActivityCounts } from './activity.ts';
import { RequestLog } from './requests.ts';
import { sampleRoles, sampleTables, SAMPLE_USERS } from './sample.ts';
import { LOGIN_MODES, type LoginMode, type ServerRules } from './rules.ts';
import { createApiServer, type Intercept } from './server.ts';
import { tablesFromFile } from './store/data-file.ts';
import type { User } from './store/catalog.ts';
import type { TableSpec } from './store/spec.ts';
import { Store } from './store/store.ts';

/** What a sandbox is started with; everything but the clock may be left out. */
export interface SandboxOptions {
  /** 127.0.0.1 unless given. */
  readonly host?: string | undefined;
  /** 0, the default, takes any free port. */
  readonly port?: number | undefined;
  /** SQLite file to serve; read once, never written. */
  readonly dataPath?: string | undefined;
  /** Where the sandbox keeps its own database; a file that it made before is continued. A temporary file unless given. */
  readonly storePath?: string | undefined;
  /** Database id, "21995" unless given. */
  readonly database?: string | undefined;
  /** 32 hexadecimal digits; made up unless given. */
  readonly token?: string | undefined;
  /** Added to every request. */
  readonly latencyMs?: number | undefined;
  /** Edits, inserts and deletes per second by simulated colleagues. */
  readonly activityPerSecond?: number | undefined;
  /** Decides the sample data and what colleagues do. */
  readonly seed?: number | undefined;
  /** Who may sign in; `tokens and users` unless given. */
  readonly login?: LoginMode | undefined;
  /** False answers Updated, Deleted and Select on a view, which stand in no specification, with 405. True unless given. */
  readonly extensions?: boolean | undefined;
  readonly clock: Clock;
  /** Tables to serve in place of the sample data. */
  readonly tables?: readonly TableSpec[] | undefined;
  /** Asked before each request is answered; may change the store, or answer by itself. */
  readonly intercept?: Intercept | undefined;
}

/** A user with credentials. */
export interface Caller {
  readonly email: string;
  readonly role: string;
  readonly password: string;
  readonly token: string;
}

/** A running sandbox. */
export interface Sandbox {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly database: string;
  readonly token: string;
  /** For HTTP Basic. */
  readonly user: { readonly email: string; readonly password: string };
  /** Everybody who may call, with the rights that their role has; the first is `user`, with `token`. */
  readonly users: readonly Caller[];
  /** A cookie, `name=value`, that stands for this user behind the minus sign: `{url}/secure/api/v2/{database}/-/…`. */
  readonly session: string;
  readonly store: Store;
  readonly requests: RequestLog;
  /** Plays `count` edits, inserts and deletes at once; which ones depends on the seed alone. */
  playActivity(count: number): ActivityCounts;
  /** Ends the server and the colleagues, and removes the store if it is a temporary file. May be called twice. */
  stop(): Promise<void>;
}

const DATABASE = '21995';
const SEED = 1;
/** More than anybody can follow, and still nothing that stops the server from answering. */
const ACTIVITY_MAX = 1000;
const LATENCY_MS_MAX = 60_000;

/** The options with every default filled in and every value checked. */
interface Settings {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly token: string | undefined;
  readonly latencyMs: number;
  readonly activityPerSecond: number;
  readonly seed: number;
  readonly login: LoginMode;
}

/**
 * Starts a sandbox.
 * @throws RowsyncError `sandbox.option`, `sandbox.data`, `sandbox.store` or `sandbox.listen`.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const settings = readSettings(options);
  const folder = options.storePath === undefined ? mkdtempSync(join(tmpdir(), 'rowsync-sandbox-')) : null;
  const cleanUp = (): void => {
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
  };
  let store: Store | undefined;
  try {
    store = openStore(options, settings, options.storePath ?? join(must(folder, 'a folder was made'), 'store.sqlite'));
    return await serveStore(store, options, settings, cleanUp);
  } catch (thrown) {
    store?.close();
    cleanUp();
    throw thrown;
  }
}

async function serveStore(
  store: Store,
  options: SandboxOptions,
  settings: Settings,
  cleanUp: () => void,
): Promise<Sandbox> {
  const { clock, intercept, extensions = true } = options;
  const session = `rowsync_session=${randomBytes(16).toString('hex')}`;
  const rules: ServerRules = { login: settings.login, extensions, session };
  const requests = new RequestLog();
  const stopping = new AbortController();
  const { signal } = stopping;
  const server = createApiServer({ store, requests, clock, latencyMs: settings.latencyMs, rules, intercept, signal });
  const port = await listen(server, settings);
  const colleagues = new Colleagues(store, clock, settings.seed);
  const running =
    settings.activityPerSecond > 0 ? colleagues.run(settings.activityPerSecond, signal) : Promise.resolve();
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopping.abort();
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
    await running;
    store.close();
    cleanUp();
  };
  return {
    url: `http://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${port}`,
    database: store.catalog.database.id,
    token: must(settings.token ?? store.anyToken(), 'a store has a token'),
    user: { email: store.user.email, password: store.user.password },
    users: store.catalog.users.map((user) => callerFrom(store, user, settings.token)),
    session,
    store,
    requests,
    playActivity: (count) => colleagues.play(count),
    stop: () => (stopped ??= stop()),
  };
}

function callerFrom(store: Store, user: User, ownToken: string | undefined): Caller {
  const { email, role, password } = user;
  const given = user.id === store.user.id ? ownToken : undefined;
  return { email, role, password, token: must(given ?? store.anyToken(user), 'every user has a token') };
}

function optionError(option: string, problem: string, hint: string): RowsyncError {
  return new RowsyncError('usage', 'sandbox.option', { message: `The sandbox's ${option} ${problem}`, hint });
}

function readSettings(options: SandboxOptions): Settings {
  const { host = '127.0.0.1', port = 0, latencyMs = 0, activityPerSecond = 0, seed = SEED } = options;
  const { database = DATABASE, token, login = LOGIN_MODES[0] } = options;
  const number = (option: string, value: number, max: number): void => {
    if (Number.isInteger(value) && value >= 0 && value <= max) return;
    throw optionError(option, 'is out of range', `Give a whole number from 0 to ${max}.`);
  };
  number('port', port, 65_535);
  number('latency', latencyMs, LATENCY_MS_MAX);
  number('activity', activityPerSecond, ACTIVITY_MAX);
  number('seed', seed, 0xffff_ffff);
  if (!/^\d{1,18}(?:-\d{1,18})?$/.test(database)) {
    throw optionError(
      'database id',
      'is not a number',
      'Give digits, as in 21995; one hyphen between digits is allowed.',
    );
  }
  if (token !== undefined && !/^[0-9a-f]{32}$/i.test(token)) {
    throw optionError('token', 'does not have the form of an API token', 'Give exactly 32 hexadecimal digits.');
  }
  return { host, port, database, token, latencyMs, activityPerSecond, seed, login };
}

/** Opens the store, and fills it if it is new. */
function openStore(options: SandboxOptions, settings: Settings, path: string): Store {
  const { clock, dataPath, tables, storePath } = options;
  const source = dataPath === undefined ? 'sample data' : basename(dataPath);
  const { store, isNew } = Store.open(
    path,
    {
      id: settings.database,
      name: dataPath === undefined ? 'Northern Furniture' : source,
      description: `Served by the rowsync sandbox from ${source}`,
      culture: 'en-US',
      timeZone: 'Europe/Paris',
      source,
    },
    { clock, durable: storePath !== undefined },
  );
  try {
    if (isNew)
      fillStore(store, tables ?? (dataPath === undefined ? sampleTables(settings.seed) : tablesFromFile(dataPath)));
    else checkSame(store, options, source);
    if (settings.token !== undefined) store.addToken(settings.token);
    for (const user of store.catalog.users) {
      if (store.anyToken(user) === undefined) store.addToken(randomBytes(16).toString('hex'), user);
    }
  } catch (thrown) {
    store.close();
    // A store that was filled halfway would be taken for a whole one by the next start.
    if (isNew && storePath !== undefined) for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
    throw thrown;
  }
  return store;
}

function fillStore(store: Store, tables: Iterable<TableSpec>): void {
  for (const user of SAMPLE_USERS) store.addUser({ ...user, password: randomBytes(9).toString('base64url') });
  for (const table of tables) store.addTable(table);
  for (const role of sampleRoles(store.catalog.tables.map(({ name }) => name))) store.setRole(role);
}

/** A store that exists is continued; options that contradict what stands in it would otherwise be ignored in silence. */
function checkSame(store: Store, options: SandboxOptions, source: string): void {
  const { database } = store.catalog;
  if (options.dataPath !== undefined && source !== database.source) {
    const hint = 'Leave the data file out to continue the store, or name a store that does not exist yet.';
    throw optionError('data file', `is ${source}, but the store was made from ${database.source}`, hint);
  }
  if (options.database !== undefined && options.database !== database.id) {
    const hint = 'Leave the database id out to continue the store.';
    throw optionError('database id', `is ${options.database}, but the store is database ${database.id}`, hint);
  }
}

function listen(server: Server, { host, port }: Settings): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const message = `The sandbox cannot listen on ${host}, port ${port}: ${cause.code ?? cause.message}`;
      const hint = 'Choose another port, or 0 for any free one.';
      reject(new RowsyncError('usage', 'sandbox.listen', { message, hint, cause }));
    });
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}
