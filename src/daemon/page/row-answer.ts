/**
 * The page of one row, read from the replica. Input: a table and an id. Output: the answer, or a page that says that there is no such row.
 */
import type { BrowsedTable } from '../../replica/browse.ts';
import {
  readDeletedRow,
  readNeighbours,
  readRowCells,
  readRowConflicts,
  readRowFailures,
  readRowFiles,
  readWaitingCells,
} from '../../replica/browse-row.ts';
import { readJournalled, readLife } from '../../replica/browse-history.ts';
import { editVersion } from '../../replica/bookkeeping/row-states.ts';
import { framed, readReferences, stampColumns, type Desk } from './desk.ts';
import { html } from './html.ts';
import { changesHtml } from './life.ts';
import type { PageReply } from './request.ts';
import { rowPageHtml } from './row.ts';

/** Reads and makes it. */
export function answerRow(desk: Desk, table: BrowsedTable, id: number): PageReply {
  const { reader, request } = desk;
  const cells = readRowCells(reader, table, id);
  const deleted = cells === null ? readDeletedRow(reader, table, id) : null;
  const waiting = readWaitingCells(reader, table, id);
  const seen = editVersion(reader, { table: table.name, rowId: id });
  const lines = readJournalled(reader).has(table.name) ? readLife(reader, { table: table.name, id }) : [];
  const names = table.columns.map(({ name }) => name);
  const body = rowPageHtml({
    table,
    id,
    cells,
    deleted,
    waiting,
    seen,
    conflicts: readRowConflicts(reader, table, id),
    failures: readRowFailures(reader, table, id).map((line) => ({ ...line, seen })),
    files: readRowFiles(reader, table, id),
    references:
      cells === null ? new Map() : readReferences(reader, table, names, (index) => [cells[index]?.value ?? null]),
    neighbours: readNeighbours(reader, table, id),
    life:
      lines.length === 0
        ? null
        : changesHtml(lines, { of: 'one', stampsOf: stampColumns([table]), nowMs: request.nowMs }),
    isAtOrigin: cells !== null && id > 0 && request.recordUrl !== null,
    formToken: request.formToken,
    nowMs: request.nowMs,
  });
  const said = request.said === null ? null : html`<p class="said" role="status">${request.said}</p>`;
  const isKnown = cells !== null || deleted !== null || waiting.length > 0;
  return framed(
    desk,
    { title: `${table.name} ${id} · rowsync`, place: 'Browse' },
    html`${said}${body}`,
    isKnown ? 200 : 404,
  );
}
