/**
 * An origin that is put back from a backup around a push, which gives the number of a revision a second time. The file
 * that was sent is not kept under the revision of another one, and is found although its number is not new.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { uploadKeeper } from '../../src/files/uploaded-files.ts';
import type { PushStep } from '../../src/push/context.ts';
import type { ConflictPolicy } from '../../src/reconcile/merge.ts';
import type { FileSpec } from '../../src/sandbox/store/spec.ts';
import { revisionsAt } from '../support/album.ts';
import { fileOf, startFilesFixture, type FilesFixture } from '../support/files.ts';
import { pushNow, setFaults } from '../support/push.ts';
import { captured, twoWaySettings } from '../support/two-way.ts';

/** A row with a file, and an edit here that attaches `a.txt`. */
async function startAttaching(
  policy: ConflictPolicy = 'origin',
): Promise<FilesFixture & { push(before?: (step: PushStep) => void): Promise<unknown> }> {
  const columns = [{ name: 'Photo', type: 'Attachment', options: ['AllowSeeRevisionHistory'] }] as const;
  const fixture = await startFilesFixture(
    { tables: [{ name: 'Album', columns, rows: [{ Photo: fileOf('old.txt', 'old') }] }] },
    { settings: twoWaySettings({}) },
  );
  await fixture.pull();
  const uploadDir = join(fixture.folder, 'uploads');
  mkdirSync(uploadDir);
  writeFileSync(join(uploadDir, 'a.txt'), 'mine');
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
  const keepUpload = uploadKeeper(fixture.filesContext());
  return Object.assign(fixture, {
    push: (before?: (step: PushStep) => void) =>
      pushNow(fixture, {
        keepUpload,
        settings: { uploadDir, tableOptions: () => ({ conflict: policy, workflow: 'run' }) },
        before,
      }),
  });
}

/** The origin forgets the second revision, as a backup from before it does, and a colleague attaches another file. */
function restoreAndAttach({ sandbox }: FilesFixture, theirs: FileSpec): void {
  const store = new Database(sandbox.store.path);
  const { changes } = store.prepare('DELETE FROM _sandbox_files WHERE row_id = 1 AND revision = 2').run();
  store.close();
  expect(changes).toBe(1);
  sandbox.store.update('Album', 1, { Photo: theirs });
}

test('a file with the number of what was sent, and another name, is fetched from the origin', async () => {
  await using fixture = await startAttaching();

  await fixture.push((step) => {
    if (step === 'readBack') restoreAndAttach(fixture, fileOf('b.txt', 'theirs'));
  });
  await fixture.pullFiles();

  expect(fixture.files().at(-1)).toMatchObject({ name: 'b.txt', revision: 2, bytes: 6, state: 'here' });
  expect(fixture.problems()).toEqual([]);
  expect(await captured(fixture, 'Album')).toEqual([]);
});

test('a file whose number and name another one has when it is looked up by a later process is in doubt', async () => {
  await using fixture = await startAttaching();
  await fixture.push((step) => {
    if (step === 'readBack')
      throw new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
  });
  restoreAndAttach(fixture, fileOf('a.txt', 'theirs'));

  await fixture.push();
  await fixture.pullFiles();

  expect(fixture.files()).toMatchObject([{ name: 'old.txt', revision: 1, state: 'here' }]);
  expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([{ row_id: 1, kind: 'inDoubt' }]);
  expect(revisionsAt(fixture, 1)).toEqual(['a.txt 2 theirs', 'old.txt 1 old']);
});

/** The origin forgets a revision, as a backup from before it does. */
function forgetRevision({ sandbox }: FilesFixture, revision: number): void {
  const store = new Database(sandbox.store.path);
  const { changes } = store.prepare('DELETE FROM _sandbox_files WHERE row_id = 1 AND revision = ?').run(revision);
  store.close();
  expect(changes).toBe(1);
}

test.each(['origin', 'local'] as const)(
  'a file whose number was given a second time, whose answer got lost and which the cell shows, is not sent again (%s)',
  async (policy) => {
    await using fixture = await startAttaching(policy);
    await fixture.push();
    writeFileSync(join(fixture.folder, 'uploads', 'next.txt'), 'next');
    fixture.execute(`UPDATE "Album" SET "Photo" = 'file:next.txt' WHERE _id = 1`);
    setFaults(fixture, [{ fault: 'resetAfter', method: 'update', nth: 1 }]);

    await fixture.push((step) => {
      if (step === 'send') forgetRevision(fixture, 2);
    });
    await fixture.push();

    expect(fixture.rows('SELECT * FROM sync_conflicts')).toEqual([]);
    expect(revisionsAt(fixture, 1)).toEqual(['next.txt 2 next', 'old.txt 1 old']);
    expect(await captured(fixture, 'Album')).toEqual([]);
  },
);
