/**
 * Comparing a large table with its base a step at a time, so that the event loop is not held up for as long as a million rows take.
 * Goes before `captureChanges`, which then has nothing left to compare; where a step cannot vouch for what it found (a trigger is
 * missing, or edits go unseen in any case), it leaves the work to that. Input: the replica. Output: marks.
 *
 * Invariant: `compare_due` is taken back only after every row was compared while our triggers stood: what is edited in a part
 * that was compared already is marked by them. A crash in between leaves it set, and the next process begins anew; so does whoever
 * comes next after another client changed the schema, for what stands now may not have stood all the while.
 */
import type { Clock } from '../base/clock.ts';
import { areMarksReliable, markDifferingIn, markForeign, readStepEnd } from '../replica/compare.ts';
import { readSchemaVersion, type Tx } from '../replica/connection.ts';
import type { Replica } from '../replica/database.ts';
import { readTable, storeCompareDue } from '../replica/ledger.ts';
import { hasBase, isSound } from '../replica/tables.ts';
import { isTampered } from './mode.ts';
import type { TwoWayTable } from './table.ts';

/** A million rows take a second and a half; these less than a tenth of one. */
const STEP_ROWS = 50_000;

/** Compares all rows of a large table where that is due, and a step can vouch for it. */
export async function compareInSteps(
  table: TwoWayTable,
  at: string,
  parts: {
    readonly replica: Replica;
    readonly clock: Clock;
    readonly signal?: AbortSignal | undefined;
    /** Rows of a step; tests take few. */
    readonly stepRows?: number;
  },
): Promise<void> {
  const { replica, clock, signal, stepRows = STEP_ROWS } = parts;
  if (!readTable(replica, table.id).compareDue || !hasBase(replica, table.id)) return;
  // What is one step is done where it is needed, and costs no transaction more.
  if (readStepEnd(replica, table, Number.MIN_SAFE_INTEGER, stepRows) === null) return;
  let above: number | null = Number.MIN_SAFE_INTEGER;
  const schemaVersion = readSchemaVersion(replica);
  // Ends: every step lies above the one before.
  for (;;) {
    const from: number = above;
    above = await replica.write(
      `Comparing ${table.localName} with its base`,
      (tx) => (readSchemaVersion(tx) === schemaVersion ? compareStep(tx, table, { above: from, stepRows, at }) : null),
      signal,
    );
    if (above === null) return;
    await clock.sleep(0, signal); // whoever waits for the event loop comes first
  }
}

/** One step; the last id that it compared, or null where nothing is left to do. */
function compareStep(
  tx: Tx,
  table: TwoWayTable,
  { above, stepRows, at }: { readonly above: number; readonly stepRows: number; readonly at: string },
): number | null {
  if (!readTable(tx, table.id).compareDue || isTampered(tx, table.id)) return null;
  if (!isSound(tx, table) || !areMarksReliable(tx, table)) return null;
  const upTo = readStepEnd(tx, table, above, stepRows);
  tx.countUncaptured(markDifferingIn(tx, table, { above, upTo: upTo ?? Number.MAX_SAFE_INTEGER }, at));
  if (upTo !== null) return upTo;
  tx.countUncaptured(markForeign(tx, table, at));
  storeCompareDue(tx, table.id, false);
  return null;
}
