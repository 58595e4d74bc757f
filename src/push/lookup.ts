/**
 * Asking the origin for rows that a push concerns: by id, by the value of a unique column, or, where a create has no such value,
 * by everything that was sent. Reads only. Every loop over requests is bounded by the rows of one batch, or, where values are halved, by
 * twice as many.
 */
import { asRowsyncError } from '../base/errors.ts';
import type { SentCell } from '../reconcile/push-plan.ts';
import { isSameValue, isTakenAs } from '../reconcile/diff.ts';
import { FILTER_BYTES_MAX, filterOfValue } from '../reconcile/findable.ts';
import { TOP_MAX, type SortKey } from '../wire/query.ts';
import type { ColumnType, Row, RowPage, Value } from '../wire/schema.ts';
import type { TablePush } from './context.ts';

/** Rows as the origin has them now. */
export interface FoundRows {
  readonly byId: ReadonlyMap<number, Row>;
  /** Asked for, there, but not readable: nothing can be decided about them now. */
  readonly unreadable: ReadonlySet<number>;
}

/** Asks for rows by id; those in neither part of the answer do not exist, or are hidden from the calling user. */
export async function findById(run: TablePush, ids: readonly number[]): Promise<FoundRows> {
  const { context, address, shapes, names } = run;
  const byId = new Map<number, Row>();
  const unreadable = new Set<number>();
  for (const batch of context.origin.idBatches(ids, names)) {
    const request = { table: address, columns: shapes, names, ids: batch };
    const answer = await context.origin.retrieve(request, { signal: context.signal });
    if (answer.kind === 'notModified') continue; // cannot be: no ETag was sent
    for (const row of answer.value.rows) byId.set(row.id, row);
    for (const { id } of answer.value.unreadable) unreadable.add(id);
  }
  return { byId, unreadable };
}

/** What is found; null where the origin refuses the question itself, as it would each time. */
async function unlessRefused<T>(finding: Promise<T>): Promise<T | null> {
  try {
    return await finding;
  } catch (thrown) {
    if (asRowsyncError(thrown).refusal?.status === 400) return null;
    throw thrown;
  }
}

/** Rows found by what stands in them. */
export interface RowsByContent<Key> {
  readonly byKey: ReadonlyMap<Key, readonly Row[]>;
  /**
   * To what the origin answers with a row that cannot be read, or was not asked for: a row that is not found may be there nevertheless, and nothing
   * can be decided about it now.
   */
  readonly unclear: ReadonlySet<Key>;
}

/** Rows found by values, each of which can be asked for alone. */
export interface RowsByValue extends RowsByContent<Value> {
  /** Values by which the origin refuses to look, as it would each time. */
  readonly refused: ReadonlySet<Value>;
}

/** Nothing was asked for, or nothing found. */
export const NOTHING_FOUND: RowsByValue = { byKey: new Map(), refused: new Set(), unclear: new Set() };

/** A cell by which a row can be found. */
export interface Anchor {
  readonly column: number;
  readonly value: Value;
}

/**
 * A cell of a row that was sent and by which the row can be found: the match value, or that of another unique column. A number that the origin gives
 * by itself is none: another row may have got it meanwhile, which says nothing of this one.
 */
export function anchorOf(run: TablePush, { cells }: { readonly cells: readonly SentCell[] }): Anchor | null {
  const { match } = run.planned;
  for (const column of [...(match === null ? [] : [match]), ...run.uniqueColumns]) {
    const cell = cells.find((sent) => sent.column === column);
    if (cell === undefined || cell.value === null || cell.value === '') continue;
    if (run.shapes[column]?.type === 'Autonumber') continue;
    if (isFindable(run, column, cell.value)) return cell;
  }
  return null;
}

/** What was sent of a row but for the values that the origin allows once, by which it is looked for first. */
export function cellsBesideUnique(run: TablePush, cells: readonly SentCell[]): readonly SentCell[] {
  return cells.filter(({ column }) => column !== run.planned.match && !run.uniqueColumns.includes(column));
}

/** Whether a row can be asked for by a value of a column. */
function isFindable(run: TablePush, column: number, value: Value): boolean {
  const shape = run.shapes[column];
  return shape !== undefined && filterOfValue(shape, value) !== null;
}

/**
 * Asks for rows by values of one column, as far as they can be asked for; the answer has every row found under the value that was asked
 * for, first those that have it to the letter. An origin may take values for one that are not so here, as with accents or blanks at the
 * end: asked for such a value alone, it says itself that the row has it.
 */
