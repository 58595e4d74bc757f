/**
 * Select with aggregates, as far as rowsync asks for them (origin facts 1.2). These are numbers of rows, latest values
 * and sums, by the day of a timestamp in the zone of the calling user, or by its second. Reads the state, writes
 * nothing. Pure.
 */
import type { Value } from '../../../src/wire/schema.ts';
import { badParameter, findColumn, Refusal, valuesOf, type Call } from './call.ts';
import { cellOf } from './cells.ts';
import { decimalFromText, digitsOf, type Decimal } from './decimal.ts';
import { findNamed, valueTypeOf, type ModelColumn, type ModelRow, type ModelTable } from './state.ts';
import { shownInstant } from './time.ts';
import { compareValues, shownValue } from './values.ts';

/** Which groups are asked for. */
export interface Paging {
  readonly top: number;
  readonly skip: number;
}

interface Field {
  readonly column: ModelColumn;
  readonly suffix: string;
  readonly name: string;
}

/** Whether a request names a column with a suffix. */
export function asksForAggregates({ pairs }: Call, table: ModelTable): boolean {
  return valuesOf(pairs, 'column').some((name) => split(table, name) !== null);
}

/** The text of the answer. */
export function aggregate(
  call: Call,
  table: ModelTable,
  { rows, paging }: { readonly rows: readonly ModelRow[]; readonly paging: Paging },
): string | Refusal {
  const fields = readFields(call, table);
  if (fields instanceof Refusal) return fields;
  const grouped = fields.filter(({ suffix }) => isGroup(suffix));
  const isDescending = readDescending(call, grouped);
  if (isDescending instanceof Refusal) return isDescending;
  const [by] = grouped;
  const groups = new Map<string | null, ModelRow[]>(by === undefined ? [[null, []]] : []);
  for (const row of rows) {
    const day = by === undefined ? null : dayOf(call, table, by, row);
    groups.set(day, [...(groups.get(day) ?? []), row]);
  }
  const days = [...groups].toSorted(([one], [other]) => ((one ?? '') < (other ?? '') ? -1 : 1));
  const shown = (isDescending ? days.toReversed() : days).slice(paging.skip, paging.skip + paging.top);
  const texts = shown.map(([day, some]) => `{${shownFields(call, table, fields, { day, rows: some }).join(',')}}`);
  const all = ['"@row.type":"Grand"', ...shownFields(call, table, fields, { day: null, rows })];
  return `[${[...texts, `{${all.join(',')}}`].join(',')}]`;
}

function split(table: ModelTable, name: string): { readonly name: string; readonly suffix: string } | null {
  const [, bare = '', suffix = ''] = /^(.+)\/\/(DD|SS|COUNT|MAX|SUM)$/s.exec(name) ?? [];
  return suffix === '' || findNamed(table.columns, name) !== undefined ? null : { name: bare, suffix };
}

function readFields(call: Call, table: ModelTable): readonly Field[] | Refusal {
  const { pairs, role } = call;
  const fields: Field[] = [];
  for (const asked of valuesOf(pairs, 'column')) {
    const named = split(table, asked);
    if (named === null) return badParameter(asked, 'A column has no suffix');
    const column = findColumn(table, role, named.name);
    if (column instanceof Refusal) return column;
    const { suffix } = named;
    if (!takes(column, suffix) || !addsUp(call, suffix)) return new Refusal(400, 3100, 'Column does not exist', asked);
    fields.push({ column, suffix, name: isGroup(suffix) ? column.name : asked });
  }
  return fields;
}

function isGroup(suffix: string): boolean {
  return suffix === 'DD' || suffix === 'SS';
}

function addsUp({ knobs }: Call, suffix: string): boolean {
  return knobs.addsUp === 'days' || (knobs.addsUp === 'counts' && suffix === 'COUNT');
}

function takes(column: ModelColumn, suffix: string): boolean {
  const type = valueTypeOf(column);
  if (isGroup(suffix)) return type === 'Timestamp';
  return suffix !== 'SUM' || type === 'Numeric' || type === 'Duration';
}

function readDescending({ pairs }: Call, grouped: readonly Field[]): boolean | Refusal {
  let isDescending = false;
  for (const text of valuesOf(pairs, 'sort')) {
    const [, name = text, direction = 'ASC'] = /^(.*)\/\/(ASC|DESC)$/is.exec(text) ?? [];
    const bare = name.replace(/\/\/(DD|SS)$/, '');
    if (
      findNamed(
        grouped.map(({ column }) => column),
        bare,
      ) === undefined
    )
      return badParameter('sort', 'The column is not grouped');
    isDescending = direction.toUpperCase() === 'DESC';
  }
  return isDescending;
}

function dayOf({ state, user }: Call, table: ModelTable, { column, suffix }: Field, row: ModelRow): string | null {
  const instant = cellOf(state, table, column, row);
  if (instant === null) return null;
  return suffix === 'SS'
    ? `${String(instant).slice(0, 19)}Z`
    : shownInstant(String(instant), user.timezone).slice(0, 10);
}

function shownFields(
  call: Call,
  table: ModelTable,
  fields: readonly Field[],
  { day, rows }: { readonly day: string | null; readonly rows: readonly ModelRow[] },
): readonly string[] {
  return fields.map(({ column, suffix, name }) => {
    const shown = (type: Parameters<typeof shownValue>[0], value: Value): string =>
      `${JSON.stringify(name)}:${shownValue(type, value, call.user.timezone)}`;
    if (isGroup(suffix)) return shown(suffix === 'DD' ? 'Date' : 'Timestamp', day);
    const type = valueTypeOf(column);
    const values = rows.map((row) => cellOf(call.state, table, column, row)).filter((value) => value !== null);
    if (suffix === 'COUNT') return shown('Numeric', values.length);
    if (suffix === 'SUM') return shown(type, sumOf(values));
    return shown(type, values.toSorted((one, other) => compareValues(type, other, one))[0] ?? null);
  });
}

/** Exactly: as whole numbers of the smallest decimal that occurs. */
function sumOf(values: readonly Value[]): Value {
  const texts = values.map((value) => digitsOf(value as Decimal).split('.')); // a column of numbers
  const decimals = Math.max(0, ...texts.map(([, fraction = '']) => fraction.length));
  const total = texts.reduce(
    (sum, [whole = '', fraction = '']) => sum + BigInt(whole + fraction.padEnd(decimals, '0')),
    0n,
  );
  return decimalFromText(`${total}e-${decimals}`) ?? null;
}
