/**
 * The files of a sandbox's attachment columns: every revision that was ever stored in a cell, also one that the cell no
 * longer shows. Input: places (table, row, column) and files. Output: revisions with their author and time. Revisions of
 * a place count up from 1 and are never used twice while the row exists; a guid names one revision of one place.
 */
import type { Column } from './catalog.ts';
import { fileCell, guidFromFile } from './cells.ts';
import type { Connection } from './file.ts';
import type { FileSpec } from './spec.ts';

/** A cell that holds files. */
export interface FilePlace {
  readonly column: Pick<Column, 'id' | 'tableId'>;
  readonly rowId: number;
}

/** Who stores a file, and when. */
export interface FileAuthor {
  readonly user: string;
  readonly nowMs: number;
}

/** Stores a file as the next revision of its place and returns the text of the cell. */
export function storeFile(connection: Connection, place: FilePlace, file: FileSpec, author: FileAuthor): string {
  const { column, rowId } = place;
  const ids = [column.tableId, rowId, column.id];
  const last = connection
    .prepare<unknown[], number | null>(
      'SELECT max(revision) FROM _sandbox_files WHERE table_id = ? AND row_id = ? AND column_id = ?',
    )
    .pluck()
    .get(...ids);
  const revision = (last ?? 0) + 1;
  const guid = guidFromFile([...ids, revision].join('/'), file.bytes);
  connection
    .prepare(
      `INSERT INTO _sandbox_files (guid, table_id, row_id, column_id, revision, name, media_type, bytes, author, created_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(guid, ...ids, revision, file.name, file.mediaType, Buffer.from(file.bytes), author.user, author.nowMs);
  return fileCell(file.name, revision, guid);
}

/** Forgets all files of a row. */
export function removeFiles(connection: Connection, tableId: number, rowId: number): void {
  connection.prepare('DELETE FROM _sandbox_files WHERE table_id = ? AND row_id = ?').run(tableId, rowId);
}
