/**
 * Functions on texts, numbers and durations (origin facts 5.6). Numbers are exact wherever the arithmetic is
 * (numbers.ts), and halves round away from zero; what mathematics does not define is null. Tests (`Contains`, `Any`, …)
 * disregard case, like `=`; functions that cut or replace find their delimiter exactly as written, because what they
 * return keeps its case. Positions count from 1, in UTF-16 units. A missing delimiter gives the whole text to `Left`
 * and `Right` and nothing to `NotLeft` and `NotRight`.
 *
 * Trimming is done with loops: an expression for trailing blanks takes quadratic time on long runs of them.
 */
import type { Numeric } from '../../wire/decimal.ts';
import {
  integerOf,
  add,
  compareNumeric,
  divide,
  fromDouble,
  modulo,
  multiply,
  negate,
  remainder,
  roundToMultiple,
  type Rounding,
} from './numbers.ts';
import { foldCase, joined, TEXT_LENGTH_MAX } from './operators.ts';
import { overload, variadic, type FunctionTable, type Overload } from './signatures.ts';
import type { FormulaValue, DataType } from './types.ts';
import { DAY_SECONDS } from './calendar.ts';

/** The functions. */
export const TEXT_FUNCTIONS: FunctionTable = {
  Contains: [overload(['text', 'text'], 'boolean', ([text, part]) => foldCase(text).includes(foldCase(part)))],
  Begins: [overload(['text', 'text'], 'boolean', ([text, part]) => foldCase(text).startsWith(foldCase(part)))],
  Ends: [overload(['text', 'text'], 'boolean', ([text, part]) => foldCase(text).endsWith(foldCase(part)))],
  Any: [overload(['text', 'text'], 'boolean', ([values, list]) => hasItems(values, list, 'some'))],
  All: [overload(['text', 'text'], 'boolean', ([values, list]) => hasItems(values, list, 'every'))],
  Left: [
    overload(['text', 'number'], 'text', ([text, count]) => text.slice(0, countOf(count))),
    overload(['text', 'text'], 'text', ([text, delimiter]) => before(text, text.indexOf(delimiter)) ?? text),
  ],
  Right: [
    overload(['text', 'number'], 'text', ([text, count]) => text.slice(Math.max(0, text.length - countOf(count)))),
    overload(
      ['text', 'text'],
      'text',
      ([text, delimiter]) => behind(text, text.lastIndexOf(delimiter), delimiter) ?? text,
    ),
  ],
  NotLeft: [
    overload(['text', 'number'], 'text', ([text, count]) => text.slice(countOf(count))),
    overload(['text', 'text'], 'text', ([text, delimiter]) => behind(text, text.indexOf(delimiter), delimiter) ?? ''),
  ],
  NotRight: [
    overload(['text', 'number'], 'text', ([text, count]) => text.slice(0, Math.max(0, text.length - countOf(count)))),
    overload(['text', 'text'], 'text', ([text, delimiter]) => before(text, text.lastIndexOf(delimiter)) ?? ''),
  ],
  Mid: [overload(['text', 'number', 'number'], 'text', ([text, position, count]) => middle(text, position, count))],
  Part: [
    overload(['text', 'number', 'text'], 'text', ([text, position, delimiter]) => partAt(text, position, delimiter)),
  ],
  Len: [overload(['text'], 'number', ([text]) => text.length)],
  Lower: [overload(['text'], 'text', ([text]) => text.toLowerCase())],
  Upper: [overload(['text'], 'text', ([text]) => text.toUpperCase())],
  Proper: [overload(['text'], 'text', ([text]) => text.replaceAll(/\p{L}+/gu, properWord))],
  Trim: [overload(['text'], 'text', ([text]) => trimmed(text))],
  Replace: [overload(['text', 'text', 'text'], 'text', ([text, old, fresh]) => replaced(text, old, fresh))],
  URLEncode: [overload(['text'], 'text', ([text]) => encodeURIComponent(text.toWellFormed()))],
  URLDecode: [overload(['text'], 'text', ([text]) => decoded(text))],
  URLParam: [overload(['text', 'text'], 'text', ([url, name]) => urlParameter(url, name))],
  Concat: [variadic(['text', 'text'], 'text', 'text', (texts) => joined(presentTexts(texts), ''))],
  List: [
    variadic(['text', 'text'], 'text', 'text', ([delimiter, ...texts]) =>
      joined(presentTexts(texts), String(delimiter ?? '')),
    ),
  ],
  PadLeft: [
    overload(['text', 'number'], 'text', ([text, length]) => padding(text, length, ' ') + text),
    overload(['text', 'number', 'text'], 'text', ([text, length, filler]) => padding(text, length, filler) + text),
  ],
  PadRight: [
    overload(['text', 'number'], 'text', ([text, length]) => text + padding(text, length, ' ')),
    overload(['text', 'number', 'text'], 'text', ([text, length, filler]) => text + padding(text, length, filler)),
  ],
};

