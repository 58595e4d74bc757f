/**
 * From edited rows to what is sent: which method, which cells, in which order, cut into batches. Input: rows of one table that
 * differ from their base, the table's columns, the match column if one is configured. Output: batches in the order in which
 * they must leave, and rows that cannot be sent at all, with a sentence. Only changed cells and the match value travel (I8).
 *
 *   deletes first of which another row takes over the match value, or another unique one · updates by id, which may free one ·
 *   upserts by match value, or creates without one that the origin can be asked for · the other deletes last, when nothing refers to
 *   the rows any more
 *
 * A row that takes over such a value from an edited one comes behind that, since the origin takes row by row; where rows swap theirs, it
 * refuses one.
 *
 * An insert without a match value gets a generated one, so that a repeated create is the same create (I4). Pure.
 */
import { must } from '../base/assert.ts';
import type { ColumnType, Row, Value } from '../wire/schema.ts';
import { isSameValue } from './diff.ts';
import { filterOfValue } from './findable.ts';
import { sendProblem } from './sendable.ts';
import { uploadName, type SentFile } from './uploads.ts';

/** A column as push sees it. */
export interface PushColumn {
  /** At the origin. */
  readonly name: string;
  readonly type: ColumnType;
  readonly writable: boolean;
  /** The origin refuses a value that another row has. */
  readonly unique: boolean;
  /** Characters that it takes; null where there is no limit. */
  readonly width: number | null;
}

/** What a plan needs to know of a table. */
export interface PushTable {
  readonly columns: readonly PushColumn[];
  /** Index of the match column; null where none is configured. */
  readonly match: number | null;
  /** Whether the calling user may add rows. */
  readonly allowAdd: boolean;
}

/** A row and what the origin last confirmed of it; at least one of them stands. */
export interface ChangedRow {
  /** `_id` here; negative for a row that the origin has not seen. */
  readonly id: number;
  readonly base: Row | null;
  readonly local: Row | null;
}

/** What a user did to a row. */
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** Every kind of change. */
export const CHANGE_KINDS = ['insert', 'update', 'delete'] as const;

/** How it is said to the origin. */
export type WriteMethod = (typeof WRITE_METHODS)[number];

/** Every method that changes rows. */
export const WRITE_METHODS = ['create', 'update', 'upsert', 'delete'] as const;

/** A cell that is sent; `column` is an index of the table's columns. */
export interface SentCell {
  readonly column: number;
  readonly value: Value;
  /** What is sent in place of the value where that names a file to attach, once the file was read. */
  readonly file?: SentFile | undefined;
}

/** One row of a batch. */
export interface PlannedRow {
  readonly id: number;
  readonly kind: ChangeKind;
  /** The changed cells in column order, the match value among them where the method needs it; none for a delete. */
  readonly cells: readonly SentCell[];
  /** A match value that was made up for an insert, and has to be stored in the row; null elsewhere. */
  readonly madeMatch: string | null;
}

/** What is said of a row where another one waits, because both are to have one match value. */
export const WANTED_TWICE = 'has the same match value, and the origin allows it once';

/** Rows that leave in one request. */
export interface PlannedBatch {
  readonly method: WriteMethod;
  readonly rows: readonly PlannedRow[];
}

/** A row that is not sent, and why. */
export interface UnsendableRow {
  readonly id: number;
  readonly kind: ChangeKind;
  /** Index of the column at fault; null where it is the row. */
  readonly column: number | null;
  /** A sentence without a full stop and without the value. */
  readonly reason: string;
  /** Where a right is missing, which somebody may grant; absent where only an edit or a person helps. */
  readonly hope?: 'later' | undefined;
}

/** What a push of one table would do. */
export interface PushPlan {
  readonly batches: readonly PlannedBatch[];
  readonly unsendable: readonly UnsendableRow[];
}

/** How large a batch may become. */
export interface BatchLimits {
  readonly rowsMax: number;
  /** Of the rows, without their files. */
  readonly bytesMax: number;
  /** Of rows and files together; REQUEST_BYTES_MAX unless a test says otherwise. */
  readonly requestBytesMax?: number | undefined;
}

/** The origin takes 20 MB (origin facts 4.1); the rest is for what stands around the parts. */
export const REQUEST_BYTES_MAX = 19_500_000;

