/**
 * Plans how changes are taken back: their net effect on a row, and the edit that undoes it. Cells that changed since
 * are refused, never overwritten.
 */
import { isSameExact, type Exact, type Version } from '../../replica/history-cells.ts';
import type { ExactCell, ExactEntry } from './exact-entries.ts';
import { netOf, type Net } from './net-effect.ts';

export interface NetChange extends Net<ExactCell> {
  readonly rowId: number;
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
 * What entries did to each row, from entries that come row by row, in order. A new row keeps its identity when it gets the id of the origin; the new
 * id is no change. Rows that came and went, or are unchanged, are left out.
 */
export function netChanges(entries: Iterable<ExactEntry>, idNow: ReadonlyMap<number, number>): readonly NetChange[] {
  const byRow = new Map<number, ExactEntry[]>();
  for (const entry of entries) {
    const rowId = idNow.get(entry.rowId) ?? entry.rowId;
    const isMove = entry.kind === 'delete' && rowId !== entry.rowId;
    const own = byRow.get(rowId) ?? [];
    if (!isMove) own.push({ ...entry, rowId });
    byRow.set(rowId, own);
  }
  return [...byRow].flatMap(([rowId, own]) => {
    // For a row that was there already, the entry about its new id holds no change. Otherwise it holds what the origin made of the new row.
    const isNew = own[0]?.kind === 'insert' && own[0].wasId === null;
    return netChange(rowId, isNew ? own : own.filter(({ wasId }) => wasId === null));
  });
}

function netChange(rowId: number, entries: readonly ExactEntry[]): readonly NetChange[] {
  const net = netOf(entries, {
    cellsOf: ({ cells }) => cells,
    keyOf: ({ index }) => index,
    differs: ({ before, after }) => !isSameExact(before, after),
  });
  return net === null ? [] : [{ rowId, ...net }];
}

export interface InverseFacts {
  readonly columns: readonly WritableColumn[];
  readonly today: Version;
  readonly isForgotten: boolean;
  /** Today's row with the values of a deleted one; null for none. */
  readonly twinId: number | null;
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
    if (!isSameExact(here, after)) refusals.push({ rowId, column, why: 'changed since' });
    else if (isFile) refusals.push({ rowId, column, why: 'a file has to be attached again' });
    else if (isRaw(before)) refusals.push({ rowId, column, why: 'the value was no text' });
    else edited.push({ column, today: here, edited: before });
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

function inverseOfDelete({ rowId, cells }: NetChange, { columns, today, isForgotten, twinId }: InverseFacts): Inverse {
  if (today !== null) return refused(rowId, 'the row is there again');
  if (isForgotten) return refused(rowId, 'values of it were forgotten');
  if (twinId !== null) return { edit: null, refusals: [] };
  const was = new Map(cells.map(({ index, before }) => [index, before]));
  const wanted = columns.filter(({ index, given }) => given !== 'always' && (was.get(index) ?? null) !== null);
  const lost = wanted.filter(({ index, isFile }) => isFile || isRaw(was.get(index) ?? null));
  const made = wanted
    .filter((column) => !lost.includes(column))
    .map(({ index, name }) => ({ column: name, today: null, edited: was.get(index) ?? null }));
  const refusals = lost.map(({ name, isFile }) => ({
    rowId,
    column: name,
    why: isFile ? 'a file has to be attached again' : 'the value was no text',
  }));
  return { edit: { rowId, kind: 'insert', cells: made }, refusals };
}

function refused(rowId: number, why: string): Inverse {
  return { edit: null, refusals: [{ rowId, column: null, why }] };
}

function isRaw(value: Exact): boolean {
  return value !== null && typeof value === 'object';
}
