/** The memory that a hostile answer takes, with the real bounds, in a process of its own for each. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

import { expect, test } from 'vitest';

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

/** What becomes of a client that is answered so. */
async function bombed(bomb: FaultAnswer): Promise<{ code: string; grownBytes: number }> {
  await using server = await startFaultServer((nth) => (nth <= 3 ? json([{ '@row.id': 1, Title: 'a' }]) : bomb));

  const { stdout } = await promisify(execFile)(process.execPath, [CHILD, server.url]);

  return JSON.parse(stdout) as { code: string; grownBytes: number };
}
