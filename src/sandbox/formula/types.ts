/**
 * The vocabulary of the formula modules: types, cells, names, expressions, what they are evaluated against, problems.
 *
 * A cell is one value during evaluation; its form depends on its type alone, so that comparing and adding need no look
 * at where it came from. Null is a cell of every type but boolean, where false takes its place (origin facts 5.5).
 * Types and two small helpers; pure.
 */
import type { Numeric } from '../../wire/decimal.ts';
import type { ColumnType, Value } from '../../wire/schema.ts';

/** The form of a cell, by type. */
export interface CellByType {
  readonly text: string;
  /** Exact decimal. */
  readonly number: Numeric;
  readonly boolean: boolean;
  /** Days since 1970-01-01. */
  readonly date: number;
  /** Seconds since midnight. */
  readonly time: number;
  /** Seconds since 1970-01-01T00:00:00Z, with the fraction. */
  readonly timestamp: Numeric;
  /** Seconds. */
  readonly duration: Numeric;
  /** `Name <email>` or a bare e-mail. */
  readonly user: string;
  /** `latitude,longitude`. */
  readonly location: string;
}

/** The types that a value may have. */
export type DataType = keyof CellByType;

/** The static type of an expression; `null` is the type of the literal, which fits everywhere. */
export type FormulaType = DataType | 'null';

/** One value during evaluation. */
export type FormulaValue = CellByType[DataType] | null;

/** A user of the database, as formulas see one. */
export interface FormulaUser {
  readonly id: number;
  readonly email: string;
  /** First and last name. */
  readonly name: string;
  readonly role: string;
  /** IANA name; `Today()` and every conversion of a timestamp follow it. */
  readonly timeZone: string;
}

/** What is the same for all rows of one request. */
export interface FormulaSession {
  readonly user: FormulaUser;
  readonly databaseId: string;
  /** `Now()`, in epoch milliseconds. */
  readonly nowMs: number;
  /** The user with that e-mail, whatever its case. */
  findUser(email: string): FormulaUser | undefined;
}

/** A row; `values` are found by the index that the scope gave to each column. */
export interface FormulaRow {
  readonly id: number;
  readonly values: readonly Value[];
}

/** What an expression is evaluated against. */
export interface Moment {
  readonly session: FormulaSession;
  readonly row: FormulaRow;
}

/** A column as a formula finds it. */
export interface ScopeColumn {
  /** Where a row has its value. */
  readonly index: number;
  readonly type: ColumnType;
}

/** The names that a formula may use. */
export interface Scope {
  /** The column with that name or alias, whatever its case; undefined where the caller sees none. */
  column(name: string): ScopeColumn | undefined;
  /** The value of a database variable, whatever the case of its name; undefined where there is none. */
  variable(name: string): string | undefined;
}

/** What the result of an expression depends on besides the row. */
export type Dependency = 'time' | 'user' | 'role';

/** A typed expression. A boolean one never yields null. */
export interface Expression {
  readonly type: FormulaType;
  readonly run: (moment: Moment) => FormulaValue;
  readonly start: number;
  readonly end: number;
}

/** Why a formula is refused: it cannot be read, names something unknown, mixes types, or is too large. */
export type FaultReason = 'syntax' | 'unknownColumn' | 'unknownName' | 'type' | 'limit';

/** The first thing that is wrong with a formula, by offsets in UTF-16 units. */
export interface FormulaProblem {
  readonly reason: FaultReason;
  readonly message: string;
  readonly start: number;
  readonly end: number;
  /** The name of a column that does not exist, for `unknownColumn`. */
  readonly unknownColumn?: string | undefined;
}

/** A place in the formula. */
export interface FormulaRange {
  readonly start: number;
  readonly end: number;
}

/** A problem at a place. */
export function problem(reason: FaultReason, place: FormulaRange, message: string): FormulaProblem {
  return { reason, message, start: place.start, end: place.end };
}

/** Tells a problem from a result. */
export function isProblem(result: object): result is FormulaProblem {
  return 'reason' in result;
}
