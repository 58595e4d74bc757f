/**
 * The input of a plan: the table, the size of batches, generated match values and measured files. Also plans rows that were read, for the push itself
 * and for `rowsync plan`.
 */
import type { Clock } from '../base/clock.ts';
import type { RowChange } from '../capture/changes.ts';
import type { TwoWayTable } from '../capture/table.ts';
import {
  BATCH_LIMITS,
  NO_INSERTS,
  planPush,
  type MakeMatch,
  type PlanOptions,
  type PushPlan,
  type PushTable,
} from '../reconcile/push-plan.ts';
import type { PushContext } from './context.ts';
import { fileMeasurer } from './upload.ts';

/** A table as the plan sees it. */
export function pushTable({ columns, matchColumn, allowsAdd }: TwoWayTable): PushTable {
  const match = columns.findIndex(({ name }) => name === matchColumn);
  return { columns, match: match < 0 ? null : match, addRefusal: allowsAdd ? null : { reason: NO_INSERTS } };
}

export function planOptions({
  clock,
  settings,
  files,
}: Pick<PushContext, 'clock' | 'settings' | 'files'>): PlanOptions {
  const measureFile = fileMeasurer(settings.uploadDir, files?.system);
  return { limits: settings.batchLimits ?? BATCH_LIMITS, makeMatch: matchMaker(clock), measureFile };
}

/** Plans rows that may be sent, and lists rows with values that bypassed the triggers and that the origin would refuse. */
export function planChanges(changes: readonly RowChange[], table: PushTable, options: PlanOptions): PushPlan {
  const broken = changes.flatMap(({ id, kind, problems: [reason] }) =>
    reason === undefined ? [] : [{ id, kind, column: null, reason }],
  );
  const whole = changes.filter(({ problems }) => problems.length === 0);
  const plan = planPush(whole, table, options);
  return { ...plan, unsendable: [...broken, ...plan.unsendable] };
}

/** Generates match values: random UUIDs (RFC 9562, version 4); if these are too long, random digits and small letters. */
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
