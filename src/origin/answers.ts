/**
 * Reads a complete answer: its status, type and compression, then the document of the method or the headers of a file.
 * What it cannot read becomes a failure (request-errors.ts), never half an answer. Pure. Specification 4.9 and 4.10;
 * origin facts 4.1.
 */
import { RowsyncError } from '../base/errors.ts';
import { WIRE_FORMATS, type DocumentReader, type Extension, type WireFormat } from '../wire/format.ts';
import { isCacheable, mediaType, readEtag, readRetryAfterMs } from '../wire/headers.ts';
import type { ErrorDescriptor } from '../wire/json.ts';
import { fileNameFromDisposition, readHeaderValue } from '../wire/header-parameters.ts';
import {
  damagedFailure,
  descriptorText,
  notApiFailure,
  statusFailure,
  tooLargeFailure,
  unexpectedFailure,
  withPage,
  outsideWords,
  type Attempted,
  type Failure,
} from './request-errors.ts';
import type { WireAnswer, TransportFault, WireHeaders } from './transport.ts';
import { isUtf8 } from 'node:buffer';
import { gunzipSync } from 'node:zlib';

export type Etag = string | null | undefined;

/** A complete answer of a method. Only a request with an ETag is answered with `notModified`. */
export type Answer<T, E extends Etag = Etag> =
  | (E extends string ? { readonly kind: 'notModified' } : never)
  | {
      readonly kind: 'ok';
      readonly value: T;
      /** Null if the origin sent none that can be trusted, or forbade caching the answer. */
      readonly etag: string | null;
      /** Bytes of the body as it came over the wire. */
      readonly receivedBytes: number;
    };

/** The metadata of a file, from its headers (specification 4.9). */
export interface FileHeaders {
  /** As the origin names it: text, never a path; null where it has no name that can be read. */
  readonly name: string | null;
  readonly revision: number | null;
  /** The media type as sent, with its parameters. */
  readonly type: string;
  /** Bytes of the file; null where the origin does not say. */
  readonly length: number | null;
  /** `Name <email>`. */
  readonly author: string | null;
  /** UTC, `YYYY-MM-DDThh:mm:ssZ`. */
  readonly lastModifiedAt: string | null;
}

/** What reading an answer needs to know of its request. */
export interface AnswerContext {
  readonly attempted: Attempted;
  /** The format that was asked for. */
  readonly format: WireFormat;
  readonly decodedBytesMax: number;
  readonly nowMs: number;
  /** The ETag that was sent. */
  readonly etag: string | null;
  readonly isHead?: boolean | undefined;
}

/** Reads an answer whose body is a document; `read` throws `origin.truncated` or `origin.unexpected`. */
export function readDocument<T>(
  answer: WireAnswer,
  read: DocumentReader<T>,
  reading: AnswerContext,
): Answer<T> | Failure {
  const { attempted, format } = reading;
  const { headers, receivedBytes } = answer;
  const other = notOkay(answer, reading);
  if (other !== null) return other;
  const contentType = oneHeader(headers, 'content-type');
  if (formatOf(contentType) !== format) {
    const type = contentType === undefined ? 'no media type' : outsideWords(attempted.scrub, mediaType(contentType));
    return notApiFailure(withPage(attempted, 200, pageText(answer)), `200 with ${type}`);
  }
  const body = bodyText(answer, reading);
  if (typeof body !== 'string') return body;
  const value = readValue(body, read, reading);
  return 'isTransient' in value ? value : { kind: 'ok', ...value, etag: etagOf(headers), receivedBytes };
}

/** Reads the headers of a file; a receiver took its content. */
export function readFile(answer: WireAnswer, reading: AnswerContext): Answer<FileHeaders> | Failure {
  const { headers, receivedBytes } = answer;
  const other = notOkay(answer, reading);
  if (other !== null) return other;
  // Only headers that no other page has tell a file from a sign-in page.
  if (!isFile(headers)) return notApiFailure(reading.attempted, '200 without the headers of a file');
  return { kind: 'ok', value: fileHeaders(headers), etag: etagOf(headers), receivedBytes };
}

/** Whether an answer with these headers comes from the attachment method and carries its bytes as they are. */
export function isFile(headers: WireHeaders): boolean {
  const isPlain = /^(?:identity)?$/i.test(oneHeader(headers, 'content-encoding') ?? '');
  const disposition = readHeaderValue(oneHeader(headers, 'content-disposition')).value;
  return isPlain && (disposition === 'attachment' || oneHeader(headers, 'x-revision') !== undefined);
}

