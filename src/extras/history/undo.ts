/**
 * Takes changes back, those of a run or all since a moment, as ordinary edits of two-way tables, which triggers
 * capture like any client's.
 */
import { oncePerKey } from '../../base/memoize.ts';
import { ident, joinSql, sql } from '../../base/sql.ts';
import { readColumns, type ColumnRecord } from '../../replica/bookkeeping/columns.ts';
import type { LostRow, PutBackAnswer, RowEdits, RowName } from '../shared/linked-extra.ts';
import type { Connection, Stored } from '../../replica/connection.ts';
import { isSameExact, type Exact, type Version } from '../../replica/history-cells.ts';
import { openKnownRows, type KnownRows } from '../../replica/history-writer.ts';
import { findHistory } from '../../replica/bookkeeping/history.ts';
import { readTable, type TableRecord } from '../../replica/bookkeeping/tables.ts';
import { queryAny, queryNumber, queryRows, queryText } from '../../replica/query.ts';
import { baseName, hasBase } from '../../replica/user-tables.ts';
import { clientRefusal, type ClientConnection, readExactCells, writeCells } from '../shared/sql-client.ts';
import { readExactEntries, type ExactEntry } from './exact-entries.ts';
import {
  authorsOf,
  inverseOf,
  netChanges,
  type InverseEdit,
  type InverseFacts,
  type NetChange,
  type UndoRefusal,
  type WritableColumn,
} from './undo-plan.ts';

/** Changes to take back: of a run, or after an entry; of one row, or of all rows for null. */
export interface UndoSelection {
  readonly which: { readonly runId: number } | { readonly afterSeq: number; readonly sinceMs: number };
  readonly rowId: number | null;
}

export interface TableUndo {
  readonly table: string;
  /** False for a mirror: nothing is written, since its rows are changed at the origin. */
  readonly isTwoWay: boolean;
  /** Changes that were looked at. */
  readonly changeCount: number;
  /** Rows among them of which only columns changed that an edit cannot write, such as computed ones. */
  readonly computedCount: number;
  readonly edits: readonly InverseEdit[];
  /** The cells of these edits, but of new rows. */
  readonly cells: RowEdits;
  /** Rows of these edits that were changed at the origin, too, with those whom it names as authors; `''` for nobody. */
  readonly ofOrigin: readonly { readonly rowId: number; readonly by: readonly string[] }[];
  /** Ids of rows that were deleted only here, and are here again. */
  readonly withdrawn: readonly number[];
  /** Rows that are gone at the origin, too, and are put back there. */
  readonly deleted: readonly LostRow[];
  /** Deleted rows that are here again under another id, with the key that they have now; null if it is not known. */
  readonly same: readonly { readonly row: LostRow; readonly newId: number; readonly newKey: string | null }[];
  readonly refusals: readonly UndoRefusal[];
}

/** Rows that come back, or are back, under another id and key. */
export type RowsBack = Pick<PutBackAnswer, 'hereAgain' | 'goneKeys'>;

const NOTHING_UNDONE = {
  changeCount: 0,
  computedCount: 0,
  edits: [],
  cells: new Map(),
  ofOrigin: [],
  withdrawn: [],
  deleted: [],
  same: [],
  refusals: [],
};

/** A table, and its columns: all, those of the history, and those that edits write. */
interface UndoTarget {
  readonly record: TableRecord;
  readonly known: readonly ColumnRecord[];
  readonly rows: KnownRows;
  readonly columns: readonly WritableColumn[];
}

/**
 * Takes changes of a table back, except where cells changed since. A row whose delete has not reached the origin is
 * here again, as the origin has it. A row that is here again under another id is left alone, with the references to it.
 * What a trigger refuses is listed. @throws what ended the transaction.
 */
