/**
 * The client as a library: what `import … from 'rowsync/client'` gives. The one file that hands on what others define, because a package needs a
 * door; nothing in here imports it. All names here are public: changing one is a change for users. Clock and log have defaults, so that a caller
 * needs to know of neither.
 */
import { systemClock, type Clock } from '../../base/clock.ts';
import { silentLogger, type Logger } from '../../base/log.ts';
import { errorForCaller, forCallers } from './caller-errors.ts';
import { openOrigin as openOriginWith, type Origin, type OriginSettings } from '../../origin/client.ts';
import { nameDatabase, type NamedDatabase } from './named-rows.ts';

/** Time and log of a program; the system's clock and no log where they are left out. */
export interface LibraryOptions {
  readonly clock?: Clock | undefined;
  readonly log?: Logger | undefined;
}

/**
 * Opens a database, and asks for its description and the calling user. `close` it when you are done: open connections keep a process
 * alive.
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
): Origin {
  try {
    return forCallers(openOriginWith(settings, { clock, log }));
  } catch (thrown) {
    throw errorForCaller(thrown);
  }
}

export { RowsyncError, type ErrorCode, type ErrorKind, type Refusal } from '../../base/errors.ts';
export type { Clock } from '../../base/clock.ts';
export type { LogFacts, Logger } from '../../base/log.ts';
export type { AttachmentInfo } from '../../wire/attachments.ts';
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
export type { Records, SelectParameters, SortKey } from '../../wire/query.ts';
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
export type { OutgoingBytes, StreamedBytes } from '../../wire/multipart.ts';
export type { OutgoingCell, OutgoingRow, StatusDescriptor } from '../../wire/writes.ts';
export type { Address, FileVersion, RecordAddress } from '../../origin/address.ts';
export type { Answer, Etag, FileHeaders } from '../../origin/answers.ts';
export type { ChangeMethods, ChangeOptions, CreateRequest, DeleteRequest, MatchRequest } from '../../origin/changes.ts';
export type { Origin, OriginSettings } from '../../origin/client.ts';
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
export type { ProxySettings } from '../../origin/way.ts';
export type { Credentials } from '../../origin/credentials.ts';
export type { AttachmentRequest, AttachmentsRequest, FileMethods } from '../../origin/files.ts';
export type { RetryPolicy } from '../../base/retries.ts';
export type { OriginLimits } from '../../origin/limits.ts';
export type { Counters, FileReceiver, ReadMethod, ReadOptions } from '../../origin/requests.ts';
export type {
  AggregatePage,
  AggregateRequest,
  CountRequest,
  DeletedRequest,
  DeletedRow,
  RetrieveRequest,
  RowMethods,
  SelectRequest,
  SelectViewRequest,
  UpdatedRequest,
  UpdatedRow,
} from '../../origin/rows.ts';
