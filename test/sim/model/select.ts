/**
 * Select and Retrieve (specification 4.4 and 4.5): rows of a table by page, by id or by key. Reads the state, writes
 * nothing. What the specification leaves open, the order of rows that sort alike and of Retrieve, is a knob.
 */
import { aggregate, asksForAggregates, type Paging } from './aggregate.ts';
import type { ModelColumn, ModelRow, ModelTable } from './state.ts';
import { valueTypeOf } from './state.ts';
import {
  findColumn,
  isUpdatable,
  readNamed,
  readNumber,
  Refusal,
  valuesOf,
  visibleColumns,
  type Call,
  type Made,
} from './call.ts';
import { cellOf, mayEdit, rowById, rowByKey, visibleRows } from './cells.ts';
import type { ModelDraw } from './knobs.ts';
import { readFilter, type RowTest } from './filter.ts';
import { shownMoment } from './time.ts';
import { compareValues, shownValue } from './values.ts';

/** Rows of one answer, and of Retrieve and Delete, at most. */
export const ROWS_MAX = 500;

/** Select. */
export function select(call: Call, table: ModelTable): Made {
  if (asksForAggregates(call, table)) return aggregated(call, table);
  const columns = readColumns(call, table);
  if (columns instanceof Refusal) return columns;
  const order = readSort(call, table);
  if (order instanceof Refusal) return order;
  const paging = readPaging(call);
  if (paging instanceof Refusal) return paging;
  const rows = filtered(call, table);
  if (rows instanceof Refusal) return rows;
  return page(call, table, columns, ordered(call, table, rows, order).slice(paging.skip, paging.skip + paging.top));
}

function readPaging({ pairs }: Call): Paging | Refusal {
  const top = readNumber(pairs, 'top', { min: 1, max: ROWS_MAX, missing: ROWS_MAX });
  if (top instanceof Refusal) return top;
  const skip = readNumber(pairs, 'skip', { min: 0, max: Number.MAX_SAFE_INTEGER, missing: 0 });
  return skip instanceof Refusal ? skip : { top, skip };
}

function filtered(call: Call, table: ModelTable): readonly ModelRow[] | Refusal {
  let rows = visibleRows(call, table);
  for (const text of valuesOf(call.pairs, 'filter')) {
    const test = readFilter(text, visibleColumns(table, call.role));
    if (test instanceof Refusal) return test;
    rows = rows.filter((row) => passes(call, table, row, test));
  }
  return rows;
}

function aggregated(call: Call, table: ModelTable): Made {
  const paging = readPaging(call);
  if (paging instanceof Refusal) return paging;
  const rows = filtered(call, table);
  if (rows instanceof Refusal) return rows;
  const text = aggregate(call, table, { rows, paging });
  return text instanceof Refusal ? text : { kind: 'page', text, tables: tablesBehind(table) };
}

/** Retrieve. */
export function retrieve(call: Call, table: ModelTable): Made {
  const columns = readColumns(call, table);
  if (columns instanceof Refusal) return columns;
  const named = readNamed(call.pairs, ROWS_MAX);
  if (named instanceof Refusal) return named;
  const found =
    'ids' in named
      ? named.ids.map((id) => rowById(call, table, id))
      : named.keys.map((key) => rowByKey(call, table, key));
  const rows = [...new Set(found.filter((row) => row !== undefined))];
  return page(call, table, columns, call.knobs.pageOrder === 'unstable' ? shuffled(rows, call.draw) : rows);
}

/** Deleted: the recycle bin from a moment on, the row that was deleted last first (origin facts 1.4). */
export function deleted({ pairs, user, knobs }: Call, table: ModelTable): Made {
  if (!knobs.listsDeleted) return new Refusal(403, 3000, 'Access denied', 'deleted');
  const fromMs = Date.parse(valuesOf(pairs, 'from')[0] ?? '1970-01-01T00:00:00Z');
  const texts = table.deleted.flatMap(({ id, atMs, by }) => {
    const at = JSON.stringify(shownMoment(atMs, user.timezone));
    return atMs < fromMs ? [] : [`{"@row.id":${id},"deletedby":${JSON.stringify(by)},"deleted":${at}}`];
  });
  return { kind: 'page', text: `[${texts.toReversed().join(',')}]`, tables: [table.id] };
}

