/**
 * From edited rows to what is sent: which method, which cells, cut where a request is full. Only changed cells and the
 * match value of new rows travel (I8).
 *
 *    new rows            `upsert` by match value, or `create` where there is none that the origin can be asked for
 *    rows that it has    `update` by id, with a match column too: an upsert would make a row that a colleague deleted
 *    deletes             by id
 *
 * An insert without a match value gets a generated one, so that a repeated create is the same create (I4). Pure.
 */
import { must } from '../base/assert.ts';
import { TYPE_RULES } from '../wire/column-types.ts';
import type { ColumnType, Row, Value } from '../wire/schema.ts';
import { cellOf, type ConflictPolicy, type RowVersion } from './merge.ts';
import { filterOfValue, matchKey, type Unsendable } from './match-column.ts';
import { uploadName, type SentFile } from './files.ts';

export interface PushColumn {
  /** At the origin. */
  readonly name: string;
  readonly type: ColumnType;
  readonly writable: boolean;
  /** Characters that it takes; null where there is no limit. */
  readonly width: number | null;
}

/** A row that was compared with its base: inserted (no base), updated, or deleted (no local). */
export interface ComparedRow extends RowVersion {
  readonly kind: ChangeKind;
  /** Indexes of the writable cells that differ from base; for an insert, of the cells with a value. */
  readonly columns: readonly number[];
  /** Why the origin would refuse values that bypassed the triggers; without the values. */
  readonly problems: readonly string[];
}

/** The facts about a table that a plan needs. */
export interface PushTable {
  readonly columns: readonly PushColumn[];
  /** Index of the match column; null where none is configured. */
  readonly match: number | null;
  /** Why no row may be added; null where rows may be. */
  readonly addRefusal: Unsendable | null;
}

/** The configuration of a table whose edits are pushed. */
export interface PushTableOptions {
  /** Who wins where both sides changed a cell. */
  readonly conflict: ConflictPolicy;
  /** Whether the origin's workflow rules run on what is pushed. */
  readonly workflow: 'run' | 'suppress';
  /** Whether deleted rows go past the origin's recycle bin. */
  readonly purges?: boolean | undefined;
  /** Whether rows may be added here; so unless it is false. */
  readonly inserts?: boolean | undefined;
}

/** Why a new row is refused, where it is only known that it is. */
export const NO_INSERTS =
  'rows may not be added: the calling user has no right to, or the configuration says push: { insert: false }';

/** Why a push refuses new rows. A right may be granted; a change of the configuration lets the next pull retry them. */
export const ADDS_FORBIDDEN: Unsendable = {
  column: null,
  reason: 'rows may not be added: the calling user has no right to',
  hope: 'later',
};
export const ADDS_OFF: Unsendable = {
  column: null,
  reason: 'rows may not be added: the configuration says push: { insert: false }',
};

/** What a user did to a row. */
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** Every kind of change, in the order in which they leave. */
export const CHANGE_KINDS = ['update', 'insert', 'delete'] as const;

/** The method that carries it to the origin. */
export type WriteMethod = (typeof WRITE_METHODS)[number];

/** Every method that changes rows. */
export const WRITE_METHODS = ['create', 'update', 'upsert', 'delete'] as const;

/** A cell that is sent; `column` is an index of the table's columns. */
export interface SentCell {
  readonly column: number;
  readonly value: Value;
  /** The file to attach that replaces the value, once it was read. */
  readonly file?: SentFile | undefined;
}

export interface PlannedRow {
  readonly id: number;
  readonly kind: ChangeKind;
  /** The changed cells in column order, the match value of an insert among them; none for a delete. */
  readonly cells: readonly SentCell[];
  /** A generated match value of an insert, to be stored in the row; null otherwise. */
  readonly madeMatch: string | null;
  /** Key of the match value by which an insert is sent; null otherwise. */
  readonly matchKey: string | null;
}

/** Rows that leave in one request. */
export interface PlannedBatch {
  readonly method: WriteMethod;
  readonly rows: readonly PlannedRow[];
}

/** What a push of one table would do. */
export interface PushPlan {
  /** In the order in which they leave. */
  readonly batches: readonly PlannedBatch[];
  /** By the rows' ids. */
  readonly unsendable: ReadonlyMap<number, Unsendable>;
  /** New rows left for the next plan: their match value may be that of a row in this one, or of one on its way. */
  readonly left: readonly number[];
}

