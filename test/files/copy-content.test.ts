/** Contents come from whichever store holds them whole; what none holds is named, and stops no other. */
import { chmodSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyContent } from '../../src/files/copy-content.ts';
import { openStore, type FileStore } from '../../src/files/store.ts';
import type { StoredContent } from '../../src/reconcile/files.ts';
import { contentsOf } from '../support/files.ts';
import { temporaryFolder } from '../support/replica.ts';

/** A store with these texts in a folder. */
async function storeWith(
  folder: string,
  texts: readonly string[],
): Promise<{ store: FileStore; contents: StoredContent[] }> {
  const store = await openStore(folder);
  const files = [];
  for (const text of texts) {
    const incoming = await store.begin();
    await incoming.write(Buffer.from(text));
    files.push(await incoming.complete());
  }
  await store.keep(files);
  return { store, contents: files.map(({ sha256, bytes }) => ({ sha256, bytes })) };
}

/** A source with three texts, and an empty store to which they go. */
async function start(texts = ['one', 'two', 'three']) {
  const folder = temporaryFolder();
  const { store: source, contents } = await storeWith(join(folder.path, 'source'), texts);
  const { store } = await storeWith(join(folder.path, 'target'), []);
  return {
    source,
    store,
    contents,
    sources: [source.folder],
    elsewhere: join(folder.path, 'elsewhere'),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const texts = ({ folder }: FileStore): readonly string[] =>
  contentsOf(folder)
    .map((path) => readFileSync(path, 'utf8'))
    .toSorted();

test('files are links where both stores are on one disk, and the source keeps its own', async () => {
  using given = await start();
  let carriedCount = 0;

  const tally = await copyContent(given.contents, { ...given, compares: false, onCarried: () => (carriedCount += 1) });

  expect(tally).toEqual({ linkedCount: 3, copiedCount: 0, bytes: 11, lost: [] });
  expect(carriedCount).toBe(3);
  expect([texts(given.store), texts(given.source)]).toEqual([
    ['one', 'three', 'two'],
    ['one', 'three', 'two'],
  ]);
  expect(contentsOf(given.store.folder).map((path) => statSync(path).nlink)).toEqual([2, 2, 2]);
});

test('a file that others may write is copied: a link would change with it', async () => {
  using given = await start(['one']);
  const [path = ''] = contentsOf(given.source.folder);
  chmodSync(path, 0o660);

  const tally = await copyContent(given.contents, { ...given, compares: false });
  writeFileSync(path, 'two');

  expect(tally).toMatchObject({ linkedCount: 0, copiedCount: 1 });
  expect(texts(given.store)).toEqual(['one']);
});

test('content that one source lacks, or holds damaged, comes from another; what none holds is named', async () => {
  using given = await start();
  const { store: other } = await storeWith(given.elsewhere, ['one', 'two']);
  const [one, two, three] = given.contents;
  await given.source.remove(one?.sha256 ?? '');
  for (const [content, length] of [
    [two, 2],
    [three, 0],
  ] as const) {
    const path = given.source.pathOf(content?.sha256 ?? '');
    chmodSync(path, 0o600);
    truncateSync(path, length);
  }

  const tally = await copyContent(given.contents, {
    ...given,
    sources: [given.source.folder, other.folder],
    compares: true,
  });

  expect(tally).toMatchObject({ bytes: 6, lost: [three?.sha256] });
  expect(texts(given.store)).toEqual(['one', 'two']);
});

test('content of the right size with other bytes is found out where it is compared', async () => {
  using given = await start(['one']);
  const [path = ''] = contentsOf(given.source.folder);
  chmodSync(path, 0o600);
  writeFileSync(path, 'eno');

  const tally = await copyContent(given.contents, { ...given, compares: true });

  expect([tally.lost, texts(given.store)]).toEqual([given.contents.map(({ sha256 }) => sha256), []]);
});

test('more contents than are kept at once all come', async () => {
  using given = await start(Array.from({ length: 130 }, (_, index) => `text ${index}`));

  const tally = await copyContent(given.contents, { ...given, compares: false });

  expect([tally.linkedCount + tally.copiedCount, contentsOf(given.store.folder).length]).toEqual([130, 130]);
});
