/**
 * The text of a formula to tokens, and tokens to a syntax tree by the origin's precedence. Highest first: parentheses;
 * `not` and the minus sign; `^`; `*` `/`; `+` `-` `&`; comparisons; `and`; `or` (origin facts 5.3). `not [A] = 1`
 * therefore means `(not [A]) = 1`. The minus sign is not in the published table and is parsed with the other prefix;
 * operators of one level group from the left.
 *
 * A run of operators of one level is one node, however long. So the depth of the tree, and of every recursion over
 * it, is the depth of its parentheses.
 */
import {
  isProblem,
  problem,
  type FormulaValue,
  type FormulaType,
  type FormulaRange,
  type FormulaProblem,
} from './types.ts';
import { plainDecimal, numericFromText, type Numeric } from '../../wire/decimal.ts';
import { dateFromText, timeFromText } from './calendar.ts';
import { multiply } from './numbers.ts';

/** Parentheses and calls inside each other; each level costs about ten frames of the stack. */
export const DEPTH_MAX = 100;
/** Arguments of one call: a filter may list as many keys as a request may (500), with room to spare. */
export const ARGUMENTS_MAX = 1_000;

/** A node of the syntax tree. */
export type Node = FormulaRange &
  (
    | { readonly kind: 'literal'; readonly type: FormulaType; readonly cell: FormulaValue }
    | { readonly kind: 'column' | 'variable' | 'userProperty'; readonly name: string }
    | { readonly kind: 'call'; readonly name: string; readonly args: readonly Node[] }
    | { readonly kind: 'prefix'; readonly operators: readonly ('not' | '-')[]; readonly operand: Node }
    | { readonly kind: 'chain'; readonly first: Node; readonly rest: readonly Link[] }
  );

/** An operator and its right side in a chain. */
export interface Link {
  readonly operator: string;
  readonly operand: Node;
}

/** The tree of a whole formula; or the first problem. */
export function treeFromText(text: string): Node | FormulaProblem {
  const tokens = tokensFromText(text);
  return isProblem(tokens) ? tokens : new Parser(tokens).parseAll();
}

/** Operators by level, loosest first. */
const LEVELS: readonly (readonly string[])[] = [
  ['or'],
  ['and'],
  ['=', '<>', '<', '<=', '>', '>='],
  ['+', '-', '&'],
  ['*', '/'],
  ['^'],
];

class Parser {
  private readonly tokens: readonly Token[];
  private index = 0;
  private depth = 0;

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  parseAll(): Node | FormulaProblem {
    const node = this.level(0);
    if (isProblem(node)) return node;
    const next = this.peek();
    if (next.kind === 'end') return node;
    if (isSymbol(next, ')')) return problem('syntax', next, 'This ) closes nothing.');
    return problem('syntax', next, 'An operator is missing before this.');
  }

  /** One run of operators of a level, over operands of the next tighter one. */
  private level(level: number): Node | FormulaProblem {
    const operators = LEVELS[level];
    if (operators === undefined) return this.prefixed();
    const first = this.level(level + 1);
    if (isProblem(first)) return first;
    const rest: Link[] = [];
    let last = first;
    // Ends with the tokens: each turn takes at least one.
    for (;;) {
      const operator = operatorOf(this.peek());
      if (!operators.includes(operator)) break;
      this.index += 1;
      const operand = this.level(level + 1);
      if (isProblem(operand)) return operand;
      rest.push({ operator, operand });
      last = operand;
    }
    return rest.length === 0 ? first : { kind: 'chain', first, rest, start: first.start, end: last.end };
  }

  private prefixed(): Node | FormulaProblem {
    const { start } = this.peek();
    const operators: ('not' | '-')[] = [];
    for (;;) {
      const operator = operatorOf(this.peek());
      if (operator !== 'not' && operator !== '-') break;
      operators.push(operator);
      this.index += 1;
    }
    const operand = this.primary();
    if (isProblem(operand) || operators.length === 0) return operand;
    return { kind: 'prefix', operators, operand, start, end: operand.end };
  }

  private primary(): Node | FormulaProblem {
    const token = this.peek();
    const place = { start: token.start, end: token.end };
    switch (token.kind) {
      case 'literal':
        this.index += 1;
        return { kind: 'literal', type: token.type, cell: token.cell, ...place };
      case 'reference':
        this.index += 1;
        return { kind: 'column', name: token.name, ...place };
      case 'word':
        this.index += 1;
        return this.named(token);
      case 'symbol':
        if (token.symbol === '(') return this.parenthesized(token);
        return problem('syntax', token, 'A value is missing before this.');
      default:
        return problem('syntax', token, 'The formula ends where a value is missing.');
    }
  }

