/**
 * `Format(value, pattern)`: the patterns of the origin's help for numbers, dates, times and instants, in the culture en-US, which is the sandbox's.
 * Single letters name whole formats (`D`, `g`); longer patterns are made of `d`, `M`, `y`, `h`, `H`, `m`, `s`, `t` in the lengths that .NET gives
 * them. A number pattern has a sign, a unit (`$`), digits with `#`, `,` and `0`, decimals, and a unit or `%`. Any other value has no result.
 *
 * Digits are never computed in doubles. Every pattern is read once, from left to right.
 */
import type { Numeric } from '../../wire/decimal.ts';
import { civilFromDay, weekdayOf, type LocalTime } from './calendar.ts';
import { compareNumeric, fixedText, multiply, negate } from './numbers.ts';

/** Longest pattern, and most decimals, that are taken; nobody reads more. */
const PATTERN_LENGTH_MAX = 100;

/** A date, a time of day or both, by a pattern; null where the pattern is too long. */
export function formatTime(local: LocalTime, pattern: string): string | null {
  if (pattern.length > PATTERN_LENGTH_MAX) return null;
  const pieces = PATTERN_BY_LETTER[pattern] ?? pattern;
  return pieces.replaceAll(TIME_PIECE, (piece) => timePiece(local, piece));
}

/** A number by a pattern such as `#,0.00`, `$#` or `0%`; `unit` takes the place of `$`. Null where it is no pattern. */
export function formatNumber(value: Numeric, pattern: string, unit: string): string | null {
  if (pattern.length > PATTERN_LENGTH_MAX) return null;
  const match = NUMBER_PATTERN.exec(pattern);
  if (!match) return null;
  const [, outerMinus = '', leftUnit = '', whole = '', decimals = '', rightUnit = ''] = match;
  const scaled = rightUnit === '%' ? multiply(value, 100) : value;
  if (scaled === null) return null;

  const isNegative = compareNumeric(scaled, 0) < 0;
  const rounded = fixedText(isNegative ? negate(scaled) : scaled, decimals.length);
  const digits = shapedDigits(rounded, whole, decimals);
  if (digits === '') return '';
  const sign = isNegative && /[1-9]/.test(digits) ? '-' : '';
  const [left, right] = [leftUnit, rightUnit].map((place) => (place === '$' ? unit : place));
  return outerMinus === '' ? `${left}${sign}${digits}${right}` : `${sign}${left}${digits}${right}`;
}

const NUMBER_PATTERN = /^(-?)(\$?)([#0][#,0]*)(?:\.([#0]+))?([$%]?)$/;

const LONG_DATE = 'dddd, MMMM d, yyyy';
const SHORT_DATE = 'M/d/yyyy';
const LONG_TIME = 'h:mm:ss tt';
const SHORT_TIME = 'h:mm tt';

const PATTERN_BY_LETTER: Readonly<Record<string, string>> = {
  d: SHORT_DATE,
  D: LONG_DATE,
  M: 'MMMM d',
  Y: 'MMMM yyyy',
  t: SHORT_TIME,
  T: LONG_TIME,
  g: `${SHORT_DATE} ${SHORT_TIME}`,
  G: `${SHORT_DATE} ${LONG_TIME}`,
  f: `${LONG_DATE} ${SHORT_TIME}`,
  F: `${LONG_DATE} ${LONG_TIME}`,
};

/** A run of one letter, a quoted text, or an escaped character. */
const TIME_PIECE = /d+|M+|y+|h+|H+|m+|s+|t+|'[^']*'|\\./g;

const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

function timePiece({ days, seconds }: LocalTime, piece: string): string {
  const { year, month, day } = civilFromDay(days);
  const hour = Math.floor(seconds / 3600);
  const padded = (value: number): string => String(value).padStart(Math.min(piece.length, 2), '0');
  switch (piece[0]) {
    case 'd':
      return piece.length < 3 ? padded(day) : named(WEEKDAYS[weekdayOf(days)], piece.length);
    case 'M':
      return piece.length < 3 ? padded(month) : named(MONTHS[month - 1], piece.length);
    case 'y':
      return piece.length < 3 ? padded(year % 100) : String(year).padStart(piece.length, '0');
    case 'h':
      return padded(hour % 12 === 0 ? 12 : hour % 12);
    case 'H':
      return padded(hour);
    case 'm':
      return padded(Math.floor(seconds / 60) % 60);
    case 's':
      return padded(seconds % 60);
    case 't':
      return (hour < 12 ? 'AM' : 'PM').slice(0, Math.min(piece.length, 2));
    case '\\':
      return piece.slice(1);
    default:
      return piece.slice(1, -1);
  }
}

function named(name: string | undefined, length: number): string {
  return length === 3 ? (name ?? '').slice(0, 3) : (name ?? '');
}

/** `0` shows a digit in any case, `#` only one that counts, `,` groups by thousands. */
function shapedDigits(fixed: string, whole: string, decimals: string): string {
  const [integral = '', fraction = ''] = fixed.split('.');
  const digitsMin = whole.replaceAll(/[#,]/g, '').length;
  const significant = integral === '0' ? '' : integral;
  const padded = significant.padStart(digitsMin, '0');
  const grouped = whole.includes(',') ? padded.replaceAll(/\B(?=(?:\d{3})+$)/g, ',') : padded;
  const decimalsMin = decimals.lastIndexOf('0') + 1;
  let end = fraction.length;
  while (end > decimalsMin && fraction[end - 1] === '0') end -= 1;
  return end === 0 ? grouped : `${grouped}.${fraction.slice(0, end)}`;
}
