/**
 * Filters, in the forms that the engine and its configuration send: `[Column] = literal`, and `>` and `>=` of
 * Timestamps, `IsNull([Column])` and `Ends([Column], "text")`, and `false`, joined by `and` and `or`, with `not` and
 * parentheses. Takes a text and the columns that the caller sees; produces a question about rows, or the refusal to
 * answer with. A comparison with null is false; texts compare without regard to case (origin facts 5.1 to 5.5). Pure.
 */
import type { Value } from '../../../src/wire/schema.ts';
import { Refusal } from './call.ts';
import { compareDecimals, decimalFromText } from './decimal.ts';
import { valueTypeOf, type ModelColumn } from './state.ts';
import { isClock, isDay } from './time.ts';
import { compareInstants } from './values.ts';

/** A question about a row, whose cells `cell` gives. */
export type RowTest = (cell: (column: ModelColumn) => Value) => boolean;

/** What a literal is, and so which columns it may be compared with. */
interface Literal {
  readonly type: 'text' | 'number' | 'duration' | 'date' | 'time' | 'timestamp';
  readonly value: string | number | bigint;
}

const TOKEN =
  /\s*(?:(\[(?:[^\]\\]|\\.)*\])|("(?:[^"\\]|\\.)*")|(#[^#]{0,30}#)|(\d+(?:\.\d+)?)(s?)|(and|or|not|isnull|ends|false)\b|(>=|[()=>,-]))/iy;

const NO_COLUMN = new Refusal(400, 3100, 'Column does not exist', 'filter');

interface Token {
  readonly kind: 'column' | 'literal' | 'word' | 'sign';
  readonly text: string;
  readonly literal: Literal | null;
}

/** Reads a filter. */
export function readFilter(text: string, columns: readonly ModelColumn[]): RowTest | Refusal {
  const tokens = tokensOf(text);
  if (tokens === null) return badFilter('a sign that the model does not know');
  const reader = new FilterReader(tokens, columns);
  const test = reader.either();
  if (test instanceof Refusal) return test;
  return reader.isAtEnd() ? (reader.problem ?? test) : badFilter('something behind its end');
}

function badFilter(problem: string): Refusal {
  return new Refusal(400, 2200, `The filter has ${problem}`, 'filter');
}

function tokensOf(text: string): readonly Token[] | null {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const match = TOKEN.exec(text);
    if (match === null) return null;
    const [, column, quoted, hashed, digits, unit = '', word, sign] = match;
    if (column !== undefined) tokens.push({ kind: 'column', text: unescaped(column), literal: null });
    else if (word !== undefined) tokens.push({ kind: 'word', text: word.toLowerCase(), literal: null });
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign, literal: null });
    else {
      const literal = quoted !== undefined ? textLiteral(quoted) : numberOrTime(hashed, digits, unit);
      if (literal === null) return null;
      tokens.push({ kind: 'literal', text: '', literal });
    }
  }
  return tokens;
}

function unescaped(quoted: string): string {
  const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
  return quoted.slice(1, -1).replaceAll(/\\(.)/gs, (_all, character: string) => escapes[character] ?? character);
}

function textLiteral(quoted: string): Literal {
  return { type: 'text', value: unescaped(quoted) };
}

function numberOrTime(hashed: string | undefined, digits = '', unit = ''): Literal | null {
  if (hashed === undefined) {
    const value = decimalFromText(digits);
    return value === undefined ? null : { type: unit === '' ? 'number' : 'duration', value };
  }
  const content = hashed.slice(1, -1);
  if (isDay(content)) return { type: 'date', value: content };
  if (isClock(content)) return { type: 'time', value: content };
  const [day = '', clock = '', ...rest] = content.split(' ');
  return isDay(day) && isClock(clock) && rest.length === 0 ? { type: 'timestamp', value: `${day}T${clock}Z` } : null;
}

const FUNCTIONS = ['isnull', 'ends'] as const;

class FilterReader {
  readonly #tokens: readonly Token[];
  readonly #columns: readonly ModelColumn[];
  #at = 0;
  /** The first thing that has no meaning; what cannot even be read comes before it. */
  problem: Refusal | null = null;

  constructor(tokens: readonly Token[], columns: readonly ModelColumn[]) {
    this.#tokens = tokens;
    this.#columns = columns;
  }

  isAtEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  either(): RowTest | Refusal {
    return this.#joined(
      'or',
      () => this.#all(),
      (tests) => (cell) => tests.some((test) => test(cell)),
    );
  }

  #all(): RowTest | Refusal {
    return this.#joined(
      'and',
      () => this.#single(),
      (tests) => (cell) => tests.every((test) => test(cell)),
    );
  }

  #joined(
    word: string,
    next: () => RowTest | Refusal,
    join: (tests: readonly RowTest[]) => RowTest,
  ): RowTest | Refusal {
    const tests: RowTest[] = [];
    do {
      const test = next();
      if (test instanceof Refusal) return test;
      tests.push(test);
    } while (this.#take('word', word));
    return join(tests);
  }

  #single(): RowTest | Refusal {
    if (this.#take('sign', '(')) {
      const test = this.either();
      return test instanceof Refusal || this.#take('sign', ')') ? test : badFilter('no closing parenthesis');
    }
    if (this.#take('word', 'not')) return this.#negated();
    if (this.#take('word', 'false')) return () => false;
    const called = FUNCTIONS.find((name) => this.#take('word', name));
    if (called !== undefined) return this.#call(called);
    const reference = this.#tokens[this.#at];
    if (reference?.kind !== 'column') return badFilter('no column where one is expected');
    this.#at += 1;
    const column = columnOf(this.#columns, reference.text);
    const sign = SIGNS.find((known) => this.#take('sign', known));
    if (sign === undefined) return badFilter('no equals sign');
    const literal = this.#literal();
    if (literal === null) return badFilter('no literal');
    const test =
      column === undefined ? NO_COLUMN : sign === '=' ? equals(column, literal) : isLater(column, literal, sign);
    if (!(test instanceof Refusal)) return test;
    this.problem ??= test;
    return () => false;
  }

  /** `not` binds tighter than a comparison, so that it is always followed by a parenthesis. */
  #negated(): RowTest | Refusal {
    if (this.#tokens[this.#at]?.text !== '(') return badFilter('no parenthesis behind not');
    const test = this.#single();
    return test instanceof Refusal ? test : (cell) => !test(cell);
  }

  #call(name: (typeof FUNCTIONS)[number]): RowTest | Refusal {
    const isOpen = this.#take('sign', '(');
    const reference = this.#tokens[this.#at];
    if (!isOpen || reference?.kind !== 'column') return badFilter('no column where one is expected');
    this.#at += 1;
    const end = name === 'ends' && this.#take('sign', ',') ? this.#literal() : null;
    if (!this.#take('sign', ')')) return badFilter('no closing parenthesis');
    const column = columnOf(this.#columns, reference.text);
    if (column === undefined) {
      this.problem ??= NO_COLUMN;
      return () => false;
    }
    if (name === 'isnull') return (cell) => cell(column) === null;
    if (end?.type !== 'text') return badFilter('no text to end with');
    const text = String(end.value).toLowerCase();
    return (cell) =>
      String(cell(column) ?? '')
        .toLowerCase()
        .endsWith(text);
  }

  #literal(): Literal | null {
    if (this.#take('sign', '(')) {
      const isNegative = this.#take('sign', '-');
      const literal = this.#literal();
      if (literal === null || !this.#take('sign', ')')) return null;
      if (!isNegative) return literal;
      if (literal.type !== 'number' && literal.type !== 'duration') return null;
      return { ...literal, value: decimalFromText(`-${String(literal.value)}`) ?? 0 };
    }
    const literal = this.#tokens[this.#at]?.literal ?? null;
    if (literal !== null) this.#at += 1;
    return literal;
  }

  #take(kind: Token['kind'], text: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.kind !== kind || token.text !== text) return false;
    this.#at += 1;
    return true;
  }
}

/** By name in its case, else in any, else by alias. */
function columnOf(columns: readonly ModelColumn[], name: string): ModelColumn | undefined {
  const folded = name.toLowerCase();
  return (
    columns.find((column) => column.name === name) ??
    columns.find((column) => column.name.toLowerCase() === folded) ??
    columns.find((column) => column.alias.toLowerCase() === folded)
  );
}

const SIGNS = ['=', '>=', '>'] as const;

/** Whether an instant is after another, or also that one. */
function isLater(column: ModelColumn, { type, value }: Literal, sign: '>' | '>='): RowTest | Refusal {
  if (valueTypeOf(column) !== 'Timestamp' || type !== 'timestamp')
    return badFilter('an order that the model does not know');
  return (cell) => {
    const held = cell(column);
    const difference = held === null ? -1 : compareInstants(String(held), String(value));
    return difference > 0 || (difference === 0 && sign === '>=');
  };
}

function equals(column: ModelColumn, { type, value }: Literal): RowTest | Refusal {
  const isEqual = comparisonOf(column, type, value);
  if (isEqual === undefined) return badFilter('values of two types in one comparison');
  return (cell) => {
    const held = cell(column);
    return held !== null && isEqual(held);
  };
}

function comparisonOf(
  column: ModelColumn,
  type: Literal['type'],
  value: Literal['value'],
): ((held: Exclude<Value, null>) => boolean) | undefined {
  switch (valueTypeOf(column)) {
    case 'Numeric':
    case 'Duration':
      if (type !== (valueTypeOf(column) === 'Numeric' ? 'number' : 'duration')) return undefined;
      return (held) => typeof held !== 'boolean' && compareDecimals(held, value) === 0;
    case 'Date':
      return type === 'date' ? (held) => held === value : undefined;
    case 'Time':
      return type === 'time' ? (held) => held === value : undefined;
    case 'Timestamp':
      return type === 'timestamp' ? (held) => compareInstants(String(held), String(value)) === 0 : undefined;
    case 'Checkbox':
      return undefined; // no literal for it is ever sent
    case 'User':
      return undefined; // a text is no user
    default:
      return type === 'text' ? (held) => String(held).toLowerCase() === String(value).toLowerCase() : undefined;
  }
}
