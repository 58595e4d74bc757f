/** Content that no row of `sync_files` names goes, and nothing else. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { pruneFiles } from '../../../src/extras/files/command.ts';
import { sql } from '../../../src/base/sql.ts';
import { contentsOf, fileOf, startFilesFixture } from '../../support/files.ts';

async function startAlbum() {
  const rows = ['one', 'two'].map((text) => ({ Photo: fileOf(`${text}.txt`, text) }));
  const fixture = await startFilesFixture({
    tables: [{ name: 'Album', columns: [{ name: 'Photo', type: 'Attachment' }], rows }],
  });
  await fixture.pull();
  await fixture.pullFiles();
  return fixture;
}

/** Puts content into a store under its name. */
function put(store: string, text: string): string {
  const hash = createHash('sha256').update(text).digest('hex');
  const path = join(store, hash.slice(0, 2), hash);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const textsIn = (store: string): readonly string[] =>
  contentsOf(store)
    .map((path) => readFileSync(path, 'utf8'))
    .toSorted();

test('what is left over is counted, and removed unless it is only to be counted', async () => {
  await using fixture = await startAlbum();
  for (const text of ['left', 'over']) put(fixture.store, text);

  const counted = await pruneFiles(fixture.replica, { folder: fixture.store, dryRun: true });
  const before = textsIn(fixture.store);
  const removed = await pruneFiles(fixture.replica, { folder: fixture.store, dryRun: false });
  const again = await pruneFiles(fixture.replica, { folder: fixture.store, dryRun: false });

  expect(before).toEqual(['left', 'one', 'over', 'two']);
  expect([counted, removed, again]).toEqual([
    { contentCount: 2, bytes: 8 },
    { contentCount: 2, bytes: 8 },
    { contentCount: 0, bytes: 0 },
  ]);
  expect(textsIn(fixture.store)).toEqual(['one', 'two']);
  expect(fixture.problems()).toEqual([]);
});

test('content stays as long as any row names it, also of a row that was deleted', async () => {
  await using fixture = await startAlbum();
  fixture.sandbox.store.delete('Album', 1, { purge: true });
  await fixture.pull({ confirm: true });

  expect(await pruneFiles(fixture.replica, { folder: fixture.store, dryRun: false })).toMatchObject({
    contentCount: 0,
  });
  await fixture.replica.write('Forgetting a file', (tx) =>
    tx.prepare(sql`DELETE FROM _rowsync_files WHERE row_id = 1`).run(),
  );
  expect(await pruneFiles(fixture.replica, { folder: fixture.store, dryRun: false })).toEqual({
    contentCount: 1,
    bytes: 3,
  });
  expect(textsIn(fixture.store)).toEqual(['two']);
});

test('a store of which nothing is left, as where its disk is not mounted, is refused', async () => {
  await using fixture = await startAlbum();
  rmSync(fixture.store, { recursive: true });

  for (const dryRun of [true, false]) {
    await expect(pruneFiles(fixture.replica, { folder: fixture.store, dryRun })).rejects.toMatchObject({
      code: 'files.store',
    });
  }
  expect(existsSync(fixture.store)).toBe(false);
});
