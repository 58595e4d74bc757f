/**
 * The origin as the rest of the program sees it: one function per method of the Records API, typed in and out. Input: the
 * configuration's `origin` and `limits`. Output: descriptors and rows read by wire/format.ts, or `notModified`.
 *
 * Secrets stay in here: they go into one header, to one host, and into no URL, message or log line (I16). Specification,
 * sections 4.1 to 4.5, 4.10 and 5.
 */
import type { Clock } from '../base/clock.ts';
import { RowsyncError } from '../base/errors.ts';
import { secretScrubber, type Logger } from '../base/log.ts';
import { WIRE_FORMATS, type Extension, type WireFormat } from '../wire/format.ts';
import { basicHeader, bearerHeader, mediaType } from '../wire/headers.ts';
import type { SelectParameters } from '../wire/query.ts';
import type { ColumnShape, DatabaseDescriptor, RowPage, TableDescriptor, UserDescriptor } from '../wire/schema.ts';
import { idBatches, originAddress, retrievePath, selectPath, tableSegment, type TableAddress } from './address.ts';
import { ORIGIN_LIMITS, type OriginLimits } from './limits.ts';
import { Requests, type Answer, type Call, type Counters, type ReadOptions } from './requests.ts';
import { openTransport } from './transport.ts';

export type { TableAddress } from './address.ts';
export type { Answer, ReadOptions } from './requests.ts';

/** How the program proves who it is (specification, section 5). */
export type Credentials =
  | { readonly kind: 'bearer'; readonly token: string }
  | { readonly kind: 'basic'; readonly user: string; readonly password: string };

/** Which database, as whom, and how hard it may be asked. */
export interface OriginSettings {
  /** Scheme and host, nothing behind it. */
  readonly url: string;
  readonly database: string;
  readonly credentials: Credentials;
  /** What answers and bodies are written in. Default json. */
  readonly format?: Extension | undefined;
  /** Requests in flight at once; the service allows 10 for each user. Default 4. */
  readonly concurrency?: number | undefined;
  /** Requests started in a second; 0, the default, is no limit. */
  readonly requestsPerSecond?: number | undefined;
  /** Whether to ask for gzip. Default true; only a benchmark on one machine gains by false. */
  readonly compress?: boolean | undefined;
  /** Time-outs, sizes and retries, where they differ from `ORIGIN_LIMITS`. */
  readonly limits?: Partial<OriginLimits> | undefined;
}

/**
 * One database at its origin. Every method may be called at any time, any number at once; each either answers or throws a
 * `RowsyncError` with an `origin.…` code.
 */
export interface Origin {
  /** Scheme and host, without a slash at the end. */
  readonly url: string;
  readonly database: string;
  /** What answers and bodies are written in; ETags are those of documents in this format. */
  readonly format: Extension;
  /** Tables of the database (4.1). */
  describeDatabase(options?: ReadOptions): Promise<Answer<DatabaseDescriptor>>;
  /** Columns and views of a table (4.3). */
  describeTable(table: TableAddress, options?: ReadOptions): Promise<Answer<TableDescriptor>>;
  /** The user that the credentials stand for (4.2). */
  user(options?: ReadOptions): Promise<Answer<UserDescriptor>>;
  /** One page of rows (4.4); `columns` says which values each row has, in order, and how they are read. */
  select(request: SelectRequest, options?: ReadOptions): Promise<Answer<RowPage>>;
  /** Rows by internal id, in any order, without those that do not exist (4.5); at most one batch of `retrieveBatches`. */
  retrieve(request: RetrieveRequest, options?: ReadOptions): Promise<Answer<RowPage>>;
  /** The full URL of a Select, without any secret: the key under which its ETag is kept. */
  selectUrl(table: TableAddress, query: SelectParameters): string;
  /** Cuts ids, in order, into as few Retrieve requests as possible. */
  retrieveBatches(
    table: TableAddress,
    names: readonly string[],
    ids: readonly number[],
  ): readonly (readonly number[])[];
  /** Sums since the origin was opened. */
  counters(): Counters;
  /** Ends what is in flight with `origin.stopped` and closes the connections. May be called twice. */
  close(): Promise<void>;
}

/** What `select` takes. */
export interface SelectRequest {
  readonly table: TableAddress;
  readonly columns: readonly ColumnShape[];
  readonly query: SelectParameters;
}

/** What `retrieve` takes. */
export interface RetrieveRequest {
  readonly table: TableAddress;
  readonly columns: readonly ColumnShape[];
  /** Column parameters, as in `SelectParameters.columns`. */
  readonly names: readonly string[];
  readonly ids: readonly number[];
}

