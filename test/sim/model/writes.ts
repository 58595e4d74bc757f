/**
 * Create, Update, Upsert and Delete (specification 4.6 and 4.7): each row by itself, with one status for each in their
 * order. Takes a call with its body or its parameters; produces statuses, or the refusal of the whole call. Invariant:
 * a row that fails leaves no trace. Writes go to the state as it is, even where reads lag behind it.
 */
import type { Value } from '../../../src/wire/schema.ts';
import { readBody, type BodyRow } from './body.ts';
import {
  findColumn,
  isUpdatable,
  readFlag,
  readNamed,
  readWorkflow,
  Refusal,
  valuesOf,
  type Call,
  type Made,
  type ModelError,
} from './call.ts';
import { mayEdit, rowById, rowByKey } from './cells.ts';
import type { ModelRule } from './knobs.ts';
import { brokenConstraint, isUnique, type BrokenConstraint } from './constraints.ts';
import { rulesOf, runRules, type BrokenRule } from './rules.ts';
import { ROWS_MAX } from './select.ts';
import { emailOf, keyOf, userText, valueTypeOf, type ModelColumn, type ModelRow, type ModelTable } from './state.ts';

import { keyText, valueFromInput } from './values.ts';
import {
  attempt,
  deleteRow,
  insertRow,
  isFile,
  updateRow,
  type Author,
  type CellMap,
  type ModelCell,
} from './writer.ts';

/** Why a row fails. */
interface Problem {
  readonly status: number;
  readonly error: ModelError;
}

type Files = ReadonlyMap<string, Exclude<ModelCell, Value>>;

interface Writing {
  readonly call: Call;
  readonly table: ModelTable;
  /** Where a row without id is looked for. */
  readonly match: ModelColumn;
  readonly files: Files;
  readonly rules: readonly ModelRule[];
}

interface Status {
  readonly status: number;
  readonly id: number | null;
  readonly key: string | null;
  readonly problems: readonly Problem[];
}

/** Create, Update or Upsert. */
export function write(call: Call, table: ModelTable): Made {
  const { role, route, ledger } = call;
  if (!role.canWrite) return new Refusal(403, 3001, 'Records of the table cannot be changed', table.name);
  const runsRules = readWorkflow(call);
  if (runsRules instanceof Refusal) return runsRules;
  const match = route.method === 'create' ? keyOf(table) : readMatch(call, table);
  if (match instanceof Refusal) return match;
  const body = readBody(call.body ?? new Uint8Array(), call.contentType);
  if (body instanceof Refusal) return body;
  const rules = runsRules ? rulesOf(call, table) : [];
  const statuses = body.rows.map((row) => {
    // A row that was undone leaves another table object behind.
    const now = ledger.state.tables.find(({ id }) => id === table.id) ?? table;
    const writing = { call, table: now, match, files: body.files, rules };
    if (rules.length === 0) return writeRow(writing, row);
    return attempt(
      ledger,
      now,
      () => writeRow(writing, row),
      ({ problems }) => problems.length > 0,
    );
  });
  return { kind: 'result', text: JSON.stringify(statuses.map(statusFields)) };
}

function statusFields({ status, id, key, problems }: Status): object {
  return {
    status,
    ...(id === null ? {} : { id }),
    ...(key === null ? {} : { key }),
    ...(problems.length === 0 ? {} : { errors: problems.map(({ error }) => errorFields(error)) }),
  };
}

function errorFields({ error, code, message, source }: ModelError): object {
  return { error, code, message, ...(source === null ? {} : { source }) };
}

function readMatch({ pairs, role }: Call, table: ModelTable): ModelColumn | Refusal {
  const name = valuesOf(pairs, 'match').at(-1);
  if (name === undefined) return keyOf(table);
  const column = findColumn(table, role, name);
  if (column instanceof Refusal || (isUnique(table, column) && column.computed === null)) return column;
  return new Refusal(400, 3106, 'The match column is not unique', name);
}

