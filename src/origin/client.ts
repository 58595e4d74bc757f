/**
 * The origin as the rest of the program sees it: one typed function per method of the Records API.
 *
 * Secrets do not leave this file. They go into one header or path, to one host, and never into a displayed URL, a
 * message or a log line (I16). Specification, sections 4 and 5; origin facts, section 1.
 */
import { must } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { secretScrubber, type Logger } from '../base/log.ts';
import { WIRE_FORMATS, type Extension, type WireFormat } from '../wire/format.ts';
import { mediaType } from '../wire/headers.ts';
import { maskKeyDigest } from '../wire/mask.ts';
import type { SelectParameters } from '../wire/request-paths.ts';
import type { DatabaseDescriptor, TableDescriptor, UserDescriptor } from '../wire/schema.ts';
import { describePath, recordBatches, originAddress, selectPath, type Address } from './address.ts';
import { changeMethods, type ChangeMethods } from './changes.ts';
import { proxySecrets, type OriginRoute } from './proxy.ts';
import { authorizationOf, type Credentials } from './credentials.ts';
import { attachmentsPath, fileMethods, type AttachmentsRequest, type FileMethods } from './files.ts';
import { ORIGIN_LIMITS, type OriginLimits } from './limits.ts';
import { Requests, type Call, type Counters, type ReadMethod, type ReadOptions } from './requests.ts';
import type { Answer, Etag } from './answers.ts';
import { rowMethods, type RowMethods } from './rows.ts';
import { openTransport, type Transport } from './transport.ts';

/** Which database, with which credentials, and how many requests are allowed. */
export interface OriginSettings extends OriginRoute {
  /** Scheme and host, nothing after it. */
  readonly url: string;
  readonly database: string;
  readonly credentials: Credentials;
  /** The format of answers and bodies. Default json. */
  readonly format?: Extension | undefined;
  /** Requests in flight at once; the service allows 10 for each user. Default 4. */
  readonly concurrency?: number | undefined;
  /** Requests started in a second; 0, the default, is no limit. */
  readonly requestsPerSecond?: number | undefined;
  /** The key of masks; called only if a column is hashed. Omitted if none can be. */
  readonly maskKey?: (() => string) | undefined;
  /** Whether to request gzip. Default true; false only pays off in a benchmark on one machine. */
  readonly compress?: boolean | undefined;
  /** Time-outs, sizes and retries, where they differ from `ORIGIN_LIMITS`. */
  readonly limits?: Partial<OriginLimits> | undefined;
}

/**
 * One database at its origin. Every method may be called at any time, any number at once; each either answers or throws
 * a `RowsyncError` with an `origin.…` code.
 */
export interface Origin extends RowMethods, ChangeMethods, FileMethods {
  /** Scheme and host, without a slash at the end. */
  readonly url: string;
  readonly database: string;
  /** The format of answers and bodies; ETags are those of documents in this format. */
  readonly format: Extension;
  /** Identifies the key that values are hashed with (wire/mask.ts). @throws RowsyncError `config.secret`. */
  maskKeyDigest(): string;
  /** Tables of the database (4.1). */
  readonly describeDatabase: ReadMethod<[], DatabaseDescriptor>;
  /** Columns and views of a table (4.3). */
  readonly describeTable: ReadMethod<[table: Address], TableDescriptor>;
  /** The user of the credentials (4.2). */
  readonly user: ReadMethod<[], UserDescriptor>;
  /** Full URLs without any secret: the keys under which ETags are kept (specification 4.10). */
  selectUrl(table: Address, query: SelectParameters): string;
  describeUrl(table?: Address): string;
  attachmentsUrl(request: AttachmentsRequest): string;
  /** Cuts ids, in order, into few Retrieve (with columns `names`) or Delete requests of at most `countMax` rows. */
  idBatches(ids: readonly number[], names?: readonly string[], countMax?: number): readonly (readonly number[])[];
  /** Sends any other read request; extras/library builds the methods on it that rowsync itself does not use. */
  run<T, E extends Etag = undefined>(call: Call<T>, options?: ReadOptions<E>): Promise<Answer<T, E>>;
  /** Resolves once pending requests are sent, as far as connections are free; for before blocking the event loop. */
  requestsLeave(): Promise<void>;
  /** Sums since the origin was opened. */
  counters(): Counters;
  /** Ends what is in flight and closes the connections. May be called twice. */
  close(): Promise<void>;
}

/** Default number of requests in flight; leaves six of the service's ten to others. */
const CONCURRENCY_DEFAULT = 4;

/**
 * Opens the origin; nothing is sent yet. `transport` replaces real connections to `url`. `before` is the client that
 * this one replaces; a pause that its origin requested also holds for this one.
 * @throws RowsyncError `config.invalid` or `config.secret`.
 */
export function openOrigin(
  settings: OriginSettings,
  deps: { clock: Clock; log: Logger; transport?: Transport | undefined; before?: Origin | undefined },
): Origin {
  const { url, host, root } = originAddress(settings);
  const { headers, pathSuffix, secrets } = authorizationOf(settings.credentials);
  const concurrency = settings.concurrency ?? CONCURRENCY_DEFAULT;
  const limits = { ...ORIGIN_LIMITS, ...settings.limits };
  const format = WIRE_FORMATS[settings.format ?? 'json'];
  const encoding = settings.compress === false ? 'identity' : 'gzip';
  const maskKey = (): string => must(settings.maskKey?.(), 'who hashes columns has a key');
  const requests = new Requests({
    host,
    root: root + pathSuffix,
    format,
    headers: ['user-agent', 'rowsync', ...headers],
    documentHeaders: ['accept', mediaType(format.contentType), 'accept-encoding', encoding],
    concurrency,
    requestsPerSecond: settings.requestsPerSecond ?? 0,
    limits,
    transport: deps.transport ?? openTransport(url, limits, concurrency, settings),
    scrub: secretScrubber([...secrets, ...proxySecrets(settings.proxy)]),
    clock: deps.clock,
    log: deps.log,
    quietMs: deps.before?.url === url ? deps.before.counters().quietMs : 0,
  });
  return {
    url,
    database: settings.database,
    format: format.extension,
    ...descriptionMethods(requests, format),
    maskKeyDigest: () => maskKeyDigest(maskKey()),
    ...rowMethods(requests, format, maskKey),
    ...changeMethods(requests, format, () => deps.clock.random()),
    ...fileMethods(requests, format),
    selectUrl: (table, query) => url + root + selectPath(format.extension, table, query),
    describeUrl: (table) => url + root + describePath(format.extension, table),
    attachmentsUrl: (request) => url + root + attachmentsPath(format.extension, request),
    idBatches: (ids, names = [], countMax) => recordBatches('id', names, ids, countMax),
    run: (call, options = {}) => requests.run(call, options),
    requestsLeave: () => requests.requestsLeave(),
    counters: () => requests.counters(),
    close: () => requests.close(),
  };
}

function descriptionMethods(
  requests: Requests,
  { extension, readDatabase, readTable, readUser }: WireFormat,
): Pick<Origin, 'describeDatabase' | 'describeTable' | 'user'> {
  return {
    describeDatabase: (options = {}) => {
      const path = describePath(extension);
      return requests.run({ method: 'describe database', table: null, path, read: readDatabase }, options);
    },
    describeTable: (table, options = {}) => {
      const path = describePath(extension, table);
      return requests.run({ method: 'describe', table: table.name, path, read: readTable }, options);
    },
    user: (options = {}) =>
      requests.run({ method: 'user', table: null, path: `/user.${extension}`, read: readUser }, options),
  };
}
