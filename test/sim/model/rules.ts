/**
 * What the database does by itself after the API wrote a row: normalises a value, puts the old one back, touches
 * another row, creates one. Takes the row and what it was before; produces changed rows, noted as the workflow's; or
 * the rule that cannot run or would break a constraint, and then the row fails as a whole.
 */
import type { Value } from '../../../src/wire/schema.ts';
import type { Call } from './call.ts';
import { compareDecimals, decimalFromText, digitsOf } from './decimal.ts';
import type { ModelRule } from './knobs.ts';
import { brokenConstraint, type BrokenConstraint } from './constraints.ts';
import { findNamed, valueTypeOf, type ModelColumn, type ModelRow, type ModelTable } from './state.ts';
import { insertRow, updateRow, type Author, type CellMap } from './writer.ts';

/** A row that was written. */
export interface Written {
  readonly id: number;
  /** Null for a new row. */
  readonly before: ModelRow | null;
}

/**
 * Why a row fails because of a rule: the column that the rule sets, and whether it cannot run or breaks a constraint.
 */
export interface BrokenRule {
  readonly column: string;
  /** What the rule would have set. */
  readonly value: Value;
  readonly why: BrokenConstraint | 'cannotRun';
}

/** The rules that run for a table: its own, which fail the row where they cannot run, and those that the knobs set. */
export function rulesOf({ knobs }: Pick<Call, 'knobs'>, table: ModelTable): readonly ModelRule[] {
  return [...table.rules, ...knobs.rules.filter((rule) => rule.table === table.name)];
}

/** Runs the rules for a row; gives the one that fails it, or null. */
export function runRules(
  call: Call,
  table: ModelTable,
  rules: readonly ModelRule[],
  written: Written,
  author: Author,
): BrokenRule | null {
  for (const rule of rules) {
    const column = findNamed(table.columns, rule.column);
    if (column === undefined || !canRun(rule, column)) {
      if (table.rules.includes(rule)) return { column: rule.column, value: null, why: 'cannotRun' };
      continue;
    }
    if (rule.when !== 'write' && (rule.when === 'create') !== (written.before === null)) continue;
    const problem = runRule({ call, table, column, author }, rule, written);
    if (problem !== null) return problem;
  }
  return null;
}

const NO_TEXTS = new Set(['Checkbox', 'Numeric', 'Duration', 'Date', 'Time', 'Timestamp', 'User', 'Attachment']);

function canRun({ does }: ModelRule, column: ModelColumn): boolean {
  if (column.computed !== null) return false;
  if (does === 'putBack') return true;
  return does === 'round' ? valueTypeOf(column) === 'Numeric' : !NO_TEXTS.has(valueTypeOf(column));
}

interface Place {
  readonly call: Call;
  readonly table: ModelTable;
  readonly column: ModelColumn;
  readonly author: Author;
}

function runRule(place: Place, rule: ModelRule, { id, before }: Written): BrokenRule | null {
  const { call, table, column, author } = place;
  const row = table.rows.get(id);
  if (row === undefined) return null;
  switch (rule.does) {
    case 'touchOther': {
      const others = [...table.rows.keys()].filter((other) => other !== id);
      const other = others[Math.floor(call.draw('rule') * others.length)];
      if (other !== undefined) updateRow(call.ledger, table, other, newText(place), author);
      return null;
    }
    case 'createRow':
      insertRow(call.ledger, table, newText(place), author);
      return null;
    case 'putBack':
      if (before === null) return null;
      return set(place, id, before.cells.get(column.id) ?? null);
    default:
      return set(place, id, normalised(rule, row.cells.get(column.id) ?? null));
  }
}

function newText({ call, column }: Place): CellMap {
  return new Map([[column, `w${call.ledger.log.length}`]]);
}

function normalised({ does }: ModelRule, value: Value): Value {
  if (value === null || typeof value === 'boolean') return value;
  if (does === 'round') return rounded(value);
  if (typeof value !== 'string') return value;
  if (does === 'trim') return value.trim();
  return does === 'upper' ? value.toUpperCase() : value.toLowerCase();
}

/** To two decimals, away from zero at the half; texts that are no number stay. */
function rounded(value: string | number | bigint): Value {
  const decimal = decimalFromText(String(value));
  if (decimal === undefined) return value;
  const [whole = '0', fraction = ''] = digitsOf(decimal).replace('-', '').split('.');
  const hundredths = BigInt(whole + fraction.padEnd(2, '0').slice(0, 2)) + (Number(fraction[2] ?? 0) >= 5 ? 1n : 0n);
  const sign = compareDecimals(decimal, 0) < 0 ? '-' : '';
  return decimalFromText(`${sign}${hundredths / 100n}.${String(hundredths % 100n).padStart(2, '0')}`) ?? value;
}

function set({ call, table, column, author }: Place, id: number, value: Value): BrokenRule | null {
  const why = brokenConstraint(table, column, value, id);
  if (why !== null) return { column: column.name, value, why };
  updateRow(call.ledger, table, id, new Map([[column, value]]), author);
  return null;
}
