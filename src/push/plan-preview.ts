/**
 * What a push would do, row by row: the plan of every table from the rows here, with rows that wait for a person.
 * Captures and plans inside a transaction that is rolled back. The origin is not asked, so rows that changed there may
 * become conflicts.
 */
import { must } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { readAllChanges, type RowChange } from '../capture/find-edits.ts';
import type { TwoWayTable } from '../capture/two-way-table.ts';
import { ADDS_OFF, CHANGE_KINDS, planPush, type ChangeKind, type WriteMethod } from '../reconcile/push-plan.ts';
import { cellOf } from '../reconcile/merge.ts';
import type { RowState } from '../reconcile/row-state.ts';
import type { Tx } from '../replica/connection.ts';
import type { Rehearsal } from '../replica/database.ts';
import { readPendingHold } from '../replica/bookkeeping/table-errors.ts';
import { countEdits } from '../replica/bookkeeping/row-states.ts';
import { rowNamer } from '../replica/bookkeeping/row-names.ts';
import { readReasons } from '../replica/bookkeeping/refusals.ts';
import type { Value } from '../wire/schema.ts';
import type { PushSettings } from './context.ts';
import { captureForPush, judgeEdits } from './push-table.ts';
import { pushTable, planOptions } from './record-batch.ts';

/** One cell of a change, under its name here. */
export interface PreviewCell {
  readonly column: string;
  /** Null for an insert. */
  readonly base: Value;
  readonly local: Value;
}

export interface PreviewRow {
  readonly rowId: number;
  /** What people call it; absent for a new row, whose cells are all shown. */
  readonly name?: string;
  readonly kind: ChangeKind;
  /** later: after another row · unsendable: stopped here · unknown: was sent, is looked up first · the rest waits. */
  readonly fate: 'sent' | 'later' | 'conflict' | 'refused' | 'unsendable' | 'inDoubt' | 'unknown';
  /** How it is sent; null if it is not. */
  readonly method: WriteMethod | null;
  /** Why it waits; null if it does not. */
  readonly reason: string | null;
  readonly cells: readonly PreviewCell[];
}

export interface TablePreview {
  readonly table: string;
  /** In the order in which they would leave; waiting rows come last. */
  readonly rows: readonly PreviewRow[];
  /** Changing requests, and reads before and after; the numbers vary if rows changed at the origin. */
  readonly writeCallCount: number;
  readonly readCallCount: number;
  /** Why a push waits for a person, and which commands let it through or discard the edits; null if it does not. */
  readonly held: string | null;
}

/** What a preview needs besides the replica. */
type PreviewSettings = Pick<PushSettings, 'maxPushRows' | 'maxDeletePercent' | 'tableOptions'> & {
  readonly clock: Clock;
  readonly uploadDir: string | null;
};

/** Previews tables; those without any change are left out. */
export async function previewPush(
  { replica, ...previewSettings }: PreviewSettings & { readonly replica: Rehearsal },
  tables: readonly TwoWayTable[],
): Promise<readonly TablePreview[]> {
  return replica.rehearse('Planning a push', (tx) =>
    tables.map((table) => previewTable(tx, table, previewSettings)).filter(({ rows }) => rows.length > 0),
  );
}

function previewTable(
  tx: Tx,
  table: TwoWayTable,
  { clock, uploadDir, tableOptions, ...limits }: PreviewSettings,
): TablePreview {
  captureForPush(tx, table, clock.nowMs());
  const changes = [...readAllChanges(tx, table)];
  const edited = CHANGE_KINDS.flatMap((kind) => {
    const ofKind = changes.filter((change) => change.state === 'edited' && change.kind === kind);
    // New rows leave in the order in which they were made.
    return kind === 'insert' ? ofKind.toReversed() : ofKind;
  });
  // The configuration may forbid inserts only since the last pull, which stores it for the table.
  const isAddOff = tableOptions(table.name)?.inserts === false;
  const planned = { ...pushTable(table), ...(isAddOff && { addRefusal: ADDS_OFF }) };
  const plan = planPush(edited, planned, planOptions({ clock, settings: { uploadDir } }));
  const nameOf = rowNamer(tx);
  const reasons = readReasons(tx, table.id);
  const changeById = new Map(changes.map((change) => [change.id, change]));
  const shown = (
    { id, kind, base, local, columns }: RowChange,
    rest: Pick<PreviewRow, 'fate' | 'method' | 'reason'>,
  ): PreviewRow => ({
    rowId: id,
    kind,
    ...rest,
    cells: columns.map((column) => ({
      column: must(table.columns[column], 'it is one of the columns').localName,
      base: cellOf(base, column),
      local: cellOf(local, column),
    })),
    ...(kind === 'insert' ? {} : { name: nameOf(table.localName, id) }),
  });
  const sent = plan.batches.flatMap(({ method, rows }) =>
    rows.map(({ id }) => shown(must(changeById.get(id), 'it was planned'), { fate: 'sent', method, reason: null })),
  );
  const left = new Set(plan.left);
  const waiting = changes.flatMap((change) => {
    const { id, state } = change;
    if (left.has(id)) return [shown(change, LEFT)];
    const unsendable = plan.unsendable.get(id);
    const known = reasons.get(id);
    const isUnsendable = unsendable !== undefined || (state === 'refused' && known?.isOfOrigin === false);
    const fate = isUnsendable ? 'unsendable' : FATES[state];
    const reason = unsendable?.reason ?? known?.reason ?? null;
    return fate === undefined ? [] : [shown(change, { fate, method: null, reason })];
  });
  const reads = plan.batches.map(({ method, rows }) => {
    const before = rows.some(({ id, madeMatch }) => id > 0 || madeMatch === null) ? 1 : 0;
    return before + (method === 'delete' ? 0 : 1);
  });
  const judged = judgeEdits(tx, table, countEdits(tx, table), { ...limits, tableOptions, confirm: false });
  const held = judged.held ?? readPendingHold(tx, table.id);
  return {
    table: table.localName,
    rows: [...sent, ...waiting],
    writeCallCount: plan.batches.length,
    held: held === null ? null : `${held.message}. ${held.hint}`,
    // The requests for the calling user and the description of the table.
    readCallCount: reads.reduce((sum, count) => sum + count, 0) + (plan.batches.length === 0 ? 0 : 2),
  };
}

/** A new row that waits for another one with the same match value. */
const LEFT = {
  fate: 'later',
  method: null,
  reason: 'another new row may have the same match value; that one leaves first',
} as const;

/** What becomes of rows that do not leave by themselves. */
const FATES: Readonly<Partial<Record<RowState, PreviewRow['fate']>>> = {
  conflicted: 'conflict',
  refused: 'refused',
  inDoubt: 'inDoubt',
  sending: 'unknown',
};
