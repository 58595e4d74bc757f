/**
 * Deletes the rows that `rowsync contract --write-in` made. Each begins with the marker of its run in a text column, so
 * its table alone says which they are, also after a power cut or `kill -9`.
 */
import { EXIT, RowsyncError, usageError } from '../../base/errors.ts';
import { durationText, plural, shellWord } from '../../base/text.ts';
import { queryFromPairs, TOP_MAX } from '../../wire/request-paths.ts';
import { jsonOf, tablePath } from './questions.ts';
import type { ColumnFields, RowFields, Server } from './server.ts';

/** What the text of a row begins with that a run made. */
const MARKER = /^rowsync contract [0-9a-f]{12}/;

/** A request without an answer does nothing any more after this time: the origin and its proxies have given up. */
const ARRIVAL_MS = 120_000;

/** Requests of one clean-up at most. */
export const CLEAN_UP_REQUESTS_MAX = 3;

/** A table, and its column for the marker. */
export interface MarkedTable extends Server {
  readonly mark: ColumnFields;
}

/** What a run knows of the rows that it made. */
export interface MadeRows {
  /** Ids of rows that the origin said it made, without those that were purged. */
  readonly ids: Set<number>;
  /** When each request left that was not answered. */
  readonly unansweredMs: number[];
}

/** Of a run of which nothing is known but its rows. */
export function noMadeRows(): MadeRows {
  return { ids: new Set(), unansweredMs: [] };
}

/** The command that finishes a clean-up. */
export function cleanUpCommand(tableName: string): string {
  return `rowsync contract --clean-up ${shellWord(tableName)}`;
}

export function isRowId(id: unknown): id is number {
  return Number.isSafeInteger(id) && Number(id) > 0;
}

/** Ids of all rows, and of those that a run made. A filter would hide rows without a marker. @throws as `jsonOf`. */
export async function readMarked(origin: MarkedTable): Promise<{
  readonly ids: readonly number[];
  readonly marked: readonly number[];
}> {
  const { name } = origin.mark;
  const path = `${tablePath(origin)}/select.json?${queryFromPairs([['column', name]])}&top=${TOP_MAX}`;
  const rows = await jsonOf<readonly RowFields[]>(origin, path);
  if (rows.length >= TOP_MAX)
    throw usageError(`The table has ${TOP_MAX} rows or more`, 'Delete the rows that this run did not make.');
  const idOf = (row: RowFields): number => {
    if (isRowId(row['@row.id'])) return row['@row.id'];
    throw new Error('A row has no id');
  };
  return { ids: rows.map(idOf), marked: rows.filter((row) => MARKER.test(String(row[name]))).map(idOf) };
}

export interface CleanUp {
  readonly deletedCount: number;
  /** Ids of rows that it could not delete, or that have lost their marker. */
  readonly leftIds: readonly number[];
  /** Ids of rows that the origin said it made, and never showed. */
  readonly unseenIds: readonly number[];
  /** How long a request without an answer may still make a row. */
  readonly waitMs: number;
}

/**
 * Deletes the rows of runs, past the recycle bin: only rows that were just read with a marker. @throws RowsyncError of
 * the origin, or any error for an answer that it cannot read.
 */
export async function cleanUp(origin: MarkedTable, { ids, unansweredMs }: MadeRows, nowMs: number): Promise<CleanUp> {
  const before = await readMarked(origin);
  const { marked } = before;
  const query = queryFromPairs(marked.map((id) => ['id', id]));
  if (marked.length > 0) await origin.call(`${tablePath(origin)}/delete.json?${query}&purge=1`);
  const after = marked.length > 0 ? await readMarked(origin) : before;
  return {
    deletedCount: marked.filter((id) => !after.ids.includes(id)).length,
    leftIds: after.ids.filter((id) => marked.includes(id) || ids.has(id)),
    unseenIds: [...ids].filter((id) => !before.ids.includes(id) && !after.ids.includes(id)),
    waitMs: Math.max(0, ...unansweredMs.map((sentMs) => sentMs + ARRIVAL_MS - nowMs)),
  };
}

export function cleanUpText(
  { deletedCount, leftIds, unseenIds, waitMs }: CleanUp,
  tableName: string,
): readonly [line: string, exitCode: number] {
  const done = `${plural(deletedCount, 'row')} deleted`;
  const isLeft = leftIds.length + unseenIds.length > 0;
  if (!isLeft && waitMs === 0) return [`${done}, none left`, EXIT.done];
  const sentences = [
    `${done}.`,
    leftIds.length > 0 &&
      `Rows with these ids of the table "${tableName}" could not be deleted, or have no marker: ${leftIds.join(', ')}.`,
    unseenIds.length > 0 &&
      `The origin said that it made rows with these ids in the table "${tableName}", but does not show them: ${unseenIds.join(', ')}.`,
    isLeft && 'Delete by hand the rows that this run made.',
    waitMs > 0 &&
      'A request that left less than two minutes ago was not answered, and the origin or a proxy may still carry it out: ' +
        `run ${cleanUpCommand(tableName)} in ${durationText(waitMs)}.`,
  ];
  return [sentences.filter(Boolean).join(' '), isLeft ? EXIT.needsPerson : EXIT.tryLater];
}

export function failedText(
  thrown: unknown,
  { mark, table: { recordName } }: Pick<MarkedTable, 'mark' | 'table'>,
): readonly [line: string, exitCode: number] {
  const isKnown = thrown instanceof RowsyncError;
  const reason = isKnown ? `${thrown.message}). ${thrown.hint}` : 'the answer is not one of the known ones).';
  return [
    `The rows that were made may be left (${reason} Run ${cleanUpCommand(recordName)}; or delete by hand the rows of the table "${recordName}" ` +
      `whose column "${mark.name}" begins with "rowsync contract".`,
    isKnown && thrown.kind !== 'originDown' ? EXIT.needsPerson : EXIT.tryLater,
  ];
}
