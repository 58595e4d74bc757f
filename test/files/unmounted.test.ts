/** A file store of which nothing is left, as when its disk is not mounted: nothing of it is given up. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pruneFiles } from '../../src/extras/files/command.ts';
import { uploadKeeper } from '../../src/files/uploaded-files.ts';
import { verifyFiles } from '../../src/extras/verify/files.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { fileOf, startFilesFixture, storeProblems, type FilesFixture } from '../support/files.ts';
import { startAlbum } from '../support/album.ts';

const ALBUM: TableSpec = {
  name: 'Album',
  columns: [{ name: 'Cover', type: 'Attachment' }],
  rows: ['one', 'two', 'three'].map((text) => ({ Cover: fileOf(`${text}.png`, text) })),
};

/** Files of which one is not at the origin any more, and what is left where their store was. */
async function unmounted(leaves: 'an empty folder' | 'no folder'): Promise<FilesFixture & { mount(): void }> {
  const fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();
  await fixture.pullFiles();
  fixture.sandbox.store.delete('Album', 1);
  await fixture.pull();
  await fixture.pullFiles();
  const disk = `${fixture.store}-disk`;
  renameSync(fixture.store, disk);
  if (leaves === 'an empty folder') mkdirSync(fixture.store);
  fixture.sandbox.requests.clear();
  return Object.assign(fixture, {
    mount: () => {
      rmSync(fixture.store, { recursive: true, force: true });
      renameSync(disk, fixture.store);
    },
  });
}

function namesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

test.each(['an empty folder', 'no folder'] as const)(
  'a store of which nothing but %s is left is not taken for lost',
  async (leaves) => {
    await using fixture = await unmounted(leaves);
    fixture.sandbox.store.update('Album', 2, { Cover: fileOf('four.png', 'four') });
    await fixture.pull();

    const pulled = await fixture.pullFiles();
    const verified = await verifyFiles(fixture.filesContext(), { tables: [] });
    const pruned = pruneFiles(fixture.replica, { folder: fixture.store, dryRun: false });

    expect(pulled.error).toMatchObject({ code: 'files.store' });
    expect(verified.error).toMatchObject({ code: 'files.store' });
    await expect(pruned).rejects.toMatchObject({ code: 'files.store' });
    expect(namesIn(fixture.store)).toEqual([]);
    expect(fixture.files().map(({ state }) => state)).toEqual(['here', 'here', 'here']);
    fixture.mount();
    expect(await fixture.pullFiles()).toMatchObject({ downloadedCount: 1, error: null });
    expect(await pruneFiles(fixture.replica, { folder: fixture.store, dryRun: false })).toMatchObject({
      contentCount: 0,
    });
    expect(fixture.files()[0]).toMatchObject({ state: 'here', vanished: expect.stringMatching(/Z$/) as unknown });
    expect(fixture.problems()).toEqual([]);
  },
);

test('a store that is to be in another folder waits for the disk of the former one', async () => {
  await using fixture = await unmounted('an empty folder');
  const { settings } = fixture.filesContext();
  const folder = join(fixture.folder, 'elsewhere');
  const change = { context: { settings: { ...settings, folder } } };

  const refused = await fixture.pullFiles(change);
  fixture.mount();
  const carried = await fixture.pullFiles(change);

  expect(refused).toMatchObject({ downloadedCount: 0, error: { code: 'files.store' } });
  expect(carried).toMatchObject({ downloadedCount: 0, error: null });
  expect(storeProblems(fixture.files(), folder)).toEqual([]);
  expect(fixture.files().map(({ state }) => state)).toEqual(['here', 'here', 'here']);
});

test('a store that was moved by hand, or is lost for good and made anew, is opened', async () => {
  await using fixture = await unmounted('no folder');
  const { settings } = fixture.filesContext();
  const folder = `${fixture.store}-disk`;
  const moved = await fixture.pullFiles({ context: { settings: { ...settings, folder } } });
  renameSync(folder, `${folder}-broken`);
  mkdirSync(join(folder, 'incoming'), { recursive: true });

  const verified = await verifyFiles({ ...fixture.filesContext(), settings: { ...settings, folder } }, { tables: [] });

  expect(moved).toMatchObject({ downloadedCount: 0, error: null });
  expect(verified).toMatchObject({ damagedCount: 3, mending: { downloadedCount: 2 }, lostCount: 1, error: null });
});

test('a file that is attached here is not put where the disk of the store is missing', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'one');
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
  await fixture.upload();
  rmSync(fixture.store, { recursive: true });
  const keep = uploadKeeper(fixture.filesContext());

  const path = fixture.put('b.txt', 'two');
  const file = { path, name: 'b.txt', type: 'text/plain', bytes: 3, sha256: sha256Of('two'), before: null };

  expect(await keep('Album', file)).toBe(false);
  expect(namesIn(fixture.store)).toEqual([]);
});

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
