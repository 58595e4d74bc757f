/**
 * Create, Update and Upsert (specification 4.6): rows of a body into the store, one status per row in their order.
 * Invariants: a row that fails leaves no trace and touches no other row; all rows of a body are one transaction.
 *
 * A role that may not write at all is refused as a whole (origin facts 4.1, access to a table). What a role may not do
 * with one row or column fails that row. Create ignores an `@row.id`. An Upsert whose id or key names no row creates
 * one.
 */
import { hasOption } from '../../wire/schema.ts';
import { WireFault } from '../../wire/fault.ts';
import { readWriteBody, type WriteBody } from '../../wire/write-body.ts';
import type { InputRow, StatusDescriptor } from '../../wire/writes.ts';
import type { MethodAnswer, MethodCall } from './call.ts';
import { findColumn, readWorkflow, valuesOf } from './parameters.ts';
import { badBody, CODES, readOnlyTable, MethodRefusal } from './refusal.ts';
import { CellReader, cellProblems, columnProblem, type RowCells, type RowProblem } from './row-input.ts';
import { mayEdit, ownerColumn } from './row-rights.ts';
import type { StoreColumn, Table } from '../store/catalog.ts';
import { isFile, textFromValue } from '../store/cells.ts';
import type { RowWriter } from '../store/writer.ts';
import { Workflow } from './workflow.ts';

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
  const owner = ownerColumn(table);
  const [ownerValue] = owner === undefined ? [] : (writer.read(table, [owner], id) ?? []);
  return mayEdit(call, ownerValue) ? id : missingRecord(403, row.id === null ? writing.match.name : '@row.id');
}

/** Rows that the id names, or else the value of the match column; two are enough to know that there is no single one. */
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
