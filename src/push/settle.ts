/**
 * Finishing what was sent, once the origin was asked what became of it (read-back.ts): one transaction merges its rows, with defaults,
 * formulas and what its workflow did, against the values that were sent (reconcile/push-settle.ts) and lets the batch go. Called after sending, and at the
 * start of a push for what an earlier one left behind (I13); running it again on the same batch does no harm.
 */
import { must } from '../base/assert.ts';
import { stampFromMs } from '../base/clock.ts';
import {
  readAnsweredIds,
  storePushes,
  updateBatch,
  type AnsweredAs,
  type Batch,
  type BatchRow,
  type OriginWords,
} from '../capture/batches.ts';
import { readVersions } from '../capture/changes.ts';
import { readFormerBase, storeConflicts } from '../capture/conflicts.ts';
import { isFromOlderCopy } from '../capture/doubt.ts';
import { moveRows, readRowStates } from '../capture/marks.ts';
import { forgetRefusals, storeRefusal } from '../capture/refusals.ts';
import { settleRows, type RowToSettle, type SettledRow, type VersionsNow } from '../capture/settle.ts';
import { isSameValue } from '../reconcile/diff.ts';
import { adoptAlike, doubtOfAbsent } from '../reconcile/push-adopt.ts';
import type { RetryHope } from '../reconcile/push-outcome.ts';
import { digestOf } from '../reconcile/push-plan.ts';
import {
  baseAfterLookup,
  baseAsSent,
  baseForReadBack,
  baseOfEmptied,
  baseOfFormerFiles,
  baseOfMadeAgain,
  baseOfMet,
  baseOfMetLater,
  baseOfReplaced,
  editedCells,
  isApplied,
  isLeftAsSent,
  mayBeColleagues,
} from '../reconcile/push-settle.ts';
import { isInFlight } from '../reconcile/row-state.ts';
import type { Tx } from '../replica/connection.ts';
import { countBatch, publishCount } from '../replica/copies.ts';
import { replicaError } from '../replica/failures.ts';
import { storeUploadedFile } from '../replica/files.ts';
import type { Row } from '../wire/schema.ts';
import type { TablePush } from './context.ts';
import { isSender } from './identity.ts';
import { anchorOf } from './lookup.ts';
import { knownIds, readBack, type Findings } from './read-back.ts';
import { madeAgain, overMet, writtenOver } from './written-over.ts';

/** Why a row that the origin does not have any more leaves the replica. */
const REASON = 'not returned by the origin after a push';

/** The base of a row that went as was asked: if it stands here, a user put it back since, as a new one. */
const DELETED = (): null => null;

/** Settles the rows of a batch that an earlier push left behind, as far as the origin tells; rows that cannot be read now stay. @throws RowsyncError of the origin. */
export async function settleBatch(run: TablePush, batch: Batch): Promise<void> {
  await settleFound(run, batch, await readBack(run, batch, { isAtOnce: false }));
}

/** Settles the rows of a batch as they were read back. */
export async function settleFound(run: TablePush, batch: Batch, findings: Findings): Promise<void> {
  const { context, table } = run;
  await context.before?.('settle', table.localName);
  const { replica } = context;
  const what = `Settling a batch of ${table.localName}`;
  if (!batch.rows.some(({ kind }) => kind === 'insert')) {
    await replica.write(what, (tx) => new Settling(tx, run, findings).settle(batch));
    return;
  }
  // From now on its new rows may get other values by which they are found: a copy in which they are on their way is an older one.
  await replica.writeDurably(what, (tx) => {
    new Settling(tx, run, findings).settle(batch);
    countBatch(tx);
  });
  try {
    publishCount(replica);
  } catch (thrown) {
    throw replicaError(thrown, `Noting beside ${replica.path} what was settled`);
  }
}

