/**
 * From rows that were read to a recorded batch, in one durable transaction (I11). The origin's present rows are merged
 * first, so that no unseen change is overwritten; the history has them with the cause `pull`, since nothing was sent
 * yet. Then it is decided which rows leave and which wait, and the batch is stored.
 */
import { must } from '../base/assert.ts';
import { stampFromMs, type Clock } from '../base/clock.ts';
import { RowsyncError } from '../base/errors.ts';
import { systemFiles } from '../base/file-system.ts';
import { shellWord } from '../base/text.ts';
import { diffRows, type RowChange } from '../capture/find-edits.ts';
import type { TwoWayTable } from '../capture/two-way-table.ts';
import { applyOutcome, applyEvent, readRowFacts } from '../capture/writer/apply-outcome.ts';
import { storeMissingRows, storeRemoteRows } from '../capture/writer/store-origin-rows.ts';
import { judgeDeletion } from '../reconcile/guards.ts';
import { judgeHolder, type HolderVerdict, type Unsendable } from '../reconcile/match-column.ts';
import { decideMoved, decideRemote, type RowFacts, type RowOutcome } from '../reconcile/row-outcome.ts';
import {
  BATCH_LIMITS,
  NO_INSERTS,
  planPush,
  type PlannedRow,
  type WriteMethod,
  type MakeMatch,
  type MeasureFile,
  type PlanOptions,
  type PushTable,
} from '../reconcile/push-plan.ts';
import type { BatchRow } from '../reconcile/push-settle.ts';
import { baseTarget, readVersions } from '../replica/base-comparison.ts';
import { spendPushConfirmation } from '../replica/bookkeeping/table-errors.ts';
import type { Tx } from '../replica/connection.ts';
import { countBatch, publishCount } from '../replica/older-copy.ts';
import { replicaError } from '../replica/sqlite-errors.ts';
import { readTable } from '../replica/bookkeeping/tables.ts';
import { countConflicts } from '../replica/bookkeeping/conflicts.ts';
import { readRowsById } from '../replica/rows.ts';
import { requireHarmlessTriggers } from '../replica/triggers.ts';
import type { Row } from '../wire/schema.ts';
import { step, type Round, type TablePush, type PushContext, type PushSettings } from './context.ts';
import { requireSameCaller, type FoundBlock } from './find-rows.ts';
import { attachUploads, findFile, readUploads, type Uploads } from './attached-files.ts';
import { differingRows } from '../reconcile/merge.ts';
import { isAsExpected } from '../reconcile/renamed-columns.ts';
import { type Batch, storeBatch } from '../replica/bookkeeping/batches.ts';
import { readUnansweredIds } from '../replica/bookkeeping/refusals.ts';

export interface Recorded {
  readonly batch: Batch;
  /** Why the count beside the file could not be written: then nothing of the batch is sent. */
  readonly unpublished: RowsyncError | null;
}

