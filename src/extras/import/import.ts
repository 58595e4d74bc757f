/**
 * Makes the rows of a file edits of a two-way table: inserts, and updates of rows that are matched. The triggers judge
 * them as any client's. It runs in a transaction that the caller takes back for a plan, or where there is any problem.
 */
import { usageError } from '../../base/errors.ts';
import { ident, sql } from '../../base/sql.ts';
import { someOf } from '../../base/text.ts';
import { keptSentence, missingRule } from '../../capture/edit-triggers.ts';
import type { TwoWayColumn, TwoWayTable } from '../../capture/two-way-table.ts';
import type { PreviewRow } from '../../push/plan-preview.ts';
import type { Connection } from '../../replica/connection.ts';
import { storedFromValue, valueFromStored } from '../../replica/rows.ts';
import { numericToPlain } from '../../wire/decimal.ts';
import type { Value } from '../../wire/schema.ts';
import { readCell, type RawCell, type Forms } from './cell-value.ts';
import type { FileRow, FileRows } from './read-file.ts';
import { clientRefusal, readExactCells, readStored, writeCells, type ClientConnection } from '../shared/sql-client.ts';
import { nearestName } from '../../reconcile/option-bindings.ts';
import { isSameValue } from '../../reconcile/merge.ts';

export interface ImportRequest {
  readonly file: FileRows;
  readonly forms: Forms;
  /** The column that tells which rows are here; null for `_id`, or else that of the configuration. */
  readonly match: string | null;
  /** Columns of the file that are left out. */
  readonly ignore: readonly string[];
  readonly updatesOnly: boolean;
}

/** Why the import stops; `column` is null for a whole row, `line` for the whole file. */
export interface ImportProblem {
  readonly line: number | null;
  readonly column: string | null;
  readonly problem: string;
}

interface ImportColumn {
  readonly header: string;
  /** Where it is in the file. */
  readonly index: number;
  /** The one of the table; null for `_id`, `_allow` and what is left out. */
  readonly column: TwoWayColumn | null;
  /** Why its values are not written; null where they are. */
  readonly reason: string | null;
}

interface ImportColumns {
  readonly matched: readonly ImportColumn[];
  /** Those that are none of the table. */
  readonly problems: readonly ImportProblem[];
}

export interface ImportReport extends ImportColumns {
  readonly table: string;
  /** The column by which rows were matched; null where each row is a new one. */
  readonly matchedBy: string | null;
  /** Inserts and updates; ids of inserts are those of their edits. */
  readonly rows: readonly PreviewRow[];
  readonly equalCount: number;
  /** Rows of the file that are not here, with updatesOnly. */
  readonly leftOutCount: number;
}

interface Match {
  readonly name: string;
  readonly index: number;
  readonly column: TwoWayColumn | null;
  /** Whether the origin gives the value, so that a new row has none. */
  readonly isGiven: boolean;
  readonly idsByKey: ReadonlyMap<string, readonly number[]>;
}

interface RowCell {
  readonly column: TwoWayColumn;
  readonly value: Value;
}

/** @throws RowsyncError `usage.invalid`. */
export function importRows(from: ClientConnection, table: TwoWayTable, request: ImportRequest): ImportReport {
  const { file, forms, updatesOnly } = request;
  const { matched, problems: unknown } = matchHeaders(table, file.headers, request.ignore);
  const match = findMatch(from, table, matched, request);
  if (match === null && updatesOnly)
    throw usageError('--update-only needs --match', 'Name the column that tells which rows are here.');
  const problems: ImportProblem[] = [...unknown, ...file.problems.map((it) => ({ ...it, column: null }))];
  const rows: PreviewRow[] = [];
  const counts = { equalCount: 0, leftOutCount: 0 };
  const lineByKey = new Map<string, number>();
  for (const row of file.rows) {
    const { cells, problems: own } = readCells(row, matched, forms);
    problems.push(...own);
    const found = match === null ? null : findRow(row, match, { forms, lineByKey });
    if (found !== null && typeof found === 'object')
      problems.push({ line: row.line, column: match?.name ?? null, ...found });
    if (found !== null && typeof found === 'object') continue;
    if (found === null && updatesOnly) {
      counts.leftOutCount += 1;
      continue;
    }
    // The cell that a row was found by is the same value, however the file spells it.
    const taken = found === null ? cells : cells.filter(({ column }) => column !== match?.column);
    const written = editRow(from, table, found, { cells: taken, isRead: own.length === 0 });
    if (written === null) counts.equalCount += 1;
    else if ('rowId' in written) rows.push(written);
    else problems.push(...written.map((problem) => ({ line: row.line, ...problem })));
  }
  problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  return { table: table.localName, matchedBy: match?.name ?? null, matched, rows, ...counts, problems };
}

