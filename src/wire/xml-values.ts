/**
 * One value of one column, between XML element text and `Value` (specification 2.4). The four directions are those of
 * values.ts, and what a type means is decided there; only the forms differ. `null` as text stands for a null element:
 * `i:nil="true"` in output, an empty element in input.
 *
 * What XML cannot say: an empty text on input (it arrives as null), and a number with more than six decimals in output.
 * The sandbox rounds such a number half away from zero; a replica that reads through XML sees what XML says, and is exact
 * only where the origin's own precision, six decimals (origin facts 2.1), covers the values. JSON carries every digit. Pure.
 */
import { numericFromText, numericToPlain, type Numeric } from './decimal.ts';
import type { ColumnType, Value } from './schema.ts';
import { readInput, readOutput, type ValueReader } from './values.ts';
import { inputTextFromUtc, offsetTextFromUtc } from './zone.ts';

/** Turns a `Value` into element text, not escaped; null for a null element. */
export type XmlValueWriter = (value: Value) => string | null;

/** Types whose text means the same with spaces around it; of all others every character counts. */
const COLLAPSED: ReadonlySet<ColumnType> = new Set(['Checkbox', 'Numeric', 'Duration', 'Date', 'Time', 'Timestamp']);

/** Reads element text (null for a null element) as Select and Retrieve send it. */
export function readXmlOutput(type: ColumnType): ValueReader {
  return readerOf(type, readOutput(type));
}

/** Reads element text (null for an empty element) as a caller of a write method sends it; `zone` is the caller's. */
export function readXmlInput(type: ColumnType, zone: string): ValueReader {
  return readerOf(type, readInput(type, zone));
}

function readerOf(type: ColumnType, read: ValueReader): ValueReader {
  if (!COLLAPSED.has(type)) return (raw) => (raw === null || typeof raw === 'string' ? read(raw) : undefined);
  return (raw) => {
    if (typeof raw !== 'string') return raw === null ? null : undefined;
    const text = raw.trim();
    if (text === '') return null;
    if (type === 'Checkbox') return text === 'true' ? true : text === 'false' ? false : undefined;
    return type === 'Duration' ? secondsFromText(text) : read(text);
  };
}

/** Seconds as a number, or as an ISO 8601 duration that has only seconds; the sign may stand in either place. */
function secondsFromText(text: string): Numeric | undefined {
  const match = /^(-?)PT(-?)(\d[\d.]*)S$/.exec(text);
  if (match === null) return numericFromText(text);
  const [, before = '', after = '', digits = ''] = match;
  return before !== '' && after !== '' ? undefined : numericFromText(`${before}${after}${digits}`);
}

/** Writes element text as Select and Retrieve send it; `zone` is the calling user's. */
export function writeXmlOutput(type: ColumnType, zone: string): XmlValueWriter {
  switch (type) {
    case 'Multiline':
      return notNull((value) => String(value).replaceAll(/\r\n|\n/g, '\r\n'));
    case 'Numeric':
      return notNull((value) => sixDecimals(value as Numeric)); // readers give nothing else
    case 'Duration':
      return notNull((value) => durationText(value as Numeric));
    case 'Timestamp':
      return notNull((value) => offsetTextFromUtc(String(value), zone));
    default:
      return notNull(String);
  }
}

/** Writes element text as the write methods take it; `zone` is the calling user's. */
export function writeXmlInput(type: ColumnType, zone: string): XmlValueWriter {
  switch (type) {
    case 'Numeric':
    case 'Duration':
      return notNull((value) => numericToPlain(value as Numeric)); // readers give nothing else
    case 'Timestamp':
      return notNull((value) => inputTextFromUtc(String(value), zone));
    default:
      return notNull(String);
  }
}

function notNull(write: (value: Exclude<Value, null>) => string): XmlValueWriter {
  return (value) => (value === null ? null : write(value));
}

function durationText(seconds: Numeric): string {
  const plain = numericToPlain(seconds);
  return plain.startsWith('-') ? `-PT${plain.slice(1)}S` : `PT${plain}S`;
}

const DECIMALS = 6;

/** Plain decimal text with six decimals, rounded half away from zero; never `-0.000000`. */
function sixDecimals(value: Numeric): string {
  const plain = numericToPlain(value);
  const [whole = '', fraction = ''] = plain.replace('-', '').split('.');
  const kept = BigInt(whole + fraction.slice(0, DECIMALS).padEnd(DECIMALS, '0'));
  const rounded = fraction.charAt(DECIMALS) >= '5' ? kept + 1n : kept;
  const digits = String(rounded).padStart(DECIMALS + 1, '0');
  const sign = plain.startsWith('-') && rounded !== 0n ? '-' : '';
  return `${sign}${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`;
}
