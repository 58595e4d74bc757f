/**
 * The page of one row: its cells, waiting edits beside the origin's values, its conflicts with buttons, and its files
 * with revisions.
 */
import { ageText, bytesText, shellWord } from '../../base/text.ts';
import type { BrowsedColumn, BrowsedTable, CutCell } from '../shared/rows-page.ts';
import {
  readBaseRow,
  readDeletedRow,
  readNeighbours,
  readRowCells,
  readRowConflicts,
  readRowFailures,
  readRowFiles,
  readWaitingCells,
  readHeldPush,
} from '../shared/browse-row.ts';
import { rowNamer } from '../../replica/bookkeeping/row-names.ts';
import { pathPart } from './address.ts';
import { conflictHtml, failureHtml, showConflicts } from './decisions.ts';
import { decideForm, sectionHtml } from './layout.ts';
import { html, type Html } from './html.ts';
import { fileNameOf, momentHtml, rowHtml, typedHtml } from './values.ts';
import { planLocally } from '../putback/local-plan.ts';
import { readJournalled, changesHtml, waitingCellsHtml } from './history.ts';
import { isRenumbering, readIdAtOrigin, readNewestEntries } from '../history/entries.ts';
import { editVersion } from '../../replica/bookkeeping/row-states.ts';
import { takenVersion } from '../../replica/bookkeeping/conflicts.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { crumbsHtml, framed, readReferences, redirect, type PageInput } from './context.ts';
import type { AnswerChunks } from '../shared/child-process.ts';

const LIFE_MAX = 200;

type RowView = ReturnType<typeof readRow>;

function rowPageHtml(view: RowView): Html {
  const { table, id, name, conflicts, failures, formToken, nowMs, life } = view;
  const open = conflicts.filter(({ state }) => state === 'open');
  const closed = conflicts.filter(({ state }) => state !== 'open');
  return html`${crumbsHtml(table, neighboursHtml(view))}
    <h1>
      <bdi>${table.name}</bdi> · row
      ${id}${name !== '' && name !== String(id) && html` <small><bdi>${name}</bdi></small>`}
    </h1>
    ${deletedHtml(view)} ${waitingHtml(view)} ${open.map((line) => conflictHtml(line, formToken, nowMs))}
    ${failures.map((line, index) => failureHtml(line, { index, formToken, nowMs }))} ${cellsHtml(view)}
    ${filesHtml(view)} ${life !== null && sectionHtml('life', 'History', life)}
    ${
      closed.length !== 0 &&
      html`<section aria-labelledby="former">
        <h2 id="former">Former conflicts</h2>
        <ul class="former">
          ${closed.map(
            (line) =>
              html`<li>
                ${line.column === null ? 'The row' : html`<bdi>${line.column}</bdi>`}: ${line.state},
                ${takenVersion(line) === '' ? '' : `${takenVersion(line)} taken, `}${ageText(line.at, nowMs)}
              </li>`,
          )}
        </ul>
      </section>`
    }`;
}

function neighboursHtml({ table, neighbours: { before, after } }: RowView): Html {
  const path = pathPart(table.name);
  return html`${before !== null && html`<a href="/browse/${path}/${before}">‹ Row ${before}</a>`}
  ${after !== null && html`<a href="/browse/${path}/${after}">Row ${after} ›</a>`}`;
}

function deletedHtml(view: RowView): Html | null {
  const { table, id, cells, deleted, waiting, nowMs } = view;
  if (cells !== null || waiting.length > 0) return null;
  if (deleted === null && id < 0)
    return html`<p class="nothing">
      There is no row ${id} here. A new row gets another number once the origin has taken it:
      <a href="/browse/${pathPart(table.name)}?_sort=-_id">see the newest rows</a>.
    </p>`;
  if (deleted === null) return html`<p class="nothing">There is no such row here.</p>`;
  return html`<section>
    <p class="problem">${deleted.what} ${ageText(deleted.at, nowMs)}: ${deleted.reason}. Its last values:</p>
    <div class="card">${rowHtml(deleted.lastValues, null, table.columns)}</div>
    ${putbackHtml(view)}
  </section>`;
}

/** How the row comes back at the origin. Only planned on request, since that reads all that refers to the row. */
function putbackHtml({ table, id, putback }: RowView): Html {
  if (putback === null)
    return html`<p><a class="button" href="/browse/${pathPart(table.name)}/${id}?_putback=1#putback">Put back…</a></p>`;
  const along = putback.along.length === 0 ? '' : ` --with ${shellWord(putback.along.join(','))}`;
  const command = `rowsync putback${along} ${shellWord(table.name)} ${id}`;
  return html`<section aria-labelledby="putback">
    <h2 id="putback">Put back at the origin</h2>
    <pre class="sql">${putback.text}</pre>
    <p>
      This plan is made from the replica alone. The command asks the origin what it has now, and shows the plan again;
      with
      <code>--confirm</code> it puts the rows back.
    </p>
    <pre class="sql">${command}</pre>
  </section>`;
}

