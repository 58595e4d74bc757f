/**
 * Starts and stops the sandbox: a server on the loopback interface that speaks the Records API over a SQLite file of
 * its own. Owns the life of the server, of the store's file and of the simulated colleagues.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Server as NetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { must } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { RowsyncError } from '../base/errors.ts';
import { Colleagues, type ActivityCounts } from './data/colleagues.ts';
import { createControlServer, createApiServer, type Intercept } from './server/server.ts';
import { Faults, readFaultPlan, type FaultPlan } from './server/faults.ts';
import { ringOnChanges, type Ring } from './server/ring.ts';
import { RequestLog } from './server/requests.ts';
import { sampleRoles, sampleTables, SAMPLE_USERS } from './data/sample.ts';
import { LOGIN_MODES, type LoginMode, type ServerRules } from './methods/rules.ts';
import { tablesFromFile } from './store/data-file.ts';
import type { User } from './store/catalog.ts';
import type { SandboxUser, TableSpec } from './store/spec.ts';
import { openReplicaFile, type ReplicaChoice, type ReplicaFile } from './store/replica-file.ts';
import { Store } from './store/store.ts';

/** What a sandbox is started with; everything but the clock may be left out. */
export interface SandboxOptions {
  /** 127.0.0.1 unless given. */
  readonly host?: string | undefined;
  /** 0, the default, takes any free port. */
  readonly port?: number | undefined;
  /** SQLite file to serve; read once, never written. */
  readonly dataPath?: string | undefined;
  /** A replica of rowsync, served as the database that it is a replica of; read once, never written. */
  readonly replica?: ReplicaChoice | undefined;
  /** Where the sandbox keeps its own database; an earlier file of it is continued. A temporary file unless given. */
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
  /** False answers Updated, Deleted and Select on a view, which no specification has, with 405. True unless given. */
  readonly extensions?: boolean | undefined;
  /** Escapes a colon in the name of a column in XML, as .NET may. False unless given. */
  readonly escapesColons?: boolean | undefined;
  /** Describes the width of columns with a bounded text alone, as vendors' clients expect. False unless given. */
  readonly widthsOfTextOnly?: boolean | undefined;
  /** Left out for the forms of the specification alone. */
  readonly lenientDates?: boolean | undefined;
  /** Faults to answer with: a `FaultPlan` (faults.ts), checked since it usually comes from a file. */
  readonly faults?: unknown;
  /** Port of the control endpoint on 127.0.0.1; 0 takes any free port. There is none unless given. */
  readonly controlPort?: number | undefined;
  /** PEM files of a certificate and its key; the sandbox then speaks https. */
  readonly tls?: { readonly certPath: string; readonly keyPath: string } | undefined;
  readonly clock: Clock;
  /** Tables to serve in place of the sample data. */
  readonly tables?: readonly TableSpec[] | undefined;
  /** Addresses that are called when rows change, as a trigger of the service would: of one or every table (null). */
  readonly rings?: readonly Ring[] | undefined;
  /** Asked before each request is answered; may change the store, or answer by itself. */
  readonly intercept?: Intercept | undefined;
}

