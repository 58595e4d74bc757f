/**
 * Text of a formula to tokens: literals, column references, words and symbols, each with its place (origin facts 5.1
 * to 5.4). Where the facts are silent the lexer is strict, so that what the sandbox takes is plainly documented. A backslash may
 * come before a backslash, a quote, `n`, `r`, `t`, and in a column name before `]`. Anything else is a fault. Comments exist at
 * the origin, but their syntax is not known: a fault. Numbers have no exponent.
 *
 * Each character is looked at once or twice, and every regular expression is anchored and free of nested repetition.
 */
import { plainDecimal, numericFromText, type Numeric } from '../../wire/decimal.ts';
import { dateFromText, timeFromText } from './calendar.ts';
import { multiply } from './numbers.ts';
import { isProblem, problem, type FormulaValue, type FormulaType, type FormulaProblem } from './types.ts';

/** Longest formula: the origin takes no longer query string either (origin facts 4.1). */
export const FORMULA_LENGTH_MAX = 16_384;

/** A piece of a formula. Offsets are in UTF-16 units; `end` is exclusive. */
export type Token = { readonly start: number; readonly end: number } & (
  | { readonly kind: 'literal'; readonly type: FormulaType; readonly cell: FormulaValue }
  | { readonly kind: 'reference'; readonly name: string }
  /** Lower case, because keywords and functions are found whatever their case. */
  | { readonly kind: 'word'; readonly word: string; readonly text: string }
  | { readonly kind: 'symbol'; readonly symbol: string }
  | { readonly kind: 'end' }
);

/** All tokens, ending with `end`; or the first problem. */
export function tokensFromText(text: string): readonly Token[] | FormulaProblem {
  if (text.length > FORMULA_LENGTH_MAX) {
    const place = { start: FORMULA_LENGTH_MAX, end: FORMULA_LENGTH_MAX };
    return problem('limit', place, `The formula is longer than ${FORMULA_LENGTH_MAX} characters.`);
  }
  const tokens: Token[] = [];
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const token = tokenAt(text, at);
    if (isProblem(token)) return token;
    tokens.push(token);
    at = skipSpace(text, token.end);
  }
  tokens.push({ kind: 'end', start: text.length, end: text.length });
  return tokens;
}

const SPACE = /\s*/y;
const WORD = /[A-Za-z_][A-Za-z0-9_]*/y;
const SYMBOL = /<>|<=|>=|[-+*/^&=<>(),]/y;
const NUMBER = /\d+(?:\.\d+)?/y;
const UNIT = /[wdhms](?![A-Za-z0-9_.])/iy;
const WORD_OR_POINT = /[A-Za-z0-9_.]/y;
/** Between the signs of a date or time literal; nothing longer has a meaning. */
const HASH_LITERAL = /#([^#]{0,30})#/y;
const DATE_AND_TIME = /^(\d{4}-\d\d-\d\d)? ?(\d\d:\d\d(?::\d\d)?)?$/;

const SECONDS_BY_UNIT: Readonly<Record<string, number>> = { w: 604_800, d: 86_400, h: 3_600, m: 60, s: 1 };
const CHARACTER_BY_ESCAPE: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/** Ways of other languages, each with what this one has instead. */
const FOREIGN_SYMBOLS: Readonly<Record<string, string>> = {
  '!': 'Write <> for "not equal" and not (…) for a negation.',
  '|': 'Write or; & joins texts.',
  '%': 'Write Mod(…) or Rem(…) for a remainder.',
  '{': 'Columns stand in [ ].',
  ';': 'Arguments are separated by commas.',
  '.': 'A number begins with a digit.',
};

function tokenAt(text: string, start: number): Token | FormulaProblem {
  const first = text[start] ?? '';
  if (first === '"' || first === "'") return textLiteral(text, start, first);
  if (first === '[') return reference(text, start);
  if (first === '#') return dateOrTimeLiteral(text, start);
  if (first >= '0' && first <= '9') return numberLiteral(text, start);
  const word = matchAt(WORD, text, start);
  if (word !== '') return { kind: 'word', word: word.toLowerCase(), text: word, start, end: start + word.length };
  const symbol = matchAt(SYMBOL, text, start);
  if (symbol !== '') return { kind: 'symbol', symbol, start, end: start + symbol.length };
  // A character outside of the basic plane is two units of text.
  const place = { start, end: start + String.fromCodePoint(text.codePointAt(start) ?? 0).length };
  return problem('syntax', place, FOREIGN_SYMBOLS[first] ?? 'This character means nothing here.');
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}

