/**
 * Reads a file of rows: CSV and TSV as spreadsheets and programs write them, JSON Lines, Parquet. Numbers keep every
 * digit, since nothing here makes doubles of them. The libraries are loaded only for their form.
 */
import { isUtf8 } from 'node:buffer';
import { extname } from 'node:path';
import type { SchemaElement } from 'hyparquet';
import { usageError } from '../../base/errors.ts';
import { numericToPlain } from '../../wire/decimal.ts';
import { ExactNumber, parseExactJson } from '../../wire/exact-json.ts';
import type { RawCell } from './cell-value.ts';

export const FILE_FORMATS = ['csv', 'tsv', 'jsonl', 'parquet'] as const;

export type FileFormat = (typeof FILE_FORMATS)[number];

/** A row: where it is, and its cells in the order of the headers; a cell that the file does not have is undefined. */
export interface FileRow {
  /** The line of a text on which it begins, or the number of the row; the first is 1. */
  readonly line: number;
  readonly cells: readonly (RawCell | undefined)[];
}

export interface FileRows {
  readonly headers: readonly string[];
  readonly rows: readonly FileRow[];
  /** Rows with another number of cells than there are headers, or that are no rows. */
  readonly problems: readonly { readonly line: number; readonly problem: string }[];
}

/** A string of JavaScript holds about as much. */
const FILE_BYTES_MAX = 400_000_000;

/** Reads the content of a file. @throws RowsyncError `usage.invalid` where nothing of it can be read. */
export async function readRows(name: string, bytes: Buffer, format: FileFormat | undefined): Promise<FileRows> {
  if (bytes.length > FILE_BYTES_MAX)
    throw usageError(`${name} is too large`, `Split it: a file has at most ${FILE_BYTES_MAX} bytes.`);
  switch (format ?? formatOf(name)) {
    case 'parquet':
      return readParquet(name, bytes);
    case 'jsonl':
      return readJsonLines(textOf(name, bytes));
    case 'tsv':
      return readCsv(name, textOf(name, bytes), '\t');
    default:
      return readCsv(name, textOf(name, bytes), null);
  }
}

const FORMAT_BY_ENDING: Readonly<Record<string, FileFormat>> = {
  '.csv': 'csv',
  '.txt': 'csv',
  '.tsv': 'tsv',
  '.tab': 'tsv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.parquet': 'parquet',
};

function formatOf(name: string): FileFormat {
  const format = FORMAT_BY_ENDING[extname(name).toLowerCase()];
  if (format !== undefined) return format;
  throw usageError(
    `The ending of ${name} does not say what is in it`,
    `Name it with --format: ${FILE_FORMATS.join(', ')}.`,
  );
}

function textOf(name: string, bytes: Buffer): string {
  if (bytes.subarray(0, 4).toString('latin1') === 'PK\u0003\u0004') {
    throw usageError(
      `${name} is a spreadsheet or an archive, not text`,
      'Save the sheet as "CSV UTF-8", and import that.',
    );
  }
  const isUtf16 = /^(?:\u00FF\u00FE|\u00FE\u00FF)/.test(bytes.subarray(0, 2).toString('latin1'));
  if (isUtf16 || bytes.includes(0)) {
    throw usageError(
      `${name} is in UTF-16, or not text`,
      `Save it as UTF-8 ("CSV UTF-8" in Excel), or: iconv -f UTF-16 -t UTF-8 ${name} > new.csv`,
    );
  }
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  const lines = bytes.toString('latin1').split('\n');
  throw usageError(
    `${name} is not in UTF-8: line ${lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1'))) + 1} is the first with other bytes`,
    `Save it as UTF-8 ("CSV UTF-8" in Excel), or: iconv -f WINDOWS-1252 -t UTF-8 ${name} > new.csv`,
  );
}