const STATES: Readonly<Record<string, string>> = {
  edited: 'The next push sends this.',
  sending: 'It was sent. Without an answer, it is looked up before anything is sent again.',
  refused: 'The origin refused it, or it cannot be sent; see below.',
  conflicted: 'It waits for your decision; see below.',
  inDoubt: 'It may have been created, or not; see below.',
};

function waitingHtml({ table, id, waiting, deletedBase, held, seen, formToken, nowMs }: RowView): Html | null {
  const [first] = waiting;
  if (first === undefined) return null;
  const what = first.kind === 'insert' ? 'New row' : first.kind === 'delete' ? 'Deleted here' : 'Edited here';
  const path = pathPart(table.name);
  const state =
    first.state === 'edited' && held !== null
      ? html`${held}. <a href="/edits/${path}">See the edits</a>.`
      : html`${STATES[first.state] ?? first.state}`;
  return html`<section class="card pending" aria-labelledby="pending">
    <h2 id="pending">${what}, not at the origin yet</h2>
    <p class="meta">${state} Since ${ageText(first.since, nowMs)}.</p>
    ${
      deletedBase !== null &&
      html`<p class="label">As the origin has it</p>
        ${rowHtml(deletedBase, null, table.columns)}`
    }
    ${waitingCellsHtml(waiting, { cellsMax: Infinity, columns: table.columns })}
    ${decideForm(
      formToken,
      { kind: 'discard', table: table.name, rowId: id, seen: { table: table.name, rowId: id, version: seen } },
      ['Undo the edit'],
      first.kind === 'insert' ? `/browse/${path}` : `/browse/${path}/${id}`,
    )}
  </section>`;
}

function cellsHtml(view: RowView): Html | null {
  const { table, cells, id } = view;
  if (cells === null) return null;
  return html`<section aria-labelledby="cells">
    <h2 id="cells">Cells</h2>
    <p class="buttons">
      ${table.isTwoWay && html`<a class="button" href="/edit/${pathPart(table.name)}/${id}">Edit</a>`}
      ${
        view.isAtOrigin &&
        html`<a class="button" href="/origin/${pathPart(table.name)}/${id}" rel="noreferrer">Open at the origin</a>`
      }
    </p>
    <dl class="cells card">
      ${table.columns.map(
        (column, index) =>
          html`<div>
            <dt title="${column.type}"><bdi>${column.name}</bdi></dt>
            <dd>${cellHtml(view, column, cells[index] ?? { value: null, bytes: null })}</dd>
          </div>`,
      )}
    </dl>
  </section>`;
}

function cellHtml({ table, id, references, files }: RowView, column: BrowsedColumn, { value, bytes }: CutCell): Html {
  if (value === null) return html`<em class="none">no value</em>`;
  const type = column.type.toLowerCase();
  const typed = typedHtml(column, value);
  if (typed !== null) return typed;
  if (value instanceof Uint8Array) return html`<em class="none">${bytesText(bytes ?? value.length)} of bytes</em>`;
  const reference = references.get(column.name);
  const target = reference?.idByKey.get(String(value));
  if (reference !== undefined && target !== undefined) {
    return html`<a href="/browse/${pathPart(reference.table.name)}/${target}"><bdi>${String(value)}</bdi></a>`;
  }
  if (type === 'attachment') {
    const file = files.find((each) => each.column === column.name && each.state === 'here');
    return html`<bdi>${fileNameOf(String(value))}</bdi> ${
        file !== undefined && html`<a href="#files">${file.revision > 1 ? 'all revisions' : 'open'}</a>`
      }`;
  }
  const text = String(value);
  if (text === '') return html`<em class="none">empty text</em>`;
  const rest =
    bytes === null
      ? null
      : html` <a href="/browse/${pathPart(table.name)}/${id}/${pathPart(column.name)}" download
          >all ${bytesText(bytes)} as a text file</a
        >`;
  return html`<bdi class="value">${momentHtml(text.toWellFormed())}${bytes === null ? '' : '…'}</bdi>${rest}`;
}

/** Pictures that browsers show without running anything in them; the bytes count, not the name. */
const PICTURES = /^image\/(?:png|jpeg|gif|webp)$/i;