function writeRow(writing: Writing, row: BodyRow): Status {
  const { call, table, rules } = writing;
  const cells = new Map<ModelColumn, ModelCell>();
  const problems = row.cells.flatMap(([name, raw]) => readCell(writing, cells, name, raw) ?? []);
  if (problems.length > 0) return failed(writing, cells, row.id, problems);
  const target = findTarget(writing, row, cells);
  if (target !== null && 'error' in target) return failed(writing, cells, row.id, [target]);
  const before = target?.row ?? null;
  const wrong = constraintProblems(table, before === null ? withDefaults(table, cells) : cells, before);
  if (wrong.length > 0) return failed(writing, cells, before?.id ?? null, wrong);
  const unwanted = unwantedCells(writing, cells);
  if (unwanted.length > 0) return failed(writing, cells, before?.id ?? null, unwanted);
  const author = authorOf(call);
  if (before !== null && !updateRow(call.ledger, table, before.id, cells, author)) return done(writing, 304, before.id);
  const id = before?.id ?? insertRow(call.ledger, table, cells, author);
  const broken = runRules(call, table, rules, { id, before }, { ...author, by: 'workflow' });
  if (broken !== null) return failed(writing, cells, before?.id ?? null, [ruleProblem(broken)]);
  return done(writing, before === null ? 201 : 200, id);
}

function authorOf({ user, nowMs, requestNumber }: Call): Author {
  return { user: userText(user), nowMs, by: 'api', requestNumber };
}

function ruleProblem({ column, value, why }: BrokenRule): Problem {
  return why === 'cannotRun' ? problem(4105, 'A workflow rule cannot run', column) : brokenProblem(why, column, value);
}

function problem(code: number, message: string, source: string, status = 400): Problem {
  return { status, error: { error: status, code, message, source } };
}

/** Adds a cell to those of the row, or says what is wrong with it. */
function readCell(
  { call, table, files }: Writing,
  cells: Map<ModelColumn, ModelCell>,
  name: string,
  raw: unknown,
): Problem | null {
  const column = findColumn(table, call.role, name);
  if (column instanceof Refusal) return problem(column.code ?? 0, column.message, name, column.status);
  if (!isUpdatable(column) || column.readOnly || column.computed !== null) {
    return problem(3102, `Column "${column.name}" is read-only`, column.name);
  }
  if (cells.has(column)) return problem(4104, `Column "${column.name}" is given twice`, column.name);
  const value = valueFromInput(column, raw, call.user.timezone);
  const type = valueTypeOf(column);
  const cell =
    typeof value !== 'string'
      ? value
      : type === 'Attachment'
        ? fileOf(value, files)
        : type === 'User'
          ? userOf(call, value)
          : value;
  if (cell === undefined) return problem(4103, `The value for column "${column.name}" has another type`, column.name);
  cells.set(column, cell);
  return null;
}

function fileOf(value: string, files: Files): ModelCell | undefined {
  return /^cid:/i.test(value) ? files.get(value.slice(4)) : undefined;
}

/** A user of the database goes by their own name, whatever the caller wrote before the e-mail. */
function userOf({ ledger }: Call, value: string): string | undefined {
  const email = emailOf(value);
  const known = ledger.state.users.find((user) => user.email.toLowerCase() === email);
  if (known !== undefined) return userText(known);
  return /^[^\s<>@]+@[^\s<>@]+$/.test(email) ? value : undefined;
}

/** The row to change, null for a new one, or why neither can be. */
function findTarget(writing: Writing, row: BodyRow, cells: CellMap): { readonly row: ModelRow } | Problem | null {
  const { call, table, match } = writing;
  const { method } = call.route;
  const seen = { knobs: call.knobs, state: call.ledger.state };
  const place = row.id === null ? match.name : '@row.id';
  let found: ModelRow | undefined;
  if (method !== 'create' && row.id !== null) found = rowById(seen, table, row.id);
  else if (method !== 'create') {
    const value = cells.get(match) ?? null;
    const isGiven = value !== null && value !== '' && !isFile(value);
    if (!isGiven && method === 'update') return problem(4001, 'A record id or a match value is required', match.name);
    const alike = [...table.rows.values()].filter(
      ({ id, cells: held }) => isGiven && held.get(match.id) === value && rowById(seen, table, id) !== undefined,
    );
    if (alike.length > 1) return problem(3106, 'More than one record has the match value', match.name);
    [found] = alike;
  }
  if (found !== undefined) return mayEdit(call, table, found) ? { row: found } : missing(403, place);
  if (method === 'update') return missing(404, place);
  return table.allowAdd ? null : problem(4002, 'Records cannot be added to the table', table.name, 403);
}

