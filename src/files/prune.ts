/**
 * Removes content that no row of `sync_files` names: all of it when somebody asks, or the content of rows that were just removed. The replica must be
 * locked, so that nothing is on its way.
 */
import type { Connection } from '../replica/connection.ts';
import { readContents } from '../replica/bookkeeping/files.ts';
import { requireStore } from './open-store.ts';
import { FileStore, openStore } from './store.ts';

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
  for await (const content of store.list()) {
    if (known.has(content.sha256)) continue;
    contentCount += 1;
    bytes += content.bytes;
    if (!options.dryRun) await store.remove(content.sha256);
  }
  return { contentCount, bytes };
}

/** Removes content that nothing refers to any more, of these hashes; returns how many. @throws RowsyncError `files.store`. */
export async function removeUnnamed(from: Connection, folder: string, hashes: readonly string[]): Promise<number> {
  if (hashes.length === 0) return 0;
  requireStore(from, folder);
  const store = await openStore(folder);
  const known = new Set(readContents(from, null).map(({ sha256 }) => sha256));
  const unnamed = hashes.filter((hash) => !known.has(hash));
  for (const hash of unnamed) await store.remove(hash);
  return unnamed.length;
}
