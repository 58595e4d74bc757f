/**
 * Settles rows that left their page and were seen on no other one. Absence is never taken for a delete (I5). The origin
 * is asked for each row by id. Only rows that it does not return are deleted, with their last values kept. A returned
 * row stays a suspect until a page shows it: if it were deleted before that, no page would miss it. The guards
 * (reconcile/guards.ts) decide how many rows may be deleted without a person.
 */
import { RowsyncError } from '../base/errors.ts';
import {
  confirmedRows,
  storeAnswer,
  storeMissingRows,
  storeOutside,
  storeRemoteRows,
} from '../capture/writer/store-origin-rows.ts';
import { stampFromMs } from '../base/clock.ts';
import { shellWord } from '../base/text.ts';
import { isNarrowed, judgeDeletion, type DeletionFacts, type DeletionHold, identityOf } from '../reconcile/guards.ts';
import { isOtherCaller } from '../replica/bookkeeping/identity.ts';
import { readTable, storeFacts } from '../replica/bookkeeping/tables.ts';
import { storeHold } from '../replica/bookkeeping/table-errors.ts';
import type { Tx } from '../replica/connection.ts';
import { clearSeenSuspects } from '../replica/bookkeeping/pages.ts';
import { hasSuspects, readSuspects } from '../replica/bookkeeping/suspects.ts';
import { readBatchTables } from '../replica/bookkeeping/batches.ts';
import { blocks, blocksAbove } from '../replica/query.ts';
import { readRowsById, type RowChanges } from '../replica/rows.ts';
import type { PreparedTable, PullContext, TablePull, TableReading } from './context.ts';
import { requireShapeOf } from './table-description.ts';
import { findRows } from './rows-by-id.ts';

/** Suspects looked up in one go; the origin client cuts them into requests. */
const BATCH_ROWS = 500;

/** The share of a table that may leave its filter without a person: rows leave by ordinary edits at the origin. */
const PERCENT_MAX = 100;

/** Rows outside of a new filter that are requested for an exact count; if there are more, rows on no page count. */
const FIRST_LOOKUPS_MAX = 5_000;

/** Settles suspects once all pages were read, or says why they wait. A resumed sweep has old pages, and never asks. */
export async function settleSuspects(
  run: TablePull,
  { confirmedCount, isResumed }: { readonly confirmedCount: number; readonly isResumed: boolean },
): Promise<RowsyncError | null> {
  const { context, table } = run;
  const { id, localName } = table.target;
  const filter = table.address.rows ?? null;
  const next = (after: number): readonly number[] => readSuspects(context.replica, id, after, BATCH_ROWS);
  let settling = await judgeSuspects(run, { confirmedCount, stayingCount: 0 });
  if (filter !== null && isRequestedFirst(settling)) {
    // The question about deletes must not count rows that only left the filter, and vice versa.
    const { stayingCount } = await lookUp(run, { next, ...settling });
    settling = await judgeSuspects(run, { confirmedCount, stayingCount });
  }
  const { hold, known, missingCount } = settling;
  if (hold !== null) {
    if (isResumed) return null;
    const held = holdError(table, { hold, missingCount, rowCount: known.rowCount });
    if (!known.isHeld) context.log.warn('guard.held', { table: localName, rowCount: missingCount });
    await context.replica.write(`Holding deletes of ${localName}`, (tx) => {
      storeHold(tx, id, held, stampFromMs(context.clock.nowMs()));
    });
    return held;
  }
  const { isSettled } = await lookUp(run, { next, ...settling });
  const isKnown = !known.isHeld && !known.identityChanged && !known.isOtherFilter;
  if (!isSettled || isKnown) return null;
  await context.replica.write(`Settling the missing rows of ${localName}`, (tx) => {
    storeHold(tx, id, null, '');
    storeFacts(tx, id, { rows_filter: filter });
    // Rows sent for the former caller may be hidden from this one. They come here only when their push is settled.
    if (missingCount > 0 || !readBatchTables(tx).includes(id)) storeFacts(tx, id, { identity_checked: 1 });
  });
  return null;
}

