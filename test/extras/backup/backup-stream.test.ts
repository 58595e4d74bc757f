import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { receiveBackup, streamOf } from '../../../src/extras/backup/piped-backup.ts';
import { temporaryFolder } from '../../support/replica.ts';

/** A file that stands for a backup, and one of its files. */
function makeBackup(folder: string): string {
  const path = join(folder, 'copy.db');
  const content = 'content of a file';
  const hash = createHash('sha256').update(content).digest('hex');
  writeFileSync(path, `replica\n${'x'.repeat(200_000)}`);
  mkdirSync(join(`${path}.files`, hash.slice(0, 2)), { recursive: true });
  writeFileSync(join(`${path}.files`, hash.slice(0, 2), hash), content);
  return path;
}

async function bytesOf(path: string): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of streamOf(path, { rowCount: 2 })) pieces.push(piece);
  return Buffer.concat(pieces);
}

test.each([1, 7, 65_536])('a backup comes through in pieces of %i bytes', async (size) => {
  using folder = temporaryFolder();
  const [source, target] = [makeBackup(folder.path), join(folder.path, 'received.db')];
  const bytes = await bytesOf(source);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );

  const report = await receiveBackup(Readable.from(pieces), target);

  expect(report).toEqual({ rowCount: 2 });
  expect(readFileSync(target).equals(readFileSync(source))).toBe(true);
  const [names, received] = [source, target].map((path) =>
    readdirSync(`${path}.files`, { recursive: true, encoding: 'utf8' }).toSorted(),
  );
  expect(received).toEqual(names);
});

test.each<[string, (bytes: Buffer) => Buffer]>([
  ['nothing', () => Buffer.alloc(0)],
  ['the first half', (bytes) => bytes.subarray(0, bytes.length / 2)],
  ['all but the last byte', (bytes) => bytes.subarray(0, -1)],
  ['a head without an end', () => Buffer.alloc(10_000, 'x')],
  ['a head that is no head', () => Buffer.from('replica -1'.padEnd(100))],
  ['a file with the name of a path', () => Buffer.from(`${'../x 1'.padEnd(100)}x`)],
])('of %s, nothing is kept', async (_what, cut) => {
  using folder = temporaryFolder();
  const bytes = cut(await bytesOf(makeBackup(folder.path)));
  const before = readdirSync(folder.path, { encoding: 'utf8' }).toSorted();

  const received = receiveBackup(Readable.from([bytes]), join(folder.path, 'received.db'));

  await expect(received).rejects.toMatchObject({ code: 'backup.damaged' });
  expect(readdirSync(folder.path, { encoding: 'utf8' }).toSorted()).toEqual(before);
});