async function readCsv(name: string, number: string, given: string | null): Promise<FileRows> {
  const { parse, CsvError } = await import('csv-parse/sync');
  // Excel begins a file so to name its separator.
  const said = /^sep=(.)\r?\n/.exec(number);
  const text = said === null ? number : number.slice(said[0].length);
  const delimiter = given ?? said?.[1] ?? delimiterOf(text);
  // Lines may end in two ways, if one file was appended to another. A CR alone ends lines only if nothing else does.
  const end = text.includes('\n') ? '\n' : '\r';
  const rows: FileRow[] = [];
  const problems: FileRows['problems'][number][] = [];
  let headers: readonly string[] = [];
  let line = said === null ? 1 : 2;
  try {
    const take = (record: readonly string[]): null => {
      const begins = line;
      line += record.reduce((count, cell) => count + cell.split(end).length - 1, 1);
      if (record.every((cell) => cell.trim() === '')) return null;
      if (headers.length === 0) headers = record;
      else if (record.length === headers.length) rows.push({ line: begins, cells: record });
      else {
        const problem = `has ${record.length} cells, and the first line has ${headers.length}`;
        problems.push({ line: begins, problem });
      }
      return null;
    };
    const record_delimiter = end === '\n' ? ['\r\n', '\n'] : ['\r'];
    parse(text, { delimiter, bom: true, record_delimiter, relax_column_count: true, on_record: take });
  } catch (thrown) {
    if (!(thrown instanceof CsvError)) throw thrown;
    const hint = 'A cell with quotes in it has quotes around it, and its own are doubled: "say ""yes""".';
    throw usageError(`${name}: the quotes after line ${line} cannot be read`, hint);
  }
  return { headers, rows, problems };
}

function delimiterOf(text: string): string {
  const first = /^(?:"(?:[^"]|"")*"|[^"\r\n])*/.exec(text)?.[0].replaceAll(/"(?:[^"]|"")*"/g, '') ?? '';
  const counts = [',', ';', '\t', '|'].map((sign) => ({ sign, count: first.split(sign).length }));
  return counts.reduce((most, each) => (each.count > most.count ? each : most)).sign;
}

function readJsonLines(text: string): FileRows {
  const indexByHeader = new Map<string, number>();
  const rows: FileRow[] = [];
  const problems: FileRows['problems'][number][] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const object = objectOf(line);
    if (object === null) {
      problems.push({ line: index + 1, problem: 'is not a JSON object' });
      continue;
    }
    const cells: (RawCell | undefined)[] = [];
    for (const [header, cell] of object) {
      if (!indexByHeader.has(header)) indexByHeader.set(header, indexByHeader.size);
      cells[indexByHeader.get(header) ?? 0] = cell;
    }
    rows.push({ line: index + 1, cells });
  }
  return { headers: [...indexByHeader.keys()], rows, problems };
}

function objectOf(line: string): readonly (readonly [string, RawCell])[] | null {
  try {
    const value = parseExactJson(line);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return Object.entries(value).map(([key, each]) => [key, cellOf(each)]);
  } catch {
    return null; // no JSON
  }
}

function cellOf(value: unknown): RawCell {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return { plain: numericToPlain(value) };
  return { plain: value instanceof ExactNumber ? value.text : JSON.stringify(value) };
}

async function readParquet(name: string, bytes: Buffer): Promise<FileRows> {
  const [{ parquetMetadata, parquetReadObjects }, { brotliDecompressSync, gunzipSync, zstdDecompressSync }] =
    await Promise.all([import('hyparquet'), import('node:zlib')]);
  const file = new Uint8Array(bytes).buffer;
  try {
    const metadata = parquetMetadata(file);
    const columns = metadata.schema.slice(1).map((element) => ({ ...element }));
    const nested = columns.find(({ num_children: count = 0 }) => count > 0);
    if (nested !== undefined) throw new Error(`its column "${nested.name}" holds lists or structures`);
    const span = durationIn(metadata.key_value_metadata ?? []);
    if (span !== null) throw new Error(`its column "${span}" holds durations in a unit that only pandas knows`);
    // The library would make doubles of decimals, and cut times to milliseconds.
    for (const element of metadata.schema.filter(isExact)) {
      delete element.converted_type;
      delete element.logical_type;
    }
    const compressors = {
      GZIP: (input: Uint8Array) => gunzipSync(input),
      BROTLI: (input: Uint8Array) => brotliDecompressSync(input),
      ZSTD: (input: Uint8Array) => zstdDecompressSync(input),
    };
    const parsers = { stringFromBytes: (input: Uint8Array) => CELL_TEXT.decode(input) };
    const found = await parquetReadObjects({ file, metadata, compressors, parsers, utf8: false });
    const rows = found.map((row, index) => ({
      line: index + 1,
      cells: columns.map((column) => parquetCell(row[column.name], column)),
    }));
    return { headers: columns.map((column) => column.name), rows, problems: [] };
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : '';
    throw usageError(`${name} cannot be read as Parquet: ${reason}`, 'Write it anew, with columns of plain types.');
  }
}

