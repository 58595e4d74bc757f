/**
 * Content of the file store: which files have it and which should, whether it is undamaged, and its way to a backup and
 * back.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  carryFromBackup,
  carryToBackup,
  filesBeside,
  inspectContent,
  listContent,
  readFilesAwaited,
  readFilesHere,
} from '../../../src/extras/shared/stored-content.ts';
import { FileStore } from '../../../src/files/store.ts';
import type { StoredContent } from '../../../src/reconcile/files.ts';
import { contentsOf, fileOf, startFilesFixture, type FilesFixture } from '../../support/files.ts';

const column = { name: 'Photo', type: 'Attachment', options: ['AllowSeeRevisionHistory'] };

/** Three files of two contents, all of them here. */
async function album(): Promise<FilesFixture> {
  const rows = ['one', 'two', 'two'].map((text, index) => ({ Photo: fileOf(`${index}.txt`, text) }));
  const fixture = await startFilesFixture({
    tables: [
      { name: 'Album', columns: [column], rows },
      { name: 'Other', columns: [column], rows: [{ Photo: fileOf('x.txt', 'three') }] },
    ],
  });
  await fixture.pull();
  await fixture.pullFiles();
  return fixture;
}

function tableId(fixture: FilesFixture, name: string): number {
  const [row] = fixture.rows(`SELECT id FROM _rowsync_tables WHERE name = ?`, name) as { id: number }[];
  return row?.id ?? 0;
}

/** Each content of a fixture once. */
function contentsIn(fixture: FilesFixture): readonly StoredContent[] {
  return [
    ...new Map(readFilesHere(fixture.replica, null).map(({ sha256, bytes }) => [sha256, { sha256, bytes }])).values(),
  ];
}

describe('files that are here', () => {
  test('are listed by table and row, of the given tables alone', async () => {
    await using fixture = await album();
    const namesOf = (ids: readonly number[] | null): readonly string[] =>
      readFilesHere(fixture.replica, ids).map(({ tableName, rowId, name }) => `${tableName} ${rowId} ${name}`);
    const [albumId, otherId] = [tableId(fixture, 'Album'), tableId(fixture, 'Other')];

    expect(namesOf([otherId])).toEqual(['Other 1 x.txt']);
    expect(namesOf([albumId])).toEqual(['Album 1 0.txt', 'Album 2 1.txt', 'Album 3 2.txt']);
    expect(namesOf(null)).toHaveLength(4);
    expect(namesOf([])).toEqual([]);
  });

  test('say whether their cell shows them, and whether the origin still has them', async () => {
    await using fixture = await album();
    fixture.sandbox.store.update('Other', 1, { Photo: fileOf('y.txt', 'four') });
    fixture.sandbox.store.delete('Album', 1, { purge: true });
    await fixture.pull();
    await fixture.pullFiles();

    const files = readFilesHere(fixture.replica, null).map((file) => [file.name, file.isLatest, file.isVanished]);

    expect(files).toContainEqual(['y.txt', true, false]);
    expect(files).toContainEqual(['x.txt', false, false]);
    expect(files.find(([name]) => name === '0.txt')?.[2]).toBe(true);
  });
});

describe('files that should be here', () => {
  test('are those that were not downloaded, until they are, and not those that are left out', async () => {
    await using fixture = await startFilesFixture({
      tables: [
        { name: 'Album', columns: [column], rows: [{ Photo: fileOf('a.txt', 'one') }, { Photo: fileOf('b', 50) }] },
      ],
    });
    await fixture.pull();
    await fixture.pullFiles({ rule: { maxFileBytes: 10 } });
    const skipped = readFilesAwaited(fixture.replica);
    fixture.execute(
      `UPDATE _rowsync_files SET state = 'failed', sha256 = NULL, reason = 'no answer' WHERE name = 'a.txt'`,
    );
    const failed = readFilesAwaited(fixture.replica);

    expect(skipped).toEqual([]);
    expect(failed).toEqual([{ tableName: 'Album', columnName: 'Photo', rowId: 1, revision: 1 }]);
    expect(readFilesAwaited(fixture.replica, { tableIds: [tableId(fixture, 'Album')] })).toEqual(failed);
    expect(readFilesAwaited(fixture.replica, { tableIds: [9_999] })).toEqual([]);
    await fixture.pullFiles({ rule: { maxFileBytes: 10 }, retryNow: true });
    expect(readFilesAwaited(fixture.replica)).toEqual([]);
  });

  test('count only once they were asked for, if that is wanted, and no more once the origin lost them', async () => {
    await using fixture = await album();
    fixture.execute(`UPDATE _rowsync_files SET state = 'missing', sha256 = NULL, reason = iif(row_id = 1, NULL, 'lost') WHERE table_id =
      (SELECT id FROM _rowsync_tables WHERE name = 'Album')`);
    const rowsOf = (given: Parameters<typeof readFilesAwaited>[1]): readonly number[] =>
      readFilesAwaited(fixture.replica, given).map(({ rowId }) => rowId);
    const [{ id } = { id: 0 }] = fixture.rows(`SELECT id FROM _rowsync_files WHERE name = '1.txt'`) as { id: number }[];

    expect(rowsOf({})).toEqual([1, 2, 3]);
    expect(rowsOf({ triedOnly: true })).toEqual([2, 3]);
    fixture.execute(`UPDATE _rowsync_files SET vanished_at = '2026-06-01T12:00:00Z' WHERE name = '1.txt'`);
    expect(rowsOf({})).toEqual([1, 3]);
    expect(rowsOf({ lostIds: [id] })).toEqual([1, 2, 3]);
    fixture.execute(`UPDATE _rowsync_tables SET state = 'gone' WHERE name = 'Album'`);
    expect(rowsOf({})).toEqual([]);
    expect(rowsOf({ lostIds: [id] })).toEqual([2]);
  });

  test('are cells whose files could not be listed, too', async () => {
    await using fixture = await album();
    fixture.execute(`UPDATE _rowsync_file_cells SET problem = 'no answer' WHERE row_id = 2`);

    expect(readFilesAwaited(fixture.replica)).toEqual([
      { tableName: 'Album', columnName: 'Photo', rowId: 2, revision: null },
    ]);
  });
});

