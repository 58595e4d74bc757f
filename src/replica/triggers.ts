/**
 * The triggers that stand on user tables: making them, and seeing whether another client dropped or changed one, which means that
 * rows may have been edited unseen. Here are also the guards that refuse every edit of a mirror; those of two-way
 * tables are in capture/triggers.ts. All names start with `_rowsync_` and end with the table's origin id.
 */
import type { Connection, Tx } from './connection.ts';
import { readTriggers } from './objects.ts';
import { ident, literal, sql, type Sql } from '../base/sql.ts';

/** A trigger that must stand exactly like this. */
export interface Trigger {
  readonly name: string;
  readonly text: Sql;
}

/** True in a trigger unless the statement is ours: the daemon's own writes are told by a flag row. */
export const NOT_OURS = sql`NOT EXISTS (SELECT 1 FROM _rowsync_writer)`;

const GUARDED = ['INSERT', 'UPDATE', 'DELETE'] as const;

/**
 * The guards of a table that may not be edited; `sentence` says why. AFTER, because it costs our own writes half of what BEFORE
 * does; an abort undoes the whole statement either way.
 */
export function guardsOf(
  table: { readonly id: number; readonly localName: string },
  sentence: string,
): readonly Trigger[] {
  return GUARDED.map((event) => {
    const name = `_rowsync_guard_${event.toLowerCase()}_${table.id}`;
    const when = { INSERT: sql`INSERT`, UPDATE: sql`UPDATE`, DELETE: sql`DELETE` }[event];
    const text = sql`CREATE TRIGGER ${ident(name)} AFTER ${when} ON ${ident(table.localName)}
    WHEN ${NOT_OURS} BEGIN SELECT RAISE(ABORT, ${literal(sentence)}); END`;
    return { name, text };
  });
}

/** Whether exactly the wanted triggers of ours stand on a table. */
export function hasTriggers(from: Connection, tableId: number, wanted: readonly Trigger[]): boolean {
  const found = readTriggers(from, tableId);
  return found.length === wanted.length && wanted.every(({ name, text }) => isAmong(found, name, text));
}

/** Makes sure that exactly the wanted triggers stand on a table; returns whether one had to be made or dropped. */
export function ensureTriggers(tx: Tx, tableId: number, wanted: readonly Trigger[]): boolean {
  if (hasTriggers(tx, tableId, wanted)) return false;
  const found = readTriggers(tx, tableId);
  for (const { name, text } of found) {
    if (!isAmong(wanted, name, text)) tx.prepare(sql`DROP TRIGGER ${ident(name)}`).run();
  }
  for (const { name, text } of wanted) if (!isAmong(found, name, text)) tx.prepare(text).run();
  return true;
}

/** Drops the triggers of a table; code that changes its shape makes them again in the same transaction. */
export function dropTriggers(tx: Tx, tableId: number): void {
  for (const { name } of readTriggers(tx, tableId)) tx.prepare(sql`DROP TRIGGER ${ident(name)}`).run();
}

/** The triggers of other clients on the tables and views that rowsync keeps, as `name on table`. */
export function readForeignTriggers(from: Connection): readonly string[] {
  const text = sql`SELECT name || ' on ' || tbl_name FROM sqlite_schema
    WHERE type = 'trigger' AND name NOT GLOB '_rowsync_*'
      AND (tbl_name COLLATE NOCASE IN (SELECT local_name FROM _rowsync_tables) OR lower(tbl_name) GLOB '_rowsync_*' OR lower(tbl_name) GLOB 'sync_*')
    ORDER BY tbl_name, name`;
  return from.prepare(text).pluck().all().map(String);
}

function isAmong(triggers: readonly { name: string; text: string }[], name: string, text: string): boolean {
  return triggers.some((trigger) => trigger.name === name && trigger.text === text);
}