export function undoTable(
  from: ClientConnection,
  { id, table }: { readonly id: number; readonly table: string },
  selection: UndoSelection,
  back: RowsBack,
): TableUndo {
  const record = readTable(from, id);
  const isTwoWay = record.push === 'on' && hasBase(from, id);
  const target = openTarget(from, record);
  if (target === null) return { table, isTwoWay, ...NOTHING_UNDONE };
  const { known, rows, columns } = target;
  const refusals: UndoRefusal[] = [];
  const changes = readChanges(from, target, selection, refusals);
  const edits: InverseEdit[] = [];
  const ofOrigin: { rowId: number; by: readonly string[] }[] = [];
  const withdrawn: number[] = [];
  const deleted: LostRow[] = [];
  const columnIds = new Map(known.map((column) => [column.localName, column.id]));
  const valueNow = presentKeys(id, columnIds, back);
  // The origin still has such rows: they come back as they are there.
  const isOnlyHere = (rowId: number): boolean => isTwoWay && isInBase(from, id, rowId);
  const gone = changes.filter(({ kind, rowId }) => kind === 'delete' && !isOnlyHere(rowId));
  // Found before anything is written: else a row that is here again would be taken away as a new one.
  const same = findSameRows(from, target, gone);
  const sameIds = new Map(same.map(({ row, newId }) => [row.oldId, newId]));
  const hereAgain = new Set(sameIds.values());
  const today = (rowId: number): Version => rows.standing([rowId]).get(rowId) ?? null;
  for (const change of changes) {
    const { rowId } = change;
    if (change.kind === 'insert' && (hereAgain.has(rowId) || back.hereAgain.has(`${id} ${rowId}`))) continue;
    const newId = sameIds.get(rowId);
    const found = inverseOf(change, {
      columns,
      today: today(rowId),
      isForgotten: change.kind === 'delete' && isForgotten(from, id, rowId),
      same: newId === undefined ? null : { rowId: newId, values: today(newId) ?? [] },
      valueNow,
    });
    if (found.edit?.kind === 'insert' && rowId > 0) {
      if (!isOnlyHere(rowId)) deleted.push(deletedRow(from, target, change));
      else if (wasSent(from, id, rowId)) {
        refusals.push({ rowId, column: null, why: 'its delete was sent, and may have arrived: push first' });
      } else {
        withdrawn.push(rowId);
        refusals.push(...withdrawDelete(from, target, change, valueNow));
      }
      continue;
    }
    if (found.edit?.kind === 'insert' && !isTwoWay) continue;
    refusals.push(...found.refusals);
    const edit = found.edit === null ? null : withPresentKeys(found.edit, valueNow, refusals);
    if (edit === null) continue;
    const why = isTwoWay ? refusedEdit(from, record.localName, edit) : null;
    if (why === null) {
      edits.push(edit);
      const by = authorsOf(change, edit, columns);
      if (by.length > 0) ofOrigin.push({ rowId, by });
    } else refusals.push({ rowId, column: null, why });
  }
  return {
    table: record.localName,
    isTwoWay,
    ...countsOf(changes, columns),
    edits,
    cells: new Map(edits.flatMap((edit) => editedCells(edit, id, columnIds))),
    ofOrigin,
    withdrawn,
    deleted,
    same,
    refusals,
  };
}

function countsOf(
  changes: readonly NetChange[],
  columns: readonly WritableColumn[],
): Pick<TableUndo, 'changeCount' | 'computedCount'> {
  const writable = new Set(columns.map(({ index }) => index));
  const computed = changes.filter(({ kind, cells }) => kind === 'update' && !cells.some((c) => writable.has(c.index)));
  return { changeCount: changes.length, computedCount: computed.length };
}

function openTarget(from: Connection, record: TableRecord): UndoTarget | null {
  const history = findHistory(from, record.id);
  const rows = history === null ? null : openKnownRows(from, history);
  const known = readColumns(from, record.id);
  return rows === null ? null : { record, known, rows, columns: writableColumns(known, rows) };
}

function presentKeys(
  tableId: number,
  columnIds: ReadonlyMap<string, number>,
  { goneKeys }: RowsBack,
): InverseFacts['valueNow'] {
  return (column, value) => {
    const key = goneKeys.get(`${tableId} ${columnIds.get(column)} ${typeof value === 'object' ? '' : value}`);
    if (key === undefined) return value;
    return key !== null && typeof value === 'bigint' ? BigInt(key) : (key ?? undefined);
  };
}

function editedCells(
  { rowId, kind, cells }: InverseEdit,
  tableId: number,
  columnIds: ReadonlyMap<string, number>,
): readonly (readonly [RowName, ReadonlyMap<number, string> | null])[] {
  if (kind === 'insert') return [];
  const texts = cells.map(
    ({ column, edited }) => [columnIds.get(column) ?? 0, typeof edited === 'object' ? '' : String(edited)] as const,
  );
  return [[`${tableId} ${rowId}`, kind === 'delete' ? null : new Map(texts)]];
}

