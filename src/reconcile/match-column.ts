/**
 * Whether a column can identify the rows of a table when they are pushed. It must be there, allow each value once, and be writable by the calling
 * user. Also decides about a new row whose match value another row has. Pure.
 */
import { RowsyncError } from '../base/errors.ts';
import { printable } from '../base/text.ts';
import { hasOption, isEditable, type Row, type TableDescriptor, type Value } from '../wire/schema.ts';
import { isSameValue, type MergeColumn } from './merge.ts';
import type { Unsendable } from './push-plan.ts';

/** The judged column, by its name at the origin, or its problem. */
export interface MatchVerdict {
  /** Null if the column cannot be used; a column that only lacks the right to be written keeps its name. */
  readonly column: string | null;
  /** The end of a sentence that begins with the column; null if it can be used. */
  readonly problem: string | null;
  /** Usable columns that can have a value before the origin has the row. */
  readonly usable: readonly string[];
}

/** Judges the column called `wished`, ignoring case; without a name, lists only usable columns. */
export function judgeMatch(
  { columns, key }: Pick<TableDescriptor, 'columns' | 'key'>,
  wished: string | null,
): MatchVerdict {
  const isUnique = ({ name, dataOptions }: TableDescriptor['columns'][number]): boolean =>
    hasOption(dataOptions, 'Unique') || name === key;
  const usable = columns.filter((it) => isEditable(it) && isUnique(it)).map(({ name }) => name);
  if (wished === null) return { column: null, problem: null, usable };
  const column = columns.find(({ name }) => name.toLowerCase() === wished.toLowerCase());
  if (column === undefined) return { column: null, problem: 'does not exist', usable };
  if (!isUnique(column)) return { column: null, problem: 'is not unique', usable };
  if (!isEditable(column)) return { column: column.name, problem: 'cannot be written', usable };
  return { column: column.name, problem: null, usable };
}

/** The message about a configured column that cannot identify rows. */
export function matchError(table: string, wished: string, { problem, usable }: MatchVerdict): RowsyncError {
  return new RowsyncError('config', 'config.invalid', {
    message: `tables.${printable(table)}.match: the column "${wished}" ${problem ?? 'cannot be used'}`,
    hint:
      usable.length === 0
        ? 'No column of the table is both unique and writable for the calling user: give its role the right, or leave match out.'
        : `Unique and writable are: ${usable.map((name) => `"${printable(name)}"`).join(', ')}.`,
  });
}

/**
 * What happens to a new row after the look-up of its match value.
 *
 *    send    no row has it                         adopt   a row has it that the replica does not know: both are merged
 *    wait    the row that has it is deleted here, or has another value here by now: the value is free once that has reached the origin
 */
export type HolderVerdict = 'send' | 'adopt' | 'wait' | Unsendable;

/** Judges the origin's answer about the match value of a new row. `known` is the row here that has it; null for none. */
export function judgeHolder(
  holder: { readonly id: number } | 'refused' | 'unclear' | undefined,
  known: { readonly base: Row; readonly local: Row | null } | null,
  {
    match,
    columns,
    isLast,
  }: { readonly match: number; readonly columns: readonly MergeColumn[]; readonly isLast: boolean },
): HolderVerdict {
  if (holder === undefined) return 'send';
  if (holder === 'refused') {
    const reason =
      'the origin, or a firewall, refuses to look for its match value, so a row that has it might be written over';
    return { column: match, reason, hope: 'later' };
  }
  if (holder === 'unclear') {
    const reason = 'asked for its match value, the origin answers with a row that cannot be read or has another value';
    return { column: match, reason, hope: 'soon' };
  }
  if (known === null) return 'adopt';
  const type = columns[match]?.type ?? 'Text';
  const matchOf = (row: Row): Value => row.values[match] ?? null;
  const isLeaving = known.local === null || !isSameValue(type, matchOf(known.base), matchOf(known.local));
  if (isLeaving && !isLast) return 'wait';
  const reason = `row ${holder.id} has the same match value at the origin`;
  return { column: match, reason, hope: isLeaving ? 'soon' : 'later' };
}
