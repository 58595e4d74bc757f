/**
 * Compares the replica with the origin, cell by cell, without trusting any ETag. People work meanwhile, so rows that
 * differ are checked again: the table is pulled, and the rows are requested by id. A row that still differs although
 * the origin reports no change is a mismatch. For a two-way table the base is compared, so a pending edit does not
 * count as a mismatch. Nor does a row whose delete a guard holds; such rows are reported as held. Nothing is repaired
 * here; `resync` does that. Rows that cannot be read are listed apart: they cannot be equal.
 */
import { must } from '../../base/assert.ts';
import { stampFromMs } from '../../base/clock.ts';
import { RowsyncError } from '../../base/errors.ts';
import { isTampered } from '../../capture/sync-mode.ts';
import { confirmedRows } from '../../capture/writer/store-origin-rows.ts';
import { readTable, readTables } from '../../replica/bookkeeping/tables.ts';
import { readSuspects } from '../../replica/bookkeeping/suspects.ts';
import { errorFromReading } from '../../replica/sqlite-errors.ts';
import { readMeasured, readRowsById, type RowTarget } from '../../replica/rows.ts';
import type { Row, UnreadableRow, Value } from '../../wire/schema.ts';
import type { PreparedTable, PullContext } from '../../pull/context.ts';
import { applySchema } from '../../pull/apply-schema.ts';
import { NO_PERMISSION } from '../../pull/column-selection.ts';
import { PageCursor, samePageError } from '../../pull/page-cursor.ts';
import { findRows } from '../../pull/rows-by-id.ts';
import { sumOf } from '../../base/sum.ts';
import { runPool } from '../../base/concurrency.ts';
import { plural, shellWord } from '../../base/text.ts';
import { pull } from '../../pull/pull.ts';
import { sql } from '../../base/sql.ts';
import type { Connection } from '../../replica/connection.ts';
import { findHistory } from '../../replica/bookkeeping/history.ts';
import { blocksAbove, queryNumber, queryRows } from '../../replica/query.ts';
import { pageSkip } from '../../reconcile/windows.ts';
import { describeTable } from '../../pull/table-description.ts';
import { shrinkPages } from '../../pull/windows.ts';
import type { TablePullReport } from '../../pull/report.ts';
import { storeDifferences, type ComparedTable } from './differences.ts';

/** Looks at rows that seem to differ; each one pulls the table first. */
const ROUNDS_MAX = 3;
/** Ids read from the replica at a time. */
const BLOCK_ROWS = 5_000;
/** Mismatches listed per table; all are counted. */
const LISTED_MAX = 100;

/** No origin gives it. */
const UNKNOWN_ETAG = '"rowsync-verify"';

/** A row that differs although the origin says nothing changed, or that cannot be read. */
export interface Mismatch {
  readonly rowId: number;
  readonly problem: 'differs' | 'missing here' | 'not at the origin' | 'outside of the filter' | 'cannot be read';
  /** The columns that differ, as named in the replica; empty for whole rows. */
  readonly columns: readonly string[];
  /** Why it cannot be read. */
  readonly reason?: string | undefined;
}

export interface TableVerifyReport {
  readonly table: string;
  /** Rows that the pull before the comparison changed here: new, changed, deleted, and those that left the filter. */
  readonly pulled: Readonly<Record<'inserted' | 'updated' | 'deleted' | 'filtered', number>>;
  /** Rows of the origin that were compared. */
  readonly comparedCount: number;
  /** Rows that differed at first and were only newer. */
  readonly changedMeanwhileCount: number;
  readonly mismatchCount: number;
  /** Rows that the pull put back in a mirror without guards: another program had most likely changed them. */
  readonly putBackCount: number;
  /** Rows with edits that the origin does not have, which are not compared. */
  readonly editedCount: number;
  /** The first of those that differ. */
  readonly mismatches: readonly Mismatch[];
  /** Rows with a value that cannot be read, and the first of them. */
  readonly unreadableCount: number;
  readonly unreadable: readonly Mismatch[];
  /** Whether something on the way answers "not modified" whatever the ETag is. */
  readonly isAlwaysUnmodified: boolean;
  /** The guard that keeps rows here that the origin does not return, or null. */
  readonly held: RowsyncError | null;
  readonly error: RowsyncError | null;
}

