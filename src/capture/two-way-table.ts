/**
 * A two-way table as the bookkeeping describes it: all facts that capture, merge and push need of it.
 */
import { RowsyncError } from '../base/errors.ts';
import { readColumns, type ColumnRecord } from '../replica/bookkeeping/columns.ts';
import type { Connection } from '../replica/connection.ts';
import { findTable, type TableRecord, readTables } from '../replica/bookkeeping/tables.ts';
import { hasTable, oncePerSchema } from '../replica/schema-objects.ts';
import type { RowTarget } from '../replica/rows.ts';
import { COLOR_COLUMN, hasBase, readStanding } from '../replica/user-tables.ts';
import { hasOption, isWritable } from '../wire/schema.ts';

export interface TwoWayColumn extends ColumnRecord {
  /** The origin refuses a row without a value. */
  readonly required: boolean;
  /** The origin gives a new row a value here if it has none: keys, numbers, owners. */
  readonly automatic: boolean;
  /** The calling user may not write it, but others may. */
  readonly locked: boolean;
}

/** A table whose edits are captured; `columns` are the live ones, in the order of a row's values. */
export interface TwoWayTable extends RowTarget {
  /** At the origin. */
  readonly name: string;
  readonly columns: readonly TwoWayColumn[];
  /** Columns that the origin no longer has, with their last values, and the one for colors; read-only. */
  readonly keptColumns: readonly Pick<ColumnRecord, 'localName' | 'type' | 'mask'>[];
  /** Origin's name of the column that identifies rows; null without one. */
  readonly matchColumn: string | null;
  /** Whether the calling user may add rows. */
  readonly allowsAdd: boolean;
}

/** Every table whose edits are captured, by origin id. */
export function readTwoWayTables(from: Connection): readonly TwoWayTable[] {
  return readTables(from).flatMap((table) => twoWayTable(from, table) ?? []);
}

/** One table; null if its edits are not captured, or it is not known yet. */
export function findTwoWayTable(from: Connection, tableId: number): TwoWayTable | null {
  const table = findTable(from, tableId);
  return table === null ? null : twoWayTable(from, table);
}

const readKnown = oncePerSchema(
  () => new Map<number, { columns: readonly ColumnRecord[]; facts: string; table: TwoWayTable }>(),
);

/** The same object while nothing of the table changes: what is made of it, such as its triggers, is kept with it. */
function twoWayTable(from: Connection, table: TableRecord): TwoWayTable | null {
  if (table.push !== 'on' || !hasBase(from, table.id) || !hasTable(from, table.localName)) return null;
  const columns = readColumns(from, table.id);
  const { id, name, rowColors, matchColumn, allowsAdd } = table;
  const stored = { id, name, localName: table.localName, matchColumn, allowsAdd };
  const facts = JSON.stringify([stored, rowColors]);
  const before = readKnown(from).get(id);
  if (before?.columns === columns && before.facts === facts) return before.table;
  const isLive = ({ state }: ColumnRecord): boolean => state === 'live';
  const colors = rowColors === 'kept' ? [COLOR_COLUMN] : [];
  const kept = [...columns.filter((column) => !isLive(column)), ...colors];
  const keptNames = kept.map(({ localName }) => localName);
  const standing = new Set(readStanding(from, stored.localName, keptNames));
  const now: TwoWayTable = {
    ...stored,
    columns: columns.filter(isLive).map(twoWayColumn),
    keptColumns: kept.filter(({ localName }) => standing.has(localName)),
  };
  readKnown(from).set(id, { columns, facts, table: now });
  return now;
}

/** A live column, with what an edit has to know of it. */
export function twoWayColumn(column: ColumnRecord): TwoWayColumn {
  return {
    ...column,
    required: hasOption(column.options.split(', '), 'Required'),
    automatic: column.type === 'Autonumber' || column.kind === 'Key' || column.kind === 'RecordOwner',
    locked: !column.writable && isWritable({ kind: column.kind, readOnly: null }),
  };
}

/** What to do about a table that is here and not two-way. */
export const MIRROR_HINT = 'It is a read-only mirror: set push: true for it in the configuration and run rowsync pull.';

/** Why a table with vanished columns waits. */
export function missingColumnsError(
  { localName }: Pick<TwoWayTable, 'localName'>,
  missing: readonly Pick<TwoWayColumn, 'name'>[],
): RowsyncError {
  const names = missing.map(({ name }) => `"${name}"`).join(', ');
  return new RowsyncError('needsPerson', 'guard.columns', {
    message: `${localName}: the origin no longer shows columns that could be written, or shows them with another type (${names}); nothing of the table was changed or sent`,
    hint: `Give the calling user's role the right to them again. If they are really gone, run rowsync schema prune --confirm: it keeps their edits in sync_conflicts.`,
  });
}
