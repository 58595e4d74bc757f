/**
 * The workflow rules of a table (store/spec.ts, `WorkflowRule`): formulas that change a row after the API wrote it. A
 * rule runs no other rule. Rules that name what no longer exists fail the row rather than doing nothing: a test that
 * relies on a rule must not pass without it.
 */
import type { ColumnType, Value } from '../../wire/schema.ts';
import { stampFromMs } from '../../base/clock.ts';
import type { Numeric } from '../../wire/decimal.ts';
import type { MethodCall } from './call.ts';
import { textFromDate, textFromSeconds } from '../formula/calendar.ts';
import { parseExpression, parseFormula, scopeFromColumns, type Formula } from '../formula/formula.ts';
import { integerOf } from '../formula/numbers.ts';
import type { FormulaValue, FormulaSession, FormulaType, Moment } from '../formula/types.ts';
import { cellProblems, columnProblem, type RowProblem } from './row-input.ts';
import { CODES } from './refusal.ts';
import { sessionOf } from './session.ts';
import { findByName, type StoreColumn, type Table } from '../store/catalog.ts';
import type { WorkflowRule } from '../store/spec.ts';
import type { RowWriter } from '../store/writer.ts';

interface CompiledRule {
  readonly when: WorkflowRule['when'];
  readonly column: StoreColumn;
  readonly to: Formula;
  readonly where: Formula | null;
}

/** The rules of one table for one call. */
export class Workflow {
  readonly #table: Table;
  readonly #session: FormulaSession;
  readonly #rules: readonly (CompiledRule | RowProblem)[];

  constructor(call: MethodCall, table: Table) {
    this.#table = table;
    this.#session = sessionOf(call);
    this.#rules = table.rules.map((rule) => compile(rule, table));
  }

  /** Runs the rules for a row that was just written; the problem of the first rule that fails, or null. */
  run(writer: RowWriter, id: number, written: 'create' | 'update'): readonly RowProblem[] {
    for (const rule of this.#rules) {
      if ('error' in rule) return [rule];
      if (rule.when !== 'write' && rule.when !== written) continue;
      const problems = this.#runRule(rule, writer, id);
      if (problems.length > 0) return problems;
    }
    return [];
  }

  #runRule({ column, to, where }: CompiledRule, writer: RowWriter, id: number): readonly RowProblem[] {
    const values = writer.read(this.#table, this.#table.columns, id) ?? [];
    const moment: Moment = { session: this.#session, row: { id, values } };
    if (where !== null && where.expression.run(moment) !== true) return [];
    const value = valueFromCell(to.expression.type, to.expression.run(moment));
    const problems = cellProblems(writer, this.#table, new Map([[column, value]]), id);
    if (problems.length === 0) writer.update(this.#table, id, { [column.name]: value });
    return problems;
  }
}

function compile(rule: WorkflowRule, table: Table): CompiledRule | RowProblem {
  const column = findByName(table.columns, rule.set);
  if (column === undefined || column.sqlName === null || column.valueType === 'Attachment') {
    return ruleProblem(rule, 'the column cannot be set');
  }
  const scope = scopeFromColumns(table.columns.map(({ name, alias, valueType }) => ({ name, alias, type: valueType })));
  const to = parseExpression(rule.to, scope);
  if (to.kind === 'fault') return ruleProblem(rule, to.message);
  if (!fits(column, to.expression.type)) return ruleProblem(rule, `a ${to.expression.type} is not a ${column.type}`);
  const where = rule.where === undefined ? null : parseFormula(rule.where, scope);
  if (where?.kind === 'fault') return ruleProblem(rule, where.message);
  return { when: rule.when, column, to, where };
}

function ruleProblem({ set }: WorkflowRule, reason: string): RowProblem {
  return columnProblem(CODES.ruleFailed, `The workflow rule that sets "${set}" cannot run: ${reason}`, set);
}

/** Types of formulas that can fill a column of a type, beside one that is null. */
const FILLED_BY: Readonly<Record<ColumnType, readonly FormulaType[]>> = {
  Text: ['text', 'user', 'location'],
  Phone: ['text', 'user', 'location'],
  EMail: ['text', 'user', 'location'],
  URL: ['text', 'user', 'location'],
  Autonumber: ['text', 'user', 'location'],
  Multiline: ['text', 'user', 'location'],
  Unknown: ['text', 'user', 'location'],
  Attachment: ['text', 'user', 'location'],
  User: ['user'],
  Checkbox: ['boolean'],
  Numeric: ['number'],
  Duration: ['duration'],
  Date: ['date'],
  Time: ['time'],
  Timestamp: ['timestamp'],
};

/** Whether a formula of a type can fill a column. */
function fits({ valueType }: StoreColumn, type: FormulaType): boolean {
  return type === 'null' || FILLED_BY[valueType].includes(type);
}

/** A cell as a column holds it; a timestamp keeps whole seconds. */
function valueFromCell(type: FormulaType, cell: FormulaValue): Value {
  if (cell === null) return null;
  switch (type) {
    case 'date':
      return textFromDate(Number(cell));
    case 'time':
      return textFromSeconds(Number(cell));
    case 'timestamp':
      return stampFromMs(integerOf(cell as Numeric) * 1000);
    default:
      return cell;
  }
}
