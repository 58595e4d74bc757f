/**
 * Finds the page for an address and makes it, in the page process. The daemon has checked that the user may see
 * values. An error becomes a page that says so.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { answerAsCsv, answerAsJson } from '../../base/result-formats.ts';
import { asRowsyncError } from '../../base/errors.ts';
import { bytesText, integerFromText } from '../../base/text.ts';
import { boundMemory, findBrowsedTable, readBrowsedTables, type BrowsedTable } from '../shared/rows-page.ts';
import { readFullCell, readFileLine } from '../shared/browse-row.ts';
import { openReader, type ReplicaReader } from '../../replica/reader.ts';
import { nameOfPart, pathPart, queryOf, queryFromAddress } from './address.ts';
import { answerEdit, answerEditForm } from './edit-form.ts';
import { answerEdits } from './waiting-edits.ts';
import { answerAsk, queryAt, SQLITE_BYTES_MAX } from './ask.ts';
import { readTableView, rowsHtml, tablesHtml } from './browse.ts';
import { framed, problem, redirect, saveAs, unknownTable, type PageInput } from './context.ts';
import { jsonAnswer, type AnswerChunks } from '../shared/child-process.ts';
import type { PageRequest } from './request.ts';
import { answerRow } from './row.ts';
import { answerSaving } from './saved-questions.ts';
import { answerToday } from './today.ts';
import { answerWork } from './work.ts';
import { readEvents } from '../history/events.ts';
import { ageBound, staleTables } from '../shared/fresh-tables.ts';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { FileStore } from '../../files/store.ts';
import { html } from './html.ts';

/** Answers a question; never throws but for a defect. */
export function answerPage(request: PageRequest): AnswerChunks {
  let reader: ReplicaReader | undefined;
  try {
    const { path, query } = request;
    const opened = openReader(request.replicaPath);
    reader = opened;
    boundMemory(opened, SQLITE_BYTES_MAX);
    const page = { request, reader: opened, query: new URLSearchParams(query) };
    const reply = answer(page, path.slice(1).split('/'));
    return { ...reply, chunks: closing(reply.chunks, opened) };
  } catch (thrown) {
    reader?.close();
    const { message, hint, kind } = asRowsyncError(thrown);
    return problem({ request, reader: null }, kind === 'usage' ? 400 : 503, message, hint);
  }
}

function* closing(chunks: AnswerChunks['chunks'], reader: ReplicaReader): Generator<string | Uint8Array> {
  try {
    yield* chunks;
  } finally {
    reader.close();
  }
}

function answer(page: PageInput, [place = '', first = '', ...rest]: readonly string[]): AnswerChunks {
  if (page.request.form !== null) {
    const fields = new Map(page.request.form);
    if (!/^(?:save|drop)$/.test(fields.get('kind') ?? '')) return answerEdit(page, page.request.form);
    const outcome = answerSaving(page, fields);
    if (!('words' in outcome)) return outcome;
    const query = new URLSearchParams({ sql: fields.get('sql') ?? '' });
    const unsaved = { name: fields.get('name') ?? '', words: outcome.words };
    return { ...answerAsk({ ...page, query }, '', unsaved), status: outcome.status };
  }
  if (place === '') return answerToday(page);
  if (place === 'changes') return answerChanges(page);
  if (place === 'work' && first === '') return answerWork(page);
  if (place === 'ask' && rest.length === 0) return answerAsk(page, nameOfPart(first) ?? '');
  if (place === 'stale') return answerStale(page);
  if (place === 'export' && /^(?:csv|json)$/.test(first) && rest.length === 0) return answerExport(page, first);
  if (place === 'file') return answerFile(page, [first, ...rest]);
  if (place === 'browse' && first === '') return answerTables(page);
  if (!['browse', 'edit', 'edits', 'origin'].includes(place)) return problem(page, 404, 'There is no such page');
  const table = findBrowsedTable(page.reader, nameOfPart(first) ?? '');
  if (table === null) return unknownTable(page, nameOfPart(first) ?? first);
  const [row = '', column, ...more] = rest;
  if (place === 'edits' && row === '') return answerEdits(page, table);
  if (place === 'edit' && column === undefined) return answerEditForm(page, table, row);
  if (place === 'origin' && column === undefined) return answerOrigin(page, table, row);
  if (place !== 'browse' || more.length > 0) return problem(page, 404, 'There is no such page');
  if (row === '') return answerTable(page, table);
  const id = integerFromText(row);
  if (id === null) return problem(page, 404, 'There is no such row');
  return column === undefined ? answerRow(page, table, id) : answerCell(page, table, { id, column });
}

