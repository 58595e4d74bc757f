/**
 * Whether a column can identify the rows of a table when they are pushed: it must be there, allow each value once, and be writable
 * by the calling user. Input: a descriptor and the name that the configuration gives. Pure.
 */
import { RowsyncError } from '../base/errors.ts';
import { printable } from '../base/text.ts';
import { columnType, hasOption, isWritable, type TableDescriptor } from '../wire/schema.ts';

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
