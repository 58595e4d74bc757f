/**
 * Asking the origin what became of the rows of a batch: those that it took are read back, and those whose answer got lost are looked up, by
 * id, by a unique value, or by all that was sent. Reads only; what follows from it is settled in one transaction (settle.ts).
 */
import { must } from '../base/assert.ts';
import { readAnsweredIds, type Batch, type BatchRow } from '../capture/batches.ts';
import { readRowStates } from '../capture/marks.ts';
import type { TwoWayTable } from '../capture/table.ts';
import { isSameValue } from '../reconcile/diff.ts';
import { adoptAsSent, adoptByValue, mayBeMade, type LostByValue } from '../reconcile/push-adopt.ts';
import { isInFlight } from '../reconcile/row-state.ts';
import { filesAsSent } from '../reconcile/uploads.ts';
import { baseTarget, readDifferingIds } from '../replica/compare.ts';
import type { Connection } from '../replica/connection.ts';
import { BLOCK_ROWS } from '../replica/query.ts';
import { readIds, readRowsById } from '../replica/rows.ts';
import type { Row, Value } from '../wire/schema.ts';
import type { TablePush } from './context.ts';
import { identify, requireSameCaller } from './identity.ts';
import {
  anchorOf,
  cellsBesideUnique,
  findAlike,
  findById,
  findByValue,
  isSameUser,
  type AlikeRows,
  type FoundRows,
} from './lookup.ts';
import { findFiles, type FileFindings } from './settle-files.ts';
import { requireShapeAsSent } from './shape.ts';

/** What the origin said of the rows of a batch afterwards. */
export interface Findings {
  readonly found: FoundRows;
  /** Rows with the unique value of a row whose answer got lost, by that row's id here. */
  readonly byValue: ReadonlyMap<number, Row>;
  /** Rows with all the values of a create that has no unique one, by its id here. */
  readonly alike: ReadonlyMap<number, readonly Row[]>;
  /** Rows that may be what a create made which is not found by its unique value, since they have all else of it, by its id here. */
  readonly likely: ReadonlyMap<number, readonly Row[]>;
  /** Creates that are not found by their unique value, and of which an answer does not have all rows that are like them. */
  readonly partial: ReadonlySet<number>;
  /** Rows whose answer got lost, and which may be there or not, because an answer about them could not be read whole. */
  readonly unclear: ReadonlySet<number>;
  /** Rows whose answer got lost, and by whose unique value the origin refuses to look for them. */
  readonly unaskable: ReadonlySet<number>;
  readonly files: FileFindings;
}

/**
 * Asks the origin what became of the rows of a batch; `isAtOnce`: right after its answer. @throws RowsyncError of the origin, or
 * `push.shape`.
 */
export async function readBack(run: TablePush, batch: Batch, when: { readonly isAtOnce: boolean }): Promise<Findings> {
  const { context, table } = run;
  await context.before?.('readBack', table.localName);
  const findings = await lookUp(run, batch, when);
  const { byId, unreadable } = findings.found;
  const isMissing = ({ id, kind, answer }: BatchRow): boolean =>
    id > 0 && !byId.has(id) && !unreadable.has(id) && !(kind === 'delete' && answer?.as === 'accepted');
  if (batch.rows.some(isMissing)) await requireSameCaller(run);
  // Who just asked decides whether a create that is not returned is sent again, or waits (#settleAbsent).
  if (batch.rows.some((row) => isAbsentCreate(row, findings))) await identify(context);
  await requireShapeAsSent(run, batch, byId);
  return findings;
}

/** Whether a row is new, had no answer, and was not found by its unique value or all that was sent. */
function isAbsentCreate({ id, kind, answer }: BatchRow, { byValue, alike, unclear }: Findings): boolean {
  const isFound = byValue.has(id) || unclear.has(id) || (alike.get(id)?.length ?? 0) > 0;
  return kind === 'insert' && answer === null && !isFound;
}

