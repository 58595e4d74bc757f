/**
 * Writes pieces of filter formulas as the origin's own client does (origin facts 5.1 and 5.2): escaped column names and
 * literals. The sandbox has its own reader.
 *
 * For every input, a piece is one token at the origin: a name or a text cannot end its own quotes.
 */
import { usageError, type RowsyncError } from '../base/errors.ts';
import { numericFromText, numericToPlain, type Numeric } from './decimal.ts';
import { isDate, isTimeOfDay, utcFromOffsetText } from './time-zones.ts';

/** A reference to a column by name: `[Unit \] Price]`. */
export function columnReference(name: string): string {
  return `[${name.replaceAll('\\', '\\\\').replaceAll(']', '\\]')}]`;
}

/** A text in double quotes, with backslashes, quotes and line feeds escaped. */
export function textLiteral(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

/**
 * A number in plain digits; a negative one in parentheses.
 * @throws RowsyncError `usage.invalid` for a text that is not a number, and for NaN and infinities.
 */
export function numberLiteral(value: Numeric): string {
  const number = typeof value === 'bigint' ? value : numericFromText(String(value));
  if (number === undefined) throw unfit('a number');
  const plain = numericToPlain(number);
  return plain.startsWith('-') ? `(${plain})` : plain;
}

/** A date value `YYYY-MM-DD`. @throws RowsyncError `usage.invalid` for any other text. */
export function dateLiteral(date: string): string {
  if (!isDate(date)) throw unfit('a date YYYY-MM-DD');
  return `#${date}#`;
}

/** A time value `hh:mm:ss`. @throws RowsyncError `usage.invalid` for any other text. */
export function timeLiteral(time: string): string {
  if (!isTimeOfDay(time)) throw unfit('a time of day hh:mm:ss');
  return `#${time}#`;
}

/**
 * A timestamp value `YYYY-MM-DDThh:mm:ss[.fff]Z`. Literals are in GMT and have no fractions, so a fraction is cut off:
 * `>=` with the literal then misses nothing.
 * @throws RowsyncError `usage.invalid` for any other text.
 */
export function timestampLiteral(utc: string): string {
  if (!utc.endsWith('Z') || utcFromOffsetText(utc) === undefined) throw unfit('a time YYYY-MM-DDThh:mm:ssZ');
  return `#${utc.slice(0, 10)} ${utc.slice(11, 19)}#`;
}

function unfit(expected: string): RowsyncError {
  return usageError(`A literal of a filter is not ${expected}`, 'Check the value before you build the filter.');
}
