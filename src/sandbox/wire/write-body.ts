/**
 * Reads the body of Create, Update and Upsert, of any Content-Type. That is rows in JSON or XML, or a multipart/related
 * body with such rows and files (specification 4.6, origin facts 4.1 and 7.4).
 *
 * A part with `filename` or `filename*` is a file and needs a Content-ID, with or without angle brackets; the one part
 * without is the rows. A cell refers to a file as `cid:<content id>`. Parts come in any order. Transfer encodings are
 * not decoded: a base64 part would otherwise be stored as its letters. Faults are values with their status:
 * 400, 413 (too large) or 415 (a media type or charset that is not understood).
 */
import { WireFault } from '../../wire/fault.ts';
import type { Extension } from '../../wire/format.ts';
import { fileNameFromDisposition, readHeaderValue } from '../../wire/header-parameters.ts';
import {
  boundaryFrom,
  MULTIPART_LIMITS,
  MultipartReader,
  textFromUtf8,
  type MultipartLimits,
  type Part,
} from './multipart.ts';
import type { InputRow } from './input-rows.ts';
import { SERVER_FORMATS, type ServerFormat } from './format.ts';

/** A file that travels with rows. */
export interface FilePart {
  /** Without angle brackets. */
  readonly contentId: string;
  /** As sent: text, never a path. */
  readonly name: string;
  /** Media type as sent, with its parameters. */
  readonly type: string;
  readonly bytes: Buffer;
}

/** What a body holds. */
export interface WriteBody {
  /** The format of the rows, which says how their values are read. */
  readonly format: ServerFormat;
  readonly rows: readonly InputRow[];
  /** By content id. */
  readonly files: ReadonlyMap<string, FilePart>;
}

const FORMAT_BY_MEDIA_TYPE: ReadonlyMap<string, Extension> = new Map([
  ['application/json', 'json'],
  ['text/xml', 'xml'],
  ['application/xml', 'xml'],
]);

/** Reads a body that has come whole. */
export function readWriteBody(
  bytes: Uint8Array,
  contentType: string | undefined,
  limits: MultipartLimits = MULTIPART_LIMITS,
): WriteBody | WireFault {
  if (bytes.length > limits.bytesMax) {
    return new WireFault(`The body has more than ${limits.bytesMax} bytes`, { status: 413 });
  }
  if (bytes.length === 0) return new WireFault('The request has no body');
  if (readHeaderValue(contentType).value !== 'multipart/related') return readRows(bytes, contentType, new Map());
  const boundary = boundaryFrom(contentType);
  if (boundary instanceof WireFault) return boundary;
  const reader = new MultipartReader(boundary, limits);
  reader.write(bytes);
  const parts = reader.end();
  return parts instanceof WireFault ? parts : writeBodyFromParts(parts);
}

/** Reads the meaning of the parts of a multipart/related body. */
function writeBodyFromParts(parts: readonly Part[]): WriteBody | WireFault {
  const files = new Map<string, FilePart>();
  let rowsPart: Part | undefined;
  for (const [index, part] of parts.entries()) {
    const encoding = part.headers.get('content-transfer-encoding')?.toLowerCase() ?? 'binary';
    if (!['binary', '8bit', '7bit'].includes(encoding)) {
      return new WireFault(`Part ${index + 1} has a Content-Transfer-Encoding that is not understood`, { status: 415 });
    }
    const name = fileNameFromDisposition(part.headers.get('content-disposition'));
    if (name === null) {
      if (rowsPart !== undefined) return new WireFault(`Part ${index + 1} is a second part without a file name`);
      rowsPart = part;
      continue;
    }
    const file = name === undefined ? undefined : filePartFrom(part, name);
    if (file === undefined) return new WireFault(`The file name in part ${index + 1} cannot be read`);
    if (file.contentId === '') return new WireFault(`Part ${index + 1} is a file without a Content-ID`);
    if (files.has(file.contentId)) return new WireFault(`Part ${index + 1} has the Content-ID of an earlier part`);
    files.set(file.contentId, file);
  }
  if (rowsPart === undefined) return new WireFault('The body has no part with rows');
  return readRows(rowsPart.bytes, rowsPart.headers.get('content-type'), files);
}

function filePartFrom({ headers, bytes }: Part, name: string): FilePart {
  const contentId = (headers.get('content-id') ?? '').trim().replace(/^<(.*)>$/, '$1');
  return { contentId, name, type: headers.get('content-type') ?? 'application/octet-stream', bytes };
}

function readRows(
  bytes: Uint8Array,
  contentType: string | undefined,
  files: ReadonlyMap<string, FilePart>,
): WriteBody | WireFault {
  const { value: mediaType, parameters } = readHeaderValue(contentType);
  const extension = FORMAT_BY_MEDIA_TYPE.get(mediaType);
  if (extension === undefined) {
    // Clients that forget the header, or send a form, get 400 (origin facts 7.4.6); other types are not understood.
    const status = mediaType === '' || mediaType === 'application/x-www-form-urlencoded' ? 400 : 415;
    return new WireFault('Rows come as application/json or text/xml', { status, source: 'Content-Type' });
  }
  if (!/^(?:utf-?8|us-ascii)$/i.test(parameters.get('charset') ?? 'utf-8')) {
    return new WireFault('Rows come in UTF-8', { status: 415, source: 'Content-Type' });
  }
  const text = textFromUtf8(bytes);
  if (text === undefined) return new WireFault('The rows are not UTF-8');
  const format = SERVER_FORMATS[extension];
  const rows = format.readInputRows(text);
  return rows instanceof WireFault ? rows : { format, rows, files };
}

/** The content id that a cell refers to; null where it refers to none. */
export function contentIdFrom(value: string): string | null {
  return /^cid:/i.test(value) ? value.slice('cid:'.length) : null;
}

/** The file that a cell refers to; undefined where it is missing. The id may be percent-encoded (RFC 2392). */
export function fileByContentId(files: ReadonlyMap<string, FilePart>, contentId: string): FilePart | undefined {
  const file = files.get(contentId);
  if (file !== undefined) return file;
  try {
    return files.get(decodeURIComponent(contentId));
  } catch {
    return undefined; // a URIError: the id is not percent-encoded either
  }
}
