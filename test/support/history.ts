/**
 * What the journal says, held against what stands in the replica. A state is every cell of a table with history, by row
 * and column; entries lead from one state to another, in both directions.
 */
import Database from 'better-sqlite3';

/** Everything kept. */
export const HISTORY = { keepDays: 400, bytesMax: 2_000_000_000 };

/** A row as SQL text of its values, by ledger row of the column; those without a value are left out. */
type StateRow = Record<string, string>;

/** Rows of a table by id. */
export type State = Map<number, StateRow>;

/** An entry of a row. */
export interface Entry {
  readonly seq: number;
  readonly tableId: number;
  readonly rowId: number;
  readonly kind: 'insert' | 'update' | 'delete';
  readonly cells: readonly (readonly [seq: number, before: string, after: string])[];
}

/** Whoever can be asked. */
export type Reader = Pick<Database.Database, 'prepare'>;

function open(path: string): Database.Database {
  return new Database(path, { readonly: true });
}

/** The tables with a journal that has begun, without those that somebody dropped. */
export function journalled(db: Reader): readonly { tableId: number; localName: string; begunSeq: number }[] {
  return db
    .prepare(
      `SELECT j.table_id AS tableId, t.local_name AS localName, j.begun_seq AS begunSeq FROM _rowsync_history_tables j
       JOIN _rowsync_tables t ON t.id = j.table_id WHERE j.begun_seq IS NOT NULL
         AND EXISTS (SELECT 1 FROM sqlite_schema s WHERE s.type = 'table' AND s.name = t.local_name COLLATE NOCASE)`,
    )
    .all() as { tableId: number; localName: string; begunSeq: number }[];
}

/**
 * The state that the journal says a table is in: its base with the edits that were captured, or the table itself where
 * it has no base. What was edited since the last capture is in no entry yet.
 */
export function knownState(db: Reader, tableId: number): State {
  const base = `_rowsync_base_${tableId}`;
  const hasBase = db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(base) !== undefined;
  const local = db.prepare('SELECT local_name FROM _rowsync_tables WHERE id = ?').pluck().get(tableId) as string;
  const state = tableState(db, tableId, hasBase ? base : local);
  if (!hasBase) return state;
  const edits = db.prepare(
    'SELECT row_id AS rowId, json(cells) AS cells FROM _rowsync_history_edits WHERE table_id = ?',
  );
  for (const { rowId, cells } of edits.all(tableId) as { rowId: number; cells: string | null }[]) {
    if (cells === null) {
      state.delete(rowId);
      continue;
    }
    const row = state.get(rowId) ?? {};
    for (const [seq, text = 'NULL'] of cellTexts(db, cells, 1)) put(row, seq, text);
    state.set(rowId, row);
  }
  return state;
}

/** Every cell of a table, as SQL text. */
export function tableState(db: Reader, tableId: number, name: string): State {
  const quoted = `"${name.replaceAll('"', '""')}"`;
  const standing = new Set(db.prepare('SELECT name FROM pragma_table_xinfo(?)').pluck().all(name) as string[]);
  const columns = (
    db.prepare('SELECT seq, local_name AS name FROM _rowsync_columns WHERE table_id = ? ORDER BY seq').all(tableId) as {
      seq: number;
      name: string;
    }[]
  ).filter((column) => standing.has(column.name));
  const all = [{ seq: 0, name: '_allow' }, ...columns];
  const list = all.map((column) => `quote("${column.name.replaceAll('"', '""')}")`).join(', ');
  const rows = db.prepare(`SELECT _id, ${list} FROM ${quoted}`).raw().all() as [number, ...string[]][];
  return new Map(
    rows.map(([id, ...values]) => {
      const row: StateRow = {};
      for (const [index, { seq }] of all.entries()) put(row, seq, values[index] ?? 'NULL');
      return [id, row];
    }),
  );
}

function put(row: StateRow, seq: number, text: string): void {
  if (text === 'NULL') Reflect.deleteProperty(row, String(seq));
  else row[String(seq)] = text;
}

/** The cells of a JSON array as SQL text: ledger row, then as many values. */
function cellTexts(db: Reader, cells: string, count: number): readonly [number, ...string[]][] {
  const value = (index: number): string =>
    `CASE WHEN json_type(c.value, '$[${index}]') = 'object'
       THEN coalesce('X''' || upper(c.value ->> '$[${index}].blob') || '''',
                     quote(CAST(unhex(c.value ->> '$[${index}].raw') AS TEXT)))
       ELSE quote(c.value ->> '$[${index}]') END`;
  const list = Array.from({ length: count }, (_, index) => value(index + 1)).join(', ');
  return db.prepare(`SELECT c.value ->> 0, ${list} FROM json_each(?) c`).raw().all(cells) as [number, ...string[]][];
}

