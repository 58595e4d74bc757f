/**
 * Sends rows to a target, in one transaction there: a whole table where one has to be loaded, then all rows that
 * changed since the cursor. Lines are read in short snapshots until none is left, so the committed state existed in the
 * replica. The same transaction moves the cursor.
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
  namesCheck,
} from '../shared/confirmed-rows.ts';
import type { Connection } from '../../replica/connection.ts';
import { ALL_ROWS } from '../../replica/bookkeeping/changed-rows.ts';
import { readHeldMoment } from '../shared/fresh-tables.ts';
import {
  applyRows,
  makeEqual,
  type CopyTarget,
  copyRowsText,
  freshTable,
  listReplaced,
  type ReplacedCell,
} from './copy-rows.ts';
import { pgError } from './postgres-errors.ts';
import { makeTable, type SentTable, sentColumnNames } from './shape-tables.ts';
import { LEVEL, moveCursor, type TablePlace } from './bookkeeping.ts';
import type { SentMoment } from './system-tables.ts';

/** Lines of one snapshot: some ten milliseconds in which nothing else runs. */
const LINES_MAX = 2_000;
/** Snapshots of one round: otherwise a writer that is faster than the target could keep it from ever committing. */
const SNAPSHOTS_MAX = 500;

export interface RoundTable {
  readonly table: SentTable;
  readonly place: Pick<TablePlace, 'seq' | 'loadedSeq'>;
  /** Whether the target has it, under its name. */
  readonly isStanding: boolean;
}

/** One table failed, so the round must be repeated without it. */
export class TableFailure extends Error {
  readonly tableId: number;
  readonly error: RowsyncError;

  constructor(tableId: number, error: RowsyncError) {
    super(error.message);
    this.tableId = tableId;
    this.error = error;
  }
}

/** A table or column came or was renamed after the tables were read, so the round has to be repeated. */
export class NamesChanged extends RowsyncError {
  constructor() {
    super('originDown', 'sink.busy', {
      message: 'Tables or columns changed here while rows were sent; nothing of them was stored',
      hint: 'rowsync sends them again by itself.',
    });
  }
}

/**
 * A round, inside a transaction; `from` is the cursor, and `load` the table to load. Returns the new cursor, how many
 * rows were loaded, and how many others changed or went. Also what was true when they were read: the last entry of the
 * history, and the proven moment that they are of.
 */
export async function makeRound(
  sending: CopyTarget,
  from: Connection,
  round: {
    readonly tables: readonly RoundTable[];
    readonly load: RoundTable | null;
    readonly epoch: string;
    readonly from: number;
    /** Called after each part of a load. */
    readonly onPart: () => void;
  },
): Promise<{
  readonly to: number;
  readonly loadedRows: number;
  readonly sentRows: number;
  readonly lastEntry: number;
  readonly moment: SentMoment | null;
}> {
  const { session, target } = sending;
  const { load } = round;
  const seq = readHead(from);
  const others = round.tables.filter(({ table }) => table.id !== load?.table.id);
  const tables = load === null ? others : [...others, { ...load, place: { seq, loadedSeq: seq } }];
  const areNamesKept = namesCheck(
    from,
    tables.map(({ table }) => table.source),
  );
  /** Reads in one snapshot, in which every name means what it meant when the tables were read. */
  const reading = <T>(read: () => T): T =>
    inSnapshot(from, () => {
      if (!areNamesKept()) throw new NamesChanged();
      return read();
    });
  let loadedRows = 0;
  if (load !== null)
    await guarded(load.table.id, async () => {
      loadedRows = await loadTable(sending, from, { ...load, reading, onPart: round.onPart });
      await storeLoad(sending, load.table, seq);
    });
  const startById = new Map(
    tables.flatMap(({ table, place }) =>
      place.seq === null ? [] : [[table.id, Math.min(place.seq, round.from)] as const],
    ),
  );
  let at = Math.min(round.from, ...startById.values());
  let sentRows = 0;
  let lastEntry = 0;
  let moment: SentMoment | null = null;
  for (let count = 0; count < SNAPSHOTS_MAX; count += 1) {
    const read = reading(() => readChanges(from, { tables, startById, after: at }));
    const { lines, changes } = read;
    for (const { table, rows, gone } of changes) {
      await guarded(table.id, () => applyRows(sending, table, { rows, gone }));
      sentRows += rows.length + gone.length;
    }
    at = lines.at(-1)?.seq ?? at;
    ({ lastEntry, moment } = read);
    if (lines.length < LINES_MAX) break;
  }
  const to = Math.max(at, round.from);
  await storePlaces(sending, { ids: [...startById.keys()], from: round.from, seq: at < round.from ? at : LEVEL });
  const isMoved = await moveCursor(session, target, { epoch: round.epoch, from: round.from, to });
  if (isMoved) return { to, loadedRows, sentRows, lastEntry, moment };
  throw new RowsyncError('originDown', 'sink.busy', {
    message: 'Something else moved the cursor of the sink while rows were sent; nothing of them was stored',
    hint: 'One replica may write to a schema. rowsync looks again, and compares everything where it has to.',
  });
}

