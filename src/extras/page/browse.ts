/**
 * The pages for browsing rows: the list of tables, and one table with its columns, filters, order, search and SQL.
 * Everything is a link or a form in the address, so it works without scripts and can be sent to a colleague.
 */
import { ageText, bytesText, countText, plural } from '../../base/text.ts';
import {
  FACET_CHARS_MAX,
  type BrowsedColumn,
  type BrowsedTable,
  type BrowseQuery,
  type Cell,
  type CutCell,
  type Facet,
  type RowsPage,
  hasTimes,
  stampOf,
  countRows,
  readFacet,
  readRowsPage,
  shownCountSql,
  shownSql,
} from '../shared/rows-page.ts';
import type { Connection } from '../../replica/connection.ts';
import type { TableStatus } from '../../replica/reader.ts';
import { filterText, mistakesIn, pathPart, queryOf, shownColumns, type TableQuery } from './address.ts';
import { readReferences, type PageInput } from './context.ts';
import { exact, html, type Html } from './html.ts';
import { tableHtml } from './layout.ts';
import { cutText, fileNameOf, momentHtml, shownValue, typedHtml, waitingText } from './values.ts';

export function tablesHtml(tables: readonly BrowsedTable[], statuses: readonly TableStatus[], nowMs: number): Html {
  const statusByName = new Map(statuses.map((status) => [status.table, status]));
  if (tables.length === 0) {
    return html`<h1>No tables yet</h1>
      <p class="about">They are listed here as soon as the first pull has begun.</p>`;
  }
  return html`<h1>${plural(tables.length, 'table')}</h1>
    ${tableHtml('tables list', 'Tables to look through', {
      rows: tables,
      columns: [
        {
          title: 'Table',
          cell: ({ name, isTwoWay }) =>
            html`<a href="/browse/${pathPart(name)}"><bdi>${name}</bdi></a
              >${isTwoWay && html` <small class="mode">two-way</small>`}`,
        },
        { title: 'Rows', isNumber: true, cell: ({ rowCount }) => countText(rowCount) },
        { title: 'Columns', isNumber: true, cell: ({ columns }) => countText(columns.length) },
        {
          title: 'Checked',
          isNumber: true,
          cell: ({ name }) => ageText(statusByName.get(name)?.freshSince ?? null, nowMs),
        },
      ],
    })}`;
}

type TableView = ReturnType<typeof readTableView>;

/** Rows of a table whose values are counted for every page of it, which takes some milliseconds. */
const FEW_VALUES_ROWS_MAX = 5_000;

/** Columns that have a choice of few values, which repeat, and these; none in a large table. */
export function readFewValues(
  from: Connection,
  table: BrowsedTable,
  columns: readonly string[],
  query: BrowseQuery,
): ReadonlyMap<string, Facet> {
  if (table.rowCount > FEW_VALUES_ROWS_MAX) return new Map();
  const facets = columns.map((column) => readFacet(from, table, column, query));
  const few = facets.filter(({ values, isCut }) => values.length > 1 && !isCut && (values[0]?.count ?? 0) > 1);
  return new Map(few.map((facet) => [facet.column, facet]));
}

export function readTableView({ reader, query: fields, request }: PageInput, table: BrowsedTable, query: TableQuery) {
  const columns = shownColumns(table, query);
  const page = readRowsPage(reader, table, columns, query);
  const valuesOf = (index: number): readonly Cell[] => page.rows.map(({ cells }) => cells[index]?.value ?? null);
  return {
    table,
    status: reader.status().find((each) => each.table === table.name) ?? null,
    query,
    columns,
    page,
    references: readReferences(reader, table, columns, valuesOf),
    sql: shownSql(table, columns, query),
    countSql: shownCountSql(table, query),
    /** Null without filters, and where counting takes long. */
    matchCount: query.filters.length === 0 && query.search === '' ? null : countRows(reader, table, query),
    facets: query.facets.map((column) => readFacet(reader, table, column, query)),
    fewValues: readFewValues(reader, table, columns, query),
    mistakes: mistakesIn(fields, table),
    nowMs: request.nowMs,
  };
}