function answerOrigin(page: PageInput, { id: tableId, originName }: BrowsedTable, row: string): AnswerChunks {
  const { request } = page;
  if (request.recordUrl === null)
    return problem(page, 404, 'No address is known', 'Write http.recordUrl in the configuration.');
  if (!/^\d{1,15}$/.test(row)) return problem(page, 404, 'There is no such row');
  const parts: Readonly<Record<string, string>> = {
    '{tableId}': String(tableId),
    '{table}': encodeURIComponent(originName.toWellFormed()),
    '{id}': row,
  };
  return redirect(
    new URL(request.recordUrl.replaceAll(/\{(?:tableId|table|id)\}/g, (part) => parts[part] ?? part)).href,
  );
}

function answerTables(page: PageInput): AnswerChunks {
  const { reader, request } = page;
  const body = tablesHtml(readBrowsedTables(reader), reader.status(), request.nowMs);
  return framed(page, { title: 'Tables · rowsync', place: 'Browse', liveSeconds: 60, refreshSeconds: 60 }, body);
}

function answerTable(page: PageInput, table: BrowsedTable): AnswerChunks {
  const { query } = page;
  const tableQuery = queryFromAddress(query, table);
  // A form sends every field; the address keeps only the fields that were filled in.
  if ([...query].some(([, value]) => value === ''))
    return redirect(`/browse/${pathPart(table.name)}${queryOf(tableQuery)}`);
  const body = rowsHtml(readTableView(page, table, tableQuery));
  return framed(page, { title: `${table.name} · rowsync`, place: 'Browse', isWide: true, liveSeconds: 60 }, body);
}

/** A cell that is too long for a page, as a file of text that no browser runs. */
function answerCell(
  page: PageInput,
  table: BrowsedTable,
  { id, column: part }: { readonly id: number; readonly column: string },
): AnswerChunks {
  const column = nameOfPart(part) ?? '';
  const isKnown = table.columns.some(({ name }) => name === column);
  const value = isKnown ? readFullCell(page.reader, table, { id, column }) : undefined;
  if (value === undefined) return problem(page, 404, 'There is no such cell');
  const data = value instanceof Uint8Array ? value : String(value ?? '');
  return { status: 200, type: 'application/octet-stream', headers: saveAs(`${column}.txt`), chunks: [data] };
}

/** Tables that a question reads and that are too old for it, by their names at the origin. The daemon asks it first. */
function answerStale({ reader, query, request }: PageInput): AnswerChunks {
  const bound = ageBound(query.get('fresh') ?? '', request.nowMs);
  const stale = staleTables(reader, reader.tablesOf(query.get('sql') ?? ''), bound);
  return jsonAnswer(
    200,
    stale.map(({ name }) => name),
  );
}

/** The whole answer to a query, in a file of a name: `/export/csv?sql=…&name=Order`. */
function answerExport({ reader, query, request }: PageInput, format: string): AnswerChunks {
  const [sql = '', at = '', fresh = ''] = ['sql', 'at', 'fresh'].map((name) => query.get(name) ?? '');
  const given = queryAt(reader, { sql, at, fresh, nowMs: request.nowMs });
  return {
    status: 200,
    type: format === 'csv' ? 'text/csv; charset=utf-8' : 'application/json; charset=utf-8',
    headers: saveAs(`${query.get('name') ?? 'answer'}.${format}`),
    chunks: format === 'json' ? answerAsJson(given) : answerAsCsv(given, { escapeFormulas: true, forTerminal: false }),
  };
}