/** Whether the origin has a row that is deleted here. */
function isInBase(from: Connection, tableId: number, rowId: number): boolean {
  return queryAny(from, sql`SELECT 1 FROM ${ident(baseName(tableId))} WHERE _id = ?`, [rowId]);
}

/** Whether a change of a row was sent, and no answer has settled it. */
function wasSent(from: Connection, tableId: number, rowId: number): boolean {
  const text = sql`SELECT 1 FROM _rowsync_rows WHERE table_id = ? AND row_id = ? AND state IN ('sending', 'inDoubt')`;
  return queryAny(from, text, [tableId, rowId]);
}

/**
 * Makes a row that was deleted only here what the origin has. Returns the cells that were something else when it was
 * deleted, or refer to a key that is gone.
 */
function withdrawDelete(
  from: Connection,
  { record: { id, localName }, columns }: UndoTarget,
  { rowId, cells }: NetChange,
  valueNow: InverseFacts['valueNow'],
): readonly UndoRefusal[] {
  const names = joinSql([sql`_id`, ...columns.map(({ name }) => ident(name))]);
  from
    .prepare(sql`INSERT INTO ${ident(localName)} (${names}) SELECT ${names} FROM ${ident(baseName(id))} WHERE _id = ?`)
    .run(rowId);
  const was = new Map(cells.map(({ index, before }) => [index, before]));
  const now = readExactCells(from, localName, { id: rowId, columns: columns.map(({ name }) => name) }) ?? [];
  return columns.flatMap(({ index, name: column, given }, at) => {
    const is = now[at] ?? null;
    if (valueNow(column, is) !== is) return [{ rowId, column, why: 'it refers to a row that gets a new key' }];
    const isSame = given === 'always' || isSameExact(was.get(index) ?? null, is);
    return isSame ? [] : [{ rowId, column, why: 'the row is back with the value that the origin has' }];
  });
}

function deletedRow(from: Connection, { record, rows, known }: UndoTarget, { rowId, cells }: NetChange): LostRow {
  const values = cells.flatMap(({ index, before }): readonly (readonly [number, Stored])[] => {
    const columnId = known.find(({ seq }) => seq === rows.columns[index]?.seq)?.id;
    // What is no text in UTF-8 cannot be sent.
    return columnId === undefined || (typeof before === 'object' && before !== null) ? [] : [[columnId, before]];
  });
  const last = sql`SELECT strftime('%Y-%m-%dT%H:%M:%SZ', max(at), 'unixepoch') FROM _rowsync_history
      WHERE row_id = ? AND table_id = ? AND kind = 'delete'`;
  const deletedAt = queryText(from, last, [rowId, record.id]);
  return { tableId: record.id, oldId: rowId, values: new Map(values), deletedAt };
}

/**
 * An edit whose cells refer to no key that is gone: a row that is here again is meant by its key of now. Null if no
 * cell is left. An empty cell is linked again where its row is put back.
 */
function withPresentKeys(
  edit: InverseEdit,
  valueNow: InverseFacts['valueNow'],
  refusals: UndoRefusal[],
): InverseEdit | null {
  if (edit.kind === 'delete') return edit;
  const cells = edit.cells.flatMap((cell) => {
    const { column, today } = cell;
    const edited = valueNow(column, cell.edited);
    if (edited !== undefined) return isSameExact(today, edited) ? [] : { ...cell, edited };
    const why = 'it referred to a row that gets a new key';
    if ((today ?? '') !== '') refusals.push({ rowId: edit.rowId, column, why });
    return [];
  });
  return cells.length === 0 ? null : { ...edit, cells };
}

function writableColumns(known: readonly ColumnRecord[], { columns }: KnownRows): readonly WritableColumn[] {
  return known.flatMap(({ seq, localName, state, writable, type, kind }) => {
    const index = columns.findIndex((column) => column.seq === seq);
    if (index < 0 || state !== 'live' || !writable) return [];
    const given = type === 'Autonumber' ? 'always' : kind === 'Key' || kind === 'RecordOwner' ? 'if empty' : 'never';
    return [{ index, name: localName, isFile: type === 'Attachment', given }];
  });
}