/** The bounds in use unless a test says otherwise. */
export const BATCH_LIMITS: BatchLimits = {
  // What the origin takes of ids in one Retrieve or Delete, so that a batch is read again in one request.
  rowsMax: 500,
  // The origin takes 20 MB (origin facts 4.1); a quarter of that travels within the time that one request has.
  bytesMax: 4 * 1024 * 1024,
};

/** Makes a new unique text of at most so many characters, never fewer than MADE_MATCH_CHARS_MIN. */
export type MakeMatch = (charsMax: number) => string;

/** Finds out how many bytes the file has that a value names, or why it cannot be sent, as a sentence without the name. */
export type MeasureFile = (value: string) => { readonly bytes: number } | { readonly problem: string };

/** What a plan is made with beside rows and table. */
export interface PlanOptions {
  readonly limits: BatchLimits;
  readonly makeMatch: MakeMatch;
  readonly measureFile: MeasureFile;
}

/** Shorter texts that are made up may meet: 16 characters of 36 are 82 bits. */
const MADE_MATCH_CHARS_MIN = 16;

/** Plans the rows of one table. */
export function planPush(rows: readonly ChangedRow[], table: PushTable, options: PlanOptions): PushPlan {
  const unsendable: UnsendableRow[] = [];
  const groups: Record<'freeing' | 'update' | 'upsert' | 'create' | 'delete', PlannedRow[]> = {
    freeing: [],
    update: [],
    upsert: [],
    create: [],
    delete: [],
  };
  const fileBytes = new Map<PlannedRow, number>();
  const clashes = findClashes(rows, table.match);
  const isFreeing = freesValues(rows, table);
  for (const row of inFreeingOrder(
    rows.toSorted((a, b) => compareIds(a.id, b.id)),
    table,
  )) {
    if (row.local === null) {
      groups[isFreeing(row.base) ? 'freeing' : 'delete'].push({
        id: row.id,
        kind: 'delete',
        cells: [],
        madeMatch: null,
      });
      continue;
    }
    const planned = planWrite(row, row.local, { table, clashes, makeMatch: options.makeMatch });
    if (planned === null) continue;
    const measured = 'reason' in planned ? planned : measureRow(planned.row, table.columns, options);
    if (typeof measured !== 'number') unsendable.push(measured);
    else if (!('reason' in planned)) {
      groups[planned.method].push(planned.row);
      fileBytes.set(planned.row, measured);
    }
  }
  const batches = (['freeing', 'update', 'upsert', 'create', 'delete'] as const).flatMap((group) => {
    const method = group === 'freeing' ? 'delete' : group;
    return cutBatches(groups[group], { columns: table.columns, fileBytes }, options.limits).map((cut) => ({
      method,
      rows: cut,
    }));
  });
  return { batches, unsendable };
}

/** Indexes of the writable cells in which a row differs from its base; a row without a base differs where it has a value. */
function changedCells(base: Row | null, local: Row, columns: readonly PushColumn[]): readonly number[] {
  return columns.flatMap(({ type, writable }, index) => {
    const before = base?.values[index] ?? null;
    return writable && !isSameValue(type, before, local.values[index] ?? null) ? [index] : [];
  });
}

/** Rows that the origin knows first, then inserts in the order in which they were made: their ids count downwards. */
function compareIds(one: number, other: number): number {
  if (one > 0 !== other > 0) return one > 0 ? -1 : 1;
  return one > 0 ? one - other : other - one;
}

interface Clashes {
  /** Match values that a row of the plan takes on, with the ids of all that do. */
  readonly taken: ReadonlyMap<string, readonly number[]>;
  /** Match values of rows of the plan that keep theirs. */
  readonly kept: ReadonlyMap<string, readonly number[]>;
}

/** Which match values are wanted by whom. */
function findClashes(rows: readonly ChangedRow[], match: number | null): Clashes {
  const taken = new Map<string, number[]>();
  const kept = new Map<string, number[]>();
  for (const { id, base, local } of rows) {
    const key = matchKey(local, match);
    if (key === '') continue;
    const ids = key === matchKey(base, match) ? kept : taken;
    ids.set(key, [...(ids.get(key) ?? []), id]);
  }
  return { taken, kept };
}

/** Tells of a deleted row whether another one takes over a value of it that the origin allows only once. */
function freesValues(rows: readonly ChangedRow[], { columns, match }: PushTable): (base: Row | null) => boolean {
  const once = columns.flatMap(({ unique }, column) => (unique || column === match ? [column] : []));
  const keyOf = (row: Row | null, column: number): string => `${column} ${matchKey(row, column)}`;
  const taken = new Set(
    rows.flatMap(({ base, local }) =>
      once
        .filter((column) => matchKey(local, column) !== '' && keyOf(local, column) !== keyOf(base, column))
        .map((column) => keyOf(local, column)),
    ),
  );
  return (base) => once.some((column) => taken.has(keyOf(base, column)));
}

