/**
 * Sends all rows that changed since the cursor, in one transaction of the target. Lines are read in short snapshots
 * until none is left, so the committed state existed in the replica. The same transaction moves the cursor and swaps
 * in complete loads.
 */
import { RowsyncError } from '../../base/errors.ts';
import { sql } from '../../base/sql.ts';
import {
  inSnapshot,
  readLastSeq,
  readLines,
  readSourceRows,
  type SourceRow,
  type TouchedLine,
} from '../shared/confirmed-rows.ts';
import type { Connection } from '../../replica/connection.ts';
import { ALL_ROWS } from '../../replica/bookkeeping/touched.ts';
import { applyRows, LISTED, mergeSide, type CopyTarget } from './copy-rows.ts';
import { pgError } from './failures.ts';
import { placeSide, type SentTable } from './shape-tables.ts';
import { LEVEL, moveCursor, sideName, type TablePlace } from './bookkeeping.ts';

/** Lines of one snapshot: some ten milliseconds in which nothing else runs. */
const LINES_MAX = 2_000;
/** Snapshots of one round; a writer that is faster than the target must not keep it from ever committing. */
const SNAPSHOTS_MAX = 500;

/** A table that takes part. */
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

/** A round, inside a transaction; `from` is the cursor. Returns the new cursor, and the last entry of the journal at the moment of the rows. */
export async function makeRound(
  sending: CopyTarget,
  from: Connection,
  round: {
    readonly tables: readonly RoundTable[];
    readonly epoch: string;
    readonly from: number;
    readonly hasReplaced: boolean;
  },
): Promise<{ readonly to: number; readonly lastEntry: number }> {
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
  let lastEntry = 0;
  for (let count = 0; count < SNAPSHOTS_MAX; count += 1) {
    const { lines, changes, lastSeq } = readChanges(from, { tables: round.tables, startById, after: at });
    for (const { table, rows, gone } of changes)
      await guarded(table.id, () => applyRows(sending, table, { rows, gone, made }));
    at = lines.at(-1)?.seq ?? at;
    lastEntry = lastSeq;
    if (lines.length < LINES_MAX) break;
  }
  const to = Math.max(at, round.from);
  await storePlaces(sending, { ids: [...startById.keys()], from: round.from, seq: at < round.from ? at : LEVEL });
  if (await moveCursor(session, target, { epoch: round.epoch, from: round.from, to })) return { to, lastEntry };
  throw new RowsyncError('originDown', 'sink.busy', {
    message: 'Something else moved the cursor of the sink while rows were sent; nothing of them was stored',
    hint: 'One replica may write to a schema. rowsync looks again, and compares everything where it has to.',
  });
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

/** The next lines, their rows, and the last entry of the journal, in one snapshot. */
function readChanges(
  from: Connection,
  given: {
    readonly tables: readonly RoundTable[];
    readonly startById: ReadonlyMap<number, number>;
    readonly after: number;
  },
): { readonly lines: readonly TouchedLine[]; readonly changes: readonly TableChanges[]; readonly lastSeq: number } {
  const { tables, startById, after } = given;
  return inSnapshot(from, () => {
    const lines = readLines(from, after, LINES_MAX);
    const idsByTable = new Map<number, number[]>();
    for (const { tableId, rowId, seq } of lines) {
      if (rowId === ALL_ROWS || seq <= (startById.get(tableId) ?? Infinity)) continue;
      const ids = idsByTable.get(tableId);
      if (ids === undefined) idsByTable.set(tableId, [rowId]);
      else ids.push(rowId);
    }
    const changes = tables.flatMap(({ table }): readonly TableChanges[] => {
      const ids = idsByTable.get(table.id);
      if (ids === undefined) return [];
      const rows = readSourceRows(from, table.source, ids);
      const here = new Set(rows.map(([id]) => Number(id)));
      return [{ table, rows, gone: ids.filter((id) => !here.has(id)) }];
    });
    return { lines, changes, lastSeq: readLastSeq(from) };
  });
}
