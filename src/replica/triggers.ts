/**
 * The triggers that are on user tables: making them, and seeing whether another client dropped or changed one, which
 * means that rows may have been edited unseen. Here are also the guards that refuse every edit of a mirror; those of
 * two-way tables are in capture/edit-triggers.ts. All names start with `_rowsync_` and end with the table's origin id.
 */
import { RowsyncError } from '../base/errors.ts';
import { ident, joinSql, literal, sql, type Sql } from '../base/sql.ts';
import type { Connection, Tx, WrittenTable } from './connection.ts';
import {
  changeSchema,
  hasForeignTriggers,
  noteTriggers,
  oncePerSchema,
  readTriggers,
  type FoundTrigger,
} from './schema-objects.ts';
import { queryAll, queryTexts } from './query.ts';

export interface Trigger extends FoundTrigger {
  readonly text: Sql;
}

/** True in a trigger unless the statement is ours: the daemon's own writes are told by a flag row. */
export const NOT_OURS = sql`NOT EXISTS (SELECT 1 FROM _rowsync_writer)`;

/** The guards of a table that may not be edited. AFTER costs our own writes half of what BEFORE does. */
export function guardsOf(table: WrittenTable, sentence: string): readonly Trigger[] {
  const guard = (event: Sql): Trigger => {
    const name = `_rowsync_guard_${event.toLowerCase()}_${table.id}`;
    const text = sql`CREATE TRIGGER ${ident(name)} AFTER ${event} ON ${ident(table.localName)}
    WHEN ${NOT_OURS} BEGIN SELECT RAISE(ABORT, ${literal(sentence)}); END`;
    return { name, text };
  };
  return [guard(sql`INSERT`), guard(sql`UPDATE`), guard(sql`DELETE`)];
}

export function hasTriggers(from: Connection, tableId: number, wanted: readonly Trigger[]): boolean {
  return areSame(readTriggers(from, tableId), wanted);
}

/** Makes sure that exactly the wanted triggers are on a table; returns whether one had to be made or dropped. */
export function ensureTriggers(tx: Tx, tableId: number, wanted: readonly Trigger[]): boolean {
  const found = readTriggers(tx, tableId);
  if (areSame(found, wanted)) return false;
  const dropped = found.filter(({ name, text }) => !isAmong(wanted, name, text));
  const made = wanted.filter(({ name, text }) => !isAmong(found, name, text));
  changeSchema(tx, ...dropped.map(({ name }) => sql`DROP TRIGGER ${ident(name)}`), ...made.map(({ text }) => text));
  noteTriggers(tx, tableId, wanted);
  return true;
}

/** Drops the triggers of a table; code that changes its shape makes them again in the same transaction. */
export function dropTriggers(tx: Tx, tableId: number): void {
  ensureTriggers(tx, tableId, []);
}

/** Whether a trigger fires for people only, not for what rowsync writes. */
const IS_FOR_PEOPLE = /\bwhen\b.*\bnot\s+exists\s*\(\s*select\s+\S+\s+from\s+"?_rowsync_writer"?\s*\).*\bbegin\b/is;

/** Makes sure that no foreign trigger changes synced tables or drops our rows. @throws `replica.failed`. */
export function requireHarmlessTriggers(from: Connection, table: WrittenTable): void {
  if (!hasForeignTriggers(from)) return;
  const known = readHarms(from);
  const harm = known.get(table.localName) ?? findHarm(from, table);
  known.set(table.localName, harm);
  if (harm === NONE) return;
  throw new RowsyncError('replica', 'replica.failed', {
    message: `${table.localName}: the trigger ${harm}, so nothing of the table is read, stored or sent`,
    hint: 'Drop the trigger, or add WHEN NOT EXISTS (SELECT 1 FROM _rowsync_writer) to it, so that it does nothing while rowsync itself writes.',
  });
}

const NONE = '';

/** What triggers would do to a table, by its name; filled as tables are asked about. */
const readHarms = oncePerSchema(() => new Map<string, string>());