function fileHeaders(headers: WireHeaders): FileHeaders {
  const text = (name: string): string | null => {
    const value = oneHeader(headers, name);
    return value === undefined ? null : utf8FromHeader(value);
  };
  const count = (name: string): number | null => {
    const value = Number(text(name) ?? Number.NaN);
    return Number.isSafeInteger(value) && value >= 0 ? value : null;
  };
  const lastModifiedMs = Date.parse(text('last-modified') ?? '');
  return {
    name: fileNameFromDisposition(text('content-disposition') ?? undefined) ?? null,
    revision: count('x-revision'),
    type: text('content-type') ?? 'application/octet-stream',
    length: count('content-length'),
    author: text('x-author'),
    lastModifiedAt: Number.isNaN(lastModifiedMs) ? null : `${new Date(lastModifiedMs).toISOString().slice(0, 19)}Z`,
  };
}

/** Headers arrive as ISO 8859-1 (RFC 9110, 5.5); names beyond it are sent as UTF-8 by most servers. */
function utf8FromHeader(value: string): string {
  const text = Buffer.from(value, 'latin1').toString('utf8');
  return text.includes('\uFFFD') ? value : text;
}

/** The failure for any status other than 200; null for 200. */
function notOkay(
  answer: WireAnswer,
  { attempted, etag, ...reading }: AnswerContext,
): { kind: 'notModified' } | Failure | null {
  const { status, headers } = answer;
  if (status === 304 && etag !== null) return { kind: 'notModified' };
  if (status === 200) return null;
  return statusFailure(attempted, {
    status,
    contentType: oneHeader(headers, 'content-type'),
    location: oneHeader(headers, 'location'),
    retryAfterMs: retryAfterMs(answer, reading.nowMs),
    descriptor: descriptorOf(answer, reading),
    pageText: pageText(answer),
    isHead: reading.isHead === true,
  });
}

/** Bytes of an unpacked error descriptor; the longest known has a few hundred. */
const DESCRIPTOR_BYTES_MAX = 1_024 * 1_024;

/** The error descriptor in an answer, if it has one: in the format of its type, which need not be the one asked for. */
export function descriptorOf(
  { body, headers }: WireAnswer,
  { format }: Pick<AnswerContext, 'format'>,
): ErrorDescriptor | undefined {
  const decoded = textFromBody(body, headers['content-encoding'], DESCRIPTOR_BYTES_MAX);
  if (decoded.kind !== 'text') return undefined;
  return (formatOf(oneHeader(headers, 'content-type')) ?? format).readError(decoded.text);
}

/** Characters of a page that are read; its title is among the first, and a firewall's sentence is short. */
const PAGE_CHARS_MAX = 20_000;

/** The title of an HTML page, or its text without one; the text of a plain answer. Null for others and for no words. */
function pageText({ body, headers }: WireAnswer): string | null {
  const type = mediaType(oneHeader(headers, 'content-type'));
  if (!/html|text\/plain/.test(type)) return null;
  const decoded = textFromBody(body, headers['content-encoding'], DESCRIPTOR_BYTES_MAX);
  if (decoded.kind !== 'text') return null;
  const page = decoded.text.slice(0, PAGE_CHARS_MAX);
  const [, title = ''] = /<title[^>]*>([^<]*)/i.exec(page) ?? [];
  const text = title.trim() === '' ? page.replaceAll(/<(script|style)\b[\s\S]*?<\/\1|<!--[\s\S]*?-->/gi, ' ') : title;
  return text.replaceAll(/<[^<>]*>/g, ' ').trim() || null;
}

/** Milliseconds to wait that the answer of a busy origin requests; null if it requests none. */
export function retryAfterMs(result: WireAnswer | TransportFault, nowMs: number): number | null {
  const isBusy = result.kind === 'answer' && (result.status === 429 || result.status >= 500);
  return isBusy ? readRetryAfterMs(result.headers['retry-after'], nowMs) : null;
}

function bodyText(
  { body, headers }: WireAnswer,
  { attempted, format, decodedBytesMax }: AnswerContext,
): string | Failure {
  const decoded = textFromBody(body, headers['content-encoding'], decodedBytesMax);
  if (decoded.kind !== 'text') return UNREADABLE[decoded.kind](attempted);
  // Some captive portals send their page with the requested content type.
  return NOT_OF_FORMAT[format.extension].test(decoded.text)
    ? notApiFailure(attempted, '200 with a page of HTML or another format than its type says')
    : decoded.text;
}

const UNREADABLE: Readonly<Record<Exclude<BodyText['kind'], 'text'>, (attempted: Attempted) => Failure>> = {
  tooLarge: tooLargeFailure,
  unknownEncoding: (attempted) => notApiFailure(attempted, '200 with a content encoding that was not asked for'),
  damaged: (attempted) => damagedFailure(attempted, 'the compressed answer is damaged or ended early'),
  notUtf8: (attempted) => damagedFailure(attempted, 'the answer is not UTF-8'),
};

