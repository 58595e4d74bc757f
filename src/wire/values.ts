/**
 * One value of one column, between the JSON wire and `Value` (specification 2.4). Four directions, because input and
 * output forms differ: output is what Select and Retrieve return, input is what the write methods take.
 *
 *              client                 sandbox
 *   output     readOutput   <──────   writeOutput
 *   input      writeInput   ──────>   readInput
 *
 * A reader returns `undefined` for what has no meaning in the column's type; the caller reports it, without the value.
 * Strings with lone surrogates count as meaningless, because SQLite would silently change them. Pure.
 */
import { numericFromText, numericToPlain, type Numeric } from './decimal.ts';
import { ExactNumber } from './exact.ts';
import type { ColumnType, Value } from './schema.ts';
import {
  dateAndTimeOf,
  inputTextFromUtc,
  isDate,
  isTimeOfDay,
  offsetTextFromUtc,
  utcFromInputText,
  utcFromOffsetText,
} from './zone.ts';

/** How a value begins by which a user asks for a file to be attached (reconcile/uploads.ts). */
export const UPLOAD_PREFIX = 'file:';

/** A file as the origin shows it. Whatever that says, it must not ask for a file of this machine to be sent. */
export function shownFile(text: string): string {
  return text.startsWith(UPLOAD_PREFIX) ? `file%3A${text.slice(UPLOAD_PREFIX.length)}` : text;
}

/** Turns a parsed JSON value into a `Value`; undefined when it has no meaning for the type. */
export type ValueReader = (raw: unknown) => Value | undefined;

/** Turns a `Value` into JSON text. */
export type ValueWriter = (value: Value) => string;

/** Reads a value as Select and Retrieve send it. */
export function readOutput(type: ColumnType): ValueReader {
  return OUTPUT_READERS[type];
}

/** Reads a value as a caller of a write method sends it; `zone` is the caller's. */
export function readInput(type: ColumnType, zone: string): ValueReader {
  switch (type) {
    case 'Date':
      return (raw) => (typeof raw === 'string' ? readInputDate(raw) : readNull(raw));
    case 'Time':
      return (raw) => (typeof raw === 'string' ? readInputTime(raw) : readNull(raw));
    case 'Timestamp':
      return (raw) => (typeof raw === 'string' ? utcFromInputText(raw, zone) : readNull(raw));
    case 'Attachment':
      return readText;
    default:
      return OUTPUT_READERS[type];
  }
}

/** Writes a value as Select and Retrieve send it, as JSON text; `zone` is the calling user's. */
export function writeOutput(type: ColumnType, zone: string): ValueWriter {
  switch (type) {
    case 'Multiline':
      return (value) => (value === null ? 'null' : JSON.stringify(String(value).replaceAll(/\r\n|\n/g, '\r\n')));
    case 'Date':
      return (value) => (value === null ? 'null' : `"${String(value)}T00:00:00+00:00"`);
    case 'Time':
      return (value) => (value === null ? 'null' : `"0001-01-01T${String(value)}+00:00"`);
    case 'Timestamp':
      return (value) => (value === null ? 'null' : `"${offsetTextFromUtc(String(value), zone)}"`);
    default:
      return writeSame(type);
  }
}

/** Writes a value as the write methods take it, as JSON text; `zone` is the calling user's. */
export function writeInput(type: ColumnType, zone: string): ValueWriter {
  if (type === 'Timestamp') {
    return (value) => (value === null ? 'null' : `"${inputTextFromUtc(String(value), zone)}"`);
  }
  return writeSame(type);
}

/** The types whose input and output forms are the same. */
function writeSame(type: ColumnType): ValueWriter {
  switch (type) {
    case 'Checkbox':
      return (value) => (value === null ? 'null' : value === true ? 'true' : 'false');
    case 'Numeric':
    case 'Duration':
      return (value) => (value === null ? 'null' : numericToPlain(value as Numeric)); // readers give nothing else
    default:
      return (value) => (value === null ? 'null' : JSON.stringify(String(value)));
  }
}

const readNull: ValueReader = (raw) => (raw === null ? null : undefined);

const readText: ValueReader = (raw) => {
  if (typeof raw === 'string') return raw.isWellFormed() ? raw : undefined;
  return raw === null ? null : undefined;
};

const readFile: ValueReader = (raw) => {
  const text = readText(raw);
  return typeof text === 'string' ? shownFile(text) : text;
};

/** Text as sent; a number or an object in a column of a type we do not know is kept as its JSON text. */
const readAnyText: ValueReader = (raw) => {
  if (typeof raw === 'string' || raw === null) return readText(raw);
  if (raw instanceof ExactNumber) return raw.text;
  if (typeof raw === 'number') return numericToPlain(raw);
  return JSON.stringify(raw);
};

const readMultiline: ValueReader = (raw) => {
  if (typeof raw !== 'string') return readNull(raw);
  if (!raw.isWellFormed()) return undefined;
  return raw.includes('\r') ? raw.replaceAll('\r\n', '\n') : raw;
};

const readNumeric: ValueReader = (raw) => {
  if (typeof raw === 'number') {
    // Written with an exponent, as 1e19: every number that long is an integer.
    if (Math.abs(raw) > Number.MAX_SAFE_INTEGER) return numericFromText(String(raw));
    return raw === 0 ? 0 : raw; // -0 is 0
  }
  if (raw instanceof ExactNumber) return numericFromText(raw.text);
  return typeof raw === 'string' ? numericFromText(raw) : readNull(raw);
};

const OUTPUT_READERS: Readonly<Record<ColumnType, ValueReader>> = {
  Text: readText,
  Phone: readText,
  EMail: readText,
  URL: readText,
  User: readText,
  Autonumber: (raw) => (typeof raw === 'number' || raw instanceof ExactNumber ? readAnyText(raw) : readText(raw)),
  Attachment: readFile,
  Unknown: readAnyText,
  Multiline: readMultiline,
  Checkbox: (raw) => (typeof raw === 'boolean' ? raw : readNull(raw)),
  Numeric: readNumeric,
  Duration: readNumeric,
  Date: (raw) => (typeof raw === 'string' ? readOutputDate(raw) : readNull(raw)),
  Time: (raw) => (typeof raw === 'string' ? readOutputTime(raw) : readNull(raw)),
  Timestamp: (raw) => (typeof raw === 'string' ? utcFromOffsetText(raw) : readNull(raw)),
};

/** Always midnight in UTC; anything else would be a date that two readers could take for different days. */
function readOutputDate(text: string): string | undefined {
  const rest = text.slice(10);
  const date = text.slice(0, 10);
  return (rest === 'T00:00:00+00:00' || rest === 'T00:00:00Z' || rest === '') && isDate(date) ? date : undefined;
}

/** On the date 0001-01-01 in UTC; another date would say nothing about a time of day. */
function readOutputTime(text: string): string | undefined {
  const match = /^(?:\d{4}-\d\d-\d\dT)?(\d\d:\d\d:\d\d)(?:\+00:00|Z)?$/.exec(text);
  return match?.[1] !== undefined && isTimeOfDay(match[1]) ? match[1] : undefined;
}

/** `YYYY-MM-DD` or a full form, whose time and offset say nothing about a date. */
function readInputDate(text: string): string | undefined {
  return isDate(text) ? text : dateAndTimeOf(text)?.date;
}

/** `hh:mm:ss`, `hh:mm` or a full form, whose date and offset say nothing about a time of day. */
function readInputTime(text: string): string | undefined {
  const time = text.length === 5 ? `${text}:00` : text;
  return isTimeOfDay(time) ? time : dateAndTimeOf(text)?.time;
}