function passes({ state }: Call, table: ModelTable, row: ModelRow, test: RowTest): boolean {
  return test((column) => cellOf(state, table, column, row));
}

function readColumns({ pairs, role }: Call, table: ModelTable): readonly ModelColumn[] | Refusal {
  const names = valuesOf(pairs, 'column');
  const columns = new Set<ModelColumn>();
  for (const name of names.length === 0 ? ['*'] : names) {
    if (name === '*') {
      for (const column of visibleColumns(table, role)) if (isUpdatable(column)) columns.add(column);
      continue;
    }
    const column = findColumn(table, role, name);
    if (column instanceof Refusal) return column;
    columns.add(column);
  }
  return [...columns];
}

type Order = readonly { readonly column: ModelColumn; readonly sign: 1 | -1 }[];

function readSort({ pairs, role }: Call, table: ModelTable): Order | Refusal {
  const order: { column: ModelColumn; sign: 1 | -1 }[] = [];
  for (const text of valuesOf(pairs, 'sort')) {
    const [, name = text, direction = 'ASC'] = /^(.*)\/\/(ASC|DESC)$/is.exec(text) ?? [];
    const column = findColumn(table, role, name);
    if (column instanceof Refusal) return column;
    order.push({ column, sign: direction.toUpperCase() === 'DESC' ? -1 : 1 });
  }
  return order;
}

function ordered(call: Call, table: ModelTable, rows: readonly ModelRow[], order: Order): readonly ModelRow[] {
  const start = call.knobs.pageOrder === 'unstable' ? shuffled(rows, call.draw) : rows;
  if (order.length === 0) return start;
  const keyed = start.map((row) => ({
    row,
    keys: order.map(({ column }) => cellOf(call.state, table, column, row)),
  }));
  // Array.toSorted is stable: rows that compare equal stay by id, or as they were shuffled.
  return keyed
    .toSorted((one, other) => {
      for (const [index, { column, sign }] of order.entries()) {
        const difference = compareValues(valueTypeOf(column), one.keys[index] ?? null, other.keys[index] ?? null);
        if (difference !== 0) return sign * difference;
      }
      return 0;
    })
    .map(({ row }) => row);
}

/** In another order, drawn; draws of 0 leave everything where it is. */
function shuffled<T>(items: readonly T[], draw: ModelDraw): readonly T[] {
  const rest = [...items];
  return items.flatMap(() => rest.splice(Math.floor(draw('order') * rest.length), 1));
}

function page(call: Call, table: ModelTable, columns: readonly ModelColumn[], rows: readonly ModelRow[]): Made {
  const { state, user } = call;
  const shapes = columns.map((column) => ({ column, name: JSON.stringify(column.name), type: valueTypeOf(column) }));
  const texts = rows.map((row) => {
    const allow = mayEdit(call, table, row) ? 'Edit, Delete' : '';
    let text = `{"@row.id":${row.id},"@row.allow":"${allow}"`;
    for (const { column, name, type } of shapes) {
      text += `,${name}:${shownValue(type, cellOf(state, table, column, row), user.timezone)}`;
    }
    return `${text}}`;
  });
  return { kind: 'page', text: `[${texts.join(',')}]`, tables: tablesBehind(table) };
}

/** The tables whose rows decide how the rows of a table look. */
function tablesBehind(table: ModelTable): readonly number[] {
  const ids = table.columns.flatMap(({ computed }) =>
    computed === null || computed.how === 'join' ? [] : [computed.table],
  );
  return [table.id, ...ids];
}
