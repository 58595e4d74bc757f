/**
 * Progress and errors of each sink, in the replica, so that a restored copy knows what had been sent when it was made.
 * The tables exist while a sink is configured.
 */
import { sql } from '../../base/sql.ts';
import type { Complaint } from '../../reconcile/account/facts.ts';
import { complaintParameters } from '../../replica/bookkeeping/table-errors.ts';
import { noteTouches } from '../../replica/bookkeeping/changed-rows.ts';
import type { Connection, Tx } from '../../replica/connection.ts';
import type { Replica } from '../../replica/database.ts';
import { changeBeside } from '../../replica/confirmation.ts';
import { hasTable } from '../../replica/schema-objects.ts';
import { queryAll, queryFirst, queryText, queryTexts } from '../../replica/query.ts';

/**
 *    epoch, former    which series of batches the target takes from us, and the one before; null before the first
 *    sent             up to which touched line everything was sent
 *    pending          the same once the batch under way is stored there; null without one
 *    asked            JSON: tables that a daemon at work is to load again, none for all; null for nothing
 *    problem_…        what keeps the whole sink from going on, and since when
 */
const SINKS = sql`
  CREATE TABLE _rowsync_sinks (
    name TEXT PRIMARY KEY, epoch TEXT, former TEXT, sent INTEGER NOT NULL DEFAULT 0, pending INTEGER, asked TEXT,
    problem_code TEXT, problem_message TEXT, problem_hint TEXT, problem_since TEXT
  ) STRICT, WITHOUT ROWID`;

/**
 *    state      waits (is read for the first time) · loading · live · held (see problem)
 *    table_name as it is called in the target
 */
const SINK_TABLES = sql`
  CREATE TABLE _rowsync_sink_tables (
    sink TEXT NOT NULL, table_id INTEGER NOT NULL, table_name TEXT NOT NULL, state TEXT NOT NULL,
    problem_code TEXT, problem_message TEXT, problem_hint TEXT,
    PRIMARY KEY (sink, table_id)
  ) STRICT, WITHOUT ROWID`;

/** How far a sink is, as this file knows. */
export interface SinkPlace {
  readonly epoch: string | null;
  readonly former: string | null;
  readonly sent: number;
  readonly pending: number | null;
}

/** What keeps a table back, or how far it is. */
export interface SinkTableState {
  readonly tableId: number;
  readonly tableName: string;
  readonly state: 'waits' | 'loading' | 'live' | 'held';
  readonly problem: Complaint | null;
}

export interface SinkStatus {
  readonly name: string;
  /** Touched rows that are not there yet. */
  readonly lagRows: number;
  /** How long the oldest of them waits, in seconds; 0 without one. */
  readonly lagSeconds: number;
  /** Null before the first row was sent. */
  readonly epoch: string | null;
  readonly problem: (Complaint & { readonly since: string }) | null;
  readonly tables: readonly SinkTableState[];
}

/** Makes the file remember these sinks and no others; without any, no touched row is noted. */
export async function ensureSinks(replica: Replica, names: readonly string[]): Promise<void> {
  const known = readSinkNames(replica);
  if (known.length === names.length && names.every((name) => known.includes(name))) return;
  await replica.write('Preparing the sinks', (tx) => {
    noteTouches(tx, names.length > 0);
    const isThere = hasTable(tx, '_rowsync_sinks');
    if (names.length > 0 && !isThere) for (const statement of [SINKS, SINK_TABLES]) tx.prepare(statement).run();
    if (names.length === 0 && isThere) {
      for (const statement of [sql`DROP TABLE _rowsync_sinks`, sql`DROP TABLE _rowsync_sink_tables`])
        tx.prepare(statement).run();
    }
    if (names.length === 0) return;
    const list = JSON.stringify(names);
    tx.prepare(sql`DELETE FROM _rowsync_sinks WHERE name NOT IN (SELECT value FROM json_each(?))`).run(list);
    tx.prepare(sql`DELETE FROM _rowsync_sink_tables WHERE sink NOT IN (SELECT value FROM json_each(?))`).run(list);
    tx.prepare(
      sql`INSERT INTO _rowsync_sinks (name) SELECT value FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`,
    ).run(list);
  });
}

function readSinkNames(from: Connection): readonly string[] {
  if (!hasTable(from, '_rowsync_sinks')) return [];
  return queryTexts(from, sql`SELECT name FROM _rowsync_sinks`);
}

/** How far a sink is; null where the file does not know it. */
export function readPlace(from: Connection, name: string): SinkPlace | null {
  if (!hasTable(from, '_rowsync_sinks')) return null;
  return queryFirst(from, sql`SELECT epoch, former, sent, pending FROM _rowsync_sinks WHERE name = ?`, [
    name,
  ]) as SinkPlace | null;
}

export function storePlace(tx: Tx, name: string, { epoch, former, sent, pending }: SinkPlace): void {
  tx.prepare(
    sql`UPDATE _rowsync_sinks SET epoch = @epoch, former = @former, sent = @sent, pending = @pending WHERE name = @name`,
  ).run({ name, epoch, former, sent: BigInt(sent), pending: pending === null ? null : BigInt(pending) });
}

