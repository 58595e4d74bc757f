/**
 * The address of a table's page, `?Status=Open&Total=>1000&_sort=-Total`, and addresses that the pages link to. A
 * parameter with the name of a column is a filter; ours begin with `_`. Every address can be sent to a colleague, and
 * holds no secret.
 */
import { integerFromText } from '../../base/text.ts';
import {
  isNumericColumn,
  missedForm,
  numberOf,
  type BrowsedTable,
  type Filter,
  type BrowseQuery,
} from '../shared/rows-page.ts';

export interface TableQuery extends BrowseQuery {
  /** Columns to show, in their order; null for the default. */
  readonly columns: readonly string[] | null;
  readonly facets: readonly string[];
}

const COLUMNS_SHOWN_MAX = 24;

const OPERATORS = ['<=', '>=', '<>', '!=', '<', '>', '='] as const;

const FACETS_MAX = 6;

/** Reads the query of an address; what names no column is left out (`mistakesIn` says so). */
export function queryFromAddress(query: URLSearchParams, table: BrowsedTable): TableQuery {
  const names = new Set(['_id', ...table.columns.map(({ name }) => name)]);
  const filters = [...query].flatMap(([name, text]) =>
    names.has(name) && text.trim() !== '' ? [filterOf(name, text)] : [],
  );
  const chosen = query.getAll('_col').filter((name) => names.has(name) && name !== '_id');
  const sort = query.get('_sort') ?? '';
  const isDescending = sort.startsWith('-') && !names.has(sort);
  const column = isDescending ? sort.slice(1) : sort;
  const start = (['after', 'before'] as const).flatMap((direction) => {
    const id = integerFromText(query.get(`_${direction}`) ?? '');
    return id === null ? [] : [{ direction, id }];
  });
  return {
    filters,
    search: (query.get('_q') ?? '').trim(),
    sort: names.has(column) ? { column, isDescending } : null,
    start: start[0] ?? null,
    columns: chosen.length === 0 ? null : [...new Set(chosen)],
    facets: [...new Set(query.getAll('_facet'))].filter((name) => names.has(name)).slice(0, FACETS_MAX),
  };
}

/** What has no effect in an address, or not the one meant, in words: unknown columns, values that are no numbers. */
export function mistakesIn(query: URLSearchParams, table: BrowsedTable): readonly string[] {
  const names = new Set(['_id', ...table.columns.map(({ name }) => name)]);
  const words = [...query].flatMap(([name, text]) => {
    if (text === '' || (!names.has(name) && /^_(?:q|after|before|said)$/.test(name))) return [];
    const isOurs = !names.has(name) && /^_(?:col|facet|sort)$/.test(name);
    const column = isOurs && !names.has(text) ? text.replace(/^-/, '') : isOurs ? text : name;
    if (!names.has(column)) return [`No column is called “${column}”.`];
    const { op, value } = filterOf(name, text);
    if (!isOurs && value === '' && op !== 'empty' && op !== 'given')
      return [`The filter of “${name}” needs a value after ${text.trim()}, such as ${text.trim()}1000.`];
    if (isOurs || op === 'has' || op === 'empty' || op === 'given') return [];
    if (isNumericColumn(table, name) && numberOf(value) === null)
      return [`“${name}” has numbers, and “${value}” is not one.`];
    const found = table.columns.find((one) => one.name === name);
    const form = missedForm(found, value);
    return form === null ? [] : [`“${name}” has ${form}, and “${value}” is not one.`];
  });
  return [...new Set(words)];
}

/** `>1000`, `<>Open`, `~part of a text`, `=` for no value, `!=` for any value; anything else is the value itself. */
function filterOf(column: string, text: string): Filter {
  if (text.startsWith('~')) return { column, op: 'has', value: text.slice(1) };
  const found = OPERATORS.find((operator) => text.startsWith(operator));
  if (found === undefined) return { column, op: '=', value: text };
  const op = found === '!=' ? '<>' : found;
  const value = text.slice(found.length).trim();
  if (value === '' && (op === '=' || op === '<>')) return { column, op: op === '=' ? 'empty' : 'given', value: '' };
  return { column, op, value };
}

export function filterText({ op, value }: Filter): string {
  if (op === 'empty') return '=';
  if (op === 'given') return '!=';
  if (op === 'has') return `~${value}`;
  const needsSign = op !== '=' || /^[<>=!~]/.test(value);
  return needsSign ? `${op === '<>' ? '!=' : op}${value}` : value;
}

export function shownColumns(table: BrowsedTable, { columns }: TableQuery): readonly string[] {
  return columns ?? table.columns.map(({ name }) => name).slice(0, COLUMNS_SHOWN_MAX);
}

/** The query of an address for a wish, with `?` if it is not empty. */
export function queryOf({ filters, search, sort, start, columns, facets }: TableQuery): string {
  const query = new URLSearchParams();
  for (const filter of filters) query.append(filter.column, filterText(filter));
  if (search !== '') query.append('_q', search);
  for (const column of columns ?? []) query.append('_col', column);
  for (const column of facets) query.append('_facet', column);
  if (sort !== null) query.append('_sort', `${sort.isDescending ? '-' : ''}${sort.column}`);
  if (start !== null) query.append(`_${start.direction}`, String(start.id));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

export function pathPart(name: string): string {
  // Browsers take dots alone for a way up, however they are written.
  const text = encodeURIComponent(name.toWellFormed());
  return /^\.{1,2}$/.test(text) ? `~${text}` : text;
}

export function nameOfPart(part: string): string | null {
  try {
    const name = decodeURIComponent(part);
    return /^~\.{1,2}$/.test(name) ? name.slice(1) : name;
  } catch {
    return null;
  }
}