function missing(status: 403 | 404, source: string | null): Problem {
  const error = { error: status, code: 4000, message: 'Record is not found or not accessible', source };
  return { status, error };
}

/** Columns of a new row that get their default; those that number or stamp themselves are left to do so. */
function withDefaults(table: ModelTable, cells: CellMap): CellMap {
  const all = new Map(cells);
  for (const column of table.columns) {
    const isPlain = (column.kind === 'Updatable' || column.kind === 'Key') && column.computed === null;
    if (isPlain && valueTypeOf(column) !== 'Autonumber' && !all.has(column)) all.set(column, column.defaultValue);
  }
  return all;
}

function constraintProblems(table: ModelTable, cells: CellMap, before: ModelRow | null): readonly Problem[] {
  return [...cells].flatMap(([column, cell]) => {
    const broken = brokenConstraint(table, column, cell, before?.id ?? null);
    return broken === null ? [] : [brokenProblem(broken, column.name, isFile(cell) ? null : cell)];
  });
}

function unwantedCells({ call, table }: Writing, cells: CellMap): readonly Problem[] {
  const { refusesCell } = call.knobs;
  if (refusesCell === null) return [];
  return [...cells].flatMap(([{ name: column }, cell]) => {
    const isRefused = refusesCell({ table: table.name, column, value: isFile(cell) ? null : cell });
    return isRefused ? [problem(4105, 'A workflow rule refuses the value', column)] : [];
  });
}

function brokenProblem(broken: BrokenConstraint, name: string, value: Value): Problem {
  switch (broken) {
    case 'isEmpty':
      return problem(4101, `Cannot insert empty value into column "${name}"`, name);
    case 'isTooLong':
      return problem(4102, 'Text exceeds the maximum length of the column', name);
    case 'isTaken': {
      // The documented example: the row fails with 400, its error is 409 (specification, section 7).
      const message = `Cannot insert duplicate value "${keyText(value) ?? ''}" into column "${name}"`;
      return { status: 400, error: { error: 409, code: 4100, message, source: name } };
    }
    default:
      return broken satisfies never;
  }
}

function done({ table, call }: Writing, status: number, id: number): Status {
  const isHidden = call.role.hiddenColumns.has(table.keyId);
  const key = isHidden ? null : (table.rows.get(id)?.cells.get(table.keyId) ?? null);
  return { status, id, key: keyText(key), problems: [] };
}

function failed({ table }: Writing, cells: CellMap, id: number | null, problems: readonly Problem[]): Status {
  const key = cells.get(keyOf(table)) ?? null;
  return { status: problems[0]?.status ?? 400, id, key: isFile(key) ? null : keyText(key), problems };
}

/** Delete. */
export function deleteRows(call: Call, table: ModelTable): Made {
  const named = readNamed(call.pairs, ROWS_MAX);
  if (named instanceof Refusal) return named;
  const runsRules = readWorkflow(call);
  if (runsRules instanceof Refusal) return runsRules;
  const purge = readFlag(call.pairs, 'purge', false);
  if (purge instanceof Refusal) return purge;
  const seen = { knobs: call.knobs, state: call.ledger.state };
  const records =
    'ids' in named
      ? named.ids.map((id) => ({ echo: { id }, find: () => rowById(seen, table, id) }))
      : named.keys.map((key) => ({ echo: { key }, find: () => rowByKey(seen, table, key) }));
  const statuses = records.map(({ echo, find }) => {
    const row = find();
    const isDone =
      row !== undefined && mayEdit(call, table, row) && deleteRow(call.ledger, table, row.id, authorOf(call));
    return isDone ? { ...echo, status: 200 } : { ...echo, status: 403, error: errorFields(missing(403, null).error) };
  });
  return { kind: 'result', text: JSON.stringify(statuses) };
}
