/**
 * Reads bodies of type multipart/related (specification 4.6, origin facts 7.4; RFC 2046, 5.1; RFC 2387). It takes
 * chunks as they arrive, and buffers at most one delimiter.
 *
 * Why not a package: busboy and @fastify/busboy refuse any subtype but form-data, and drop parts without a field name.
 * And formidable gives no Content-ID. The package multiparty takes only a request object; @remix-run/multipart-parser
 * 0.16.3 reads the vendor's bytes. But it silently loses a part after one without headers, takes any two bytes for the
 * line end after a delimiter, and refuses a preamble. A body that is read wrongly becomes invented rows.
 *
 * Lines end with CR LF (RFC 9110, 8.3.3). A boundary behind LF alone is refused, since it could be meant as one or be
 * content, and a guess would cut a file or join two. Faults are values; nothing is thrown at what came.
 */
import { WireFault } from '../../wire/fault.ts';
import { isHeaderText, readHeaderValue } from '../../wire/header-parameters.ts';

/** The bounds of one body. */
export interface MultipartLimits {
  /** Bytes of the whole body; more is answered with 413 (origin facts 4.1). */
  readonly bytesMax: number;
  readonly partsMax: number;
  /** Bytes of the headers of one part. */
  readonly headerBytesMax: number;
}

/** 20 MB as the origin; the record data and a few files for each of 500 rows; headers as large as servers take them. */
export const MULTIPART_LIMITS: MultipartLimits = { bytesMax: 20_000_000, partsMax: 2_000, headerBytesMax: 8_192 };

/** One part. */
export interface Part {
  /** By name in lower case, unfolded. */
  readonly headers: ReadonlyMap<string, string>;
  readonly bytes: Buffer;
}

/** What RFC 2046 allows in a boundary. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;

/** The boundary that a Content-Type header names, quoted or not. */
export function boundaryFrom(contentType: string | undefined): string | WireFault {
  const boundary = readHeaderValue(contentType).parameters.get('boundary');
  if (boundary === undefined || boundary === '') {
    return new WireFault('The Content-Type header names no boundary', { source: 'Content-Type' });
  }
  if (BOUNDARY.test(boundary)) return boundary;
  return new WireFault(
    'The boundary in the Content-Type header is longer than 70 characters or holds others than allowed',
    {
      source: 'Content-Type',
    },
  );
}

type State = 'preamble' | 'delimiter' | 'headers' | 'body' | 'epilogue';

const CR = 0x0d;
const CR_LF = Buffer.from('\r\n');
const EMPTY_LINE = Buffer.from('\r\n\r\n');
/** Spaces that a gateway may have put behind a delimiter (RFC 2046, transport padding). */
const PADDING_MAX = 256;

/** Reads one body: `write` each chunk, then `end`. After a fault both give that fault again. */
export class MultipartReader {
  /** A boundary with the LF before it, which CR must precede. */
  readonly #delimiter: Buffer;
  readonly #limits: MultipartLimits;
  readonly #parts: Part[] = [];
  #state: State = 'preamble';
  /** What has come and belongs nowhere yet; begins with the line break that a first delimiter may lack. */
  #pending: Buffer = CR_LF;
  #byteCount = 0;
  #headers: ReadonlyMap<string, string> = new Map();
  #chunks: Buffer[] = [];
  /** Bytes at the start of `#pending` that are no content. */
  #skip = 0;
  #fault: WireFault | undefined;

  constructor(boundary: string, limits: MultipartLimits = MULTIPART_LIMITS) {
    this.#delimiter = Buffer.from(`\n--${boundary}`, 'latin1');
    this.#limits = limits;
  }

  /** Takes the next bytes. */
  write(chunk: Uint8Array): WireFault | undefined {
    if (this.#fault !== undefined) return this.#fault;
    this.#byteCount += chunk.length;
    if (this.#byteCount > this.#limits.bytesMax) {
      return this.#complain(new WireFault(`The body has more than ${this.#limits.bytesMax} bytes`, { status: 413 }));
    }
    this.#pending = this.#pending.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#pending, chunk]);
    // Each step consumes bytes or asks for more; a step per part and state is all there can be.
    while (this.#fault === undefined && this.#step());
    return this.#fault;
  }

  /** The parts in their order, once everything has come. */
  end(): readonly Part[] | WireFault {
    if (this.#fault !== undefined) return this.#fault;
    switch (this.#state) {
      case 'epilogue':
        return this.#parts;
      case 'preamble':
        return this.#complain(new WireFault('No line of the body is the boundary (lines end with CR LF)'));
      default:
        return this.#complain(
          new WireFault(`The body ends inside part ${this.#parts.length + 1}, without a closing boundary`),
        );
    }
  }

  #complain(fault: WireFault): WireFault {
    this.#chunks = [];
    this.#pending = Buffer.alloc(0);
    this.#fault = fault;
    return fault;
  }

  /** Continues to the end of one state; false when more bytes are needed. */
  #step(): boolean {
    switch (this.#state) {
      case 'preamble':
      case 'body':
        return this.#readToDelimiter();
      case 'delimiter':
        return this.#readDelimiterEnd();
      case 'headers':
        return this.#readHeaders();
      case 'epilogue':
        break;
    }
    this.#pending = Buffer.alloc(0); // what follows the last delimiter has no meaning
    return false;
  }

