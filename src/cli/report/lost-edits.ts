/**
 * Edits that lost to a change at the origin, for people at a terminal. Pure.
 */
import { plural, printable } from '../../base/text.ts';
import type { ConflictLine } from '../../replica/bookkeeping/conflicts.ts';

/** Edits that a run names for people; --json has all. */
const NAMED_MAX = 20;

/** The edits that lost in one run, each with the command that takes it back; empty for none. */
export function lostText(lost: readonly ConflictLine[]): string {
  if (lost.length === 0) return '';
  const named = lost.slice(0, NAMED_MAX).map(({ id, table, rowId, column, kind }) => {
    return `  ${printable(`${table} row ${rowId}, ${column ?? WHOLE_ROWS[kind] ?? 'the row'}`)}: rowsync resolve ${id} --take local --again\n`;
  });
  const hidden = lost.length - named.length;
  const more = hidden === 0 ? '' : `  and ${hidden} more: rowsync conflicts\n`;
  return `\n${plural(lost.length, 'edit')} lost to a change at the origin; what takes it back:\n${named.join('')}${more}`;
}

const WHOLE_ROWS: Readonly<Record<string, string>> = {
  deletedHere: 'deleted here',
  deletedThere: 'deleted at the origin',
};
