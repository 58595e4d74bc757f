/** The memory that a hostile answer takes, with the real bounds, in a process of its own for each. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

import { expect, test } from 'vitest';

import { NODE_FLAGS } from '../../src/base/node-flags.ts';
import { http, json, startFaultServer, type FaultAnswer } from '../support/fault-server.ts';

const CHILD = fileURLToPath(new URL('../support/bomb-child.ts', import.meta.url));
const GROWN_BYTES_MAX = 64 * 1_024 * 1_024;
const MIB = 1_024 * 1_024;

/** Plain enough to be small on the wire, yet what the format begins with. */
const spaces = (mebibytes: number): Buffer => Buffer.alloc(mebibytes * MIB, ' ');
const gzip = (body: Uint8Array): Buffer => gzipSync(body, { level: 9 });

function encoded(encoding: string | null, body: Uint8Array, status = 200): Buffer {
  return http(status, { 'Content-Type': 'application/json', 'Content-Encoding': encoding }, body);
}

/** 200 MiB in 200 KB. */
const BOMB = gzip(spaces(200));

/** A gzip file ends with the size it unpacks to; this one lies. */
function lying(says: number): Buffer {
  const bytes = Buffer.from(BOMB);
  bytes.writeUInt32LE(says, bytes.length - 4);
  return bytes;
}

/** Sends chunks of spaces for as long as the other side reads. */
const endless: FaultAnswer = (socket) => {
  const block = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, ' '), Buffer.from('\r\n')]);
  const more = (): void => {
    while (socket.writable && socket.write(block));
  };
  socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n');
  socket.on('drain', more);
  more();
};

test.each<[string, () => FaultAnswer, string]>([
  ['gzip, 200 MiB in 200 KB', () => encoded('gzip', BOMB), 'origin.tooLarge'],
  ['gzip, 200 MiB that say 10 bytes', () => encoded('gzip', lying(10)), 'origin.tooLarge'],
  ['gzip, 200 MiB that say 0 bytes', () => encoded('gzip', lying(0)), 'origin.tooLarge'],
  ['gzip, 200 MiB that say 63 MiB', () => encoded('gzip', lying(63 * MIB)), 'origin.tooLarge'],
  [
    'gzip, 200 members of 1 MiB',
    () => encoded('gzip', Buffer.concat(Array.from({ length: 200 }, () => gzip(spaces(1))))),
    'origin.tooLarge',
  ],
  ['gzip, 200 MiB behind an error', () => encoded('gzip', BOMB, 403), 'origin.forbidden'],
  ['deflate, 200 MiB', () => encoded('deflate', deflateSync(spaces(200))), 'origin.notApi'],
  [
    'brotli, 200 MiB',
    () => encoded('br', brotliCompressSync(spaces(200), { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })),
    'origin.notApi',
  ],
  ['zstd, 200 MiB', () => encoded('zstd', zstdCompressSync(spaces(200))), 'origin.notApi'],
  ['gzip in gzip, 200 MiB', () => encoded('gzip, gzip', gzip(BOMB)), 'origin.notApi'],
  ['a body without an end', () => endless, 'origin.tooLarge'],
])('%s, is refused within 64 MiB', async (_title, make, code) => {
  const result = await bombed(make());

  expect(result.code).toBe(code);
  expect(result.grownBytes).toBeLessThan(GROWN_BYTES_MAX);
});

test('a bomb as large as the wire may be is refused within the bound of what a page may hold', async () => {
  // 8 GB, were anybody to unpack it.
  const bomb = Buffer.concat(Array.from({ length: 39 }, () => BOMB));

  const result = await bombed(encoded('gzip', bomb));

  expect(bomb.length).toBeGreaterThan(7 * MIB);
  expect(result.code).toBe('origin.tooLarge');
  expect(result.grownBytes).toBeLessThan(2 * GROWN_BYTES_MAX);
});

/** A page of one row whose text does not shrink, so that the ratio of the whole says nothing; then what costs much. */
function behindNoise(rest: string): Buffer {
  const noise = randomBytes(1_700_000).toString('base64');
  return gzip(Buffer.from(`[{"@row.id":1,"Title":"${noise}"},${rest}`));
}

/** A page of XML with one value of so many characters. */
function xmlPage(characters: number): Buffer {
  return xmlOf('x'.repeat(characters));
}

function xmlOf(title: string): Buffer {
  return Buffer.from(`<Response><row id="1"><Title>${title}</Title></row></Response>`);
}

/** Four rows of one id with values of 7 MiB, of which so much is noise that the ratio is that of rows. */
function fourValues(): Buffer {
  const value = Array.from({ length: 850 }, () => randomBytes(300).toString('base64') + 'x'.repeat(8_000)).join('');
  return gzip(Buffer.from(`<Response>${`<row id="1"><Title>${value}</Title></row>`.repeat(4)}</Response>`));
}

test.each<[string, () => Buffer, 'json' | 'xml', string]>([
  ['8 million brackets', () => gzip(Buffer.alloc(8_000_000, '[')), 'json', 'origin.tooLarge'],
  ['31 million brackets behind noise', () => behindNoise('['.repeat(31_000_000)), 'json', 'origin.tooLarge'],
  ['20 million objects behind noise', () => behindNoise('{},'.repeat(20_000_000)), 'json', 'origin.tooLarge'],
  ['a million long decimals', () => behindNoise('12345678901234567.5,'.repeat(1_000_000)), 'json', 'origin.truncated'],
  ['XML with a value of 15 million characters', () => gzip(xmlPage(15_000_000)), 'xml', 'origin.tooLarge'],
  ['XML with a value that is just within the bound', () => gzip(xmlPage(8 * MIB)), 'xml', 'done'],
  ['XML with 30 million carriage returns', () => gzip(xmlOf('\r'.repeat(30_000_000))), 'xml', 'origin.tooLarge'],
  [
    'XML with 15 million hyphens in a comment',
    () => gzip(xmlOf(`<!--${'- '.repeat(15_000_000)}-->`)),
    'xml',
    'origin.tooLarge',
  ],
  ['XML with four such values, between noise', fourValues, 'xml', 'origin.unexpected'],
])(
  'with the heap of the service, an answer that costs much is survived: %s',
  { timeout: 180_000 },
  async (_, make, format, code) => {
    const contentType = format === 'xml' ? 'text/xml' : 'application/json';
    const answer = http(200, { 'Content-Type': contentType, 'Content-Encoding': 'gzip' }, make());

    const result = await bombed(answer, format);

    expect(result.code).toBe(code);
    expect(result.peakBytes).toBeLessThan(700 * MIB);
  },
);

const PLAIN: Readonly<Record<'json' | 'xml', FaultAnswer>> = {
  json: json([{ '@row.id': 1, Title: 'a' }]),
  xml: http(200, { 'Content-Type': 'text/xml' }, xmlPage(1)),
};

/** What becomes of a client that is answered so. */
async function bombed(
  bomb: FaultAnswer,
  format: 'json' | 'xml' = 'json',
): Promise<{ code: string; grownBytes: number; peakBytes: number }> {
  await using server = await startFaultServer((nth) => (nth <= 3 ? PLAIN[format] : bomb));

  const { stdout } = await promisify(execFile)(process.execPath, [...NODE_FLAGS, CHILD, server.url, format]);

  return JSON.parse(stdout) as { code: string; grownBytes: number; peakBytes: number };
}
