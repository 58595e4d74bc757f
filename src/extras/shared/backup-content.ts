/**
 * Carries file contents to the files of a backup, and from them. The target folder gets its name last (I15).
 */
import { existsSync } from 'node:fs';
import { rm, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { usageError } from '../../base/errors.ts';
import { systemFiles } from '../../base/file-system.ts';
import { copyContent, type CopyTally, type OnCarried } from '../../files/copy-content.ts';
import { fileError, openStore } from '../../files/store.ts';
import type { StoredContent } from '../../reconcile/files.ts';

/** What was brought. Counts are contents. */
export interface CarryReport extends CopyTally {
  /** Null where there was nothing to bring. */
  readonly folder: string | null;
  /** That was there already. */
  readonly presentCount: number;
}

const NOTHING = { linkedCount: 0, copiedCount: 0, presentCount: 0, bytes: 0, lost: [] };

export function filesBeside(backup: string): string {
  return `${backup}.files`;
}

/** Makes the files of a backup, from the store and earlier ones. @throws RowsyncError `backup.exists`, `files.store`, `replica.full`. */
export async function carryToBackup(
  contents: readonly StoredContent[],
  place: { readonly backup: string; readonly sources: readonly string[]; readonly onCarried?: OnCarried | undefined },
): Promise<CarryReport> {
  const folder = filesBeside(place.backup);
  if (existsSync(folder)) {
    throw usageError(
      `${folder} exists already, without the backup that it would belong to`,
      'Name another file, or remove the folder; a backup never replaces anything.',
      'backup.exists',
    );
  }
  if (contents.length === 0) return { ...NOTHING, folder: null };
  const partial = `${folder}.partial`;
  try {
    await rm(partial, { recursive: true, force: true });
    const store = await openStore(partial);
    const { sources, onCarried } = place;
    const report = await copyContent(contents, { store, sources, compares: false, onCarried });
    await store.close();
    await systemFiles.sync(partial);
    await rename(partial, folder);
    await systemFiles.sync(dirname(folder));
    return { ...report, folder, presentCount: 0 };
  } catch (thrown) {
    await rm(partial, { recursive: true, force: true });
    throw fileError(thrown, `Backing up files to ${folder}`);
  }
}

/** Brings the files of a backup into the store of a replica that this process has locked. @throws RowsyncError `files.store`, `replica.full`. */
export async function carryFromBackup(
  contents: readonly StoredContent[],
  place: { readonly backup: string; readonly folder: string; readonly isShared: boolean },
): Promise<CarryReport> {
  const { folder } = place;
  if (contents.length === 0) return { ...NOTHING, folder };
  const store = await openStore(folder, place.isShared);
  const missing: StoredContent[] = [];
  for (const content of contents) if ((await store.inspect(content)) !== 'whole') missing.push(content);
  const report = await copyContent(missing, { store, sources: [filesBeside(place.backup)], compares: true });
  return { ...report, folder, presentCount: contents.length - missing.length };
}