/** Merges what was read, and stores the rows to send; null for none. @throws RowsyncError `guard.deletes`, … */
export async function recordBatch(run: TablePush, block: FoundBlock, round: Round): Promise<Recorded | null> {
  await step(run, 'record');
  const { context, table } = run;
  const { found, kind, ids } = block;
  const isMissing = (id: number): boolean => kind !== 'insert' && !found.byId.has(id) && !found.unreadable.has(id);
  const missing = ids.filter(isMissing);
  if (missing.length > 0) await requireSameCaller(run);
  const holders = [...block.lookUps.values()].flatMap(({ holder }) => (typeof holder === 'object' ? [holder] : []));
  const present = [...found.byId.values()];
  const remoteIds = [...present, ...holders].map(({ id }) => id);
  const bases = readRowsById(context.replica, baseTarget(table), remoteIds);
  const moved = differingRows(present, bases);
  // A row may differ only because columns changed their names.
  const isExpected = (row: Row): boolean => isAsExpected(table.columns, row, bases.get(row.id) ?? null);
  if (![...moved, ...holders].every(isExpected)) await run.requireShape();
  const uploads: Uploads = block.attaches ? await readUploads(run, planAhead(run, ids)) : new Map();
  await context.origin.requestsLeave(); // the batch before, before recording keeps the event loop busy
  const { batch, decision } = await context.replica.writeDurably(`Recording a batch of ${table.localName}`, (tx) => {
    mergePresent(tx.because('pull'), run, { moved, missing }, round.confirmed);
    const isAsRead = kind === 'update' && moved.length === 0 && found.unreadable.size === 0;
    const left = ids.filter((id) => !isMissing(id));
    // Those of the answer are the same, and are kept anyway.
    const edited = diffRows(tx, table, left, isAsRead ? found.byId : undefined).filter(
      (row) => row.state === 'edited' && row.kind === kind,
    );
    limitUnanswered(tx, run, ids);
    const facts = { ...block, edited, known: readHolders(tx, run.table, holders), uploads };
    const decided = decide(run, facts, round);
    return { decision: decided, batch: store(tx, run, { ...decided, edited, kind }) };
  });
  round.putBack({ kind, ids: decision.rest });
  // No other row with one of these match values may leave before they have arrived.
  round.leaving.push(new Set(decision.rows.flatMap(({ matchKey }) => matchKey ?? [])));
  return batch === null ? null : { batch, unpublished: publish(run) };
}

/** Notes beside the file that a batch is about to leave: two syncs, while the batch before is on its way. */
function publish({ context: { replica } }: TablePush): RowsyncError | null {
  try {
    publishCount(replica);
    return null;
  } catch (thrown) {
    return replicaError(thrown, `Noting beside ${replica.path} what is sent`);
  }
}

/** The one merge, for rows that changed at the origin since they were last read. */
function mergePresent(
  tx: Tx,
  run: TablePush,
  { moved, missing }: { readonly moved: readonly Row[]; readonly missing: readonly number[] },
  confirmed: boolean,
): void {
  const { table, options, context, tally } = run;
  if (moved.length === 0 && missing.length === 0) return;
  // The missing rows of earlier batches have left the table.
  const rowCount = readTable(tx, table.id).rowCount + tally.missingCount;
  const missingCount = missing.length === 0 ? 0 : missing.length + tally.missingCount;
  const { maxDeletePercent } = context.settings;
  const facts = { rowCount, missingCount, maxDeletePercent, identityChanged: false, isNarrowed: false, confirmed };
  if (judgeDeletion(facts) !== null) throw missingError(run, missingCount, rowCount);
  tally.missingCount += missing.length;
  const remote = { target: table, twoWay: { table, policy: options.conflict } };
  const at = stampFromMs(context.clock.nowMs());
  const conflictsBefore = countConflicts(tx, table.id);
  storeMissingRows(tx, remote, missing, { at, reason: 'not returned by the origin before a push' });
  storeRemoteRows(tx, remote, moved, { at, offPage: [...moved.map(({ id }) => id), ...missing] });
  tally.counts.conflictCount += countConflicts(tx, table.id) - conflictsBefore;
}

function missingError({ table }: TablePush, missingCount: number, rowCount: number): RowsyncError {
  return new RowsyncError('needsPerson', 'guard.deletes', {
    message: `${table.localName}: the origin no longer returns ${missingCount} of the rows to push (the table has ${rowCount}); nothing more was sent or deleted`,
    hint: `Check the rights of the calling user; if the rows are really gone, run rowsync push --confirm ${shellWord(table.localName)}.`,
  });
}

/** The rows that leave first, as far as known before they are recorded. */
function planAhead({ context, table, planned }: TablePush, ids: readonly number[]): readonly PlannedRow[] {
  const edited = diffRows(context.replica, table, ids).filter(({ state }) => state === 'edited');
  return planPush(edited, planned, planOptions(context)).batches[0]?.rows ?? [];
}

