/**
 * The match column of a table, by whose values new rows are found at the origin. It must exist, allow each value once,
 * and be writable by the calling user. A filter looks rows up by its values: it compares some exactly, within the
 * length that the origin accepts. Others may be equal at the origin although they differ here. Also what becomes of a
 * new row whose match value another row has. Pure.
 */
import { RowsyncError } from '../base/errors.ts';
import { printable } from '../base/text.ts';
import { TYPE_RULES } from '../wire/column-types.ts';
import { columnReference } from '../wire/formula.ts';
import { QUERY_BYTES_MAX, retrieveQuery } from '../wire/request-paths.ts';
import {
  hasOption,
  isEditable,
  type ColumnShape,
  type ColumnType,
  type Row,
  type TableDescriptor,
  type Value,
} from '../wire/schema.ts';
import { isSameCell, isSameValue, type MergeColumn } from './merge.ts';

/** The judged column, by its name at the origin, or its problem. */
export interface MatchVerdict {
  /** Null if the column cannot be used; a column that only lacks the right to be written keeps its name. */
  readonly column: string | null;
  /** The end of a sentence that begins with the column; null if it can be used. */
  readonly problem: string | null;
  /** Usable columns that can have a value before the origin has the row. */
  readonly usable: readonly string[];
}

/** Judges the column called `wanted`, ignoring case; without a name, lists only usable columns. */
export function judgeMatch(
  { columns, key }: Pick<TableDescriptor, 'columns' | 'key'>,
  wanted: string | null,
): MatchVerdict {
  const isUnique = ({ name, dataOptions }: TableDescriptor['columns'][number]): boolean =>
    hasOption(dataOptions, 'Unique') || name === key;
  const usable = columns.filter((it) => isEditable(it) && isUnique(it)).map(({ name }) => name);
  if (wanted === null) return { column: null, problem: null, usable };
  const column = columns.find(({ name }) => name.toLowerCase() === wanted.toLowerCase());
  if (column === undefined) return { column: null, problem: 'does not exist', usable };
  if (!isUnique(column)) return { column: null, problem: 'is not unique', usable };
  if (!isEditable(column)) return { column: column.name, problem: 'cannot be written', usable };
  return { column: column.name, problem: null, usable };
}

/** The message about a configured column that cannot identify rows. */
export function matchError(table: string, wanted: string, { problem, usable }: MatchVerdict): RowsyncError {
  return new RowsyncError('config', 'config.invalid', {
    message: `tables.${printable(table)}.match: the column "${wanted}" ${problem ?? 'cannot be used'}`,
    hint:
      usable.length === 0
        ? 'No column of the table is both unique and writable for the calling user: give its role the right, or leave match out.'
        : `Columns that are unique and writable: ${usable.map((name) => `"${printable(name)}"`).join(', ')}.`,
  });
}

/** Bytes of an encoded filter about one value; the columns' names fit beside it (origin facts 4.1). */
export const FILTER_BYTES_MAX = 8_000;

/** The other characters of a request with a filter: names of parameters, parentheses. */
const OVERHEAD_BYTES = 100;

/** Bytes that an encoded filter may have in a request for these columns. */
export function filterRoom(columns: readonly string[]): number {
  return QUERY_BYTES_MAX - retrieveQuery(columns, { ids: [] }).length - OVERHEAD_BYTES;
}

/** As many clauses together as filters of so many bytes take. */
export function joinClauses(clauses: readonly string[], bytesMax: number): readonly string[] {
  const filters: string[][] = [];
  let bytes = 0;
  for (const clause of clauses) {
    const clauseBytes = encodeURIComponent(` or ${clause}`).length;
    const last = filters.at(-1);
    if (last === undefined || bytes + clauseBytes > bytesMax) {
      filters.push([clause]);
      bytes = 0;
    } else {
      last.push(clause);
    }
    bytes += clauseBytes;
  }
  return filters.map((together) => together.join(' or '));
}

/** A filter for the rows with a value in a column; null if none compares exactly, or it would be too long. */
export function filterOfValue({ name, type }: ColumnShape, value: Value): string | null {
  const literal = value === null ? null : TYPE_RULES[type].filterLiteral(value);
  const filter = literal === null ? null : `${columnReference(name)} = ${literal}`;
  return filter === null || encodeURIComponent(filter).length > FILTER_BYTES_MAX ? null : filter;
}

/** Whether two values may be one at the origin, which may ignore case, accents, width, and blanks at the ends. */
export function isSameAtOrigin(type: ColumnType, one: Value, other: Value): boolean {
  if (isSameValue(type, one, other)) return true;
  return typeof one === 'string' && typeof other === 'string' && matchKey(one) === matchKey(other);
}

/** Letters that Unicode does not take apart, and that an origin may treat as others. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ð: 'd',
  đ: 'd',
  ø: 'o',
  ł: 'l',
  ħ: 'h',
  ŧ: 't',
};

/** Values with different keys are certainly different at the origin. */
export function matchKey(value: Value): string {
  if (typeof value !== 'string') return String(value ?? '');
  const bare = value.normalize('NFKD').replaceAll(/[\p{M}\p{Cf}]/gu, '');
  const folded = bare.toUpperCase().toLowerCase().trim();
  return folded.replaceAll(/[æœþðđøłħŧ]/gu, (letter) => LOOKALIKES[letter] ?? letter);
}

/** Why a row is not sent. */
export interface Unsendable {
  /** Index of the column at fault; null where it is the row. */
  readonly column: number | null;
  /** A sentence without a full stop and without the value. */
  readonly reason: string;
  /** soon: the origin is in trouble · later: a right may be granted · left out: only an edit or a person helps. */
  readonly hope?: 'soon' | 'later' | undefined;
}

/**
 * What happens to a new row after the look-up of its match value.
 *
 *    send     no row has it
 *    the row  a row has it that the replica does not know: both are merged
 *    wait     the row that has it is deleted, or has another value, here: the value is free once the origin has that
 */
export type HolderVerdict<T> = 'send' | 'wait' | T | Unsendable;

/** Judges the origin's answer about the match value of a new row. `known` is the row here that has it. */
export function judgeHolder<T extends { readonly id: number }>(
  holder: T | 'refused' | 'unclear' | undefined,
  known: { readonly base: Row; readonly local: Row | null } | null,
  {
    match,
    columns,
    isLast,
  }: { readonly match: number; readonly columns: readonly MergeColumn[]; readonly isLast: boolean },
): HolderVerdict<T> {
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
  if (known === null) return holder;
  const isLeaving = known.local === null || !isSameCell(columns, match, known.base, known.local);
  if (isLeaving && !isLast) return 'wait';
  const reason = `row ${holder.id} has the same match value at the origin`;
  return { column: match, reason, hope: isLeaving ? 'soon' : 'later' };
}
