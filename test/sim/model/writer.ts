/**
 * All writes to the rows of the model: rows inserted, changed and deleted, files stored, system columns stamped, each
 * noted in the log. Takes cells that were checked. Invariant: a row id is never used twice while no backup is restored,
 * and a guid never at all.
 */
import { createHash } from 'node:crypto';

import type { FileSpec } from '../../../src/sandbox/store/spec.ts';
import type { Value } from '../../../src/wire/schema.ts';
import { copyTable, putTable, valueTypeOf, type ModelColumn, type ModelState, type ModelTable } from './state.ts';

/** One cell to write. */
export type ModelCell = Value | FileSpec;

/** Cells by column. */
export type CellMap = ReadonlyMap<ModelColumn, ModelCell>;

/** One write that happened. */
export interface ModelOperation {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly by: 'api' | 'colleague' | 'workflow';
  readonly kind: 'create' | 'update' | 'delete' | 'file';
  readonly table: string;
  /** The `@row.id`. */
  readonly id: number;
  /**
   * By column name: of a create all stored cells, of an update those that changed as they are now, of a file its cell,
   * of a delete all cells as they were.
   */
  readonly cells: Readonly<Record<string, Value>>;
  /** The number of the request that made it, counted from 1; null for what colleagues do. */
  readonly requestNumber: number | null;
}

/** Who writes, when, and for whose sake. */
export interface Author {
  /** `Name <email>`. */
  readonly user: string;
  readonly nowMs: number;
  readonly by: ModelOperation['by'];
  readonly requestNumber: number | null;
}

/** What writes go to. */
export interface Ledger {
  readonly state: ModelState;
  readonly log: ModelOperation[];
  /** Number of files ever stored, which no backup brings back. */
  fileCount: number;
  /** Number of writes ever made to each table, undone ones included. */
  readonly changesByTable: Map<number, number>;
}

/** Whether a cell is a file. */
export function isFile(cell: ModelCell): cell is FileSpec {
  return typeof cell === 'object' && cell !== null;
}

/** Inserts a row and returns its id. */
export function insertRow(ledger: Ledger, table: ModelTable, cells: CellMap, author: Author): number {
  const id = table.nextRow;
  table.nextRow += 1;
  const values = new Map<number, Value>();
  for (const column of table.columns) {
    if (column.computed !== null) continue;
    const cell = cells.get(column);
    if (valueTypeOf(column) === 'Autonumber') values.set(column.id, takeNumber(table, column, cell));
    else if (cell === undefined || isFile(cell))
      values.set(column.id, cell === undefined ? initial(column, author) : null);
    else values.set(column.id, cell);
  }
  const { nowMs } = author;
  table.rows.set(id, { id, createdMs: nowMs, modifiedMs: nowMs, cells: values });
  note(ledger, table, author, { kind: 'create', id, cells: values });
  const files = new Map([...cells].filter(([, cell]) => isFile(cell)));
  if (files.size > 0) storeFiles(ledger, table, id, files, author);
  return id;
}

/** Changes cells of a row; false when they all had these values, or the row does not exist. */
export function updateRow(
  ledger: Ledger,
  table: ModelTable,
  id: number,
  cells: CellMap,
  author: Author & { readonly leavesStamps?: boolean },
): boolean {
  const before = table.rows.get(id);
  if (before === undefined) return false;
  const values = new Map<number, Value>();
  const files = new Map<ModelColumn, FileSpec>();
  for (const [column, cell] of cells) {
    if (isFile(cell)) files.set(column, cell);
    else if (cell !== (before.cells.get(column.id) ?? null)) values.set(column.id, cell);
  }
  if (values.size === 0 && files.size === 0) return false;
  for (const column of table.columns) {
    if (valueTypeOf(column) === 'Autonumber') countPast(table, column, values.get(column.id) ?? null);
  }
  const given = new Map(values);
  for (const column of author.leavesStamps === true ? [] : table.columns) {
    const isStamp = column.kind === 'LastModifiedBy' || column.kind === 'DateModified';
    if (isStamp && !given.has(column.id)) values.set(column.id, initial(column, author));
  }
  const after = new Map(before.cells);
  for (const [column, value] of values) after.set(column, value);
  table.rows.set(id, {
    ...before,
    modifiedMs: author.leavesStamps === true ? before.modifiedMs : author.nowMs,
    cells: after,
  });
  if (given.size > 0) note(ledger, table, author, { kind: 'update', id, cells: given });
  if (files.size > 0) storeFiles(ledger, table, id, files, author);
  return true;
}

