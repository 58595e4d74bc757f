/**
 * Requests rows that a push concerns: by id, or by match value. Reads only. Every loop over requests is bounded by the rows of one batch, or by twice
 * as many if values are halved.
 */
import { asRowsyncError } from '../base/errors.ts';
import { isSameValue } from '../reconcile/diff.ts';
import { filterOfValue, joinClauses } from '../reconcile/findable.ts';
import { TOP_MAX } from '../wire/query.ts';
import type { ColumnShape, Row, Value } from '../wire/schema.ts';
import type { TablePush } from './context.ts';

/** Rows as the origin has them now. */
export interface FoundRows {
  readonly byId: ReadonlyMap<number, Row>;
  /** Requested rows that exist but cannot be read: nothing can be decided about them now. */
  readonly unreadable: ReadonlySet<number>;
}

/** Requests rows by id; rows in neither part of the answer do not exist, or are hidden from the calling user. */
export async function findById({ context, reading }: TablePush, ids: readonly number[]): Promise<FoundRows> {
  const { address: table, columns, names } = reading;
  const byId = new Map<number, Row>();
  const unreadable = new Set<number>();
  for (const batch of context.origin.idBatches(ids, names, reading.pageRows)) {
    const request = { table, columns, names, ids: batch };
    const { value: page } = await context.origin.retrieve(request, { signal: context.signal });
    for (const row of page.rows) byId.set(row.id, row);
    for (const { id } of page.unreadable) unreadable.add(id);
  }
  return { byId, unreadable };
}

/** The row with a match value; `refused`: the origin refuses the request · `unclear`: it returns an unreadable row, or one with another value. */
export type Holder = Row | 'refused' | 'unclear';

/**
 * Looks up the rows with match values; values without a row are left out. An origin may treat different values as equal, for example with accents or
 * trailing blanks. Asked for such a value alone, it shows which row has it.
 */
export async function findByMatch(run: TablePush, values: readonly Value[]): Promise<ReadonlyMap<Value, Holder>> {
  const column = run.planned.match;
  const shape = column === null ? undefined : run.reading.columns[column];
  if (column === null || shape === undefined || values.length === 0) return new Map();
  const clauses = values.flatMap((value) => filterOfValue(shape, value) ?? []);
  const found = await selectClauses(run, clauses);
  const [only = null] = values;
  if (values.length > 1) {
    const holders = found?.isWhole === true ? holdersOf(found.rows, values, { column, shape }) : null;
    if (holders !== null) return holders;
    // Each half alone: a problem with one value must not hold up other rows.
    const middle = Math.ceil(values.length / 2);
    const [one, other] = [
      await findByMatch(run, values.slice(0, middle)),
      await findByMatch(run, values.slice(middle)),
    ];
    return new Map([...one, ...other]);
  }
  if (found === null) return new Map([[only, 'refused']]);
  if (!found.isWhole) return new Map([[only, 'unclear']]);
  const exact = holdersOf(found.rows, values, { column, shape });
  if (exact !== null) return exact;
  const [row, ...others] = found.rows;
  const isAlone = row !== undefined && others.length === 0 && isAlike(row.values[column] ?? null, only);
  return new Map([[only, isAlone ? row : 'unclear']]);
}

/** The row of each value; null if a row has none of the values. */
function holdersOf(
  rows: readonly Row[],
  values: readonly Value[],
  { column, shape }: { readonly column: number; readonly shape: ColumnShape },
): ReadonlyMap<Value, Holder> | null {
  const holders = new Map<Value, Row>();
  const expected = new Set<Row>();
  for (const value of values) {
    const isExact = (row: Row): boolean => isSameValue(shape.type, row.values[column] ?? null, value);
    const alike = rows.filter((row) => isExact(row) || isSameFolded(row.values[column] ?? null, value));
    for (const row of alike) expected.add(row);
    const holder = alike.find(isExact) ?? alike[0];
    if (holder !== undefined) holders.set(value, holder);
  }
  return expected.size === rows.length ? holders : null;
}

/** Uniqueness at the origin may ignore case, as its own functions do. */
function isSameFolded(one: Value, other: Value): boolean {
  return typeof one === 'string' && typeof other === 'string' && one.toLowerCase() === other.toLowerCase();
}

/** Whether an origin may treat two texts as equal. A row without such a text belongs to another answer. */
function isAlike(one: Value, other: Value): boolean {
  return typeof one === 'string' && typeof other === 'string' && collator().compare(one.trim(), other.trim()) === 0;
}

/** Made at first use, because Intl then reads its data. */
let alike: Intl.Collator | undefined;

/** Ignores case, accents and widths. */
function collator(): Intl.Collator {
  return (alike ??= new Intl.Collator('und', { sensitivity: 'base' }));
}

/** The rows that satisfy one of the clauses, each once; null if the origin refuses the filter, as it would each time. */
async function selectClauses(
  { context, reading }: TablePush,
  clauses: readonly string[],
): Promise<{ readonly rows: readonly Row[]; readonly isWhole: boolean } | null> {
  const { address: table, columns, names } = reading;
  const rows = new Map<number, Row>();
  let isWhole = true;
  try {
    for (const filter of joinClauses(clauses)) {
      const query = { columns: names, sort: [], filter, top: TOP_MAX };
      const { value: page } = await context.origin.select({ table, columns, query }, { signal: context.signal });
      if (page.unreadable.length > 0) isWhole = false;
      else for (const row of page.rows) rows.set(row.id, row);
    }
  } catch (thrown) {
    if (asRowsyncError(thrown).refusal?.status === 400) return null;
    throw thrown;
  }
  return { rows: [...rows.values()], isWhole };
}
