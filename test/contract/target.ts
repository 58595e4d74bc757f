/**
 * What the contract suite talks to: a sandbox of its own, or a database named by the environment. Requests are made
 * with `fetch`, never with rowsync's client, so that a misunderstanding shared by client and sandbox is seen.
 *
 *    ROWSYNC_CONTRACT_URL        scheme and host; without it the suite starts a sandbox
 *    ROWSYNC_CONTRACT_DATABASE   the database's id
 *    ROWSYNC_CONTRACT_TOKEN      an API token
 *    ROWSYNC_CONTRACT_TABLE      the table to read; the first one with enough rows unless given
 *    ROWSYNC_CONTRACT_WRITE      a table that may be written to: rows are created in it and deleted again
 *
 * Against a database, a test whose subject is missing there is skipped with the reason; against the sandbox that is a
 * failure.
 */
import type { TestContext } from 'vitest';

import { systemClock } from '../../src/base/clock.ts';
import { cleanUp, noMadeRows } from '../../src/extras/questions/clean-up.ts';
import type { ColumnFields, RawReply, TableFields } from '../../src/extras/questions/server.ts';
import { newMarker } from '../../src/extras/questions/writing.ts';
import { startSandbox } from '../../src/sandbox/main.ts';
import { contractTables, READ_TABLE, WRITE_TABLE } from './tables.ts';

/** What to send besides the path. */
export interface Sent {
  readonly verb?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Leaves out the token. */
  readonly anonymous?: boolean;
}

/** The server under test. */
export interface Target {
  /** `sandbox`, or the host. */
  readonly name: string;
  readonly isSandbox: boolean;
  /** Scheme, host and database, without a slash at the end. */
  readonly root: string;
  readonly token: string;
  /** Sends a request below the database. */
  call(path: string, sent?: Sent): Promise<RawReply>;
  /** Sends a GET and reads its JSON; anything but 200 is an error. */
  json(path: string): Promise<unknown>;
  /** A table with at least two rows. */
  readonly table: TableFields;
  /** A table that may be written to; null where none was named. */
  readonly writable: TableFields | null;
  stop(): Promise<void>;
}

/** A subject of a test; where a real database lacks it the test is skipped, in the sandbox it fails. */
export function needFor<T>(target: Target, subject: T | undefined | null, what: string, context: TestContext): T {
  if (subject !== undefined && subject !== null) return subject;
  if (target.isSandbox) throw new Error(`the sandbox has no ${what}`);
  return context.skip(`${target.name} has no ${what}`);
}

/** A name as a path segment, escaped as the vendor's clients do. */
export function segment(name: string): string {
  const escapes = { '%': '%25', '/': '%2F', '\\': '%5C', '?': '%3F' } as const;
  return encodeURIComponent(name.replaceAll(/[%/\\?]/g, (letter) => escapes[letter as keyof typeof escapes]));
}

/** A query string. */
export function query(...pairs: readonly (readonly [string, string | number])[]): string {
  return pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
}

/** How long one request may take; the real service is known to think for most of a minute. */
const TIMEOUT_MS = 55_000;

/** Rows that a table may have before; with those of a suite, the clean-up still reads all of them with one request. */
const ROWS_BEFORE_MAX = 300;

/**
 * The rows that a suite makes in a table, and what deletes them. @throws Error for a table with too many rows for that.
 */
export async function keepRows(target: Pick<Target, 'call' | 'json'>, table: TableFields, mark: ColumnFields) {
  const rows = (await target.json(`${table.alias}/select.json?top=${ROWS_BEFORE_MAX + 1}`)) as readonly unknown[];
  if (rows.length > ROWS_BEFORE_MAX)
    throw new Error(`ROWSYNC_CONTRACT_WRITE has more than ${ROWS_BEFORE_MAX} rows; make an empty table for it`);
  const server = { table, call: (path: string, sent?: Sent) => target.call(path, sent) };
  const made = noMadeRows();
  const clean = async (): Promise<void> => {
    const { leftIds, unseenIds } = await cleanUp({ ...server, mark }, made, Date.now());
    const ids = [...leftIds, ...unseenIds];
    if (ids.length > 0) throw new Error(`rows may be left: ${ids.join(', ')}`);
  };
  return { marker: newMarker(Math.random), made, server, clean };
}

/** Opens what the environment names, or a sandbox. */
export async function openTarget(): Promise<Target> {
  const url = process.env['ROWSYNC_CONTRACT_URL'];
  if (url === undefined || url === '') return openSandbox();
  const database = required('ROWSYNC_CONTRACT_DATABASE');
  const token = required('ROWSYNC_CONTRACT_TOKEN');
  const requests = requestsTo(`${new URL(url).origin}/secure/api/v2/${database}`, token);
  return {
    ...requests,
    name: new URL(url).host,
    isSandbox: false,
    table: await findTable(requests, process.env['ROWSYNC_CONTRACT_TABLE']),
    writable: await writableTable(requests, process.env['ROWSYNC_CONTRACT_WRITE']),
    stop: () => Promise.resolve(),
  };
}

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} must be set along with ROWSYNC_CONTRACT_URL`);
  return value;
}

async function openSandbox(): Promise<Target> {
  const sandbox = await startSandbox({ clock: systemClock, tables: contractTables() });
  const requests = requestsTo(`${sandbox.url}/secure/api/v2/${sandbox.database}`, sandbox.token);
  return {
    ...requests,
    name: 'sandbox',
    isSandbox: true,
    table: await describe(requests, READ_TABLE),
    writable: await describe(requests, WRITE_TABLE),
    stop: () => sandbox.stop(),
  };
}

type Requests = Pick<Target, 'root' | 'token' | 'call' | 'json'>;

function requestsTo(root: string, token: string): Requests {
  const call = async (path: string, sent: Sent = {}): Promise<RawReply> => {
    const { body, verb = body === undefined ? 'GET' : 'POST', headers = {}, anonymous = false } = sent;
    const content = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const response = await fetch(`${root}/${path}`, {
      method: verb,
      redirect: 'manual',
      headers: { ...(anonymous ? {} : { Authorization: `Bearer ${token}` }), ...content, ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : Buffer.from(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const json = async (path: string): Promise<unknown> => {
    const answer = await call(path);
    if (answer.status !== 200) throw new Error(`${path.replace(/\?.*/s, '')}: status ${answer.status}`);
    return JSON.parse(answer.text) as unknown;
  };
  return { root, token, call, json };
}

async function describe(requests: Requests, name: string): Promise<TableFields> {
  return (await requests.json(`${encodeURIComponent(name)}/describe.json`)) as TableFields;
}

async function findTable(requests: Requests, name: string | undefined): Promise<TableFields> {
  if (name !== undefined && name !== '') return describe(requests, name);
  const database = (await requests.json('describe.json')) as { readonly tables: readonly { recordName: string }[] };
  for (const { recordName } of database.tables) {
    const rows = (await requests.json(`${encodeURIComponent(recordName)}/select.json?top=2`)) as readonly unknown[];
    if (rows.length === 2) return describe(requests, recordName);
  }
  throw new Error('no table of this database has two rows; name one in ROWSYNC_CONTRACT_TABLE');
}

async function writableTable(requests: Requests, name: string | undefined): Promise<TableFields | null> {
  return name === undefined || name === '' ? null : describe(requests, name);
}
