/**
 * Sends rows to a target: whole tables at first, then all rows that changed since the cursor, in one transaction
 * there. Lines are read in short snapshots until none is left, so the committed state existed in the replica. The same
 * transaction moves the cursor and swaps in complete loads.
 */
import { RowsyncError } from '../../base/errors.ts';
import { sql, joinSql } from '../../base/sql.ts';
import {
  inSnapshot,
  readLastSeq,
  readLines,
  readTableChanges,
  readSourceRows,
  type SourceRow,
  type ChangedRowLine,
  blockReader,
  readHead,
} from '../shared/confirmed-rows.ts';
import type { Connection } from '../../replica/connection.ts';
import { ALL_ROWS } from '../../replica/bookkeeping/changed-rows.ts';
import { readHeldMoment } from '../shared/fresh-tables.ts';
import {
  applyRows,
  LISTED,
  mergeSide,
  type CopyTarget,
  copyRowsText,
  listReplaced,
  type ReplacedCell,
} from './copy-rows.ts';
import { pgError } from './postgres-errors.ts';
import { placeSide, type SentTable, sentColumnNames, createSql } from './shape-tables.ts';
import { LEVEL, moveCursor, sideName, type TablePlace, dropSide } from './bookkeeping.ts';
import type { SentMoment } from './system-tables.ts';

/** Lines of one snapshot: some ten milliseconds in which nothing else runs. */
const LINES_MAX = 2_000;
/** Snapshots of one round; a writer that is faster than the target must not keep it from ever committing. */
const SNAPSHOTS_MAX = 500;

export interface RoundTable {
  readonly table: SentTable;
  readonly place: TablePlace;
  /** Whether the target has it, under its name. */
  readonly isStanding: boolean;
}

/** One table failed; the round has to be repeated without it. */
export class TableFailure extends Error {
  readonly tableId: number;
  readonly error: RowsyncError;

  constructor(tableId: number, error: RowsyncError) {
    super(error.message);
    this.tableId = tableId;
    this.error = error;
  }
}

/**
 * A round, inside a transaction; `from` is the cursor. Returns the new cursor, how many rows changed or went, and what was true when they were read. That is the last entry of the
 * history, and the proven moment that they are of.
 */
export async function makeRound(
  sending: CopyTarget,
  from: Connection,
  round: {
    readonly tables: readonly RoundTable[];
    readonly epoch: string;
    readonly from: number;
    readonly hasReplaced: boolean;
  },
): Promise<{
  readonly to: number;
  readonly sentRows: number;
  readonly lastEntry: number;
  readonly moment: SentMoment | null;
}> {
  const { session, target } = sending;
  const made = new Set<string>(round.hasReplaced ? [LISTED] : []);
  const startById = new Map<number, number>();
  for (const { table, place, isStanding } of round.tables) {
    const { load } = place;
    const start = load?.isDone === true ? load.seq : place.seq;
    if (start === null) continue;
    startById.set(table.id, Math.min(start, round.from));
    if (load?.isDone !== true) continue;
    await guarded(table.id, async () => {
      if (isStanding) await mergeSide(sending, table, target.of(sideName(table.id)));
      else await placeSide(session, target, table);
    });
  }
  let at = Math.min(round.from, ...startById.values());
  let sentRows = 0;
  let lastEntry = 0;
  let moment: SentMoment | null = null;
  for (let count = 0; count < SNAPSHOTS_MAX; count += 1) {
    const read = readChanges(from, { tables: round.tables, startById, after: at });
    const { lines, changes } = read;
    for (const { table, rows, gone } of changes) {
      await guarded(table.id, () => applyRows(sending, table, { rows, gone, made }));
      sentRows += rows.length + gone.length;
    }
    at = lines.at(-1)?.seq ?? at;
    ({ lastEntry, moment } = read);
    if (lines.length < LINES_MAX) break;
  }
  const to = Math.max(at, round.from);
  await storePlaces(sending, { ids: [...startById.keys()], from: round.from, seq: at < round.from ? at : LEVEL });
  const isMoved = await moveCursor(session, target, { epoch: round.epoch, from: round.from, to });
  if (isMoved) return { to, sentRows, lastEntry, moment };
  throw movedError('Something else moved the cursor of the sink while rows were sent; nothing of them was stored');
}

function movedError(message: string): RowsyncError {
  const hint = 'One replica may write to a schema. rowsync looks again, and compares everything where it has to.';
  return new RowsyncError('originDown', 'sink.busy', { message, hint });
}

/** Stores the progress of the tables of a round. Most rounds advance all tables, and then no line about them is written. */
async function storePlaces(
  { session, target }: CopyTarget,
  { ids, from, seq }: { readonly ids: readonly number[]; readonly from: number; readonly seq: number },
): Promise<void> {
  // A table that took no part falls behind the cursor, and catches up later.
  await session.query(
    sql`UPDATE ${target.tables} SET seq = $1 WHERE seq = ${LEVEL} AND NOT table_id = ANY ($2::bigint[])`,
    [from, ids],
  );
  await session.query(
    sql`UPDATE ${target.tables} SET seq = $1, whole = CASE WHEN load_done THEN load_seq ELSE whole END,
          load_seq = CASE WHEN NOT load_done THEN load_seq END, load_id = CASE WHEN NOT load_done THEN load_id END,
          load_shape = CASE WHEN NOT load_done THEN load_shape END, load_done = false
        WHERE table_id = ANY ($2::bigint[]) AND (seq IS DISTINCT FROM $1 OR load_done)`,
    [seq, ids],
  );
}

