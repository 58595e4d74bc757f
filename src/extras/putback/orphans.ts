/**
 * Finds orphans: rows at the origin that referred to a lost row, and still have its old key, or were emptied since.
 */
import type { LostRow } from '../shared/linked-extra.ts';
import { ident, sql } from '../../base/sql.ts';
import { queryRows } from '../../replica/query.ts';
import type { TableRecord } from '../../replica/bookkeeping/tables.ts';
import type { LostRows } from './lost-rows.ts';
import { rowName, type KeyLink, type PlannedPutback } from './lost-row-outcome.ts';
import type { TableReference } from './references.ts';

/** A delete may be held for days. A reference that was emptied even earlier was emptied for another reason. */
const EMPTIED_BEFORE_MS_MAX = 7 * 86_400_000;

/** Rows to link again, as the replica has them, with the reason if a reference was emptied. */
export function findOrphans(
  lost: LostRows,
  rows: readonly LostRow[],
  references: readonly TableReference[],
): readonly PlannedPutback[] {
  const byKey = new Map(rows.flatMap((row) => (lost.keyName(row) === null ? [] : [[lost.keyName(row) ?? '', row]])));
  const targets = new Set(rows.map(({ tableId }) => tableId));
  const found = references.flatMap((reference) => {
    const table = lost.tables.find(({ id }) => id === reference.tableId);
    if (table === undefined || !targets.has(reference.toId)) return [];
    return [...dangling(lost, table, reference), ...emptied(lost, table, reference)].flatMap((cell) => {
      const parent = byKey.get(rowName(reference.toId, cell.oldKey));
      return parent === undefined || !isOfDelete(cell.emptiedAt, parent) ? [] : [{ ...cell, reference, parent }];
    });
  });
  // A row may refer to several rows that are put back.
  const byRow = Map.groupBy(found, ({ reference, rowId }) => rowName(reference.tableId, rowId)).values();
  return [...byRow].map((cells): PlannedPutback => {
    const links = cells.map(({ reference, parent, oldKey }): KeyLink => ({
      columnId: reference.column.id,
      toId: reference.toId,
      oldId: parent.oldId,
      oldKey,
      later: true,
    }));
    const reasons = cells.flatMap(({ reason }) => reason ?? []);
    return {
      tableId: cells[0]?.reference.tableId ?? 0,
      oldId: cells[0]?.rowId ?? 0,
      oldKey: null,
      fate: 'create',
      reason: reasons.length === 0 ? null : reasons.join('; '),
      there: null,
      cells: new Map(),
      links,
      files: [],
    };
  });
}

interface OrphanedCell {
  readonly rowId: number;
  readonly oldKey: string;
  readonly emptiedAt: string | null;
  readonly reason: string | null;
}

/** Cells that hold a key. A text key comes back as it was, so a reference to it is whole again by itself. */
function dangling(
  lost: LostRows,
  { id: tableId, localName }: TableRecord,
  { column, toId }: TableReference,
): readonly OrphanedCell[] {
  if (lost.keyOf(toId)?.type !== 'Autonumber') return [];
  const name = ident(column.localName);
  const text = sql`SELECT _id, ${name} FROM main.${ident(localName)} WHERE _id > 0 AND coalesce(${name}, '') <> ''`;
  return queryRows(lost.main, text, []).flatMap(([id, value = null]) => {
    const rowId = Number(id);
    const isKept = !lost.isEdited(tableId, rowId, column.id);
    return isKept ? [{ rowId, oldKey: String(value), emptiedAt: null, reason: null }] : [];
  });
}

function emptied(lost: LostRows, table: TableRecord, { column }: TableReference): readonly OrphanedCell[] {
  return lost.emptied(table, column).map(({ rowId, value, emptiedAt }) => ({
    rowId,
    oldKey: value,
    emptiedAt,
    reason: `${column.localName} was ${value}${emptiedAt === null ? '' : `, and was emptied ${emptiedAt}`}`,
  }));
}

function isOfDelete(emptiedAt: string | null, { deletedAt }: LostRow): boolean {
  if (emptiedAt === null || deletedAt === null) return true;
  return Date.parse(emptiedAt) >= Date.parse(deletedAt) - EMPTIED_BEFORE_MS_MAX;
}