/** How large a batch may become. */
export interface BatchLimits {
  readonly rowsMax: number;
  /** Of the rows, without their files. */
  readonly bytesMax: number;
  /** Of rows and files together. */
  readonly requestBytesMax: number;
}

/** The origin accepts 20 MB (origin facts 4.1); the rest is for headers of the parts. */
export const REQUEST_BYTES_MAX = 19_500_000;

/** The bounds in use unless a test says otherwise. */
export const BATCH_LIMITS: BatchLimits = {
  // The number of ids in one Retrieve or Delete, so that a batch is read again in one request.
  rowsMax: 500,
  // The origin accepts 20 MB (origin facts 4.1); a quarter of that can be sent within the time of one request.
  bytesMax: 4 * 1024 * 1024,
  requestBytesMax: REQUEST_BYTES_MAX,
};

/** Generates a unique text of at most so many characters, never fewer than MADE_MATCH_CHARS_MIN. */
export type MakeMatch = (charsMax: number) => string;

/** The bytes of the file that a value names, or why it cannot be sent, as a sentence without the name. */
export type MeasureFile = (value: string) => { readonly bytes: number } | { readonly problem: string };

/** The input of a plan besides rows and table. */
export interface PlanOptions {
  readonly limits: BatchLimits;
  readonly makeMatch: MakeMatch;
  readonly measureFile: MeasureFile;
  /** How many rows may leave together with a row; left out for no limit of its own. */
  readonly rowsMaxOf?: ((id: number) => number) | undefined;
  /** Whether a new row with this match key is on its way; left out for none. */
  readonly isLeaving?: ((key: string) => boolean) | undefined;
}

/** Shorter generated texts might collide: 16 characters of 36 are 82 bits. */
const MADE_MATCH_CHARS_MIN = 16;

/**
 * Plans rows of one table. Two new rows whose match values may be one at the origin never leave in one batch, since the
 * second would change the first. The second is left, and the next plan finds the first at the origin.
 */
export function planPush(rows: readonly ComparedRow[], table: PushTable, options: PlanOptions): PushPlan {
  const unsendable = new Map<number, Unsendable>();
  const batches: OpenBatch[] = [];
  const left: number[] = [];
  const matchKeys = new Set<string>();
  const { limits, rowsMaxOf = () => limits.rowsMax } = options;
  for (const row of rows) {
    const planned = planRow(row, table, options);
    if (planned === null) continue;
    if ('reason' in planned) {
      unsendable.set(row.id, planned);
      continue;
    }
    const { matchKey: key } = planned.row;
    if (key !== null && (matchKeys.has(key) || options.isLeaving?.(key) === true)) {
      left.push(row.id);
      continue;
    }
    if (key !== null) matchKeys.add(key);
    addToBatch(batches, planned, { ...limits, rowsMax: Math.min(limits.rowsMax, rowsMaxOf(row.id)) });
  }
  return { batches, unsendable, left };
}

/** Kinds of change come one after the other, each with few methods: a row joins the last batch of its method. */
function addToBatch(batches: OpenBatch[], { method, row, bytes, fileBytes }: PlannedWrite, limits: BatchLimits): void {
  const { rowsMax, bytesMax, requestBytesMax } = limits;
  const open = batches.findLast((batch) => batch.method === method);
  const isFull =
    open === undefined ||
    open.rows.length >= Math.min(rowsMax, open.rowsMax) ||
    open.bytes + bytes > bytesMax ||
    open.bytes + open.fileBytes + bytes + fileBytes > requestBytesMax;
  if (isFull) {
    batches.push({ method, rows: [row], rowsMax, bytes, fileBytes });
    return;
  }
  open.rows.push(row);
  open.rowsMax = Math.min(rowsMax, open.rowsMax);
  open.bytes += bytes;
  open.fileBytes += fileBytes;
}

interface OpenBatch extends PlannedBatch {
  readonly rows: PlannedRow[];
  /** The smallest limit of its rows. */
  rowsMax: number;
  bytes: number;
  fileBytes: number;
}

interface PlannedWrite {
  readonly method: WriteMethod;
  readonly row: PlannedRow;
  readonly bytes: number;
  readonly fileBytes: number;
}

