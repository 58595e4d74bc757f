/**
 * Bodies and answers of the write methods in JSON (specification 2.5 to 2.7, 4.6, 4.7; origin facts 7.4 and 7.5): rows to write, and the status of
 * each. The types are those of XML too (xml.ts).
 *
 * A body is an array of objects, or one bare object for a single row. Of two equal keys in one object the last counts,
 * as with every JSON parser in use. Fields that begin with `@row.` other than `@row.id` are ignored, so that a row can
 * be sent back as it was read. Faults of a body are values, because the sandbox answers them; an answer that cannot be
 * read is a `RowsyncError`.
 */
import { RowsyncError } from '../base/errors.ts';
import { TYPE_RULES } from './column-types.ts';
import { ExactNumber, parseExactJson } from './exact.ts';
import { WireFault } from './fault.ts';
import { describeKind, Fields, isObject, readError, unexpected, type ErrorDescriptor } from './json.ts';
import type { ColumnShape, ColumnType, Value } from './schema.ts';
import { writeInput, type ValueWriter } from './values.ts';

/** One row of a write as it came: what its values mean depends on the columns, which the reader does not know. */
export interface InputRow {
  /** `@row.id`, or the attribute `id`; null where none was given. */
  readonly id: number | null;
  /** Raw values by column name or alias, in the order they came; the format's `inputReader` reads them. */
  readonly cells: ReadonlyMap<string, unknown>;
}

/** One cell of a write; the value of an attachment column is `cid:<content id>`. */
export interface OutgoingCell extends ColumnShape {
  readonly value: Value;
}

/** One row of a write as the client sends it; rows need not have the same columns. */
export interface OutgoingRow {
  readonly id: number | null;
  readonly cells: readonly OutgoingCell[];
}

/** What a write method says of one row. */
export interface StatusDescriptor {
  /** 200 updated or deleted, 201 created, 304 not modified, 4xx failed. */
  readonly status: number;
  readonly id: number | null;
  readonly key: string | null;
  /** Why the row failed; on the wire an array for writes, a single `error` for deletes. */
  readonly errors: readonly ErrorDescriptor[];
}

/** The deepest value that a cell may hold; a column's value is never nested, so this only bounds the work. */
const CELL_DEPTH_MAX = 8;

/** Reads the rows of a JSON body. */
export function readInputRows(text: string): readonly InputRow[] | WireFault {
  let json: unknown;
  try {
    json = parseExactJson(text);
  } catch (error) {
    return new WireFault(`The body is not complete JSON${placeOf(error)}`);
  }
  const items: readonly unknown[] = Array.isArray(json) ? json : [json];
  const rows: InputRow[] = [];
  for (const [index, item] of items.entries()) {
    const row = readInputRow(item, index + 1);
    if (row instanceof WireFault) return row;
    rows.push(row);
  }
  return rows;
}

/** The place that V8 names; the rest of its message quotes the body. */
function placeOf(error: unknown): string {
  const place = /\(line (\d+) column (\d+)\)/.exec(error instanceof Error ? error.message : '');
  return place === null ? '' : ` (line ${place[1]}, column ${place[2]})`;
}

function readInputRow(item: unknown, number: number): InputRow | WireFault {
  if (!isObject(item)) return new WireFault(`Row ${number} of the body is ${describeKind(item)}, not an object`);
  const cells = new Map<string, unknown>();
  let id: number | null | undefined = null;
  for (const [name, value] of Object.entries(item)) {
    if (name === '@row.id') {
      id = value === null ? null : rowIdFrom(value);
    } else if (!name.startsWith('@row.')) {
      if (!isShallow(value, CELL_DEPTH_MAX)) return new WireFault(`Row ${number} of the body nests values too deeply`);
      cells.set(name, value);
    }
  }
  if (id === undefined) return new WireFault(`"@row.id" of row ${number} is not an integer`, { source: '@row.id' });
  return { id, cells };
}

/** A row id given as an integer or as its digits; undefined for anything else. */
export function rowIdFrom(value: unknown): number | undefined {
  const text = value instanceof ExactNumber ? value.text : value;
  const id = typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : text;
  return typeof id === 'number' && Number.isSafeInteger(id) && id >= 0 ? id : undefined;
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return true;
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1));
}

/**
 * Checks that every value fits the type of its column. Both formats ask before they write, so that no text of a caller
 * reaches a body unchecked.
 * @throws RowsyncError `origin.unsendable`, which names row and column, never the value.
 */
