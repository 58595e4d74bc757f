/**
 * Compares a proposal with the replica of today, and writes it as ordinary edits, which triggers capture like any
 * client's. The caller rolls back if anything is refused: a proposal is applied whole or not at all.
 */
import { findBrowsedTable, type BrowsedTable } from '../shared/browse.ts';
import type { Connection } from '../../replica/connection.ts';
import { exactFromText, exactText, type Exact } from '../../replica/history-cells.ts';
import { writeEdit, type TableUndo } from '../history/undo.ts';
import type { InverseCell, InverseEdit, UndoRefusal } from '../history/undo-plan.ts';
import { readExactCells } from '../shared/sql-client.ts';
import { reasonNotWritten } from './cells.ts';
import { reasonNotEdited, writableOf } from './check-edits.ts';
import type { Proposal, StoredEdit } from './proposal.ts';

/**
 * Writes the edits of a proposal by table, except where cells changed since.
 * @throws what SQLite or a trigger says against an edit.
 */
export function applyEdits(from: Connection, { edits }: Proposal): readonly TableUndo[] {
  const byTable = new Map<string, { readonly edits: InverseEdit[]; readonly refusals: UndoRefusal[] }>();
  for (const edit of edits) {
    const group = byTable.get(edit.table) ?? { edits: [], refusals: [] };
    byTable.set(edit.table, group);
    const found = held(from, edit);
    group.refusals.push(...found.refusals);
    if (found.edit === null) continue;
    writeEdit(from, edit.table, found.edit);
    group.edits.push(found.edit);
  }
  return [...byTable].map(([table, group]) => ({ table, isTwoWay: true, changeCount: 0, ...group }));
}

interface PlannedEdit {
  readonly edit: InverseEdit | null;
  readonly refusals: readonly UndoRefusal[];
}

function held(from: Connection, edit: StoredEdit): PlannedEdit {
  const rowId = edit.rowId ?? 0;
  const refused = (why: string, column: string | null = null): PlannedEdit => ({
    edit: null,
    refusals: [{ rowId, column, why }],
  });
  const table = findBrowsedTable(from, edit.table);
  if (table === null) return refused('there is no such table any more');
  const reason = reasonNotEdited(table, edit.kind);
  if (reason !== null) return refused(reason);
  const named = edit.cells.map(({ column }) => column);
  const columns = edit.kind === 'delete' ? [...new Set([...named, ...writableOf(table)])] : named;
  const written = edit.kind === 'delete' ? [] : named;
  for (const name of columns) {
    const column = table.columns.find((each) => each.name === name);
    const why =
      column === undefined
        ? 'there is no such column any more'
        : written.includes(name)
          ? reasonNotWritten(column)
          : null;
    if (why !== null) return refused(why, name);
  }
  if (edit.rowId === null) {
    return { edit: { rowId, kind: 'insert', cells: edit.cells.map((cell) => editedCell(cell, null)) }, refusals: [] };
  }
  return heldRow(from, table, { ...edit, rowId: edit.rowId }, columns);
}

function heldRow(
  from: Connection,
  table: BrowsedTable,
  { rowId, kind, cells }: StoredEdit & { readonly rowId: number },
  columns: readonly string[],
): PlannedEdit {
  const today = readExactCells(from, table.name, { id: rowId, columns });
  if (today === null) return { edit: null, refusals: [{ rowId, column: null, why: 'the row was deleted since' }] };
  const wasOf = new Map(cells.map(({ column, was }) => [column, was]));
  const moved = columns.filter((column, index) => exactText(today[index] ?? null) !== (wasOf.get(column) ?? 'null'));
  if (moved.length > 0) {
    return { edit: null, refusals: moved.map((column) => ({ rowId, column, why: 'changed since' })) };
  }
  const edited = cells.map((cell, index) => editedCell(cell, today[index] ?? null));
  return { edit: { rowId, kind, cells: edited }, refusals: [] };
}

function editedCell({ column, value }: StoredEdit['cells'][number], today: Exact): InverseCell {
  return { column, today, edited: value === null ? null : exactFromText(value) };
}
