/** A table, a row, a user and a moment for tests of formulas: every column type once, and one that is always null. */
import {
  evaluate,
  parseFormula,
  scopeFromColumns,
  type Formula,
  type FormulaFault,
} from '../../src/sandbox/formula/formula.ts';
import type { FormulaSession, FormulaUser } from '../../src/sandbox/formula/types.ts';
import type { ColumnType, Value } from '../../src/wire/schema.ts';

const ADA: FormulaUser = {
  id: 7,
  email: 'ada@example.org',
  name: 'Ada Lovelace',
  role: 'Administrator',
  timeZone: 'America/New_York',
};
const BOB: FormulaUser = { id: 8, email: 'bob@example.org', name: '', role: 'Reader', timeZone: 'UTC' };

/** Ada calls at 2026-02-01 03:30:15.250 UTC: it is still January 31 where she is. */
export const SESSION: FormulaSession = {
  user: ADA,
  databaseId: '21995',
  nowMs: Date.UTC(2026, 1, 1, 3, 30, 15, 250),
  findUser: (email) => [ADA, BOB].find((user) => user.email === email.toLowerCase()),
};

const CELLS: readonly (readonly [name: string, type: ColumnType, value: Value])[] = [
  ['Name', 'Text', 'Åsa "Slash\\" O\'Neil'],
  ['Status', 'Text', 'Active'],
  ['Notes', 'Multiline', 'first\nsecond'],
  ['Empty', 'Text', ''],
  ['Phone', 'Phone', '+1 555'],
  ['E-mail', 'EMail', 'x@example.org'],
  ['Site', 'URL', 'https://example.org/'],
  ['Id', 'Autonumber', '42'],
  ['File', 'Attachment', 'logo.png;3;01234567-89ab-cdef-0123-456789abcdef'],
  ['Odd', 'Unknown', '{"a":1}'],
  ['Record Owner', 'User', 'Ada L. <ADA@example.org>'],
  ['Reader', 'User', 'bob@example.org'],
  ['Done', 'Checkbox', true],
  ['Open', 'Checkbox', false],
  ['Price', 'Numeric', 12.5],
  ['Big', 'Numeric', 9_007_199_254_740_993n],
  ['Long', 'Numeric', '0.1234567890123456789'],
  ['Start Date', 'Date', '2026-01-31'],
  ['Alarm', 'Time', '07:30:00'],
  ['Date Modified', 'Timestamp', '2026-02-01T03:30:00.125Z'],
  ['Worked', 'Duration', 5400],
  ['A]B\\C', 'Text', 'odd name'],
  ['No Text', 'Text', null],
  ['No Number', 'Numeric', null],
  ['No Date', 'Date', null],
  ['No Time', 'Time', null],
  ['No Timestamp', 'Timestamp', null],
  ['No Duration', 'Duration', null],
  ['No User', 'User', null],
  ['No Checkbox', 'Checkbox', null],
];

const SCOPE = scopeFromColumns(
  CELLS.map(([name, type], index) => ({ name, type, alias: `f_${100 + index}` })),
  new Map([['Rate', '12.5']]),
);

/** Names of the columns, for generators. */
export const COLUMN_NAMES: readonly string[] = CELLS.map(([name]) => name);

/** Reads a formula over that table. */
export function parse(text: string): Formula | FormulaFault {
  return parseFormula(text, SCOPE);
}

/** Whether the row matches, or the complaint with its place where the formula is none. */
export function matches(text: string): boolean | string {
  const formula = parse(text);
  if (formula.kind === 'fault') return `${formula.line}:${formula.column} ${formula.message}`;
  return evaluate(formula, SESSION, { id: 815, values: CELLS.map(([, , value]) => value) });
}

/** The place and reason of a fault, as `line:column reason [quoted text]`; `none` where there is no fault. */
export function faultAt(text: string): string {
  const fault = parse(text);
  return fault.kind === 'formula' ? 'none' : `${fault.line}:${fault.column} ${fault.reason} [${fault.text}]`;
}