function readChanges(
  from: Connection,
  { record: { id }, rows }: UndoTarget,
  { which, rowId }: UndoSelection,
  refusals: UndoRefusal[],
): readonly NetChange[] {
  const moved = sql`SELECT was_id, row_id FROM _rowsync_history WHERE table_id = ? AND was_id IS NOT NULL ORDER BY seq`;
  const idNow = new Map(queryRows(from, moved, [id]).map(([wasId, newId]) => [Number(wasId), Number(newId)]));
  const span = 'runId' in which ? sql`h.run_id = @span` : sql`h.seq > @span`;
  // Filling an added column, and entering or leaving the filter, are no changes of the row.
  const filter = sql`${span} AND h.kind <> 'forgotten' AND h.cause NOT IN ('schema', 'filter')`;
  const values = { span: 'runId' in which ? which.runId : which.afterSeq };
  const place = { tableId: id, columns: rows.columns, order: sql`ASC` };
  const entries = [...readExactEntries(from, place, { filter, values })];
  if ('sinceMs' in which) {
    for (const { entry, editedMs } of unrecordedEdits(from, id, rows)) {
      if (rowId !== null && entry.rowId !== rowId) continue;
      if (editedMs >= which.sinceMs) entries.push(entry);
      else refusals.push({ rowId: entry.rowId, column: null, why: UNRECORDED });
    }
  }
  const changes = netChanges(entries, idNow);
  return rowId === null ? changes : changes.filter((change) => change.rowId === rowId);
}

const UNRECORDED = 'edits of it that no run has recorded yet may be older; after rowsync pull their time is known';

/** The edits that no entry tells of yet, and since when the row is edited. */
function* unrecordedEdits(
  from: Connection,
  id: number,
  rows: KnownRows,
): Generator<{ readonly entry: ExactEntry; readonly editedMs: number }, undefined> {
  const marks = queryRows(from, sql`SELECT row_id, since FROM _rowsync_rows WHERE table_id = ?`, [id]);
  const ids = marks.map(([rowId]) => Number(rowId));
  const [known, standing] = [rows.read(ids), rows.standing(ids)];
  for (const [rowId, since] of marks.map((mark) => mark.map(Number))) {
    if (rowId === undefined || since === undefined) continue;
    const [was, is] = [known.get(rowId) ?? null, standing.get(rowId) ?? null];
    const cells = rows.columns.flatMap((_, index) => {
      const [before, after] = [was?.[index] ?? null, is?.[index] ?? null];
      return isSameExact(before, after) ? [] : [{ index, before, after }];
    });
    if (cells.length === 0 && (was === null) === (is === null)) continue;
    const kind = was === null ? 'insert' : is === null ? 'delete' : 'update';
    yield { entry: { rowId, kind, wasId: null, by: null, cells }, editedMs: since * 1_000 };
  }
  return undefined;
}

function isForgotten(from: Connection, id: number, rowId: number): boolean {
  const text = sql`SELECT 1 FROM _rowsync_history WHERE row_id = ? AND table_id = ? AND kind = 'forgotten'`;
  return queryAny(from, text, [rowId, id]);
}

/** Rows of today that equal deleted ones. */
function findSameRows(from: Connection, target: UndoTarget, gone: readonly NetChange[]): TableUndo['same'] {
  const { record, rows, known } = target;
  const keySeq = known.find(({ kind }) => kind === 'Key')?.seq;
  const keyIndex = rows.columns.findIndex(({ seq }) => seq === keySeq);
  const findEqual = equalRowsFinder(from, target, gone);
  const madeAt = oncePerKey((rowId: number) =>
    rows.read([rowId]).has(rowId) ? seqOfMaking(from, record.id, rowId) : Infinity,
  );
  const taken = new Set<number>();
  return gone.flatMap((change) => {
    const { ids: equal, isIdentified } = findEqual(change);
    const deletedAt = seqOfDelete(from, record.id, change.rowId);
    // Without a value that identifies rows, one that was there at the time of the delete, or stands for another row, is
    // a different one.
    const newId = equal.find((id) => isIdentified || (!taken.has(id) && madeAt(id) > deletedAt));
    if (newId === undefined) return [];
    taken.add(newId);
    const key = rows.standing([newId]).get(newId)?.[keyIndex] ?? null;
    const newKey = key === null || typeof key === 'object' ? null : String(key);
    return [{ newId, newKey, row: deletedRow(from, target, change) }];
  });
}

