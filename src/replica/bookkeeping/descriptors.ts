/**
 * What the origin last said of the database and of each table, with its ETags: an unchanged schema costs an answer without a body.
 */
import { sql } from '../../base/sql.ts';
import type { Connection, Tx } from '../connection.ts';
import type { Extension } from '../../wire/format.ts';
import type { DatabaseDescriptor, TableDescriptor } from '../../wire/schema.ts';
import { queryFirst } from '../query.ts';

/**
 *    scope        'database' or 'table:<origin id>'; '.xml' behind it where the ETag is that of an answer in XML
 *    descriptor   JSON of our own neutral form
 */
export const DESCRIPTORS = sql`
  CREATE TABLE _rowsync_descriptors (
    scope TEXT PRIMARY KEY, etag TEXT NOT NULL, descriptor TEXT NOT NULL
  ) STRICT`;

/** What a descriptor is of, the database or the table with that origin id, and the format that its ETag belongs to. */
export interface DescriptorScope {
  readonly of: 'database' | number;
  readonly format: Extension;
}

function scopeText({ of, format }: DescriptorScope): string {
  const text = of === 'database' ? of : `table:${of}`;
  return format === 'json' ? text : `${text}.${format}`;
}

/** A stored descriptor of the database with its ETag (`etagFor` reads it), or null. */
export function readDatabaseDescriptor(
  from: Connection,
  format: Extension,
): { etag: string; descriptor: DatabaseDescriptor } | null {
  const stored = readDescriptor(from, { of: 'database', format });
  return stored as { etag: string; descriptor: DatabaseDescriptor } | null; // stored under this scope only
}

export function readTableDescriptor(
  from: Connection,
  tableId: number,
  format: Extension,
): { etag: string; descriptor: TableDescriptor } | null {
  const stored = readDescriptor(from, { of: tableId, format });
  return stored as { etag: string; descriptor: TableDescriptor } | null; // stored under this scope only
}

function readDescriptor(from: Connection, scope: DescriptorScope): { etag: string; descriptor: unknown } | null {
  const text = sql`SELECT etag, descriptor FROM _rowsync_descriptors WHERE scope = ?`;
  const row = queryFirst(from, text, [scopeText(scope)]) as { etag: string; descriptor: string } | null;
  return row === null ? null : { etag: row.etag, descriptor: JSON.parse(row.descriptor) };
}

/** Remembers a descriptor with its ETag and URL (`keptEtag`); without one there is nothing to ask with later, and it is forgotten. */
export function storeDescriptor(
  tx: Tx,
  scope: DescriptorScope,
  answer: { readonly etag: string | null; readonly value: DatabaseDescriptor | TableDescriptor },
): void {
  if (answer.etag === null) {
    tx.prepare(sql`DELETE FROM _rowsync_descriptors WHERE scope = ?`).run(scopeText(scope));
    return;
  }
  tx.prepare(
    sql`INSERT INTO _rowsync_descriptors (scope, etag, descriptor) VALUES (?, ?, ?)
        ON CONFLICT (scope) DO UPDATE SET etag = excluded.etag, descriptor = excluded.descriptor`,
  ).run(scopeText(scope), answer.etag, JSON.stringify(answer.value));
}

/** Forgets the descriptors of a table or the database, in every format: the next pull asks for it unconditionally. */
export function forgetDescriptor(tx: Tx, of: DescriptorScope['of']): void {
  for (const format of ['json', 'xml'] as const) {
    tx.prepare(sql`DELETE FROM _rowsync_descriptors WHERE scope = ?`).run(scopeText({ of, format }));
  }
}

export function forgetDescriptors(tx: Tx): void {
  tx.prepare(sql`DELETE FROM _rowsync_descriptors`).run();
}
