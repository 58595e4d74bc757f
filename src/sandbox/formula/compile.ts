/**
 * A syntax tree to a typed expression. Names are looked up in the scope, types are checked, and every node becomes a
 * function of the row. So a page of rows is filtered without looking at the tree again.
 *
 * Types are static and nothing is converted silently; the null literal fits everywhere. The first problem, from left to
 * right, is the result. What the formula depends on is collected on the way.
 */
import type { ColumnType, Value } from '../../wire/schema.ts';
import { dateFromText, instantFromUtc, timeFromText } from './calendar.ts';
import { DATE_FUNCTIONS } from './date-functions.ts';
import { expressionOf, LOGIC_FUNCTIONS, mismatch } from './logic-functions.ts';
import { NUMBER_FUNCTIONS, TEXT_FUNCTIONS } from './text-functions.ts';
import { arithmeticOf, comparisonOf, foldCase, isOrdered, negated, TEST_BY_OPERATOR } from './operators.ts';
import type { Link, Node } from './parser.ts';
import { SESSION_FUNCTIONS, USER_PROPERTIES } from './session-functions.ts';
import { isSpecialForm, type FunctionRule, type Overload } from './signatures.ts';
import {
  isProblem,
  problem,
  type FormulaValue,
  type DataType,
  type Dependency,
  type Expression,
  type FormulaType,
  type Moment,
  type FormulaRange,
  type FormulaProblem,
  type Scope,
} from './types.ts';

/** An expression and what was collected while it was compiled. */
export interface Compiled {
  readonly expression: Expression;
  readonly uses: ReadonlySet<Dependency>;
  /** Indexes of the columns that are read. */
  readonly columns: ReadonlySet<number>;
}

/** Every function by its lower-case name. */
const FUNCTIONS: ReadonlyMap<string, FunctionRule> = new Map(
  [TEXT_FUNCTIONS, NUMBER_FUNCTIONS, DATE_FUNCTIONS, SESSION_FUNCTIONS, LOGIC_FUNCTIONS].flatMap((table) =>
    Object.entries(table).map(([name, rule]) => [name.toLowerCase(), rule] as const),
  ),
);

/** The typed expression of a tree; or the first problem. */
export function compileTree(tree: Node, scope: Scope): Compiled | FormulaProblem {
  const compiler = new Compiler(scope);
  const expression = compiler.compile(tree);
  if (isProblem(expression)) return expression;
  return { expression, uses: compiler.uses, columns: compiler.columns };
}

/** The type of a column's values in formulas. */
function dataTypeOf(type: ColumnType): DataType {
  return COLUMN_READERS[type]?.type ?? 'text';
}

/** How a column's value becomes a cell; text as it is where nothing is said. */
const COLUMN_READERS: Readonly<Partial<Record<ColumnType, { type: DataType; read: (value: Value) => FormulaValue }>>> =
  {
    User: { type: 'user', read: (value) => String(value) },
    Checkbox: { type: 'boolean', read: (value) => value === true },
    Numeric: { type: 'number', read: (value) => value },
    Duration: { type: 'duration', read: (value) => value },
    Date: { type: 'date', read: (value) => dateFromText(String(value)) },
    Time: { type: 'time', read: (value) => timeFromText(String(value)) },
    Timestamp: { type: 'timestamp', read: (value) => instantFromUtc(String(value)) },
  };

class Compiler {
  readonly uses = new Set<Dependency>();
  readonly columns = new Set<number>();
  private readonly scope: Scope;

  constructor(scope: Scope) {
    this.scope = scope;
  }

  compile(node: Node): Expression | FormulaProblem {
    switch (node.kind) {
      case 'literal':
        return expressionOf(node.type, node, () => node.cell);
      case 'column':
        return this.column(node.name, node);
      case 'variable':
        return this.variable(node.name, node);
      case 'userProperty':
        return this.userProperty(node.name, node);
      case 'call':
        return this.call(node);
      case 'prefix':
        return this.prefix(node);
      default:
        return this.chain(node);
    }
  }

  private column(name: string, place: FormulaRange): Expression | FormulaProblem {
    const column = this.scope.column(name);
    if (column === undefined) {
      return { ...problem('unknownColumn', place, 'There is no such column.'), unknownColumn: name };
    }
    const { index, type } = column;
    this.columns.add(index);
    const read = COLUMN_READERS[type]?.read ?? String;
    return expressionOf(dataTypeOf(type), place, ({ row }) => {
      const value = row.values[index];
      return value === null || value === undefined ? null : read(value);
    });
  }

