/**
 * A complete body as it came over the wire, turned into text within a bound. Knows one compression, gzip, once: a second layer or
 * another encoding is refused. So is a body that unpacks to more than the bound or shrank as no rows do. At most that much memory
 * is spent on finding out. Pure.
 */
import { isUtf8 } from 'node:buffer';
import { gunzipSync } from 'node:zlib';

/** What became of a body; each refusal is told apart because the operator's next step differs. */
export type BodyText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tooLarge' }
  /** Not asked for, or more than one. */
  | { readonly kind: 'unknownEncoding' }
  /** gzip that ends early or fails its checksum. */
  | { readonly kind: 'damaged' }
  | { readonly kind: 'notUtf8' };

/** The shortest possible gzip file (RFC 1952): header, empty block, checksum and size. */
const GZIP_BYTES_MIN = 18;

/** zlib refuses a smaller output buffer. */
const CHUNK_BYTES_MIN = 4_096;
/** Rows shrink to a tenth or so. A body that claims to have shrunk to less than this is lying or cut. */
const RATIO_MAX = 32;
/**
 * Up to here any ratio will do, because columns that are all empty shrink to nearly nothing. Beyond, `RATIO_MAX` holds, so that a bomb of
 * some hundred kilobytes costs this much memory and not the whole bound.
 */
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
  // gzip ends with the unpacked size modulo 2^32, unless it is cut; so this is a guess at the size, never a reason.
  const announcedBytes = body.readUInt32LE(body.length - 4);
  try {
    // One output buffer of the right size saves the copy that joining several takes. Synchronous on purpose: a page
    // takes a quarter of a millisecond here, a trip through the thread pool adds half a millisecond to its latency.
    const maxOutputLength = Math.min(decodedBytesMax, Math.max(FREE_BYTES, body.length * RATIO_MAX));
    // One byte more than the bound shows that it is exceeded, without a second buffer of this size.
    const chunkSize = Math.max(CHUNK_BYTES_MIN, Math.min(announcedBytes, body.length * RATIO_MAX, maxOutputLength + 1));
    return textFromBytes(gunzipSync(body, { maxOutputLength, chunkSize }));
  } catch (error) {
    const isTooLarge = error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    return { kind: isTooLarge ? 'tooLarge' : 'damaged' };
  }
}

function textFromBytes(bytes: Buffer): BodyText {
  // Decoding would replace broken bytes by U+FFFD without a message, and so change someone's row.
  if (!isUtf8(bytes)) return { kind: 'notUtf8' };
  const text = bytes.toString('utf8');
  return { kind: 'text', text: text.startsWith('\uFEFF') ? text.slice(1) : text };
}