function readCells(
  { line, cells }: FileRow,
  matched: readonly ImportColumn[],
  forms: Forms,
): { readonly cells: readonly RowCell[]; readonly problems: readonly ImportProblem[] } {
  const problems: ImportProblem[] = [];
  const read = matched.flatMap(({ header, index, column, reason }): readonly RowCell[] => {
    const cell = cells[index];
    if (cell === undefined || column === null || reason !== null) return [];
    const found = readCell(column.type, cell, forms);
    if ('value' in found) return [{ column, value: found.value }];
    problems.push({ line, column: header, problem: found.problem });
    return [];
  });
  return { cells: read, problems };
}

function findMatch(
  from: Connection,
  table: TwoWayTable,
  matched: readonly ImportColumn[],
  { match }: ImportRequest,
): Match | null {
  const id = matched.find(({ header, reason }) => folded(header) === '_id' && reason === OURS.get('_id'));
  if (match === null ? id !== undefined : folded(match) === '_id') {
    if (id === undefined) throw usageError('The file has no column _id', 'Name a column of the file with --match.');
    return { name: '_id', index: id.index, column: null, isGiven: true, idsByKey: readKeys(from, table, null) };
  }
  // A number that the origin gave says which row is meant, also where the configuration names no column.
  const given = matched.find(({ column }) => column?.type === 'Autonumber' && column.mask === null)?.column;
  const configured = matched.find(({ column }) => column?.name === table.matchColumn)?.column;
  const identifying = match === null ? (configured ?? given) : findColumn(table, match);
  const found = matched.find(({ column }) => column !== null && column === identifying);
  if (found === undefined && match === null) return null;
  if (identifying === null || identifying === undefined)
    throw usageError(
      `${table.localName} has no column ${match ?? ''}`,
      `Name a column of the file with --match: ${someOf(matched.flatMap((it) => (it.column === null ? [] : [it.header])))}.`,
    );
  if (found === undefined)
    throw usageError(`The file has no column ${identifying.name}`, 'Name a column of the file with --match.');
  if (identifying.mask !== null)
    throw usageError(`"${identifying.name}" is masked, so it cannot tell rows apart`, 'Name another column.');
  const { index, reason } = found;
  return {
    name: identifying.name,
    index,
    column: identifying,
    isGiven: reason !== null,
    idsByKey: readKeys(from, table, identifying),
  };
}

/** The rows here by what is in a column, or by `_id`. */
function readKeys(from: Connection, { localName }: TwoWayTable, column: TwoWayColumn | null): Match['idsByKey'] {
  const idsByKey = new Map<string, number[]>();
  const name = column === null ? sql`_id` : ident(column.localName);
  for (const [id = null, stored = null] of readStored(from, sql`SELECT _id, ${name} FROM ${ident(localName)}`)) {
    const key = keyOf(column, column === null ? String(stored) : valueFromStored(stored, column.type));
    if (key === null) continue;
    const ids = idsByKey.get(key);
    if (ids === undefined) idsByKey.set(key, [Number(id)]);
    else ids.push(Number(id));
  }
  return idsByKey;
}

/** What makes two values one; null for none. */
function keyOf(column: TwoWayColumn | null, value: Value): string | null {
  if (value === null || value === '') return null;
  return column?.type === 'Numeric' || column?.type === 'Duration' ? numericToPlain(value) : folded(String(value));
}

/** The id of the row here; null for a new row, or why neither can be said. */
function findRow(
  { line, cells }: FileRow,
  match: Match,
  { forms, lineByKey }: { readonly forms: Forms; readonly lineByKey: Map<string, number> },
): number | null | { readonly problem: string } {
  const cell: RawCell = cells[match.index] ?? null;
  const read = match.column === null ? readCell('Text', cell, forms) : readCell(match.column.type, cell, forms);
  const key = 'value' in read ? keyOf(match.column, read.value) : null;
  if ('problem' in read) return read;
  if (key === null) return match.isGiven ? null : { problem: 'is empty, so nothing says whether the row is here' };
  const earlier = lineByKey.get(key);
  if (earlier !== undefined) return { problem: `has the same value as line ${earlier}` };
  lineByKey.set(key, line);
  const ids = match.idsByKey.get(key) ?? [];
  if (ids.length > 1) return { problem: `is the value of ${ids.length} rows here: ${ids.slice(0, 5).join(', ')}` };
  const [id] = ids;
  if (id !== undefined) return id;
  return match.isGiven ? { problem: 'is not here, and the origin gives it: leave it empty for a new row' } : null;
}

