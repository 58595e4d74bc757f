/**
 * What becomes of rows that left their page and were seen on no other one. Absence is never taken for a delete (I5). The origin
 * is asked for each of them by id, and only what it does not return is deleted, with the last values kept. A row that it does
 * return stays a suspect until it is seen on a page: if it went before that, no page would miss it. How many rows may be deleted
 * without a person is decided in reconcile/guards.ts.
 */
import { RowsyncError } from '../base/errors.ts';
import { stampFromMs } from '../base/clock.ts';
import { shellWord } from '../base/text.ts';
import { judgeDeletion, type DeletionVerdict } from '../reconcile/guards.ts';
import { identityOf, judgeIdentity } from '../reconcile/identity.ts';
import { baseTarget } from '../replica/compare.ts';
import { readIdentity, readTable, storeHold, storeIdentityChecked } from '../replica/ledger.ts';
import {
  clearSeenSuspects,
  countSuspects,
  readSuspects,
  storeUnreadable,
  suspectPushedRows,
} from '../replica/pages.ts';
import { readBatchTables } from '../replica/push-rows.ts';
import { readRowsById } from '../replica/rows.ts';
import type { PreparedTable, PullContext } from './context.ts';
import { writeInShape } from './describe.ts';
import { storeMissing, storeRows } from './store.ts';

/** Suspects looked up in one go; the origin client cuts them into requests. */
const BATCH_ROWS = 500;

/** What was done about the suspects of a table. */
export interface SuspectsOutcome {
  readonly deletedCount: number;
  /** The guard that keeps the deletes waiting, or null. */
  readonly held: RowsyncError | null;
}

/**
 * Settles the suspects of a table whose pages were all read; a person agreed to lose `consent` rows. Pages of a sweep that was resumed may be
 * older than rows that a push has made since, and these stand on none: it stops for nobody, as the next sweep judges better.
 * @throws RowsyncError of the origin or the replica.
 */
export async function settleSuspects(
  context: PullContext,
  table: PreparedTable,
  { consent, isResumed }: { readonly consent: number; readonly isResumed: boolean },
): Promise<SuspectsOutcome> {
  const { replica } = context;
  const { target, twoWay } = table;
  const { count, missingCount } =
    countSuspects(replica, target.id) === 0
      ? { count: 0, missingCount: 0 }
      : await replica.write(`Looking for the missing rows of ${target.localName}`, (tx) =>
          clearSeenSuspects(tx, twoWay === null ? target : baseTarget(target)),
        );
  const known = readTable(replica, target.id);
  const judge = (deletionCount: number): DeletionVerdict =>
    judgeDeletion({
      rowCount: known.rowCount,
      missingCount: deletionCount,
      maxDeletePercent: context.settings.maxDeletePercent,
      identityChanged: !known.identityChecked,
      confirmed: deletionCount <= consent,
    });
  const verdict = judge(missingCount);
  if (verdict.kind === 'hold' && isResumed) return { deletedCount: 0, held: null };
  if (verdict.kind === 'hold') {
    const held = holdError(table, { ...verdict, missingCount, rowCount: known.rowCount });
    if (known.heldCode === null) context.log.warn('guard.held', { table: target.localName, rowCount: missingCount });
    await replica.write(`Holding deletes of ${target.localName}`, (tx) => {
      storeHold(tx, target.id, held, stampFromMs(context.clock.nowMs()));
    });
    return { deletedCount: 0, held };
  }
  // Rows on a page that was read before they came under suspicion may be gone as well, and were judged by nobody.
  const mayGo = (deletionCount: number): boolean => deletionCount <= missingCount || judge(deletionCount).kind === 'go';
  const next = (after: number): readonly number[] => readSuspects(replica, target.id, after, BATCH_ROWS);
  const { deletedCount, isSettled } =
    count === 0 ? { deletedCount: 0, isSettled: true } : await lookUp(context, table, { next, mayGo });
  if (!isSettled || (known.heldCode === null && known.identityChecked)) return { deletedCount, held: null };
  await replica.write(`Settling the missing rows of ${target.localName}`, (tx) => {
    storeHold(tx, target.id, null, '');
    // Rows that were sent for the former caller may be hidden from this one, and come here only when their push is settled.
    if (missingCount > 0 || !readBatchTables(tx).includes(target.id)) storeIdentityChecked(tx, target.id);
  });
  return { deletedCount, held: null };
}

/**
 * Asks by id for rows that are said to be deleted, outside of a sweep; returns how many were. The pages that show them say so no more, so they come
 * under suspicion as well. Null where more may not go without a person: then a sweep has to look. @throws RowsyncError of the origin or the replica.
 */