/** The entry with which a row was made, or got its id; 0 where the history began with it. */
function seqOfMaking(from: Connection, tableId: number, rowId: number): number {
  const text = sql`SELECT coalesce(max(seq), 0) FROM _rowsync_history
      WHERE row_id = ? AND table_id = ? AND (kind = 'insert' OR was_id IS NOT NULL)`;
  return queryNumber(from, text, [rowId, tableId]);
}

/** The entry with which a row was deleted; for a delete without one, more than any. */
function seqOfDelete(from: Connection, tableId: number, rowId: number): number {
  const text = sql`SELECT coalesce(max(seq), ${Number.MAX_SAFE_INTEGER}) FROM _rowsync_history WHERE row_id = ? AND table_id = ? AND kind = 'delete'`;
  return queryNumber(from, text, [rowId, tableId]);
}

/** Finds today's rows that equal a deleted one: by the value that identifies rows, else by all values; in one read. */
function equalRowsFinder(
  from: Connection,
  { record, known, columns }: UndoTarget,
  deletes: readonly NetChange[],
): (change: NetChange) => { readonly ids: readonly number[]; readonly isIdentified: boolean } {
  const identifying = known.find(({ name, state }) => name === record.matchColumn && state === 'live')?.localName;
  const match = columns.filter(({ name }) => name === identifying);
  const all = columns.filter(({ isFile, given }) => !isFile && given !== 'always');
  const wantedOf = ({ cells }: NetChange): WantedValues => {
    const was = new Map(cells.map(({ index, before }) => [index, before]));
    const compared = match.some(({ index }) => (was.get(index) ?? null) !== null) ? match : all;
    return { compared, name: valuesName(compared.map(({ index }) => was.get(index) ?? null)) };
  };
  const found = readNamedValues(from, record.localName, deletes.map(wantedOf));
  return (change) => {
    const { compared, name } = wantedOf(change);
    return { ids: found.get(compared)?.get(name) ?? [], isIdentified: compared === match };
  };
}

interface WantedValues {
  readonly compared: readonly WritableColumn[];
  /** As `valuesName` has it. */
  readonly name: string;
}

/** Rows of today with wanted values, by compared columns and the name of the values; the lowest ids first. */
function readNamedValues(
  from: Connection,
  table: string,
  wanted: readonly WantedValues[],
): ReadonlyMap<readonly WritableColumn[], ReadonlyMap<string, readonly number[]>> {
  const groups = [...Map.groupBy(wanted, ({ compared }) => compared)].filter(([compared]) => compared.length > 0);
  return new Map(
    groups.map(([compared, own]) => {
      const found = new Map(own.map(({ name }) => [name, [] as number[]]));
      const names = joinSql([sql`_id`, ...compared.map(({ name }) => ident(name))]);
      const text = sql`SELECT ${names} FROM ${ident(table)} ORDER BY _id`;
      const rows = from.prepare(text).safeIntegers().raw().iterate() as IterableIterator<Exact[]>; // the columns just listed
      for (const [id, ...values] of rows) found.get(valuesName(values))?.push(Number(id));
      return [compared, found] as const;
    }),
  );
}

/** One text for values that SQLite takes as the same: a whole number may be an INTEGER or a REAL. */
function valuesName(values: readonly Exact[]): string {
  return JSON.stringify(
    values.map((value) => {
      if (typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value)))
        return [String(BigInt(value))];
      return typeof value === 'number' ? [String(value)] : value;
    }),
  );
}

function bindable(value: Exact): null | string | number | bigint | Buffer {
  return value !== null && typeof value === 'object' && !Buffer.isBuffer(value) ? Buffer.from(value.raw, 'hex') : value;
}

/** Writes an edit as any SQL client would, or says why it was refused. @throws what ended the transaction. */
export function refusedEdit(from: ClientConnection, table: string, { rowId, kind, cells }: InverseEdit): string | null {
  try {
    if (kind === 'delete') from.prepare(sql`DELETE FROM ${ident(table)} WHERE _id = ?`).run(rowId);
    else {
      const written = cells.map(({ column, edited }) => ({ column, value: bindable(edited) }));
      writeCells(from, table, kind === 'insert' ? null : rowId, written);
    }
    return null;
  } catch (thrown) {
    const why = clientRefusal(from, thrown);
    if (why === null) throw thrown;
    return why;
  }
}