async function lookUp(run: TablePush, batch: Batch, { isAtOnce }: { readonly isAtOnce: boolean }): Promise<Findings> {
  const { rows, method } = batch;
  const ids = rows.flatMap(({ id, kind, answer }) => {
    const answered = answer?.id ?? null;
    const own = id > 0 && !(kind === 'delete' && answer?.as === 'accepted') ? [id] : [];
    return answered === null || kind === 'delete' || answered === id ? own : [...own, answered];
  });
  const lost = rows.filter(({ kind, answer }) => answer === null && (kind === 'insert' || method === 'upsert'));
  const found = await findById(run, [...new Set(ids)]);
  const byValue = new Map<number, Row>();
  const unclear = new Set<number>();
  const unaskable = new Set<number>();
  const unanchored: BatchRow[] = [];
  const anchored = new Map<number, { readonly row: BatchRow; readonly value: Value }[]>();
  for (const row of lost.filter(({ id }) => !found.byId.has(id))) {
    const anchor = anchorOf(run, row);
    if (anchor === null) unanchored.push(row);
    else anchored.set(anchor.column, [...(anchored.get(anchor.column) ?? []), { row, value: anchor.value }]);
  }
  for (const [column, asked] of anchored) {
    const values = asked.map(({ value }) => value);
    const { byKey, refused, unclear: unclearValues } = await findByValue(run, column, values);
    const candidates = [...byKey.values()].flat();
    const known = knownIds(run.context.replica, run.table, candidates);
    const isMatched = method === 'upsert' && column === run.planned.match;
    const edited = new Set(isMatched ? readDifferingIds(run.context.replica, run.table, [...known]) : []);
    const alike = lostByValue(run, asked, { column, byKey, isMatched });
    const adopted = adoptByValue(alike, { known, taken: takenIds(run, candidates), edited });
    for (const { row, value } of asked) {
      const own = adopted.get(row.id);
      if (own !== undefined) byValue.set(row.id, own);
      else if (refused.has(value)) unaskable.add(row.id);
      else if (unclearValues.has(value)) unclear.add(row.id);
    }
  }
  const creates = unanchored.flatMap(({ id, kind, cells }) => (kind === 'insert' ? [{ id, cells }] : []));
  const alike = await findAlike(run, creates);
  for (const id of alike.unclear) unclear.add(id);
  const files = await findFiles(run, batch, { found, byValue, alike: alike.byKey, isAtOnce });
  const absent = lost.filter(
    (row) =>
      row.kind === 'insert' &&
      !unanchored.includes(row) &&
      !byValue.has(row.id) &&
      !unclear.has(row.id) &&
      !unaskable.has(row.id),
  );
  const seen = readSeen(run, absent, byValue);
  for (const [id, row] of seen) byValue.set(id, row);
  const unseen = absent.filter(({ id }) => !byValue.has(id));
  const likely = await findLikely(run, { absent: unseen, byValue });
  for (const id of likely.unclear) unclear.add(id);
  return {
    found,
    byValue,
    alike: files.alike,
    likely: likely.byKey,
    partial: likely.partial,
    unclear,
    unaskable,
    files: { ...files, arrived: new Map([...files.arrived, ...filesOfSeen(absent, seen)]) },
  };
}

/** Lost rows with the rows that have their value in a column; `isMatched` is the one by which they were upserted. */
function lostByValue(
  { table }: TablePush,
  asked: readonly { readonly row: BatchRow; readonly value: Value }[],
  {
    column,
    byKey,
    isMatched,
  }: { readonly column: number; readonly byKey: ReadonlyMap<Value, readonly Row[]>; readonly isMatched: boolean },
): readonly LostByValue[] {
  const type = must(table.columns[column], 'a cell names a column of its table').type;
  return asked.map(({ row: { id, kind, newestKnown }, value }) => ({
    id,
    newestKnown,
    isMet: isMatched && kind === 'insert',
    found: (byKey.get(value) ?? []).map((row) => ({
      row,
      isExact: isSameValue(type, row.values[column] ?? null, value),
    })),
  }));
}

