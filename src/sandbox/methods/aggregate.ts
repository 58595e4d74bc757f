/**
 * Select with aggregation (origin facts 1.2): columns with a suffix, such as `Id//COUNT` or `Ordered//YY`. A group
 * column comes under its name without the suffix, as the vendor documents it. Reads the store, writes nothing.
 */
import { TYPE_RULES } from '../../wire/column-types.ts';
import type { Numeric } from '../../wire/decimal.ts';
import type { ColumnShape, Value } from '../../wire/schema.ts';
import { offsetTextFromUtc } from '../../wire/time-zones.ts';
import type { MethodAnswer, MethodCall, Pairs } from './call.ts';
import { add, compareNumeric, divide, fromDouble, roundToMultiple } from '../formula/numbers.ts';
import { findColumn, valuesOf, type Page } from './parameters.ts';
import { badParameter, noColumn, MethodRefusal } from './refusal.ts';
import { findByName, tablesBehind, type StoreColumn, type Role, type Table } from '../store/catalog.ts';
import type { RowFilter } from '../store/matching.ts';
import { sortKeyFromText } from '../wire/query.ts';

const OF_ALL_TYPES: ReadonlySet<string> = new Set(['COUNT', 'MIN', 'MAX']);
const OF_NUMBERS: ReadonlySet<string> = new Set(['SUM', 'AVG', 'STDEV', 'STDEVP', 'VAR', 'VARP']);
/** Of checkboxes: how many are ticked, and which share. */
const OF_CHECKBOXES: ReadonlySet<string> = new Set(['SUM', 'AVG']);

/** Steps of groups of numbers. */
const STEPS: Readonly<Record<string, Numeric>> = {
  '.001': '0.001',
  '.01': '0.01',
  '.1': '0.1',
  '1': 1,
  '10': 10,
  '100': 100,
  '1K': 1_000,
  '10K': 10_000,
  '100K': 100_000,
  '1M': 1_000_000,
};

/** A column with its suffix. */
export interface GroupField {
  readonly column: StoreColumn;
  readonly suffix: string;
  readonly isGroup: boolean;
  /** How it is called in the answer, and of which type it is there. */
  readonly shape: ColumnShape;
}

/** A name with a suffix; null where a column is called so as a whole, or there is no suffix. */
function splitName(table: Table, name: string): { readonly name: string; readonly suffix: string } | null {
  const match = /^(.+)\/\/([A-Z0-9.]+)$/s.exec(name);
  if (match === null || findByName(table.columns, name) !== undefined) return null;
  return { name: match[1] ?? '', suffix: match[2] ?? '' };
}

/** Whether the columns of a request ask for aggregates or groups. */
export function asksForAggregates(table: Table, pairs: Pairs): boolean {
  return valuesOf(pairs, 'column').some((name) => splitName(table, name) !== null);
}

/** What a view or a request asks of one column. */
export function groupField(column: StoreColumn, suffix: string, name: string): GroupField | null {
  const type = groupType(column, suffix);
  return type === null ? null : { column, suffix, isGroup: true, shape: { name, type } };
}

/** The value of a group column in a row; `zone` is the caller's. */
export function groupValue({ column, suffix }: GroupField, value: Value, zone: string): Value {
  if (value === null || suffix === 'EQ') return value;
  switch (TYPE_RULES[column.valueType].form) {
    case 'number':
      return numberGroup(value as Numeric, suffix, column.valueType === 'Duration');
    case 'date':
      return dayGroup(String(value), suffix);
    case 'timestamp':
      return suffix in SECONDS
        ? stampGroup(String(value), suffix, zone)
        : dayGroup(localDay(String(value), zone), suffix);
    case 'time':
      return cutTime(String(value), suffix);
    default:
      return suffix === 'FL' ? String(value).slice(0, 1) : (/^\S*/.exec(String(value).trimStart())?.[0] ?? '');
  }
}

/** The answer to a Select with suffixes. */
export function aggregate(
  call: MethodCall,
  table: Table,
  { page, filters }: { readonly page: Page; readonly filters: readonly RowFilter[] },
): MethodAnswer | MethodRefusal {
  const fields = readFields(table, call.role, call.pairs);
  if (fields instanceof MethodRefusal) return fields;
  const groups = fields.filter(({ isGroup }) => isGroup);
  const order = readOrder(groups, call.pairs);
  if (order instanceof MethodRefusal) return order;
  const { user, format } = call;
  const text = (): string => {
    const { found, grand } = addUp(call, table, fields, filters);
    found.sort((one, other) => compareRows(fields, order, one, other));
    const write = format.rollupsWriter(
      fields.map(({ shape }) => shape),
      user.timezone,
    );
    const shown = found.slice(page.skip, page.skip + page.top).map((values) => ({ type: null, values }));
    return write([...shown, { type: 'Grand', values: grand }]);
  };
  return { kind: 'page', text, tableIds: tablesBehind(table), agesByItself: filters.some(({ key }) => key === null) };
}

