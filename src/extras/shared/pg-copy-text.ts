/**
 * Values of the replica as COPY of PostgreSQL reads them (its documentation, COPY, text format). What PostgreSQL
 * cannot hold is replaced, and the caller lists it.
 */
import { numericFromText, numericToPlain } from '../../wire/decimal.ts';
import { isDate, isTimeOfDay } from '../../wire/time-zones.ts';
import type { PgType } from './pg-columns.ts';
import type { Stored } from '../../replica/connection.ts';

/** NULL in the text format. */
const NULL = '\\N';

// Control characters of the format, and NUL, which PostgreSQL does not allow.

// oxlint-disable-next-line no-control-regex
const SPECIAL = /[\\\n\r\t\0]/;

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
}

/** Undefined if PostgreSQL has no such value. */
type CellWriter = (value: string | number | bigint) => string | undefined;

const WRITERS: Readonly<Record<PgType, CellWriter>> = {
  text: (value) => {
    if (typeof value !== 'string') return String(value);
    if (!SPECIAL.test(value)) return value;
    return value.includes('\0') ? undefined : escaped(value);
  },
  numeric: (value) => {
    if (typeof value === 'bigint') return value.toString();
    if (typeof value === 'number') return Number.isFinite(value) ? numericToPlain(value) : undefined;
    const exact = numericFromText(value);
    return exact === undefined ? undefined : numericToPlain(exact);
  },
  boolean: (value) => (value === 0n || value === 0 ? 'f' : value === 1n || value === 1 ? 't' : undefined),
  bigint: (value) => (typeof value === 'bigint' ? value.toString() : undefined),
  date: (value) => (typeof value === 'string' && isRealDate(value) ? value : undefined),
  time: (value) => (typeof value === 'string' && isTimeOfDay(value) ? value : undefined),
  timestamptz: (value) => (typeof value === 'string' && isInstant(value) ? value : undefined),
};

/** There is no year 0 in PostgreSQL. */
function isRealDate(text: string): boolean {
  return !text.startsWith('0000') && isDate(text);
}

/** The time of an instant, with at most microseconds; more digits would be rounded. */
const REST = /^T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?Z$/;

function isInstant(text: string): boolean {
  return REST.test(text.slice(10)) && isRealDate(text.slice(0, 10));
}

/** A cell that could not be sent as it is. */
export interface Replaced {
  /** Index in the columns. */
  readonly column: number;
  readonly why: string;
}

/** A value as COPY reads it; undefined where PostgreSQL cannot hold it. */
export function copyText(stored: Stored, type: PgType): string | undefined {
  return stored === null ? NULL : WRITERS[type](stored);
}

/** The replacement of a value that PostgreSQL cannot hold, and the reason. */
function replacement(stored: Stored, type: PgType): { readonly text: string; readonly why: string } {
  if (type === 'text' && typeof stored === 'string') {
    return {
      text: escaped(stored.replaceAll('\0', '\uFFFD')),
      why: 'the text has a NUL, which is replaced by U+FFFD',
    };
  }
  return { text: NULL, why: `PostgreSQL has no such ${type}; the cell is empty there` };
}

/** Rows as lines of COPY; each cell that was replaced is reported. */
export function copyLine(
  cells: readonly Stored[],
  types: readonly PgType[],
  onReplaced: (replaced: Replaced) => void,
): string {
  const texts: string[] = [];
  for (let index = 0; index < types.length; index += 1) {
    const type = types[index] ?? 'text';
    const stored = cells[index] ?? null;
    let text = copyText(stored, type);
    if (text === undefined) {
      const { text: other, why } = replacement(stored, type);
      onReplaced({ column: index, why });
      text = other;
    }
    texts.push(text);
  }
  return `${texts.join('\t')}\n`;
}
