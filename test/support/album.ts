/**
 * A table with two columns of files against a sandbox, a store of files and a folder of files to attach.
 *
 *    await using fixture = await startAlbum();                            // table Album, pulled, edits captured
 *    fixture.put('a.txt', 'one');
 *    fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
 *    await fixture.upload();
 *    revisionsAt(fixture, 1)                                              // what the origin has, the newest first
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { uploadKeeper } from '../../src/files/uploaded-files.ts';
import type { PushStep } from '../../src/push/context.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { withDatabase } from './compare.ts';
import { startFilesFixture, type FilesFixture } from './files.ts';
import { pushNow, type PushChoice } from './push.ts';
import { twoWaySettings } from './two-way.ts';

const ALBUM: TableSpec = {
  name: 'Album',
  createdFromMs: Date.UTC(2026, 0, 1),
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Code', type: 'Text', options: ['Unique'] },
    { name: 'Photo', type: 'Attachment', options: ['AllowSeeRevisionHistory'] },
    { name: 'Scan', type: 'Attachment' },
  ],
  rows: [1, 2, 3].map((number) => ({ Title: `title ${number}`, Code: `c${number}` })),
};

/** The fixture. */
interface Attaching extends FilesFixture {
  /** The folder for relative names. */
  readonly uploads: string;
  /** Writes a file below it; returns its path. */
  put(name: string, content: string | Buffer): string;
  upload(choice?: PushChoice): ReturnType<typeof pushNow>;
}

/** Starts it. */
export async function startAlbum({
  format,
  match,
}: { format?: 'json' | 'xml'; match?: string } = {}): Promise<Attaching> {
  const settings = twoWaySettings({ match: match ?? null });
  const fixture = await startFilesFixture({ tables: [ALBUM] }, { settings, ...(format && { format }) });
  await fixture.pull();
  const uploads = join(fixture.folder, 'uploads');
  mkdirSync(uploads);
  return Object.assign(fixture, {
    uploads,
    put: (name: string, content: string | Buffer) => {
      writeFileSync(join(uploads, name), content);
      return join(uploads, name);
    },
    upload: ({ settings: changed, ...choice }: PushChoice = {}) =>
      pushNow(fixture, {
        keepUpload: uploadKeeper(fixture.filesContext()),
        settings: { uploadDir: uploads, ...changed },
        ...choice,
      }),
  });
}

/** A hook before one step of a push. */
export function at(step: PushStep, action: () => void): (now: PushStep) => void {
  return (now) => {
    if (now === step) action();
  };
}

/** Names, revisions and content of the files of a row at the origin, the newest first. */
export function revisionsAt({ sandbox }: FilesFixture, id: number): readonly string[] {
  return withDatabase(sandbox.store.path, (db) =>
    db
      .prepare<[number], { text: string }>(
        `SELECT name || ' ' || revision || ' ' || CAST(bytes AS TEXT) AS text FROM _sandbox_files
         WHERE row_id = ? ORDER BY revision DESC`,
      )
      .all(id)
      .map(({ text }) => text),
  );
}
