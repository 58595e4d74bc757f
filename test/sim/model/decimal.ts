/**
 * Decimals of the model: from any spelling of a number to the one value and the one text that stand for it. Written
 * anew for the model, on texts alone, so that it shares no mistake with src/wire/decimal.ts. Pure.
 */

/** A decimal held exactly: a number where a double does, a bigint for longer integers, else its plain text. */
export type Decimal = number | bigint | string;

const SPELLING = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,4}))?$/i;

/** The digits of a number without exponent, needless zeros or the sign of a zero; undefined for what is no number. */
function plainDigits(text: string): string | undefined {
  const match = SPELLING.exec(text);
  if (match === null) return undefined;
  const [, sign = '', whole = '', part = '', power = '0'] = match;
  if (whole === '' && part === '') return undefined;
  let digits = whole + part;
  let point = whole.length + Number(power);
  if (point < 0) {
    digits = '0'.repeat(-point) + digits;
    point = 0;
  }
  const integer = digits.padEnd(point, '0').slice(0, point).replace(/^0+/, '') || '0';
  const fraction = digits.slice(point).replace(/0+$/, '');
  const size = fraction === '' ? integer : `${integer}.${fraction}`;
  return sign === '-' && size !== '0' ? `-${size}` : size;
}

/** The value that a spelling stands for; undefined for what is no number. */
export function decimalFromText(text: string): Decimal | undefined {
  const plain = plainDigits(text);
  if (plain === undefined) return undefined;
  const double = Number(plain);
  if (!plain.includes('.')) return Number.isSafeInteger(double) ? double : BigInt(plain);
  return Number.isFinite(double) && plainDigits(String(double)) === plain ? double : plain;
}

/** The plain digits of a value. */
export function digitsOf(value: Decimal): string {
  return plainDigits(String(value)) ?? String(value);
}

/** Orders two values exactly: negative, zero or positive. */
export function compareDecimals(one: Decimal, other: Decimal): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  const [a, b] = [digitsOf(one), digitsOf(other)];
  const [negative, otherNegative] = [a.startsWith('-'), b.startsWith('-')];
  if (negative !== otherNegative) return negative ? -1 : 1;
  return negative ? compareSizes(b.slice(1), a.slice(1)) : compareSizes(a, b);
}

function compareSizes(a: string, b: string): number {
  const [integer = '', fraction = ''] = a.split('.');
  const [otherInteger = '', otherFraction = ''] = b.split('.');
  if (integer.length !== otherInteger.length) return integer.length - otherInteger.length;
  const length = Math.max(fraction.length, otherFraction.length);
  const one = integer + fraction.padEnd(length, '0');
  const other = otherInteger + otherFraction.padEnd(length, '0');
  return one < other ? -1 : one > other ? 1 : 0;
}
