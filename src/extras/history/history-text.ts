/**
 * Shows entries of the history as lines that are safe on a terminal: what, who, why, when, and each cell.
 */
import { printable, printableJson, truncate } from '../../base/text.ts';
import { cellsOf, type CellDifference } from './difference.ts';
import { causeWords, isRenumbering, type HistoryEntry } from './entries.ts';

/** A value is cut here: enough to recognise it. */
const VALUE_WIDTH_MAX = 200;

const KINDS: Readonly<Record<string, string>> = {
  insert: 'new',
  update: 'changed',
  delete: 'deleted',
  begin: 'history begins',
  end: 'history ends',
  pruned: 'older history pruned',
  restored: 'older copy restored',
  schema: 'columns changed',
  forgotten: 'values removed on request',
};

export function kindText(kind: string): string {
  return KINDS[kind] ?? printable(kind);
}

export const TAKEN = 'the edit taken by the origin';

/** Whether an entry only says that the origin took an edit of this row. */
export function isTaken({ kind, isAnswer }: HistoryEntry): boolean {
  return kind === 'update' && isAnswer === 1;
}

export function headText(entry: HistoryEntry): string {
  const { kind, originBy, cause, runId, wasRowId } = entry;
  const run = runId === null ? '' : ` (run ${runId})`;
  if (isRenumbering(entry)) return 'goes on under the id that the origin gave it';
  if (isTaken(entry)) return `${TAKEN}${run}`;
  // A new row has a number below 0; a deleted row that was made again had one of the origin's.
  const was =
    wasRowId === null
      ? ''
      : wasRowId < 0
        ? ` (row ${wasRowId} until the origin gave it this id)`
        : ` (in place of the deleted row ${wasRowId})`;
  // For an edit here, the origin still names the author of the change before.
  const by = originBy === null || cause === 'edit' ? '' : `${was === '' ? '' : ','} by ${printable(originBy)}`;
  return `${kindText(kind)}${was}${by}, ${printable(causeWords(entry))}${run}`;
}

/** When it happened: between two times, with perhaps more changes in between, or at one that this machine saw. */
export function whenText(entry: HistoryEntry): string {
  const { notBefore, notAfter, stamped, at, cause } = entry;
  if (notBefore !== null && notBefore === notAfter && notAfter === at) return `at ${at}`;
  const end = notAfter ?? at;
  const span = notBefore === null ? `not after ${end}` : `between ${notBefore} and ${end}`;
  const stamp = stamped === 1 ? ` (the origin's stamp)` : stamped === 0 ? '; not stamped by the origin' : '';
  const isOurs = cause === 'edit' || isTaken(entry);
  return `${span}${isOurs ? '' : ', at least one change'}${stamp}`;
}

export function cellLines(kind: string, cells: readonly CellDifference[], indent: string): readonly string[] {
  return cells.map((cell) => `${indent}${cellText(kind, cell)}`);
}

export function cellsText(entry: HistoryEntry): string {
  return cellsOf(entry)
    .map((cell) => cellText(entry.kind, cell))
    .join(', ');
}

function cellText(kind: string, { column, before, after }: CellDifference): string {
  const name = printable(column);
  if (kind === 'insert') return `${name}: ${valueText(after)}`;
  if (kind === 'delete') return `${name}: ${valueText(before)}`;
  return `${name}: ${valueText(before)} → ${valueText(after)}`;
}

function valueText(json: string): string {
  return json === 'null' ? 'NULL' : truncate(printable(json), VALUE_WIDTH_MAX);
}

/** A JSON object whose last member is a list, in pieces: each item begins a line. */
export function* listJson(head: object, name: string, items: Iterable<Iterable<string>>): Generator<string> {
  yield printableJson(JSON.stringify({ ...head, [name]: [] }).slice(0, -2));
  let before = '\n';
  for (const item of items) {
    for (const piece of item) {
      yield before + piece;
      before = '';
    }
    before = ',\n';
  }
  yield ']}';
}
