/**
 * What a function of the formula language is. Overloads by argument types, or a compiler of its own where the result's
 * type follows the arguments (If, Max) or arguments are not evaluated (If, Case).
 *
 * The tables of functions (text-, number-, date-, session- and logic-functions.ts) are written with these; compile.ts
 * reads them.
 */
import type {
  FormulaValue,
  CellByType,
  DataType,
  Dependency,
  Expression,
  Moment,
  FormulaRange,
  FormulaProblem,
} from './types.ts';

/** One meaning of a function, by the types of its arguments. */
export interface Overload {
  readonly parameters: readonly DataType[];
  /** The type of any number of further arguments; null where there are none. */
  readonly rest: DataType | null;
  readonly result: DataType;
  readonly uses: readonly Dependency[];
  /** Whether null arguments reach `apply`; otherwise one makes the result null. */
  readonly takesNull: boolean;
  readonly apply: (args: readonly FormulaValue[], moment: Moment) => FormulaValue;
}

/** A function that checks its arguments itself. */
export interface SpecialForm {
  readonly compile: (args: readonly Expression[], call: CallPlace) => Expression | FormulaProblem;
}

/** The call that is compiled: where it is and what it names, for complaints. */
export interface CallPlace extends FormulaRange {
  readonly name: string;
}

/** A function: overloads, tried in order, or a special form. */
export type FunctionRule = readonly Overload[] | SpecialForm;

/** Functions by name, as the origin writes them. */
export type FunctionTable = Readonly<Record<string, FunctionRule>>;

/** The form of the arguments of an overload whose nulls never arrive. */
type Arguments<P extends readonly DataType[]> = { readonly [I in keyof P]: CellByType[P[I]] };

/** A meaning for exactly these types, null for null. */
export function overload<const P extends readonly DataType[]>(
  parameters: P,
  result: DataType,
  apply: (args: Arguments<P>, moment: Moment) => FormulaValue,
  uses: readonly Dependency[] = [],
): Overload {
  return {
    parameters,
    rest: null,
    result,
    uses,
    takesNull: false,
    // The compiler has matched the types and the evaluator stopped at null, so the forms are those of the types.
    apply: (args, moment) => apply(args as unknown as Arguments<P>, moment),
  };
}

/** A meaning for any number of arguments of one type, after the given ones; nulls arrive. */
export function variadic(
  parameters: readonly DataType[],
  rest: DataType,
  result: DataType,
  apply: (args: readonly FormulaValue[]) => FormulaValue,
): Overload {
  return { parameters, rest, result, uses: [], takesNull: true, apply };
}

/** Tells a special form from overloads. */
export function isSpecialForm(rule: FunctionRule): rule is SpecialForm {
  return 'compile' in rule;
}
