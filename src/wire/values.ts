/**
 * Reads one value of one column as Select and Retrieve return it (specification 2.4). The meaning of a type, and how it
 * is sent, are in column-types.ts; the sandbox has the other side of both (sandbox/wire/value-forms.ts).
 *
 * The text of an XML element is null for a null element, which has `i:nil="true"` in output and nothing in input. So
 * XML cannot express an empty text on input, nor more than six decimals in output. A replica that reads through XML is
 * exact only to the origin's own precision (origin facts 2.1).
 */
import { TYPE_RULES, type ValueReader } from './column-types.ts';
import { maskedReader } from './mask.ts';
import type { ColumnShape, ColumnType } from './schema.ts';

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
  const { isXmlTrimmed, readXmlText = read } = TYPE_RULES[type];
  if (isXmlTrimmed !== true) return (raw) => (raw === null || typeof raw === 'string' ? read(raw) : undefined);
  return (raw) => {
    if (typeof raw !== 'string') return raw === null ? null : undefined;
    const text = raw.trim();
    return text === '' ? null : readXmlText(text);
  };
}

/** Reads a value of a column with the readers of a format, and masks it; hashes need `maskKey`. */
export function columnReader(
  readerOf: (type: ColumnType) => ValueReader,
  { type, mask }: ColumnShape,
  maskKey: string | null,
): ValueReader {
  return mask == null ? readerOf(type) : maskedReader(readerOf(mask.from), mask, maskKey);
}
