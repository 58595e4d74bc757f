/**
 * Rows with values that have no meaning for the type of their column. They name which column, and what is wrong, in words that lead a person to the value at the
 * origin. The words never hold the value (I16).
 */
import type { Row, UnreadableRow } from './schema.ts';

/** A value that could not be read. */
export interface UnreadableCell {
  readonly column: string;
  readonly reason: string;
}

/** What is said of a row with such cells, which has null in their place. */
export function unreadableRow(
  row: Row,
  [first, ...others]: readonly [UnreadableCell, ...UnreadableCell[]],
): UnreadableRow {
  if (others.length === 0) return { id: row.id, ...first, rest: row };
  const also = others.map(({ column }) => `"${column}"`).join(', ');
  return { id: row.id, column: first.column, reason: `${first.reason}; nor can ${also} be read` };
}

/** Half a character on its own; JavaScript cuts texts between UTF-16 code units. */
const HALF = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** Why a value cannot be read; `kind` says what came, such as "a string". */
export function whyUnreadable(raw: unknown, kind: string): string {
  const half = typeof raw === 'string' ? HALF.exec(raw) : null;
  if (half === null || typeof raw !== 'string') return `${kind} that does not fit the type of the column`;
  const place = Array.from(raw.slice(0, half.index)).length + 1;
  const code = (half[0].codePointAt(0) ?? 0).toString(16).toUpperCase();
  const isAtEnd = half.index === raw.length - 1;
  const cause = isAtEnd
    ? 'the text was probably cut at its maximum length'
    : 'the text was probably cut there, and joined to another';
  return `half of an emoji (U+${code}) as character ${place}: ${cause}`;
}