  private variable(name: string, place: FormulaRange): Expression | FormulaProblem {
    const value = this.scope.variable(name);
    if (value === undefined) return problem('unknownName', place, 'There is no such variable.');
    return expressionOf('text', place, () => value);
  }

  private userProperty(name: string, place: FormulaRange): Expression | FormulaProblem {
    const read = USER_PROPERTIES.get(name.toLowerCase());
    if (read === undefined) return problem('unknownName', place, 'Users have no such property.');
    this.uses.add(name.toLowerCase() === 'role' ? 'role' : 'user');
    return expressionOf('text', place, ({ session }) => read(session.user));
  }

  /** Like a chain, a run of signs is evaluated in a loop. */
  private prefix(node: Node & { readonly kind: 'prefix' }): Expression | FormulaProblem {
    const operand = this.compile(node.operand);
    if (isProblem(operand)) return operand;
    const steps: ((cell: FormulaValue) => FormulaValue)[] = [];
    let { type } = operand;
    // From the inside out: the operator next to the operand comes first.
    for (const operator of node.operators.toReversed()) {
      const meaning = operator === 'not' ? negationOf(type) : minusOf(type);
      if (typeof meaning === 'string') return problem('type', operand, meaning);
      steps.push(meaning.apply);
      type = meaning.result;
    }
    return expressionOf(type, node, (moment) => steps.reduce((cell, apply) => apply(cell), operand.run(moment)));
  }

  /** Compiled and evaluated in a loop: a chain of a thousand `or` must not be a thousand calls deep. */
  private chain(node: Node & { readonly kind: 'chain' }): Expression | FormulaProblem {
    const { first, rest } = node;
    const left = this.compile(first);
    if (isProblem(left)) return left;
    const operator = rest[0]?.operator;
    if (operator === 'and' || operator === 'or') {
      const logic = this.logic(left, rest, operator);
      const sought = operator === 'or' ? soughtTexts(node, this.scope) : null;
      return sought === null || isProblem(logic) ? logic : { ...logic, run: ({ row }) => hasOneOf(row, sought) };
    }

    const steps: OperatorStep[] = [];
    let soFar = left;
    for (const link of rest) {
      const right = this.compile(link.operand);
      if (isProblem(right)) return right;
      const step = stepOf(link.operator, soFar, right);
      if (isProblem(step)) return step;
      steps.push(step);
      soFar = { ...left, type: step.type, end: right.end };
    }
    return expressionOf(soFar.type, soFar, (moment) => {
      let cell = left.run(moment);
      for (const { apply, run } of steps) cell = apply(cell, run(moment));
      return cell;
    });
  }

  private logic(left: Expression, rest: readonly Link[], operator: 'and' | 'or'): Expression | FormulaProblem {
    const operands = [left];
    for (const { operand } of rest) {
      const right = this.compile(operand);
      if (isProblem(right)) return right;
      operands.push(right);
    }
    const wrong = operands.find(({ type }) => type !== 'boolean' && type !== 'null');
    if (wrong !== undefined) return problem('type', wrong, mismatch('boolean', wrong.type));
    const place = { start: left.start, end: operands.at(-1)?.end ?? left.end };
    const isTrue = (moment: Moment) => (operand: Expression) => operand.run(moment) === true;
    return expressionOf('boolean', place, (moment) =>
      operator === 'and' ? operands.every(isTrue(moment)) : operands.some(isTrue(moment)),
    );
  }

  private call(node: Node & { readonly kind: 'call' }): Expression | FormulaProblem {
    const rule = FUNCTIONS.get(node.name.toLowerCase());
    const namePlace = { start: node.start, end: node.start + node.name.length };
    if (rule === undefined) return problem('unknownName', namePlace, 'There is no such function.');
    const args: Expression[] = [];
    for (const arg of node.args) {
      const compiled = this.compile(arg);
      if (isProblem(compiled)) return compiled;
      args.push(compiled);
    }
    if (isSpecialForm(rule)) return rule.compile(args, node);
    const chosen = rule.find((candidate) => isMatch(candidate, args));
    if (chosen === undefined) return callProblem(node, args, rule);
    for (const dependency of chosen.uses) this.uses.add(dependency);
    return applied(chosen, args, node);
  }
}

/** One operator of a chain: what it makes of the value so far and its right side. */
interface OperatorStep {
  readonly type: DataType;
  readonly apply: (left: FormulaValue, right: FormulaValue) => FormulaValue;
  readonly run: (moment: Moment) => FormulaValue;
}