/** A running sandbox. */
export interface Sandbox {
  /** `http://127.0.0.1:PORT`, or https. */
  readonly url: string;
  /** Where faults are put in force and requests are looked at; null where no port was given. */
  readonly controlUrl: string | null;
  /** The faults in force, to be replaced at any time. */
  readonly faults: Faults;
  readonly database: string;
  readonly token: string;
  /** For HTTP Basic. */
  readonly user: { readonly email: string; readonly password: string };
  /** Everybody who may call, with the rights that their role has; the first is `user`, with `token`. */
  readonly users: readonly SandboxUser[];
  /** A cookie, `name=value`, that means this user behind the minus sign: `{url}/secure/api/v2/{database}/-/…`. */
  readonly session: string;
  readonly store: Store;
  readonly requests: RequestLog;
  /** What a served replica does not know of its origin; empty for other data, and for a store that is continued. */
  readonly unknown: readonly string[];
  /** What the origin of a replica was seen to refuse, in its words. */
  readonly rules: readonly string[];
  /** Plays `count` edits, inserts and deletes at once; which ones depends on the seed alone. */
  playActivity(count: number): ActivityCounts;
  /** Calls an address from now on when rows change; {table} in it means the name. */
  ringAt(url: string): void;
  /** Ends the server and the colleagues, and removes the store if it is a temporary file. May be called twice. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
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
  readonly faults: Faults;
  readonly controlPort: number | undefined;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | null;
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
  let replica: ReplicaFile | undefined;
  try {
    replica = options.replica === undefined ? undefined : openReplicaFile(options.replica);
    const path = options.storePath ?? join(must(folder, 'a folder was made'), 'store.sqlite');
    store = openStore(options, settings, { path, replica });
    const known = { unknown: replica?.unknown ?? [], rules: replica?.rules ?? [] };
    return { ...(await serveStore(store, options, settings, cleanUp)), ...known };
  } catch (thrown) {
    store?.close();
    cleanUp();
    throw thrown;
  } finally {
    replica?.close();
  }
}

async function serveStore(
  store: Store,
  options: SandboxOptions,
  settings: Settings,
  cleanUp: () => void,
): Promise<Omit<Sandbox, 'unknown' | 'rules'>> {
  const {
    clock,
    intercept,
    extensions = true,
    escapesColons = false,
    widthsOfTextOnly = false,
    lenientDates = false,
  } = options;
  const session = `rowsync_session=${randomBytes(16).toString('hex')}`;
  const rules: ServerRules = {
    login: settings.login,
    extensions,
    escapesColons,
    widthsOfTextOnly,
    lenientDates,
    session,
  };
  const requests = new RequestLog();
  const stopping = new AbortController();
  const { signal } = stopping;
  const { faults, tls, latencyMs } = settings;
  const server = createApiServer({ store, requests, clock, latencyMs, rules, faults, intercept, tls, signal });
  const control = createControlServer({ faults, requests, store });
  const port = await listen(server, settings);
  const controlPort = await listenControl(control, server, settings);
  ringOnChanges(store, options.rings ?? []);
  const colleagues = new Colleagues(store, clock, settings.seed);
  const running =
    settings.activityPerSecond > 0 ? colleagues.run(settings.activityPerSecond, signal) : Promise.resolve();
  let stopped: Promise<void> | undefined;
  const stopOnce = (): Promise<void> => (stopped ??= stop());
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all([close(server), close(control)]);
    await running;
    store.close();
    cleanUp();
  };
  return {
    url: `${tls === null ? 'http' : 'https'}://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${port}`,
    controlUrl: controlPort === null ? null : `http://127.0.0.1:${controlPort}`,
    faults,
    database: store.catalog.database.id,
    token: must(settings.token ?? store.anyToken(), 'a store has a token'),
    user: { email: store.user.email, password: store.user.password },
    users: store.catalog.users.map((user) => callerFrom(store, user, settings.token)),
    session,
    store,
    requests,
    playActivity: (count) => colleagues.play(count),
    ringAt: (url) => ringOnChanges(store, [{ table: null, url }]),
    stop: stopOnce,
    [Symbol.asyncDispose]: stopOnce,
  };
}

function callerFrom(store: Store, user: User, ownToken: string | undefined): SandboxUser {
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
  if (options.dataPath !== undefined && options.replica !== undefined) {
    throw optionError('data', 'comes from one place', 'Give a SQLite file, or a replica.');
  }
  number('port', port, 65_535);
  number('latency', latencyMs, LATENCY_MS_MAX);
  number('activity', activityPerSecond, ACTIVITY_MAX);
  number('seed', seed, 0xffff_ffff);
  number('control port', options.controlPort ?? 0, 65_535);
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
  return {
    host,
    port,
    database,
    token,
    latencyMs,
    activityPerSecond,
    seed,
    login,
    faults: new Faults(checkedFaults(options.faults)),
    controlPort: options.controlPort,
    tls: options.tls === undefined ? null : readTls(options.tls),
  };
}

/** The faults of a plan that another program wrote. @throws RowsyncError `sandbox.option`. */
export function checkedFaults(faults: unknown = { faults: [] }): FaultPlan {
  const plan = readFaultPlan(faults);
  if ('faults' in plan) return plan;
  const problem = [`have ${plan.length === 1 ? 'a problem' : `${plan.length} problems`}:`, ...plan].join('\n  ');
  throw optionError('faults', problem, 'docs/sandbox.md lists the faults with their fields.');
}

function readTls({ certPath, keyPath }: { readonly certPath: string; readonly keyPath: string }): Settings['tls'] {
  const [cert, key] = [certPath, keyPath].map((path) => {
    try {
      return readFileSync(path);
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
      throw optionError('TLS files', `cannot be used: ${path}: ${code}`, 'Name a certificate and its key, both PEM.');
    }
  });
  const tls = { cert: must(cert, 'two files were read'), key: must(key, 'two files were read') };
  try {
    createSecureContext(tls);
  } catch {
    throw optionError('TLS files', 'are not a certificate and its key', 'Name a certificate and its key, both PEM.');
  }
  return tls;
}

/** Opens the store, and fills it if it is new. */
function openStore(
  options: SandboxOptions,
  settings: Settings,
  { path, replica }: { readonly path: string; readonly replica: ReplicaFile | undefined },
): Store {
  const { clock, dataPath, tables, storePath } = options;
  const source = replica?.database.source ?? (dataPath === undefined ? 'sample data' : basename(dataPath));
  const { store, isNew } = Store.open(
    path,
    {
      id: settings.database,
      name: dataPath === undefined ? 'Northern Furniture' : source,
      description: `Served by the rowsync sandbox from ${source}`,
      culture: 'en-US',
      timeZone: 'Europe/Paris',
      source,
      ...(replica === undefined ? {} : { ...replica.database, id: options.database ?? replica.database.id }),
    },
    { clock, durable: storePath !== undefined },
  );
  try {
    if (isNew && replica !== undefined) fillFromReplica(store, replica);
    else if (isNew)
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
  store.addUsers(...SAMPLE_USERS.map((user) => ({ ...user, password: randomBytes(9).toString('base64url') })));
  for (const table of tables) store.addTable(table);
  store.setRole(...sampleRoles(store.catalog.tables));
}

/** The caller is the only user of whom a replica knows anything. */
function fillFromReplica(store: Store, { user, tables }: ReplicaFile): void {
  store.addUsers({ ...user, password: randomBytes(9).toString('base64url') });
  store.changeUser({ id: user.id });
  store.setRole({ name: user.role, canWrite: true, hiddenTables: [], hiddenColumns: [] });
  for (const { spec, rows, files } of tables) {
    store.addTable(spec);
    store.insertKnown(spec.name, rows, files);
  }
}

/** A store that exists is continued; options that contradict what is in it would otherwise be ignored in silence. */
function checkSame(store: Store, options: SandboxOptions, source: string): void {
  const { database } = store.catalog;
  if ((options.dataPath ?? options.replica) !== undefined && source !== database.source) {
    const hint = 'Leave the data file out to continue the store, or name a store that does not exist yet.';
    throw optionError('data file', `is ${source}, but the store was made from ${database.source}`, hint);
  }
  if (options.database !== undefined && options.database !== database.id) {
    const hint = 'Leave the database id out to continue the store.';
    throw optionError('database id', `is ${options.database}, but the store is database ${database.id}`, hint);
  }
}

/** Listens for the control endpoint where it was asked for; the other server does not stay open if that fails. */
async function listenControl(control: Server, server: NetServer, { controlPort }: Settings): Promise<number | null> {
  if (controlPort === undefined) return null;
  try {
    return await listen(control, { host: '127.0.0.1', port: controlPort });
  } catch (thrown) {
    server.close();
    throw thrown;
  }
}

/** Resolves when no client is connected any more; at once for a server that never listened. */
function close(server: Server | TlsServer): Promise<unknown> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  return closed;
}

function listen(server: NetServer, { host, port }: Pick<Settings, 'host' | 'port'>): Promise<number> {
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