/** One row for each group, or one of all rows, and the row of everything. */
function addUp(
  { store, user }: MethodCall,
  table: Table,
  fields: readonly GroupField[],
  filters: readonly RowFilter[],
): { readonly found: (readonly Value[])[]; readonly grand: readonly Value[] } {
  const columns = fields.map(({ column }) => column);
  if (filters.length === 0 && fields.every(({ suffix, isGroup }) => suffix === 'COUNT' && !isGroup)) {
    const counts = store.countValues(table, columns);
    return { found: [counts], grand: counts };
  }
  const newTallies = (): readonly Tally[] => fields.map(tallyOf);
  const all = newTallies();
  const byKey = new Map<string, readonly Tally[]>();
  const groupIndexes = [...fields.keys()].filter((index) => fields[index]?.isGroup);
  for (const row of store.eachRow(table, columns, filters)) {
    const values = fields.map((field, index) =>
      field.isGroup ? groupValue(field, row[index] ?? null, user.timezone) : (row[index] ?? null),
    );
    const key = groupIndexes.map((index) => keyText(values[index] ?? null));
    const keyAsText = key.length === 1 ? String(key[0]) : JSON.stringify(key);
    let tallies = byKey.get(keyAsText);
    if (tallies === undefined) byKey.set(keyAsText, (tallies = newTallies()));
    for (const [index, tally] of tallies.entries()) tally.add(values[index] ?? null);
    for (const [index, tally] of all.entries()) tally.add(values[index] ?? null);
  }
  const grand = all.map((tally, index) => (fields[index]?.isGroup ? null : tally.result()));
  const found = [...byKey.values()].map((tallies) => tallies.map((tally) => tally.result()));
  return { found: groupIndexes.length === 0 ? [grand] : found, grand };
}

function readFields(table: Table, role: Role, pairs: Pairs): readonly GroupField[] | MethodRefusal {
  const fields: GroupField[] = [];
  for (const name of valuesOf(pairs, 'column')) {
    const split = splitName(table, name);
    if (split === null) return badParameter(name, 'Beside aggregates, every column needs the suffix of a group');
    const column = findColumn(table, role, split.name);
    if (column instanceof MethodRefusal) return column;
    const { suffix } = split;
    const type = aggregateType(column, suffix);
    const field: GroupField | null =
      type === null
        ? groupField(column, suffix, column.name)
        : { column, suffix, isGroup: false, shape: { name, type } };
    if (field === null) return noColumn(name);
    fields.push(field);
  }
  return fields;
}

/** Only groups can be sorted by; those that are not named come behind, in their order. */
function readOrder(
  groups: readonly GroupField[],
  pairs: Pairs,
): readonly { readonly field: GroupField; readonly descending: boolean }[] | MethodRefusal {
  const named: { field: GroupField; descending: boolean }[] = [];
  for (const text of valuesOf(pairs, 'sort')) {
    const { column, descending } = sortKeyFromText(text);
    const isMeant = ({ column: { name, alias }, suffix }: GroupField): boolean =>
      [name, alias].some((known) =>
        [known, `${known}//${suffix}`].some((it) => it.toLowerCase() === column.toLowerCase()),
      );
    const field = groups.find(isMeant);
    if (field === undefined) return badParameter('sort', 'Beside aggregates, only grouped columns can be sorted by');
    named.push({ field, descending: descending === true });
  }
  return [
    ...named,
    ...groups.filter((field) => !named.some((it) => it.field === field)).map((field) => ({ field, descending: false })),
  ];
}

function aggregateType({ valueType }: StoreColumn, suffix: string): ColumnShape['type'] | null {
  if (suffix === 'COUNT') return 'Numeric';
  if (OF_ALL_TYPES.has(suffix)) return valueType;
  const { form } = TYPE_RULES[valueType];
  if (form === 'checkbox') return OF_CHECKBOXES.has(suffix) ? 'Numeric' : null;
  return form === 'number' && OF_NUMBERS.has(suffix) ? valueType : null;
}

/** Seconds of the parts of a day that times are cut to. */
const SECONDS: Readonly<Record<string, number>> = { SS: 1, MI: 60, HH: 3_600 };
const OF_DAYS: ReadonlySet<string> = new Set(['DD', 'WK', 'MM', 'QQ', 'YY', 'DM', 'MY']);

function groupType({ valueType }: StoreColumn, suffix: string): ColumnShape['type'] | null {
  if (suffix === 'EQ') return valueType;
  switch (TYPE_RULES[valueType].form) {
    case 'number':
      if (valueType === 'Duration') return suffix in SECONDS || suffix === 'DD' ? valueType : null;
      return Object.hasOwn(STEPS, suffix) ? valueType : null;
    case 'time':
      return suffix in SECONDS ? valueType : null;
    case 'timestamp':
      if (suffix in SECONDS) return valueType;
      return OF_DAYS.has(suffix) ? dayType(suffix) : null;
    case 'date':
      return OF_DAYS.has(suffix) ? dayType(suffix) : null;
    case 'text':
      return suffix === 'FW' || suffix === 'FL' ? 'Text' : null;
    default:
      return null;
  }
}

