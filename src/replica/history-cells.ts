/**
 * Values of rows as the history keeps them: JSON texts from which SQLite makes exactly the same value again, even for
 * texts that are not UTF-8. Also what differs between two states of a row. Pure.
 */

/** A text that is no UTF-8, by its bytes in hexadecimal digits. */
export interface RawBytes {
  readonly raw: string;
}

/** A value of a row with every byte. */
export type Exact = null | string | number | bigint | Buffer | RawBytes;

/** A state of a row: values in the order of some columns; null where there is no row. */
export type Version = readonly Exact[] | null;

/** A cell that differs, by the place of its column. */
export interface CellChange {
  readonly index: number;
  readonly before: Exact;
  readonly after: Exact;
}

/** Whether two values are the same, of the same type. */
export function isSameExact(one: Exact, other: Exact): boolean {
  if (one === other) return true;
  if (typeof one === 'number' && typeof other === 'number') return Object.is(one, other);
  if (Buffer.isBuffer(one)) return Buffer.isBuffer(other) && one.equals(other);
  if (one === null || typeof one !== 'object' || Buffer.isBuffer(other)) return false;
  return other !== null && typeof other === 'object' && one.raw === other.raw;
}

/** Whether two states of a row are the same. */
export function isSameVersion(one: Version, other: Version): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((value, index) => isSameExact(value, other[index] ?? null));
}

/** What differs between two states of a row of as many columns; if it comes or goes, the cells with a value. */
export function diffVersions(before: Version, after: Version): readonly CellChange[] {
  const cells: CellChange[] = [];
  if (before === after) return cells;
  const count = (before ?? after ?? []).length;
  for (let index = 0; index < count; index += 1) {
    const one = before?.[index] ?? null;
    const other = after?.[index] ?? null;
    if (!isSameExact(one, other)) cells.push({ index, before: one, after: other });
  }
  return cells;
}

/** A value in JSON as SQLite reads it: with every digit, and a number of type REAL as one. */
export function exactText(value: Exact): string {
  if (value === null) return 'null';
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') return realText(value);
  return Buffer.isBuffer(value) ? `{"blob":"${value.toString('hex')}"}` : `{"raw":"${value.raw}"}`;
}

/** The value of such a text. */
export function exactFromText(text: string): Exact {
  const value = JSON.parse(text) as string | number | null | RawBytes | { readonly blob: string }; // as exactText made it
  if (typeof value === 'number') return /^-?\d+$/.test(text) ? BigInt(text) : value;
  return typeof value === 'object' && value !== null && 'blob' in value ? Buffer.from(value.blob, 'hex') : value;
}

function realText(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? '9e999' : '-9e999';
  const text = Object.is(value, -0) ? '-0' : String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}