/** Notes in a copy which series of batches the replaced file sent last: the target has that one, so it is compared. */
export function inheritSeries(tx: Tx, from: Connection): void {
  if (!hasTable(tx, '_rowsync_sinks') || !hasTable(from, '_rowsync_sinks')) return;
  const replaced = from.prepare(sql`SELECT name, epoch, former FROM _rowsync_sinks WHERE epoch IS NOT NULL`).all();
  for (const { name, epoch, former } of replaced as { name: string; epoch: string; former: string | null }[]) {
    tx.prepare(
      sql`UPDATE _rowsync_sinks SET former = CASE WHEN epoch IS @epoch THEN @former ELSE @epoch END WHERE name = @name`,
    ).run({ name, epoch, former });
  }
}

/** What keeps a sink from going on, and what of its tables; writes only what is other than before. */
export async function storeSinkState(
  replica: Replica,
  name: string,
  state: { readonly problem: Complaint | null; readonly tables: readonly SinkTableState[] | null; readonly at: string },
): Promise<void> {
  const before = readSinkStatus(replica).find((sink) => sink.name === name);
  if (before === undefined) return;
  const { problem, tables } = state;
  const isSameProblem = sameProblem(before.problem, problem);
  const isSame = tables === null || JSON.stringify(before.tables) === JSON.stringify(tables);
  if (isSameProblem && isSame) return;
  await replica.write('Noting how a sink is', (tx) => {
    if (!isSameProblem) {
      tx.prepare(
        sql`UPDATE _rowsync_sinks SET problem_code = @code, problem_message = @message, problem_hint = @hint,
              problem_since = CASE WHEN @code IS NULL THEN NULL ELSE coalesce(problem_since, @at) END WHERE name = @name`,
      ).run({ name, at: state.at, ...complaintParameters(problem) });
    }
    if (isSame) return;
    tx.prepare(sql`DELETE FROM _rowsync_sink_tables WHERE sink = ?`).run(name);
    const insert = tx.prepare(
      sql`INSERT INTO _rowsync_sink_tables (sink, table_id, table_name, state, problem_code, problem_message, problem_hint)
          VALUES (@name, @tableId, @tableName, @state, @code, @message, @hint)`,
    );
    for (const { tableId, tableName, state: ofTable, problem: own } of tables) {
      insert.run({ name, tableId, tableName, state: ofTable, ...complaintParameters(own) });
    }
  });
}

function sameProblem(one: Complaint | null, other: Complaint | null): boolean {
  return one?.code === other?.code && one?.message === other?.message && one?.hint === other?.hint;
}

/** Every sink by name, with its tables by id; empty where none is configured. */
export function readSinkStatus(from: Connection): readonly SinkStatus[] {
  if (!hasTable(from, '_rowsync_sinks')) return [];
  const text = sql`SELECT name, epoch, problem_code AS code, problem_message AS message, problem_hint AS hint, problem_since AS since,
            (SELECT count(*) FROM _rowsync_touched t WHERE t.seq > s.sent) AS lagRows,
            coalesce((SELECT unixepoch() - t.at FROM _rowsync_touched t WHERE t.seq > s.sent ORDER BY t.seq LIMIT 1), 0) AS lagSeconds
          FROM _rowsync_sinks s ORDER BY name`;
  const sinks = queryAll(from, text) as (Record<'name' | 'hint' | 'since' | 'message', string> & {
    code: string | null;
    epoch: string | null;
    lagRows: number;
    lagSeconds: number;
  })[];
  const tables = from.prepare(
    sql`SELECT table_id AS tableId, table_name AS tableName, state, problem_code AS code, problem_message AS message,
          problem_hint AS hint FROM _rowsync_sink_tables WHERE sink = ? ORDER BY table_id`,
  );
  return sinks.map(({ name, epoch, lagRows, lagSeconds, code, message, hint, since }) => ({
    name,
    epoch,
    lagRows,
    lagSeconds: Math.max(0, lagSeconds),
    problem: code === null ? null : { code, message, hint, since },
    tables: tables.all(name).map((row) => {
      const read = row as Omit<SinkTableState, 'problem'> & Omit<Complaint, 'code'> & { code: string | null }; // as above
      const { code: ofTable, message: words, hint: mend, ...state } = read;
      return { ...state, problem: ofTable === null ? null : { code: ofTable, message: words, hint: mend } };
    }),
  }));
}

/** Asks the process at work to load tables again, by their names here, or all for none. @throws RowsyncError. */
export function askForLoad(path: string, name: string, tables: readonly string[]): void {
  changeBeside(path, `Asking for a load in ${path}`, (to) =>
    to.prepare(sql`UPDATE _rowsync_sinks SET asked = ? WHERE name = ?`).run(JSON.stringify(tables), name),
  );
}

/** What a person asked to load again; null for nothing. */
export function readRequestedLoad(from: Connection, name: string): readonly string[] | null {
  if (!hasTable(from, '_rowsync_sinks')) return null;
  const text = queryText(from, sql`SELECT asked FROM _rowsync_sinks WHERE name = ?`, [name]);
  return text === null ? null : (JSON.parse(text) as string[]); // written as such a list
}

export function forgetRequestedLoad(tx: Tx, name: string): void {
  tx.prepare(sql`UPDATE _rowsync_sinks SET asked = NULL WHERE name = ?`).run(name);
}