/** The events after `?after=`. */
function answerChanges({ reader, query, request }: PageInput): AnswerChunks {
  try {
    const source = pathToFileURL(resolve(request.replicaPath)).href;
    const events = readEvents(reader, Number(query.get('after')), source);
    const chunks = events.map(({ seq, json }) => `id: ${seq}\ndata: ${json}\n\n`);
    return { status: 200, type: 'text/event-stream; charset=utf-8', chunks };
  } catch (thrown) {
    const { message, hint, kind } = asRowsyncError(thrown);
    const body = `${message}. ${hint ?? ''}\n`;
    return { status: kind === 'usage' ? 409 : 503, type: 'text/plain; charset=utf-8', chunks: [body] };
  }
}

const CHUNK_BYTES = 256 * 1024;
/** How much of a file is shown as text. */
const TEXT_BYTES_MAX = 128 * 1024;

/** `/file/ID` shows a picture, `/file/ID/save` downloads, `/file/ID/text` shows text. */
function answerFile(page: PageInput, [id = '', how = '']: readonly string[]): AnswerChunks {
  const file = /^\d{1,15}$/.test(id) ? readFileLine(page.reader, Number(id)) : null;
  if (file?.sha256 == null) return problem(page, 404, 'This file is not here');
  const { name } = file;
  const descriptor = openContent(new FileStore(page.request.filesFolder).pathOf(file.sha256));
  if (descriptor === null)
    return problem(page, 404, 'The content of this file is not in the store', 'Run rowsync files verify.');
  const head = readPart(descriptor, how === 'text' ? TEXT_BYTES_MAX : CHUNK_BYTES);
  if (how === 'text') {
    const { size } = fstatSync(descriptor);
    closeSync(descriptor);
    const text = new TextDecoder().decode(head);
    const body = html`<h1><bdi>${name}</bdi></h1>
      <p class="about">
        ${size > head.length ? `The first ${bytesText(head.length)} of ${bytesText(size)}` : bytesText(size)}, as text.
        <a href="/file/${id}/save" download>Download</a>
      </p>
      <pre class="sql"><bdi>${text.replace(/\uFFFD{1,3}$/, '')}</bdi></pre>`;
    return framed(page, { title: `${name} · rowsync`, place: null }, body);
  }
  const chunks = partsOf(descriptor, head);
  const picture = how === '' ? pictureType(head) : null;
  if (picture === null) return { status: 200, type: 'application/octet-stream', headers: saveAs(name), chunks };
  return { status: 200, type: picture, headers: { 'Content-Disposition': 'inline' }, chunks };
}

/** The type of a picture by its first bytes; null if it is not safe to show. */
export function pictureType(head: Uint8Array): string | null {
  const text = Buffer.from(head.subarray(0, 16)).toString('latin1');
  if (text.startsWith('\u0089PNG\r\n\u001A\n')) return 'image/png';
  if (text.startsWith('\u00FF\u00D8\u00FF')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(text)) return 'image/gif';
  return /^RIFF[^]{4}WEBP/.test(text) ? 'image/webp' : null;
}

/** Opens a plain file; a link in its place is not followed. */
function openContent(path: string): number | null {
  try {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (fstatSync(descriptor).isFile()) return descriptor;
    closeSync(descriptor);
    return null;
  } catch {
    return null;
  }
}

function readPart(descriptor: number, bytesMax: number): Uint8Array {
  const buffer = new Uint8Array(bytesMax);
  return buffer.subarray(0, readSync(descriptor, buffer));
}

function* partsOf(descriptor: number, head: Uint8Array): Generator<Uint8Array> {
  try {
    for (let part = head; part.length > 0; part = readPart(descriptor, CHUNK_BYTES)) yield part;
  } finally {
    closeSync(descriptor);
  }
}
