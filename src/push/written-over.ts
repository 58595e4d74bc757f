/**
 * What a push goes over at the origin beside what its merge tells: what nobody had read before, and what somebody wrote while it was on its
 * way. It is kept like any loser (I2). Input: rows as they were sent, as they stand here, and as the origin has them. Pure.
 */
import { must } from '../base/assert.ts';
import type { BatchRow } from '../capture/batches.ts';
import type { VersionsNow } from '../capture/settle.ts';
import type { TwoWayTable } from '../capture/table.ts';
import { isSameValue } from '../reconcile/diff.ts';
import type { Conflict } from '../reconcile/merge.ts';
import { baseAsSent, editedCells } from '../reconcile/push-settle.ts';
import type { Row } from '../wire/schema.ts';

/** An insert changed a row that somebody had added meanwhile; what it overwrote is known only if a pull had seen it. `match` is the index of the match column. */
export function overMet({ cells }: BatchRow, { base }: VersionsNow, match: number | null): readonly Conflict[] {
  return cells.flatMap(({ column, value }): readonly Conflict[] => {
    const before = base?.values[column] ?? null;
    if (before === value && column !== match) return [];
    if (base === null && column !== match) return [];
    return [{ kind: 'cell', column, base: null, local: value, remote: before, winner: 'local' }];
  });
}

/**
 * Cells that were edited here since they were sent, and hold something else at the origin: nobody can tell what the origin made of the
 * value, or a default of a new row, from what somebody wrote there meanwhile, so the edit wins, and what it goes over is kept. So does
 * a delete of the row. A lookup merges the cells that were sent by itself. A row that its update made again is a new one there, in which
 * all goes on that was not sent.
 */
export function writtenOver(
  table: TwoWayTable,
  { kind, cells, answer }: BatchRow,
  now: VersionsNow,
  { remote, isMadeAgain }: { readonly remote: Row; readonly isMadeAgain: boolean },
): readonly Conflict[] {
  const { local } = now;
  const isNew = kind === 'insert' || isMadeAgain;
  const edited = editedCells({ base: now.base, sent: cells }, table.columns);
  const asked = isNew ? table.columns.keys() : edited.values().map(({ column }) => column);
  const over = [...asked].flatMap((column): readonly (Conflict & { kind: 'cell' })[] => {
    const { type, writable, automatic } = must(table.columns[column], 'a cell names a column of its table');
    const cell = cells.find((sent) => sent.column === column);
    const isOurs = cell === undefined ? isNew && !automatic : answer !== null && cell.file === undefined;
    const [was, there] = [cell?.value ?? null, remote.values[column] ?? null];
    const here = local?.values[column] ?? null;
    const isEdited = local === null || (!isSameValue(type, here, was) && !isSameValue(type, here, there));
    if (!isOurs || !writable || !isEdited || isSameValue(type, there, was)) return [];
    return [{ kind: 'cell', column, base: was, local: here, remote: there, winner: 'local' }];
  });
  if (local !== null || over.length === 0) return over;
  const base = baseAsSent({ base: now.base, sent: cells }, remote.id, table.columns.length);
  return [{ kind: 'deletedHere', base, remote, winner: 'local' }];
}

/** The update made a new row, because the old one was deleted: both sides changed it. */
export function madeAgain({ base, local }: VersionsNow): readonly Conflict[] {
  return base === null || local === null ? [] : [{ kind: 'deletedThere', base, local, winner: 'local' }];
}