/**
 * Rows that a pull has brought in just as creates made them, by the creates' ids here. The origin does not return them by their unique value any
 * more, since somebody deleted or changed them there; the next pull settles that, as for any row.
 */
function readSeen(
  run: TablePush,
  absent: readonly BatchRow[],
  byValue: ReadonlyMap<number, Row>,
): ReadonlyMap<number, Row> {
  const { context, table } = run;
  const others = byValue
    .values()
    .map((row) => row.id)
    .toArray();
  const isOwn = ownRows(run);
  const base = baseTarget(table);
  const creates = absent.filter(({ newestKnown, hidden }) => newestKnown !== undefined && hidden === undefined);
  const seen = new Map<number, Row>();
  const firstId = Math.min(...creates.map(({ newestKnown = 0 }) => newestKnown));
  for (let after = firstId; seen.size < creates.length;) {
    const ids = readIds(context.replica, base, after, BLOCK_ROWS);
    const newest = ids.at(-1);
    if (newest === undefined) break;
    after = newest;
    const rows = readRowsById(context.replica, base, ids);
    const left = creates.filter(({ id }) => !seen.has(id));
    const taken = new Set([...takenIds(run, rows), ...others]);
    const found = adoptAsSent(left, rows.filter(isOwn), { taken, columns: table.columns });
    for (const [id, row] of found) seen.set(id, row);
  }
  return seen;
}

/** Columns whose files came in with such rows, by the creates' ids here. */
function filesOfSeen(
  creates: readonly BatchRow[],
  seen: ReadonlyMap<number, Row>,
): readonly (readonly [number, ReadonlySet<number>])[] {
  return creates.flatMap(({ id, cells }) => {
    const row = seen.get(id);
    return row === undefined ? [] : [[id, filesAsSent(cells, row)] as const];
  });
}

/** Tells rows that the calling user made, or may have made, from those that say that somebody else did. */
function ownRows({ makerColumn, email }: TablePush): (row: Row) => boolean {
  return ({ values }) => {
    const maker = makerColumn === null ? null : (values[makerColumn] ?? null);
    return maker === null || isSameUser(maker, email);
  };
}

/**
 * Looks once more for creates that are not found by their unique value: a workflow may give a new row another one, or somebody who saw it. Then the
 * origin would take the create a second time.
 */
async function findLikely(
  run: TablePush,
  { absent, byValue }: { readonly absent: readonly BatchRow[]; readonly byValue: ReadonlyMap<number, Row> },
): Promise<AlikeRows> {
  const creates = absent.map(({ id, cells, newestKnown }) => ({
    id,
    cells: cellsBesideUnique(run, cells),
    newestKnown,
  }));
  const { byKey, unclear, partial } = await findAlike(run, creates);
  const answered = readAnsweredIds(run.context.replica, run.table);
  const others = new Set([...answered, ...byValue.values().map((row) => row.id)]);
  const isOwn = ownRows(run);
  const likely = absent.map(({ id, newestKnown }) => {
    return [id, mayBeMade((byKey.get(id) ?? []).filter(isOwn), { newestKnown, others })] as const;
  });
  return { byKey: new Map(likely), unclear, partial };
}

/** The ids of those rows of the origin that the replica knows already. */
export function knownIds(from: Connection, table: TwoWayTable, rows: readonly Row[]): ReadonlySet<number> {
  const ids = [...new Set(rows.map(({ id }) => id))];
  return new Set(readRowsById(from, baseTarget(table), ids).map(({ id }) => id));
}

/** The ids of those rows of the origin that other changes are about which were sent. */
function takenIds({ context, table }: TablePush, rows: readonly Row[]): ReadonlySet<number> {
  const states = readRowStates(
    context.replica,
    table.id,
    rows.map(({ id }) => id),
  );
  const inFlight = [...states].flatMap(([id, state]) => (isInFlight(state) ? [id] : []));
  return new Set([...inFlight, ...readAnsweredIds(context.replica, table)]);
}