function countOf(count: Numeric): number {
  return Math.max(0, integerOf(count));
}

function before(text: string, at: number): string | undefined {
  return at < 0 ? undefined : text.slice(0, at);
}

function behind(text: string, at: number, delimiter: string): string | undefined {
  return at < 0 ? undefined : text.slice(at + delimiter.length);
}

/** A position before the text takes characters that do not exist, so fewer come back. */
function middle(text: string, position: Numeric, count: Numeric): string {
  const start = integerOf(position) - 1;
  return text.slice(Math.max(0, start), Math.max(0, start + countOf(count)));
}

/** The part at a position, counted from the right where it is negative; null where there is none. */
function partAt(text: string, position: Numeric, delimiter: string): string | null {
  if (delimiter === '') return null;
  const parts = text.split(delimiter);
  const at = integerOf(position);
  return (at > 0 ? parts[at - 1] : at < 0 ? parts[parts.length + at] : undefined) ?? null;
}

/** Null where the escapes are no UTF-8. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/** All values of a parameter of the query, with commas between them; null where there is none. */
function urlParameter(url: string, name: string): string | null {
  const query = url.slice(url.indexOf('?') + 1).split('#')[0] ?? '';
  const values = url.includes('?') ? new URLSearchParams(query).getAll(name) : [];
  return values.length === 0 ? null : joined(values, ',');
}

/** Both sides are lists with commas; blanks around an item, and empty items, do not count. */
function hasItems(values: string, list: string, rule: 'some' | 'every'): boolean {
  const items = (text: string): string[] =>
    foldCase(text)
      .split(',')
      .map(trimmed)
      .filter((item) => item !== '');
  const present = new Set(items(values));
  const isPresent = (item: string): boolean => present.has(item);
  return rule === 'some' ? items(list).some(isPresent) : items(list).every(isPresent);
}

/** A word that is all capitals is an acronym and stays. */
function properWord(word: string): string {
  if (word === word.toUpperCase()) return word;
  const first = String.fromCodePoint(word.codePointAt(0) ?? 0);
  return first.toUpperCase() + word.slice(first.length).toLowerCase();
}

function trimmed(text: string): string {
  const isBlank = (at: number): boolean => ' \t\r\n'.includes(text[at] ?? 'x');
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(start)) start += 1;
  while (end > start && isBlank(end - 1)) end -= 1;
  return text.slice(start, end);
}

function replaced(text: string, old: string, fresh: string): string | null {
  if (old === '') return text;
  const pieces = text.split(old);
  // Known before it is built: a few nested replacements could otherwise fill the memory.
  const length = text.length + (pieces.length - 1) * (fresh.length - old.length);
  return length > TEXT_LENGTH_MAX ? null : pieces.join(fresh);
}

/** What is neither null nor empty: `Concat` and `List` skip the rest. */
function presentTexts(cells: readonly FormulaValue[]): readonly string[] {
  return cells.filter((cell): cell is string => typeof cell === 'string' && cell !== '');
}

