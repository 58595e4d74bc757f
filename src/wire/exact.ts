/**
 * JSON text to JavaScript values without losing a digit. `JSON.parse` rounds every number to a double; here a number
 * that a double may not hold arrives as an `ExactNumber` with its source text. Pure.
 */

/** A JSON number whose digits a double may not hold. */
export class ExactNumber {
  /** The number as it stood in the JSON text. */
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

/**
 * A number token with 16 or more digits, or with an exponent. Every decimal of up to 15 significant digits survives a
 * double (IEEE 754, DBL_DIG), so a body without such a token needs no second look at its numbers. The token may also
 * be found inside a string: the slow path is then taken needlessly, never wrongly. Starting at the punctuation is what
 * makes the search cheaper than the parsing: starting at any digit takes three times as long.
 */
const LONG_NUMBER = /[:[,]\s*-?(?:\d[\d.]{15}|[\d.]+[eE])/;

/** Parses JSON. @throws SyntaxError where the text is not JSON. */
export function parseExactJson(text: string): unknown {
  if (!LONG_NUMBER.test(text) && !/^\s*-?\d/.test(text)) return JSON.parse(text);
  return JSON.parse(text, exactReviver as (key: string, value: unknown) => unknown);
}

function exactReviver(_key: string, value: unknown, context: { source?: string }): unknown {
  const { source } = context;
  if (typeof value !== 'number' || source === undefined) return value;
  return isExact(value, source) ? value : new ExactNumber(source);
}

/**
 * A number is exact where it was written with few enough digits, or prints as it was written. For integers beyond 2^53
 * printing proves nothing: 9007199254740001000 is what the nearest double, 9007199254740000768, prints as.
 */
function isExact(value: number, source: string): boolean {
  if (source.length <= 15 && !/[eE]/.test(source)) return true;
  return String(value) === source && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