/** What the comparison itself finds. */
type ComparedRows = Omit<TableVerifyReport, 'pulled' | 'putBackCount' | 'editedCount'>;

const EDITED = sql`SELECT count(*) FROM _rowsync_rows WHERE table_id = (SELECT id FROM _rowsync_tables WHERE local_name = ?)`;

export interface VerifyReport {
  readonly tables: readonly TableVerifyReport[];
  readonly requestCount: number;
  readonly durationMs: number;
  /** Why nothing, or not everything, could be compared. */
  readonly error: RowsyncError | null;
}

/** Pulls, then compares every cell of the named tables (empty for all). @throws RowsyncError of the replica. */
export async function verify(
  context: PullContext,
  options: { readonly tables: readonly string[] },
): Promise<VerifyReport> {
  const startedMs = context.clock.monotonicMs();
  const startedCount = context.origin.counters().requestCount;
  const { replica } = context;
  // The pull makes their guards again, and mends their rows, before anything is compared.
  const unguarded = readTables(replica).filter(
    ({ id, push, state }) => push !== 'on' && state === 'steady' && isTampered(replica, id),
  );
  const pullReport = await pull(context, { tables: options.tables, confirm: false });
  const tables: TableVerifyReport[] = [];
  for (const report of pullReport.tables) {
    const { table, error, held } = report;
    // A table held over its name is not compared: a person first decides which rows and columns belong here.
    const stop = held?.code === 'guard.names' ? held : error;
    const verified = stop === null ? await verifyTable(context, table) : unverified(table, stop);
    const isUnguarded = unguarded.some(({ localName }) => localName === table);
    const editedCount = queryNumber(replica, EDITED, [table]);
    const pulled = pulledOf(report);
    const putBackCount = isUnguarded ? sumOf(Object.values(pulled), (count) => count) : 0;
    tables.push({ ...verified, pulled, editedCount, putBackCount });
  }
  const compared = tables.flatMap((report): ComparedTable[] => {
    const { table, error, mismatches } = report;
    const isCompared = error === null || error.code === 'verify.history';
    return isCompared ? [{ table, difference: mismatchOf(report), isUnpaged: mismatches.some(isUnpaged) }] : [];
  });
  await storeDifferences(replica, compared, stampFromMs(context.clock.nowMs()));
  return {
    tables,
    requestCount: context.origin.counters().requestCount - startedCount,
    durationMs: context.clock.monotonicMs() - startedMs,
    error: pullReport.error,
  };
}

/** Everything that prevents the result "equal". */
export function verifyFailures(report: VerifyReport): readonly RowsyncError[] {
  const ofTable = (table: TableVerifyReport): readonly (RowsyncError | null)[] => [
    table.error,
    mismatchOf(table),
    putBackOf(table),
    unreadableOf(table),
    table.held,
  ];
  return [report.error, ...report.tables.flatMap(ofTable)].filter((error) => error !== null);
}

/** Rows that differ, else those that differed before, else those that cannot be read, as an error; null for none. */
export function differenceOf(table: TableVerifyReport): RowsyncError | null {
  return mismatchOf(table) ?? putBackOf(table) ?? unreadableOf(table);
}

function pulledOf(report: TablePullReport): TableVerifyReport['pulled'] {
  const { insertedCount, updatedCount, deletedCount, filteredCount } = report;
  return { inserted: insertedCount, updated: updatedCount, deleted: deletedCount, filtered: filteredCount };
}

/** Whether a row is here that the origin did not list. */
function isUnpaged({ problem }: Mismatch): boolean {
  return problem === 'not at the origin' || problem === 'outside of the filter';
}

/** The error with the number of rows that the pull put back, since guards were missing; null for none. */
function putBackOf({ table, putBackCount }: TableVerifyReport): RowsyncError | null {
  if (putBackCount === 0) return null;
  const rows = putBackCount === 1 ? '1 row was' : `${putBackCount} rows were`;
  return new RowsyncError('replica', 'verify.mismatch', {
    message: `${table}: ${rows} restored to the values of the origin. The guards of the table were missing: either another program changed the rows here, or they changed at the origin since the last pull`,
    hint: 'Find the program that removed triggers of the table in this file, and whatever read these rows meanwhile. The guards are back; nothing else needs to be done.',
  });
}

