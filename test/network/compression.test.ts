/**
 * What a body unpacks to. Bombs, encodings that nobody asked for, layers, damage; the memory that bombs take is in
 * memory.test.ts.
 */
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

import { describe } from 'vitest';

import { http } from '../support/fault-server.ts';
import { checkCases, ENDINGS, wireCase } from '../support/network.ts';

const ROWS = '[{"@row.id":1,"Title":"a","status":200,"id":1}]';
const calls = ['select', 'upsert'] as const;
const { notApi, truncated, tooLarge } = ENDINGS;
/** Small enough that no test waits for a bomb to be made. */
const limits = { decodedBytesMax: 100_000, wireBytesMax: 20_000 };

function encoded(encoding: string | readonly string[], body: string | Uint8Array, status = 200): Buffer {
  return http(status, { 'Content-Type': 'application/json', 'Content-Encoding': encoding }, body);
}

const zipped = gzipSync(ROWS);
const bomb = gzipSync(Buffer.alloc(2_000_000, ' '));
/** A member's last four bytes say how much it unpacks to; these lie. */
const lying = (size: number): Buffer => {
  const bytes = Buffer.from(bomb);
  bytes.writeUInt32LE(size, bytes.length - 4);
  return bytes;
};
const mebibyte = gzipSync(Buffer.alloc(50_000, ' '));

describe('bombs', () => {
  checkCases([
    wireCase('gzip', encoded('gzip', bomb), tooLarge, { calls, limits }),
    wireCase('gzip that says it is small', encoded('gzip', lying(10)), tooLarge, { calls, limits }),
    wireCase('gzip that says it is nothing', encoded('gzip', lying(0)), tooLarge, { calls, limits }),
    wireCase('gzip that says it is just within the bound', encoded('gzip', lying(100_000)), tooLarge, {
      calls,
      limits,
    }),
    wireCase('gzip that says it is four gigabytes', encoded('gzip', lying(0xffff_ffff)), tooLarge, { calls, limits }),
    wireCase(
      'gzip of many small members',
      encoded('gzip', Buffer.concat(Array.from({ length: 50 }, () => mebibyte))),
      tooLarge,
      { calls, limits },
    ),
    wireCase(
      'gzip of many members that end in an empty one',
      encoded('gzip', Buffer.concat([bomb, gzipSync('')])),
      tooLarge,
      { calls, limits },
    ),
    wireCase('gzip in an answer with an error', encoded('gzip', bomb, 500), ENDINGS.failing, { calls, limits }),
    wireCase('deflate', encoded('deflate', deflateSync(Buffer.alloc(2_000_000))), notApi, { calls, limits }),
    wireCase('deflate without its header', encoded('deflate', deflateRawSync(Buffer.alloc(2_000_000))), notApi, {
      calls,
      limits,
    }),
    wireCase(
      'brotli',
      encoded('br', brotliCompressSync(Buffer.alloc(2_000_000), { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })),
      notApi,
      { calls, limits },
    ),
    wireCase('zstd', encoded('zstd', zstdCompressSync(Buffer.alloc(2_000_000))), notApi, { calls, limits }),
    wireCase('gzip in gzip', encoded('gzip', gzipSync(bomb)), truncated, { calls, limits }),
    wireCase(
      'plain bytes beyond the bound of the wire',
      http(
        200,
        { 'Content-Type': 'application/json', 'Content-Length': null, 'Transfer-Encoding': 'chunked' },
        `4e84\r\n${' '.repeat(20_100)}\r\n0\r\n\r\n`,
      ),
      tooLarge,
      { calls, limits },
    ),
    wireCase('a size beyond the bound, announced', encoded('gzip', Buffer.alloc(20_001)), tooLarge, { calls, limits }),
  ]);
});

describe('layers, and encodings that nobody asked for', () => {
  checkCases([
    wireCase('gzip, gzip', encoded('gzip, gzip', gzipSync(zipped)), notApi, { calls }),
    wireCase('gzip and gzip in a header each', encoded(['gzip', 'gzip'], gzipSync(zipped)), notApi, { calls }),
    wireCase('gzip, br', encoded('gzip, br', brotliCompressSync(zipped)), notApi, { calls }),
    wireCase('identity, gzip', encoded('identity, gzip', zipped), notApi, { calls }),
    wireCase('five hundred layers', encoded(Array.from({ length: 500 }, () => 'gzip').join(','), zipped), notApi, {
      calls,
    }),
    wireCase('brotli', encoded('br', brotliCompressSync(ROWS)), notApi, { calls }),
    wireCase('zstd', encoded('zstd', zstdCompressSync(ROWS)), notApi, { calls }),
    wireCase('deflate', encoded('deflate', deflateSync(ROWS)), notApi, { calls }),
    wireCase('compress', encoded('compress', ROWS), notApi, { calls }),
    wireCase('one that does not exist', encoded('rot13', ROWS), notApi, { calls }),
    wireCase('gzip, in capitals', encoded('GZIP', zipped), 'done', { calls }),
    wireCase('gzip, under its old name', encoded('x-gzip', zipped), 'done', { calls }),
    wireCase('identity', encoded('identity', ROWS), 'done', { calls }),
    wireCase('nothing, said', encoded('', ROWS), 'done', { calls }),
  ]);
});

describe('damage', () => {
  const flipped = Buffer.from(zipped);
  flipped.writeUInt8((flipped.at(-8) ?? 0) ^ 1, flipped.length - 8);
  checkCases([
    wireCase('gzip that is not said', http(200, { 'Content-Type': 'application/json' }, zipped), truncated, { calls }),
    wireCase('gzip that is said and is none', encoded('gzip', ROWS), truncated, { calls }),
    wireCase('gzip without a byte', encoded('gzip', ''), truncated, { calls }),
    wireCase('gzip of nothing', encoded('gzip', gzipSync('')), truncated, { calls }),
    wireCase('gzip without its last byte', encoded('gzip', zipped.subarray(0, -1)), truncated, { calls }),
    wireCase('gzip without its second half', encoded('gzip', zipped.subarray(0, zipped.length >> 1)), truncated, {
      calls,
    }),
    wireCase('gzip with a wrong checksum', encoded('gzip', flipped), truncated, { calls }),
    wireCase(
      'gzip with a wrong size',
      encoded('gzip', Buffer.concat([zipped.subarray(0, -4), Buffer.from([9, 0, 0, 0])])),
      truncated,
      { calls },
    ),
    wireCase(
      'two members, each half of a document',
      encoded('gzip', Buffer.concat([gzipSync(ROWS.slice(0, 9)), gzipSync(ROWS.slice(9))])),
      'done',
      { calls },
    ),
    wireCase(
      'gzip of what is not UTF-8',
      encoded('gzip', gzipSync(Buffer.from('[{"@row.id":1,"Title":"\u00FF"}]', 'latin1'))),
      truncated,
      { calls },
    ),
  ]);
});