/** Deletes a row; false when it does not exist. */
export function deleteRow(ledger: Ledger, table: ModelTable, id: number, author: Author): boolean {
  const row = table.rows.get(id);
  if (row === undefined) return false;
  table.rows.delete(id);
  table.deleted = [...table.deleted, { id, atMs: author.nowMs, by: author.user }];
  table.files = table.files.filter((file) => file.row !== id);
  note(ledger, table, author, { kind: 'delete', id, cells: row.cells });
  return true;
}

/** Does some work, and undoes all of it where its result is a failure. */
export function attempt<T>(
  ledger: Ledger,
  table: ModelTable,
  work: (table: ModelTable) => T,
  isFailure: (result: T) => boolean,
): T {
  const saved = copyTable(table);
  const logged = ledger.log.length;
  const result = work(table);
  if (isFailure(result)) {
    putTable(ledger.state, saved);
    ledger.log.length = logged;
  }
  return result;
}

function note(
  ledger: Ledger,
  table: ModelTable,
  { nowMs, by, requestNumber }: Author,
  what: { readonly kind: ModelOperation['kind']; readonly id: number; readonly cells: ReadonlyMap<number, Value> },
): void {
  const cells: Record<string, Value> = Object.create(null) as Record<string, Value>;
  for (const { id, name } of table.columns) if (what.cells.has(id)) cells[name] = what.cells.get(id) ?? null;
  ledger.changesByTable.set(table.id, (ledger.changesByTable.get(table.id) ?? 0) + 1);
  ledger.log.push({ at: nowMs, by, kind: what.kind, table: table.name, id: what.id, cells, requestNumber });
}

function storeFiles(
  ledger: Ledger,
  table: ModelTable,
  rowId: number,
  files: ReadonlyMap<ModelColumn, ModelCell>,
  author: Author,
): void {
  const row = table.rows.get(rowId);
  if (row === undefined) return;
  const stored = new Map<number, Value>();
  for (const [{ id }, file] of files) {
    if (!isFile(file)) continue;
    const earlier = table.files.filter(({ column, row: of }) => column === id && of === rowId);
    const revision = Math.max(0, ...earlier.map((known) => known.revision)) + 1;
    ledger.fileCount += 1;
    const guid = guidFrom(ledger.fileCount);
    const place = { guid, column: id, row: rowId, revision };
    const { name, mediaType, bytes } = file;
    const made = { ...place, name, type: mediaType, bytes, author: author.user, createdMs: author.nowMs };
    table.files = [...table.files, made];
    stored.set(id, `${name};${revision};${guid}`);
  }
  table.rows.set(rowId, { ...row, cells: new Map([...row.cells, ...stored]) });
  note(ledger, table, author, { kind: 'file', id: rowId, cells: stored });
}

function guidFrom(count: number): string {
  const hex = createHash('sha1').update(`file ${count}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

/** The value of a column for which none was given. */
function initial(column: ModelColumn, { user, nowMs }: Author): Value {
  switch (column.kind) {
    case 'RecordOwner':
    case 'CreatedBy':
    case 'LastModifiedBy':
      return user;
    case 'DateCreated':
    case 'DateModified':
      return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
    default:
      return column.defaultValue;
  }
}

function takeNumber(table: ModelTable, column: ModelColumn, given: ModelCell | undefined): Value {
  if (given === undefined) {
    const number = table.nextNumberByColumn.get(column.id) ?? 1;
    table.nextNumberByColumn.set(column.id, number + 1);
    return column.format.replaceAll(/\{0+\}/g, (token) => String(number).padStart(token.length - 2, '0'));
  }
  const value = isFile(given) ? null : given;
  countPast(table, column, value);
  return value;
}

/** Numbers to come stay above one that was given. */
function countPast(table: ModelTable, column: ModelColumn, given: Value): void {
  const number = Number(/\d{1,15}$/.exec(String(given ?? ''))?.[0] ?? 0);
  if (number >= (table.nextNumberByColumn.get(column.id) ?? 1)) table.nextNumberByColumn.set(column.id, number + 1);
}
