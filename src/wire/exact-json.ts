/**
 * JSON text to JavaScript values without losing a digit. `JSON.parse` rounds every number to a double; here a number
 * that a double may not hold arrives as an `ExactNumber` with its source text.
 */

/** A JSON number whose digits a double may not hold. */
export class ExactNumber {
  /** The number as it was in the JSON text. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Lets `JSON.stringify` print the number with every digit. */
  toJSON(): unknown {
    return rawJson(this.text);
  }
}

/** `JSON.rawJSON` (in every Node we support), which the compiler's library does not know yet. */
const rawJson = (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON;

/** Decimals of up to 15 significant digits survive a double (IEEE 754, DBL_DIG); this many characters may hold more. */
const LONG_LENGTH = 16;
/** Exponents of three digits may leave the range of a double. A cheap first check, which also matches inside words. */
const EXTREME_EXPONENT_HINT = /\d[eE][+-]?\d{3}/;
/** A number token with an exponent; a slower check, made only if the first one matches. */
const EXPONENT_NUMBER = /(?:^|[:[,])\s*-?[\d.]+[eE]/;

/** Parses JSON. @throws SyntaxError where the text is not JSON. */
export function parseExactJson(text: string): unknown {
  const mayBeInexact = hasLongNumber(text) || (EXTREME_EXPONENT_HINT.test(text) && EXPONENT_NUMBER.test(text));
  if (!mayBeInexact) return JSON.parse(text);
  return JSON.parse(text, exactReviver as (key: string, value: unknown) => unknown);
}

/** The values of a JSON object as JSON with every digit, by name; null for other JSON. @throws SyntaxError. */
export function jsonCells(text: string): ReadonlyMap<string, string> | null {
  const parsed: unknown = JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' ? new ExactNumber(context?.source ?? String(value)) : value,
  );
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed) || parsed instanceof ExactNumber)
    return null;
  return new Map(Object.entries(parsed).map(([name, value]) => [name, JSON.stringify(value)]));
}

/**
 * Whether a number has a run of 16 or more digits and points. Such a run covers one of any 16 positions, so only every
 * sixteenth is checked. That takes a twentieth of the time of parsing; a regular expression takes all of it.
 */
function hasLongNumber(text: string): boolean {
  for (let at = 0; at < text.length; at += LONG_LENGTH) {
    if (!isDigitOrPoint(text.charCodeAt(at))) continue;
    let from = at;
    let to = at + 1;
    while (isDigitOrPoint(text.charCodeAt(from - 1))) from -= 1;
    while (isDigitOrPoint(text.charCodeAt(to))) to += 1;
    if (to - from >= LONG_LENGTH && mayBeginNumber(text, from)) return true;
    at = to; // a long run is checked once
  }
  return false;
}

/** Whether a number token may begin at a position. Inside strings, a run of digits mostly follows something else. */
function mayBeginNumber(text: string, from: number): boolean {
  let before = from - 1;
  if (text.charAt(before) === '-') before -= 1;
  while (before >= 0 && ' \n\r\t'.includes(text.charAt(before))) before -= 1;
  return '[:,'.includes(text.charAt(before)); // also at the beginning, where no character comes before
}

/** False for NaN, the code of a position outside the text. */
function isDigitOrPoint(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2e;
}

function exactReviver(_key: string, value: unknown, context: { source?: string }): unknown {
  const { source } = context;
  if (typeof value !== 'number' || source === undefined) return value;
  return isExact(value, source) ? value : new ExactNumber(source);
}

/**
 * A number is exact if it was written with few enough digits, or prints as it was written. For integers beyond 2^53
 * printing proves nothing: 9007199254740001000 is what the nearest double, 9007199254740000768, prints as.
 */
function isExact(value: number, source: string): boolean {
  if (source.length <= 15 && !/[eE]/.test(source)) return true;
  return String(value) === source && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