/** The error with the number of rows that differ; null for none. */
function mismatchOf({ table, mismatchCount, isAlwaysUnmodified }: TableVerifyReport): RowsyncError | null {
  if (mismatchCount === 0) return null;
  const rows = mismatchCount === 1 ? '1 row differs' : `${mismatchCount} rows differ`;
  const mend = `rowsync resync ${shellWord(table)} && rowsync pull ${shellWord(table)}`;
  if (isAlwaysUnmodified) {
    return new RowsyncError('replica', 'verify.notModified', {
      message: `${table}: ${rows} from the origin: something on the way answers "not modified" (304) even to an ETag that the origin never gave`,
      hint: `Let the proxy or cache pass If-None-Match and every answer of the origin unchanged; then run ${mend}`,
    });
  }
  return new RowsyncError('replica', 'verify.mismatch', {
    message: `${table}: ${rows} from the origin although nothing changed meanwhile`,
    hint: `To repair the table, stop the daemon if one runs, then run ${mend}. Either another program wrote to the file past its guards, or a cache between here and the origin keeps old answers. If you can rule out both, report this.`,
  });
}

/** The error with the number of rows that cannot be read; null for none. */
function unreadableOf({ table, unreadableCount }: TableVerifyReport): RowsyncError | null {
  if (unreadableCount === 0) return null;
  return new RowsyncError('replica', 'verify.unreadable', {
    message: `${table}: ${plural(unreadableCount, 'row')} cannot be read, and may be missing or older here`,
    hint: 'Correct the values at the origin, then run rowsync pull. rowsync failures names the row, the column and the reason.',
  });
}

function unverified(table: string, error: RowsyncError): ComparedRows {
  const none = { comparedCount: 0, changedMeanwhileCount: 0, mismatchCount: 0, unreadableCount: 0 };
  return { table, ...none, mismatches: [], unreadable: [], isAlwaysUnmodified: false, held: null, error };
}

async function verifyTable(context: PullContext, name: string): Promise<ComparedRows> {
  try {
    const { table, ...seen } = await compareFitting(context, name);
    const first = seen.differing;
    const { mismatches, unreadable, heldCount, held } = await lookAgain(context, table, first);
    return {
      table: name,
      comparedCount: seen.comparedCount - unreadable.length,
      changedMeanwhileCount: first.length - mismatches.length - unreadable.length - heldCount,
      mismatchCount: mismatches.length,
      mismatches: mismatches.slice(0, LISTED_MAX),
      unreadableCount: unreadable.length,
      unreadable: unreadable.slice(0, LISTED_MAX),
      isAlwaysUnmodified: mismatches.length > 0 && (await confirmsUnknownEtag(context, table)),
      held,
      error: brokenError(context, table.target),
    };
  } catch (thrown) {
    return unverified(name, errorFromReading(thrown, context.replica.path));
  }
}

async function confirmsUnknownEtag({ origin, signal }: PullContext, { address }: PreparedTable): Promise<boolean> {
  const request = { table: address, columns: [], query: { columns: [], sort: [], top: 1 } };
  return (await origin.select(request, { etag: UNKNOWN_ETAG, signal })).kind === 'notModified';
}

/** The error about contradictions in the history of a table; null without any, or without a history. */
function brokenError({ replica }: PullContext, { id, localName }: RowTarget): RowsyncError | null {
  const links = findBrokenLinks(replica, id);
  const [first] = links;
  if (first === undefined) return null;
  return new RowsyncError('replica', 'verify.history', {
    message: `${localName}: sync_history contradicts itself in ${plural(links.length, 'place')}: an entry does not begin where the one before ended; the first is ${first.id}, of row ${first.rowId}`,
    hint: `Another program may have written to the history, or changed rows past the guards; the rows of the table are not in doubt. To begin the history anew, stop the daemon if one runs, then run rowsync history restart ${shellWord(localName)} && rowsync pull ${shellWord(localName)}. Earlier entries stay readable, but are no longer checked.`,
  });
}

async function compareFitting(
  context: PullContext,
  name: string,
): Promise<Compared & { readonly table: PreparedTable }> {
  for (;;) {
    const table = await prepareForReading(context, name);
    try {
      return { ...(await compareAll(context, table)), table };
    } catch (thrown) {
      if (!(await shrinkPages({ context, table }, thrown))) throw thrown; // ends: each round halves the pages
    }
  }
}

