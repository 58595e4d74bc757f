/**
 * The plan of one table: what is captured, what of it may be sent, and how. For the push itself and for `rowsync plan`, which
 * shows it and takes everything back. Reads the replica, and the sizes of files that are to be attached.
 */
import type { Clock } from '../base/clock.ts';
import { captureChanges, readAllChanges, type RowChange } from '../capture/changes.ts';
import type { TwoWayTable } from '../capture/table.ts';
import {
  BATCH_LIMITS,
  planPush,
  type BatchLimits,
  type MakeMatch,
  type PlanOptions,
  type PlannedBatch,
  type PushTable,
  type UnsendableRow,
} from '../reconcile/push-plan.ts';
import type { Tx } from '../replica/connection.ts';
import type { TablePush } from './context.ts';
import { fileMeasurer } from './upload.ts';

/** What a push of one table would do. */
export interface TablePlan {
  readonly table: TwoWayTable;
  /** Every changed row, also those that wait. */
  readonly changes: readonly RowChange[];
  readonly batches: readonly PlannedBatch[];
  readonly unsendable: readonly UnsendableRow[];
}

/** Captures what was edited and plans it. */
export function planTable(
  tx: Tx,
  table: TwoWayTable,
  options: PlanOptions & { readonly at: string; readonly planned?: PushTable },
): TablePlan {
  captureChanges(tx, table, options.at);
  const changes = [...readAllChanges(tx, table)];
  const broken = changes.flatMap(({ rowId, kind, state, problems }): readonly UnsendableRow[] => {
    const [reason] = problems;
    return state === 'edited' && reason !== undefined ? [{ id: rowId, kind, column: null, reason }] : [];
  });
  const sendable = changes.filter(({ state, problems }) => state === 'edited' && problems.length === 0);
  const rows = sendable.map(({ rowId, base, local }) => ({ id: rowId, base, local }));
  const plan = planPush(rows, options.planned ?? pushTable(table), options);
  return { table, changes, batches: plan.batches, unsendable: [...broken, ...plan.unsendable] };
}

/** A table as the plan sees it. */
export function pushTable({ columns, matchColumn, allowsAdd }: TwoWayTable): PushTable {
  const match = columns.findIndex(({ name }) => name === matchColumn);
  return { columns, match: match < 0 ? null : match, allowAdd: allowsAdd };
}

/** How large batches may become. */
function limitsOf({ context }: Pick<TablePush, 'context'>): BatchLimits {
  return context.settings.batchLimits ?? BATCH_LIMITS;
}

/** What a push plans its rows with. */
export function planOptions(run: Pick<TablePush, 'context'>): PlanOptions {
  const { clock, settings, fileSystem } = run.context;
  const measureFile = fileMeasurer(settings.uploadDir, fileSystem);
  return { limits: limitsOf(run), makeMatch: matchMaker(clock), measureFile };
}

/** Makes match values: random UUIDs (RFC 9562, version 4), or where these are too long, random digits and small letters. */
export function matchMaker(clock: Clock): MakeMatch {
  const digit = (base: number): string => Math.floor(clock.random() * base).toString(base);
  return (charsMax) => {
    if (charsMax < UUID_CHARS) return Array.from({ length: Math.min(charsMax, 25) }, () => digit(36)).join('');
    const digits = Array.from({ length: 32 }, () => digit(16));
    digits[12] = '4';
    digits[16] = (8 + Math.floor(clock.random() * 4)).toString(16);
    const text = digits.join('');
    return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-');
  };
}

const UUID_CHARS = 36;
