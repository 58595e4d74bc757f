/**
 * Editing one row from the page: the form, and the edit that it sends. The edit is written through a separate connection, like that of any SQL
 * client. Input: a table and a row, or the fields of a form. Output: the form with the words of a trigger that refused, or a redirect to the row.
 */
import { findBrowsedTable, type BrowsedTable } from '../../replica/browse.ts';
import { readRowCells } from '../../replica/browse-row.ts';
import { editRowAsClient } from '../../replica/client.ts';
import { nameOfPart, pathPart } from './address.ts';
import { framed, problem, type Desk } from './desk.ts';
import { editHtml, editOf, isAsSeen, movedWords, type EditView } from './edit.ts';
import type { PageReply } from './request.ts';

/** The form, empty for the row `new`. */
export function answerEditForm(desk: Desk, table: BrowsedTable, row: string): PageReply {
  const reason = reasonNotHere(table);
  if (reason !== null) return problem(403, reason, 'Write push: true for it in the configuration.');
  if (row === 'new') {
    if (!table.allowsAdd) return problem(403, 'You may not add rows to this table');
    return form(desk, { table, id: null, cells: null, typed: null, trouble: null });
  }
  const id = /^-?\d{1,15}$/.test(row) ? Number(row) : null;
  const cells = id === null ? null : readRowCells(desk.reader, table, id);
  if (cells === null) return problem(404, 'There is no such row');
  return form(desk, { table, id, cells, typed: null, trouble: null });
}

function reasonNotHere({ isTwoWay }: BrowsedTable): string | null {
  return isTwoWay ? null : 'This table is a read-only mirror';
}

function form(desk: Desk, view: Omit<EditView, 'formToken'>, status = 200): PageReply {
  const body = editHtml({ ...view, formToken: desk.request.formToken });
  return framed(desk, { title: `Edit ${view.table.name} · rowsync`, place: 'Browse' }, body, status);
}

/** Makes the edit that a form sent. */
export function answerEdit(desk: Desk, fields: NonNullable<Desk['request']['form']>): PageReply {
  const name = nameOfPart(new Map(fields).get('table') ?? '') ?? '';
  const table = findBrowsedTable(desk.reader, name);
  if (table === null) return problem(404, 'There is no such table', 'It may have another name now.');
  const reason = reasonNotHere(table);
  if (reason !== null) return problem(403, reason);
  const given = editOf(fields, table);
  if (given === null) return problem(400, 'This is not what the page sends');
  const { edit, typed } = given;
  const outcome = editRowAsClient(desk.request.replicaPath, edit, isAsSeen);
  if (outcome.kind === 'done') {
    const said = outcome.changedCount === 0 ? 'same' : edit.kind;
    return {
      status: 303,
      type: 'text/plain; charset=utf-8',
      headers: { Location: `/browse/${pathPart(table.name)}/${outcome.id}?_said=${said}` },
      chunks: [],
    };
  }
  const words = {
    refused: outcome.kind === 'refused' ? outcome.words : '',
    moved: outcome.kind === 'moved' ? movedWords(outcome.columns, edit.kind) : '',
    gone: 'there is no such row any more',
  }[outcome.kind];
  const id = edit.kind === 'insert' ? null : edit.id;
  const cells = id === null ? null : readRowCells(desk.reader, table, id);
  // A form to delete a row had no fields.
  return form(desk, { table, id, cells, typed: edit.kind === 'delete' ? null : typed, trouble: words }, 409);
}
