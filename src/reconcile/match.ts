/**
 * Whether a column can identify the rows of a table when they are pushed: it must be there, allow each value once, and be writable
 * by the calling user. Input: a descriptor and the name that the configuration gives. And how long a new row waits for another one
 * that has its match value. Pure.
 */
import { RowsyncError } from '../base/errors.ts';
import { printable } from '../base/text.ts';
import { columnType, hasOption, isWritable, type Row, type TableDescriptor, type Value } from '../wire/schema.ts';
import { isSameValue } from './diff.ts';
import type { MergeColumn } from './merge.ts';
import type { RetryHope } from './push-outcome.ts';

/** The judged column, by its name at the origin, or what is wrong with it. */
export interface MatchVerdict {
  /** Null where the column cannot be used; a column that only lacks the right to be written keeps its name. */
  readonly column: string | null;
  /** The end of a sentence that begins with the column; null where it can be used. */
  readonly problem: string | null;
  /** Columns that could be used, and can have a value before the origin has the row. */
  readonly usable: readonly string[];
}

/** Judges the column called `wished`, whatever its case; without a name, only what could be used. */
export function judgeMatch(
  { columns, key }: Pick<TableDescriptor, 'columns' | 'key'>,
  wished: string | null,
): MatchVerdict {
  const isUnique = ({ name, dataOptions }: TableDescriptor['columns'][number]): boolean =>
    hasOption(dataOptions, 'Unique') || name === key;
  // A number that the origin gives names no row before the origin has it.
  const isOurs = ({ type }: TableDescriptor['columns'][number]): boolean => columnType(type) !== 'Autonumber';
  const usable = columns.filter((it) => isWritable(it) && isUnique(it) && isOurs(it)).map(({ name }) => name);
  if (wished === null) return { column: null, problem: null, usable };
  const column = columns.find(({ name }) => name.toLowerCase() === wished.toLowerCase());
  if (column === undefined) return { column: null, problem: 'does not exist', usable };
  if (!isUnique(column)) return { column: null, problem: 'is not unique', usable };
  if (!isWritable(column)) return { column: column.name, problem: 'cannot be written', usable };
  return { column: column.name, problem: null, usable };
}

/** What to say of a configured column that cannot identify the rows of a table. */
export function matchError(table: string, wished: string, { problem, usable }: MatchVerdict): RowsyncError {
  return new RowsyncError('config', 'config.invalid', {
    message: `tables.${printable(table)}.match: the column "${wished}" ${problem ?? 'cannot be used'}`,
    hint:
      usable.length === 0
        ? 'No column of the table is both unique and writable for the calling user: give its role the right, or leave match out.'
        : `Unique and writable are: ${usable.map((name) => `"${printable(name)}"`).join(', ')}.`,
  });
}

/** What is said of a row that has the match value of a new one, and was edited here. */
export const EDITED_HERE = 'has edits of its own here';

/**
 * Why a new row cannot be sent yet whose match value another row has at the origin, and whether waiting helps. A row that is deleted here,
 * or has another value by now, leaves the value free once the origin has taken that; a row with other edits is perhaps the same one, as
 * only a person knows; one that nobody edited was sent. `match` is the index of the column.
 */
export function judgeHolder(
  { base, local }: { readonly base: Row | null; readonly local: Row | null },
  { match, columns, isEdited }: { match: number | null; columns: readonly MergeColumn[]; isEdited: boolean },
): { readonly why: string; readonly hope: RetryHope } {
  if (!isEdited) return { why: 'was sent, and waits for an answer', hope: 'soon' };
  if (local === null) return { why: 'is deleted here, which has not reached it yet', hope: 'soon' };
  const matchOf = (row: Row | null): Value => (match === null ? null : (row?.values[match] ?? null));
  if (base !== null && !isSameValue(columns[match ?? 0]?.type ?? 'Text', matchOf(base), matchOf(local))) {
    return { why: 'has another one here, which has not reached it yet', hope: 'soon' };
  }
  return { why: EDITED_HERE, hope: 'never' };
}
