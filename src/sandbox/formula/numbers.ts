/**
 * Exact arithmetic on `Numeric`, the decimal that a number or a duration is (wire/decimal.ts). Addition, subtraction,
 * multiplication, remainders and rounding are exact; a quotient that does not end is rounded at 20 decimals.
 *
 * Every function ends in bounded time. A result of more than 1,100 digits, and one that mathematics does not define
 * (division by zero, the root of a negative number), is null. Roots and logarithms go through doubles.
 */
import { numericFromText, numericToPlain, type Numeric } from '../../wire/decimal.ts';

/** Decimals of a quotient that does not end; the origin itself keeps 6 (origin facts 2.1). */
const QUOTIENT_DECIMALS = 20;
/** Bits of an integer power beyond which it is refused before it is computed: 1,100 digits have 3,655 bits. */
const POWER_BITS_MAX = 3_700;

/** digits ÷ 10^scale; the scale is never negative. */
interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

/** Negative, zero or positive as `a` is less than, equal to or greater than `b`; exact. */
export function compareNumeric(a: Numeric, b: Numeric): number {
  // Two doubles that are decimals exactly are ordered like those decimals.
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : a > b ? 1 : 0;
  const { left, right } = aligned(a, b);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** a + b. */
export function add(a: Numeric, b: Numeric): Numeric | null {
  if (typeof a === 'number' && typeof b === 'number' && areSafe(a, b, a + b)) return a + b;
  const { left, right, scale } = aligned(a, b);
  return numericFrom({ digits: left + right, scale });
}

/** a − b. */
export function subtract(a: Numeric, b: Numeric): Numeric | null {
  return add(a, negate(b));
}

/** −a. */
export function negate(a: Numeric): Numeric {
  if (typeof a === 'number') return a === 0 ? 0 : -a;
  if (typeof a === 'bigint') return -a;
  return a.startsWith('-') ? a.slice(1) : `-${a}`;
}

/** a × b. */
export function multiply(a: Numeric, b: Numeric): Numeric | null {
  if (typeof a === 'number' && typeof b === 'number' && areSafe(a, b, a * b)) return a * b === 0 ? 0 : a * b;
  const x = decimalOf(a);
  const y = decimalOf(b);
  return numericFrom({ digits: x.digits * y.digits, scale: x.scale + y.scale });
}

/** a ÷ b; null where b is 0. */
export function divide(a: Numeric, b: Numeric): Numeric | null {
  const x = decimalOf(a);
  const y = decimalOf(b);
  if (y.digits === 0n) return null;
  const scale = Math.max(QUOTIENT_DECIMALS, x.scale - y.scale);
  const shift = scale + y.scale - x.scale;
  return numericFrom({ digits: quotient(x.digits * tenTo(shift), y.digits, 'nearest'), scale });
}

/** a to the power of b; exact where b is an integer and the result is not too long. */
export function power(a: Numeric, b: Numeric): Numeric | null {
  if (typeof b !== 'number' || !Number.isSafeInteger(b)) return fromDouble(Number(a) ** Number(b));
  const base = decimalOf(a);
  if (base.digits === 0n) return b < 0 ? null : b === 0 ? 1 : 0;
  const count = Math.abs(b);
  const isUnit = base.scale === 0 && (base.digits === 1n || base.digits === -1n);
  if (isUnit) return count % 2 === 0 ? 1 : Number(base.digits);
  const magnitude = base.digits < 0n ? -base.digits : base.digits;
  // A power of ten has no bits to speak of in its digits, but its scale grows anyway.
  const bits = Math.max(magnitude.toString(2).length - 1, base.scale);
  if (bits * count > POWER_BITS_MAX) return null;
  const raised = numericFrom({ digits: base.digits ** BigInt(count), scale: base.scale * count });
  return raised === null || b >= 0 ? raised : divide(1, raised);
}

/** The remainder with the sign of the dividend; null where the divisor is 0. */
export function remainder(dividend: Numeric, divisor: Numeric): Numeric | null {
  const { left, right, scale } = aligned(dividend, divisor);
  return right === 0n ? null : numericFrom({ digits: left % right, scale });
}

/** The remainder with the sign of the divisor; null where the divisor is 0. */
export function modulo(dividend: Numeric, divisor: Numeric): Numeric | null {
  const { left, right, scale } = aligned(dividend, divisor);
  return right === 0n ? null : numericFrom({ digits: ((left % right) + right) % right, scale });
}

/** Which multiple a value is rounded to; `nearest` takes halves away from zero. */
export type Rounding = 'up' | 'down' | 'nearest' | 'toZero';

/** The multiple of `significance` next to a value; null where the significance is 0. */
export function roundToMultiple(value: Numeric, significance: Numeric, rounding: Rounding): Numeric | null {
  if (significance === 1 && typeof value === 'number' && Number.isSafeInteger(value)) return value;
  const { left, right, scale } = aligned(value, significance);
  if (right === 0n) return null;
  const step = right < 0n ? -right : right;
  return numericFrom({ digits: quotient(left, step, rounding) * step, scale });
}

/** The integer part as a safe integer; larger ones become the largest. For counts and positions. */
export function integerOf(value: Numeric): number {
  const whole = typeof value === 'number' ? Math.trunc(value) : Number(roundToMultiple(value, 1, 'toZero') ?? 0);
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, whole)) + 0;
}

