/** A backup as a stream: it comes through whole, or nothing of it is kept. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import type { Session } from '../../../src/cli/terminal/session.ts';
import type { Config } from '../../../src/config/load.ts';
import {
  backUpByChild,
  receiveBackup,
  restoreReceived,
  sendBackup,
  streamOf,
} from '../../../src/extras/backup/piped-backup.ts';
import { contentsOf, fileOf, startFilesFixture } from '../../support/files.ts';
import { invocationIn } from '../../support/invocation.ts';
import { temporaryFolder } from '../../support/replica.ts';
import { sessionIn } from '../../support/session.ts';

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

/** A session that reads from a stream, or whose output is kept as bytes. */
function sessionWith(input: Readable | null): { readonly session: Session; readonly written: readonly Uint8Array[] } {
  const written: Uint8Array[] = [];
  const stream = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => {
      written.push(chunk);
      done();
    },
  });
  const session = sessionIn('.');
  const stdout = { ...session.stdout, stream: Object.assign(stream, { isTTY: false }) };
  return { session: { ...session, stdout, ...(input === null ? {} : { stdin: input }) }, written };
}

test('a replica that is sent is restored from what was received, with its files, and nothing is left beside it', async () => {
  const photo = { Photo: fileOf('photo.jpg', 'bytes of a photo') };
  await using fixture = await startFilesFixture({
    tables: [{ name: 'Album', columns: [{ name: 'Photo', type: 'Attachment' }], rows: [photo] }],
  });
  await fixture.pull();
  await fixture.pullFiles();
  const { database } = fixture.sandbox;
  const configOf = (path: string, files: string): Config =>
    ({ replica: { path, files, shared: false }, origin: { database } }) as unknown as Config;
  const config = configOf(fixture.path, fixture.store);
  const sending = sessionWith(null);
  const bare = sessionWith(null);

  await sendBackup(sending.session, config, true);
  await sendBackup(bare.session, config, false);
  const elsewhere = join(fixture.folder, 'elsewhere');
  mkdirSync(elsewhere);
  const target = configOf(join(elsewhere, 'replica.db'), join(elsewhere, 'files'));
  const receiving = sessionWith(Readable.from(sending.written));
  const report = await restoreReceived(receiving.session, target, '20260601T120000Z');

  expect(report).toMatchObject({ path: target.replica.path, tableCount: 1, rowCount: 1, asidePath: null });
  expect(contentsOf(join(elsewhere, 'files')).map((path) => readFileSync(path, 'utf8'))).toEqual(['bytes of a photo']);
  expect(readdirSync(elsewhere).filter((name) => name.includes('backup-'))).toEqual([]);
  expect(readdirSync(fixture.folder).filter((name) => name.includes('backup-'))).toEqual([]);
  expect(Buffer.concat(bare.written).includes('bytes of a photo')).toBe(false);
});

test('a file that was damaged on the way is left out, and the rest comes', async () => {
  using folder = temporaryFolder();
  const [source, target] = [makeBackup(folder.path), join(folder.path, 'received.db')];
  const bytes = await bytesOf(source);
  bytes.write('X', bytes.indexOf('content of a file'));

  await receiveBackup(Readable.from([bytes]), target);

  expect(readFileSync(target).equals(readFileSync(source))).toBe(true);
  expect(contentsOf(`${target}.files`)).toEqual([]);
});

test('a child makes no backup beside the files of another one', async () => {
  using folder = temporaryFolder();
  const target = join(folder.path, 'copy.db');
  mkdirSync(`${target}.files`);
  const { invocation } = invocationIn(folder.path);
  const config = { file: join(folder.path, 'none.yaml') } as Config;

  const made = backUpByChild(invocation, config, { target, withFiles: true });

  await expect(made).rejects.toMatchObject({ code: 'backup.exists', message: `${target}.files exists already` });
  expect(readdirSync(folder.path)).toEqual(['copy.db.files']);
});