interface RecordDecision {
  /** Why rows wait, by their ids. */
  readonly parked: ReadonlyMap<number, Unsendable>;
  /** The row of the origin that a new row is merged into. */
  readonly adopted: ReadonlyMap<number, Row>;
  readonly method: WriteMethod;
  /** Rows that leave now. */
  readonly rows: readonly PlannedRow[];
  /** Rows that did not fit. */
  readonly rest: readonly number[];
}

interface Facts extends FoundBlock {
  readonly edited: readonly RowChange[];
  /** Rows here that have the match value of a new row at the origin. */
  readonly known: ReadonlyMap<number, { readonly base: Row; readonly local: Row | null }>;
  readonly uploads: Uploads;
}

/** Base and local of the rows that have the match values of inserts, as far as they are known here. */
function readHolders(tx: Tx, table: TwoWayTable, holders: readonly Row[]): Facts['known'] {
  const ids = holders.map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const versions = readVersions(tx, table, ids);
  return new Map(versions.flatMap(({ id, base, local }) => (base === null ? [] : [[id, { base, local }]])));
}

/** Rows whose requests ended without an answer in an earlier push leave alone. */
function limitUnanswered(tx: Tx, { table, tally }: TablePush, ids: readonly number[]): void {
  const { limits } = tally;
  for (const id of readUnansweredIds(tx, table.id, ids)) if (!limits.has(id)) limits.set(id, 1);
}

/** What becomes of each edited row of a block; nothing is written yet. */
function decide(run: TablePush, facts: Facts, round: Round): RecordDecision {
  const { context, planned } = run;
  const { limits } = run.tally;
  const waiting = new Map<number, Unsendable>();
  const adopted = new Map<number, Row>();
  const free: RowChange[] = [];
  for (const change of facts.edited) {
    const { id } = change;
    const verdict = judgeRow(run, facts, change, round.isLast);
    if (verdict === 'send') free.push(change);
    else if (typeof verdict !== 'object') continue;
    else if ('reason' in verdict) waiting.set(id, verdict);
    // Two new rows may match one row of the origin: the second waits until the first is settled.
    else if (!adopted.values().some((remote) => remote.id === verdict.id)) adopted.set(id, verdict);
  }
  const rowsMaxOf = limits.size === 0 ? undefined : (id: number): number => limits.get(id) ?? Infinity;
  const isLeaving = (key: string): boolean => round.leaving.some((keys) => keys.has(key));
  const plan = planPush(free, planned, { ...planOptions(context), rowsMaxOf, isLeaving });
  const [first, ...others] = plan.batches;
  const { rows, broken } = attachUploads(run, first?.rows ?? [], { uploads: facts.uploads, changes: free });
  const rest = others.flatMap((batch) => batch.rows.map(({ id }) => id));
  const parked = new Map([...waiting, ...plan.unsendable, ...broken]);
  return { parked, adopted, method: first?.method ?? 'update', rows, rest };
}

/** Whether a row may leave now. A row that may be the result of another one, or write over a row unseen, does not. */
function judgeRow(
  { planned: { match }, tally, table }: TablePush,
  facts: Facts,
  { id, local }: RowChange,
  isLast: boolean,
): HolderVerdict<Row> {
  if (facts.found.unreadable.has(id)) {
    const reason = 'the origin shows its row with a value that cannot be read, so an edit might overwrite it unseen';
    return { reason, column: null, hope: 'soon' };
  }
  if (tally.isNarrowing && tally.limits.has(id)) return 'wait';
  if (facts.kind !== 'insert' || match === null || local === null) return 'send';
  // Its match value was edited after the look-up.
  const lookUp = facts.lookUps.get(id);
  if ((local.values[match] ?? '') !== (lookUp?.value ?? '')) return 'wait';
  const holder = lookUp?.holder;
  const known = typeof holder === 'object' ? (facts.known.get(holder.id) ?? null) : null;
  return judgeHolder(holder, known, { match, columns: table.columns, isLast });
}