/** Edits a row; null where it is as the file has it. Problems say why it cannot be edited so. */
function editRow(
  from: ClientConnection,
  table: TwoWayTable,
  rowId: number | null,
  { cells, isRead }: { readonly cells: readonly RowCell[]; readonly isRead: boolean },
): PreviewRow | null | readonly Omit<ImportProblem, 'line'>[] {
  const { localName } = table;
  const isNew = rowId === null || rowId < 0; // it has no base
  const columns = cells.map(({ column }) => column.localName);
  const stored = rowId === null ? null : readExactCells(from, localName, { id: rowId, columns });
  const before =
    stored === null ? null : cells.map(({ column }, at) => valueFromStored(stored[at] ?? null, column.type));
  const changed = cells.flatMap(({ column, value }, index) => {
    const base = before?.[index] ?? null;
    const isSame = isSameValue(column.type, base, value) || (value === null && base === '');
    return isSame ? [] : [{ column: column.localName, base, local: value }];
  });
  const missing = cells.filter(
    ({ column, value }, index) =>
      (value ?? '') === '' &&
      (rowId === null || (before?.[index] ?? '') !== '') &&
      missingRule(table, column, isNew ? 'new' : 'known') !== null,
  );
  if (missing.length > 0) return missing.map(({ column }) => ({ column: column.name, problem: 'must have a value' }));
  if (!isRead) return [];
  if (changed.length === 0 && rowId !== null) return null;
  if (changed.length === 0) return [{ column: null, problem: 'has no value for any column that can be written' }];
  const kind = rowId === null ? 'insert' : 'update';
  try {
    const values = changed.map(({ column, local }) => ({ column, value: storedFromValue(local) }));
    const id = writeCells(from, localName, rowId, values);
    return { rowId: id, kind, fate: 'sent', method: null, reason: null, cells: changed };
  } catch (thrown) {
    const problem = clientRefusal(from, thrown);
    if (problem === null) throw thrown;
    return [{ column: null, problem }];
  }
}

/** Finds columns by their names at the origin, aliases, or names here. @throws RowsyncError `usage.invalid`. */
function matchHeaders(table: TwoWayTable, headers: readonly string[], ignored: readonly string[]): ImportColumns {
  const matched: ImportColumn[] = [];
  const problems: ImportProblem[] = [];
  const given = new Set<string>();
  const left = new Set(ignored.map(folded));
  for (const [index, header] of headers.entries()) {
    const reason = reasonLeftOut(header, left);
    const column = reason === null ? findColumn(table, header) : null;
    const name = column?.localName ?? folded(header);
    if (reason === null && column === null) {
      problems.push({ line: null, column: header, problem: unknownSentence(table, header) });
      continue;
    }
    if (name !== '' && given.has(name))
      throw usageError(
        `Two columns of the file are "${name}" of ${table.localName}`,
        'Remove one of them, or rename it.',
      );
    given.add(name);
    const own = reason ?? (column === null ? null : reasonNotWritten(table, column));
    matched.push({ header: header.trim() === '' ? `column ${index + 1}` : header, index, column, reason: own });
  }
  const missing = ignored.find((name) => !headers.some((header) => folded(header) === folded(name)));
  if (missing !== undefined)
    throw usageError(`The file has no column "${missing}"`, '--ignore names a column of the file.');
  if (matched.some(({ column, header }) => column !== null || OURS.has(folded(header)))) return { matched, problems };
  throw usageError(
    `No column of the file is one of ${table.localName}`,
    `The first line has the names of columns, such as ${table.columns[1]?.name ?? '_id'}.`,
  );
}

/** Columns that rowsync adds to each table, and why they are not written. */
const OURS: ReadonlyMap<string, string> = new Map([
  ['_id', 'the origin numbers the rows'],
  ['_allow', 'the origin says what you may do'],
]);

/** Why a column of the file is none to look for in the table; null where it is. */
function reasonLeftOut(header: string, ignored: ReadonlySet<string>): string | null {
  const name = folded(header);
  if (ignored.has(name)) return 'ignored';
  return name === '' ? 'it has no name' : (OURS.get(name) ?? null);
}

function unknownSentence({ columns, localName }: TwoWayTable, header: string): string {
  const near = nearestName(
    header,
    columns.map(({ name }) => name),
  );
  const hint = near === null ? '' : `; did you mean "${near}"?`;
  return `is not a column of ${localName}${hint} (--ignore leaves it out)`;
}

/** Finds a column by its name in any case; null for none. @throws RowsyncError `usage.invalid` if two are meant. */
function findColumn({ columns, localName }: TwoWayTable, given: string): TwoWayColumn | null {
  const names = ['name', 'alias', 'localName'] as const;
  const exact = names.flatMap((name) => columns.find((column) => column[name] === given) ?? []);
  if (exact[0] !== undefined) return exact[0];
  const like = names.map((name) => columns.filter((column) => folded(column[name]) === folded(given)));
  const found = like.find(({ length }) => length > 0) ?? [];
  if (found.length < 2) return found[0] ?? null;
  const all = found.map(({ name }) => `"${name}"`).join(' and ');
  throw usageError(`"${given}" may be ${all} of ${localName}`, 'Write the name as one of them has it.');
}

/** Accents may be stored in two ways; case and spaces around are no difference either. */
function folded(text: string): string {
  return text.normalize('NFC').trim().toLowerCase();
}

function reasonNotWritten(table: TwoWayTable, column: TwoWayColumn): string | null {
  if (column.type === 'Autonumber') return 'the origin numbers the rows';
  if (column.type === 'Attachment') return 'files are attached with SQL (docs/files.md)';
  if (column.writable) return null;
  return keptSentence(table, column).replace(/^.*? cannot be changed here(?: yet)?: /, '');
}
