/**
 * The form that edits one row, and the edit in its fields. A cell has a field only if a browser returns its value
 * unchanged.
 */
import { hash } from 'node:crypto';
import { integerFromText } from '../../base/text.ts';
import {
  type BrowsedColumn,
  type BrowsedTable,
  type Cell,
  type CutCell,
  FACET_CHARS_MAX,
  findBrowsedTable,
} from '../shared/rows-page.ts';
import { type RowEdit, editRowAsClient } from '../shared/sql-client.ts';
import type { Stored } from '../../replica/connection.ts';
import { NO_INSERTS } from '../../reconcile/push-plan.ts';
import { isTextType } from '../../wire/column-types.ts';
import { columnType } from '../../wire/schema.ts';
import { pathPart, nameOfPart } from './address.ts';
import { readFewValues } from './browse.ts';
import { exact, html, type Html } from './html.ts';
import { cutText } from './values.ts';
import { hiddenHtml } from './layout.ts';
import { readRowCells } from '../shared/browse-row.ts';
import { reasonRefused, storedFromText } from '../shared/cell-refusals.ts';
import { readIdAtOrigin } from '../history/entries.ts';
import { crumbsHtml, framed, problem, redirect, unknownTable, type PageInput } from './context.ts';
import type { AnswerChunks } from '../shared/child-process.ts';

/** Longer texts are edited with SQL: a form is sent whole. */
const FIELD_CHARS_MAX = 10_000;
const FORM_CHARS_MAX = 60_000;
/** Characters of a value in the words of an answer. */
const WORDS_CHARS_MAX = 200;

export interface EditView {
  readonly table: BrowsedTable;
  /** Null for a new row. */
  readonly id: number | null;
  /** In the order of the table's columns; null for a new row. */
  readonly cells: readonly CutCell[] | null;
  /** What the person typed, by column, if the form is shown again; null for the first time. */
  readonly typed: ReadonlyMap<string, string> | null;
  /** Why nothing was changed; null if there was no attempt. */
  readonly trouble: string | null;
  /** What is wrong with what was typed, by column. */
  readonly mistakes?: ReadonlyMap<string, string>;
  /** Values to choose from, by column, where the table has few. */
  readonly choices: ReadonlyMap<string, readonly string[]>;
  readonly formToken: string;
}

/** A text as a form sends it back: with line breaks of one kind, and nothing for no value. */
function fieldText(value: Cell): string {
  return value === null || value instanceof Uint8Array ? '' : String(value).replaceAll(/\r\n?/g, '\n');
}

function wasOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

function isAsSeen(stored: Stored, was: string): boolean {
  return wasOf(fieldText(stored)) === was;
}

function editHtml({ table, id, cells, typed, trouble, mistakes, choices, formToken }: EditView): Html {
  const path = pathPart(table.name);
  const place = { table: encodeURIComponent(table.name), ...(id === null ? {} : { row: id }) };
  let room = FORM_CHARS_MAX;
  const seen: Html[] = [];
  const fields = table.columns.flatMap((column, index) => {
    if (!column.isWritable) return [];
    const cell = cells?.[index] ?? { value: null, bytes: null };
    const reason = reasonNot(column, cell, room);
    if (reason !== null)
      return [
        html`<p class="field">
          <b><bdi>${column.name}</bdi></b> <small>${reason}</small>
        </p>`,
      ];
    const was = fieldText(cell.value);
    room -= was.length;
    const hidden = html`<input type="hidden" name="${exact(`w:${column.name}`)}" value="${wasOf(was)}" />`;
    seen.push(hidden);
    return [
      fieldHtml(column, hidden, {
        id: `field-${index}`,
        text: typed?.get(column.name) ?? was,
        mistake: mistakes?.get(column.name) ?? null,
        choices: choices.get(column.name) ?? [],
      }),
    ];
  });
  return html`${crumbsHtml(table, id !== null && html`<a href="/browse/${path}/${id}">Row ${id}</a>`)}
    <h1>${id === null ? 'New row in ' : 'Edit '}<bdi>${table.name}</bdi>${id !== null && html` · row ${id}`}</h1>
    ${trouble !== null && html`<p class="problem" role="alert">Nothing was changed: ${trouble}</p>`}
    <p class="about">
      It is the same edit as any SQL client makes. It goes to the origin with the next push; the row shows what is sent.
    </p>
    <form method="post" action="/edit" class="card edit">
      ${hiddenHtml(formToken, { kind: id === null ? 'insert' : 'update', ...place })} ${fields}
      <p class="buttons"><button class="main">${id === null ? 'Add the row' : 'Save'}</button></p>
    </form>
    ${
      id !== null &&
      html`<details>
        <summary>Delete this row</summary>
        <form method="post" action="/edit" class="card">
          ${hiddenHtml(formToken, { kind: 'delete', ...place })}${seen}
          <p>The next push deletes it at the origin as well. Until then the edit can be taken back.</p>
          <button>Delete row ${id}</button>
        </form>
      </details>`
    }`;
}

