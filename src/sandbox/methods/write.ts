/**
 * Create, Update, Upsert and Delete (specification 4.6, 4.7): rows of a body into the store, one status per row in
 * their order. Invariants: a row that fails leaves no trace and touches no other row; all rows of a body are one
 * transaction.
 *
 * A role that may not write at all is refused as a whole (origin facts 4.1, access to a table). What a role may not do
 * with one row or column fails that row. Create ignores an `@row.id`. An Upsert whose id or key names no row creates
 * one. A record that cannot be deleted fails in one way, so that the caller cannot learn why.
 */
import { hasOption, type ColumnType, type Value } from '../../wire/schema.ts';
import { WireFault } from '../../wire/fault.ts';
import type { StatusDescriptor } from '../../wire/writes.ts';
import type { MethodAnswer, MethodCall } from './call.ts';
import { findColumn, readWorkflow, valuesOf, readRecords, readSwitch } from './parameters.ts';
import { badBody, CODES, readOnlyTable, MethodRefusal } from './refusal.ts';
import { CellReader, cellProblems, columnProblem, type RowCells, type RowProblem } from './row-input.ts';
import { mayDo } from './row-rights.ts';
import { type StoreColumn, type Table, findByName } from '../store/catalog.ts';
import { isFile, textFromValue } from '../store/cells.ts';
import type { RowWriter } from '../store/writer.ts';
import type { ErrorDescriptor } from '../../wire/json.ts';
import { stampFromMs } from '../../base/clock.ts';
import type { Numeric } from '../../wire/decimal.ts';
import { textFromDate, textFromSeconds } from '../formula/calendar.ts';
import { parseExpression, parseFormula, scopeFromColumns, type Formula } from '../formula/formula.ts';
import { integerOf } from '../formula/numbers.ts';
import type { FormulaValue, FormulaSession, FormulaType, Moment } from '../formula/types.ts';
import { sessionOf } from './session.ts';
import type { WorkflowRule } from '../store/spec.ts';
import { readWriteBody, type WriteBody } from '../wire/write-body.ts';
import type { InputRow } from '../wire/input-rows.ts';

/** What is the same for all rows of a call. */
interface Writing {
  readonly call: MethodCall;
  readonly table: Table;
  /** Where the record is looked for when a row has no id. */
  readonly match: StoreColumn;
  readonly cells: CellReader;
  /** Null where rules are suppressed. */
  readonly workflow: Workflow | null;
  readonly writer: RowWriter;
}

/** Create, Update or Upsert, by the route. */
export function write(call: MethodCall, table: Table): MethodAnswer | MethodRefusal {
  if (!call.role.canWrite) return readOnlyTable(table.name);
  const runsRules = readWorkflow(call);
  if (runsRules instanceof MethodRefusal) return runsRules;
  const match = call.route.method === 'create' ? table.key : readMatch(call, table);
  if (match instanceof MethodRefusal) return match;
  const body = readBody(call);
  if (body instanceof MethodRefusal) return body;
  const cells = new CellReader(call, table, body);
  const workflow = runsRules && table.rules.length > 0 ? new Workflow(call, table) : null;
  const statuses = call.store.writeAs(call.user, (writer) => {
    const writing: Writing = { call, table, match, cells, workflow, writer };
    return body.rows.map((row) => {
      return writer.attempt(
        () => writeRow(writing, row),
        ({ errors }) => errors.length > 0,
      );
    });
  });
  return { kind: 'result', text: call.format.writeStatuses(statuses) };
}

function readBody({ body }: MethodCall): WriteBody | MethodRefusal {
  const read = readWriteBody(body?.bytes ?? Buffer.alloc(0), body?.contentType);
  return read instanceof WireFault ? badBody(read) : read;
}

/** The column that `match` names; it must be one that no two rows share a value in. */
function readMatch({ pairs, role }: MethodCall, table: Table): StoreColumn | MethodRefusal {
  const name = valuesOf(pairs, 'match').at(-1);
  if (name === undefined) return table.key;
  const column = findColumn(table, role, name);
  if (column instanceof MethodRefusal) return column;
  const isUnique = column.id === table.key.id || hasOption(column.options, 'Unique');
  if (isUnique && column.sqlName !== null) return column;
  return new MethodRefusal(400, { code: CODES.notUnique, message: 'The match column is not unique', source: name });
}

