/**
 * What one row of a write means: which columns it names, which values they get, whether the values may be there. Reads
 * the store for values that must be unique, writes nothing. One column named twice, by name and by alias, is an error:
 * neither value can be meant.
 */
import { must } from '../../base/assert.ts';
import { stampFromMs } from '../../base/clock.ts';
import { numericFromText, type Numeric } from '../../wire/decimal.ts';
import type { ErrorDescriptor } from '../../wire/json.ts';
import { hasOption, isWritable, type Value } from '../../wire/schema.ts';
import { emailOfUser, type ValueReader } from '../../wire/column-types.ts';
import type { MethodCall } from './call.ts';
import { findColumn } from './parameters.ts';
import { CODES, MethodRefusal } from './refusal.ts';
import { fixedText } from '../formula/numbers.ts';
import { userText, type Catalog, type StoreColumn, type Table } from '../store/catalog.ts';
import { isFile, textFromValue } from '../store/cells.ts';
import type { CellInput } from '../store/spec.ts';
import type { RowWriter } from '../store/writer.ts';
import { contentIdFrom, fileByContentId, type FilePart, type WriteBody } from '../wire/write-body.ts';
import type { InputRow } from '../wire/input-rows.ts';

/** Why a row fails: the status of the row, and what its `errors` say. */
export interface RowProblem {
  readonly status: number;
  readonly error: ErrorDescriptor;
}

/** Cells by column, in the order they came. */
export type RowCells = ReadonlyMap<StoreColumn, CellInput>;

/** A problem with one column; `error` and the status of the row are 400 unless given. */
export function columnProblem(
  code: number,
  message: string,
  source: string,
  kind: { readonly status?: number; readonly error?: number } = {},
): RowProblem {
  const { status = 400, error = status } = kind;
  return { status, error: { error, code, message, source } };
}

/** Reads the cells of the rows of one body, for one caller. */
export class CellReader {
  readonly #call: MethodCall;
  readonly #table: Table;
  readonly #body: WriteBody;
  readonly #readers = new Map<StoreColumn, ValueReader>();

  constructor(call: MethodCall, table: Table, body: WriteBody) {
    this.#call = call;
    this.#table = table;
    this.#body = body;
  }

  /** What the row gives, and everything that is wrong with what it names; nothing is looked up in the rows yet. */
  read(row: InputRow): { readonly cells: RowCells; readonly problems: readonly RowProblem[] } {
    const cells = new Map<StoreColumn, CellInput>();
    const problems: RowProblem[] = [];
    for (const [name, raw] of row.cells) {
      const column = this.#writableColumn(name);
      if ('error' in column) {
        problems.push(column);
      } else if (cells.has(column)) {
        const message = `Column "${column.name}" is given twice`;
        problems.push(columnProblem(CODES.columnTwice, message, column.name));
      } else {
        const cell = this.#cell(column, raw);
        if (typeof cell === 'object' && cell !== null && 'error' in cell) problems.push(cell);
        else cells.set(column, cell);
      }
    }
    return { cells, problems };
  }

  #writableColumn(name: string): StoreColumn | RowProblem {
    const column = findColumn(this.#table, this.#call.role, name);
    if (column instanceof MethodRefusal) {
      const { status, descriptor } = column;
      return { status, error: must(descriptor, 'a refused column is described') };
    }
    // Computed and system columns are neither Updatable nor the key nor the owner.
    if (isWritable({ kind: column.kind, readOnly: column.readOnly }) && column.sqlName !== null) return column;
    return columnProblem(CODES.readOnlyColumn, `Column "${column.name}" is read-only`, column.name);
  }

