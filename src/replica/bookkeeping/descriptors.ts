/**
 * The last descriptions of the database and of each table, with their ETags: an unchanged schema costs only a 304.
 */
import { sql } from '../../base/sql.ts';
import type { Connection, Tx } from '../connection.ts';
import type { DatabaseDescriptor, TableDescriptor } from '../../wire/schema.ts';
import { queryFirst } from '../query.ts';

/**
 *    scope        'database' or 'table:<origin id>'
 *    etag         with its URL, as `etagFor` reads it; empty if it came without one
 *    descriptor   JSON of our own neutral form
 */
export const DESCRIPTORS = sql`
  CREATE TABLE _rowsync_descriptors (
    scope TEXT PRIMARY KEY, etag TEXT NOT NULL, descriptor TEXT NOT NULL
  ) STRICT`;

/** What a descriptor describes: the database, or the table with that origin id. */
type DescriptorOwner = 'database' | number;

/** A descriptor, and the ETag with which it came. */
interface KeptDescriptor<T> {
  readonly etag: string;
  readonly descriptor: T;
}

function scopeOf(of: DescriptorOwner): string {
  return of === 'database' ? of : `table:${of}`;
}

export function readDatabaseDescriptor(from: Connection): KeptDescriptor<DatabaseDescriptor> | null {
  return readDescriptor(from, 'database') as KeptDescriptor<DatabaseDescriptor> | null; // stored under this scope only
}

export function readTableDescriptor(from: Connection, tableId: number): KeptDescriptor<TableDescriptor> | null {
  return readDescriptor(from, tableId) as KeptDescriptor<TableDescriptor> | null; // as above
}

function readDescriptor(from: Connection, of: DescriptorOwner): KeptDescriptor<unknown> | null {
  const text = sql`SELECT etag, descriptor FROM _rowsync_descriptors WHERE scope = ?`;
  const row = queryFirst(from, text, [scopeOf(of)]) as KeptDescriptor<string> | null;
  return row === null ? null : { etag: row.etag, descriptor: JSON.parse(row.descriptor) };
}

/** Stores a descriptor with its ETag and URL (`keptEtag`). Without one, later requests ask for it unconditionally. */
export function storeDescriptor(
  tx: Tx,
  of: DescriptorOwner,
  { etag, value }: { readonly etag: string | null; readonly value: DatabaseDescriptor | TableDescriptor },
): void {
  tx.prepare(
    sql`INSERT INTO _rowsync_descriptors (scope, etag, descriptor) VALUES (?, ?, ?)
        ON CONFLICT (scope) DO UPDATE SET etag = excluded.etag, descriptor = excluded.descriptor
        WHERE etag <> excluded.etag OR descriptor <> excluded.descriptor`,
  ).run(scopeOf(of), etag ?? '', JSON.stringify(value));
}

/** Forgets the descriptor of a table or the database: the next pull asks for it unconditionally. */
export function forgetDescriptor(tx: Tx, of: DescriptorOwner): void {
  tx.prepare(sql`DELETE FROM _rowsync_descriptors WHERE scope = ?`).run(scopeOf(of));
}

export function forgetDescriptors(tx: Tx): void {
  tx.prepare(sql`DELETE FROM _rowsync_descriptors`).run();
}