export async function findByValue(run: TablePush, column: number, values: readonly Value[]): Promise<RowsByValue> {
  const shape = run.shapes[column];
  if (shape === undefined) return NOTHING_FOUND;
  const clauses = values.flatMap((value) => filterOfValue(shape, value) ?? []);
  const found = await unlessRefused(findByClauses(run, clauses, []));
  const isAlone = values.length < 2;
  if (found === null && isAlone) return { ...NOTHING_FOUND, refused: new Set(values) };
  if (found !== null) {
    const { rows, isWhole } = found;
    const byKey = rowsByValue(rows, values, { column, type: shape.type });
    const isExpected = new Set([...byKey.values()].flat()).size === rows.length;
    if (isExpected && isWhole) return { ...NOTHING_FOUND, byKey };
    if (isAlone) {
      const [value = null] = values;
      const isOne =
        !isExpected && rows.length === 1 && rows.every((row) => isAlikeKey(row.values[column] ?? null, value));
      const unclear = new Set(isWhole && isOne ? [] : values);
      return { ...NOTHING_FOUND, byKey: isOne ? new Map([[value, rows]]) : byKey, unclear };
    }
  }
  // Each half by itself: what is wrong with the answer about one value keeps back no other row.
  const middle = Math.ceil(values.length / 2);
  const [one, other] = [
    await findByValue(run, column, values.slice(0, middle)),
    await findByValue(run, column, values.slice(middle)),
  ];
  return {
    byKey: new Map([...one.byKey, ...other.byKey]),
    refused: new Set([...one.refused, ...other.refused]),
    unclear: new Set([...one.unclear, ...other.unclear]),
  };
}

/** The rows under each of the values that some have. */
function rowsByValue(
  rows: readonly Row[],
  values: readonly Value[],
  { column, type }: { readonly column: number; readonly type: ColumnType },
): ReadonlyMap<Value, readonly Row[]> {
  const byKey = new Map<Value, readonly Row[]>();
  for (const value of values) {
    const isExact = (row: Row): boolean => isSameValue(type, row.values[column] ?? null, value);
    const alike = rows
      .filter((row) => isSameKey(type, row.values[column] ?? null, value))
      .toSorted((one, other) => Number(isExact(other)) - Number(isExact(one)));
    if (alike.length > 0) byKey.set(value, alike);
  }
  return byKey;
}

/** Uniqueness at the origin may well ignore case, as its own functions do; a row that differs in case only counts as found. */
function isSameKey(type: ColumnType, one: Value, other: Value): boolean {
  if (isSameValue(type, one, other)) return true;
  return typeof one === 'string' && typeof other === 'string' && one.toLowerCase() === other.toLowerCase();
}

/** Whether an origin may take two texts for one. A row that is not even alike came in answer to something else. */
function isAlikeKey(one: Value, other: Value): boolean {
  return typeof one === 'string' && typeof other === 'string' && ALIKE.compare(one.trim(), other.trim()) === 0;
}

/** Without case, accents and widths. */
const ALIKE = new Intl.Collator('und', { sensitivity: 'base' });

/** Rows that have all the cells of one of the lists, by whose list it is. */
export interface AlikeRows extends RowsByContent<number> {
  /** Of which there may be more than an answer has. */
  readonly partial: ReadonlySet<number>;
}

/** What rows are asked for by. Where `newestKnown` is given, one that is not newer is none of them, though it cannot be read, or is cut off. */
interface Wanted {
  readonly id: number;
  readonly cells: readonly SentCell[];
  readonly newestKnown?: number | undefined;
}

/**
 * Asks for the rows that have all the cells of one of the lists, the newest first; a list without a cell that a filter can say finds nothing, and
 * neither does one by which the origin refuses to look, or of which there are more rows than an answer has, unless the others are too old.
 */
export async function findAlike(run: TablePush, creates: readonly Wanted[]): Promise<AlikeRows> {
  const clauses = creates.map(({ cells }) => clauseOf(run, cells));
  const asked = clauses.filter((clause) => clause !== null);
  const found = await unlessRefused(findByClauses(run, asked, run.newestFirst));
  // What one list finds too much of is cut off from the others as well.
  const isCut = ({ newestKnown = 0 }: Wanted, index: number): boolean => {
    const oldest = found?.oldest.get(clauses[index] ?? '');
    return oldest !== undefined && (run.newestFirst.length === 0 || oldest > newestKnown);
  };
  const cut = new Set(creates.filter(isCut).map(({ id }) => id));
  const isTooMuch = cut.size > 0 && new Set(asked).size > 1;
  if ((found?.isWhole !== true || isTooMuch) && creates.length > 1) {
    // Each half by itself, as with values.
    const middle = Math.ceil(creates.length / 2);
    const [one, other] = [await findAlike(run, creates.slice(0, middle)), await findAlike(run, creates.slice(middle))];
    return {
      byKey: new Map([...one.byKey, ...other.byKey]),
      unclear: new Set([...one.unclear, ...other.unclear]),
      partial: new Set([...one.partial, ...other.partial]),
    };
  }
  const { rows, isAnswered, unreadableIds } = found ?? REFUSED;
  const byKey = new Map(
    creates.map(({ id, cells }, index) => {
      const alike = rows.filter((row) =>
        cells.every(({ column, value, file }) => {
          if (file !== undefined) return true; // compared by content (settle-files.ts)
          const type = run.shapes[column]?.type ?? 'Text';
          const held = row.values[column] ?? null;
          return type === 'User' ? isSameUser(held, value) : isTakenAs(type, value, held);
        }),
      );
      return [id, clauses[index] === null || cut.has(id) ? [] : alike];
    }),
  );
  const isUnclear = ({ newestKnown = 0 }: Wanted): boolean =>
    !isAnswered || unreadableIds.some((id) => id > newestKnown);
  return { byKey, unclear: new Set(creates.filter(isUnclear).map(({ id }) => id)), partial: cut };
}

