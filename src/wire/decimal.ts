/**
 * Exact decimals. The wire carries numbers as decimal text, and a double can hold only some of them exactly. These
 * functions choose a JavaScript value that holds a decimal exactly, and write every value back as plain digits, because
 * the origin rejects exponents (origin facts, 2.1).
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

const PLAIN = /^-?\d+(?:\.\d+)?$/;
/** Decimals with up to this many digits survive a double unchanged. */
const DOUBLE_DIGITS = 15;

/** The exact value of a decimal text; undefined for other text. Never rounds. */
export function numericFromText(text: string): Numeric | undefined {
  // Nearly every number is this short; the general way below takes seven times as long.
  if (text.length <= DOUBLE_DIGITS && PLAIN.test(text)) return Number(text) || 0; // -0 is 0
  const plain = plainDecimal(text);
  if (plain === undefined) return undefined;
  const double = Number(plain);
  if (!plain.includes('.')) return Number.isSafeInteger(double) ? double : BigInt(plain);
  return plainDecimal(String(double)) === plain ? double : plain;
}

/** A numeric value as plain decimal text, every digit kept; anything else stays as it is and equals only itself. */
export function numericToPlain(value: Numeric | boolean): string {
  const text = String(value);
  // Most numbers print plainly; only very small and very large ones print with an exponent.
  return typeof value === 'number' && !text.includes('e') ? text : (plainDecimal(text) ?? text);
}

/** Decimals of a number at the origin (origin facts 2.1). */
const DECIMALS_MAX = 6;

/** Whether a number has more decimals than the origin stores. */
export function isTooLong(value: Numeric): boolean {
  const [, fraction = ''] = numericToPlain(value).split('.');
  return fraction.length > DECIMALS_MAX;
}

/** Whether the second number is the first one rounded to six decimals, up or down. */
export function isRoundedTo(long: string, short: string): boolean {
  const [whole = '', fraction = ''] = long.split('.');
  const [shortWhole = '', shortFraction = ''] = short.split('.');
  if (fraction.length <= DECIMALS_MAX || shortFraction.length > DECIMALS_MAX) return false;
  const isNegative = long.startsWith('-');
  const millionths = (digits: string, decimals: string): bigint => {
    return BigInt(digits.replace('-', '') + decimals.slice(0, DECIMALS_MAX).padEnd(DECIMALS_MAX, '0'));
  };
  const kept = millionths(whole, fraction);
  const came = millionths(shortWhole, shortFraction);
  if (came !== 0n && short.startsWith('-') !== isNegative) return false;
  return came === kept || came === kept + 1n;
}
