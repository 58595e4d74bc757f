/**
 * Functions whose types follow their arguments: conditions, tests for null, and the aggregates over mixed types (origin
 * facts 5.6). `If` and `Case` evaluate only what they return. Results of one function must be of one type; a missing
 * else is null, or false where the results are boolean. `Ask`, `Parameter` and `Exists` need what a filter of a REST
 * call does not have: a dialogue, or a relationship; they are refused by name.
 */
import { comparisonOf, type Comparison } from './operators.ts';
import type { CallPlace, FunctionTable, SpecialForm } from './signatures.ts';
import {
  problem,
  type FormulaValue,
  type Expression,
  type FormulaType,
  type Moment,
  type FormulaRange,
  type FormulaProblem,
} from './types.ts';

/** The functions. */
export const LOGIC_FUNCTIONS: FunctionTable = {
  If: { compile: compileIf },
  Case: { compile: compileCase },
  In: { compile: compileIn },
  Between: { compile: compileBetween },
  IsNull: { compile: (args, call) => compileNullTest(args, call, (cell) => cell === null) },
  IsBlank: { compile: (args, call) => compileNullTest(args, call, (cell) => cell === null || cell === '') },
  Nz: { compile: compileNz },
  NullIf: { compile: compileNullIf },
  Min: { compile: (args, call) => compileExtreme(args, call, (sign) => sign < 0) },
  Max: { compile: (args, call) => compileExtreme(args, call, (sign) => sign > 0) },
  Count: { compile: compileCount },
  Ask: refused('asks a person, and works in views only'),
  Parameter: refused('asks a person, and works in views only'),
  Exists: refused('follows a reference column, and this database has none'),
};

/** The type that all expressions have, null literals aside; or a problem at the first that differs. */
function commonType(expressions: readonly Expression[]): FormulaType | FormulaProblem {
  let common: FormulaType = 'null';
  for (const { type, start, end } of expressions) {
    if (common === 'null') common = type;
    else if (type !== 'null' && type !== common) return problem('type', { start, end }, mismatch(common, type));
  }
  return common;
}

/** A sentence for two types that do not go together. */
export function mismatch(expected: FormulaType, found: FormulaType): string {
  return `This must be of type ${expected}, and is of type ${found}.`;
}

/** An expression of a type, with false for null where it is boolean (booleans are never null). */
export function expressionOf(
  type: FormulaType,
  place: FormulaRange,
  run: (moment: Moment) => FormulaValue,
): Expression {
  const { start, end } = place;
  return { type, start, end, run: type === 'boolean' ? (moment) => run(moment) === true : run };
}

function refused(reason: string): SpecialForm {
  return { compile: (_args, call) => problem('unknownName', call, `${call.name} ${reason}.`) };
}

function tooFew(call: CallPlace, countMin: number): FormulaProblem {
  return problem('type', call, `${call.name} takes at least ${countMin} argument${countMin === 1 ? '' : 's'}.`);
}

/** Condition and result in turn, then the else. */
function compileIf(args: readonly Expression[], call: CallPlace): Expression | FormulaProblem {
  if (args.length < 2) return tooFew(call, 2);
  const conditions = args.filter((_arg, index) => index % 2 === 0 && index + 1 < args.length);
  const results = args.filter((_arg, index) => index % 2 === 1 || index + 1 === args.length);
  const wrong = conditions.find(({ type }) => type !== 'boolean' && type !== 'null');
  if (wrong !== undefined) return problem('type', wrong, mismatch('boolean', wrong.type));
  const type = commonType(results);
  if (typeof type === 'object') return type;
  return expressionOf(type, call, (moment) => {
    const index = conditions.findIndex((condition) => condition.run(moment) === true);
    // Behind the conditions is the else, or nothing.
    return results[index < 0 ? conditions.length : index]?.run(moment) ?? null;
  });
}

/** A value, then match and result in turn, then the else. */
function compileCase(args: readonly Expression[], call: CallPlace): Expression | FormulaProblem {
  const [subject, ...others] = args;
  if (subject === undefined || others.length < 2) return tooFew(call, 3);
  const matches = others.filter((_arg, index) => index % 2 === 0 && index + 1 < others.length);
  const results = others.filter((_arg, index) => index % 2 === 1 || index + 1 === others.length);
  const matched = commonType([subject, ...matches]);
  if (typeof matched === 'object') return matched;
  const type = commonType(results);
  if (typeof type === 'object') return type;
  const compare = comparisonOf(matched);
  return expressionOf(type, call, (moment) => {
    const index = indexOfEqual(subject.run(moment), matches, { compare, moment });
    return results[index < 0 ? matches.length : index]?.run(moment) ?? null;
  });
}

