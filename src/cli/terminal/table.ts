/**
 * Shows rows as a table on a terminal: safe, cut to its width, and bounded. In a pipe, a list has tabs between its
 * fields, and a summary has columns without lines around them. What programs read, such as JSON, is in
 * base/result-formats.ts.
 */
import { getBorderCharacters, table as boxText, type TableUserConfig } from 'table';
import { isNumber, plainText, type ResultTable, tsvLine } from '../../base/result-formats.ts';
import { sumOf } from '../../base/sum.ts';
import { displayWidth, plural, printable, truncate, wrap } from '../../base/text.ts';

export const OUTPUT_FORMATS = ['table', 'tsv', 'json', 'jsonl', 'csv', 'markdown'] as const;

export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Rows that a table shows; more cannot be read on a screen, and all of them have to be held to align the columns. */
export const TABLE_ROWS_MAX = 1_000;

const CELL_CHARS_MAX = 10_000;

/** Columns narrower than this say nothing; if not all fit, each row is written below the other. */
const COLUMN_WIDTH_MIN = 6;

const COLUMN_GAP = 3;

/** Names of fields before their values; longer ones are cut. */
const NAME_WIDTH_MAX = 30;

export interface TableColumn {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** A summary: a box with a header, cut to the width of the terminal; in a pipe (null), columns without lines. */
export function boxTable(
  columns: readonly TableColumn[],
  given: readonly (readonly string[])[],
  width: number | null,
): string {
  // Also what ought to be one of our own words is in the replica, where others can write it.
  const rows = given.map((row) => row.map(printable));
  const widths = columns.map((column, index) =>
    rows.reduce((most, row) => Math.max(most, displayWidth(row[index] ?? '')), displayWidth(column.title)),
  );
  const fitted = width === null ? widths : fitWidths(widths, width - 1 - COLUMN_GAP * columns.length);
  const cut = (row: readonly string[]): string[] =>
    fitted.map((columnWidth, index) => truncate(row[index] ?? '', columnWidth));
  const text = boxText([cut(columns.map((column) => column.title)), ...rows.map(cut)], {
    ...(width === null ? PLAIN : BOXED),
    columns: columns.map((column) => ({ alignment: column.align ?? 'left' })),
  });
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

const BOXED: TableUserConfig = {
  border: getBorderCharacters('norc'),
  drawHorizontalLine: (index, count) => index <= 1 || index === count,
};

const PLAIN: TableUserConfig = {
  border: getBorderCharacters('void'),
  columnDefault: { paddingLeft: 0, paddingRight: 2 },
  drawHorizontalLine: () => false,
};

/** A list with whole values: a box of the columns with values if it fits, else a record a row; in a pipe, tabs. */
export function listTable(
  given: readonly string[],
  lines: readonly (readonly string[])[],
  width: number | null,
): string {
  if (width === null) return [given, ...lines].map(tsvLine).join('');
  const hasValues = (_: string, index: number): boolean => lines.some((line) => line[index] !== '');
  const titles = given.filter(hasValues);
  const rows = lines.map((line) => line.filter(hasValues).map(printable));
  const columns = titles.map((title) => ({ title }));
  const box = boxTable(columns, rows, Infinity);
  if (displayWidth(box.slice(0, box.indexOf('\n'))) <= width) return box;
  return records(titles, rows, width);
}

/** Rows one after another, each with its fields below each other and every value whole; empty fields are left out. */
function records(given: readonly string[], rows: readonly (readonly string[])[], width: number): string {
  const titles = given.map((title) => truncate(title, NAME_WIDTH_MAX));
  const nameWidth = Math.max(...titles.map(displayWidth));
  const indent = `\n${' '.repeat(nameWidth)}   `;
  return rows
    .map((row) => {
      const fields = titles.flatMap((title, index) => {
        const value = row[index] ?? '';
        const lines = wrap(value, Math.max(COLUMN_WIDTH_MIN, width - nameWidth - COLUMN_GAP));
        const padding = ' '.repeat(nameWidth - displayWidth(title));
        return value === '' ? [] : [`${title}${padding} │ ${lines.join(indent)}\n`];
      });
      return `${fields.join('')}${'─'.repeat(nameWidth)}\n`;
    })
    .join('');
}

/** Narrows the widest columns until the sum fits, but no column below COLUMN_WIDTH_MIN. */
function fitWidths(widths: readonly number[], total: number): readonly number[] {
  const fitted = widths.map((width) => Math.min(width, Math.max(COLUMN_WIDTH_MIN, total)));
  for (let excess = sumOf(fitted, (width) => width) - total; excess > 0; excess -= 1) {
    const widest = Math.max(...fitted);
    if (widest <= COLUMN_WIDTH_MIN) break;
    fitted[fitted.indexOf(widest)] = widest - 1;
  }
  return fitted;
}

/** An answer as a table for people, or as a record a row where the columns do not fit side by side. */
export function* answerAsTable(answer: ResultTable, width: number | null): Generator<string> {
  const read = [...Iterator.from(answer.rows).take(TABLE_ROWS_MAX + 1)];
  const rows = read.slice(0, TABLE_ROWS_MAX);
  const cells = rows.map((row) => row.map(cellText));
  const columns = answer.columns.map((title, index): TableColumn => {
    const isNumeric =
      rows.some((row) => isNumber(row[index])) && rows.every((row) => row[index] === null || isNumber(row[index]));
    return { title: printable(title), align: isNumeric ? 'right' : 'left' };
  });
  const room = width ?? Infinity;
  const fits = columns.length * (COLUMN_WIDTH_MIN + COLUMN_GAP) + 1 <= room;
  const titles = columns.map(({ title }) => title);
  if (columns.length > 0) yield fits ? boxTable(columns, cells, room) : records(titles, cells, room);
  yield read.length > rows.length
    ? `The first ${plural(rows.length, 'row')}; there are more (--format csv or json gives all)\n`
    : `${plural(rows.length, 'row')}\n`;
}

function cellText(value: unknown): string {
  if (value === null) return 'NULL';
  return printable(typeof value === 'string' ? value.slice(0, CELL_CHARS_MAX) : plainText(value));
}
