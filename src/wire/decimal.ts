/**
 * Exact decimals. The wire carries numbers as decimal text; a double keeps only some of them. These functions decide
 * which JavaScript value holds a decimal exactly, and write every value back as plain digits, because the origin rejects
 * exponents (origin facts, 2.1). Pure.
 */

/** A decimal held exactly: a number where a double does, a bigint for longer integers, else canonical plain text. */
export type Numeric = number | bigint | string;

/** Longest decimal we accept, in digits after the exponent is written out; a double itself needs at most 1,076. */
const DIGITS_MAX = 1_100;

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,5}))?$/;

/**
 * Canonical plain text of a decimal: no exponent, no leading or trailing zeros, no `-0`. `1e-7` → `0.0000001`.
 * Undefined when the text is not a decimal or would be longer than 1,100 digits.
 */
export function plainDecimal(text: string): string | undefined {
  const match = DECIMAL.exec(text);
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = match;
  if (whole === '' && fraction === '') return undefined;
  const exponent = Number(exponentText);
  if (whole.length + fraction.length + Math.abs(exponent) > DIGITS_MAX) return undefined;

  const digits = whole + fraction;
  const pointAt = whole.length + exponent;
  const integral = pointAt <= 0 ? '' : digits.slice(0, pointAt).padEnd(pointAt, '0');
  const remainder = pointAt <= 0 ? '0'.repeat(-pointAt) + digits : digits.slice(pointAt);
  const shortIntegral = integral.replace(/^0+/, '') || '0';
  const shortRemainder = remainder.replace(/0+$/, '');
  const unsigned = shortRemainder === '' ? shortIntegral : `${shortIntegral}.${shortRemainder}`;
  return sign === '-' && unsigned !== '0' ? `-${unsigned}` : unsigned;
}

/** The exact value of a decimal text, or undefined when it is none. Never rounds. */
export function numericFromText(text: string): Numeric | undefined {
  const plain = plainDecimal(text);
  if (plain === undefined) return undefined;
  const double = Number(plain);
  if (!plain.includes('.')) return Number.isSafeInteger(double) ? double : BigInt(plain);
  return Number.isFinite(double) && plainDecimal(String(double)) === plain ? double : plain;
}

/** A numeric value as plain decimal text, every digit kept. The number must be finite. */
export function numericToPlain(value: Numeric): string {
  if (typeof value === 'bigint') return value.toString();
  const text = String(value);
  // Most numbers print plainly; only very small and very large ones print with an exponent.
  return typeof value === 'number' && !text.includes('e') ? text : (plainDecimal(text) ?? text);
}