function skipSpace(text: string, at: number): number {
  return at + matchAt(SPACE, text, at).length;
}

/** Reads up to an unescaped closing sign; the result is the text between, unescaped, and the offset behind the sign. */
function delimited(
  text: string,
  start: number,
  signs: { readonly closing: string; readonly escapable: string },
): { readonly content: string; readonly end: number } | FormulaProblem {
  const pieces: string[] = [];
  let pieceAt = start + 1;
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text[at];
    if (character === signs.closing) {
      pieces.push(text.slice(pieceAt, at));
      return { content: pieces.join(''), end: at + 1 };
    }
    if (character !== '\\') continue;
    const escaped = text[at + 1] ?? '';
    if (escaped === '' || !signs.escapable.includes(escaped)) {
      const place = { start: at, end: Math.min(at + 2, text.length) };
      return problem('syntax', place, 'A backslash is written as two backslashes.');
    }
    pieces.push(text.slice(pieceAt, at), CHARACTER_BY_ESCAPE[escaped] ?? escaped);
    at += 1;
    pieceAt = at + 1;
  }
  return problem('syntax', { start, end: text.length }, `The closing ${signs.closing} is missing.`);
}

function textLiteral(text: string, start: number, quote: string): Token | FormulaProblem {
  const read = delimited(text, start, { closing: quote, escapable: '\\"\'nrt' });
  if (isProblem(read)) return read;
  return { kind: 'literal', type: 'text', cell: read.content, start, end: read.end };
}

function reference(text: string, start: number): Token | FormulaProblem {
  const read = delimited(text, start, { closing: ']', escapable: '\\]' });
  if (isProblem(read)) return read;
  const place = { start, end: read.end };
  if (read.content === '*') return problem('syntax', place, '[*] is no column; name each one.');
  if (read.content.trim() === '') return problem('syntax', place, 'The name between [ and ] is missing.');
  return { kind: 'reference', name: read.content, ...place };
}

function numberLiteral(text: string, start: number): Token | FormulaProblem {
  const digits = matchAt(NUMBER, text, start);
  const end = start + digits.length;
  const unit = matchAt(UNIT, text, end);
  if (unit === '' && matchAt(WORD_OR_POINT, text, end) !== '') {
    const place = { start, end: end + 1 };
    return problem('syntax', place, 'A number has digits and one point; a duration ends in w, d, h, m or s.');
  }
  const cell = plainDecimal(digits) === undefined ? undefined : numericFromText(digits);
  if (cell === undefined) return problem('limit', { start, end }, 'The number has too many digits.');
  if (unit === '') return { kind: 'literal', type: 'number', cell, start, end };
  const seconds: Numeric | null = multiply(cell, SECONDS_BY_UNIT[unit.toLowerCase()] ?? 1);
  if (seconds === null) return problem('limit', { start, end: end + 1 }, 'The duration has too many digits.');
  return { kind: 'literal', type: 'duration', cell: seconds, start, end: end + 1 };
}

/** `#YYYY-MM-DD#`, `#HH:MM[:SS]#`, or both with a space between, which is an instant in GMT (origin facts 5.1). */
function dateOrTimeLiteral(text: string, start: number): Token | FormulaProblem {
  const sign = matchAt(HASH_LITERAL, text, start);
  if (sign === '') {
    return problem('syntax', { start, end: Math.min(start + 32, text.length) }, 'The closing # is missing.');
  }
  const place = { start, end: start + sign.length };
  const content = sign.slice(1, -1);
  const [, dateText, timeText] = DATE_AND_TIME.exec(content) ?? [];
  const days = dateText === undefined ? null : dateFromText(dateText);
  const seconds = timeText === undefined ? null : timeFromText(timeText);
  const isWhole = content === [dateText, timeText].filter((part) => part !== undefined).join(' ');
  if (isWhole && days !== null && timeText === undefined)
    return { kind: 'literal', type: 'date', cell: days, ...place };
  if (isWhole && seconds !== null && dateText === undefined) {
    return { kind: 'literal', type: 'time', cell: seconds, ...place };
  }
  if (isWhole && days !== null && seconds !== null) {
    return { kind: 'literal', type: 'timestamp', cell: days * 86_400 + seconds, ...place };
  }
  return problem('syntax', place, 'Write #YYYY-MM-DD#, #HH:MM:SS# or #YYYY-MM-DD HH:MM:SS# with a day that exists.');
}