/** Whether nobody touched a row while it was on its way: one that was edited is sent again, since what was refused may be mended. */
export function isLeftAlone(tx: Tx, table: TablePush['table'], { id, kind, cells }: BatchRow): boolean {
  const [version] = readVersions(tx, table, [id]);
  return isLeftAsSent({ base: version?.base ?? null, local: version?.local ?? null, sent: cells }, kind, table.columns);
}

/** The one transaction that settles a batch. */
class Settling {
  readonly #tx: Tx;
  readonly #run: TablePush;
  readonly #findings: Findings;
  readonly #at: string;
  readonly #nowMs: number;
  readonly #toSettle: RowToSettle[] = [];
  readonly #left: BatchRow[] = [];
  /** Updates without an answer that the origin does not show: they go again. */
  readonly #untaken = new Set<number>();
  /** Ids of rows that are on their way themselves, and that others of the batch met. */
  #twice: ReadonlySet<number> = new Set();

  constructor(tx: Tx, run: TablePush, findings: Findings) {
    this.#tx = tx;
    this.#run = run;
    this.#findings = findings;
    this.#nowMs = run.context.clock.nowMs();
    this.#at = stampFromMs(this.#nowMs);
  }

  settle(batch: Batch): void {
    const adopted = this.#adopt(batch);
    this.#twice = this.#onTheirWay(batch.rows);
    const given = new Set(this.#twice);
    // One after another, since under one id one row is settled at a time.
    const later = batch.rows.filter((row) => {
      const id = metId(row);
      const isGiven = id !== null && given.has(id);
      if (id !== null) given.add(id);
      return isGiven;
    });
    this.#settleRows(
      batch,
      adopted,
      batch.rows.filter((row) => !later.includes(row)),
    );
    for (const row of later) {
      if (this.#onTheirWay([row]).size > 0) this.#left.push(row);
      else this.#settleRows(batch, adopted, [row]);
    }
    updateBatch(this.#tx, this.#run.table, batch.id, this.#left);
  }

  #settleRows(batch: Batch, adopted: ReadonlyMap<number, Row>, rows: readonly BatchRow[]): void {
    const { table, options, counts } = this.#run;
    this.#toSettle.length = 0;
    for (const row of rows) {
      if (row.answer === null) this.#settleLost(row, batch, adopted);
      else this.#settleAnswered(row, row.answer.as);
    }
    this.#forgetRefusals(batch);
    const settled = settleRows(this.#tx, table, this.#toSettle, {
      policy: options.conflict,
      at: this.#at,
      isSent: true,
      reason: REASON,
    });
    // Only what came out just as it was sent has surely left every other row alone.
    if (settled.some(({ state, conflictCount }) => state !== 'settled' || conflictCount > 0))
      this.#run.plan.isStale = true;
    this.#storeShown();
    this.#count(batch, settled);
    counts.conflictCount += settled.reduce((sum, { conflictCount }) => sum + conflictCount, 0);
  }

  /** The ids of rows on their way that others met, as where a colleague gave one the unique value of a new one while both were sent. */
  #onTheirWay(rows: readonly BatchRow[]): ReadonlySet<number> {
    const met = rows.flatMap((row) => metId(row) ?? []);
    const states = readRowStates(this.#tx, this.#run.table.id, met);
    return new Set(met.filter((id) => isInFlight(states.get(id) ?? 'clean')));
  }

