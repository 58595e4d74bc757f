/**
 * The methods of attachments: the list of revisions, and one file or its metadata (specification 4.8 and 4.9). The
 * caller gets a file piece by piece. Its size, the gap between two pieces and its speed are limited. File names are
 * text, never a path.
 */
import type { AttachmentInfo } from '../wire/schema.ts';
import type { Extension, WireFormat } from '../wire/format.ts';
import { pathSegment, queryFromPairs, type QueryPair } from '../wire/request-paths.ts';
import { segment, withQuery, type Address } from './address.ts';
import type { FileHeaders } from './answers.ts';
import type { FileReceiver, FileTarget, ReadMethod, Requests } from './requests.ts';

/** One row, by its internal id or the value of its key column. */
export type RecordAddress = { readonly id: number } | { readonly key: string };

/** Which version of a file: the latest without a revision. */
export type FileVersion = { readonly revision: number } | { readonly guid: string };

/** What `attachments` takes. */
export interface AttachmentsRequest {
  readonly table: Address;
  readonly column: Address;
  readonly record: RecordAddress;
  /** How many revisions, the latest first; more than 1 needs the column's Allow See Revision History. Default 1. */
  readonly revisions?: number | undefined;
}

/** What `attachment` and `attachmentHeaders` take. */
export interface AttachmentRequest {
  readonly table: Address;
  readonly column: Address;
  /** May be left out where the column is public and `version` has a guid. */
  readonly record?: RecordAddress | undefined;
  /** The latest revision where it is left out. */
  readonly version?: FileVersion | undefined;
}

/** What `attachment` takes. */
export interface DownloadRequest extends AttachmentRequest, Pick<FileTarget, 'restart'> {}

/** The methods of attachments. */
export interface FileMethods {
  /** Lists the revisions of one attachment. */
  readonly attachments: ReadMethod<[request: AttachmentsRequest], readonly AttachmentInfo[]>;
  /**
   * Downloads a file: `receive` gets its bytes in order, the next ones only once its promise resolves. The call
   * resolves after the last byte. Once bytes were passed on, it retries only if there is a `restart`. It throws what
   * `receive` throws.
   */
  readonly attachment: ReadMethod<[request: DownloadRequest, receive: FileReceiver], FileHeaders>;
  /** The metadata of a file, without its content. */
  readonly attachmentHeaders: ReadMethod<[request: AttachmentRequest], FileHeaders>;
}

/** Makes the methods. */
export function fileMethods(requests: Requests, format: WireFormat): FileMethods {
  const target = (request: AttachmentRequest) =>
    ({ method: 'attachment', table: request.table.name, path: attachmentPath(request) }) as const;
  return {
    attachments: (request, options = {}) => {
      const path = attachmentsPath(format.extension, request);
      const read = format.readAttachments;
      return requests.run({ method: 'attachments', table: request.table.name, path, read }, options);
    },
    attachment: ({ restart, ...request }, receive, options = {}) =>
      requests.file(target(request), { receive, restart }, options),
    attachmentHeaders: (request, options = {}) => requests.file(target(request), null, options),
  };
}

/** The path of the list of revisions. */
export function attachmentsPath(
  extension: Extension,
  { table, column, record, revisions }: AttachmentsRequest,
): string {
  const query = queryFromPairs([recordPair(record), ['revisions', revisions]]);
  return withQuery(`/${segment(table)}/${segment(column)}/attachments.${extension}`, query);
}

function attachmentPath({ table, column, record, version }: AttachmentRequest): string {
  const { revision, guid } = { revision: undefined, guid: undefined, ...version };
  const place = guid === undefined ? '' : `/${pathSegment(guid)}`;
  const pairs = record === undefined ? [] : [recordPair(record)];
  const query = queryFromPairs([...pairs, ['revision', revision]]);
  return withQuery(`/${segment(table)}/${segment(column)}/attachment${place}`, query);
}

function recordPair(record: RecordAddress): QueryPair {
  return 'id' in record ? ['id', record.id] : ['key', record.key];
}