/** The first harm that foreign triggers on a table may do, as the end of a sentence; SQLite's program has them all. */
function findHarm(from: Connection, { id, localName }: WrittenTable): string {
  const names = [localName, `_rowsync_base_${id}`];
  const text = sql`SELECT name, sql, tbl_name AS tableName FROM sqlite_schema WHERE type = 'trigger' AND name NOT GLOB '_rowsync_*'
          AND tbl_name COLLATE NOCASE IN (SELECT value FROM json_each(?))`;
  const found = queryAll(from, text, [JSON.stringify(names)]) as { name: string; sql: string; tableName: string }[];
  const harmless = new Set(found.filter((trigger) => IS_FOR_PEOPLE.test(trigger.sql)).map(({ name }) => name));
  const pages = new Set(from.prepare(SYNCED_PAGES).pluck().all());
  for (const name of new Set(found.map(({ tableName }) => tableName))) {
    const table = ident(name);
    const columns = queryTexts(from, sql`SELECT name FROM pragma_table_info(?)`, [name]);
    const same = joinSql(columns.map(ident).map((column) => sql`${column} = ${column}`));
    for (const statement of [
      sql`INSERT INTO ${table} DEFAULT VALUES`,
      sql`UPDATE ${table} SET ${same}`,
      sql`DELETE FROM ${table} WHERE _id = 1`,
    ]) {
      const harm = harmOf(readProgram(from, statement), { harmless, pages });
      if (harm !== NONE) return harm;
    }
  }
  return NONE;
}

const SYNCED_PAGES = sql`SELECT rootpage FROM sqlite_schema
    WHERE rootpage > 0 AND (lower(tbl_name) GLOB '_rowsync_*' OR tbl_name COLLATE NOCASE IN (SELECT local_name FROM _rowsync_tables))`;

/** A step of the program that SQLite makes of a statement; the programs of its triggers follow, each with its name. */
interface ProgramStep {
  readonly opcode: string;
  readonly p1: number;
  readonly p2: number;
  readonly p4: string | null;
}

/** Makes each text another one: SQLite never compiles an EXPLAIN anew, and an old one would read freed memory. */
let programCount = 0;

function readProgram(from: Connection, statement: Sql): readonly ProgramStep[] {
  programCount += 1;
  return queryAll(from, sql`EXPLAIN ${statement} /* ${programCount} */`) as ProgramStep[];
}

/** How SQLite codes RAISE: as an error that only triggers have, or as the conflict rule "ignore". */
const CONSTRAINT_TRIGGER = 1811;
const IGNORE = 4;

function harmOf(
  steps: readonly ProgramStep[],
  { harmless, pages }: { readonly harmless: ReadonlySet<string>; readonly pages: ReadonlySet<unknown> },
): string {
  let trigger: string | null = null;
  for (const { opcode, p1, p2, p4 } of steps) {
    if (opcode === 'Init') trigger = /^-- TRIGGER (.*)$/s.exec(p4 ?? '')?.[1] ?? null;
    if (trigger === null || trigger.startsWith('_rowsync_') || harmless.has(trigger)) continue;
    const page = opcode === 'OpenWrite' ? p2 : opcode === 'Clear' ? p1 : null;
    if (page !== null && pages.has(page)) return `"${trigger}" of another program writes to a synced table`;
    if (opcode === 'Halt' && (p1 === CONSTRAINT_TRIGGER || p2 === IGNORE))
      return `"${trigger}" of another program can refuse or drop a row (RAISE)`;
  }
  return NONE;
}

function areSame(found: readonly FoundTrigger[], wanted: readonly Trigger[]): boolean {
  return found.length === wanted.length && wanted.every(({ name, text }) => isAmong(found, name, text));
}

function isAmong(triggers: readonly FoundTrigger[], name: string, text: string): boolean {
  return triggers.some((trigger) => trigger.name === name && trigger.text === text);
}
