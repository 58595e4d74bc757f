/**
 * Finds the files of each cell of a lost row, in the content store or beside the backup. A push attaches each one under
 * its own name, from a folder that is made for that.
 */
import { existsSync, statSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { safeName } from '../shared/file-names.ts';
import { sql } from '../../base/sql.ts';
import { FileStore, tryLink, copyTo } from '../../files/store.ts';
import { fileFromCell } from '../../reconcile/files.ts';
import type { Connection } from '../../replica/connection.ts';
import { queryRows } from '../../replica/query.ts';
import { UPLOAD_PREFIX } from '../../wire/column-types.ts';
import { isHeaderText } from '../../wire/header-parameters.ts';
import type { PlanFacts, PlannedFile } from './lost-row-outcome.ts';

/**
 * Finds the file that a cell of a row names, and with `revisions` those before it, the oldest first. None if the
 * content of the newest is not in one of the folders.
 */
export function fileFinder(
  from: readonly Connection[],
  folders: readonly string[],
  { revisions }: { readonly revisions: boolean },
): PlanFacts['filesOf'] {
  const text = sql`SELECT revision, name, sha256, bytes FROM _rowsync_files
      WHERE table_id = ? AND column_id = ? AND row_id = ? AND sha256 IS NOT NULL AND (guid = ? OR (? AND revision < ?))`;
  return ({ tableId, oldId, values }, columnId) => {
    const shown = fileFromCell(String(values.get(columnId) ?? ''));
    if (shown === null) return [];
    const found = new Map<number, PlannedFile>();
    const bound = [tableId, columnId, oldId, shown.guid, revisions ? 1 : 0, shown.revision];
    for (const [revision, name, hash, size] of from.flatMap((connection) => queryRows(connection, text, bound))) {
      const known = { sha256: String(hash), bytes: Number(size) };
      const paths = folders.map((folder) => new FileStore(folder).pathOf(known.sha256));
      const path = paths.find((one) => existsSync(one) && statSync(one).size === known.bytes);
      if (path === undefined || found.has(Number(revision))) continue;
      found.set(Number(revision), { columnId, name: String(name), path, ...known });
    }
    if (!found.has(shown.revision)) return [];
    return [...found].toSorted(([one], [other]) => one - other).map(([, file]) => file);
  };
}

/** Puts a file where the push finds it under its own name; returns the value that attaches it. */
export async function stageFile(folder: string, { name, path, columnId }: PlannedFile, rowId: number): Promise<string> {
  const place = join(folder, `${rowId}-${columnId}`);
  await rm(place, { recursive: true, force: true });
  await mkdir(place, { recursive: true, mode: 0o700 });
  const target = join(place, nameThere(name));
  if (!(await tryLink(path, target))) await copyTo(path, target);
  return `${UPLOAD_PREFIX}${target}`;
}

/** The name that a file has once it is attached again: its own, unless no file here can have it. */
export function nameThere(name: string): string {
  const isUsable =
    isHeaderText(name) && !name.includes('/') && Buffer.byteLength(name) <= 255 && !/^\.{0,2}$/.test(name);
  return isUsable ? name : safeName(name, 'file');
}
