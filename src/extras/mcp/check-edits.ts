/**
 * Checks edits of an agent before they are proposed, and adds today's values of their cells, or says everything that
 * is wrong with them.
 */
import { findBrowsedTable, type BrowsedColumn, type BrowsedTable } from '../shared/rows-page.ts';
import type { Connection } from '../../replica/connection.ts';
import { NO_INSERTS } from '../../reconcile/push-plan.ts';
import { exactText } from '../../replica/history-cells.ts';
import { reasonRefused, storedFromText } from '../shared/cell-refusals.ts';
import { readExactCells } from '../shared/sql-client.ts';
import { columnType } from '../../wire/schema.ts';
import type { ProposedEdit, StoredEdit } from './proposal.ts';

/** The result of a check; the edits are complete only if there are no complaints. */
export interface EditCheck {
  readonly edits: readonly StoredEdit[];
  readonly complaints: readonly string[];
}

export function lookAtEdits(from: Connection, edits: readonly ProposedEdit[]): EditCheck {
  const complaints: string[] = [];
  const seen = new Set<string>();
  const stored = edits.flatMap((edit, index): readonly StoredEdit[] => {
    const found = lookAt(from, edit);
    const row = edit.row_id === undefined ? null : `${edit.table} ${edit.row_id}`;
    const place = `edit ${index + 1}${edit.row_id === undefined ? '' : `, row ${edit.row_id}`}`;
    if ('problem' in found) complaints.push(`${place}: ${found.problem}`);
    else if (row !== null && seen.has(row)) complaints.push(`${place}: the row has an edit already`);
    if (row !== null) seen.add(row);
    return 'problem' in found ? [] : [found];
  });
  return { edits: stored, complaints };
}

type Found = StoredEdit | { readonly problem: string };

function lookAt(from: Connection, edit: ProposedEdit): Found {
  const { action, row_id: rowId, values = {} } = edit;
  const table = findBrowsedTable(from, edit.table);
  if (table === null) return { problem: 'there is no such table' };
  const reason = reasonNotEdited(table, action);
  if (reason !== null) return { problem: reason };
  if ((action === 'insert') !== (rowId === undefined)) {
    return {
      problem:
        action === 'insert'
          ? 'an insert has no row_id'
          : `${action === 'update' ? 'an update' : 'a delete'} needs a row_id`,
    };
  }
  if (action === 'delete' && Object.keys(values).length > 0) return { problem: 'a delete has no values' };
  const wanted: { readonly column: BrowsedColumn; readonly value: string }[] = [];
  for (const [name, value] of Object.entries(values)) {
    const column = table.columns.find((each) => each.name === name);
    const why = reasonNotWritten(column);
    if (column === undefined || why !== null) return { problem: `${name}: ${why}` };
    const exact = storedFromText(column, String(value ?? ''));
    const refused = reasonRefused(from, table, { column: name, value: exact, action });
    if (refused !== null) return { problem: refused };
    wanted.push({ column, value: exactText(exact) });
  }
  if (rowId === undefined) return insertOf(table, wanted);
  const columns = action === 'delete' ? writableOf(table) : wanted.map(({ column }) => column.name);
  const cells = readExactCells(from, table.name, { id: rowId, columns });
  if (cells === null) return { problem: 'there is no such row' };
  const was = cells.map((cell) => exactText(cell));
  if (action === 'delete') {
    const gone = columns.map((column, index) => ({ column, was: was[index] ?? null, value: null }));
    return { table: table.name, kind: 'delete', rowId, cells: gone };
  }
  const changed = wanted.map(({ column, value }, index) => ({ column: column.name, was: was[index] ?? null, value }));
  const real = changed.filter((cell) => cell.was !== cell.value);
  return real.length === 0
    ? { problem: 'it changes nothing' }
    : { table: table.name, kind: 'update', rowId, cells: real };
}

function insertOf(
  table: BrowsedTable,
  wanted: readonly { readonly column: BrowsedColumn; readonly value: string }[],
): Found {
  const missing = table.columns.filter(
    (needed) =>
      isNeeded(needed) && !wanted.some(({ column, value }) => column.name === needed.name && value !== 'null'),
  );
  if (missing.length > 0) return { problem: `these must have a value: ${missing.map(({ name }) => name).join(', ')}` };
  const cells = wanted.map(({ column, value }) => ({ column: column.name, was: null, value }));
  return { table: table.name, kind: 'insert', rowId: null, cells: cells.filter((cell) => cell.value !== 'null') };
}

/** Whether a new row needs a value in a column, because the origin gives none. */
function isNeeded(column: BrowsedColumn): boolean {
  const isGiven = column.kind === 'Key' || column.kind === 'RecordOwner';
  return column.isRequired && !isGiven && reasonNotWritten(column) === null;
}

/** Why a column takes no proposed value; null if it takes one. */
export function reasonNotWritten(column: BrowsedColumn | undefined): string | null {
  if (column === undefined) return 'there is no such column';
  if (columnType(column.type) === 'Attachment') return 'files are attached by people';
  if (column.mask !== null) return 'its values are masked here';
  return column.isWritable ? null : 'the column cannot be written';
}

/** Why rows of a table cannot be edited so; null where they can. */
export function reasonNotEdited(table: BrowsedTable, action: StoredEdit['kind']): string | null {
  if (!table.isTwoWay) return 'the table is a read-only mirror here';
  return action === 'insert' && !table.allowsAdd ? NO_INSERTS : null;
}

/** The columns whose later change makes a proposed delete invalid. */
export function writableOf(table: BrowsedTable): readonly string[] {
  return table.columns.filter(({ isWritable }) => isWritable).map(({ name }) => name);
}
