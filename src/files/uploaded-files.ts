/**
 * Puts files that were attached in the replica into the store once the origin accepted them, so that they are not
 * downloaded. A file that changed on the disk since is left to the downloads, and so is one that the rules leave out.
 */
import { asRowsyncError } from '../base/errors.ts';
import { piecesOf, systemFiles, type FileSystem } from '../base/file-system.ts';
import { judgeFile, type SentFile } from '../reconcile/files.ts';
import { readStoredBytes, readStoreFolder } from '../replica/bookkeeping/files.ts';
import type { FilesContext } from './context.ts';
import { openReplicaStore } from './open-store.ts';
import { Quota } from './quota.ts';
import { type FileStore, fileError } from './store.ts';

/** Makes what puts files of a table (name at the origin) into the store. It throws for no failure of the file. */
export function uploadKeeper(context: FilesContext): (table: string, file: SentFile) => Promise<boolean> {
  const { log, replica, settings, fileSystem = systemFiles } = context;
  let opening: ReturnType<typeof openReplicaStore> | null = null;
  return async (table, file) => {
    const rule = settings.rule(table);
    if (rule === null || rule.mode === 'none') return false;
    // Content in the folder of before comes along with the next pull of files, which brings this one then.
    const folder = readStoreFolder(replica);
    if (folder !== null && folder !== settings.folder) return false;
    const quota = new Quota(settings.bytesMax, readStoredBytes(replica));
    if (judgeFile({ isLatest: true, type: file.type, bytes: file.bytes }, rule, quota.left()).kind !== 'fetch')
      return false;
    try {
      opening ??= openReplicaStore(context);
      const { store } = await opening;
      return await copyInto(store, fileSystem, file);
    } catch (thrown) {
      opening = null;
      const error = asRowsyncError(fileError(thrown, 'Keeping a file that was attached'));
      if (error.kind === 'bug') throw error;
      log.warn('file.failed', { code: error.code });
      return false;
    }
  };
}

async function copyInto(store: FileStore, files: FileSystem, { path, bytes, sha256 }: SentFile): Promise<boolean> {
  const source = await files.open(path);
  try {
    if (!source.isFile || source.bytes !== bytes) return false;
    const incoming = await store.begin();
    let isKept = false;
    try {
      for await (const piece of piecesOf(source)) await incoming.write(piece);
      const copy = await incoming.complete();
      if (copy.sha256 !== sha256) return false;
      await store.keep([copy]);
      isKept = true;
      return true;
    } finally {
      if (!isKept) await incoming.discard();
    }
  } finally {
    await source.close();
  }
}