/** Null for a row that has nothing to send. */
function planRow(row: ComparedRow, table: PushTable, options: PlanOptions): PlannedWrite | Unsendable | null {
  const { id, kind, local, columns } = row;
  const [problem] = row.problems;
  if (problem !== undefined) return { column: null, reason: problem };
  const cells = local === null ? [] : columns.map((column) => ({ column, value: cellOf(local, column) }));
  if (kind === 'update' && cells.length === 0) return null;
  const planned =
    kind === 'insert'
      ? planInsert(must(local, 'an insert is here'), cells, table, options.makeMatch)
      : { method: kind, cells, madeMatch: null, matchKey: null };
  if ('reason' in planned) return planned;
  const { method, cells: sent, madeMatch, matchKey: key } = planned;
  const measured = measureCells(sent, table.columns, options);
  if ('reason' in measured) return measured;
  const { bytes, fileBytes } = measured;
  return { method, row: { id, kind, cells: sent, madeMatch, matchKey: key }, bytes, fileBytes };
}

type PlannedInsert = Pick<PlannedRow, 'cells' | 'madeMatch' | 'matchKey'> & { readonly method: 'create' | 'upsert' };

function planInsert(
  local: Row,
  cells: readonly SentCell[],
  { columns, match, addRefusal }: PushTable,
  makeMatch: MakeMatch,
): PlannedInsert | Unsendable {
  if (addRefusal !== null) return addRefusal;
  // A row without any value is intended; a row whose values cannot be sent must not become one.
  if (cells.length === 0 && local.values.some((value) => value !== null)) {
    const reason = 'the calling user may write none of the columns in which it has a value';
    return { column: null, reason, hope: 'later' };
  }
  const created = { method: 'create', cells, madeMatch: null, matchKey: null } as const;
  if (match === null) return created;
  const column = columnAt(columns, match);
  const value = cellOf(local, match);
  if (value !== null && value !== '') {
    // An upsert by a value that cannot be looked up might overwrite a row; the origin then refuses a create.
    return filterOfValue(column, value) === null
      ? created
      : { ...created, method: 'upsert', matchKey: matchKey(value) };
  }
  // The origin numbers such a column itself, or accepts only numbers: no value can be generated.
  if (column.type !== 'Text') return created;
  const charsMax = column.width === null || column.width <= 0 ? Infinity : column.width;
  if (charsMax < MADE_MATCH_CHARS_MIN)
    return { column: match, reason: `"${column.name}" is too narrow for a value made up here: fill it` };
  const made = makeMatch(charsMax);
  const others = cells.filter((cell) => cell.column !== match);
  const sent = [...others, { column: match, value: made }].toSorted((a, b) => a.column - b.column);
  return { method: 'upsert', cells: sent, madeMatch: made, matchKey: matchKey(made) };
}

/** Bytes of a row and of its files, or why its cells cannot be sent. */
function measureCells(
  cells: readonly SentCell[],
  columns: readonly PushColumn[],
  { limits: { requestBytesMax }, measureFile }: PlanOptions,
): Pick<PlannedWrite, 'bytes' | 'fileBytes'> | Unsendable {
  let bytes = ROW_BYTES;
  let fileBytes = 0;
  let fileColumn: number | null = null;
  for (const { column, value } of cells) {
    const { name, type } = columnAt(columns, column);
    const reason = value === null ? null : TYPE_RULES[type].sendProblem(value);
    if (reason !== null) return { column, reason };
    bytes += name.length * 3 + 8 + (typeof value === 'string' ? value.length * 3 : 24);
    if (uploadName(type, value) === null) continue;
    const measured = measureFile(String(value));
    if ('problem' in measured) return { column, reason: measured.problem };
    fileBytes += measured.bytes + FILE_PART_BYTES;
    fileColumn = column;
  }
  const isTooLarge = fileColumn !== null && bytes + fileBytes > requestBytesMax;
  if (!isTooLarge) return { bytes, fileBytes };
  const reason = `a row with its files may have ${requestBytesMax} bytes, since the origin takes no larger request; this one has more`;
  return { column: fileColumn, reason };
}

/** Bytes of the headers of a file's part, with a long name in both spellings. */
const FILE_PART_BYTES = 2_048;

/** Bytes around the cells of a row. A UTF-16 unit takes three at most, or six if it is escaped, which is rare. */
const ROW_BYTES = 32;

function columnAt(columns: readonly PushColumn[], index: number): PushColumn {
  return must(columns[index], 'a cell names a column of its table');
}