/** An error about one table concerns only that table; an error of the connection concerns all. */
async function guarded(tableId: number, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    throw new TableFailure(tableId, pgError(thrown));
  }
}

interface TableChanges {
  readonly table: SentTable;
  readonly rows: readonly SourceRow[];
  readonly gone: readonly number[];
}

/** The next lines and their rows, the last entry of the history, and behind the last line the moment, in one snapshot. */
function readChanges(
  from: Connection,
  given: {
    readonly tables: readonly RoundTable[];
    readonly startById: ReadonlyMap<number, number>;
    readonly after: number;
  },
): {
  readonly lines: readonly ChangedRowLine[];
  readonly changes: readonly TableChanges[];
  readonly lastEntry: number;
  readonly moment: SentMoment | null;
} {
  const { tables, startById, after } = given;
  return inSnapshot(from, () => {
    const lines = readLines(from, after, LINES_MAX);
    const isNew = ({ tableId, rowId, seq }: ChangedRowLine): boolean =>
      rowId !== ALL_ROWS && seq > (startById.get(tableId) ?? Infinity);
    const linesByTable = Map.groupBy(lines.filter(isNew), ({ tableId }) => tableId);
    const changes = tables.flatMap(({ table }): readonly TableChanges[] => {
      const ids = linesByTable.get(table.id)?.map(({ rowId }) => rowId);
      if (ids === undefined) return [];
      const rows = readSourceRows(from, table.source, ids);
      const here = new Set(rows.map(([id]) => Number(id)));
      return [{ table, rows, gone: ids.filter((id) => !here.has(id)) }];
    });
    const moment = lines.length < LINES_MAX ? readSentMoment(from, tables) : null;
    return { lines, changes, lastEntry: readLastSeq(from), moment };
  });
}

/** The moment that holds, and the tables that are there as they were then: none whose load has not ended, or has to begin again. */
function readSentMoment(from: Connection, tables: readonly RoundTable[]): SentMoment | null {
  const held = readHeldMoment(from);
  if (held === null) return null;
  const wholes = readTableChanges(from);
  const isWhole = ({ table, place: { seq, whole, load } }: RoundTable): boolean => {
    const loadedTo = load === null ? (seq === null ? -Infinity : (whole ?? -1)) : load.isDone ? load.seq : -Infinity;
    return (wholes.get(table.id) ?? -1) <= loadedTo;
  };
  const names = tables.filter(isWhole).map(({ table }) => table.source.table.localName);
  return { at: held.at, tables: names.filter((name) => held.tables.includes(name)) };
}

/** Rows of one part; a second or so. */
const PART_ROWS = 50_000;
/** Rows read at once, before other work has its turn. More rows would outlive a garbage collection, and make the heap grow. */
const BLOCK_ROWS = 200;

/** Begins a load, and removes the rest of an earlier one. */
export async function beginLoad(sending: CopyTarget, from: Connection, table: SentTable): Promise<void> {
  const { session, target } = sending;
  await dropSide(session, target, table.id);
  await session.query(createSql(target, table, sending));
  await listReplaced(sending, table, null, []);
  await session.query(
    sql`INSERT INTO ${target.tables} (table_id, name, load_seq, load_id, load_done, load_shape) VALUES ($1, $2, $3, 0, false, $4)
        ON CONFLICT (table_id) DO UPDATE SET load_seq = excluded.load_seq, load_id = 0, load_done = false, load_shape = excluded.load_shape`,
    [table.id, table.name, readHead(from), table.shape],
  );
}

/** Loads the next part; returns its number of rows. Fails if another writer took over, or the load was begun anew. */
export async function loadPart(
  sending: CopyTarget,
  from: Connection,
  table: SentTable,
  load: NonNullable<TablePlace['load']>,
): Promise<number> {
  const { session, target } = sending;
  const replaced: ReplacedCell[] = [];
  const read = blockReader(from, table.source);
  let lastId = BigInt(load.lastId);
  let [rowCount, isLast] = [0, false];
  const pieces = function* (): Iterable<string> {
    while (rowCount < PART_ROWS && !isLast) {
      const rows = read(lastId, BLOCK_ROWS);
      lastId = rows.at(-1)?.[0] ?? lastId;
      rowCount += rows.length;
      isLast = rows.length < BLOCK_ROWS;
      yield copyRowsText(table, rows, replaced);
    }
  };
  await session.transact(async () => {
    const columns = joinSql(sentColumnNames(table));
    await session.copy(sql`COPY ${target.of(sideName(table.id))} (${columns}) FROM STDIN`, pieces());
    if (replaced.length > 0) await listReplaced(sending, table, [], replaced);
    const moved = await session.change(
      sql`UPDATE ${target.tables} SET load_id = $1, load_done = $2 WHERE table_id = $3 AND load_seq = $4 AND load_id = $5`,
      [lastId.toString(), isLast, table.id, load.seq, load.lastId],
    );
    if (moved !== 1) throw movedError('Another process continued the load of a table');
  });
  return rowCount;
}