/** Stores the progress of the tables of a round; writes no line in most rounds, which advance all tables. */
async function storePlaces(
  { session, target }: CopyTarget,
  { ids, from, seq }: { readonly ids: readonly number[]; readonly from: number; readonly seq: number },
): Promise<void> {
  // A table that was left out falls behind the cursor, and catches up later.
  await session.query(
    sql`UPDATE ${target.tables} SET seq = $1 WHERE seq = ${LEVEL} AND NOT table_id = ANY ($2::bigint[])`,
    [from, ids],
  );
  await session.query(
    sql`UPDATE ${target.tables} SET seq = $1 WHERE table_id = ANY ($2::bigint[]) AND seq IS DISTINCT FROM $1`,
    [seq, ids],
  );
}

/** An error about one table concerns only that table; an error of the connection concerns all. */
async function guarded(tableId: number, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    throw thrown instanceof NamesChanged ? thrown : new TableFailure(tableId, pgError(thrown));
  }
}

interface TableChanges {
  readonly table: SentTable;
  readonly rows: readonly SourceRow[];
  readonly gone: readonly number[];
}

/** The next lines and their rows, the last entry of the history, and behind the last line the moment; in a snapshot. */
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
}

/** The moment that holds, and the tables that are there as they were then: none that has to be loaded. */
function readSentMoment(from: Connection, tables: readonly RoundTable[]): SentMoment | null {
  const held = readHeldMoment(from);
  if (held === null) return null;
  const tableChanges = readTableChanges(from);
  const isLoaded = ({ table, place: { loadedSeq } }: RoundTable): boolean =>
    loadedSeq !== null && (tableChanges.get(table.id) ?? -1) <= loadedSeq;
  const names = tables.filter(isLoaded).map(({ table }) => table.source.table.localName);
  return { at: held.at, tables: names.filter((name) => held.tables.includes(name)) };
}

/** Rows of one COPY; a second or so. */
const PART_ROWS = 50_000;
/** Rows read before other work has its turn. More would outlive a garbage collection, and make the heap grow. */
const BLOCK_ROWS = 200;

/** Loads a table whole, and returns its number of rows. Of one that is there, only rows that differ are written. */
async function loadTable(
  sending: CopyTarget,
  from: Connection,
  load: RoundTable & {
    readonly reading: <T>(read: () => T) => T;
    readonly onPart: () => void;
  },
): Promise<number> {
  const { session, target, deletes } = sending;
  const { table, isStanding, reading, onPart } = load;
  if (!isStanding) await makeTable(session, target, { table, deletes });
  const into = isStanding ? await freshTable(sending, table) : target.of(table.name);
  await listReplaced(sending, table, null, []);
  const read = blockReader(from, table.source);
  const done = { lastId: 0n, rowCount: 0, isAll: false };
  while (!done.isAll) {
    const replaced: ReplacedCell[] = [];
    const end = done.rowCount + PART_ROWS;
    const pieces = function* (): Iterable<string> {
      while (done.rowCount < end && !done.isAll) {
        const rows = reading(() => read(done.lastId, BLOCK_ROWS));
        done.lastId = rows.at(-1)?.[0] ?? done.lastId;
        done.rowCount += rows.length;
        done.isAll = rows.length < BLOCK_ROWS;
        yield copyRowsText(table, rows, replaced);
      }
    };
    await session.copy(sql`COPY ${into} (${joinSql(sentColumnNames(table))}) FROM STDIN`, pieces());
    if (replaced.length > 0) await listReplaced(sending, table, [], replaced);
    onPart();
  }
  if (isStanding) await makeEqual(sending, table, into);
  return done.rowCount;
}

async function storeLoad({ session, target }: CopyTarget, { id, name }: SentTable, seq: number): Promise<void> {
  await session.query(
    sql`INSERT INTO ${target.tables} (table_id, name, seq, whole) VALUES ($1, $2, $3, $3)
        ON CONFLICT (table_id) DO UPDATE SET name = excluded.name, seq = excluded.seq, whole = excluded.whole`,
    [id, name, seq],
  );
}