/** The entries of a table behind a number, in order. */
export function entriesAfter(db: Reader, tableId: number, seq: number): readonly Entry[] {
  const rows = db
    .prepare(
      `SELECT seq, table_id AS tableId, row_id AS rowId, kind, json(cells) AS cells FROM _rowsync_history
       WHERE table_id = ? AND seq > ? AND kind IN ('insert', 'update', 'delete') ORDER BY seq`,
    )
    .all(tableId, seq) as (Omit<Entry, 'cells'> & { cells: string })[];
  return rows.map((row) => ({ ...row, cells: cellTexts(db, row.cells, 2) as unknown as Entry['cells'] }));
}

/** Takes an entry back in a state. @throws Error where the state is not the one that the entry leads to. */
export function takeBack(state: State, entry: Entry): void {
  const row = state.get(entry.rowId);
  if ((row !== undefined) !== (entry.kind !== 'delete')) throw new Error(`${entry.seq} leads to no row, or to one`);
  for (const [seq, , after] of entry.cells) {
    if ((row?.[String(seq)] ?? 'NULL') !== after)
      throw new Error(`entry ${entry.seq}, column ${seq}: ${row?.[seq]} is not ${after}`);
  }
  if (entry.kind === 'insert') {
    if (Object.keys(row ?? {}).length !== entry.cells.length) throw new Error(`entry ${entry.seq} leaves out a cell`);
    state.delete(entry.rowId);
    return;
  }
  const before = row ?? {};
  for (const [seq, text] of entry.cells) put(before, seq, text);
  state.set(entry.rowId, before);
}

/** Carries an entry out in a state. @throws Error where the state is not the one that the entry begins with. */
export function putForward(state: State, entry: Entry): void {
  const kinds = { insert: 'delete', update: 'update', delete: 'insert' } as const;
  const cells = entry.cells.map(([seq, before, after]) => [seq, after, before] as const);
  takeBack(state, { ...entry, kind: kinds[entry.kind], cells });
}

/** The state of a table as it was behind an entry, found from what it is now. */
function stateAt(db: Reader, tableId: number, seq: number): State {
  const state = knownState(db, tableId);
  for (const entry of entriesAfter(db, tableId, seq).toReversed()) takeBack(state, entry);
  return state;
}

/** A moment: what every table was, behind which entry. */
export interface Moment {
  readonly seq: number;
  readonly states: ReadonlyMap<number, State>;
}

/** The moment now. */
export function momentOf(path: string): Moment {
  const db = open(path);
  try {
    const seq = db.prepare('SELECT coalesce(max(seq), 0) FROM _rowsync_history').pluck().get() as number;
    return { seq, states: new Map(journalled(db).map(({ tableId }) => [tableId, knownState(db, tableId)])) };
  } finally {
    db.close();
  }
}

/** What the journal gets wrong about an earlier moment; empty where each table was just so. */
export function problemsSince(path: string, moment: Moment): readonly string[] {
  const db = open(path);
  try {
    return journalled(db).flatMap(({ tableId, localName, begunSeq }) => {
      const was = moment.states.get(tableId);
      if (was === undefined || begunSeq > moment.seq) return [];
      try {
        const found = stateAt(db, tableId, moment.seq);
        return sameState(found, was) ? [] : [`${localName} was not so behind ${moment.seq}: ${describe(found, was)}`];
      } catch (thrown) {
        return [`${localName}: ${(thrown as Error).message}`];
      }
    });
  } finally {
    db.close();
  }
}

function sameState(one: State, other: State): boolean {
  return describe(one, other) === '';
}

function describe(one: State, other: State): string {
  const ids = [...new Set([...one.keys(), ...other.keys()])];
  const text = (row: StateRow | undefined): string =>
    row === undefined ? 'none' : JSON.stringify(Object.entries(row).toSorted(([a], [b]) => Number(a) - Number(b)));
  return ids
    .filter((id) => text(one.get(id)) !== text(other.get(id)))
    .slice(0, 3)
    .map((id) => `row ${id}: ${text(one.get(id))} instead of ${text(other.get(id))}`)
    .join('; ');
}
