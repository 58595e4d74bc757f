/**
 * Rows with values that do not fit the type of their column. The reason names the column and the problem, so that a
 * person finds the value at the origin. It never contains the value (I16).
 */
import type { Row, UnreadableRow } from './schema.ts';

/** A value that could not be read. */
export interface UnreadableCell {
  readonly column: string;
  readonly reason: string;
}

/** A row with such cells, which are null in it; null without any. */
export function unreadableRow(row: Row, [first, ...others]: readonly UnreadableCell[]): UnreadableRow | null {
  if (first === undefined) return null;
  if (others.length === 0) return { id: row.id, ...first, rest: row };
  const also = others.map(({ column }) => `"${column}"`).join(', ');
  return { id: row.id, column: first.column, reason: `${first.reason}; nor can ${also} be read` };
}

/** A lone surrogate; JavaScript can cut a text between UTF-16 code units. */
const HALF = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** Why a value cannot be read; `kind` is what came, such as "a string". */
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