/** The rows in their order, but each behind those that give up a value which it takes on, and which the origin allows only once. */
function inFreeingOrder(rows: readonly ChangedRow[], { columns, match }: PushTable): readonly ChangedRow[] {
  const once = columns.flatMap(({ unique }, column) => (unique || column === match ? [column] : []));
  const moved = ({ base, local }: ChangedRow): readonly number[] =>
    local === null ? [] : once.filter((column) => matchKey(base, column) !== matchKey(local, column));
  const keyOf = (row: Row | null, column: number): string => `${column} ${matchKey(row, column)}`;
  const isValue = (row: Row | null, column: number): boolean => matchKey(row, column) !== '';
  const givers = new Map<string, ChangedRow>();
  for (const row of rows) {
    for (const column of moved(row)) if (isValue(row.base, column)) givers.set(keyOf(row.base, column), row);
  }
  const giversOf = (row: ChangedRow): readonly ChangedRow[] =>
    moved(row).flatMap((column) => givers.get(keyOf(row.local, column)) ?? []);
  const ordered = new Set<ChangedRow>();
  const begun = new Set<ChangedRow>();
  for (const row of rows) {
    // Each row is opened once, and closed once: without recursion, since a thousand rows may stand in one chain.
    const open = [row];
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      const before = begun.has(last) ? [] : giversOf(last).filter((giver) => !begun.has(giver));
      begun.add(last);
      open.push(...before);
      if (before.length > 0) continue;
      ordered.add(last);
      open.pop();
    }
  }
  return [...ordered];
}

/** A match value as a key; empty for no value. Numbers are keyed by what they are worth. */
function matchKey(row: Row | null, match: number | null): string {
  const value = match === null ? null : (row?.values[match] ?? null);
  return value === null ? '' : String(value);
}

function planWrite(
  { id, base }: ChangedRow,
  local: Row,
  { table, clashes, makeMatch }: { table: PushTable; clashes: Clashes; makeMatch: MakeMatch },
): { readonly method: 'update' | 'upsert' | 'create'; readonly row: PlannedRow } | UnsendableRow | null {
  const { columns, match } = table;
  const kind = base === null ? 'insert' : 'update';
  const changed = changedCells(base, local, columns);
  if (base !== null && changed.length === 0) return null;
  const refuse = (reason: string, column: number | null): UnsendableRow => ({ id, kind, column, reason });
  const refuseRight = (reason: string): UnsendableRow => ({ ...refuse(reason, null), hope: 'later' });
  if (base === null && !table.allowAdd) return refuseRight('the calling user may not add rows to this table');
  // A row without any value is meant as it stands; one whose values cannot be sent would become such a row.
  if (base === null && changed.length === 0 && local.values.some((value) => value !== null)) {
    return refuseRight('the calling user may write none of the columns in which it has a value');
  }
  for (const column of changed) {
    const problem = sendProblem(columnAt(columns, column).type, local.values[column] ?? null);
    if (problem !== null) return refuse(problem, column);
  }
  const isMoved = match !== null && changed.includes(match);
  if (match !== null && isMoved) {
    const key = matchKey(local, match);
    const others = [...(clashes.taken.get(key) ?? []), ...(clashes.kept.get(key) ?? [])].filter(
      (other) => other !== id,
    );
    if (key !== '' && others.length > 0) {
      return refuse(`row ${others[0] ?? 0} ${WANTED_TWICE}`, match);
    }
  }
  const cells = changed.map((column): SentCell => ({ column, value: local.values[column] ?? null }));
  const plan = (
    method: 'update' | 'upsert' | 'create',
    sent: readonly SentCell[],
    madeMatch: string | null = null,
  ) => ({
    method,
    row: { id, kind, cells: sent, madeMatch } as const,
  });
  const value = match === null ? null : (local.values[match] ?? null);
  if (base !== null) {
    // Two rows with one match value cannot be, but if they are, only an id tells them apart.
    const isAlone = clashes.kept.get(matchKey(local, match))?.length === 1;
    if (match === null || isMoved || value === null || value === '' || !isAlone) return plan('update', cells);
    return plan('upsert', withCell(cells, { column: match, value }));
  }
  if (match === null) return plan('create', cells);
  if (value !== null && value !== '') {
    // Nobody can ask whether a row has the value already: an upsert would write over that one, where a create is refused.
    const isAskable = filterOfValue(columnAt(columns, match), value) !== null;
    return plan(isAskable ? 'upsert' : 'create', cells);
  }
  // The origin numbers such a column itself, or takes only numbers: nothing can be made up for it.
  const { type, name, width } = columnAt(columns, match);
  if (type !== 'Text') return plan('create', cells);
  const charsMax = width === null || width <= 0 ? Infinity : width;
  if (charsMax < MADE_MATCH_CHARS_MIN)
    return refuse(`"${name}" is too narrow for a value made up here: fill it`, match);
  const made = makeMatch(charsMax);
  return plan('upsert', withCell(cells, { column: match, value: made }), made);
}

