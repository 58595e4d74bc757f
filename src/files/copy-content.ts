/**
 * Copies file contents between stores, for backup, restore and a moved store. Files are hard links where both are on
 * one disk; on another disk they are linked to the backup before, and only what is new is copied. The target folder
 * gets its name last (I15).
 */
import type { StoredContent } from '../reconcile/files.ts';
import { FileStore, type CompleteFile } from './store.ts';

const BATCH_FILES = 64;

/** Called for each content: copying terabytes takes hours, and nothing else shows that work continues. */
export type OnCarried = () => void;

/** What was copied. Counts are contents. */
export interface CopyTally {
  readonly linkedCount: number;
  readonly copiedCount: number;
  readonly bytes: number;
  /** Hashes of what none of the sources holds as it should be. */
  readonly lost: readonly string[];
}

export async function copyContent(
  contents: readonly StoredContent[],
  {
    store,
    sources,
    compares,
    onCarried,
  }: { store: FileStore; sources: readonly string[]; compares: boolean; onCarried?: OnCarried | undefined },
): Promise<CopyTally> {
  const stores = sources.map((folder) => new FileStore(folder));
  const tally = { linkedCount: 0, copiedCount: 0, bytes: 0 };
  const lost: string[] = [];
  for (let start = 0; start < contents.length; start += BATCH_FILES) {
    const files: CompleteFile[] = [];
    for (const content of contents.slice(start, start + BATCH_FILES)) {
      const paths = stores.map((source) => source.pathOf(content.sha256));
      const adopted = await store.adopt(content, paths, { comparesLinks: compares });
      onCarried?.();
      if (adopted === null) {
        lost.push(content.sha256);
        continue;
      }
      files.push(adopted.file);
      tally.bytes += content.bytes;
      if (adopted.isLinked) tally.linkedCount += 1;
      else tally.copiedCount += 1;
    }
    await store.keep(files);
  }
  return { ...tally, lost };
}
