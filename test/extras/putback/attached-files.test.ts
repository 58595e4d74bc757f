/** Where the files of a lost row are found, and under which name a push attaches them. */
import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileFinder, nameThere, stageFile } from '../../../src/extras/putback/attached-files.ts';
import type { PlannedFile } from '../../../src/extras/putback/lost-row-outcome.ts';
import { readColumns } from '../../../src/replica/bookkeeping/columns.ts';
import { readTables } from '../../../src/replica/bookkeeping/tables.ts';
import { UPLOAD_PREFIX } from '../../../src/wire/column-types.ts';
import { contentsOf, fileOf, startFilesFixture, type FilesFixture } from '../../support/files.ts';
import { temporaryFolder } from '../../support/replica.ts';

const ALBUM = {
  name: 'Album',
  columns: [{ name: 'Photo', type: 'Attachment', options: ['AllowSeeRevisionHistory'] }],
  rows: [{ Photo: fileOf('one.txt', 'first') }],
} as const;

/** Two revisions of the file of row 1, both here; and the row as it was last, by the origin's ids of its columns. */
async function startAlbum() {
  const fixture = await startFilesFixture({ tables: [ALBUM] });
  fixture.sandbox.store.update('Album', 1, { Photo: fileOf('two.txt', 'second') });
  await fixture.pull();
  await fixture.pullFiles({ rule: { mode: 'all' } });
  const [table] = readTables(fixture.replica);
  if (table === undefined) throw new Error('the table was pulled');
  const photo = readColumns(fixture.replica, table.id).find(({ name }) => name === 'Photo')?.id ?? 0;
  const [cell] = fixture.rows('SELECT Photo FROM Album') as { Photo: string }[];
  const row = { tableId: table.id, oldId: 1, values: new Map([[photo, cell?.Photo ?? null]]) };
  return { fixture, photo, row };
}

function namesFound({ fixture, photo, row }: Awaited<ReturnType<typeof startAlbum>>, revisions: boolean) {
  const find = fileFinder([fixture.replica], [join(fixture.folder, 'nowhere'), fixture.store], { revisions });
  return find(row, photo).map(({ name }) => name);
}

function contentOf(fixture: FilesFixture, text: string): string {
  return contentsOf(fixture.store).find((path) => readFileSync(path, 'utf8') === text) ?? '';
}

test('the newest file of a cell is found in a store, and with revisions those before it, the oldest first', async () => {
  const album = await startAlbum();
  await using fixture = album.fixture;

  expect(namesFound(album, false)).toEqual(['two.txt']);
  expect(namesFound(album, true)).toEqual(['one.txt', 'two.txt']);
  expect(
    fileFinder([fixture.replica, fixture.replica], [fixture.store], { revisions: true })(album.row, album.photo),
  ).toMatchObject([
    { columnId: album.photo, bytes: 5, path: contentOf(fixture, 'first') },
    { columnId: album.photo, bytes: 6, path: contentOf(fixture, 'second') },
  ]);
});

test('an older revision that is not here is left out; without the newest there is none', async () => {
  const album = await startAlbum();
  await using fixture = album.fixture;

  rmSync(contentOf(fixture, 'first'));
  const without = namesFound(album, true);
  truncateSync(contentOf(fixture, 'second'), 3);

  expect(without).toEqual(['two.txt']);
  expect(namesFound(album, true)).toEqual([]);
});

test.each([[null], [''], ['no file'], ['two.txt;2;00000000-0000-0000-0000-000000000000']])(
  'a cell with %j has no file',
  async (value) => {
    const { fixture: opened, photo, row } = await startAlbum();
    await using fixture = opened;
    const find = fileFinder([fixture.replica], [fixture.store], { revisions: false });

    expect(find({ ...row, values: new Map([[photo, value]]) }, photo)).toEqual([]);
  },
);

test('a file is staged under its own name in a folder of its row and column, in place of what was there', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'content');
  writeFileSync(path, 'second');
  const place = join(folder.path, 'staged', '4-22');
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'one.txt'), 'first');
  const file: PlannedFile = { columnId: 22, name: 'two; of.txt', sha256: '', bytes: 6, path };

  const value = await stageFile(join(folder.path, 'staged'), file, 4);

  expect(value).toBe(`${UPLOAD_PREFIX}${join(place, 'two; of.txt')}`);
  expect(readFileSync(join(place, 'two; of.txt'), 'utf8')).toBe('second');
  expect(existsSync(join(place, 'one.txt'))).toBe(false);
  expect(readFileSync(path, 'utf8')).toBe('second');
});

test('a name that no file here can have is replaced by one that stays in the folder', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'content');
  writeFileSync(path, 'x');
  const hostile = ['../../up.txt', '/etc/passwd', '..', '.', '', 'x'.repeat(300), 'a\nb', 'a\0b'];

  for (const name of hostile) {
    const there = nameThere(name);
    expect(there).not.toMatch(/[/\0\n]|^\.{0,2}$/);
    expect(Buffer.byteLength(there)).toBeLessThanOrEqual(255);
    const staged = await stageFile(folder.path, { columnId: 1, name, sha256: '', bytes: 1, path }, 1);
    expect(staged).toBe(`${UPLOAD_PREFIX}${join(folder.path, '1-1', there)}`);
  }
  expect(nameThere('Ünïcode & co; (1).txt')).toBe('Ünïcode & co; (1).txt');
});
