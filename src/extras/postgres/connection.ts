/**
 * One connection to PostgreSQL. The driver is loaded only when a connection is opened. Messages never have a value of
 * a row in them (I16), so the words of the server about values are left out.
 */
import { readFileSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { checkServerIdentity, getCACertificates, type ConnectionOptions } from 'node:tls';
import type { Client } from 'pg';
import { RowsyncError, type ErrorCode } from '../../base/errors.ts';
import { sql, type Sql } from '../../base/sql.ts';
import type { PgAddress } from './context.ts';
import { pgError } from './postgres-errors.ts';

export type PgValue = string | number | bigint | boolean | null | readonly number[] | readonly string[];

/** A row of an answer; numbers of 64 bits come as text. */
type PgRow = Readonly<Record<string, unknown>>;

const CONNECT_MS_MAX = 10_000;
/** A merge of a table of millions of rows takes minutes; what takes longer hangs. */
const STATEMENT_MS_MAX = 15 * 60_000;
/** After this, the server ends a transaction whose client has vanished. */
const IDLE_MS_MAX = 5 * 60_000;
/** A reader may lock a row or a table. rowsync must not wait long for it: others would then wait for rowsync. */
const LOCK_MS_MAX = 5_000;

/** PostgreSQL 14 has all that is used here, and is the oldest that its makers maintain. */
const VERSION_MIN = 140_000;

const SETTINGS = sql`SELECT set_config('statement_timeout', '${STATEMENT_MS_MAX}', false),
  set_config('idle_in_transaction_session_timeout', '${IDLE_MS_MAX}', false),
  set_config('lock_timeout', '${LOCK_MS_MAX}', false), set_config('TimeZone', 'UTC', false),
  set_config('DateStyle', 'ISO, YMD', false), set_config('standard_conforming_strings', 'on', false),
  set_config('client_min_messages', 'warning', false),
  current_setting('server_version_num')::int AS version, current_setting('server_version') AS words`;

export class PgConnection {
  readonly #client: Client;
  /** As the server says it. */
  readonly version: string;
  readonly isEncrypted: boolean;
  #isBroken = false;

  constructor(client: Client, { version, isEncrypted }: { readonly version: string; readonly isEncrypted: boolean }) {
    this.#client = client;
    this.version = version;
    this.isEncrypted = isEncrypted;
    for (const event of ['error', 'end'] as const) client.on(event, () => (this.#isBroken = true));
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  async query(text: Sql, values: readonly PgValue[] = []): Promise<readonly PgRow[]> {
    return (await this.#run(text, values)).rows;
  }

  /** How many rows the statement changed. */
  async change(text: Sql, values: readonly PgValue[] = []): Promise<number> {
    return (await this.#run(text, values)).rowCount ?? 0;
  }

  async #run(text: Sql, values: readonly PgValue[]): Promise<{ rows: readonly PgRow[]; rowCount: number | null }> {
    try {
      return await this.#client.query<Record<string, unknown>>(text, [...values]);
    } catch (thrown) {
      throw pgError(thrown);
    }
  }

  async copy(text: Sql, chunks: Iterable<string> | AsyncIterable<string>): Promise<void> {
    // A bundle has nothing but the default of a package that is CommonJS.
    const { default: copyStreams } = await import('pg-copy-streams');
    try {
      await pipeline(chunks, this.#client.query(copyStreams.from(text)));
    } catch (thrown) {
      throw pgError(thrown);
    }
  }

  async transact<T>(work: () => Promise<T>): Promise<T> {
    await this.query(sql`BEGIN`);
    try {
      const result = await work();
      await this.query(sql`COMMIT`);
      return result;
    } catch (thrown) {
      if (!this.#isBroken) await this.query(sql`ROLLBACK`).catch(() => undefined); // the connection went with it
      throw thrown;
    }
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined); // it is closed already
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Opens a connection. @throws RowsyncError `sink.unreachable`, `sink.login`, `sink.tls`, `sink.version`. */
export async function connect(address: PgAddress): Promise<PgConnection> {
  const plain = (): Promise<PgConnection> => open(address, false);
  const secured = (): Promise<PgConnection> => open(address, tlsOptions(address));
  const { host, sslMode } = address;
  if (host.startsWith('/') || sslMode === 'disable') return plain();
  // Without TLS the server may refuse it, as its pg_hba.conf may say.
  if (sslMode === 'allow') return plain().catch(orElse('sink.login', '', secured));
  return sslMode === 'prefer' ? secured().catch(orElse('sink.tls', 'does not support SSL', plain)) : secured();
}

/** Tries a second way where the first one failed in an expected manner. */
function orElse(code: ErrorCode, words: string, second: () => Promise<PgConnection>) {
  return (thrown: unknown): Promise<PgConnection> => {
    if (thrown instanceof RowsyncError && thrown.code === code && thrown.message.includes(words)) return second();
    throw thrown;
  };
}

/** As in libpq: `require` with a root is `verify-ca`; weaker modes do not identify the server. */
function tlsOptions({ sslMode, sslRoot, sslCert, sslKey }: PgAddress): ConnectionOptions {
  const isChecked = sslMode === 'verify-full' || sslMode === 'verify-ca' || (sslMode === 'require' && sslRoot !== null);
  const root = sslRoot === null ? {} : { ca: sslRoot === 'system' ? getCACertificates('system') : read(sslRoot) };
  return {
    rejectUnauthorized: isChecked,
    checkServerIdentity: sslMode === 'verify-full' ? checkServerIdentity : () => undefined,
    ...root,
    ...(sslCert === null ? {} : { cert: read(sslCert) }),
    ...(sslKey === null ? {} : { key: read(sslKey) }),
  };
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new RowsyncError('config', 'sink.tls', {
      message: `The certificate or key ${path} cannot be read`,
      hint: 'Check the paths in sslrootcert, sslcert and sslkey in the address of the sink.',
      cause,
    });
  }
}

async function open(address: PgAddress, ssl: ConnectionOptions | false): Promise<PgConnection> {
  const { Client } = await import('pg');
  const client = new Client({
    host: address.host,
    port: address.port,
    database: address.database,
    user: address.user,
    ...(address.password === null ? {} : { password: address.password }),
    ssl,
    application_name: 'rowsync',
    connectionTimeoutMillis: CONNECT_MS_MAX,
    query_timeout: STATEMENT_MS_MAX + CONNECT_MS_MAX,
    keepAlive: true,
    keepAliveInitialDelayMillis: CONNECT_MS_MAX,
  });
  client.on('error', () => undefined); // the current statement reports it
  try {
    await client.connect();
    const { rows } = await client.query<{ version: number; words: string }>(SETTINGS);
    const [settings] = rows;
    if (settings === undefined || settings.version < VERSION_MIN) {
      throw new RowsyncError('config', 'sink.version', {
        message: `The PostgreSQL server has version ${settings?.words ?? '?'}; a sink needs 14 or newer`,
        hint: 'Upgrade the server, or name another one.',
      });
    }
    return new PgConnection(client, { version: settings.words, isEncrypted: ssl !== false });
  } catch (thrown) {
    await client.end().catch(() => undefined); // it was never open
    throw pgError(thrown);
  }
}