export function checkInputRows(rows: readonly OutgoingRow[]): void {
  for (const [index, { id, cells }] of rows.entries()) {
    if (id !== null && !Number.isSafeInteger(id)) throw unsendable(`row ${index + 1}: its id is not a whole number`);
    for (const { name, type, value } of cells) {
      const { sendProblem, inputProblem = sendProblem } = TYPE_RULES[type];
      const problem = value === null ? null : inputProblem(value);
      if (problem !== null) throw unsendable(`row ${index + 1}, column "${name}" (${type}): ${problem}`);
    }
  }
}

function unsendable(message: string): RowsyncError {
  return new RowsyncError('originRefused', 'origin.unsendable', {
    message,
    hint: 'Nothing was sent. Correct the value.',
  });
}

/** Writes the rows of a JSON body, for a user in `zone`. @throws RowsyncError `origin.unsendable`. */
export function writeInputRows(rows: readonly OutgoingRow[], zone: string): string {
  checkInputRows(rows);
  const writers = new Map<ColumnType, ValueWriter>();
  const cellText = ({ name, type, value }: OutgoingCell): string => {
    let write = writers.get(type);
    if (write === undefined) writers.set(type, (write = writeInput(type, zone)));
    return `${JSON.stringify(name)}:${write(value)}`;
  };
  const texts = rows.map(({ id, cells }) => {
    const fields = cells.map(cellText);
    return `{${(id === null ? fields : [`"@row.id":${id}`, ...fields]).join(',')}}`;
  });
  return `[${texts.join(',')}]`;
}

/**
 * Reads the answer of a write method or of Delete. There must be one status for each of the `rowCount` rows sent, in
 * their order; anything else would let a refused row pass as accepted.
 * @throws RowsyncError `origin.unexpected`.
 */
export function readStatuses(json: unknown, rowCount: number, what: string): readonly StatusDescriptor[] {
  if (!Array.isArray(json)) throw unexpected(what, `an array of statuses was expected, ${describeKind(json)} came`);
  if (json.length !== rowCount) throw unexpected(what, `${rowCount} rows were sent, ${json.length} statuses came`);
  return (json as unknown[]).map((item, index) => readStatus(item, `${what}, row ${index + 1}`));
}

function readStatus(json: unknown, what: string): StatusDescriptor {
  const fields = new Fields(json, what);
  const status = fields.integer('status');
  if (status < 200 || status > 599) throw unexpected(what, 'the field "status" is not a status');
  const { errors, error, id, key } = fields.rest();
  const failures: readonly unknown[] = Array.isArray(errors) ? errors : isObject(error) ? [error] : [];
  const rowId = rowIdFrom(id) ?? null;
  // Of a refused row it says nothing that anybody needs; of an accepted one it is the row's name from now on.
  if (status < 400 && (id ?? null) !== null && (rowId === null || rowId < 1)) {
    throw unexpected(what, 'the field "id" is not the id of a row');
  }
  return {
    status,
    id: rowId,
    key: typeof key === 'string' ? key : typeof key === 'number' ? String(key) : null,
    errors: failures.map((item) => readError(item) ?? { error: status, code: null, message: '', source: null }),
  };
}

/** Writes the answer of Create, Update and Upsert. */
export function writeStatuses(statuses: readonly StatusDescriptor[]): string {
  return JSON.stringify(statuses.map(statusFields));
}

/** Writes the answer of Delete: the id or key that was passed in, and a single error. */
export function writeDeleteStatuses(statuses: readonly StatusDescriptor[]): string {
  return JSON.stringify(statuses.map(deleteStatusFields));
}

/** The fields of a status in their order; `errors` is there only where the row failed. */
export function statusFields({ status, id, key, errors }: StatusDescriptor): Readonly<Record<string, unknown>> {
  return {
    status,
    ...(id === null ? {} : { id }),
    ...(key === null ? {} : { key }),
    ...(errors.length === 0 ? {} : { errors: errors.map(errorFields) }),
  };
}

/** The fields of a status of Delete in their order. */
export function deleteStatusFields({ status, id, key, errors }: StatusDescriptor): Readonly<Record<string, unknown>> {
  const [error] = errors;
  return {
    ...(id === null ? {} : { id }),
    ...(key === null ? {} : { key }),
    status,
    ...(error === undefined ? {} : { error: errorFields(error) }),
  };
}

/** `error`, `code` and `message` always: clients read them unguarded (origin facts 7.5). */
function errorFields({ error, code, message, source }: ErrorDescriptor): Readonly<Record<string, unknown>> {
  return { error, code: code ?? 0, message, ...(source === null ? {} : { source }) };
}
