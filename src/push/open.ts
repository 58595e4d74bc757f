/**
 * Opens a table for a push, from the ledger and the origin's present description. All other parts of a push get the one object that it makes.
 */
import { hasOption, type UserDescriptor } from '../wire/schema.ts';
import { RowsyncError } from '../base/errors.ts';
import type { TwoWayTable } from '../capture/table.ts';
import { judgeMatch, matchError } from '../reconcile/match.ts';
import { columnNames } from '../reconcile/choose.ts';
import { readTable } from '../replica/bookkeeping/tables.ts';
import type { PushContext, PushTableOptions, PushTally, TablePush } from './context.ts';
import { pushTable } from './plan.ts';
import type { TablePushCounts } from './report.ts';
import { describeTable, watchColumns } from './shape.ts';
import { readSweep } from '../replica/bookkeeping/sweeps.ts';

/** The input for opening a table. */
export interface OpenOrder {
  readonly options: PushTableOptions;
  /** Added to while the table is pushed. */
  readonly counts: TablePushCounts;
  readonly tally: PushTally;
}

/** Opens a table from the ledger alone; enough to settle without asking the origin. */
export function openUnasked(
  context: PushContext,
  table: TwoWayTable,
  { options, counts, tally }: OpenOrder,
): TablePush {
  const { name, alias } = readTable(context.replica, table.id);
  const { pageRows } = readSweep(context.replica, table.id);
  return {
    context,
    table,
    reading: {
      address: { name, alias },
      columns: table.columns,
      names: table.columns.map((column) => column.name),
      pageRows: pageRows ?? undefined,
    },
    planned: pushTable(table),
    options,
    zone: 'UTC',
    requireShape: watchColumns(context, table, { name, alias }),
    progress: {
      counts,
      tally,
      missingCount: 0,
      limits: new Map(),
      isNarrowing: false,
      unansweredCount: 0,
    },
  };
}

/**
 * Opens a table as the origin describes it now; `choiceProblem` says why nothing new is sent before the next pull, null if it may be.
 * @throws RowsyncError `push.shape`, `config.invalid`.
 */
export async function openTable(
  context: PushContext,
  table: TwoWayTable,
  order: OpenOrder & { readonly caller: UserDescriptor },
): Promise<{ readonly run: TablePush; readonly choiceProblem: RowsyncError | null }> {
  await context.before?.('describe', table.localName);
  const unasked = openUnasked(context, table, order);
  const { address } = unasked.reading;
  const { descriptor, choiceProblem } = await describeTable(context, table, address);
  const verdict = judgeMatch(descriptor, table.matchColumn);
  if (table.matchColumn !== null && verdict.column === null) {
    throw matchError(address.name, table.matchColumn, verdict);
  }
  const asksByName = descriptor.asksByName === true || (context.settings.columns?.(table.name) ?? null) !== null;
  const run = {
    ...unasked,
    // The configuration may omit some columns that are new here.
    reading: asksByName ? unasked.reading : { ...unasked.reading, names: columnNames(descriptor) },
    planned: { ...unasked.planned, allowAdd: descriptor.allowAdd },
    zone: order.caller.timezone,
  };
  return { run, choiceProblem };
}

/** Makes sure that the calling user may send as the configuration says. @throws RowsyncError `push.workflow`. */
export function requireWorkflowRight(table: TwoWayTable, options: PushTableOptions, caller: UserDescriptor): void {
  if (options.workflow !== 'suppress' || hasOption(caller.admin, 'ManageData')) return;
  throw new RowsyncError('config', 'push.workflow', {
    message: `tables.${table.name}.workflow is suppress, which needs the permission ManageData; the calling user does not have it`,
    hint: 'Give the user that permission in the setup of the database, or set workflow: run. Nothing was sent.',
  });
}
