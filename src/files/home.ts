/**
 * Opening the store of a replica, wherever the configuration has it now. Where that is another folder than before, the content that the
 * replica names comes along, as links or copies; what stood there already, since somebody moved it by hand, stays. What is in neither folder
 * is missing from then on, and fetched again. Input: the surroundings of the work on files. Output: an open store. Invariant (I15): the
 * replica names the new folder only once all of it stands there durably; nothing is removed from the former one.
 */
import { readContents, readStoreFolder, storeContentLost, storeStoreFolder } from '../replica/files.ts';
import { carryAcross } from './carry.ts';
import type { FilesContext } from './context.ts';
import { openStore, type FileStore } from './store.ts';

/** An open store, and the files whose content was in neither folder. */
interface Home {
  readonly store: FileStore;
  readonly lostIds: readonly number[];
}

/** Opens the store of a replica that this process has locked. @throws RowsyncError `files.store`, `replica.full`, or of the replica. */
export async function openHome({
  replica,
  settings,
  fileSystem,
  onAdvance,
}: Pick<FilesContext, 'replica' | 'settings' | 'fileSystem' | 'onAdvance'>): Promise<Home> {
  const store = await openStore(settings.folder, settings.isShared, fileSystem);
  const before = readStoreFolder(replica);
  if (before === store.folder) return { store, lostIds: [] };
  const place = before === null ? null : { store, from: before, onCarried: onAdvance };
  const lost = place === null ? [] : await carryAcross(readContents(replica, null), place);
  const lostIds = await replica.write('Storing where files are', (tx) => {
    storeStoreFolder(tx, store.folder);
    return lost.flatMap((sha256) => storeContentLost(tx, sha256));
  });
  return { store, lostIds };
}