/** Whether rows are requested before the question to a person: once, unless it would take long. */
function isRequestedFirst({ hold, known, missingCount }: Settling): boolean {
  if (hold === 'share') return true;
  return hold === 'narrowed' && !known.isHeld && missingCount <= FIRST_LOOKUPS_MAX;
}

interface Settling extends ReturnType<typeof guardOf> {
  /** Suspects that are here, and on no page. */
  readonly missingCount: number;
  /** Why they wait for a person; null if they may all go. */
  readonly hold: DeletionHold | null;
}

/** Judges suspects that were not seen since; `stayingCount` of them stay for an edit. */
async function judgeSuspects(
  reading: TableReading,
  { confirmedCount, stayingCount }: { readonly confirmedCount: number; readonly stayingCount: number },
): Promise<Settling> {
  const { replica } = reading.context;
  const { target } = reading.table;
  const leftCount = hasSuspects(replica, target.id)
    ? await replica.write(`Looking for the missing rows of ${target.localName}`, (tx) =>
        clearSeenSuspects(tx, confirmedRows(reading.table)),
      )
    : 0;
  const missingCount = Math.max(0, leftCount - stayingCount);
  const guard = guardOf(reading, confirmedCount);
  return { ...guard, missingCount, hold: guard.judge(missingCount) };
}

/** The guard of a table; a person agreed to lose `confirmedCount` rows. */
function guardOf({ context, table }: TableReading, confirmedCount: number) {
  const { maxDeletePercent } = context.settings;
  const filter = table.address.rows ?? null;
  const { rowCount, heldCode, identityChecked, rowsFilter, sweptAt } = readTable(context.replica, table.target.id);
  const known = {
    rowCount,
    isHeld: heldCode !== null,
    identityChanged: !identityChecked,
    isOtherFilter: rowsFilter !== filter,
    isNarrowed: isNarrowed({ filter, settledBy: rowsFilter, wasRead: sweptAt !== null }),
  };
  const judge = (missingCount: number, rules: Partial<DeletionFacts> = {}): DeletionHold | null =>
    judgeDeletion({ ...known, maxDeletePercent, missingCount, confirmed: missingCount <= confirmedCount, ...rules });
  return {
    known,
    judge,
    // Suspects on a page that was read before they became suspects may be gone too, and so outnumber the missing.
    mayGo: (gone: number) => judge(gone, { isNarrowed: false }) === null,
    mayLeave: (leaving: number) => judge(leaving, { maxDeletePercent: PERCENT_MAX }) === null,
  };
}

/** Whether so many rows may not be deleted without a person. */
export function isMassDelete(reading: TableReading, missingCount: number): boolean {
  return guardOf(reading, 0).judge(missingCount) !== null;
}

/** Asks for rows by id outside of a sweep, and deletes those that are gone; false if a person must decide. */
export async function proveDeletes(run: TablePull, ids: readonly number[]): Promise<boolean> {
  const ordered = ids.toSorted((a, b) => a - b);
  const { isSettled } = await lookUp(run, {
    next: (after) => ordered.filter((row) => row > after).slice(0, BATCH_ROWS),
    ...guardOf(run, 0),
    isOutsideOfSweep: true,
  });
  return isSettled;
}