describe('content', () => {
  const NONE = { sha256: 'f'.repeat(64), bytes: 3 };

  test('of a store is all that is under its hash, and nothing beside it', async () => {
    await using fixture = await album();
    const store = new FileStore(fixture.store);
    writeFileSync(join(fixture.store, 'note.txt'), 'no content');
    mkdirSync(join(fixture.store, 'zz'));
    const [path = ''] = contentsOf(fixture.store);
    writeFileSync(join(dirname(path), 'other'), 'no content');
    const listed: StoredContent[] = [];
    for await (const content of listContent(store)) listed.push(content);

    expect(listed.map(({ bytes }) => bytes).toSorted((a, b) => a - b)).toEqual([3, 3, 5]);
    expect(new Set(listed.map(({ sha256 }) => sha256))).toEqual(
      new Set(contentsIn(fixture).map(({ sha256 }) => sha256)),
    );
    expect((await listContent(new FileStore(join(fixture.folder, 'nowhere'))).next()).done).toBe(true);
  });

  test('is whole, damaged in its length or in a byte, or missing', async () => {
    await using fixture = await album();
    const store = new FileStore(fixture.store);
    const [first, second, third] = contentsIn(fixture);
    if (first === undefined || second === undefined || third === undefined) throw new Error('there are three contents');
    for (const [content, text] of [
      [first, 'oNe'],
      [second, 'tw'],
    ] as const) {
      const path = store.pathOf(content.sha256);
      const { atime, mtime } = statSync(path);
      chmodSync(path, 0o600);
      writeFileSync(path, text);
      utimesSync(path, atime, mtime);
    }

    const found = await Promise.all([first, second, third, NONE].map((content) => inspectContent(store, content)));

    expect(found).toEqual(['damaged', 'damaged', 'whole', 'missing']);
    rmSync(store.pathOf(third.sha256));
    mkdirSync(store.pathOf(third.sha256));
    const folder = { ...third, bytes: statSync(store.pathOf(third.sha256)).size };
    expect(await inspectContent(store, folder)).toBe('damaged');
  });

  test('goes to a backup and back, and only what is missing or damaged is brought', async () => {
    await using fixture = await album();
    const backup = join(fixture.folder, 'copy.db');
    const contents = contentsIn(fixture);
    let carried = 0;
    const onCarried = (): void => void (carried += 1);

    const there = await carryToBackup([...contents, NONE], { backup, sources: [fixture.store], onCarried });
    const folder = join(fixture.folder, 'other store');
    const first = await carryFromBackup(contents, { backup, folder, isShared: false });
    const [path = ''] = contentsOf(folder);
    chmodSync(path, 0o600);
    rmSync(path);
    const second = await carryFromBackup(contents, { backup, folder, isShared: false });

    expect(there).toMatchObject({ folder: filesBeside(backup), bytes: 11, presentCount: 0, lost: [NONE.sha256] });
    expect(there.linkedCount + there.copiedCount).toBe(3);
    expect(carried).toBe(4);
    expect(first).toMatchObject({ folder, presentCount: 0, bytes: 11, lost: [] });
    expect(second.presentCount).toBe(2);
    expect(
      contentsOf(folder)
        .map((one) => readFileSync(one, 'utf8'))
        .toSorted(),
    ).toEqual(['one', 'three', 'two']);
    expect(readdirSync(filesBeside(backup))).not.toContain('incoming');
  });

  test('of nothing makes no folder, and a folder that is there is never replaced', async () => {
    await using fixture = await album();
    const backup = join(fixture.folder, 'copy.db');

    expect(await carryToBackup([], { backup, sources: [] })).toMatchObject({ folder: null, lost: [] });
    expect(existsSync(filesBeside(backup))).toBe(false);
    mkdirSync(filesBeside(backup));
    writeFileSync(join(filesBeside(backup), 'mine'), 'x');

    const again = carryToBackup(contentsIn(fixture), { backup, sources: [fixture.store] });

    await expect(again).rejects.toMatchObject({ code: 'backup.exists' });
    expect(readdirSync(filesBeside(backup))).toEqual(['mine']);
  });

  test('that cannot be brought leaves no folder under the name of the backup', async () => {
    await using fixture = await album();
    const backup = join(fixture.folder, 'copy.db');
    const failing = carryToBackup(contentsIn(fixture), {
      backup,
      sources: [fixture.store],
      onCarried: () => {
        throw new Error('it fails');
      },
    });

    await expect(failing).rejects.toThrow('it fails');
    expect(readdirSync(fixture.folder).filter((name) => name.startsWith('copy.db'))).toEqual([]);
    expect(contentsOf(fixture.store)).toHaveLength(3);
  });
});