function readValue<T>(
  text: string,
  read: DocumentReader<T>,
  { attempted, format }: AnswerContext,
): { value: T } | Failure {
  try {
    return { value: read(text, attempted.what) };
  } catch (error) {
    if (!(error instanceof RowsyncError)) throw error;
    // A Content-Length that is too small cuts a body although the transfer looks complete.
    const isTransient = error.code === 'origin.truncated';
    // A document too costly to parse is not parsed to look for an error descriptor either.
    const descriptor = isTransient || error.code === 'origin.tooLarge' ? undefined : format.readError(text);
    if (descriptor === undefined) return { kind: 'failed', error, isTransient };
    return unexpectedFailure(
      attempted,
      `the origin answered 200 with an error${descriptorText(attempted, descriptor)}`,
    );
  }
}

function etagOf(headers: WireHeaders): string | null {
  return isCacheable(oneHeader(headers, 'cache-control')) ? readEtag(oneHeader(headers, 'etag')) : null;
}

/** Matches the beginning of a text that does not have the format of its type. */
const NOT_OF_FORMAT: Readonly<Record<Extension, RegExp>> = {
  json: /^\s*</,
  xml: /^\s*(?:[^<\s]|<(?:!doctype\b|html\b))/i,
};

function formatOf(contentType: string | undefined): WireFormat | undefined {
  const type = mediaType(contentType);
  if (type === 'application/json' || type === 'text/json' || type.endsWith('+json')) return WIRE_FORMATS.json;
  // XHTML is a web page, although it is XML.
  if (type === 'application/xhtml+xml') return undefined;
  return type === 'text/xml' || type === 'application/xml' || type.endsWith('+xml') ? WIRE_FORMATS.xml : undefined;
}

/** A header that came exactly once; one that came several times is ignored. */
function oneHeader(headers: WireHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** A decoded body, or why it was refused: the operator's next step depends on the reason. */
type BodyText =
  | { readonly kind: 'text'; readonly text: string }
  /** An encoding that was not asked for, or several · gzip that ends early or fails its checksum. */
  | { readonly kind: 'tooLarge' | 'unknownEncoding' | 'damaged' | 'notUtf8' };

/** The shortest possible gzip file (RFC 1952): header, empty block, checksum and size. */
const GZIP_BYTES_MIN = 18;

/** zlib refuses a smaller output buffer. */
const CHUNK_BYTES_MIN = 4_096;
/** Rows shrink to about a tenth. A body that claims a higher ratio than this is malicious or cut. */
const RATIO_MAX = 32;
/** Up to this size any ratio is accepted: empty columns shrink to almost nothing. Beyond it, `RATIO_MAX` holds. */
const FREE_BYTES = 16 * 1_024 * 1_024;

/** Decodes a body. `encoding` is its Content-Encoding header; several headers count as several encodings. */
export function textFromBody(
  body: Buffer,
  encoding: string | readonly string[] | undefined,
  decodedBytesMax: number,
): BodyText {
  const name = typeof encoding === 'string' ? encoding.trim().toLowerCase() : encoding;
  switch (name) {
    case undefined:
    case '':
    case 'identity':
      return body.length > decodedBytesMax ? { kind: 'tooLarge' } : textFromBytes(body);
    case 'gzip':
    case 'x-gzip':
      return textFromGzip(body, decodedBytesMax);
    default:
      return { kind: 'unknownEncoding' };
  }
}

function textFromGzip(body: Buffer, decodedBytesMax: number): BodyText {
  if (body.length < GZIP_BYTES_MIN) return { kind: 'damaged' };
  // gzip ends with the unpacked size modulo 2^32, unless it is cut: only an estimate, never a reason to refuse.
  const announcedBytes = body.readUInt32LE(body.length - 4);
  try {
    // One output buffer of the right size saves the copy that joining several takes. Synchronous on purpose: a page
    // takes a quarter of a millisecond here, a trip through the thread pool adds half a millisecond to its latency.
    const maxOutputLength = Math.min(decodedBytesMax, Math.max(FREE_BYTES, body.length * RATIO_MAX));
    // One byte more than the limit shows that it is exceeded, without a second buffer of this size.
    const chunkSize = Math.max(CHUNK_BYTES_MIN, Math.min(announcedBytes, body.length * RATIO_MAX, maxOutputLength + 1));
    const bytes = gunzipSync(body, { maxOutputLength, chunkSize });
    const text = textFromBytes(bytes);
    // Frees a page's bytes before V8 collects memory, or a hundred pages pile up. Small answers share Node's pool.
    if (bytes.buffer.byteLength === bytes.length) bytes.buffer.transfer(0);
    return text;
  } catch (error) {
    const isTooLarge = error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    return { kind: isTooLarge ? 'tooLarge' : 'damaged' };
  }
}

function textFromBytes(bytes: Buffer): BodyText {
  // Decoding would silently replace broken bytes by U+FFFD, and so change someone's row.
  if (!isUtf8(bytes)) return { kind: 'notUtf8' };
  const text = bytes.toString('utf8');
  return { kind: 'text', text: text.startsWith('\uFEFF') ? text.slice(1) : text };
}
