/**
 * Tables as Parquet files. Numbers are DECIMAL with the digits that the column needs, so that none is rounded. A
 * column that needs more than 38 digits is text. The library is loaded only here.
 */
import type { SchemaElement } from 'hyparquet';
import { numericFromText, numericToPlain } from '../../wire/decimal.ts';
import type { PgType } from '../shared/pg-columns.ts';
import type { Stored } from '../../replica/connection.ts';
import { copyText } from '../shared/pg-copy-text.ts';

export interface ParquetColumn {
  readonly name: string;
  readonly type: PgType;
}

/** What a column of a file is, in words of SQL. */
export interface WrittenColumn {
  readonly name: string;
  readonly type: string;
  /** Values that its type cannot hold, such as stamps of the year 0: they are empty in the file. Absent for none. */
  readonly emptiedCount?: number;
}

/** Rows of a group, which is held in memory. */
const GROUP_ROWS = 20_000;
/** Digits of a DECIMAL of 16 bytes, and of one of 8. */
const DIGITS_MAX = 38;
const DIGITS_SHORT = 18;

type ParquetValue = string | bigint | number | boolean | null;

interface Form {
  readonly element: SchemaElement;
  readonly words: string;
  readonly valueOf: (stored: Exclude<Stored, null>) => ParquetValue;
}

/** Writes a file; `rows` is called twice and gives the same rows. Returns the columns as they were written. */
export async function writeParquet(
  path: string,
  columns: readonly ParquetColumn[],
  rows: () => Iterable<readonly Stored[]>,
): Promise<readonly WrittenColumn[]> {
  const { fileWriter, ParquetWriter } = await import('hyparquet-writer');
  const digits = countDigits(columns, rows);
  const forms = columns.map((column, index) => formOf(column, digits[index] ?? { whole: 1, scale: 0 }));
  const schema: SchemaElement[] = [
    { name: 'root', num_children: forms.length },
    ...forms.map(({ element }) => element),
  ];
  const writer = new ParquetWriter({ writer: fileWriter(path), schema });
  let group: ParquetValue[][] = forms.map(() => []);
  let count = 0;
  const emptied = forms.map(() => 0);
  const flush = async (): Promise<void> => {
    await writer.write({
      columnData: columns.map(({ name }, index) => ({ name, data: group[index] ?? [] })),
      rowGroupSize: GROUP_ROWS,
    });
    group = forms.map(() => []);
    count = 0;
  };
  for (const row of rows()) {
    for (const [index, form] of forms.entries()) {
      const stored = row[index] ?? null;
      const value = stored === null ? null : form.valueOf(stored);
      if (value === null && stored !== null) emptied[index] = (emptied[index] ?? 0) + 1;
      group[index]?.push(value);
    }
    count += 1;
    if (count === GROUP_ROWS) await flush();
  }
  if (count > 0) await flush();
  await writer.finish();
  return forms.map(({ words }, index) => {
    const emptiedCount = emptied[index] ?? 0;
    return { name: columns[index]?.name ?? '', type: words, ...(emptiedCount === 0 ? {} : { emptiedCount }) };
  });
}

interface DecimalSize {
  readonly whole: number;
  readonly scale: number;
}

/** Digits before and after the point that the numbers of each column need. */
function countDigits(
  columns: readonly ParquetColumn[],
  rows: () => Iterable<readonly Stored[]>,
): readonly DecimalSize[] {
  const most = columns.map(() => ({ whole: 1, scale: 0 }));
  const numbers = columns.flatMap(({ type }, index) => (type === 'numeric' ? [index] : []));
  // Rows that are asked for and not read keep the database busy.
  if (numbers.length === 0) return most;
  for (const row of rows()) {
    for (const index of numbers) {
      const found = most[index];
      const plain = plainOf(row[index] ?? null);
      if (found === undefined || plain === null) continue;
      const [whole = '', fraction = ''] = plain.replace('-', '').split('.');
      found.whole = Math.max(found.whole, whole.length);
      found.scale = Math.max(found.scale, fraction.length);
    }
  }
  return most;
}

/** A number with all its digits; null for other text. */
function plainOf(stored: Stored): string | null {
  if (stored === null || (typeof stored === 'number' && !Number.isFinite(stored))) return null;
  const exact = typeof stored === 'string' ? numericFromText(stored) : stored;
  return exact === undefined ? null : numericToPlain(exact);
}

function formOf({ name, type }: ParquetColumn, digits: DecimalSize): Form {
  const form = (element: Partial<SchemaElement>, valueOf: Form['valueOf'], words: string = type): Form => ({
    element: { name, repetition_type: 'OPTIONAL', ...element },
    words,
    valueOf,
  });
  const text = (valueOf: Form['valueOf']): Form =>
    form({ type: 'BYTE_ARRAY', converted_type: 'UTF8' }, valueOf, 'text');
  /** A value that does not fit its type is not written, but counted. */
  const checked =
    (convert: (given: string) => ParquetValue): Form['valueOf'] =>
    (stored) =>
      copyText(stored, type) === undefined ? null : convert(String(stored));
  switch (type) {
    case 'numeric':
      return digits.whole + digits.scale > DIGITS_MAX ? text(plainOf) : decimalForm(name, digits);
    case 'bigint':
      return form({ type: 'INT64' }, (stored) => (typeof stored === 'bigint' ? stored : null));
    case 'boolean':
      return form(
        { type: 'BOOLEAN' },
        checked((given) => given === '1'),
      );
    case 'date':
      return form({ type: 'INT32', converted_type: 'DATE' }, checked(dayOf));
    case 'time':
      return form({ type: 'INT64', converted_type: 'TIME_MICROS' }, checked(timeMicrosOf));
    case 'timestamptz': {
      const logical_type = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' } as const;
      const element = { type: 'INT64', converted_type: 'TIMESTAMP_MICROS', logical_type } as const;
      return form(element, checked(microsOf), 'timestamp with time zone');
    }
    default:
      return text(String);
  }
}

function decimalForm(name: string, { whole, scale }: DecimalSize): Form {
  const isShort = whole + scale <= DIGITS_SHORT;
  const precision = isShort ? DIGITS_SHORT : DIGITS_MAX;
  const storage = isShort ? ({ type: 'INT64' } as const) : ({ type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 } as const);
  return {
    element: { name, repetition_type: 'OPTIONAL', ...storage, converted_type: 'DECIMAL', precision, scale },
    words: `decimal(${precision}, ${scale})`,
    valueOf: (stored) => {
      const plain = plainOf(stored);
      if (plain === null) return null;
      const [before = '', behind = ''] = plain.split('.');
      return BigInt(before + behind.padEnd(scale, '0'));
    },
  };
}

const DAY_MS = 86_400_000;

function dayOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / DAY_MS;
}

function timeMicrosOf(time: string): bigint {
  return BigInt(Date.parse(`1970-01-01T${time}Z`)) * 1000n;
}

/** Microseconds since 1970, because a JavaScript date has only milliseconds. */
function microsOf(instant: string): bigint {
  const [seconds = '', fraction = ''] = instant.replace('Z', '').split('.');
  return BigInt(Date.parse(`${seconds}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
}
