/**
 * From a complete answer of the wire to its meaning: status, type, compression, then the document of the method or the
 * headers of a file. Input: transport.ts. Output: a typed answer, or the failure that it means (failures.ts).
 *
 * Invariant: an answer is either complete and read, or a failure. Pure. Specification 4.9 and 4.10; origin facts 4.1.
 */
import { RowsyncError } from '../base/errors.ts';
import { WIRE_FORMATS, type Extension, type WireFormat } from '../wire/format.ts';
import { isCacheable, mediaType, readEtag, readRetryAfterMs } from '../wire/headers.ts';
import type { ErrorDescriptor } from '../wire/json.ts';
import { fileNameFromDisposition, readHeaderValue } from '../wire/mime.ts';
import { textFromBody } from './body.ts';
import {
  damagedFailure,
  descriptorText,
  notApiFailure,
  statusFailure,
  tooLargeFailure,
  unexpectedFailure,
  outsideWords,
  type Attempted,
  type Failure,
} from './failures.ts';
import type { WireAnswer, WireFault, WireHeaders } from './transport.ts';

/** The ETag of a request, if it has one. */
export type Etag = string | null | undefined;

/** A complete answer of a method. Only a request with an ETag is answered with `notModified`. */
export type Answer<T, E extends Etag = Etag> =
  | (E extends string ? { readonly kind: 'notModified' } : never)
  | {
      readonly kind: 'ok';
      readonly value: T;
      /** Null where the origin sent none that can be trusted, or said that the answer must not be kept. */
      readonly etag: string | null;
      /** Bytes of the body as it came over the wire. */
      readonly receivedBytes: number;
    };

/** What the headers of a file say (specification 4.9). */
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
export interface Reading {
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
  read: (text: string, what: string) => T,
  reading: Reading,
): Answer<T> | Failure {
  const { attempted, format } = reading;
  const { headers, receivedBytes } = answer;
  const other = notOkay(answer, reading);
  if (other !== null) return other;
  const contentType = oneHeader(headers, 'content-type');
  if (formatOf(contentType) !== format) {
    return notApiFailure(
      attempted,
      `200 with ${contentType === undefined ? 'no media type' : outsideWords(attempted.scrub, mediaType(contentType))}`,
      { status: 200, text: pageText(answer) ?? '' },
    );
  }
  const body = bodyText(answer, reading);
  if (typeof body !== 'string') return body;
  const value = readValue(body, read, reading);
  return 'isTransient' in value ? value : { kind: 'ok', ...value, etag: etagOf(headers), receivedBytes };
}

/** Reads an answer that says what a file is; its content went elsewhere. */
export function readFile(answer: WireAnswer, reading: Reading): Answer<FileHeaders> | Failure {
  const { headers, receivedBytes } = answer;
  const other = notOkay(answer, reading);
  if (other !== null) return other;
  // A sign-in page is a file like any other, but for the headers that only the method sends.
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

/** The meaning of any other status than 200; null for that. */
function notOkay(
  answer: WireAnswer,
  { attempted, etag, ...reading }: Reading,
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

/** Bytes of an error descriptor, unpacked; the longest known has some hundred. */
const DESCRIPTOR_BYTES_MAX = 1_024 * 1_024;

/** The error descriptor in an answer, if it has one: in the format of its type, which need not be the one asked for. */
export function descriptorOf(
  { body, headers }: WireAnswer,
  { format }: Pick<Reading, 'format'>,
): ErrorDescriptor | undefined {
  const decoded = textFromBody(body, headers['content-encoding'], DESCRIPTOR_BYTES_MAX);
  if (decoded.kind !== 'text') return undefined;
  return (formatOf(oneHeader(headers, 'content-type')) ?? format).readError(decoded.text);
}

/** Characters of a page that are read; its title is among the first, and a firewall's sentence is short. */
const PAGE_CHARS_MAX = 20_000;

/** The title of a page of HTML, or its text without one; the text of a plain answer. Null if it is neither, or says nothing. */
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

/** Milliseconds that an answer asks to wait; null where it asks for none. */
export function retryAfterMs(result: WireAnswer | WireFault, nowMs: number): number | null {
  return result.kind === 'answer' ? readRetryAfterMs(result.headers['retry-after'], nowMs) : null;
}

function bodyText({ body, headers }: WireAnswer, { attempted, format, decodedBytesMax }: Reading): string | Failure {
  const decoded = textFromBody(body, headers['content-encoding'], decodedBytesMax);
  switch (decoded.kind) {
    case 'text':
      // Something else under the type that was asked for: some captive portals keep it.
      return NOT_OF_FORMAT[format.extension].test(decoded.text)
        ? notApiFailure(attempted, '200 with a page of HTML or another format than its type says')
        : decoded.text;
    case 'tooLarge':
      return tooLargeFailure(attempted);
    case 'unknownEncoding':
      return notApiFailure(attempted, '200 with a content encoding that was not asked for');
    case 'damaged':
      return damagedFailure(attempted, 'the compressed answer is damaged or ended early');
    case 'notUtf8':
      return damagedFailure(attempted, 'the answer is not UTF-8');
    default:
      return decoded satisfies never;
  }
}

function readValue<T>(
  text: string,
  read: (text: string, what: string) => T,
  { attempted, format }: Reading,
): { value: T } | Failure {
  try {
    return { value: read(text, attempted.what) };
  } catch (error) {
    if (!(error instanceof RowsyncError)) throw error;
    // Cut short although the transfer looked complete: a Content-Length that is too small does this.
    if (error.code === 'origin.truncated') return { kind: 'failed', error, isTransient: true };
    // Too costly to be parsed, also to see whether it is an error.
    if (error.code === 'origin.tooLarge') return { kind: 'failed', error, isTransient: false };
    const descriptor = format.readError(text);
    if (descriptor === undefined) return { kind: 'failed', error, isTransient: false };
    return unexpectedFailure(
      attempted,
      `the origin answered 200 with an error${descriptorText(attempted, descriptor)}`,
    );
  }
}

function etagOf(headers: WireHeaders): string | null {
  return isCacheable(oneHeader(headers, 'cache-control')) ? readEtag(oneHeader(headers, 'etag')) : null;
}

/** How a text begins that is not what its type says. */
const NOT_OF_FORMAT: Readonly<Record<Extension, RegExp>> = {
  json: /^\s*</,
  xml: /^\s*(?:[^<\s]|<(?:!doctype\b|html\b))/i,
};

/** The format that a Content-Type header names. */
function formatOf(contentType: string | undefined): WireFormat | undefined {
  const type = mediaType(contentType);
  if (type === 'application/json' || type === 'text/json' || type.endsWith('+json')) return WIRE_FORMATS.json;
  // A page that is XML too is still a page.
  if (type === 'application/xhtml+xml') return undefined;
  return type === 'text/xml' || type === 'application/xml' || type.endsWith('+xml') ? WIRE_FORMATS.xml : undefined;
}

/** A header that came once; several of one name are as good as none. */
function oneHeader(headers: WireHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}