function withCell(cells: readonly SentCell[], cell: SentCell): readonly SentCell[] {
  return [...cells.filter(({ column }) => column !== cell.column), cell].toSorted((a, b) => a.column - b.column);
}

/** Bytes of all the files of a row, or why they cannot be sent. */
function measureRow(
  row: PlannedRow,
  columns: readonly PushColumn[],
  { limits: { requestBytesMax = REQUEST_BYTES_MAX }, measureFile }: PlanOptions,
): number | UnsendableRow {
  const { id, kind, cells } = row;
  const rowBytes = bytesOf(row, columns);
  let bytes = 0;
  for (const { column, value } of cells) {
    if (uploadName(columnAt(columns, column).type, value) === null) continue;
    const measured = measureFile(String(value));
    if ('problem' in measured) return { id, kind, column, reason: measured.problem };
    bytes += measured.bytes + FILE_PART_BYTES;
    if (rowBytes + bytes > requestBytesMax) return { id, kind, column, reason: tooLarge(requestBytesMax) };
  }
  return bytes;
}

/** Why files of so many bytes cannot be sent. */
export function tooLarge(requestBytesMax: number): string {
  return `a row with its files may have ${requestBytesMax} bytes, since the origin takes no larger request; this one has more`;
}

/** What the headers of a file's part take, with a long name in both spellings. */
const FILE_PART_BYTES = 2_048;

function cutBatches(
  rows: readonly PlannedRow[],
  { columns, fileBytes }: { columns: readonly PushColumn[]; fileBytes: ReadonlyMap<PlannedRow, number> },
  { rowsMax, bytesMax, requestBytesMax = REQUEST_BYTES_MAX }: BatchLimits,
): readonly (readonly PlannedRow[])[] {
  const batches: PlannedRow[][] = [];
  let batch: PlannedRow[] = [];
  let bytes = 0;
  let withFiles = 0;
  for (const row of rows) {
    const rowBytes = bytesOf(row, columns);
    const allBytes = rowBytes + (fileBytes.get(row) ?? 0);
    const isFull = batch.length === rowsMax || bytes + rowBytes > bytesMax || withFiles + allBytes > requestBytesMax;
    if (batch.length > 0 && isFull) {
      batches.push(batch);
      batch = [];
      bytes = 0;
      withFiles = 0;
    }
    batch.push(row);
    bytes += rowBytes;
    withFiles += allBytes;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** Bytes of a row on the wire at most: three for a character of UTF-16, or six where it has to be escaped, which is rare. */
function bytesOf({ cells }: PlannedRow, columns: readonly PushColumn[]): number {
  let bytes = 32;
  for (const { column, value } of cells) {
    bytes += columnAt(columns, column).name.length * 3 + 8;
    bytes += typeof value === 'string' ? value.length * 3 : 24;
  }
  return bytes;
}

function columnAt(columns: readonly PushColumn[], index: number): PushColumn {
  return must(columns[index], 'a cell names a column of its table');
}

/** A digest of what is sent of a row, to tell whether the same was sent before (FNV-1a over 32 bits). */
export function digestOf(cells: readonly SentCell[]): number {
  // A file of one name may have other content each time.
  const texts = cells.map(({ column, value, file }) => {
    return `${column}:${typeof value}:${String(value)}${file?.sha256 ?? ''}`;
  });
  const text = texts.join('\n');
  let digest = 0x811c_9dc5;
  for (let index = 0; index < text.length; index += 1) {
    digest = Math.imul(digest ^ text.charCodeAt(index), 0x0100_0193);
  }
  return digest >>> 0;
}