/** Why a cell has no field; null if it has one. */
function reasonNot(column: BrowsedColumn, { value, bytes }: CutCell, room: number): string | null {
  if (columnType(column.type) === 'Attachment') return 'Files are attached with SQL; see docs/files.md.';
  if (value instanceof Uint8Array) return 'It holds bytes; edit it with SQL.';
  const text = fieldText(value);
  if (bytes !== null || text.length > Math.min(FIELD_CHARS_MAX, room))
    return 'It is too long for a form; edit it with SQL.';
  // A browser would return another text.
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0008\u000B-\u001F]/.test(text) || !text.isWellFormed())
    return 'It has characters that no form can show; edit it with SQL.';
  return null;
}

interface EditField {
  readonly id: string;
  readonly text: string;
  /** What is wrong with what was typed. */
  readonly mistake: string | null;
  readonly choices: readonly string[];
}

function fieldHtml(column: BrowsedColumn, hidden: Html, field: EditField): Html {
  const { id, text, mistake } = field;
  const about = [
    columnType(column.type) === 'Timestamp' && html` <small>in UTC, or with an offset such as +02:00</small>`,
    column.isRequired && text === '' && html` <small>must have a value</small>`,
  ];
  return html`<p class="field">
    <label for="${id}"><bdi>${column.name}</bdi>${about}</label>
    ${inputHtml(column, field)}${hidden}
    ${mistake !== null && html`<small class="problem" id="${id}-why">${mistake}</small>`}
  </p>`;
}

function inputHtml(column: BrowsedColumn, { id, text, mistake, choices }: EditField): Html {
  const name = exact(`v:${column.name}`);
  const [isWrong, why] = mistake === null ? ['false', ''] : ['true', `${id}-why`];
  const type = columnType(column.type);
  if (type === 'Checkbox') {
    const option = (value: string, words: string): Html =>
      value === text
        ? html`<option value="${value}" selected>${words}</option>`
        : html`<option value="${value}">${words}</option>`;
    return html`<select id="${id}" name="${name}" aria-invalid="${isWrong}" aria-describedby="${why}">
      ${option('', 'no value')}${option('1', 'yes')}${option('0', 'no')}
    </select>`;
  }
  if (type === 'Multiline' || text.includes('\n') || text.length > 100) {
    // Browsers drop the first line break in this element.
    return html`<textarea
      id="${id}"
      name="${name}"
      rows="4"
      dir="auto"
      aria-invalid="${isWrong}"
      aria-describedby="${why}"
    >
${exact(text)}</textarea>`;
  }
  const isDate = type === 'Date' && (text === '' || /^\d{4}-\d\d-\d\d$/.test(text));
  const [kind, mode] = isDate ? ['date', 'text'] : type === 'Numeric' ? ['text', 'decimal'] : ['text', 'text'];
  const list = choices.length === 0 ? '' : `${id}-list`;
  const options = choices.map((value) => html`<option value="${exact(value)}"></option>`);
  return html`<input
      id="${id}"
      name="${name}"
      type="${kind}"
      list="${list}"
      inputmode="${mode}"
      dir="auto"
      aria-invalid="${isWrong}"
      aria-describedby="${why}"
      value="${exact(text)}"
      autocomplete="off"
      placeholder="${type === 'Timestamp' ? '2026-01-31T12:00:00Z' : type === 'Time' ? '12:00:00' : ''}"
    />${list !== '' && html`<datalist id="${list}">${options}</datalist>`}`;
}