/** Null equals nothing. */
function indexOfEqual(
  cell: FormulaValue,
  candidates: readonly Expression[],
  { compare, moment }: { readonly compare: Comparison; readonly moment: Moment },
): number {
  if (cell === null) return -1;
  return candidates.findIndex((candidate) => {
    const other = candidate.run(moment);
    return other !== null && compare(cell, other) === 0;
  });
}

function compileIn(args: readonly Expression[], call: CallPlace): Expression | FormulaProblem {
  const [subject, ...candidates] = args;
  if (subject === undefined || candidates.length === 0) return tooFew(call, 2);
  const type = commonType(args);
  if (typeof type === 'object') return type;
  const compare = comparisonOf(type);
  return expressionOf(
    'boolean',
    call,
    (moment) => indexOfEqual(subject.run(moment), candidates, { compare, moment }) >= 0,
  );
}

/** Inclusive at both ends; false where any of the three is null. */
function compileBetween(args: readonly Expression[], call: CallPlace): Expression | FormulaProblem {
  const [value, least, most] = args;
  if (value === undefined || least === undefined || most === undefined || args.length > 3) {
    return problem('type', call, `${call.name} takes 3 arguments: a value, the least and the most.`);
  }
  const type = commonType(args);
  if (typeof type === 'object') return type;
  if (type === 'boolean' || type === 'user' || type === 'location') {
    return problem('type', value, `Values of type ${type} have no order.`);
  }
  const compare = comparisonOf(type);
  return expressionOf('boolean', call, (moment) => {
    const [cell, from, to] = [value.run(moment), least.run(moment), most.run(moment)];
    if (cell === null || from === null || to === null) return false;
    return compare(cell, from) >= 0 && compare(cell, to) <= 0;
  });
}

function compileNullTest(
  args: readonly Expression[],
  call: CallPlace,
  test: (cell: FormulaValue) => boolean,
): Expression | FormulaProblem {
  const [arg] = args;
  if (arg === undefined || args.length > 1) return problem('type', call, `${call.name} takes 1 argument.`);
  return expressionOf('boolean', call, (moment) => test(arg.run(moment)));
}

/** The first value that is not null; with a single text, that text or the empty one. */
function compileNz(args: readonly Expression[], call: CallPlace): Expression | FormulaProblem {
  const [first] = args;
  const type = commonType(args);
  if (typeof type === 'object') return type;
  if (first === undefined) return tooFew(call, 1);
  if (args.length === 1 && type !== 'text') {
    return problem('type', call, `${call.name} takes one text, or several values of one type.`);
  }
  return expressionOf(type, call, (moment) => {
    for (const arg of args) {
      const cell = arg.run(moment);
      if (cell !== null) return cell;
    }
    return args.length === 1 ? '' : null;
  });
}

function compileNullIf(args: readonly Expression[], call: CallPlace): Expression | FormulaProblem {
  const [value, other] = args;
  if (value === undefined || other === undefined || args.length > 2) {
    return problem('type', call, `${call.name} takes 2 arguments.`);
  }
  const type = commonType(args);
  if (typeof type === 'object') return type;
  const compare = comparisonOf(type);
  return expressionOf(type, call, (moment) => {
    const cell = value.run(moment);
    return indexOfEqual(cell, [other], { compare, moment }) === 0 ? null : cell;
  });
}

/** The first of the values that none beats; nulls are ignored. */
function compileExtreme(
  args: readonly Expression[],
  call: CallPlace,
  beats: (sign: number) => boolean,
): Expression | FormulaProblem {
  if (args.length === 0) return tooFew(call, 1);
  const type = commonType(args);
  if (typeof type === 'object') return type;
  const unordered = args.find((arg) => arg.type === 'user' || arg.type === 'location');
  if (unordered !== undefined) return problem('type', unordered, `Values of type ${unordered.type} have no order.`);
  const compare = comparisonOf(type);
  return expressionOf(type, call, (moment) => {
    let best: FormulaValue = null;
    for (const arg of args) {
      const cell = arg.run(moment);
      if (cell !== null && (best === null || beats(compare(cell, best)))) best = cell;
    }
    return best;
  });
}

/** How many values are there: not null, not empty, not false. Types may differ. */
function compileCount(args: readonly Expression[], call: CallPlace): Expression | FormulaProblem {
  if (args.length === 0) return tooFew(call, 1);
  const isThere = (cell: FormulaValue): boolean => cell !== null && cell !== '' && cell !== false;
  return expressionOf('number', call, (moment) => args.filter((arg) => isThere(arg.run(moment))).length);
}
