/**
 * The files of a sandbox's attachment columns: every revision that was ever stored in a cell, also one that the cell
 * no longer shows. Revisions of a place count up from 1 and are never used twice while the row exists; a guid names
 * one revision of one place.
 */
import type { AttachmentInfo } from '../../wire/schema.ts';
import type { StoreColumn } from './catalog.ts';
import { fileCell, guidFromFile } from './cells.ts';
import type { StoreConnection } from './file.ts';
import type { FileSpec, KnownFile } from './spec.ts';

/** A cell that holds files. */
export interface FilePlace {
  readonly column: Pick<StoreColumn, 'id' | 'tableId'>;
  readonly rowId: number;
}

/** Who stores a file, and when. */
export interface FileAuthor {
  readonly user: string;
  readonly nowMs: number;
}

/** Stores a file as the next revision of its place and returns the text of the cell. */
export function storeFile(connection: StoreConnection, place: FilePlace, file: FileSpec, author: FileAuthor): string {
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

/** Stores a file of another database, under its own guid. */
export function storeKnownFile(connection: StoreConnection, tableId: number, file: KnownFile): void {
  connection
    .prepare(
      `INSERT OR IGNORE INTO _sandbox_files (guid, table_id, row_id, column_id, revision, name, media_type, bytes, author, created_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      file.guid,
      tableId,
      file.rowId,
      file.columnId,
      file.revision,
      file.name,
      file.mediaType,
      Buffer.from(file.bytes),
      file.author,
      file.createdMs,
    );
}

/** All revisions of a place, the newest first. */
export function fileRevisions(connection: StoreConnection, { column, rowId }: FilePlace): readonly AttachmentInfo[] {
  return connection
    .prepare<unknown[], Omit<AttachmentInfo, 'createdAt'> & { readonly createdMs: number }>(
      `SELECT name, revision, media_type AS type, length(bytes) AS size, guid, author, created_ms AS createdMs
       FROM _sandbox_files WHERE table_id = ? AND row_id = ? AND column_id = ? ORDER BY revision DESC`,
    )
    .all(column.tableId, rowId, column.id)
    .map(({ createdMs, ...file }) => ({ ...file, createdAt: new Date(createdMs).toISOString() }));
}

/** The row that a file of a column was stored for, whether it still exists or not. */
export function rowOfFile(connection: StoreConnection, column: FilePlace['column'], guid: string): number | undefined {
  return connection
    .prepare<unknown[], number>('SELECT row_id FROM _sandbox_files WHERE guid = ? AND table_id = ? AND column_id = ?')
    .pluck()
    .get(guid, column.tableId, column.id);
}

/** The bytes of a file; undefined when there is none with that guid. */
export function fileBytes(connection: StoreConnection, guid: string): Buffer | undefined {
  return connection.prepare<[string], Buffer>('SELECT bytes FROM _sandbox_files WHERE guid = ?').pluck().get(guid);
}

/** Forgets all files of a row. */
export function removeFiles(connection: StoreConnection, tableId: number, rowId: number): void {
  connection.prepare('DELETE FROM _sandbox_files WHERE table_id = ? AND row_id = ?').run(tableId, rowId);
}