/** Plain text with exactly that many decimals, rounded half away from zero. `places` is at most 100. */
export function fixedText(value: Numeric, places: number): string {
  const { digits, scale } = decimalOf(value);
  const cut = scale > places ? quotient(digits, tenTo(scale - places), 'nearest') : digits * tenTo(places - scale);
  const magnitude = (cut < 0n ? -cut : cut).toString().padStart(places + 1, '0');
  const text = places === 0 ? magnitude : `${magnitude.slice(0, -places)}.${magnitude.slice(-places)}`;
  return cut < 0n ? `-${text}` : text;
}

/** A double as the decimal that it prints; null where it is no finite number. */
export function fromDouble(double: number): Numeric | null {
  return Number.isFinite(double) ? (numericFromText(String(double)) ?? null) : null;
}

function areSafe(a: number, b: number, result: number): boolean {
  return Number.isSafeInteger(result) && Number.isSafeInteger(a) && Number.isSafeInteger(b);
}

function tenTo(exponent: number): bigint {
  return 10n ** BigInt(exponent);
}

function decimalOf(value: Numeric): Decimal {
  if (typeof value === 'bigint') return { digits: value, scale: 0 };
  if (typeof value === 'number' && Number.isSafeInteger(value)) return { digits: BigInt(value), scale: 0 };
  const text = numericToPlain(value);
  const point = text.indexOf('.');
  if (point < 0) return { digits: BigInt(text), scale: 0 };
  return { digits: BigInt(text.slice(0, point) + text.slice(point + 1)), scale: text.length - point - 1 };
}

function aligned(a: Numeric, b: Numeric): { left: bigint; right: bigint; scale: number } {
  const x = decimalOf(a);
  const y = decimalOf(b);
  const scale = Math.max(x.scale, y.scale);
  return { left: x.digits * tenTo(scale - x.scale), right: y.digits * tenTo(scale - y.scale), scale };
}

/** Canonical, or null where it has too many digits (wire/decimal.ts has the bound). */
function numericFrom({ digits, scale }: Decimal): Numeric | null {
  if (scale === 0) return numericFromText(digits.toString()) ?? null;
  const magnitude = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0');
  // Trailing zeros are no digits of the value; a quotient has many.
  let end = magnitude.length;
  while (end > magnitude.length - scale && magnitude[end - 1] === '0') end -= 1;
  const whole = magnitude.slice(0, magnitude.length - scale);
  const text = `${digits < 0n ? '-' : ''}${whole}.${magnitude.slice(magnitude.length - scale, end)}`;
  return numericFromText(text) ?? null;
}

/** Integer division; the divisor of `up` and `down` must be positive. */
function quotient(dividend: bigint, divisor: bigint, rounding: Rounding): bigint {
  const cut = dividend / divisor;
  const rest = dividend % divisor;
  if (rest === 0n || rounding === 'toZero') return cut;
  const isNegative = dividend < 0n !== divisor < 0n;
  if (rounding === 'down') return isNegative ? cut - 1n : cut;
  if (rounding === 'up') return isNegative ? cut : cut + 1n;
  const twice = rest * 2n;
  const magnitude = twice < 0n ? -twice : twice;
  const reachesHalf = magnitude >= (divisor < 0n ? -divisor : divisor);
  return !reachesHalf ? cut : isNegative ? cut - 1n : cut + 1n;
}