/** Every cell that was typed and that no trigger takes, with the reason. */
function mistakesIn(page: PageInput, table: BrowsedTable, { kind, cells }: RowEdit): ReadonlyMap<string, string> {
  const judged = cells.filter(({ value, was }) => kind === 'insert' || !isAsSeen(value, was));
  return new Map(
    judged.flatMap(({ column, value }) => {
      const reason = reasonRefused(page.reader, table, { column, value, action: kind });
      return reason === null ? [] : [[column, reason] as const];
    }),
  );
}

const KINDS = ['insert', 'update', 'delete'] as const;

/** The edit in the fields of a form, and what was typed; null if they are not from our form. */
function editOf(
  fields: readonly (readonly [string, string])[],
  table: BrowsedTable,
): { readonly edit: RowEdit; readonly typed: ReadonlyMap<string, string> } | null {
  const byName = new Map(fields);
  const kind = KINDS.find((one) => one === byName.get('kind'));
  const id = kind === 'insert' ? null : integerFromText(byName.get('row') ?? '');
  if (kind === undefined || (id === null && kind !== 'insert')) return null;
  const typed = new Map<string, string>();
  const cells = table.columns.flatMap((column) => {
    const text = byName.get(`v:${column.name}`)?.replaceAll('\r\n', '\n');
    const was = byName.get(`w:${column.name}`) ?? '';
    if (text === undefined) return kind === 'delete' && was !== '' ? [{ column: column.name, value: null, was }] : [];
    typed.set(column.name, text);
    return [{ column: column.name, value: storedFromText(column, text), was }];
  });
  return { edit: { kind, table: table.name, id, cells }, typed };
}

/** What is wrong with a field is said beside it; what no field explains, in the words of SQLite or of a trigger. */
function refusedWords(words: string, columns: readonly string[]): string {
  if (columns.length === 0) return words;
  const list = columns.map((column) => `“${column}”`).join(', ');
  return `${list} cannot be saved like this; the reason is beside ${columns.length === 1 ? 'it' : 'each'}`;
}

function belowWords(kind: RowEdit['kind']): string {
  return kind === 'delete' ? 'The row is shown below as it is now.' : 'What you typed is below.';
}

/** `valueOf` is what a column has now; the form to delete a row shows that anyway. */
function movedWords(
  columns: readonly string[],
  kind: RowEdit['kind'],
  valueOf: (column: string) => string | null,
): string {
  const changes = columns.map((column) => {
    const value = valueOf(column);
    const now = value === null ? 'no value' : `“${cutText(value, WORDS_CHARS_MAX)}”`;
    return kind === 'delete' ? `“${column}” changed` : `“${column}” changed to ${now}`;
  });
  return `${changes.join(', ')} meanwhile. ${belowWords(kind)}`;
}