/** Writes one row. The caller undoes everything when the status has errors. */
function writeRow(writing: Writing, row: InputRow): StatusDescriptor {
  const { table, cells: reader, writer, workflow } = writing;
  const { cells, problems } = reader.read(row);
  if (problems.length > 0) return failed(writing, cells, row.id, problems);
  const target = findTarget(writing, row, cells);
  if (typeof target === 'object' && target !== null) return failed(writing, cells, row.id, [target]);
  const wrong = cellProblems(writer, table, cells, target);
  if (wrong.length > 0) return failed(writing, cells, target, wrong);

  const byName = Object.fromEntries([...cells].map(([column, cell]) => [column.name, cell]));
  const id = target ?? writer.insert(table, byName);
  if (target !== null && !writer.update(table, id, byName)) return done(writing, 304, id);
  const broken = workflow?.run(writer, id, target === null ? 'create' : 'update') ?? [];
  if (broken.length > 0) return failed(writing, cells, target, broken);
  return done(writing, target === null ? 201 : 200, id);
}

/** The id of the row to change, null for a new one, or why neither can be. */
function findTarget(writing: Writing, row: InputRow, cells: RowCells): number | null | RowProblem {
  const { call, table, match, writer } = writing;
  const { method } = call.route;
  const ids = method === 'create' ? [] : idsOfRow(writing, row, cells);
  if ('error' in ids) return ids;
  const [id] = ids;
  if (id === undefined) {
    if (method === 'update') return missingRecord(404, row.id === null ? writing.match.name : '@row.id');
    if (table.allowAdd) return null;
    return columnProblem(CODES.cannotAdd, 'Records cannot be added to the table', table.name, { status: 403 });
  }
  if (ids.length > 1) return columnProblem(CODES.notUnique, 'More than one record has the match value', match.name);
  return mayDo(call, table, writer, { id, what: 'Edit' })
    ? id
    : missingRecord(403, row.id === null ? writing.match.name : '@row.id');
}

/** Rows that the id names, or else the match value; two are enough to know that there is no single one. */
function idsOfRow(
  { call, table, match, writer }: Writing,
  row: InputRow,
  cells: RowCells,
): readonly number[] | RowProblem {
  if (row.id !== null) return writer.read(table, [], row.id) === undefined ? [] : [row.id];
  const value = cells.get(match) ?? null;
  if (value !== null && value !== '' && !isFile(value)) return writer.idsWith(table, match, value, 2);
  if (call.route.method === 'upsert') return [];
  return columnProblem(CODES.noKey, `A record id or a value for column "${match.name}" is required`, match.name);
}

/** A row that does not exist, or that the caller may not touch. */
function missingRecord(status: 403 | 404, source: string): RowProblem {
  const message = 'Record is not found or not accessible';
  return { status, error: { error: status, code: CODES.noRecord, message, source } };
}

function done({ table, writer, call }: Writing, status: number, id: number): StatusDescriptor {
  const isHidden = call.role.hiddenColumnIds.includes(table.key.id);
  const [key = null] = isHidden ? [] : (writer.read(table, [table.key], id) ?? []);
  return { status, id, key: textFromValue(key), errors: [] };
}

/** A row that fails says of itself what it said; the first problem decides its status. */
function failed(
  { table }: Writing,
  cells: RowCells,
  id: number | null,
  problems: readonly RowProblem[],
): StatusDescriptor {
  const key = cells.get(table.key) ?? null;
  const keyText = isFile(key) ? null : textFromValue(key);
  return { status: problems[0]?.status ?? 400, id, key: keyText, errors: problems.map(({ error }) => error) };
}

const UNAVAILABLE: ErrorDescriptor = {
  error: 403,
  code: CODES.noRecord,
  message: 'Record is not found or not accessible',
  source: null,
};

/** Delete. */
export function deleteRecords(call: MethodCall, table: Table): MethodAnswer | MethodRefusal {
  const { pairs, store, user, format } = call;
  const records = readRecords(pairs);
  if (records instanceof MethodRefusal) return records;
  // The sandbox has no rules that run on a delete, but who may not suppress them is refused anyway.
  const workflow = readWorkflow(call);
  if (workflow instanceof MethodRefusal) return workflow;
  const purge = readSwitch(pairs, 'purge', false);
  if (purge instanceof MethodRefusal) return purge;
  const statuses = store.writeAs(user, (writer) => {
    const named =
      records.by === 'id'
        ? records.ids.map((id) => ({ id, key: null, rowId: id }))
        : records.keys.map((key) => ({ id: null, key, rowId: null }));
    return named.map(({ id, key, rowId }): StatusDescriptor => {
      const found = rowId ?? writer.idWithKey(table, key ?? '');
      const isDone =
        found !== undefined &&
        mayDo(call, table, writer, { id: found, what: 'Delete' }) &&
        writer.delete(table, found, purge);
      return { status: isDone ? 200 : 403, id, key, errors: isDone ? [] : [UNAVAILABLE] };
    });
  });
  return { kind: 'result', text: format.writeDeleteStatuses(statuses) };
}

interface CompiledRule {
  readonly when: WorkflowRule['when'];
  readonly column: StoreColumn;
  readonly to: Formula;
  readonly where: Formula | null;
}

/** The rules of one table for one call. */
class Workflow {
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
