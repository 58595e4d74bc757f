/**
 * Shows the edits of an undo or a proposal, in words and as JSON.
 */
import { printable } from '../../base/text.ts';
import type { InverseCell, InverseEdit } from './undo-plan.ts';
import type { TableUndo } from './undo.ts';
import type { PreviewCell, PreviewRow, TablePreview } from '../../push/plan-preview.ts';
import type { Exact } from '../../replica/history-cells.ts';
import type { Value } from '../../wire/schema.ts';
import { planCellsJson } from '../../cli/report/push-report.ts';

/** As a plan has it: what is in the table, and what the edit makes of it. */
export function previewOf({ table, edits }: Pick<TableUndo, 'table' | 'edits'>): TablePreview {
  const rows = edits.map(({ rowId, kind, cells }): PreviewRow => ({
    rowId,
    kind,
    fate: 'sent',
    method: null,
    reason: null,
    cells: cells.map(previewCell),
  }));
  return { table, rows, writeCallCount: 0, readCallCount: 0, held: null };
}

function previewCell({ column, today, edited }: InverseCell): PreviewCell {
  return { column, base: shown(today), local: shown(edited) };
}

/** Bytes as their digits. */
function shown(value: Exact): Value {
  if (value === null || typeof value !== 'object') return value;
  return Buffer.isBuffer(value) ? value.toString('hex') : value.raw;
}

export function editJson({ rowId, kind, cells }: InverseEdit): object {
  return { rowId, kind, cells: planCellsJson(cells.map(previewCell)) };
}

export function refusalLines(tables: readonly Pick<TableUndo, 'table' | 'refusals'>[]): readonly string[] {
  return tables.flatMap(({ table, refusals }) =>
    refusals.map(
      ({ rowId, column, why }) =>
        `  ${printable(table)} ${rowId === 0 ? 'new row' : rowId}${column === null ? '' : ` ${printable(column)}`}: ${why}\n`,
    ),
  );
}