  /** A constant, a call, or a reference with a prefix; the word has been taken. */
  private named(token: Token & { readonly kind: 'word' }): Node | FormulaProblem {
    const { word, start, end } = token;
    if (word === 'true' || word === 'false') {
      return { kind: 'literal', type: 'boolean', cell: word === 'true', start, end };
    }
    if (word === 'null') return { kind: 'literal', type: 'null', cell: null, start, end };
    const next = this.peek();
    if (isSymbol(next, '(')) return this.call(token);
    if (next.kind === 'reference') {
      this.index += 1;
      const place = { start, end: next.end };
      if (word === 'var') return { kind: 'variable', name: next.name, ...place };
      if (word === 'user') return { kind: 'userProperty', name: next.name, ...place };
      if (word === 'related') return problem('unknownName', place, 'Related[…] has a meaning in relationships only.');
      return problem('syntax', place, 'Only Var and User may come before a name in [ ].');
    }
    if (operatorOf(token) !== '') return problem('syntax', token, 'A value is missing before this.');
    return problem('syntax', token, 'Columns are written in [ ], texts in quotes, and functions are followed by ( ).');
  }

  private parenthesized(open: Token): Node | FormulaProblem {
    this.index += 1;
    const inner = this.nested(open);
    if (isProblem(inner)) return inner;
    const close = this.peek();
    if (!isSymbol(close, ')')) return this.unclosed(open);
    this.index += 1;
    return { ...inner, start: open.start, end: close.end };
  }

  private call(name: Token & { readonly kind: 'word' }): Node | FormulaProblem {
    const open = this.peek();
    this.index += 1;
    const args: Node[] = [];
    while (!isSymbol(this.peek(), ')')) {
      if (args.length > 0) {
        if (!isSymbol(this.peek(), ',')) return this.unclosed(open);
        this.index += 1;
      }
      if (args.length === ARGUMENTS_MAX) {
        return problem('limit', this.peek(), `A function takes at most ${ARGUMENTS_MAX} arguments.`);
      }
      const arg = this.nested(open);
      if (isProblem(arg)) return arg;
      args.push(arg);
    }
    const { end } = this.peek();
    this.index += 1;
    return { kind: 'call', name: name.text, args, start: name.start, end };
  }

  private nested(open: Token): Node | FormulaProblem {
    if (this.depth === DEPTH_MAX) {
      return problem('limit', open, `Parentheses are nested more than ${DEPTH_MAX} deep.`);
    }
    this.depth += 1;
    const node = this.level(0);
    this.depth -= 1;
    return node;
  }

  private unclosed(open: Token): FormulaProblem {
    const next = this.peek();
    if (next.kind === 'end') return problem('syntax', open, 'The closing ) of this is missing.');
    return problem('syntax', next, 'An operator, a comma or ) is missing before this.');
  }

  private peek(): Token {
    // The last token is `end` and is never taken, so there always is one.
    return this.tokens[this.index] ?? { kind: 'end', start: 0, end: 0 };
  }
}

function isSymbol(token: Token, symbol: string): boolean {
  return token.kind === 'symbol' && token.symbol === symbol;
}

/** The operator that a token is, or nothing. */
function operatorOf(token: Token): string {
  if (token.kind === 'symbol') return token.symbol;
  return token.kind === 'word' && (token.word === 'and' || token.word === 'or' || token.word === 'not')
    ? token.word
    : '';
}

/** Longest formula: the origin takes no longer query string either (origin facts 4.1). */
export const FORMULA_LENGTH_MAX = 16_384;

/** A piece of a formula. Offsets are in UTF-16 units; `end` is exclusive. */
type Token = { readonly start: number; readonly end: number } & (
  | { readonly kind: 'literal'; readonly type: FormulaType; readonly cell: FormulaValue }
  | { readonly kind: 'reference'; readonly name: string }
  /** Lower case, because keywords and functions are found whatever their case. */
  | { readonly kind: 'word'; readonly word: string; readonly text: string }
  | { readonly kind: 'symbol'; readonly symbol: string }
  | { readonly kind: 'end' }
);

/** All tokens, ending with `end`; or the first problem. */
function tokensFromText(text: string): readonly Token[] | FormulaProblem {
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
  '{': 'Columns are written in [ ].',
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
  const isAll = content === [dateText, timeText].filter((part) => part !== undefined).join(' ');
  if (isAll && days !== null && timeText === undefined) return { kind: 'literal', type: 'date', cell: days, ...place };
  if (isAll && seconds !== null && dateText === undefined) {
    return { kind: 'literal', type: 'time', cell: seconds, ...place };
  }
  if (isAll && days !== null && seconds !== null) {
    return { kind: 'literal', type: 'timestamp', cell: days * 86_400 + seconds, ...place };
  }
  return problem('syntax', place, 'Write #YYYY-MM-DD#, #HH:MM:SS# or #YYYY-MM-DD HH:MM:SS# with a day that exists.');
}
