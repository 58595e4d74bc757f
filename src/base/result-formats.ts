/**
 * Query results as programs read them: JSON, JSON Lines, CSV, Markdown or fields between tabs. They are complete, JSON
 * and CSV also exact, and come in chunks, so that a result of any length streams.
 */
import { stringify as csvText } from 'csv-stringify/sync';
import { printable, printableJson } from './text.ts';

export interface ResultTable {
  readonly columns: readonly string[];
  readonly rows: Iterable<readonly unknown[]>;
}

/** Rows turned into text at a time. */
const CHUNK_ROWS = 500;

export function isNumber(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** A value that is not null as text; bytes as an SQL literal. */
export function plainText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString('hex')}'`;
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : infinityText(value);
  return typeof value === 'bigint' ? value.toString() : JSON.stringify(value);
}

/** As SQLite's own shell writes it; a number that any JSON parser reads as infinite again. */
function infinityText(value: number): string {
  return value > 0 ? '9e999' : '-9e999';
}

/**
 * An answer as a JSON array of one object per row, one row per line. Integers keep every digit. A column whose name
 * occurred before gets a number, so that no value is lost.
 */
export function* answerAsJson(answer: ResultTable): Generator<string> {
  let before = '[';
  for (const chunk of answerAsJsonLines(answer)) {
    yield before + chunk.slice(0, -1).replaceAll('\n', ',\n');
    before = ',\n';
  }
  yield before === '[' ? '[]\n' : ']\n';
}

/** An answer as JSON Lines: an object a row, as in `answerAsJson`. */
export function* answerAsJsonLines(answer: ResultTable): Generator<string> {
  const names = uniqueNames(answer.columns).map((name) => JSON.stringify(name));
  const objectText = (row: readonly unknown[]): string =>
    `{${row.map((value, index) => `${names[index] ?? '""'}:${jsonText(value)}`).join(',')}}\n`;
  for (const chunk of chunks(answer.rows)) yield printableJson(chunk.map(objectText).join(''));
}

/** An answer as a table in Markdown (GitHub's), whole. NULL is nothing. */
export function* answerAsMarkdown(answer: ResultTable): Generator<string> {
  const line = (row: readonly unknown[]): string => {
    const cells = row.map((value) => (value === null ? '' : plainText(value)));
    return `| ${cells.map((text) => printable(text).replaceAll(/[\\`*_~<&|[]/g, String.raw`\$&`)).join(' | ')} |\n`;
  };
  yield `${line(answer.columns)}|${' --- |'.repeat(answer.columns.length)}\n`;
  for (const chunk of chunks(answer.rows)) yield chunk.map(line).join('');
}

function jsonText(value: unknown): string {
  return value === null ? 'null' : isNumber(value) ? plainText(value) : JSON.stringify(plainText(value));
}

function uniqueNames(columns: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  return columns.map((column) => {
    let name = column;
    for (let count = 2; taken.has(name); count += 1) name = `${column}:${count}`;
    taken.add(name);
    return name;
  });
}

export interface CsvOptions {
  /** Puts an apostrophe before text that a spreadsheet would run as a formula. */
  readonly escapeFormulas: boolean;
  /** Neutralises what a terminal would act on; for output that goes to one. */
  readonly forTerminal: boolean;
}

/**
 * An answer as CSV with a header (RFC 4180, lines ending in LF). NULL is nothing, an empty text is `""`. In an answer
 * of one column both are `""`, because pandas and spreadsheets take a blank line for no row.
 */
export function* answerAsCsv(answer: ResultTable, options: CsvOptions): Generator<string> {
  const isNarrow = answer.columns.length === 1;
  const write = (rows: readonly (readonly unknown[])[]): string =>
    csvText(
      rows.map((row) => row.map((value) => csvField(isNarrow ? (value ?? '') : value, options))),
      { quoted_match: /^$/ },
    );
  yield write([answer.columns]);
  for (const chunk of chunks(answer.rows)) yield write(chunk);
}

/**
 * How a text begins that some spreadsheet runs (OWASP, CSV injection). Signs in either width, also behind what is not
 * seen and is dropped on import, and the characters that end a cell there.
 */
const FORMULA = /^(?:[\t\r\n]|[\s\p{Cf}]*[=+\-@＝＋－＠])/u;

function csvField(value: unknown, options: CsvOptions): unknown {
  if (value === null || typeof value === 'bigint') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : infinityText(value);
  const text = plainText(value);
  const safe = options.escapeFormulas && FORMULA.test(text) ? `'${text}` : text;
  return options.forTerminal ? printable(safe) : safe;
}

/** An answer as names and rows with tabs between the fields, for cut, sort and awk. NULL is nothing. */
export function* answerAsTsv(answer: ResultTable): Generator<string> {
  yield tsvLine(answer.columns);
  for (const chunk of chunks(answer.rows)) yield chunk.map(tsvLine).join('');
}

/** A row between tabs; what would end a field or act on a terminal is an escape such as `\t`. */
export function tsvLine(row: readonly unknown[]): string {
  return `${row.map((value) => (value === null ? '' : printable(plainText(value)))).join('\t')}\n`;
}

function* chunks<T>(items: Iterable<T>): Generator<readonly T[]> {
  let chunk: T[] = [];
  for (const item of items) {
    chunk.push(item);
    if (chunk.length === CHUNK_ROWS) {
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length > 0) yield chunk;
}