  #readToDelimiter(): boolean {
    const lineFeedAt = this.#pending.indexOf(this.#delimiter);
    const at = lineFeedAt === -1 ? -1 : lineFeedAt - 1;
    if (lineFeedAt !== -1 && this.#pending[at] !== CR) {
      this.#complain(new WireFault('A boundary is behind LF alone: the lines of a body end with CR LF'));
      return false;
    }
    // What may be the start of a delimiter is kept, with the byte before it.
    const upTo = at === -1 ? Math.max(0, this.#pending.length - this.#delimiter.length) : at;
    const from = Math.min(this.#skip, upTo);
    this.#skip -= from;
    if (this.#state === 'body' && upTo > from) this.#chunks.push(this.#pending.subarray(from, upTo));
    if (at === -1) {
      this.#pending = this.#pending.subarray(upTo);
      return false;
    }
    this.#pending = this.#pending.subarray(lineFeedAt + this.#delimiter.length);
    if (this.#state === 'body') {
      this.#parts.push({ headers: this.#headers, bytes: Buffer.concat(this.#chunks) });
      this.#chunks = [];
      this.#skip = 0;
    }
    this.#state = 'delimiter';
    return true;
  }

  #readDelimiterEnd(): boolean {
    const pending = this.#pending;
    if (pending.length < 2) return false;
    if (pending[0] === 0x2d && pending[1] === 0x2d) {
      this.#state = 'epilogue';
      return true;
    }
    let at = 0;
    while (at < pending.length && (pending[at] === 0x20 || pending[at] === 0x09)) at += 1;
    const number = this.#parts.length + 1;
    if (at <= PADDING_MAX && pending.length < at + 2) return false;
    if (at > PADDING_MAX || pending[at] !== CR || pending[at + 1] !== 0x0a) {
      this.#complain(
        new WireFault(`The boundary line before part ${number} does not end with CR LF behind the boundary`),
      );
    } else if (this.#parts.length >= this.#limits.partsMax) {
      this.#complain(new WireFault(`The body has more than ${this.#limits.partsMax} parts`));
    } else {
      // The line break stays: a part without headers has its empty line right there.
      this.#pending = pending.subarray(at);
      this.#state = 'headers';
    }
    return this.#fault === undefined;
  }

  #readHeaders(): boolean {
    const endAt = this.#pending.indexOf(EMPTY_LINE);
    const number = this.#parts.length + 1;
    if ((endAt === -1 ? this.#pending.length : endAt) > this.#limits.headerBytesMax) {
      this.#complain(
        new WireFault(`The headers of part ${number} have more than ${this.#limits.headerBytesMax} bytes`),
      );
      return false;
    }
    if (endAt === -1) return false;
    const headers = readHeaders(this.#pending.subarray(CR_LF.length, Math.max(CR_LF.length, endAt)), number);
    if (headers instanceof WireFault) {
      this.#complain(headers);
      return false;
    }
    this.#headers = headers;
    // The second line break stays, because it belongs to the delimiter of a part without a body; else it is skipped.
    this.#pending = this.#pending.subarray(endAt + CR_LF.length);
    this.#skip = CR_LF.length;
    this.#state = 'body';
    return true;
  }
}

const HEADER_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*:[ \t]*(.*?)[ \t]*$/s;

function readHeaders(bytes: Buffer, number: number): ReadonlyMap<string, string> | WireFault {
  const headers = new Map<string, string>();
  const text = textFromUtf8(bytes);
  if (text === undefined) return new WireFault(`The headers of part ${number} are not UTF-8`);
  for (const line of text.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')) {
    if (line === '') continue; // a part without headers
    const [, name, value = ''] = HEADER_LINE.exec(line) ?? [];
    if (name === undefined || !isHeaderText(value.replaceAll('\t', ' '))) {
      return new WireFault(`Part ${number} has a line that is not a header`);
    }
    if (headers.has(name.toLowerCase())) return new WireFault(`Part ${number} has two headers of one name`);
    headers.set(name.toLowerCase(), value);
  }
  return headers;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Text from UTF-8 bytes without a byte order mark; undefined where they are none. */
export function textFromUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined; // a TypeError: the bytes are not UTF-8
  }
}
