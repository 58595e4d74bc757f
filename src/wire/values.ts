/**
 * One value of one column, between the wire and `Value` (specification 2.4). Output is what Select and Retrieve return, input is what the write
 * methods take; the sandbox has the other side of both (sandbox/wire/value-forms.ts). What a type means is in column-types.ts.
 *
 * The text of an XML element is null for a null element, which has `i:nil="true"` in output and nothing in input. So XML cannot say an empty text on
 * input, nor more than six decimals in output, and a replica that reads through XML is exact only within the origin's own precision (origin facts 2.1).
 */
import { TYPE_RULES, type GivenWriter, type ValueReader } from './column-types.ts';
import { maskedReader } from './mask.ts';
import type { ColumnShape, ColumnType, Value } from './schema.ts';

/** Turns a `Value` into JSON text. */
export type ValueWriter = (value: Value) => string;

/** Turns a `Value` into element text, not escaped; null for a null element. */
export type XmlValueWriter = (value: Value) => string | null;

/** Reads a value as Select and Retrieve send it. */
export function readOutput(type: ColumnType): ValueReader {
  return TYPE_RULES[type].readOutput;
}

/** Reads element text (null for a null element) as Select and Retrieve send it. */
export function readXmlOutput(type: ColumnType): ValueReader {
  return xmlReaderOf(type, TYPE_RULES[type].readOutput);
}

/** Reads element text of a type by its reader of JSON; null is a null element. */
export function xmlReaderOf(type: ColumnType, read: ValueReader): ValueReader {
  const { readXmlText } = TYPE_RULES[type];
  if (readXmlText === undefined) return (raw) => (raw === null || typeof raw === 'string' ? read(raw) : undefined);
  return (raw) => {
    if (typeof raw !== 'string') return raw === null ? null : undefined;
    const text = raw.trim();
    return text === '' ? null : readXmlText(text, read);
  };
}

/** Reads a value of a column by the readers of a format, masked where the column is; `maskKey` is needed by hashes. */
export function columnReader(
  readerOf: (type: ColumnType) => ValueReader,
  { type, mask }: ColumnShape,
  maskKey: string | null,
): ValueReader {
  return mask == null ? readerOf(type) : maskedReader(readerOf(mask.from), mask, maskKey);
}

/** Writes a value as the write methods take it, as JSON text; `zone` is the calling user's. */
export function writeInput(type: ColumnType, zone: string): ValueWriter {
  return jsonWriterOf(type, TYPE_RULES[type].writeInput(zone));
}

/** Writes JSON text of a type by its writer of text. */
export function jsonWriterOf(type: ColumnType, write: GivenWriter): ValueWriter {
  if (TYPE_RULES[type].isJsonLiteral === true) return (value) => (value === null ? 'null' : write(value));
  return (value) => (value === null ? 'null' : JSON.stringify(write(value)));
}

/** Writes element text as the write methods take it; `zone` is the calling user's. */
export function writeXmlInput(type: ColumnType, zone: string): XmlValueWriter {
  const write = TYPE_RULES[type].writeInput(zone);
  return (value) => (value === null ? null : write(value));
}