  #cell(column: StoreColumn, raw: unknown): CellInput | RowProblem {
    let reader = this.#readers.get(column);
    if (reader === undefined) {
      reader = this.#body.format.inputReader(column.valueType, this.#call.user.timezone);
      this.#readers.set(column, reader);
    }
    const value = reader(this.#call.rules.lenientDates ? plainDate(column, raw) : raw);
    if (value === undefined) return badValue(column);
    if (column.valueType === 'Numeric' && value !== null) return keptNumber(value as Numeric); // its reader gives nothing else
    if (typeof value !== 'string') return value;
    if (column.valueType === 'Attachment') return fileFromCell(column, value, this.#body.files);
    return column.valueType === 'User' ? userFromCell(this.#call.store.catalog, column, value) : value;
  }
}

/** A date or timestamp as specified: from Unix seconds, or from a text with slashes; anything else as it came. */
function plainDate({ valueType }: StoreColumn, raw: unknown): unknown {
  if (valueType !== 'Date' && valueType !== 'Timestamp') return raw;
  const seconds = typeof raw === 'string' && /^-?\d{1,12}$/.test(raw) ? Number(raw) : raw;
  if (Number.isSafeInteger(seconds) && Math.abs(Number(seconds)) < 1e12) {
    const stamp = stampFromMs(Number(seconds) * 1000);
    return valueType === 'Date' ? stamp.slice(0, 10) : stamp;
  }
  if (typeof raw !== 'string') return raw;
  return raw.replace(
    /^(\d{4})\/(\d\d)\/(\d\d)(?: (\d\d:\d\d:\d\d))?$/,
    (_all, year, month, day, time?: string) => [year, month, day].join('-') + (time === undefined ? '' : `T${time}`),
  );
}

/** The origin keeps six decimals (origin facts 2.1), in both formats. */
function keptNumber(value: Numeric): Numeric {
  return must(numericFromText(fixedText(value, 6)), 'it has fewer digits than before');
}

function badValue(column: StoreColumn): RowProblem {
  const message = `The value for column "${column.name}" is not of type ${column.type}`;
  return columnProblem(CODES.badValue, message, column.name);
}

function fileFromCell(
  column: StoreColumn,
  value: string,
  files: ReadonlyMap<string, FilePart>,
): CellInput | RowProblem {
  const contentId = contentIdFrom(value);
  if (contentId === null) {
    const message = `The value for column "${column.name}" is not "cid:" and the Content-ID of a file`;
    return columnProblem(CODES.badValue, message, column.name);
  }
  const file = fileByContentId(files, contentId);
  if (file !== undefined) return { name: file.name, mediaType: file.type, bytes: file.bytes };
  return columnProblem(CODES.badValue, `No file comes with the Content-ID for column "${column.name}"`, column.name);
}

/** The e-mail identifies the user, the name is for display: a user of the database gets their own name. */
function userFromCell(catalog: Catalog, column: StoreColumn, value: string): CellInput | RowProblem {
  const email = emailOfUser(value);
  const user = catalog.users.find((candidate) => candidate.email.toLowerCase() === email.toLowerCase());
  if (user !== undefined) return userText(user);
  return /^[^\s<>@]+@[^\s<>@]+$/.test(email) ? value : badValue(column);
}

/** The longest text of columns with a width; Multiline has none. */
const WIDE_TYPES: ReadonlySet<string> = new Set(['Text', 'Phone', 'EMail', 'URL', 'Autonumber', 'Unknown']);

/**
 * What is wrong with cells that are about to be written: empty, too long, or taken by another row than `rowId`. Null
 * means a row that is created, whose columns without a cell get their defaults.
 */
export function cellProblems(
  writer: RowWriter,
  table: Table,
  cells: RowCells,
  rowId: number | null,
): readonly RowProblem[] {
  const all = rowId === null ? withDefaults(table, cells) : cells;
  return [...all].flatMap(([column, cell]) => cellProblem(writer, table, { column, cell, rowId }) ?? []);
}

/** Columns that number or stamp themselves are left to do so. */
function withDefaults(table: Table, cells: RowCells): RowCells {
  const all = new Map(cells);
  for (const column of table.columns) {
    const isPlain = column.kind === 'Updatable' || column.kind === 'Key';
    if (!isPlain || column.sqlName === null || column.valueType === 'Autonumber' || all.has(column)) continue;
    all.set(column, column.defaultValue);
  }
  return all;
}

function cellProblem(
  writer: RowWriter,
  table: Table,
  { column, cell, rowId }: { readonly column: StoreColumn; readonly cell: CellInput; readonly rowId: number | null },
): RowProblem | undefined {
  const { name, width, options, valueType } = column;
  const isKey = column.id === table.key.id;
  if (cell === null || cell === '') {
    if (!isKey && !hasOption(options, 'Required')) return undefined;
    return columnProblem(CODES.emptyValue, `Cannot insert empty value into column "${name}"`, name);
  }
  if (isFile(cell)) return undefined;
  if (width !== null && typeof cell === 'string' && WIDE_TYPES.has(valueType) && cell.length > width) {
    return columnProblem(CODES.textTooLong, `Text exceeds maximum length of ${width} characters`, name);
  }
  if (!isKey && !hasOption(options, 'Unique')) return undefined;
  const isTaken = writer.idsWith(table, column, cell, 2).some((id) => id !== rowId);
  return isTaken ? duplicate(column, cell) : undefined;
}

/** The documented example: the row fails with 400, its error is 409 (specification, section 7). */
function duplicate({ name }: StoreColumn, value: Value): RowProblem {
  const message = `Cannot insert duplicate value "${textFromValue(value) ?? ''}" into column "${name}"`;
  return columnProblem(CODES.duplicateValue, message, name, { error: 409 });
}
