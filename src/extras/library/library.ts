/**
 * The client as a library: what `import … from 'rowsync/client'` gives. The one file that exports what others define,
 * because a package needs an entry point. Nothing in src imports it. All names here are public: changing one is a
 * change for users. Clock and log have defaults, so that a caller needs to know of neither.
 */
import { systemClock, type Clock } from '../../base/clock.ts';
import { silentLogger, type Logger } from '../../base/log.ts';
import { openOrigin as openOriginWith, type Origin, type OriginSettings } from '../../origin/client.ts';
import { moreMethods, type MoreMethods } from './more-methods.ts';
import { nameDatabase, type NamedDatabase } from './named-rows.ts';
import { RowsyncError, type ErrorCode } from '../../base/errors.ts';

/** One database at its origin, with every method of the specification. */
type LibraryOrigin = Origin & MoreMethods;

/** Time and log of a program; the system's clock and no log where they are left out. */
export interface LibraryOptions {
  readonly clock?: Clock | undefined;
  readonly log?: Logger | undefined;
}

/**
 * Opens a database, and asks for its description and the calling user. `close` it when you are done: open connections
 * keep a process alive.
 * @throws RowsyncError `config.invalid`, `config.secret`, or an `origin.…` code where it cannot be asked.
 */
export async function openDatabase(settings: OriginSettings, options: LibraryOptions = {}): Promise<NamedDatabase> {
  return await nameDatabase(openOrigin(settings, options));
}

/**
 * Opens a database for every method of the specification, one by one; nothing is sent yet. `close` it, too.
 * @throws RowsyncError `config.invalid` or `config.secret`.
 */
export function openOrigin(
  settings: OriginSettings,
  { clock = systemClock, log = silentLogger }: LibraryOptions = {},
): LibraryOrigin {
  try {
    const origin = openOriginWith(settings, { clock, log });
    return forCallers({ ...origin, ...moreMethods(origin, settings.maskKey) });
  } catch (thrown) {
    throw errorForCaller(thrown);
  }
}

export { RowsyncError, type ErrorCode, type ErrorKind, type Refusal } from '../../base/errors.ts';
export type { Clock } from '../../base/clock.ts';
export type { LogFacts, Logger } from '../../base/log.ts';
export type { AttachmentInfo } from '../../wire/schema.ts';
export type { Numeric } from '../../wire/decimal.ts';
export type { Extension } from '../../wire/format.ts';
export {
  columnReference,
  dateLiteral,
  numberLiteral,
  textLiteral,
  timeLiteral,
  timestampLiteral,
} from '../../wire/formula.ts';
export type { ErrorDescriptor } from '../../wire/json.ts';
export type { Records, SelectParameters, SortKey } from '../../wire/request-paths.ts';
export {
  columnType,
  type ColumnDescriptor,
  type ColumnShape,
  type ColumnType,
  type DatabaseDescriptor,
  type JsonObject,
  type Row,
  type RowPage,
  type TableDescriptor,
  type TableSummary,
  type UnreadableRow,
  type UserDescriptor,
  type Value,
  type ViewDescriptor,
} from '../../wire/schema.ts';
export type { OutgoingFile } from '../../wire/write-body.ts';
export type { OutgoingBytes, StreamedBytes } from '../../wire/write-body.ts';
export type { OutgoingCell, OutgoingRow, StatusDescriptor } from '../../wire/writes.ts';
export type { Address } from '../../origin/address.ts';
export type { Answer, Etag, FileHeaders } from '../../origin/answers.ts';
export type { ChangeMethods, ChangeOptions, CreateRequest, DeleteRequest, MatchRequest } from '../../origin/changes.ts';
export type { LibraryOrigin as Origin };
export type { OriginSettings } from '../../origin/client.ts';
export type {
  DeletedRequest,
  DeletedRow,
  MoreMethods,
  SelectViewRequest,
  UpdatedRequest,
  UpdatedRow,
} from './more-methods.ts';
export type {
  NamedDatabase,
  NamedPage,
  NamedRow,
  NamedTable,
  NamedValues,
  RemoveOptions,
  RowQuery,
  RowToWrite,
  WriteOptions,
} from './named-rows.ts';
export type { ProxySettings } from '../../origin/proxy.ts';
export type { Credentials } from '../../origin/credentials.ts';
export type {
  AttachmentRequest,
  AttachmentsRequest,
  DownloadRequest,
  FileMethods,
  FileVersion,
  RecordAddress,
} from '../../origin/files.ts';
export type { RetryPolicy } from '../../base/retries.ts';
export type { OriginLimits } from '../../origin/limits.ts';
export type { Counters, FileReceiver, ReadMethod, ReadOptions } from '../../origin/requests.ts';
export type {
  AggregatePage,
  AggregateRequest,
  CountRequest,
  RetrieveRequest,
  RowMethods,
  SelectRequest,
} from '../../origin/rows.ts';

const LATER = 'Try again later; a read changes nothing, and this change did not happen.';
const ADDRESS = 'Check url and database: they must name the host and the database of a Records API.';
const CREDENTIALS = 'Check the credentials: a token works for one database only, and has the rights of its user.';
const BETWEEN = `Something between here and the origin may have answered in its place (a proxy, a firewall). ${ADDRESS}`;

const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  'config.invalid': 'Correct the settings that the origin is opened with.',
  'config.secret': 'Correct the credentials that the origin is opened with.',
  'origin.proxy': 'Check the address and the login of the proxy.',
  'origin.timeout': LATER,
  'origin.busy': 'Try again later, or ask more slowly: see concurrency and requestsPerSecond.',
  'origin.unauthorized': `${CREDENTIALS} A proxy may also have removed the Authorization header.`,
  'origin.forbidden': CREDENTIALS,
  'origin.redirect': `Redirects are never followed, so that credentials stay with one host. ${ADDRESS}`,
  'origin.notApi': BETWEEN,
  'origin.truncated': LATER,
  'origin.unexpected': BETWEEN,
  'origin.tooLarge': 'Ask for fewer rows or columns at a time.',
  'origin.stopped': 'The signal was aborted, or the origin was closed.',
  'origin.refused': 'The request is wrong for this database: look at refusal.',
};

/** The same error for a caller of the library. Anything that is no `RowsyncError` stays as it is. */
function errorForCaller(thrown: unknown): unknown {
  if (!(thrown instanceof RowsyncError)) return thrown;
  const { kind, code, refusal } = thrown;
  const said = thrown.message.replace('The configuration is wrong: ', '');
  const words = refusal?.words ?? '';
  const message = words === '' || said.includes(words) ? said : `${said}: ${words}`;
  const hint = HINTS[code] ?? thrown.hint;
  return new RowsyncError(kind, code, { message, hint, cause: errorForCaller(thrown.cause), refusal });
}

/** The same functions, whose errors are those for callers. */
function forCallers<T extends object>(methods: T): T {
  const wrapped = Object.entries(methods).map(([name, method]: [string, unknown]): [string, unknown] => {
    if (typeof method !== 'function') return [name, method];
    return [name, (...args: unknown[]): unknown => callFor(() => Reflect.apply(method, undefined, args) as unknown)];
  });
  return { ...methods, ...Object.fromEntries(wrapped) };
}

function callFor(call: () => unknown): unknown {
  try {
    const returned = call();
    return returned instanceof Promise ? returned.catch(rethrow) : returned;
  } catch (thrown) {
    return rethrow(thrown);
  }
}

function rethrow(thrown: unknown): never {
  throw errorForCaller(thrown);
}