/** A table that was pulled, ready to be read again; `name` is the replica's. @throws RowsyncError of the origin. */
export async function prepareForReading(context: PullContext, name: string): Promise<PreparedTable> {
  const table = must(
    readTables(context.replica).find(({ localName }) => localName === name),
    'a table that was just pulled is in the bookkeeping',
  );
  const descriptor = await describeTable(context, { id: table.id, recordName: table.name, alias: table.alias });
  const options = context.settings.tableOptions(table.name) ?? { sort: null };
  return applySchema(context, descriptor, { ...options, permission: NO_PERMISSION });
}

interface Compared {
  readonly comparedCount: number;
  readonly differing: readonly number[];
}

/** Reads every page without an ETag; returns ids of rows that differ, are missing on one side, or cannot be read. */
async function compareAll(context: PullContext, table: PreparedTable): Promise<Compared> {
  const { concurrency } = context.settings;
  const { pageRows } = table;
  // Without windows, to see rows that windows hide. The rows here fill at least this many pages.
  const { rowCount } = readTable(context.replica, table.target.id);
  const known = Array.from({ length: Math.ceil(rowCount / (pageRows - 1)) }, (_, page) => page);
  const cursor = new PageCursor({ known, firstFresh: known.length, ahead: concurrency });
  const returned = new Set<number>();
  const differing = new Set<number>();
  context.onProgress?.({ kind: 'tableStart', table: table.target.localName });
  await runPool(
    () => cursor.next(),
    concurrency,
    async (page) => {
      const sort = table.selection.sort.map((column) => ({ column }));
      const query = { columns: table.selection.columns, sort, top: pageRows, skip: pageSkip(page, pageRows) };
      const request = { table: table.address, columns: table.shapes, query };
      const { ids, rows, unreadable } = (await context.origin.select(request, { signal: context.signal })).value;
      for (const id of ids) returned.add(id);
      for (const { id } of unreadable) differing.add(id);
      for (const { rowId } of compare(context, table, rows)) differing.add(rowId);
      cursor.answered(page, ids.length < pageRows, ids[0] ?? null);
      const ownRowCount = Math.max(0, ids.length - (page === 0 ? 0 : 1)); // pages share a row
      context.onProgress?.({ kind: 'page', table: table.target.localName, rowCount: ownRowCount });
    },
  );
  if (cursor.isRepeating) throw samePageError(table.address.name);
  const here = blocksAbove(
    (after) => readMeasured(context.replica, confirmedRows(table), { columns: [], after, count: BLOCK_ROWS }),
    ([id]) => id,
  );
  for (const rows of here) for (const [id] of rows) if (!returned.has(id)) differing.add(id);
  return { comparedCount: returned.size, differing: [...differing] };
}

function compare(context: PullContext, table: PreparedTable, rows: readonly Row[]): readonly Mismatch[] {
  const { target } = table;
  const ids = rows.map(({ id }) => id);
  const localById = readRowsById(context.replica, confirmedRows(table), ids);
  return rows.flatMap((row): Mismatch[] => {
    const local = localById.get(row.id);
    if (local === undefined) return [{ rowId: row.id, problem: 'missing here', columns: [] }];
    const changed = changedIndexes(row.values, local.values).map((index) => target.columns[index]?.localName ?? '');
    const columns = row.allow === local.allow ? changed : [...changed, '_allow'];
    return columns.length === 0 ? [] : [{ rowId: row.id, problem: 'differs', columns }];
  });
}

interface SecondCheck {
  readonly mismatches: readonly Mismatch[];
  /** Rows that cannot be read; they are not checked again. */
  readonly unreadable: readonly Mismatch[];
  /** Rows that the origin does not return, and whose delete waits for a person. */
  readonly heldCount: number;
  readonly held: RowsyncError | null;
}

/** Pulls and compares the rows in question until none differs, or no round is left. */
async function lookAgain(context: PullContext, table: PreparedTable, first: readonly number[]): Promise<SecondCheck> {
  let result: SecondCheck = { mismatches: [], unreadable: [], heldCount: 0, held: null };
  let ids = first;
  for (let round = 1; ids.length > 0 && round <= ROUNDS_MAX; round += 1) {
    const { tables } = await pull(
      { ...context, onProgress: undefined },
      { tables: [table.target.localName], confirm: false },
    );
    const failed = tables.find(({ error }) => error !== null)?.error;
    if (failed) throw failed;
    const held = tables.find((report) => report.held !== null)?.held ?? null;
    const found = await compareById(context, table, ids);
    const remaining = withoutWaiting(context, table, found, held !== null);
    const heldCount = result.heldCount + found.length - remaining.length;
    const mismatches = remaining.filter(({ problem }) => problem !== 'cannot be read');
    const unreadable = [...result.unreadable, ...remaining.filter(({ problem }) => problem === 'cannot be read')];
    result = { mismatches, unreadable, heldCount, held };
    ids = mismatches.map(({ rowId }) => rowId);
  }
  return result;
}