/** Asks for all rows by id, then removes those gone and those outside; if there are too many, they stay suspects. */
async function lookUp(
  run: TablePull,
  order: {
    /** The next rows above an id, in order; none at the end. */
    readonly next: (after: number) => readonly number[];
    readonly mayGo: (deletionCount: number) => boolean;
    readonly mayLeave: (leavingCount: number) => boolean;
    readonly isOutsideOfSweep?: boolean;
  },
): Promise<{ readonly stayingCount: number; readonly isSettled: boolean }> {
  const { context, table, counts } = run;
  const { replica, signal } = context;
  const { localName } = table.target;
  const now = (): string => stampFromMs(context.clock.nowMs());
  const offPageOf = (ids: readonly number[]): readonly number[] => (order.isOutsideOfSweep === true ? ids : []);
  const gone: number[] = [];
  const outside: number[] = [];
  for (const block of blocksAbove(order.next, (id) => id)) {
    for await (const { ids, page, ...found } of findRows(run, block)) {
      gone.push(...found.gone);
      outside.push(...found.outside);
      await requireShapeOf(run, page);
      const store = (tx: Tx): RowChanges => storeAnswer(tx, table, page, { at: now(), offPage: offPageOf(ids) });
      await replica.write(`Storing rows of ${localName}`, store, signal);
    }
  }
  if (gone.length + outside.length > 0) await requireSameCaller(context);
  const countHere = (ids: readonly number[]): number =>
    [...blocks(ids)].reduce((sum, block) => sum + readRowsById(replica, confirmedRows(table), block).size, 0);
  const [goes, leaves] = [order.mayGo(countHere(gone)), order.mayLeave(countHere(outside))];
  const remove = async (
    count: 'deletedCount' | 'filteredCount',
    ids: readonly number[],
    store: (tx: Tx, block: readonly number[]) => number,
  ): Promise<void> => {
    for (const block of blocks(ids))
      counts[count] += await replica.write(
        `Deleting rows of ${localName}`,
        (tx) => {
          // The ETag of a page may vouch for them still.
          const removedCount = store(tx, block);
          storeRemoteRows(tx, table, [], { at: now(), offPage: offPageOf(block) });
          return removedCount;
        },
        signal,
      );
  };
  const reasonOf = (id: number): string =>
    id < 1 ? 'the origin gives no such id' : 'the origin does not return the row';
  for (const [reason, ids] of Map.groupBy(goes ? gone : [], reasonOf))
    await remove('deletedCount', ids, (tx, block) => storeMissingRows(tx, table, block, { reason, at: now() }));
  await remove('filteredCount', leaves ? outside : [], (tx, block) => storeOutside(tx, table, block, now()));
  // Those that an edit keeps here.
  return { stayingCount: leaves ? countHere(outside) : 0, isSettled: goes && leaves };
}

/** Asks who is calling: one that lost rights sees fewer rows, and none may be deleted for that (I5). */
async function requireSameCaller({ origin, replica, signal }: PullContext): Promise<void> {
  const { value: caller } = await origin.user({ signal });
  if (!isOtherCaller(replica, identityOf(origin, caller))) return;
  throw new RowsyncError('originDown', 'origin.moving', {
    message: 'The calling user, its role, permissions or time zone changed while rows were read; none was deleted',
    hint: 'The next run reads the tables as the present user sees them, and deletes wait for a person.',
  });
}

function holdError(
  table: PreparedTable,
  { hold, missingCount, rowCount }: { hold: DeletionHold; missingCount: number; rowCount: number },
): RowsyncError {
  const { localName } = table.target;
  const share = `${missingCount} of ${rowCount} rows (${Math.floor((missingCount * 100) / Math.max(1, rowCount))} %)`;
  if (hold === 'narrowed') {
    return new RowsyncError('needsPerson', 'guard.filter', {
      message: `${localName}: ${share} lie outside of the filter that the configuration now has (rows); they stay in the replica until a person confirms`,
      hint: `If they are to leave this replica: rowsync pull --confirm ${shellWord(localName)}. At the origin nothing changes.`,
    });
  }
  const what = {
    empty: `the origin no longer returns ${rowCount === 1 ? 'the only row' : `any of the ${rowCount} rows`}${table.address.rows == null ? '' : ' under the filter (rows)'}`,
    share: `the origin no longer returns ${share}`,
    identity: `the address, calling user, role or time zone changed, and the origin no longer returns ${share}`,
  }[hold];
  return new RowsyncError('needsPerson', 'guard.deletes', {
    message: `${localName}: ${what}; nothing was deleted here`,
    hint: `Check the table at the origin. If the rows are really gone: rowsync pull --confirm ${shellWord(localName)}`,
  });
}
