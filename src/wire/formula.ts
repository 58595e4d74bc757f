/**
 * Pieces of filter formulas as the origin's own client writes them (origin facts 5.1 and 5.2): escaped column names and literals. Emission only; the
 * sandbox has its own reader.
 *
 * For every input, a piece is one token at the origin: a name or a text cannot end its own quotes. Pure.
 */
import { numericToPlain, type Numeric } from './decimal.ts';

/** A reference to a column by name: `[Unit \] Price]`. */
export function columnReference(name: string): string {
  return `[${name.replaceAll('\\', '\\\\').replaceAll(']', '\\]')}]`;
}

/** A text in double quotes, with backslashes, quotes and line feeds escaped. */
export function textLiteral(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

/** A number in plain digits; a negative one in parentheses, because literals have no sign of their own. */
export function numberLiteral(value: Numeric): string {
  const plain = numericToPlain(value);
  return plain.startsWith('-') ? `(${plain})` : plain;
}

/** A date value `YYYY-MM-DD`. */
export function dateLiteral(date: string): string {
  return `#${date}#`;
}

/** A time value `hh:mm:ss`. */
export function timeLiteral(time: string): string {
  return `#${time}#`;
}

/**
 * A timestamp value `YYYY-MM-DDThh:mm:ss[.fff]Z`. Literals are in GMT and have no fractions: a fraction is cut, so that
 * `>=` with the literal misses nothing.
 */
export function timestampLiteral(utc: string): string {
  return `#${utc.slice(0, 10)} ${utc.slice(11, 19)}#`;
}
