/**
 * Which cells of two rows differ. Values are canonical (wire/schema.ts), so equal values are identical ones; only numbers may
 * come from SQL in several spellings, and are compared by what they are worth, to the last digit. Pure.
 */
import { numericToPlain, plainDecimal, type Numeric } from '../wire/decimal.ts';
import type { ColumnType, Row, Value } from '../wire/schema.ts';

/** Indexes of the values that differ; both rows have the same columns in the same order. */
export function changedIndexes(one: readonly Value[], other: readonly Value[]): readonly number[] {
  return one.flatMap((value, index) => (value === other[index] ? [] : [index]));
}

/** Whether one of the rows that came is not what the origin confirmed last. */
export function hasNews(rows: readonly Row[], base: readonly Row[]): boolean {
  const baseById = new Map(base.map(({ id, values }) => [id, values]));
  return rows.some(({ id, values }) => {
    const before = baseById.get(id);
    return before === undefined || changedIndexes(before, values).length > 0;
  });
}

/** Whether two rows of one table are the same, with what the caller may do with them. */
export function isSameRow(one: Row, other: Row): boolean {
  return one.allow === other.allow && one.values.every((value, index) => value === other.values[index]);
}

/** Whether two values of one column are the same: null only as null, numbers exactly (1, 1.0 and the text '1.0' are one). */
export function isSameValue(type: ColumnType, one: Value, other: Value): boolean {
  if (one === other) return true;
  if (one === null || other === null || (type !== 'Numeric' && type !== 'Duration')) return false;
  return plainNumber(one) === plainNumber(other);
}

/**
 * Whether a value is what the origin may make of one that was sent, and that nobody could tell from it there: numbers have six decimals, a
 * checkbox is never empty (origin facts 2.1), and an empty text may be none. Another name of a user may be a colleague's.
 */
export function isTakenAs(type: ColumnType, sent: Value, there: Value): boolean {
  if (isSameValue(type, sent, there)) return true;
  switch (type) {
    case 'Numeric':
    case 'Duration':
      return sent !== null && there !== null && isRounded(plainNumber(sent), plainNumber(there));
    case 'Checkbox':
      return sent === null && there === false;
    default:
      return sent === '' && there === null;
  }
}

/** Decimals of a number at the origin (origin facts 2.1). */
export const DECIMALS_MAX = 6;

/** Whether the second number is the first one without what stands behind its sixth decimal, rounded either way. */
function isRounded(long: string, short: string): boolean {
  const [whole = '', fraction = ''] = long.split('.');
  const [shortWhole = '', shortFraction = ''] = short.split('.');
  if (fraction.length <= DECIMALS_MAX || shortFraction.length > DECIMALS_MAX) return false;
  const isNegative = long.startsWith('-');
  const millionths = (digits: string, decimals: string): bigint => {
    return BigInt(digits.replace('-', '') + decimals.slice(0, DECIMALS_MAX).padEnd(DECIMALS_MAX, '0'));
  };
  const kept = millionths(whole, fraction);
  const came = millionths(shortWhole, shortFraction);
  if (came !== 0n && short.startsWith('-') !== isNegative) return false;
  return came === kept || came === kept + 1n;
}

/** The digits of a number; a text that is none stays as it is and equals only itself. */
function plainNumber(value: Exclude<Value, null>): string {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return plainDecimal(value) ?? value;
  return plainDecimal(numericToPlain(value satisfies Numeric)) ?? String(value);
}