/** The day of the month and the month of the year are numbers; everything else begins on a day. */
function dayType(suffix: string): ColumnShape['type'] {
  return suffix === 'DM' || suffix === 'MY' ? 'Numeric' : 'Date';
}

function numberGroup(value: Numeric, suffix: string, isDuration: boolean): Value {
  const step = isDuration ? (SECONDS[suffix] ?? 86_400) : (STEPS[suffix] ?? 1);
  return roundToMultiple(value, step, 'down');
}

function localDay(utc: string, zone: string): string {
  return offsetTextFromUtc(utc, zone).slice(0, 10);
}

function dayGroup(day: string, suffix: string): Value {
  const [year = '', month = '', date = ''] = day.split('-');
  switch (suffix) {
    case 'YY':
      return `${year}-01-01`;
    case 'QQ':
      return `${year}-${String(Math.floor((Number(month) - 1) / 3) * 3 + 1).padStart(2, '0')}-01`;
    case 'MM':
      return `${year}-${month}-01`;
    case 'DM':
      return Number(date);
    case 'MY':
      return Number(month);
    case 'WK': {
      const at = new Date(`${day}T00:00:00Z`);
      at.setUTCDate(at.getUTCDate() - at.getUTCDay());
      return at.toISOString().slice(0, 10);
    }
    default:
      return day;
  }
}

/** Cut in the caller's zone; offsets of zones are whole quarters of an hour, so that only hours need it. */
function stampGroup(utc: string, suffix: string, zone: string): Value {
  const local = offsetTextFromUtc(utc, zone);
  const minutes = Number(local.slice(14, 16));
  const beginMs = Date.parse(utc.slice(0, 19) + 'Z') - Number(local.slice(17, 19)) * (suffix === 'SS' ? 0 : 1_000);
  return `${new Date(beginMs - (suffix === 'HH' ? minutes * 60_000 : 0)).toISOString().slice(0, 19)}Z`;
}

function cutTime(time: string, suffix: string): Value {
  const [hours = '', minutes = ''] = time.split(':');
  return suffix === 'HH' ? `${hours}:00:00` : suffix === 'MI' ? `${hours}:${minutes}:00` : time;
}

function keyText(value: Value): string {
  return value === null ? '' : `${typeof value === 'string' ? value.toLowerCase() : String(value)}.`;
}

/** What becomes of the values of one column in a group of rows. */
interface Tally {
  add(value: Value): void;
  result(): Value;
}

function tallyOf({ column, suffix, isGroup }: GroupField): Tally {
  let [count, first, sum]: [number, Value, Numeric | null] = [0, null, 0];
  const numbers: number[] = [];
  if (isGroup) return { add: (value) => void (first = count++ === 0 ? value : first), result: () => first };
  if (suffix === 'COUNT') return { add: (value) => void (count += value === null ? 0 : 1), result: () => count };
  if (suffix === 'MIN' || suffix === 'MAX') {
    const sign = suffix === 'MIN' ? 1 : -1;
    const isFirst = (value: Value): boolean => first === null || sign * compareValues(column, value, first) < 0;
    return { add: (value) => void (first = value !== null && isFirst(value) ? value : first), result: () => first };
  }
  return {
    add: (value) => {
      if (value === null) return;
      const number: Numeric = typeof value === 'boolean' ? Number(value) : value;
      count += 1;
      if (suffix !== 'SUM' && suffix !== 'AVG') numbers.push(Number(number));
      else sum = sum === null ? null : add(sum, number);
    },
    result: () => {
      if (suffix === 'SUM') return sum;
      if (count === 0 || sum === null) return null;
      return suffix === 'AVG' ? divide(sum, count) : spread(numbers, suffix);
    },
  };
}

/** Variance and deviation; of a sample unless the suffix ends in P. */
function spread(numbers: readonly number[], suffix: string): Value {
  const mean = numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
  const squares = numbers.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const variance = squares / (suffix.endsWith('P') ? numbers.length : numbers.length - 1);
  return fromDouble(suffix.startsWith('VAR') ? variance : Math.sqrt(variance));
}

function compareValues({ valueType }: StoreColumn, one: Value, other: Value): number {
  if (one === null || other === null) return one === other ? 0 : one === null ? -1 : 1;
  if (typeof one === 'boolean' || typeof other === 'boolean') return Number(one) - Number(other);
  if (TYPE_RULES[valueType].form === 'number' || (typeof one === 'number' && typeof other === 'number'))
    return compareNumeric(one, other);
  const [left, right] = [String(one).toLowerCase(), String(other).toLowerCase()];
  return left < right ? -1 : left > right ? 1 : 0;
}

function compareRows(
  fields: readonly GroupField[],
  order: readonly { readonly field: GroupField; readonly descending: boolean }[],
  one: readonly Value[],
  other: readonly Value[],
): number {
  for (const { field, descending } of order) {
    const index = fields.indexOf(field);
    const compared = compareValues(field.column, one[index] ?? null, other[index] ?? null);
    if (compared !== 0) return descending ? -compared : compared;
  }
  return 0;
}
