/**
 * Tokens to a syntax tree by the origin's precedence, highest first: parentheses; `not` and the minus sign; `^`; `*` `/`;
 * `+` `-` `&`; comparisons; `and`; `or` (origin facts 5.3). `not [A] = 1` therefore means `(not [A]) = 1`. The minus
 * sign is not in the published table and is parsed with the other prefix; operators of one level group from the left.
 *
 * A run of operators of one level is one node, however long, so that the depth of the tree, and of every recursion over
 * it, is the depth of its parentheses.
 */
import { tokensFromText, type Token } from './lexer.ts';
import {
  isProblem,
  problem,
  type FormulaValue,
  type FormulaType,
  type FormulaRange,
  type FormulaProblem,
} from './types.ts';

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
      return problem('syntax', place, 'Only Var and User may stand before a name in [ ].');
    }
    if (operatorOf(token) !== '') return problem('syntax', token, 'A value is missing before this.');
    return problem('syntax', token, 'Columns stand in [ ], texts in quotes, and functions are followed by ( ).');
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
