/**
 * Removes content that no row of `sync_files` names. The replica must be locked, so that nothing is on its way.
 */
import { requireStore } from '../../files/open-store.ts';
import { FileStore, openStore } from '../../files/store.ts';
import { readContents } from '../../replica/bookkeeping/files.ts';
import type { Connection } from '../../replica/connection.ts';
import { listContent } from '../shared/stored-content.ts';

/** Content that no row of `sync_files` names. */
export interface PruneReport {
  readonly contentCount: number;
  readonly bytes: number;
}

/** Removes what nothing refers to, or only counts it. @throws RowsyncError `files.store`. */
export async function pruneFiles(
  from: Connection,
  options: { readonly folder: string; readonly dryRun: boolean },
): Promise<PruneReport> {
  requireStore(from, options.folder);
  const store = options.dryRun ? new FileStore(options.folder) : await openStore(options.folder);
  const known = new Set(readContents(from, null).map(({ sha256 }) => sha256));
  let contentCount = 0;
  let bytes = 0;
  for await (const content of listContent(store)) {
    if (known.has(content.sha256)) continue;
    contentCount += 1;
    bytes += content.bytes;
    if (!options.dryRun) await store.remove(content.sha256);
  }
  return { contentCount, bytes };
}