/** The form, empty for the row `new`. */
export function answerEditForm(page: PageInput, table: BrowsedTable, row: string): AnswerChunks {
  const reason = reasonNotHere(table);
  if (reason !== null) return problem(page, 403, reason, 'Write push: true for it in the configuration.');
  if (row === 'new') {
    if (!table.allowsAdd) return problem(page, 403, `${table.name}: ${NO_INSERTS}`);
    return form(page, { table, id: null, cells: null, typed: null, trouble: null });
  }
  const id = integerFromText(row);
  const cells = id === null ? null : readRowCells(page.reader, table, id);
  if (id === null || cells === null) {
    const idNow = id === null ? null : readIdAtOrigin(page.reader, table.name, id);
    if (idNow !== null) return redirect(`/edit/${pathPart(table.name)}/${idNow}`);
    return problem(page, 404, 'There is no such row');
  }
  return form(page, { table, id, cells, typed: null, trouble: null });
}

function reasonNotHere({ isTwoWay }: BrowsedTable): string | null {
  return isTwoWay ? null : 'This table is a read-only mirror';
}

/** Words that people choose from; of longer ones, only the beginning is known here. */
function readChoices({ reader }: PageInput, table: BrowsedTable): EditView['choices'] {
  const columns = table.columns.filter(({ isWritable, type }) => isWritable && isTextType(columnType(type)));
  const few = readFewValues(
    reader,
    table,
    columns.map(({ name }) => name),
    { filters: [], search: '', sort: null, start: null },
  );
  const wordsOf = ({ value }: { readonly value: Cell }): readonly string[] =>
    typeof value === 'string' && value !== '' && value.length < FACET_CHARS_MAX ? [value] : [];
  return new Map([...few].map(([column, { values }]) => [column, values.flatMap(wordsOf)]));
}

function form(page: PageInput, view: Omit<EditView, 'formToken' | 'choices'>, status = 200): AnswerChunks {
  const choices = readChoices(page, view.table);
  const body = editHtml({ ...view, choices, formToken: page.request.formToken });
  return framed(page, { title: `Edit ${view.table.name} · rowsync`, place: 'Browse' }, body, status);
}

export function answerEdit(page: PageInput, fields: NonNullable<PageInput['request']['form']>): AnswerChunks {
  const name = nameOfPart(new Map(fields).get('table') ?? '') ?? '';
  const table = findBrowsedTable(page.reader, name);
  if (table === null) return unknownTable(page, name);
  const reason = reasonNotHere(table);
  if (reason !== null) return problem(page, 403, reason);
  const given = editOf(fields, table);
  if (given === null) return problem(page, 400, 'Invalid form. Reload the page and try again.');
  const { edit, typed } = given;
  const outcome = editRowAsClient(page.request.replicaPath, edit, isAsSeen);
  if (outcome.kind === 'done') {
    const said = outcome.changedCount === 0 ? 'same' : edit.kind;
    return redirect(`/browse/${pathPart(table.name)}/${outcome.id}?_said=${said}`);
  }
  const idNow = edit.id === null ? null : readIdAtOrigin(page.reader, table.name, edit.id);
  const id = idNow ?? edit.id;
  const cells = id === null ? null : readRowCells(page.reader, table, id);
  const valueOf = (column: string): string | null =>
    fieldText(cells?.[table.columns.findIndex(({ name: own }) => own === column)]?.value ?? null) || null;
  // A row that may not be deleted has no cell at fault.
  const isJudged = outcome.kind === 'refused' && edit.kind !== 'delete';
  const mistakes = isJudged ? mistakesIn(page, table, edit) : new Map<string, string>();
  const words = {
    refused: outcome.kind === 'refused' ? refusedWords(outcome.words, [...mistakes.keys()]) : '',
    moved: outcome.kind === 'moved' ? movedWords(outcome.columns, edit.kind, valueOf) : '',
    gone:
      idNow === null
        ? 'there is no such row any more'
        : `the origin has taken this new row, and the row has the number ${idNow} now. ${belowWords(edit.kind)}`,
  }[outcome.kind];
  // A form to delete a row had no fields.
  return form(page, { table, id, cells, typed: edit.kind === 'delete' ? null : typed, trouble: words, mistakes }, 409);
}