/** Without rows that wait here for a person, or, outside of the filter, for an edit to be settled. */
function withoutWaiting(
  { replica }: PullContext,
  { target }: PreparedTable,
  mismatches: readonly Mismatch[],
  isHeld: boolean,
): readonly Mismatch[] {
  const mayWait = ({ problem }: Mismatch): boolean =>
    problem === 'outside of the filter' || (problem === 'not at the origin' && isHeld);
  const suspects = new Set(readSuspects(replica, target.id, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER));
  return mismatches.filter((mismatch) => !mayWait(mismatch) || !suspects.has(mismatch.rowId));
}

async function compareById(
  context: PullContext,
  table: PreparedTable,
  ids: readonly number[],
): Promise<readonly Mismatch[]> {
  const { replica } = context;
  const mismatches: Mismatch[] = [];
  for await (const { page, outside, gone } of findRows({ context, table }, ids)) {
    mismatches.push(...compare(context, table, page.rows), ...unreadableAmong(table, page.unreadable));
    const left = (problem: Mismatch['problem'], rows: readonly number[]): readonly Mismatch[] =>
      [...readRowsById(replica, confirmedRows(table), rows).keys()].map((rowId) => ({ rowId, problem, columns: [] }));
    mismatches.push(...left('not at the origin', gone), ...left('outside of the filter', outside));
  }
  return mismatches;
}

function unreadableAmong({ target, shapes }: PreparedTable, rows: readonly UnreadableRow[]): readonly Mismatch[] {
  return rows.map(({ id, column, reason }) => {
    const index = shapes.findIndex(({ name }) => name === column);
    return { rowId: id, problem: 'cannot be read', columns: [target.columns[index]?.localName ?? column], reason };
  });
}

/** A place where an entry does not begin with the values that the entry before it ended with. */
interface BrokenLink {
  readonly rowId: number;
  /** The entry, as in `sync_history`. */
  readonly id: number;
}

/** Entries with a cell that does not begin with the value before; a cell that an entry leaves out is empty. */
const BROKEN_CELLS = sql`
  SELECT row_id, seq FROM (
    SELECT h.row_id, h.seq, c.value -> '$[1]' AS before,
           lag(c.value -> '$[2]') OVER (PARTITION BY h.row_id, c.value ->> 0 ORDER BY h.seq) AS led_to
    FROM entries h, json_each(h.cells) c)
  WHERE led_to IS NOT NULL AND led_to <> before`;

/** Inserts of a row that was there, and updates or deletes of one that was not. */
const BROKEN_LIVES = sql`
  SELECT row_id, seq FROM (
    SELECT row_id, seq, kind, lag(kind) OVER (PARTITION BY row_id ORDER BY seq) AS former
    FROM entries)
  WHERE former IS NOT NULL AND (kind = 'insert') <> (former = 'delete')`;

/** The broken places in the history of a table; none where it has no history. */
export function findBrokenLinks(from: Connection, tableId: number): readonly BrokenLink[] {
  const begunSeq = findHistory(from, tableId)?.begunSeq ?? null;
  if (begunSeq === null) return [];
  const text = sql`WITH entries AS (SELECT seq, row_id, kind, cells FROM _rowsync_history
        WHERE table_id = ? AND seq > ? AND kind IN ('insert', 'update', 'delete'))
      SELECT DISTINCT row_id, seq FROM (${BROKEN_CELLS} UNION ALL ${BROKEN_LIVES}) ORDER BY seq`;
  return queryRows(from, text, [tableId, begunSeq]).map(([rowId, id]) => ({ rowId: Number(rowId), id: Number(id) }));
}

/** Indexes of the values that differ; both rows have the same columns in the same order. */
export function changedIndexes(one: readonly Value[], other: readonly Value[]): readonly number[] {
  return one.flatMap((value, index) => (value === other[index] ? [] : [index]));
}
