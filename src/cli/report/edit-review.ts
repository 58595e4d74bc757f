/**
 * Edits for a person to review before they are sent: every changed cell in full, in the order of the push. Nothing can
 * hide behind an ellipsis, a control character or a change of writing direction.
 */
import { diffWordsWithSpace } from 'diff';
import { displayWidth, hanging, printable } from '../../base/text.ts';
import type { PreviewCell, PreviewRow, TablePreview } from '../../push/plan-preview.ts';
import type { Value } from '../../wire/schema.ts';
import { rowHead, tableHead, valueText } from './push-report.ts';

/** A change that fits here stays on one line. */
const LINE_WIDTH = 72;
/** Words that may differ between two texts; if there are more, the two texts say it better. */
const DIFFERENCES_MAX = 200;

/** All rows of all tables; `width` is that of the terminal, or null to wrap nothing. */
export function reviewText(previews: readonly TablePreview[], width: number | null): string {
  if (previews.length === 0) return 'Nothing to push\n';
  return previews.map((preview) => tableText(preview, width)).join('\n');
}

function tableText(preview: TablePreview, width: number | null): string {
  return tableHead(preview, width) + preview.rows.map((row) => rowText(row, width)).join('');
}

function rowText(row: PreviewRow, width: number | null): string {
  const { kind, reason, cells } = row;
  const why = reason === null ? '' : `: ${printable(reason)}`;
  return `  ${rowHead(row)}${why}\n${cells.map((cell) => cellText(kind, cell, width)).join('')}`;
}

function cellText(kind: PreviewRow['kind'], { column, base, local }: PreviewCell, width: number | null): string {
  const name = `    ${printable(column)}: `;
  const line = (label: string, text: string): string => hanging(label, text, width);
  if (kind === 'insert') return line(name, valueText(local));
  if (kind === 'delete') return line(name, valueText(base));
  const change = `${valueText(base)} -> ${valueText(local)}`;
  if (displayWidth(name) + displayWidth(change) <= LINE_WIDTH) return `${name}${change}\n`;
  const texts = line('      was ', valueText(base)) + line('      now ', valueText(local));
  return `${name.trimEnd()}\n${texts}${differences(base, local)
    .map((difference) => line('      differs: ', difference))
    .join('')}`;
}

/** The words that were exchanged, in order; none where one side has no text, or hardly a word is the same. */
function differences(base: Value, local: Value): readonly string[] {
  if (typeof base !== 'string' || typeof local !== 'string') return [];
  const parts = diffWordsWithSpace(base, local, { maxEditLength: 2 * DIFFERENCES_MAX });
  if (parts?.some(({ added, removed }) => !added && !removed) !== true) return [];
  return parts.flatMap(({ added, removed, value }, index) => {
    const before = parts[index - 1];
    if (removed) return parts[index + 1]?.added === true ? [] : [`${valueText(value)} is gone`];
    if (!added) return [];
    return [
      before?.removed === true ? `${valueText(before.value)} -> ${valueText(value)}` : `${valueText(value)} is new`,
    ];
  });
}