/** Requests in flight where the settings do not say; leaves six of the service's ten to others. */
const CONCURRENCY_DEFAULT = 4;

/** Opens the origin; nothing is sent yet. @throws RowsyncError `config.invalid` or `config.secret`. */
export function openOrigin(settings: OriginSettings, deps: { clock: Clock; log: Logger }): Origin {
  const { url, host, root } = originAddress(settings);
  const concurrency = settings.concurrency ?? CONCURRENCY_DEFAULT;
  const limits = { ...ORIGIN_LIMITS, ...settings.limits };
  const format = WIRE_FORMATS[settings.format ?? 'json'];
  const requests = new Requests({
    host,
    format,
    headers: headersOf(settings, format),
    concurrency,
    requestsPerSecond: settings.requestsPerSecond ?? 0,
    limits,
    transport: openTransport(url, limits, concurrency),
    scrub: secretScrubber(secretsOf(settings.credentials)),
    ...deps,
  });
  return {
    url,
    database: settings.database,
    format: format.extension,
    ...descriptionMethods(requests, { root, format }),
    ...rowMethods(requests, { root, format }),
    selectUrl: (table, query) => url + root + selectPath(format.extension, table, query),
    retrieveBatches: (_table, names, ids) => idBatches(names, ids),
    counters: () => requests.counters(),
    close: () => requests.close(),
  };
}

/** Where the methods of a database stand, and what they speak. */
interface Place {
  readonly root: string;
  readonly format: WireFormat;
}

function descriptionMethods(
  requests: Requests,
  { root, format }: Place,
): Pick<Origin, 'describeDatabase' | 'describeTable' | 'user'> {
  return {
    describeDatabase: (options = {}) => {
      const path = `${root}/describe.${format.extension}`;
      const read = (text: string, what: string): DatabaseDescriptor => format.readDatabase(text, what);
      return requests.run({ method: 'describe database', table: null, path, read }, options);
    },
    describeTable: (table, options = {}) => {
      const path = `${root}/${tableSegment(table)}/describe.${format.extension}`;
      const read = (text: string, what: string): TableDescriptor => format.readTable(text, what);
      return requests.run({ method: 'describe', table: table.name, path, read }, options);
    },
    user: (options = {}) => {
      const path = `${root}/user.${format.extension}`;
      const read = (text: string, what: string): UserDescriptor => format.readUser(text, what);
      return requests.run({ method: 'user', table: null, path, read }, options);
    },
  };
}

function rowMethods(requests: Requests, { root, format }: Place): Pick<Origin, 'select' | 'retrieve'> {
  const run = (
    { method, table, path }: Pick<Call<RowPage>, 'method' | 'path'> & { readonly table: TableAddress },
    columns: readonly ColumnShape[],
    options: ReadOptions,
  ): Promise<Answer<RowPage>> => {
    const read = (text: string, what: string): RowPage => format.readRows(text, columns, what);
    return requests.run({ method, table: table.name, path: root + path, read }, options);
  };
  return {
    select: ({ table, columns, query }, options = {}) =>
      run({ method: 'select', table, path: selectPath(format.extension, table, query) }, columns, options),
    retrieve: ({ table, columns, names, ids }, options = {}) =>
      run({ method: 'retrieve', table, path: retrievePath(format.extension, table, names, ids) }, columns, options),
  };
}

/** The texts that must never be seen, for the log's scrubber too. */
export function secretsOf(credentials: Credentials): readonly string[] {
  return credentials.kind === 'bearer' ? [credentials.token] : [credentials.password];
}

function headersOf({ credentials, compress }: OriginSettings, format: WireFormat): readonly string[] {
  return [
    'accept',
    mediaType(format.contentType),
    'accept-encoding',
    compress === false ? 'identity' : 'gzip',
    'user-agent',
    'rowsync',
    'authorization',
    authorization(credentials),
  ];
}

function authorization(credentials: Credentials): string {
  if (credentials.kind === 'basic') {
    // RFC 7617: the first colon ends the name.
    if (credentials.user.includes(':')) throw unusable('origin.user contains a colon', 'No user name has one.');
    return basicHeader(credentials.user, credentials.password);
  }
  if (!/^[\x21-\x7E]+$/.test(credentials.token)) {
    throw unusable(
      'The token is empty or contains a space, a line break or a character outside ASCII',
      'Copy it again; the token file holds the token and nothing else.',
    );
  }
  return bearerHeader(credentials.token);
}

function unusable(message: string, hint: string): RowsyncError {
  return new RowsyncError('config', 'config.secret', { message, hint });
}