function stepOf(operator: string, left: Expression, right: Expression): OperatorStep | FormulaProblem {
  const place = { start: left.start, end: right.end };
  const test = TEST_BY_OPERATOR.get(operator);
  if (test === undefined) {
    const meaning = arithmeticOf(operator, left.type, right.type);
    if (meaning === undefined) return problem('type', place, `${left.type} ${operator} ${right.type} has no meaning.`);
    return { type: meaning.result, apply: meaning.apply, run: right.run };
  }
  const type = left.type === 'null' ? right.type : left.type;
  if (right.type !== 'null' && right.type !== type) {
    return problem('type', place, `${left.type} ${operator} ${right.type} has no meaning.`);
  }
  if (operator !== '=' && operator !== '<>' && !isOrdered(type)) {
    return problem('type', place, `Values of type ${type} have no order.`);
  }
  const compare = comparisonOf(type);
  return {
    type: 'boolean',
    apply: (a, b) => a !== null && b !== null && test(compare(a, b)),
    run: right.run,
  };
}

/** The texts, folded, of which a column has to have one. */
export interface SoughtTexts {
  /** Index of the column. */
  readonly column: number;
  readonly texts: ReadonlySet<string>;
}

/**
 * What a condition asks for that compares one column with a text, or with one of many; null for any other. A push asks
 * so for hundreds of rows.
 */
export function soughtTexts(node: Node, scope: Scope): SoughtTexts | null {
  const isOr = node.kind === 'chain' && node.rest[0]?.operator === 'or';
  const nodes = isOr ? [node.first, ...node.rest.map(({ operand }) => operand)] : [node];
  const equalities = nodes.map((one) => {
    if (one.kind !== 'chain' || one.rest.length > 1 || one.first.kind !== 'column') return null;
    const [link] = one.rest;
    if (link?.operator !== '=' || link.operand.kind !== 'literal' || link.operand.type !== 'text') return null;
    return { column: scope.column(one.first.name)?.index, text: foldCase(String(link.operand.cell)) };
  });
  const column = equalities[0]?.column;
  if (column === undefined || equalities.some((equality) => equality?.column !== column)) return null;
  return { column, texts: new Set(equalities.flatMap((equality) => equality?.text ?? [])) };
}

function hasOneOf({ values }: Moment['row'], { column, texts }: SoughtTexts): boolean {
  const value = values[column] ?? null;
  return value !== null && texts.has(foldCase(String(value)));
}

/** What a prefix makes of a type; or the complaint. */
type Prefixed = { readonly result: DataType; readonly apply: (cell: FormulaValue) => FormulaValue } | string;

function negationOf(type: FormulaType): Prefixed {
  if (type === 'boolean' || type === 'null') return { result: 'boolean', apply: (cell) => cell !== true };
  return `${mismatch('boolean', type)} not binds tighter than a comparison: write not (…).`;
}

function minusOf(type: FormulaType): Prefixed {
  if (type === 'number' || type === 'duration') return { result: type, apply: negated };
  return type === 'null' ? { result: 'number', apply: negated } : mismatch('number', type);
}

function isMatch({ parameters, rest }: Overload, args: readonly Expression[]): boolean {
  if (args.length < parameters.length || (rest === null && args.length > parameters.length)) return false;
  return args.every(({ type }, index) => type === 'null' || type === (parameters[index] ?? rest));
}

function applied(chosen: Overload, args: readonly Expression[], place: FormulaRange): Expression {
  return expressionOf(chosen.result, place, (moment) => {
    const cells: FormulaValue[] = [];
    for (const arg of args) {
      const cell = arg.run(moment);
      if (cell === null && !chosen.takesNull) return null;
      cells.push(cell);
    }
    return chosen.apply(cells, moment);
  });
}

/** Points at the first argument that no overload takes after those before it; at the call where the count is wrong. */
function callProblem(
  node: Node & { readonly kind: 'call' },
  args: readonly Expression[],
  rule: readonly Overload[],
): FormulaProblem {
  const forms = rule.map((form) => `(${form.parameters.join(', ')}${form.rest === null ? '' : `, ${form.rest}…`})`);
  const message = `${node.name} takes ${forms.join(' or ')}, not (${args.map(({ type }) => type).join(', ')}).`;
  const fitting = ({ parameters, rest }: Overload): number => {
    const wrongAt = args.findIndex(({ type }, at) => type !== 'null' && type !== (parameters[at] ?? rest));
    return wrongAt < 0 ? args.length : wrongAt;
  };
  const reached = Math.max(...rule.map(fitting));
  const isCount = rule.every(({ parameters }) => parameters.length <= reached) || reached === args.length;
  return problem('type', isCount ? node : (args[reached] ?? node), message);
}