export function rowsHtml(view: TableView): Html {
  const { table, query, page } = view;
  return html`<p class="crumbs"><a href="/browse">Tables</a></p>
    <h1><bdi>${table.name}</bdi></h1>
    <p class="about">${aboutText(view)}</p>
    ${view.mistakes.map((words) => html`<p class="problem">${words}</p>`)} ${toolsHtml(view)} ${chipsHtml(view)}
    ${view.facets.length !== 0 && html`<div class="facets">${view.facets.map((facet) => facetHtml(view, facet))}</div>`}
    ${page.rows.length === 0 && emptyHtml(view)}
    <div class="scroll rows" role="region" aria-label="Rows" tabindex="0">
      <table class="grid pinned">
        <caption class="unseen">
          Rows of ${table.name}
        </caption>
        <thead>
          <tr>
            ${headHtml(view, '_id')}${view.columns.map((column) => headHtml(view, column))}
          </tr>
          <tr class="filters">
            ${fieldHtml(view, '_id')}${view.columns.map((column) => fieldHtml(view, column))}
          </tr>
        </thead>
        <tbody>
          ${page.rows.map(
            ({ id, cells }) =>
              html`<tr>
                <th scope="row"><a href="/browse/${pathPart(table.name)}/${id}">${id}</a></th>
                ${cells.map((cell, index) => cellHtml(view, view.columns[index] ?? '', cell))}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${turnHtml(table, query, page)}`;
}

function aboutText({ table, status, nowMs }: TableView): Html {
  const waiting = status === null ? '' : waitingText(status);
  return html`${plural(table.rowCount, 'row')}, checked against the origin
  ${ageText(status?.freshSince ?? null, nowMs)}${
    waiting !== '' && html`; <a href="/edits/${pathPart(table.name)}">edited rows: ${waiting}</a>`
  }.
  ${
    table.isTwoWay && table.allowsAdd
      ? html`<a href="/edit/${pathPart(table.name)}/new">New row</a>`
      : table.isTwoWay
        ? null
        : 'A read-only mirror.'
  }`;
}

function toolsHtml(view: TableView): Html {
  const { table, query, sql, mistakes } = view;
  const address = new URLSearchParams({ sql, name: table.name }).toString();
  return html`<div class="tools">
    <form id="filters" method="get" action="/browse/${pathPart(table.name)}" role="search">
      <label class="unseen" for="search">Search text in all columns</label>
      <input id="search" type="search" name="_q" value="${exact(query.search)}" placeholder="Search all columns" />
      ${keptHtml({ ...query, filters: [], search: '', start: null })}
      <button>Apply</button>
    </form>
    ${
      mistakes.length === 0 &&
      html`<p class="exports">
        <a href="/export/csv?${exact(address)}" download>CSV</a>
        <a href="/export/json?${exact(address)}" download>JSON</a>
      </p>`
    }
    ${columnsHtml(view)} ${facetLinksHtml(view)}
    <details>
      <summary>SQL</summary>
      <pre class="sql"><code>${sql}</code></pre>
      <p><a href="/ask?sql=${encodeURIComponent(sql.toWellFormed())}">Ask it, or change it first</a></p>
    </details>
    ${HELP}
  </div>`;
}

/** What a form keeps of the address. */
function keptHtml(query: TableQuery): readonly Html[] {
  return [...new URLSearchParams(queryOf(query))].map(
    ([name, value]) => html`<input type="hidden" name="${exact(name)}" value="${exact(value)}" />`,
  );
}

/** Values of a column that are named beside it. */
const NAMED_VALUES_MAX = 4;

function facetLinksHtml(view: TableView): Html {
  const { table, query, columns, fewValues } = view;
  return html`<details>
    <summary>Facets</summary>
    <ul class="facet">
      ${columns.map((column) => {
        const facets = [...new Set([...query.facets, column])];
        return html`<li>
          <a href="/browse/${pathPart(table.name)}${exact(queryOf({ ...query, facets, start: null }))}"
            ><bdi>${column}</bdi></a
          >
          ${fewValuesHtml(view, fewValues.get(column))}
        </li>`;
      })}
    </ul>
  </details>`;
}

function fewValuesHtml(view: TableView, facet: Facet | undefined): Html | null {
  if (facet === undefined) return null;
  const { column, values } = facet;
  const named = values.slice(0, NAMED_VALUES_MAX);
  const rest = values.length - named.length;
  return html`<small
    >${named.map(({ value, count }, index) => html`${index > 0 && ', '}${valueLink(view, column, value)} ${countText(count)}`)}${rest > 0 && ` and ${plural(rest, 'more value')}`}</small
  >`;
}

/** A value that leads to its rows. */
function valueLink(view: TableView, column: string, value: Cell): Html {
  const { table, query } = view;
  const others = query.filters.filter((filter) => filter.column !== column);
  const text = value === null || value === '' ? 'no value' : String(shownValue(value));
  const words = typedHtml(columnOf(view, column), value) ?? text;
  const op = value === null || value === '' ? 'empty' : '=';
  const filter = { column, op, value: String(value ?? '') } as const;
  const to = queryOf({ ...query, filters: [...others, filter], start: null });
  return value instanceof Uint8Array || text.length >= FACET_CHARS_MAX
    ? html`<bdi>${text}</bdi>`
    : html`<a href="/browse/${pathPart(table.name)}${exact(to)}"><bdi>${words}</bdi></a>`;
}

function facetHtml(view: TableView, { column, values, isCut }: Facet): Html {
  const { table, query } = view;
  const path = pathPart(table.name);
  const facets = query.facets.filter((each) => each !== column);
  return html`<section class="card" aria-label="Values of ${column}">
    <p>
      <b><bdi>${column}</bdi></b>
      <a
        href="/browse/${path}${exact(queryOf({ ...query, facets, start: null }))}"
        aria-label="Without the facet ${column}"
        >✕</a
      >
    </p>
    <ul class="facet">
      ${values.map(({ value, count }) => html`<li>${valueLink(view, column, value)} <small>${countText(count)}</small></li>`)}
      ${isCut && html`<li class="none">and more values</li>`}
    </ul>
  </section>`;
}

function columnsHtml({ table, query, columns }: TableView): Html {
  const chosen = new Set(columns);
  return html`<details>
    <summary>Columns</summary>
    <form method="get" action="/browse/${pathPart(table.name)}" class="columns">
      ${keptHtml({ ...query, columns: null, start: null })}
      <p>${plural(columns.length, 'column')} of ${countText(table.columns.length)} shown.</p>
      <div class="checks">
        ${table.columns.map(
          ({ name }) =>
            html`<label
              >${
                chosen.has(name)
                  ? html`<input type="checkbox" name="_col" value="${exact(name)}" checked />`
                  : html`<input type="checkbox" name="_col" value="${exact(name)}" />`
              } <bdi>${name}</bdi></label
            >`,
        )}
      </div>
      <button>Show these</button>
    </form>
  </details>`;
}

/** What can be typed into the field of a column, and what it means. */
const FILTER_FORMS = [
  [['Open'], 'exactly this'],
  [['~part'], 'has this text in it'],
  [['>1000', '<=2026-01-31'], 'more than, at most; also >= and <'],
  [['2026-01', '2026'], 'a day of this month or year'],
  [['2026-01-31 09:30 +02:00'], 'a time as it is shown; without an offset it is in UTC, and so is a day alone'],
  [['!=Open'], 'anything else'],
  [['='], 'no value'],
  [['!='], 'any value'],
] as const;

const HELP = html`<details>
  <summary>How to filter</summary>
  <dl class="help">
    ${FILTER_FORMS.map(
      ([forms, meaning]) =>
        html`<div>
          <dt>${forms.map((form) => html`<code>${form}</code> `)}</dt>
          <dd>${meaning}</dd>
        </div>`,
    )}
  </dl>
</details>`;

function chipsHtml({ table, query, countSql, matchCount }: TableView): Html | null {
  const path = pathPart(table.name);
  const chip = (text: string, rest: TableQuery): Html =>
    html`<li>
      <bdi>${text}</bdi>
      <a href="/browse/${path}${exact(queryOf({ ...rest, start: null }))}" aria-label="Without ${text}">✕</a>
    </li>`;
  const { filters, search, sort } = query;
  if (filters.length === 0 && search === '' && sort === null) return null;
  return html`<ul class="chips" aria-label="What is shown">
    ${search !== '' && chip(`“${search}” anywhere`, { ...query, search: '' })}
    ${filters.map((filter) =>
      chip(`${filter.column} ${wordsOf(filter)}`, { ...query, filters: filters.filter((each) => each !== filter) }),
    )}
    ${sort !== null && chip(`by ${sort.column}${sort.isDescending ? ', largest first' : ''}`, { ...query, sort: null })}
    ${
      (filters.length !== 0 || search !== '') &&
      html`<li class="plain">
        ${matchCount === null ? html`<a href="/ask?sql=${encodeURIComponent(countSql.toWellFormed())}">Count them</a>` : `${plural(matchCount, 'row')} of ${countText(table.rowCount)}`}
      </li>`
    }
  </ul>`;
}

function wordsOf({ op, value }: TableQuery['filters'][number]): string {
  if (op === 'empty') return 'has no value';
  if (op === 'given') return 'has a value';
  return op === 'has' ? `has “${value}”` : `${op} ${value}`;
}

function emptyHtml({ table, query }: TableView): Html {
  if (query.filters.length === 0 && query.search === '') return html`<p class="nothing">No rows.</p>`;
  const isRelative = query.filters.some(({ column, value }) => {
    return hasTimes(table.columns.find(({ name }) => name === column)) && stampOf(`${value}Z`) !== null;
  });
  return html`<p class="nothing">
    No rows match these filters. ${isRelative && 'A time without an offset such as +09:00 is in UTC. '}<a
      href="/browse/${pathPart(table.name)}"
      >Show all ${countText(table.rowCount)}</a
    >
  </p>`;
}

/** Numbers are kept in columns for any value, which all others are not. */
function isNumeric(column: BrowsedColumn | undefined): boolean {
  return column?.storedAs === 'ANY';
}

function columnOf({ table }: TableView, name: string): BrowsedColumn | undefined {
  return table.columns.find((column) => column.name === name);
}

function headHtml(view: TableView, name: string): Html {
  const { table, query } = view;
  const { sort } = query;
  const isSorted = sort?.column === name;
  const next = isSorted && sort.isDescending ? null : { column: name, isDescending: isSorted };
  const order = !isSorted ? 'none' : sort.isDescending ? 'descending' : 'ascending';
  const sign = !isSorted ? '' : sort.isDescending ? ' ↓' : ' ↑';
  const column = columnOf(view, name);
  return html`<th scope="col" aria-sort="${order}" class="${isNumeric(column) ? 'number' : ''}">
    <a
      href="/browse/${pathPart(table.name)}${exact(queryOf({ ...query, sort: next, start: null }))}"
      title="${column?.type ?? 'number of the row'}"
      ><bdi>${name}</bdi>${sign}</a
    >${(column?.mask ?? null) !== null && html` <small title="${column?.mask ?? ''}">masked</small>`}
  </th>`;
}

function fieldHtml({ query }: TableView, name: string): Html {
  const filter = query.filters.find(({ column }) => column === name);
  return html`<td>
    <input
      form="filters"
      name="${exact(name)}"
      value="${exact(filter === undefined ? '' : filterText(filter))}"
      aria-label="Filter ${name}"
      autocomplete="off"
    />
  </td>`;
}

function cellHtml(view: TableView, name: string, { value, bytes }: CutCell): Html {
  const column = columnOf(view, name);
  if (value === null)
    return html`<td class="null ${isNumeric(column) ? 'number' : ''}"><span class="unseen">no value</span></td>`;
  if (value instanceof Uint8Array)
    return html`<td><em class="none">${bytesText(bytes ?? value.length)} of bytes</em></td>`;
  const reference = view.references.get(name);
  const target = reference?.idByKey.get(String(value));
  if (reference !== undefined && target !== undefined) {
    return html`<td>
      <a href="/browse/${pathPart(reference.table.name)}/${target}"><bdi>${String(value)}</bdi></a>
    </td>`;
  }
  const text = column?.type.toLowerCase() === 'attachment' ? fileNameOf(String(value)) : String(value);
  const cut = bytes === null ? null : html` <em class="none">… ${bytesText(bytes)}</em>`;
  const shown = typedHtml(column, value) ?? momentHtml(cutText(text));
  return html`<td class="${isNumeric(column) ? 'number' : ''}">
    <div class="cut"><bdi>${shown}</bdi>${cut}</div>
  </td>`;
}

function turnHtml(table: BrowsedTable, query: TableQuery, { rows, hasBefore, hasAfter }: RowsPage): Html | null {
  const [first, last] = [rows[0]?.id, rows.at(-1)?.id];
  if (!hasBefore && !hasAfter) return null;
  const path = pathPart(table.name);
  const link = (words: string, start: TableQuery['start']): Html =>
    html`<a href="/browse/${path}${exact(queryOf({ ...query, start }))}">${words}</a>`;
  return html`<nav class="turn" aria-label="Pages of rows">
    ${hasBefore && link('« First', null)}
    ${hasBefore && first !== undefined && link('‹ Previous', { direction: 'before', id: first })}
    ${hasAfter && last !== undefined && link('Next ›', { direction: 'after', id: last })}
  </nav>`;
}