  #settleAnswered(row: BatchRow, as: AnsweredAs): void {
    const { found, files } = this.#findings;
    const { byId, unreadable } = found;
    const own = byId.get(row.id);
    if (as === 'look') {
      const words = row.answer?.refusal ?? null;
      // Without a cell whose column is hidden by now, it is another change than the one that was refused.
      const isLeft = row.hidden === undefined && isLeftAlone(this.#tx, this.#run.table, row);
      // Neither gone nor readable: it is there.
      if (own === undefined && unreadable.has(row.id)) {
        if (isLeft) this.#refuse(row, words, 'later');
        else this.#move([row.id], 'notApplied');
      } else if (own === undefined) this.#toSettle.push({ rowId: row.id, base: ({ base }) => base, remote: null });
      else if (this.#merge(row, own, { isSent: true })?.state !== 'changed')
        forgetRefusals(this.#tx, this.#run.table.id, [row.id]);
      // Merged, it may be another change than the one that was refused.
      else if (isLeft && isLeftAlone(this.#tx, this.#run.table, row)) this.#refuse(row, words, 'later');
      return;
    }
    if (row.kind === 'delete') {
      this.#toSettle.push({ rowId: row.id, base: DELETED, remote: null });
      return;
    }
    const isMadeAgain = as === 'recreated';
    if (isMadeAgain && own !== undefined) {
      this.#refuseTwice(row, own);
      return;
    }
    if (isMadeAgain && unreadable.has(row.id)) {
      this.#left.push(row);
      return;
    }
    const id = must(row.answer?.id, 'an accepted write names its row');
    const { columns } = this.#run.table;
    // A row that is not returned was taken nevertheless: it may be hidden from the calling user, and a pull finds out. What another one put
    // there, which met it, is settled behind it, and kept with what it went over.
    const returned = this.#twice.has(row.id) ? undefined : byId.get(id);
    const remote = returned ?? this.#asSent(row, { id, isMadeAgain });
    const former = as === 'met' ? readFormerBase(this.#tx, this.#run.table, row.id) : null;
    this.#toSettle.push({
      rowId: row.id,
      base: ({ base, local }) => {
        const sent = { base: isMadeAgain ? null : base, sent: row.cells };
        const asRead = baseForReadBack(sent, { local, remote }, columns, files.overtaken.get(id));
        const after = baseOfFormerFiles(asRead, { former: base, local }, columns);
        if (isMadeAgain) return baseOfMadeAgain(after, base, columns);
        return baseOfEmptied(after, { former, local, made: null }, columns);
      },
      remote,
      sent: row.cells,
      known: (now, there) => {
        const before = as === 'met' ? overMet(row, there, this.#run.planned.match) : isMadeAgain ? madeAgain(now) : [];
        return [...before, ...writtenOver(this.#run.table, row, now, { remote, isMadeAgain })];
      },
    });
  }

  /** The row as it would be if the origin did with it just what was asked. */
  #asSent(row: BatchRow, { id, isMadeAgain }: { readonly id: number; readonly isMadeAgain: boolean }): Row {
    const { table } = this.#run;
    const [version] = isMadeAgain ? [] : readVersions(this.#tx, table, [row.id]);
    return baseAsSent({ base: version?.base ?? null, sent: row.cells }, id, table.columns.length);
  }

  #settleLost(row: BatchRow, batch: Batch, adoptions: ReadonlyMap<number, Row>): void {
    const adopted = adoptions.get(row.id) ?? null;
    const { found, byValue, unclear, unaskable, files } = this.#findings;
    if (found.unreadable.has(row.id) || unclear.has(row.id)) {
      this.#left.push(row);
      return;
    }
    const own = found.byId.get(row.id);
    if (unaskable.has(row.id)) {
      this.#doubt(row, 'when it was sent, and the origin refuses to look for it by its unique value');
      return;
    }
    if (files.unclear.has(row.id)) {
      this.#doubt(row, 'when its file was sent, and the origin does not let its revisions be compared');
      // What else it is there is known, as from a pull; a pull that was before this says nothing more of it.
      if (own !== undefined) this.#merge(row, own, { isSent: false });
      return;
    }
    if (row.kind === 'delete') {
      if (own === undefined) {
        this.#toSettle.push({ rowId: row.id, base: DELETED, remote: null });
      } else {
        // It goes again if it is still meant: somebody may have put the row back, or written into it there.
        this.#untaken.add(row.id);
        this.#toSettle.push({ rowId: row.id, base: ({ base }) => base, remote: own });
      }
      return;
    }
    const { columns } = this.#run.table;
    const named = byValue.get(row.id);
    if (row.kind === 'insert' && named !== undefined && this.#mayBeColleagues(row, named)) {
      this.#doubt(row, `when it was created, and row ${named.id} has its unique value and may be a colleague's`);
      return;
    }
    const isMadeAgain = own === undefined && row.kind === 'update' && named !== undefined;
    const isAsSent = named !== undefined && this.#isMadeOf(row, named);
    const remote = own ?? named ?? adopted;
    if (remote !== null) {
      // Whoever was adopted has all the files: they were compared.
      const inFiles = row.cells.flatMap(({ column, file }) => (file === undefined ? [] : [column]));
      const arrived = remote === adopted ? new Set(inFiles) : files.arrived.get(row.id);
      const isHeld = isApplied(row.cells, remote, columns, arrived);
      const isTaken = row.kind === 'insert' || isMadeAgain || isHeld;
      if (!isTaken) this.#untaken.add(row.id);
      const former = row.kind === 'insert' ? readFormerBase(this.#tx, this.#run.table, row.id) : null;
      this.#toSettle.push({
        rowId: row.id,
        base: ({ base, local }) => {
          const sent = { base: isMadeAgain ? null : base, sent: row.cells };
          const lookedUp = baseAfterLookup(sent, { local, remote }, columns, arrived, files.overtaken.get(remote.id));
          const after = baseOfFormerFiles(lookedUp, { former: base, local }, columns);
          const again = isMadeAgain ? baseOfMadeAgain(after, base, columns) : null;
          if (again !== null)
            return isAsSent ? again : baseOfReplaced(again, { former: base, sent: row.cells, remote });
          const met = baseOfMetLater(after, baseOfMet(former, local, columns), columns);
          return baseOfEmptied(met, { former, local, made: isHeld ? remote : null }, columns);
        },
        remote,
        sent: row.cells,
        known: (now) => [
          ...(isMadeAgain ? madeAgain(now) : []),
          ...writtenOver(this.#run.table, row, now, { remote, isMadeAgain: isMadeAgain && isAsSent }),
        ],
      });
    } else if (row.kind === 'update') {
      this.#untaken.add(row.id);
      this.#toSettle.push({ rowId: row.id, base: ({ base }) => base, remote: null });
    } else {
      this.#settleAbsent(row, batch, adoptions);
    }
  }

  /** Whether the row that has the match value of an update is what the update made of it: the value alone proves nothing, nor does a part of the cells. */
  #isMadeOf({ id, cells, hidden }: BatchRow, remote: Row): boolean {
    const { columns } = this.#run.table;
    const [version] = readVersions(this.#tx, this.#run.table, [id]);
    const isWhole =
      hidden === undefined && editedCells({ base: version?.base ?? null, sent: cells }, columns).length > 0;
    return isWhole && isApplied(cells, remote, columns, this.#findings.files.arrived.get(id));
  }

  /**
   * A row that may be what a create made which is not found by its unique value; none where it has the match value that the new row has here by now:
   * sent again, the create is about that row.
   */
  #likelyOf({ id }: BatchRow, adoptions: ReadonlyMap<number, Row>): Row | undefined {
    const { planned, table } = this.#run;
    const [version] = readVersions(this.#tx, table, [id]);
    const match = planned.match ?? -1;
    const [value, type] = [version?.local?.values[match] ?? null, table.columns[match]?.type ?? 'Text'];
    const isMet = ({ values }: Row): boolean =>
      value !== null && value !== '' && isSameValue(type, values[match] ?? null, value);
    const taken = new Set(adoptions.values().map((row) => row.id));
    return this.#findings.likely.get(id)?.find((row) => !taken.has(row.id) && !isMet(row));
  }

  #mayBeColleagues(row: BatchRow, remote: Row): boolean {
    const { table } = this.#run;
    const by = anchorOf(this.#run, row);
    const [version] = readVersions(this.#tx, table, [row.id]);
    return (
      by !== null &&
      mayBeColleagues({
        by,
        sent: row.cells,
        isWhole: row.hidden === undefined,
        local: version?.local ?? null,
        remote,
        columns: table.columns,
        arrived: this.#findings.files.arrived.get(row.id),
      })
    );
  }

  /** A create that the origin does not return. */
  #settleAbsent(row: BatchRow, batch: Batch, adoptions: ReadonlyMap<number, Row>): void {
    const { table, planned } = this.#run;
    const anchor = anchorOf(this.#run, row);
    const why = doubtOfAbsent({
      isIdentified: anchor !== null,
      isSender: isSender(this.#tx, table, batch),
      isOlder: anchor?.column !== planned.match && isFromOlderCopy(this.#tx, table.id, row.id),
      likelyId: this.#likelyOf(row, adoptions)?.id ?? null,
      isPartial: this.#findings.partial.has(row.id),
    });
    if (why !== null) this.#doubt(row, `when it was created, and ${why}`);
    else if (row.failure !== undefined && isLeftAlone(this.#tx, table, row)) this.#refuse(row, row.failure, 'soon');
    else this.#move([row.id], 'notApplied');
  }

  /** Revisions that were sent from here, and whose content is in the file store already. */
  #storeShown(): void {
    const ids = new Set(this.#toSettle.flatMap(({ remote }) => remote?.id ?? []));
    for (const shown of this.#findings.files.shown) {
      if (ids.has(shown.rowId)) storeUploadedFile(this.#tx, shown.column, shown, this.#at);
    }
  }

  /** The rows that creates without a unique value made, as far as there is no doubt. */
  #adopt({ rows }: Batch): ReadonlyMap<number, Row> {
    const { alike, byValue } = this.#findings;
    if (alike.size === 0) return new Map();
    const known = knownIds(this.#tx, this.#run.table, [...alike.values()].flat());
    // Rows that are alike may be those of other creates, which are told by their answer or their unique value.
    const others = new Set([...readAnsweredIds(this.#tx, this.#run.table), ...byValue.values().map((row) => row.id)]);
    const isFree = (id: number): boolean => !known.has(id) && !others.has(id);
    const creates = rows.flatMap(({ id, answer, newestKnown }) => {
      const found = answer === null ? alike.get(id) : undefined;
      if (found === undefined) return [];
      return [{ id, candidates: found.map((row) => row.id).filter(isFree), newestKnown }];
    });
    const rowById = new Map([...alike.values()].flat().map((row) => [row.id, row]));
    // What is alike in a part of the cells may be anybody's.
    const parts = new Set(rows.flatMap(({ id, hidden }) => (hidden === undefined ? [] : [id])));
    return new Map(
      [...adoptAlike(creates)]
        .filter(([id]) => !parts.has(id))
        .map(([id, candidate]) => [id, must(rowById.get(candidate), 'candidates were found')]),
    );
  }

  #refuse(row: BatchRow, words: OriginWords | null, hope: RetryHope): void {
    const { table, counts } = this.#run;
    const reason = words?.message ?? 'the origin says that it has no such row, and returns it nevertheless';
    const refusal = { rowId: row.id, kind: row.kind, reason, column: null, words, hope } as const;
    storeRefusal(this.#tx, table, { ...refusal, cells: row.cells }, this.#nowMs);
    this.#park(row.id);
    counts.refusedCount += 1;
  }

  /** The origin made a second row from an update although the first one stands: nobody but a person can tell which is right. */
  #refuseTwice(row: BatchRow, own: Row): void {
    const { table, counts } = this.#run;
    const made = must(row.answer?.id, 'an answer that made a row names it');
    const { byId, unreadable } = this.#findings.found;
    const isThere = byId.has(made) || unreadable.has(made);
    // Gone by now, as with a backup that was brought back, or hidden.
    const hint = isThere
      ? '; look at both'
      : ', and does not return that one now; look there, then retry or discard it';
    const reason = `the origin made row ${made} of this update although row ${own.id} exists${hint}`;
    const refusal = { rowId: row.id, kind: row.kind, reason, column: null, words: null, hope: 'never' } as const;
    const [before] = readVersions(this.#tx, table, [row.id]);
    if (this.#merge(row, own, { isSent: true })?.state === 'changed') {
      storeRefusal(this.#tx, table, { ...refusal, cells: row.cells }, this.#nowMs);
      this.#move([row.id], 'refused');
      counts.refusedCount += 1;
      return;
    }
    // Nothing of the row is left to refuse, or it waits for a person already; what was made of it is told of the other one.
    const base = before?.base ?? own;
    const local = baseAsSent({ base, sent: row.cells }, row.id, table.columns.length);
    const conflict = { kind: 'deletedThere', base, local, winner: 'local' } as const;
    storeConflicts(this.#tx, table, { rowId: made, conflicts: [conflict], at: this.#at });
    counts.conflictCount += 1;
  }

  /** Merges a row with what the origin says of it; `isSent` as long as it counts as on its way. */
  #merge({ id }: BatchRow, own: Row, { isSent }: { readonly isSent: boolean }): SettledRow | undefined {
    const { table, options, counts, plan } = this.#run;
    const rows = [{ rowId: id, base: ({ base }: VersionsNow) => base, remote: own }];
    const how = { policy: options.conflict, at: this.#at, isSent, reason: REASON };
    const [settled] = settleRows(this.#tx, table, rows, how);
    counts.conflictCount += settled?.conflictCount ?? 0;
    plan.isStale = true;
    return settled;
  }

  #doubt(row: BatchRow, why: string): void {
    const { table, counts } = this.#run;
    const words = row.failure ?? null;
    const reason = `${words === null ? 'no answer came' : 'the origin failed'} ${why}; look there, then retry or discard it`;
    const refusal = { rowId: row.id, kind: row.kind, reason, column: null, words, hope: 'never' } as const;
    storeRefusal(this.#tx, table, { ...refusal, cells: row.cells }, this.#nowMs);
    this.#move([row.id], 'doubted');
    counts.inDoubtCount += 1;
  }

  /** Refuses a row, whether its answer just came or was found after a restart. */
  #park(id: number): void {
    if (readRowStates(this.#tx, this.#run.table.id, [id]).get(id) === 'unknown') this.#move([id], 'notApplied');
    this.#move([id], 'refused');
  }

  #move(ids: readonly number[], event: Parameters<typeof moveRows>[3]['event']): void {
    moveRows(this.#tx, this.#run.table.id, ids, { event, at: this.#at });
  }

  /** Before the rows are settled, since that may say anew why one waits. */
  #forgetRefusals({ rows }: Batch): void {
    const ids = new Set(this.#toSettle.map(({ rowId }) => rowId));
    const known = rows.filter(({ id, answer }) => ids.has(id) && answer?.as !== 'look');
    forgetRefusals(
      this.#tx,
      this.#run.table.id,
      known.map(({ id }) => id),
    );
  }

  /** Adds up what the origin took, and remembers what was sent of rows that existed. */
  #count({ rows }: Batch, settled: readonly SettledRow[]): void {
    const { table, counts } = this.#run;
    const rowById = new Map(rows.map((row) => [row.id, row]));
    const done = settled.flatMap(({ rowId, newId }) => {
      const row = rowById.get(rowId);
      return row === undefined || row.answer?.as === 'look' ? [] : [{ row, newId }];
    });
    const taken = done.filter(({ row }) => !this.#untaken.has(row.id));
    for (const { row } of taken) {
      if (row.kind === 'insert') counts.insertedCount += 1;
      else if (row.kind === 'update') counts.updatedCount += 1;
      else counts.deletedCount += 1;
    }
    const updates = taken.filter(({ row }) => row.kind === 'update');
    storePushes(
      this.#tx,
      table.id,
      updates.map(({ row, newId }) => ({ rowId: newId, digest: digestOf(row.cells) })),
      this.#nowMs,
    );
  }
}

/** The id of the row at the origin that an answer says a row is, where that is another one than it has here. */
function metId({ id, answer }: BatchRow): number | null {
  const given = answer?.id ?? id;
  return given === id ? null : given;
}