/** The e-mail identifies a user; the name is for display, and the origin may write another one (specification 2.4). */
export function isSameUser(one: Value, other: Value): boolean {
  const email = (user: string): string => (/<([^<]*)>$/.exec(user)?.[1] ?? user).trim().toLowerCase();
  return typeof one === 'string' && typeof other === 'string' ? email(one) === email(other) : one === other;
}

/** Cells of one clause at most; more make a filter longer, and hardly ever more selective. */
const CLAUSE_CELLS_MAX = 6;
/** Longer texts are compared here, not in the filter. */
const LITERAL_CHARS_MAX = 200;

/** A filter for the rows that have as many of the cells as it has room for; null where it has none. */
function clauseOf(run: TablePush, cells: readonly SentCell[]): string | null {
  const parts: string[] = [];
  let bytes = 0;
  for (const { column, value } of cells) {
    const shape = run.shapes[column];
    const isLong = typeof value === 'string' && value.length > LITERAL_CHARS_MAX;
    const part = shape === undefined || isLong ? null : filterOfValue(shape, value);
    if (part === null || parts.length === CLAUSE_CELLS_MAX) continue;
    const partBytes = encodeURIComponent(` and ${part}`).length;
    if (bytes + partBytes > FILTER_BYTES_MAX) continue;
    parts.push(part);
    bytes += partBytes;
  }
  return parts.length === 0 ? null : `(${parts.join(' and ')})`;
}

/** Rows that satisfy one of some clauses. */
interface FoundByClauses {
  /** Each once. */
  readonly rows: readonly Row[];
  /** Whether all of them could be read; if not, whether every answer had rows, and which of them could not. */
  readonly isWhole: boolean;
  readonly isAnswered: boolean;
  readonly unreadableIds: readonly number[];
  /** The last row of an answer behind which more may come, by the clauses that it is the answer to. */
  readonly oldest: ReadonlyMap<string, number>;
}

/** The origin refuses to look. */
const REFUSED: FoundByClauses = { rows: [], isWhole: true, isAnswered: true, unreadableIds: [], oldest: new Map() };

/** The rows that satisfy one of the clauses. */
async function findByClauses(
  run: TablePush,
  clauses: readonly string[],
  sort: readonly SortKey[],
): Promise<FoundByClauses> {
  const { context, address, shapes, names } = run;
  const rows = new Map<number, Row>();
  const oldest = new Map<string, number>();
  const unreadableIds: number[] = [];
  let isAnswered = true;
  for (const together of cutClauses(clauses)) {
    // A unique value is found once; of rows that are merely alike, one page is more than enough to know that there are many.
    const query = { columns: names, sort, filter: together.join(' or '), top: TOP_MAX };
    const answer = await context.origin.select({ table: address, columns: shapes, query }, { signal: context.signal });
    const page: RowPage | null = answer.kind === 'ok' ? answer.value : null;
    for (const row of page?.rows ?? []) rows.set(row.id, row);
    if (page === null) isAnswered = false;
    unreadableIds.push(...(page?.unreadable ?? []).map(({ id }) => id));
    const last = page === null || page.ids.length < TOP_MAX ? undefined : page.ids.at(-1);
    if (last !== undefined) for (const clause of together) oldest.set(clause, last);
  }
  const isWhole = isAnswered && unreadableIds.length === 0;
  return { rows: [...rows.values()], isWhole, isAnswered, unreadableIds, oldest };
}

/** As many clauses together as a filter takes. */
function cutClauses(clauses: readonly string[]): readonly (readonly string[])[] {
  const filters: string[][] = [];
  let bytes = 0;
  for (const clause of clauses) {
    const clauseBytes = encodeURIComponent(` or ${clause}`).length;
    const last = filters.at(-1);
    if (last === undefined || bytes + clauseBytes > FILTER_BYTES_MAX) {
      filters.push([clause]);
      bytes = 0;
    } else {
      last.push(clause);
    }
    bytes += clauseBytes;
  }
  return filters;
}