/** A column of durations, which pandas writes as plain numbers: of nanoseconds or another unit, not of seconds. */
function durationIn(metadata: readonly { readonly key: string; readonly value?: string | undefined }[]): string | null {
  const text = metadata.find(({ key }) => key === 'pandas')?.value ?? '';
  return /"field_name": "([^"]*)", "pandas_type": "[^"]*", "numpy_type": "timedelta64/.exec(text)?.[1] ?? null;
}

function isExact({ converted_type: old, logical_type: type }: SchemaElement): boolean {
  return /\b(?:DECIMAL|DATE|TIME|JSON)/.test(`${old ?? ''} ${type?.type ?? ''}`);
}

const UNITS: Readonly<Record<string, bigint>> = { MILLIS: 1_000n, MICROS: 1_000_000n, NANOS: 1_000_000_000n };

/** Refuses bytes that are no text, and keeps a BOM, which a cell may begin with. */
const CELL_TEXT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function parquetCell(value: unknown, column: SchemaElement): RawCell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (value instanceof Date) return { plain: value.toISOString() };
  const { converted_type: old, logical_type: type } = column;
  const kind = type?.type ?? /^[A-Z]+/.exec(old ?? '')?.[0];
  if (value instanceof Uint8Array && kind !== 'DECIMAL') return CELL_TEXT.decode(value);
  if (typeof value === 'number' && !Number.isInteger(value)) return { plain: numericToPlain(shortened(value, column)) };
  if (typeof value !== 'number' && typeof value !== 'bigint' && !(value instanceof Uint8Array))
    throw new Error(`column "${column.name}" has another type`);
  const number = value instanceof Uint8Array ? bigintOf(value) : BigInt(value);
  if (kind === 'DECIMAL') return { plain: decimalText(number, column.scale ?? 0) };
  if (kind === 'DATE') return { plain: new Date(Number(number) * 86_400_000).toISOString().slice(0, 10) };
  if (kind !== 'TIME' && kind !== 'TIMESTAMP') return { plain: String(number) };
  const unit = (type !== undefined && 'unit' in type ? type.unit : /[A-Z]+$/.exec(old ?? '')?.[0]) ?? '';
  const perSecond = UNITS[unit] ?? 1_000n;
  const rest = ((number % perSecond) + perSecond) % perSecond;
  const seconds = new Date(Number((number - rest) / perSecond) * 1000).toISOString().slice(0, 19);
  const text = rest === 0n ? seconds : `${seconds}.${String(rest).padStart(String(perSecond).length - 1, '0')}`;
  if (kind === 'TIME') return { plain: text.slice(11) };
  return { plain: type !== undefined && 'isAdjustedToUTC' in type && !type.isAdjustedToUTC ? text : `${text}Z` };
}

/** A float of 32 bits with the fewest digits that make it: as a double, 0.1 would have 17. */
function shortened(value: number, { type }: SchemaElement): number {
  const short = type === 'FLOAT' ? Number(value.toPrecision(7)) : value;
  return Math.fround(short) === value ? short : value;
}

/** Two's complement, the highest byte first. */
function bigintOf(bytes: Uint8Array): bigint {
  return BigInt.asIntN(
    bytes.length * 8,
    bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n),
  );
}

function decimalText(unscaled: bigint, scale: number): string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const number = digits.slice(0, digits.length - scale);
  return `${unscaled < 0n ? '-' : ''}${number}${scale === 0 ? '' : `.${digits.slice(-scale)}`}`;
}