function store(
  tx: Tx,
  run: TablePush,
  { edited, kind, parked, adopted, method, rows }: RecordDecision & Pick<Facts, 'edited' | 'kind'>,
): Batch | null {
  const { table, context, options, planned, tally } = run;
  const nowMs = context.clock.nowMs();
  requireHarmlessTriggers(tx, table);
  const at = stampFromMs(nowMs);
  const leaving = rows.filter(({ madeMatch }) => madeMatch === null).map(({ id }) => id);
  applyEvent(tx, table.id, leaving, { event: 'sendStarted', at });
  const made = rows.filter(({ madeMatch }) => madeMatch !== null);
  const decided = new Set([...parked.keys(), ...adopted.keys(), ...made.map(({ id }) => id)]);
  const versions = edited.filter(({ id }) => decided.has(id));
  const facts = readRowFacts(tx, table, [...decided], versions);
  const factsById = new Map(facts.map((one) => [one.id, one]));
  const factsOf = (id: number): RowFacts => must(factsById.get(id), 'each of these rows was edited');
  const rules = { columns: table.columns, policy: options.conflict, isSent: false, reason: '' };
  const merged = [...adopted].map(([id, remote]) => ({ ...decideRemote(factsOf(id), remote, rules), isOffPage: true }));
  const refused = [...parked].map(([id, why]) =>
    decideMoved(factsOf(id), 'refused', { ...why, hope: why.hope ?? 'never', kind, words: null, cells: [] }),
  );
  const filled = made.map(({ id, madeMatch }) => decideLeaving(factsOf(id), madeMatch, planned.match));
  applyOutcome(tx.because('pull'), table, { outcomes: merged, nowMs });
  applyOutcome(tx, table, { outcomes: [...refused, ...filled], nowMs });
  tally.counts.refusedCount += parked.size;
  tally.noteNewIds(merged);
  tally.counts.conflictCount += merged.reduce((sum, { conflicts }) => sum + conflicts.length, 0);
  if (rows.length === 0) return null;
  spendPushConfirmation(tx, table.id, rows.length);
  countBatch(tx);
  const sent = rows.map(({ id, cells }): BatchRow => ({ id, kind, cells, answer: null }));
  const batch = { method, sentAt: at, rows: sent };
  return {
    ...batch,
    id: storeBatch(tx, table, batch),
    bases: new Map(edited.flatMap(({ id, base }) => (base === null ? [] : [[id, base]]))),
  };
}

/** A row that leaves with a generated match value, stored before, so that a repeated create is the same create. */
function decideLeaving(facts: RowFacts, madeMatch: string | null, match: number | null): RowOutcome {
  const outcome = decideMoved(facts, 'sendStarted');
  const { local } = facts;
  if (match === null || local === null) return outcome;
  return { ...outcome, local: { ...local, values: local.values.with(match, madeMatch) } };
}

export function pushTable({ columns, matchColumn, allowsAdd }: TwoWayTable): PushTable {
  const match = columns.findIndex(({ name }) => name === matchColumn);
  const addRefusal = allowsAdd ? null : { column: null, reason: NO_INSERTS };
  return { columns, match: match < 0 ? null : match, addRefusal };
}

export function planOptions({ clock, settings, files }: PlanContext): PlanOptions {
  const limits = { ...BATCH_LIMITS, ...settings.batchLimits };
  const measureFile: MeasureFile = (value) => findFile(files?.system ?? systemFiles, value, settings.uploadDir);
  return { limits, makeMatch: matchMaker(clock), measureFile };
}

interface PlanContext extends Pick<PushContext, 'clock' | 'files'> {
  readonly settings: Pick<PushSettings, 'batchLimits' | 'uploadDir'>;
}

/** Generates match values: random UUIDs (RFC 9562, version 4), or random digits and small letters if too long. */
function matchMaker(clock: Clock): MakeMatch {
  const below = (count: number): number => Math.floor(clock.random() * count);
  return (charsMax) =>
    charsMax < UUID.length
      ? Array.from({ length: Math.min(charsMax, 25) }, () => below(36).toString(36)).join('')
      : UUID.replaceAll(/[xy]/g, (digit) => (digit === 'x' ? below(16) : 8 + below(4)).toString(16));
}

const UUID = 'xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx';
