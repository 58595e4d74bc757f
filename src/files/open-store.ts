/**
 * Opening the store of a replica, wherever the configuration has it now. Where that is another folder than before, the
 * content that the replica names comes along, as links or copies. What was there already, since someone moved it by
 * hand, stays. What is in neither folder is missing from then on, and fetched again. Invariant (I15): the replica names
 * the new folder only once all of it is there durably; nothing is removed from the former one.
 *
 * A store that is completely gone is probably on a disk that is not mounted. It is neither opened nor counted as lost.
 * What the origin does not have any more could not be fetched again, and no row would name it once the disk is back.
 *
 * Also removes content that no row names any more. The replica must be locked, so that nothing is on its way.
 */
import { RowsyncError } from '../base/errors.ts';
import { systemFiles, type FileSystem } from '../base/file-system.ts';
import { plural } from '../base/text.ts';
import type { StoredContent } from '../reconcile/files.ts';
import type { Connection } from '../replica/connection.ts';
import { readContents, readStoreFolder, storeContentLost, storeStoreFolder } from '../replica/bookkeeping/files.ts';
import { copyContent } from './copy-content.ts';
import type { FilesContext } from './context.ts';
import { FileStore, openStore } from './store.ts';

/** An open store, and the files whose content was in neither folder. */
interface ReplicaStore {
  readonly store: FileStore;
  readonly lostIds: readonly number[];
}

/** Opens the store of a replica that is locked. @throws RowsyncError `files.store`, `replica.full` and others. */
export async function openReplicaStore({
  replica,
  settings,
  fileSystem,
  onAdvance,
}: Pick<FilesContext, 'replica' | 'settings' | 'fileSystem' | 'onAdvance'>): Promise<ReplicaStore> {
  requireStore(replica, settings.folder, fileSystem);
  const store = await openStore(settings.folder, settings.isShared, fileSystem);
  const before = readStoreFolder(replica);
  if (before === store.folder) return { store, lostIds: [] };
  const named = before === null ? [] : readContents(replica, null);
  const missing: StoredContent[] = [];
  for (const content of named) if (!(await store.holds(content))) missing.push(content);
  const sources = before === null ? [] : [before];
  const { lost } = await copyContent(missing, { store, sources, compares: true, onCarried: onAdvance });
  const lostIds = await replica.write('Storing where files are', (tx) => {
    storeStoreFolder(tx, store.folder);
    return lost.flatMap((sha256) => storeContentLost(tx, sha256));
  });
  return { store, lostIds };
}

/** Refuses if all content is gone, as of a disk that is not mounted. Call it before opening. @throws `files.store`. */
export function requireStore(from: Connection, folder: string, files: FileSystem = systemFiles): void {
  const before = readStoreFolder(from);
  if (before === null || new FileStore(before, false, files).isMade()) return;
  const contents = readContents(from, null);
  const stores = [...new Set([before, folder])].map((each) => new FileStore(each, false, files));
  if (contents.length === 0 || contents.some((content) => stores.some((store) => store.hasName(content)))) return;
  throw new RowsyncError('replica', 'files.store', {
    message: `The file store ${before} has none of the ${plural(contents.length, 'content')} that the replica names`,
    hint:
      `Mount its disk, or move the store back; nothing was changed. If it is lost for good, restore a backup, or run ` +
      `mkdir -p ${before}/incoming and rowsync files verify, which fetches what the origin still has.`,
  });
}

/** Removes those of these contents that nothing refers to; returns their number. @throws RowsyncError `files.store`. */
export async function removeUnnamed(from: Connection, folder: string, hashes: readonly string[]): Promise<number> {
  if (hashes.length === 0) return 0;
  requireStore(from, folder);
  const store = await openStore(folder);
  const known = new Set(readContents(from, null).map(({ sha256 }) => sha256));
  const unnamed = hashes.filter((hash) => !known.has(hash));
  for (const hash of unnamed) await store.remove(hash);
  return unnamed.length;
}
