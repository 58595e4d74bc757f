/**
 * One value of one column as the sandbox reads it from a write and writes it in an answer (specification 2.4), in JSON
 * and in XML. It is the form that the client uses in the other direction, but for the types that are named here. In XML
 * an answer has six decimals, rounded half away from zero.
 */
import { ofText, TYPE_RULES, withoutFraction, type Given, type ValueReader } from '../../wire/column-types.ts';
import { numericToPlain, type Numeric } from '../../wire/decimal.ts';
import type { ColumnType, Value } from '../../wire/schema.ts';
import { xmlReaderOf } from '../../wire/values.ts';
import { isDate, isTimeOfDay, offsetTextFromUtc, utcFromInputText } from '../../wire/time-zones.ts';

/** Turns a value into the text of an XML element, not escaped; in JSON it is a string unless its type differs. */
type GivenWriter = (value: Given) => string;

/** Turns a `Value` into JSON text. */
export type ValueWriter = (value: Value) => string;

/** Turns a `Value` into element text, not escaped; null for a null element. */
export type XmlValueWriter = (value: Value) => string | null;

type ByType<T> = Readonly<Partial<Record<ColumnType, (zone: string) => T>>>;

const READERS: ByType<ValueReader> = {
  Attachment: () => TYPE_RULES.Text.readOutput,
  Date: () => ofText(readInputDate),
  Time: () => ofText(readInputTime),
  Timestamp: (zone) => ofText((text) => utcFromInputText(text, zone)),
};

const WRITERS: ByType<GivenWriter> = {
  Multiline: () => withLineEnds,
  Date: () => (value) => `${String(value)}T00:00:00+00:00`,
  Time: () => (value) => `0001-01-01T${String(value)}+00:00`,
  Timestamp: stampWriter,
};

const XML_WRITERS: ByType<GivenWriter> = {
  Multiline: () => withLineEnds,
  Numeric: () => (value) => sixDecimals(value as Numeric), // readers give nothing else
  Duration: () => (value) => durationText(value as Numeric), // readers give nothing else
  Timestamp: stampWriter,
};

/** Reads a value as a caller of a write method sends it; `zone` is the caller's. */
export function readInput(type: ColumnType, zone: string): ValueReader {
  return READERS[type]?.(zone) ?? TYPE_RULES[type].readOutput;
}

/** Reads element text (null for an empty element) as a caller of a write method sends it; `zone` is the caller's. */
export function readXmlInput(type: ColumnType, zone: string): ValueReader {
  return xmlReaderOf(type, readInput(type, zone));
}

/** Writes a value as Select and Retrieve send it, as JSON text; `zone` is the calling user's. */
export function writeOutput(type: ColumnType, zone: string): ValueWriter {
  const write = writerOf(WRITERS, type, zone);
  if (TYPE_RULES[type].isJsonLiteral === true) return (value) => (value === null ? 'null' : write(value));
  return (value) => (value === null ? 'null' : JSON.stringify(write(value)));
}

/** Writes element text as Select and Retrieve send it; `zone` is the calling user's. */
export function writeXmlOutput(type: ColumnType, zone: string): XmlValueWriter {
  const write = writerOf(XML_WRITERS, type, zone);
  return (value) => (value === null ? null : write(value));
}

function writerOf(writers: ByType<GivenWriter>, type: ColumnType, zone: string): GivenWriter {
  return writers[type]?.(zone) ?? ((value) => TYPE_RULES[type].writeInput(value, zone));
}

/** Rows that were written together have the same stamps, so the last text is kept. */
function stampWriter(zone: string): GivenWriter {
  let last = { utc: '', text: '' };
  return (value) => {
    const utc = withoutFraction(String(value));
    if (utc !== last.utc) last = { utc, text: offsetTextFromUtc(utc, zone) };
    return last.text;
  };
}

function withLineEnds(value: Exclude<Value, null>): string {
  return String(value).replaceAll(/\r\n|\n/g, '\r\n');
}

/** `YYYY-MM-DD` or a full form, whose time and offset say nothing about a date. */
function readInputDate(text: string): string | undefined {
  return isDate(text) ? text : localTimeOf(text)?.slice(0, 10);
}

/** `hh:mm:ss`, `hh:mm` or a full form, whose date and offset say nothing about a time of day. */
function readInputTime(text: string): string | undefined {
  const time = text.length === 5 ? `${text}:00` : text;
  return isTimeOfDay(time) ? time : localTimeOf(text)?.slice(11, 19);
}

/** `YYYY-MM-DDThh:mm:ss` of a full form, as it was in the zone that it names; undefined for other texts. */
function localTimeOf(text: string): string | undefined {
  return utcFromInputText(text.replace(/(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)$/, ''), 'UTC')?.slice(0, 19);
}

function durationText(seconds: Numeric): string {
  const plain = numericToPlain(seconds);
  return plain.startsWith('-') ? `-PT${plain.slice(1)}S` : `PT${plain}S`;
}

const XML_DECIMALS = 6;

/** Plain decimal text with six decimals, rounded half away from zero; never `-0.000000`. */
function sixDecimals(value: Numeric): string {
  const plain = numericToPlain(value);
  const [whole = '', fraction = ''] = plain.replace('-', '').split('.');
  const kept = BigInt(whole + fraction.slice(0, XML_DECIMALS).padEnd(XML_DECIMALS, '0'));
  const rounded = fraction.charAt(XML_DECIMALS) >= '5' ? kept + 1n : kept;
  const digits = String(rounded).padStart(XML_DECIMALS + 1, '0');
  const sign = plain.startsWith('-') && rounded !== 0n ? '-' : '';
  return `${sign}${digits.slice(0, -XML_DECIMALS)}.${digits.slice(-XML_DECIMALS)}`;
}
