/**
 * The body of Create, Update and Upsert: rows in JSON or XML, or a multipart/related body with such rows and files
 * (specification 4.6, origin facts 4.1 and 7.4). A cell refers to a file as `cid:<content id>`. Lines of
 * multipart/related (RFC 2046, 5.1; RFC 2387) end with CR LF (RFC 9110, 8.3.3).
 */
import { assert } from '../base/assert.ts';
import type { WireFormat } from './format.ts';
import { fileNameParameter, isHeaderText } from './header-parameters.ts';
import { unsendable, type OutgoingRow } from './writes.ts';

/** A file to send with rows; its bytes may be read while they are sent. */
export interface OutgoingFile {
  /** Without angle brackets. */
  readonly contentId: string;
  /** As sent: text, never a path. */
  readonly name: string;
  /** Media type as sent, with its parameters. */
  readonly type: string;
  readonly bytes: OutgoingBytes;
}

/**
 * Writes the body of a write for a user in `zone`; multipart/related where there are files. `random` gives uniform
 * numbers in [0, 1) for the boundary. Content ids are letters, digits, `.`, `_` and `-`.
 * @throws RowsyncError `origin.unsendable` where the format cannot carry a text, or a file name breaks a header line.
 */
export function writeWriteBody(
  format: WireFormat,
  content: { rows: readonly OutgoingRow[]; zone: string; files: readonly OutgoingFile[] },
  random: () => number,
): OutgoingBody {
  const bytes = Buffer.from(format.writeInputRows(content.rows, content.zone));
  if (content.files.length === 0) return { contentType: format.contentType, bytes };
  const fileParts = content.files.map((file) => {
    assert(/^[\w.-]{1,64}$/.test(file.contentId), 'content ids are plain');
    if (!isHeaderText(file.name) || !isHeaderText(file.type)) {
      const complaint = 'a file to attach has a line break or another control character in its name or type';
      throw unsendable(complaint, 'Rename the file and set the attachment again.');
    }
    return {
      headers: [
        ['Content-Type', file.type],
        ['Content-Disposition', `attachment; ${fileNameParameter(file.name)}`],
        ['Content-ID', file.contentId],
      ] as const,
      bytes: file.bytes,
    };
  });
  return writeMultipart([{ headers: [['Content-Type', format.contentType]], bytes }, ...fileParts], random);
}

const CR_LF = Buffer.from('\r\n');

/** Bytes read piece by piece while they are sent, from the beginning on each attempt; always exactly `length`. */
export interface StreamedBytes {
  readonly length: number;
  readonly read: () => AsyncIterable<Uint8Array>;
}

/** Bytes to send, from memory or from elsewhere. */
export type OutgoingBytes = Uint8Array | StreamedBytes;

/** One part to write; header names and values are ours. */
export interface OutgoingPart {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly bytes: OutgoingBytes;
}

/** A body and the header that goes with it. */
export interface OutgoingBody {
  readonly contentType: string;
  readonly bytes: OutgoingBytes;
}

/** Writes a multipart/related body; in memory where every part is. `random` gives uniform numbers in [0, 1). */
export function writeMultipart(parts: readonly OutgoingPart[], random: () => number): OutgoingBody {
  const boundary = randomBoundary(random);
  const pieces: OutgoingBytes[] = [];
  for (const { headers, bytes } of parts) {
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
    pieces.push(Buffer.from(`--${boundary}\r\n${lines.join('')}\r\n`), bytes, CR_LF);
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  return { contentType: `multipart/related;boundary=${boundary}`, bytes: joinBytes(pieces) };
}

function joinBytes(pieces: readonly OutgoingBytes[]): OutgoingBytes {
  const inMemory = pieces.filter((piece) => piece instanceof Uint8Array);
  if (inMemory.length === pieces.length) return Buffer.concat(inMemory);
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return { length, read: () => readPieces(pieces) };
}

async function* readPieces(pieces: readonly OutgoingBytes[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) yield piece;
    else yield* readExactly(piece);
  }
}

/** Checks the length, because a file that grows or shrinks while it is read would shift everything after it. */
async function* readExactly({ length, read }: StreamedBytes): AsyncGenerator<Uint8Array> {
  let left = length;
  for await (const chunk of read()) {
    left -= chunk.length;
    if (left < 0) break;
    yield chunk;
  }
  if (left !== 0) throw new Error('What was to be sent has changed in length');
}

/** A boundary of 128 random bits. */
function randomBoundary(random: () => number): string {
  const words = Array.from({ length: 8 }, () => Math.floor(random() * 0x1_0000));
  return `part-${words.map((word) => word.toString(16).padStart(4, '0')).join('')}`;
}