function filesHtml({ files, nowMs }: RowView): Html | null {
  if (files.length === 0) return null;
  return html`<section aria-labelledby="files">
    <h2 id="files">Files</h2>
    <ul class="files">
      ${files.map(
        (file) =>
          html`<li class="card">
            ${
              file.state === 'here' &&
              PICTURES.test(file.type ?? '') &&
              html`<a href="/file/${file.id}"><img src="/file/${file.id}" alt="${file.name}" loading="lazy" /></a>`
            }
            <p>
              <b><bdi>${file.name}</bdi></b>
              <small
                ><bdi>${file.column}</bdi>, revision
                ${file.revision}${
                  file.bytes === null ? '' : `, ${bytesText(file.bytes)}`
                }${file.createdAt === null ? '' : `, ${ageText(file.createdAt, nowMs)}`}${
                  file.author === null ? '' : `, by ${file.author}`
                }</small
              >
            </p>
            ${
              file.state === 'here'
                ? html`<p>
                    <a href="/file/${file.id}/save" download>Download</a>
                    <a href="/file/${file.id}/text">View as text</a>
                  </p>`
                : html`<p class="reason">${file.state}${file.reason === null ? '' : `: ${file.reason}`}</p>`
            }
            ${file.vanishedAt !== null && html`<p class="reason">The origin no longer has it.</p>`}
          </li>`,
      )}
    </ul>
  </section>`;
}

export function answerRow(page: PageInput, table: BrowsedTable, id: number): AnswerChunks {
  const view = readRow(page, table, id);
  const idNow = view.cells === null ? readIdAtOrigin(page.reader, table.name, id) : null;
  if (idNow !== null) return redirect(`/browse/${pathPart(table.name)}/${idNow}?_said=numbered`);
  const isKnown = view.cells !== null || view.deleted !== null || view.waiting.length > 0;
  const title = `${table.name} ${id} · rowsync`;
  return framed(page, { title, place: 'Browse', liveSeconds: 60 }, rowPageHtml(view), isKnown ? 200 : 404);
}

function readRemovedRow(reader: ReplicaReader, table: BrowsedTable, id: number) {
  const row = readDeletedRow(reader, table, id);
  if (row === null) return null;
  const reason = row.reason === 'filtered' ? 'the filter of the table leaves it out' : row.reason;
  return { ...row, what: 'Removed here', reason };
}

function readRow({ reader, request, query }: PageInput, table: BrowsedTable, id: number) {
  const { formToken, nowMs } = request;
  const cells = readRowCells(reader, table, id);
  const name = rowNamer(reader)(table.name, id);
  const seen = editVersion(reader, { table: table.name, rowId: id });
  const lines = readJournalled(reader).has(table.name)
    ? readNewestEntries(reader, { table: table.name, id }, LIFE_MAX).filter((line) => !isRenumbering(line))
    : [];
  const waiting = readWaitingCells(reader, table, [id]);
  const [last] = lines;
  const isPushedDelete = id > 0 && waiting.length === 0 && last?.kind === 'delete' && last.cause === 'edit';
  const pushedDelete =
    isPushedDelete && last.before !== null
      ? { what: 'Deleted', at: last.at, reason: 'by an edit here', lastValues: last.before }
      : null;
  const deleted = cells === null && waiting.length === 0 ? (pushedDelete ?? readRemovedRow(reader, table, id)) : null;
  const names = table.columns.map((column) => column.name);
  return {
    table,
    id,
    name,
    /** In the order of the table's columns; null where the row is not here. */
    cells,
    deleted,
    /** How it would come back; null if nobody asked. */
    putback:
      deleted !== null && query.get('_putback') !== null
        ? planLocally(reader, { table: table.name, id }, request)
        : null,
    waiting,
    /** Of a row whose delete waits, what the origin has; null for others, and where a conflict shows it. */
    deletedBase:
      waiting[0]?.kind === 'delete' && waiting[0].state !== 'conflicted' ? readBaseRow(reader, table, id) : null,
    held: readHeldPush(reader, table.id),
    seen,
    conflicts: showConflicts(reader, readRowConflicts(reader, table, id)),
    failures: readRowFailures(reader, table, id).map((line) => ({ ...line, seen, name, columns: table.columns })),
    files: readRowFiles(reader, table, id),
    references: readReferences(reader, table, cells === null ? [] : names, (index) => [cells?.[index]?.value ?? null]),
    neighbours: readNeighbours(reader, table, id),
    /** Null without a history. */
    life: lines.length === 0 ? null : changesHtml(lines, { of: 'one', columnsOf: () => table.columns, nowMs }),
    isAtOrigin: cells !== null && id > 0 && request.recordUrl !== null,
    formToken,
    nowMs,
  };
}