/** What is missing to a length, of the filler repeated and cut; lengths beyond the bound count as the bound. */
function padding(text: string, length: Numeric, filler: string): string {
  const missing = Math.min(countOf(length), TEXT_LENGTH_MAX) - text.length;
  if (missing <= 0 || filler === '') return '';
  return filler.repeat(Math.ceil(missing / filler.length)).slice(0, missing);
}

/** The functions. */
export const NUMBER_FUNCTIONS: FunctionTable = {
  Abs: forBoth((type) => overload([type], type, ([value]) => absolute(value))),
  Int: [overload(['number'], 'number', ([value]) => roundToMultiple(value, 1, 'toZero'))],
  Frac: [overload(['number'], 'number', ([value]) => remainder(value, 1))],
  Round: rounded('nearest'),
  Ceil: rounded('up'),
  Floor: rounded('down'),
  Mod: forBoth((type) => overload([type, type], type, ([dividend, divisor]) => modulo(dividend, divisor))),
  Rem: forBoth((type) => overload([type, type], type, ([dividend, divisor]) => remainder(dividend, divisor))),
  Pi: [overload([], 'number', () => Math.PI)],
  Sin: ofDouble(Math.sin),
  Cos: ofDouble(Math.cos),
  Tan: ofDouble(Math.tan),
  Cot: ofDouble((angle) => 1 / Math.tan(angle)),
  Asin: ofDouble(Math.asin),
  Acos: ofDouble(Math.acos),
  Atan: ofDouble(Math.atan),
  Degrees: ofDouble((radians) => (radians * 180) / Math.PI),
  Radians: ofDouble((degrees) => (degrees * Math.PI) / 180),
  Sqrt: ofDouble(Math.sqrt),
  Ln: ofDouble(Math.log),
  Log: ofDouble(Math.log10),
  Exp: ofDouble(Math.exp),
  Sum: forBoth((type) => variadic([type], type, type, sum)),
  Weeks: durationOf(7 * DAY_SECONDS),
  Days: durationOf(DAY_SECONDS),
  Hours: durationOf(3_600),
  Minutes: durationOf(60),
  Seconds: durationOf(1),
  ToWeeks: countOfUnits(7 * DAY_SECONDS),
  ToDays: countOfUnits(DAY_SECONDS),
  ToHours: countOfUnits(3_600),
  ToMinutes: countOfUnits(60),
  ToSeconds: countOfUnits(1),
};

/** What goes through doubles; null where the result is no number. */
function ofDouble(compute: (value: number) => number): readonly Overload[] {
  return [overload(['number'], 'number', ([value]) => fromDouble(compute(Number(value))))];
}

/** The same meaning for numbers and for durations. */
function forBoth(define: (type: 'number' | 'duration') => Overload): readonly Overload[] {
  return [define('number'), define('duration')];
}

function absolute(value: Numeric): Numeric {
  return compareNumeric(value, 0) < 0 ? negate(value) : value;
}

function rounded(rounding: Rounding): readonly Overload[] {
  const toMultiple = (type: DataType & ('number' | 'duration')): Overload =>
    overload([type, type], type, ([value, significance]) => roundToMultiple(value, significance, rounding));
  return [
    overload(['number'], 'number', ([value]) => roundToMultiple(value, 1, rounding)),
    toMultiple('number'),
    toMultiple('duration'),
    overload(['time', 'duration'], 'time', ([seconds, significance]) => {
      const moved = roundToMultiple(seconds, significance, rounding);
      return moved === null ? null : integerOf(moved) % DAY_SECONDS;
    }),
  ];
}

/** The sum of what is not null. */
function sum(cells: readonly FormulaValue[]): Numeric | null {
  let total: Numeric | null = 0;
  for (const cell of cells) {
    if (cell !== null && total !== null) total = add(total, cell as Numeric); // matched as number or duration
  }
  return total;
}

function durationOf(unitSeconds: number): readonly Overload[] {
  return [overload(['number'], 'duration', ([count]) => multiply(count, unitSeconds))];
}

function countOfUnits(unitSeconds: number): readonly Overload[] {
  return [overload(['duration'], 'number', ([duration]) => divide(duration, unitSeconds))];
}
