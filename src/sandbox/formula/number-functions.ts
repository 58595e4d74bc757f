/**
 * Functions on numbers and durations (origin facts 5.6): exact wherever the arithmetic is (numbers.ts). Halves round
 * away from zero. What mathematics does not define (the logarithm of 0, a significance of 0) is null.
 */
import type { Numeric } from '../../wire/decimal.ts';
import { DAY_SECONDS } from './calendar.ts';
import {
  add,
  compareNumeric,
  divide,
  fromDouble,
  integerOf,
  modulo,
  multiply,
  negate,
  remainder,
  roundToMultiple,
  type Rounding,
} from './numbers.ts';
import { overload, variadic, type FunctionTable, type Overload } from './signatures.ts';
import type { FormulaValue, DataType } from './types.ts';

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
  Sqrt: [overload(['number'], 'number', ([value]) => fromDouble(Math.sqrt(Number(value))))],
  Ln: [overload(['number'], 'number', ([value]) => fromDouble(Math.log(Number(value))))],
  Log: [overload(['number'], 'number', ([value]) => fromDouble(Math.log10(Number(value))))],
  Exp: [overload(['number'], 'number', ([value]) => fromDouble(Math.exp(Number(value))))],
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
