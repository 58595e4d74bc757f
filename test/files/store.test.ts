/** The file store: what stands under a final name is whole, equal content stands once, leftovers go. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync, statSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openStore, type CompleteFile, type FileStore } from '../../src/files/store.ts';
import { FileDisk, fileSystemOf } from '../sim/world/files-disk.ts';
import { contentsOf } from '../support/files.ts';
import { temporaryFolder } from '../support/replica.ts';

async function write(store: FileStore, ...chunks: readonly string[]): Promise<CompleteFile> {
  const incoming = await store.begin();
  for (const chunk of chunks) await incoming.write(Buffer.from(chunk));
  return incoming.complete();
}

test('content stands under its hash, in a folder by its first digits, once it is kept and not before', async () => {
  using folder = temporaryFolder();
  const store = await openStore(join(folder.path, 'a', 'files'));

  const file = await write(store, 'hel', '', 'lo');
  const before = contentsOf(store.folder);
  await store.keep([file]);

  const sha256 = createHash('sha256').update('hello').digest('hex');
  expect(file).toMatchObject({ sha256, bytes: 5 });
  expect(before).toEqual([]);
  expect(contentsOf(store.folder)).toEqual([join(store.folder, sha256.slice(0, 2), sha256)]);
  expect(readFileSync(store.pathOf(sha256), 'utf8')).toBe('hello');
  expect(statSync(store.folder).mode & 0o777).toBe(0o700);
});

test('the group may read a shared store, and nobody may change it', async () => {
  using folder = temporaryFolder();
  const store = await openStore(join(folder.path, 'files'), true);
  const file = await write(store, 'x');
  await store.keep([file]);

  const path = store.pathOf(file.sha256);

  expect(statSync(path).mode & 0o777).toBe(0o440);
  expect([store.folder, dirname(path), dirname(dirname(path))].map((at) => statSync(at).mode & 0o777)).toEqual([
    0o750, 0o750, 0o750,
  ]);
});

test('equal content stands once, and an empty file is content too', async () => {
  using folder = temporaryFolder();
  const store = await openStore(folder.path);

  await store.keep([await write(store, 'x'), await write(store, 'x'), await write(store)]);
  await store.keep([await write(store, 'x')]);

  expect(contentsOf(folder.path)).toHaveLength(2);
});

test('what was begun and not kept is gone when it is discarded, and when the store is next opened', async () => {
  using folder = temporaryFolder();
  const store = await openStore(folder.path);
  const discarded = await store.begin();
  await discarded.write(Buffer.from('half'));
  await discarded.discard();
  const crashed = await store.begin();
  await crashed.write(Buffer.from('half'));

  const left = readdirSync(join(folder.path, 'incoming'));
  await openStore(folder.path);

  expect(left).toHaveLength(1);
  expect(readdirSync(join(folder.path, 'incoming'))).toEqual([]);
  await crashed.discard();
});

test('a planted link is not written through', async () => {
  using folder = temporaryFolder();
  const store = await openStore(join(folder.path, 'files'));
  const outside = join(folder.path, 'outside');
  writeFileSync(outside, 'precious');
  symlinkSync(outside, join(store.folder, 'incoming', '1'));
  const file = { sha256: createHash('sha256').update('x').digest('hex') };

  await expect(store.begin()).rejects.toMatchObject({ code: 'files.store' });
  const second = await write(store, 'x');
  mkdirSync(join(store.folder, file.sha256.slice(0, 2)), { recursive: true });
  symlinkSync(outside, store.pathOf(file.sha256));
  await store.keep([second]);

  expect(readFileSync(outside, 'utf8')).toBe('precious');
  expect(readFileSync(store.pathOf(file.sha256), 'utf8')).toBe('x');
});

test('content outlives a power cut, at whatever operation a process before it ended', async () => {
  const sha256 = createHash('sha256').update('hello').digest('hex');
  const keep = async (disk: FileDisk, endsAt: number): Promise<FileStore> => {
    let count = 0;
    const files = fileSystemOf(disk, async () => {
      count += 1;
      if (count > endsAt) throw new Error('The process ended');
    });
    const store = await openStore('/srv/rowsync/files', false, files);
    await store.keep([await write(store, 'hello')]);
    return store;
  };
  const left: boolean[] = [];
  for (let endsAt = 0, isWhole = false; !isWhole; endsAt += 1) {
    const disk = new FileDisk();
    isWhole = await keep(disk, endsAt).then(
      () => true,
      () => false,
    );
    const store = await keep(disk, Infinity);
    disk.losePower('synced');
    left.push(disk.read(store.pathOf(sha256))?.toString() === 'hello');
  }

  expect(left.length).toBeGreaterThan(8);
  expect(left).not.toContain(false);
});

test('content outlives a power cut as soon as it is kept, while others are about to be kept in its folder', async () => {
  const disk = new FileDisk();
  const held: (() => void)[] = [];
  const plain = fileSystemOf(disk, () => Promise.resolve());
  const files = {
    ...plain,
    // Only the first who syncs the store's folder from now on has to wait.
    sync: async (path: string): Promise<void> => {
      if (isHeld && path === '/srv/files' && held.length === 0)
        await new Promise<void>((resolve) => held.push(() => resolve()));
      await plain.sync(path);
    },
  };
  let isHeld = false;
  const store = await openStore('/srv/files', false, files);
  const [first, second] = [await write(store, 'hello'), await write(store, 'hello')];
  isHeld = true;
  const keeping = store.keep([first]);

  await store.keep([second]);
  disk.losePower('synced');

  expect(held).toHaveLength(1);
  expect(disk.read(store.pathOf(second.sha256))?.toString()).toBe('hello');
  held[0]?.();
  await keeping;
});
