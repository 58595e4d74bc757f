/**
 * Opening the store of a replica, wherever the configuration has it now: content comes along, and a disk that is
 * missing is not taken for a loss.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openReplicaStore, removeUnnamed, requireStore } from '../../src/files/open-store.ts';
import { openStore } from '../../src/files/store.ts';
import { readFileColumns, storeCell } from '../../src/replica/bookkeeping/file-cells.ts';
import { CONTENT_LOST, readStoreFolder, storeFileHere } from '../../src/replica/bookkeeping/files.ts';
import { must } from '../../src/base/assert.ts';
import type { StoredContent } from '../../src/reconcile/files.ts';
import { described, openBare, type Bare } from '../support/bare.ts';
import { contentsOf } from '../support/files.ts';
import { AT } from '../support/two-way.ts';

interface Given extends Bare {
  readonly folder: string;
  readonly elsewhere: string;
  readonly contents: readonly StoredContent[];
  open(folder?: string): ReturnType<typeof openReplicaStore>;
}

/** A replica that names these texts, each a file of a row of its own, in a store that was opened. */
async function start(texts: readonly string[] = ['one', 'two']): Promise<Given> {
  const bare = await openBare([described('Photo', 'Attachment')]);
  const folder = `${bare.path}-files`;
  const open = (at = folder): ReturnType<typeof openReplicaStore> => {
    const settings = { folder: at, bytesMax: null, concurrency: 1, rule: () => null };
    return openReplicaStore({ replica: bare.replica, settings });
  };
  const { store } = await open();
  const contents: StoredContent[] = [];
  const column = must(readFileColumns(bare.replica, 1)[0], 'the column is there');
  for (const [index, text] of texts.entries()) {
    const incoming = await store.begin();
    await incoming.write(Buffer.from(text));
    const file = await incoming.complete();
    await store.keep([file]);
    contents.push({ sha256: file.sha256, bytes: file.bytes });
    const found = {
      name: text,
      revision: 1,
      guid: `g${index}`,
      type: null,
      bytes: null,
      author: null,
      createdAt: null,
    };
    const cell = {
      rowId: index,
      value: text,
      mode: 'latest',
      form: 'value',
      etag: null,
      guid: null,
      vanished: [],
    } as const;
    await bare.write((tx) => {
      storeCell(tx, column, { ...cell, present: [found] }, AT);
      storeFileHere(tx, index + 1, file);
    });
  }
  return Object.assign(bare, { folder, elsewhere: `${bare.path}-elsewhere`, contents, open });
}

const states = (bare: Bare): unknown[] => bare.lines('SELECT name, state, reason FROM sync_files ORDER BY name');

test('the replica names the folder of its store, also one without any content', async () => {
  await using given = await start([]);
  expect(readStoreFolder(given.replica)).toBe(given.folder);

  await given.open(given.elsewhere);

  expect(readStoreFolder(given.replica)).toBe(given.elsewhere);
});

test('content comes along into another folder, and stays in the former one', async () => {
  await using given = await start();

  const { store, lostIds } = await given.open(given.elsewhere);

  expect([store.folder, lostIds]).toEqual([given.elsewhere, []]);
  expect([contentsOf(given.elsewhere).length, contentsOf(given.folder).length]).toEqual([2, 2]);
  expect(states(given)).toEqual([
    ['one', 'here', null],
    ['two', 'here', null],
  ]);
});

test('content that is in neither folder is missing from then on, and what was moved by hand is not', async () => {
  await using given = await start();
  const [one, two] = given.contents;
  const [former, now] = [await openStore(given.folder), await openStore(given.elsewhere)];
  // "two" was moved by hand, and "one" is in no folder.
  mkdirSync(join(now.pathOf(two?.sha256 ?? ''), '..'), { recursive: true });
  renameSync(former.pathOf(two?.sha256 ?? ''), now.pathOf(two?.sha256 ?? ''));
  await former.remove(one?.sha256 ?? '');

  const { lostIds } = await given.open(given.elsewhere);

  expect(lostIds).toEqual([1]);
  expect(states(given)).toEqual([
    ['one', 'missing', CONTENT_LOST],
    ['two', 'here', null],
  ]);
});

test('a store that was moved by hand is opened where it is now', async () => {
  await using given = await start();
  renameSync(given.folder, given.elsewhere);

  const { lostIds } = await given.open(given.elsewhere);

  expect([lostIds, contentsOf(given.elsewhere).length]).toEqual([[], 2]);
});

test.each([
  ['no folder', (folder: string) => rmSync(folder, { recursive: true })],
  [
    'an empty folder',
    (folder: string) => {
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
    },
  ],
])(
  'where %s is left of the store, neither it nor another folder is opened, and nothing is given up',
  async (_what, lose) => {
    await using given = await start();
    lose(given.folder);
    const existed = existsSync(given.folder);

    for (const folder of [given.folder, given.elsewhere]) {
      await expect(given.open(folder)).rejects.toMatchObject({
        code: 'files.store',
        message: expect.stringContaining('none of the 2 contents') as unknown,
      });
    }
    expect(() => requireStore(given.replica, given.folder)).toThrow('none of the 2 contents');

    expect([existsSync(given.folder), existsSync(given.elsewhere)]).toEqual([existed, false]);
    expect(readStoreFolder(given.replica)).toBe(given.folder);
    expect(states(given)).toEqual([
      ['one', 'here', null],
      ['two', 'here', null],
    ]);
  },
);

test('a store of which nothing is left is opened anew where the replica names no content, or a person made its folder', async () => {
  await using empty = await start([]);
  rmSync(empty.folder, { recursive: true });
  await using mended = await start();
  rmSync(mended.folder, { recursive: true });
  mkdirSync(join(mended.folder, 'incoming'), { recursive: true });

  for (const given of [empty, mended]) expect(() => requireStore(given.replica, given.folder)).not.toThrow();
});

test('content that no file names any more is removed, and what another file names stays', async () => {
  await using given = await start();
  given.execute('DELETE FROM _rowsync_files WHERE id = 1');
  const hashes = given.contents.map(({ sha256 }) => sha256);

  expect(await removeUnnamed(given.replica, given.folder, [])).toBe(0);
  expect(await removeUnnamed(given.replica, given.folder, hashes)).toBe(1);

  expect(contentsOf(given.folder).map((path) => path.split('/').at(-1))).toEqual([hashes[1]]);
});

test('nothing is removed where the disk of the store is missing', async () => {
  await using given = await start();
  rmSync(given.folder, { recursive: true });
  given.execute('DELETE FROM _rowsync_files WHERE id = 1');

  const removed = removeUnnamed(given.replica, given.folder, [given.contents[0]?.sha256 ?? '']);

  await expect(removed).rejects.toMatchObject({ code: 'files.store' });
  expect(existsSync(given.folder)).toBe(false);
});
