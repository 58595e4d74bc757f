/**
 * Operators on cells: comparison by type, and arithmetic by the types of both sides (origin facts 5.5 and 5.6).
 *
 * Comparison is never true where a side is null; an `=` under `not` therefore matches null, as the origin's help says.
 * Texts compare without regard to case: the origin documents that for `Contains`, and a language in which `Contains`
 * finds what `=` does not would surprise; accents count. Users compare by e-mail. Arithmetic takes a null number or
 * duration for 0; a null date, time or text makes the result null. There are no conversions between types.
 */
import { emailOfUser } from '../../wire/column-types.ts';
import type { Numeric } from '../../wire/decimal.ts';
import { DAY_SECONDS, dayInRange, instantInRange } from './calendar.ts';
import {
  add,
  compareNumeric,
  divide,
  integerOf,
  multiply,
  negate,
  power,
  roundToMultiple,
  subtract,
} from './numbers.ts';
import type { FormulaValue, CellByType, DataType, FormulaType } from './types.ts';

/** Longest text that a formula may build, in UTF-16 units; what would be longer is null. Columns may hold more. */
export const TEXT_LENGTH_MAX = 1_000_000;

/** Compares two cells of one type; both must be present. Negative, zero or positive. */
export type Comparison = (a: FormulaValue, b: FormulaValue) => number;

/** How cells of a type compare. */
export function comparisonOf(type: FormulaType): Comparison {
  return COMPARISONS[type];
}

/** Whether `<` and its kin mean something for the type; `=` and `<>` always do. */
export function isOrdered(type: FormulaType): boolean {
  return type !== 'boolean' && type !== 'user' && type !== 'location';
}

/** What a comparison operator makes of the sign of a comparison; undefined for other operators. */
export const TEST_BY_OPERATOR: ReadonlyMap<string, (sign: number) => boolean> = new Map([
  ['=', (sign) => sign === 0],
  ['<>', (sign) => sign !== 0],
  ['<', (sign) => sign < 0],
  ['<=', (sign) => sign <= 0],
  ['>', (sign) => sign > 0],
  ['>=', (sign) => sign >= 0],
]);

/** The text by which texts are compared. */
export function foldCase(text: string): string {
  return text.toLowerCase();
}

/** Texts with a delimiter between them; null where that is too long, which is known before it is built. */
export function joined(texts: readonly string[], delimiter: string): string | null {
  const length = texts.reduce((sum, text) => sum + text.length + delimiter.length, 0);
  return length > TEXT_LENGTH_MAX ? null : texts.join(delimiter);
}

/** One meaning of an arithmetic operator. */
export interface Arithmetic {
  readonly result: DataType;
  readonly apply: (left: FormulaValue, right: FormulaValue) => FormulaValue;
}

/** The meaning of an arithmetic operator for two types; undefined where it has none. */
export function arithmeticOf(operator: string, left: FormulaType, right: FormulaType): Arithmetic | undefined {
  const fits = (type: FormulaType, wanted: DataType): boolean => type === wanted || type === 'null';
  return ARITHMETIC[operator]?.find((meaning) => fits(left, meaning.left) && fits(right, meaning.right));
}

/** The negative of a number or duration; null counts as 0. */
export function negated(cell: FormulaValue): FormulaValue {
  return cell === null ? 0 : negate(cell as Numeric); // the compiler lets only these types come here
}

const compareNumbers: Comparison = (a, b) => compareNumeric(a as Numeric, b as Numeric);
const compareTexts: Comparison = (a, b) => (a === b ? 0 : compareUnits(foldCase(a as string), foldCase(b as string)));

const COMPARISONS: Readonly<Record<FormulaType, Comparison>> = {
  text: compareTexts,
  number: compareNumbers,
  duration: compareNumbers,
  timestamp: compareNumbers,
  date: compareNumbers,
  time: compareNumbers,
  boolean: (a, b) => Number(a) - Number(b),
  user: (a, b) => compareTexts(emailOfUser(a as string), emailOfUser(b as string)),
  location: (a, b) => compareUnits(a as string, b as string),
  null: () => Number.NaN, // never asked: one side is always null
};

function compareUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

interface Rule extends Arithmetic {
  readonly left: DataType;
  readonly right: DataType;
}

function rule<L extends DataType, R extends DataType>(
  left: L,
  right: R,
  result: DataType,
  apply: (left: CellByType[L], right: CellByType[R]) => FormulaValue,
): Rule {
  const zeroOf = (type: DataType): FormulaValue => (type === 'number' || type === 'duration' ? 0 : null);
  return {
    left,
    right,
    result,
    apply: (leftCell, rightCell) => {
      const a = leftCell ?? zeroOf(left);
      const b = rightCell ?? zeroOf(right);
      // The compiler chose the rule by these types, so the cells have their forms.
      return a === null || b === null ? null : apply(a as CellByType[L], b as CellByType[R]);
    },
  };
}

/** A part of a day does not move a date: `Today() + 6h` is today. */
function datePlus(days: number, duration: Numeric): number | null {
  const moved = add(days, completeUnits(duration, DAY_SECONDS));
  return moved === null ? null : dayInRange(integerOf(moved));
}

/** Times of day go round at midnight; a part of a second is cut. */
function timePlus(seconds: number, duration: Numeric): number {
  const moved = (seconds + integerOf(completeUnits(duration, 1))) % DAY_SECONDS;
  return (moved + DAY_SECONDS) % DAY_SECONDS;
}

function completeUnits(duration: Numeric, unitSeconds: number): Numeric {
  const multiple = roundToMultiple(duration, unitSeconds, 'down') ?? 0;
  return divide(multiple, unitSeconds) ?? 0;
}

const concatenated = rule('text', 'text', 'text', (a, b) => joined([a, b], ''));

/** In the order in which a null literal picks its partner: `null + 1` is a number, `null + 1d` a duration. */
const ARITHMETIC: Readonly<Record<string, readonly Rule[]>> = {
  '+': [
    rule('number', 'number', 'number', add),
    rule('duration', 'duration', 'duration', add),
    rule('date', 'duration', 'date', datePlus),
    rule('duration', 'date', 'date', (duration, days) => datePlus(days, duration)),
    rule('time', 'duration', 'time', timePlus),
    rule('duration', 'time', 'time', (duration, seconds) => timePlus(seconds, duration)),
    rule('timestamp', 'duration', 'timestamp', (instant, duration) => instantInRange(add(instant, duration))),
    rule('duration', 'timestamp', 'timestamp', (duration, instant) => instantInRange(add(instant, duration))),
    concatenated,
  ],
  '-': [
    rule('number', 'number', 'number', subtract),
    rule('duration', 'duration', 'duration', subtract),
    rule('date', 'duration', 'date', (days, duration) => datePlus(days, negate(duration))),
    rule('date', 'date', 'duration', (a, b) => (a - b) * DAY_SECONDS),
    rule('time', 'duration', 'time', (seconds, duration) => timePlus(seconds, negate(duration))),
    rule('time', 'time', 'duration', (a, b) => a - b),
    rule('timestamp', 'duration', 'timestamp', (instant, duration) => instantInRange(subtract(instant, duration))),
    rule('timestamp', 'timestamp', 'duration', subtract),
  ],
  '*': [
    rule('number', 'number', 'number', multiply),
    rule('number', 'duration', 'duration', multiply),
    rule('duration', 'number', 'duration', multiply),
  ],
  '/': [
    rule('number', 'number', 'number', divide),
    rule('duration', 'number', 'duration', divide),
    rule('duration', 'duration', 'number', divide),
  ],
  '^': [rule('number', 'number', 'number', power)],
  '&': [concatenated],
};