export async function proveDeletes(
  context: PullContext,
  table: PreparedTable,
  ids: readonly number[],
): Promise<number | null> {
  const { replica, settings } = context;
  const { rowCount, identityChecked } = readTable(replica, table.target.id);
  const facts = {
    rowCount,
    maxDeletePercent: settings.maxDeletePercent,
    identityChanged: !identityChecked,
    confirmed: false,
  };
  const mayGo = (missingCount: number): boolean => judgeDeletion({ ...facts, missingCount }).kind === 'go';
  const ordered = ids.toSorted((a, b) => a - b);
  const next = (after: number): readonly number[] => ordered.filter((row) => row > after).slice(0, BATCH_ROWS);
  const { deletedCount, isSettled } = await lookUp(context, table, { next, mayGo, isOutsideOfSweep: true });
  return isSettled ? deletedCount : null;
}

/**
 * Asks for rows by id, block after block; returns how many rows were deleted, and whether all were that are gone. More than may go stay suspects: the page
 * that showed them is read anew by the next sweep, and what is missing then is held for a person.
 */
async function lookUp(
  context: PullContext,
  table: PreparedTable,
  {
    next,
    mayGo,
    isOutsideOfSweep = false,
  }: {
    /** The next rows above an id, in order; none at the end. */
    readonly next: (after: number) => readonly number[];
    readonly mayGo: (deletionCount: number) => boolean;
    readonly isOutsideOfSweep?: boolean;
  },
): Promise<{ readonly deletedCount: number; readonly isSettled: boolean }> {
  const { origin, replica } = context;
  const { target, address, selection, shapes, twoWay } = table;
  let deletedCount = 0;
  let goneCount = 0;
  let isSettled = true;
  let after = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const block = next(after);
    if (block.length === 0) return { deletedCount, isSettled }; // ends: every block lies above the last one
    after = block.at(-1) ?? after;
    const foreign = block.filter((id) => id < 1); // another client made them up; the origin would refuse the request
    if (foreign.length > 0) deletedCount += await deleteForeign(context, table, foreign);
    const askable = block.filter((id) => id > 0);
    for (const ids of origin.idBatches(askable, selection.columns)) {
      const request = { table: address, columns: shapes, names: selection.columns, ids };
      const answer = await origin.retrieve(request, { signal: context.signal });
      if (answer.kind === 'notModified') continue; // cannot be: no ETag was sent
      const { value } = answer;
      const present = new Set(value.ids);
      const missing = ids.filter((id) => !present.has(id));
      if (missing.length > 0) await requireSameCaller(context);
      goneCount += readRowsById(replica, twoWay === null ? target : baseTarget(target), missing).length;
      const gone = mayGo(goneCount) ? missing : [];
      isSettled &&= gone === missing;
      const what = `Deleting rows of ${target.localName}`;
      deletedCount += await writeInShape(context, table, { what, answer: value }, (tx) => {
        const at = stampFromMs(context.clock.nowMs());
        storeRows(tx, table, value.rows, at);
        storeUnreadable(tx, target.id, value, at);
        const removedCount = storeMissing(tx, table, gone, { reason: 'the origin does not return the row', at });
        if (isOutsideOfSweep) suspectPushedRows(tx, target.id, ids);
        return removedCount;
      });
    }
  }
}

/**
 * Asks again who is calling, after an answer without some rows. Whoever lost rights in the middle of a pull sees less, and
 * nothing is deleted for that (I5). @throws RowsyncError `origin.moving`. The next pull finds out, and lets a person decide.
 */
async function requireSameCaller({ origin, replica, signal }: PullContext): Promise<void> {
  const answer = await origin.user({ signal });
  const isSame =
    answer.kind === 'ok' && judgeIdentity(readIdentity(replica), identityOf(origin, answer.value)) === 'same';
  if (isSame) return;
  throw new RowsyncError('originDown', 'origin.moving', {
    message: 'The calling user, its role, permissions or time zone changed while rows were read; none was deleted',
    hint: 'The next run reads the tables as the present user sees them, and deletes wait for a person.',
  });
}

/** Deletes rows whose ids no origin gives, with evidence like any other; returns how many. */
async function deleteForeign(context: PullContext, table: PreparedTable, ids: readonly number[]): Promise<number> {
  const why = { reason: 'the origin gives no such id', at: stampFromMs(context.clock.nowMs()) };
  return context.replica.write(`Deleting rows of ${table.target.localName}`, (tx) => storeMissing(tx, table, ids, why));
}

function holdError(
  table: PreparedTable,
  facts: { reason: 'empty' | 'share' | 'identity'; percent: number; missingCount: number; rowCount: number },
): RowsyncError {
  const { localName } = table.target;
  const share = `${facts.missingCount} of ${facts.rowCount} rows (${Math.floor(facts.percent)} %)`;
  const what = {
    empty: `the origin returns none of the ${facts.rowCount} rows any more`,
    share: `the origin no longer returns ${share}`,
    identity: `the calling user, role or time zone changed, and the origin no longer returns ${share}`,
  }[facts.reason];
  return new RowsyncError('needsPerson', 'guard.deletes', {
    message: `${localName}: ${what}; nothing was deleted here`,
    hint: `Look at the table at the origin. If the rows are really gone: rowsync pull ${shellWord(localName)} --confirm`,
  });
}
