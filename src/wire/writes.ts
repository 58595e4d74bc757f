/**
 * Rows to write in JSON, and the statuses that the write methods return (specification 2.5 to 2.7, 4.6, 4.7; origin
 * facts 7.4 and 7.5). XML uses the same types (xml.ts).
 */
import { RowsyncError } from '../base/errors.ts';
import { TYPE_RULES } from './column-types.ts';
import { integerFrom, isObject, readArray, readError, readObject, unexpected, type ErrorDescriptor } from './json.ts';
import type { ColumnShape, ColumnType, Value } from './schema.ts';

/** One cell of a write; the value of an attachment column is `cid:<content id>`. */
export interface OutgoingCell extends ColumnShape {
  readonly value: Value;
}

/** One row of a write as the client sends it; rows need not have the same columns. */
export interface OutgoingRow {
  readonly id: number | null;
  readonly cells: readonly OutgoingCell[];
}

/** The result of a write method for one row. */
export interface StatusDescriptor {
  /** 200 updated or deleted, 201 created, 304 not modified, 4xx failed. */
  readonly status: number;
  readonly id: number | null;
  readonly key: string | null;
  /** Why the row failed; on the wire an array for writes, a single `error` for deletes. */
  readonly errors: readonly ErrorDescriptor[];
}

/** A row id given as an integer or as its digits; undefined for anything else. */
export function rowIdFrom(value: unknown): number | undefined {
  const id = integerFrom(value);
  return id !== null && id >= 0 ? id : undefined;
}

/**
 * Checks that every value fits the type of its column. Both formats call it before they write, so that no text of a
 * caller reaches a body unchecked.
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

export function unsendable(message: string, hint = 'Nothing was sent. Correct the value.'): RowsyncError {
  return new RowsyncError('originRefused', 'origin.unsendable', { message, hint });
}

/** A value as the write methods expect it, as JSON text; `zone` is the calling user's. */
export function inputJson(type: ColumnType, value: Value, zone: string): string {
  if (value === null) return 'null';
  const { isJsonLiteral, writeInput } = TYPE_RULES[type];
  const text = writeInput(value, zone);
  return isJsonLiteral === true ? text : JSON.stringify(text);
}

/** Writes the rows of a JSON body, for a user in `zone`. @throws RowsyncError `origin.unsendable`. */
export function writeInputRows(rows: readonly OutgoingRow[], zone: string): string {
  checkInputRows(rows);
  const cellText = ({ name, type, value }: OutgoingCell): string => {
    return `${JSON.stringify(name)}:${inputJson(type, value, zone)}`;
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
  const statuses = readArray(json, 'statuses', what);
  if (statuses.length !== rowCount)
    throw unexpected(what, `${rowCount} rows were sent, ${statuses.length} statuses came`);
  return statuses.map((item, index) => readStatus(item, `${what}, row ${index + 1}`));
}

function readStatus(json: unknown, what: string): StatusDescriptor {
  const { status: said, errors, error, id, key } = readObject(json, what);
  const status = integerFrom(said);
  if (status === null || status < 200 || status > 599) throw unexpected(what, 'the field "status" is not a status');
  const failures: readonly unknown[] = Array.isArray(errors) ? errors : isObject(error) ? [error] : [];
  const rowId = rowIdFrom(id) ?? null;
  // The id of a refused row is not used; that of an accepted one identifies the row from now on.
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
