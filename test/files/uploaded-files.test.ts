/** The store keeps what a user attached, and only where the files of a table are wanted. */
import { expect, test } from 'vitest';
import { uploadKeeper } from '../../src/files/uploaded-files.ts';
import { startAlbum } from '../support/album.ts';
import { contentsOf } from '../support/files.ts';

test('nothing is put into the store for a table whose files are not wanted', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'one');
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);

  await fixture.upload({ keepUpload: uploadKeeper(fixture.filesContext({ rule: { mode: 'none' } })) });

  expect(fixture.files()).toEqual([]);
  expect(contentsOf(fixture.store)).toEqual([]);
});
