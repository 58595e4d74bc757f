/**
 * Plans how changes are taken back: their net effect on a row, and the edit that undoes it. Cells that changed since
 * are refused, never overwritten.
 */
import { isSameExact, type CellChange, type Exact, type Version } from '../../replica/history-cells.ts';
import { netOf, type Net } from './difference.ts';
import type { ExactEntry } from './exact-entries.ts';

export interface NetChange extends Net<CellChange> {
  readonly rowId: number;
  /** Whom the origin names as the last author of a cell that was changed there; `''` for nobody. */
  readonly authors: ReadonlyMap<number, string>;
}

export interface WritableColumn {
  readonly index: number;
  readonly name: string;
  /** Its values name files. */
  readonly isFile: boolean;
  /** The origin gives a new row a value: always, or if it has none. */
  readonly given: 'never' | 'always' | 'if empty';
}

/** A cell as an edit changes it, by its column's name. */
export interface InverseCell {
  readonly column: string;
  readonly today: Exact;
  readonly edited: Exact;
}

/** An edit that takes a change back. Of a new row `rowId` is the one that it had. */
export interface InverseEdit {
  readonly rowId: number;
  readonly kind: 'insert' | 'update' | 'delete';
  readonly cells: readonly InverseCell[];
}

/** What is not taken back, and why; `column` is null for the whole row. */
export interface UndoRefusal {
  readonly rowId: number;
  readonly column: string | null;
  readonly why: string;
}

/** The result for one change; no edit if there is nothing to take back. */
export interface Inverse {
  readonly edit: InverseEdit | null;
  readonly refusals: readonly UndoRefusal[];
}

/**
 * What entries did to each row, from entries that come row by row, in order. A new row keeps its identity when it gets
 * the id of the origin; the new id is no change. Rows that came and went, or are unchanged, are left out.
 */
export function netChanges(entries: Iterable<ExactEntry>, idNow: ReadonlyMap<number, number>): readonly NetChange[] {
  // The delete of a row's former id is not a change of the row.
  const changes = Iterator.from(entries).filter(({ kind, rowId }) => kind !== 'delete' || !idNow.has(rowId));
  const byRow = Map.groupBy(changes, ({ rowId }) => idNow.get(rowId) ?? rowId);
  return [...byRow].flatMap(([rowId, own]) => {
    // The entry about a new id has what the origin made of a new row. For a row that was there before it is no change.
    const isNew = own[0]?.kind === 'insert' && own[0].wasId === null;
    const net = netOf(isNew ? own : own.filter(({ wasId }) => wasId === null), {
      cellsOf: ({ cells }) => cells,
      keyOf: ({ index }) => index,
      differs: ({ before, after }) => !isSameExact(before, after),
    });
    if (net === null) return [];
    const byCell = own.flatMap(({ by, cells }) => (by === null ? [] : cells.map(({ index }) => [index, by] as const)));
    return [{ rowId, authors: new Map(byCell), ...net }];
  });
}

export interface InverseFacts {
  readonly columns: readonly WritableColumn[];
  readonly today: Version;
  readonly isForgotten: boolean;
  /** Today's row in the place of a deleted one, and its values; null for none. */
  readonly same: { readonly rowId: number; readonly values: readonly Exact[] } | null;
  /** A former value as it is written now: of a key that is gone the row's new key, or undefined if that is unknown. */
  readonly valueNow: (column: string, value: Exact) => Exact | undefined;
}

/** Whose changes at the origin an edit takes back, by name. */
export function authorsOf(
  { kind, authors }: NetChange,
  edit: InverseEdit,
  columns: readonly WritableColumn[],
): readonly string[] {
  const edited = new Set(edit.cells.map(({ column }) => column));
  const own = columns.filter(({ name }) => kind === 'insert' || edited.has(name));
  return [...new Set(own.flatMap(({ index }) => authors.get(index) ?? []))];
}

export function inverseOf(change: NetChange, facts: InverseFacts): Inverse {
  if (change.kind === 'update') return inverseOfUpdate(change, facts);
  return change.kind === 'insert' ? inverseOfInsert(change, facts) : inverseOfDelete(change, facts);
}

function inverseOfUpdate({ rowId, cells }: NetChange, { columns, today }: InverseFacts): Inverse {
  const writable = new Map(columns.map((column) => [column.index, column]));
  const wanted = cells.filter(({ index }) => writable.has(index));
  if (wanted.length === 0) return { edit: null, refusals: [] };
  if (today === null) return refused(rowId, 'the row was deleted since');
  const edited: InverseCell[] = [];
  const refusals: UndoRefusal[] = [];
  for (const { index, before, after } of wanted) {
    const { name: column = '', isFile = false } = writable.get(index) ?? {};
    const here = today[index] ?? null;
    if (isSameExact(here, before)) continue;
    const why = isSameExact(here, after) ? lossOf(before, isFile) : 'changed since';
    if (why === null) edited.push({ column, today: here, edited: before });
    else refusals.push({ rowId, column, why });
  }
  return { edit: edited.length === 0 ? null : { rowId, kind: 'update', cells: edited }, refusals };
}

function inverseOfInsert({ rowId, cells }: NetChange, { columns, today }: InverseFacts): Inverse {
  if (today === null) return { edit: null, refusals: [] };
  const made = new Map(cells.map(({ index, after }) => [index, after]));
  const changed = columns.filter(({ index, given }) => {
    const first = made.get(index) ?? null;
    return (given === 'never' || first !== null) && !isSameExact(today[index] ?? null, first);
  });
  if (changed.length > 0) {
    return { edit: null, refusals: changed.map(({ name }) => ({ rowId, column: name, why: 'changed since' })) };
  }
  const gone = columns.map(({ index, name }) => ({ column: name, today: today[index] ?? null, edited: null }));
  return { edit: { rowId, kind: 'delete', cells: gone.filter((cell) => cell.today !== null) }, refusals: [] };
}

function inverseOfDelete(
  { rowId, cells }: NetChange,
  { columns, today, isForgotten, same, valueNow }: InverseFacts,
): Inverse {
  if (today !== null) return refused(rowId, 'the row exists again');
  if (isForgotten) return refused(rowId, 'some of its values were forgotten');
  const was = new Map(cells.map(({ index, before }) => [index, before]));
  if (same !== null) {
    const differing = columns.filter(({ index, name, given }) => {
      const value = was.get(index) ?? null;
      return given === 'never' && !isSameExact(valueNow(name, value) ?? value, same.values[index] ?? null);
    });
    const why = `another value in row ${same.rowId}, which took its place`;
    return { edit: null, refusals: differing.map(({ name }) => ({ rowId, column: name, why })) };
  }
  const made: InverseCell[] = [];
  const refusals: UndoRefusal[] = [];
  for (const { index, name: column, isFile, given } of columns) {
    const value = was.get(index) ?? null;
    if (given === 'always' || value === null) continue;
    const why = lossOf(value, isFile);
    if (why === null) made.push({ column, today: null, edited: value });
    else refusals.push({ rowId, column, why });
  }
  return { edit: { rowId, kind: 'insert', cells: made }, refusals };
}

function refused(rowId: number, why: string): Inverse {
  return { edit: null, refusals: [{ rowId, column: null, why }] };
}

/** Why a former value cannot be written again; null where it can. */
function lossOf(value: Exact, isFile: boolean): string | null {
  if (isFile) return 'a file has to be attached again';
  return value !== null && typeof value === 'object' ? 'the value was no text' : null;
}
