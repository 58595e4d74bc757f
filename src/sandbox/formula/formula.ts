/**
 * The filter formulas of the origin (specification 4.4; language: origin facts, section 5): the one door to this
 * folder.
 *
 * Parsing and evaluating never throw, and end in bounded time and stack, whatever the text. Its length, depth and
 * arguments are bounded, and evaluation visits every part of it at most once per row.
 *
 * A value that does not exist is null rather than an error of the request. This concerns a division by zero, a number
 * of more than 1,100 digits, an invalid date. What the origin does there is not documented, and null matches nothing.
 * Pure: time, user and row come from the caller.
 */
import { compileTree, soughtTexts, type SoughtTexts } from './compile.ts';
import { treeFromText, type Node } from './parser.ts';
import {
  isProblem,
  problem,
  type Dependency,
  type Expression,
  type FaultReason,
  type FormulaRow,
  type FormulaSession,
  type FormulaProblem,
  type Scope,
  type ScopeColumn,
} from './types.ts';

/** A formula that can be asked about rows; a filter if its value is boolean. */
export interface Formula {
  readonly kind: 'formula';
  readonly expression: Expression;
  /** What its answer for the same row depends on. */
  readonly uses: ReadonlySet<Dependency>;
  /** Indexes of the columns that it reads; no other value of a row is looked at. */
  readonly columns: ReadonlySet<number>;
  /** The span of a column of times that it leaves; null where it has none. */
  readonly span: FilterSpan | null;
  /** The texts of a column of which it asks for one; null where it does not. */
  readonly texts: SoughtTexts | null;
}

/** Why a text is no filter, and where. */
export interface FormulaFault {
  readonly kind: 'fault';
  readonly reason: FaultReason;
  /** Two sentences at most: what is wrong, and what to write instead. Names places, never values of rows. */
  readonly message: string;
  /** UTF-16 units from the start; at most the length of the text. */
  readonly offset: number;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  /** The text that is meant, cut to 60 characters; empty at the end of the formula. */
  readonly text: string;
  /** The name of a column that does not exist, where that is the reason. */
  readonly unknownColumn: string | null;
}

/** Characters of the formula that a fault quotes. */
const QUOTE_LENGTH_MAX = 60;

/** Reads a filter: a formula whose value is boolean. */
export function parseFormula(text: string, scope: Scope): Formula | FormulaFault {
  const formula = parseExpression(text, scope);
  if (formula.kind === 'fault' || formula.expression.type === 'boolean') return formula;
  const { expression } = formula;
  const message = `A filter is true or false for each row; this is of type ${expression.type}.`;
  return faultFrom(problem('type', expression, message), text);
}

/** Reads a formula whose value may have any type. */
export function parseExpression(text: string, scope: Scope): Formula | FormulaFault {
  const tree = treeFromText(text);
  if (isProblem(tree)) return faultFrom(tree, text);
  const compiled = compileTree(tree, scope);
  if (isProblem(compiled)) return faultFrom(compiled, text);
  const { expression, uses, columns } = compiled;
  const texts =
    conditionsOf(tree)
      .map((node) => soughtTexts(node, scope))
      .find((sought) => sought !== null) ?? null;
  return { kind: 'formula', expression, uses, columns, span: spanOfFilter(tree, scope), texts };
}

/** Whether a row matches. */
export function evaluate(formula: Formula, session: FormulaSession, row: FormulaRow): boolean {
  return formula.expression.run({ session, row }) === true;
}

/** Whether the same rows may give another answer at another time, or to another user or role. */
export function isVolatile(formula: Formula): boolean {
  return formula.uses.size > 0;
}

/** A column as it is described. */
type NamedColumn = { readonly name: string; readonly alias: string; readonly type: ScopeColumn['type'] };

/** A scope over columns in the order of a row's values: by name in its exact case, else by name, else by alias. */
export function scopeFromColumns(
  columns: readonly NamedColumn[],
  variables: ReadonlyMap<string, string> = new Map(),
): Scope {
  const exact = new Map<string, ScopeColumn>();
  const folded = new Map<string, ScopeColumn>();
  for (const [index, { name, type }] of columns.entries()) {
    exact.set(name, { index, type });
    // Of two names that differ in case alone, the first answers to every other case.
    if (!folded.has(name.toLowerCase())) folded.set(name.toLowerCase(), { index, type });
  }
  for (const [index, { alias, type }] of columns.entries()) {
    if (!folded.has(alias.toLowerCase())) folded.set(alias.toLowerCase(), { index, type });
  }
  const values = new Map([...variables].map(([name, value]) => [name.toLowerCase(), value]));
  return {
    column: (name) => exact.get(name) ?? folded.get(name.toLowerCase()),
    variable: (name) => values.get(name.toLowerCase()),
  };
}

/** The fault that a caller sees: the place by line and column, and the text that is there. */
function faultFrom({ reason, message, start, end, unknownColumn }: FormulaProblem, text: string): FormulaFault {
  const before = text.slice(0, start);
  const lineStart = before.lastIndexOf('\n') + 1;
  return {
    kind: 'fault',
    reason,
    message,
    offset: start,
    line: before.split('\n').length,
    column: start - lineStart + 1,
    text: text.slice(start, Math.min(end, start + QUOTE_LENGTH_MAX)),
    unknownColumn: unknownColumn ?? null,
  };
}

/** The span of one column that a filter leaves. */
interface FilterSpan {
  /** Index of the column. */
  readonly column: number;
  readonly from: readonly Expression[];
  readonly to: readonly Expression[];
  /** Whether the filter says nothing else. */
  readonly isExact: boolean;
}

/** The span of the first column that has one; null without any. */
function spanOfFilter(tree: Node, scope: Scope): FilterSpan | null {
  const conditions = conditionsOf(tree).map((node) => sideOf(node, scope));
  const column = conditions.find((condition) => condition !== null)?.column;
  if (column === undefined) return null;
  const own = conditions.filter((condition) => condition?.column === column);
  const of = (side: 'from' | 'to'): readonly Expression[] =>
    own.flatMap((condition) => (condition?.side === side ? [condition.expression] : []));
  return { column, from: of('from'), to: of('to'), isExact: own.length === conditions.length };
}

function conditionsOf(node: Node): readonly Node[] {
  if (node.kind !== 'chain' || node.rest[0]?.operator !== 'and') return [node];
  return [node.first, ...node.rest.map(({ operand }) => operand)].flatMap(conditionsOf);
}

function sideOf(
  node: Node,
  scope: Scope,
): { readonly column: number; readonly side: 'from' | 'to'; readonly expression: Expression } | null {
  if (node.kind !== 'chain' || node.rest.length > 1 || node.first.kind !== 'column') return null;
  const [link] = node.rest;
  if (link?.operand.kind !== 'literal' || link.operand.type !== 'timestamp' || !/^[<>]=?$/.test(link.operator))
    return null;
  const column = scope.column(node.first.name);
  const compiled = compileTree(node, scope);
  if (column?.type !== 'Timestamp' || isProblem(compiled)) return null;
  return { column: column.index, side: link.operator.startsWith('>') ? 'from' : 'to', expression: compiled.expression };
}
