/**
 * One value of one column, between XML element text and `Value` (specification 2.4). The four directions are those of
 * json-values.ts, and what a type means is in column-types.ts. `null` as text is a null element: `i:nil="true"` in
 * output, an empty element in input.
 *
 * XML cannot say an empty text on input (it arrives as null), nor more than six decimals in output: the sandbox rounds half away
 * from zero. So a replica that reads through XML is exact only within the origin's own precision, six decimals (origin facts
 * 2.1). JSON carries every digit.
 */
import { TYPE_RULES, type GivenWriter, type ValueReader } from './column-types.ts';
import { maskedReader } from './mask.ts';
import type { ColumnShape, ColumnType, Value } from './schema.ts';

/** Turns a `Value` into element text, not escaped; null for a null element. */
export type XmlValueWriter = (value: Value) => string | null;

/** Reads element text (null for a null element) as Select and Retrieve send it. */
export function readXmlOutput(type: ColumnType): ValueReader {
  return xmlReaderOf(type, TYPE_RULES[type].readOutput);
}

/** Reads element text of a column, masked where the column is; `maskKey` is needed by hashes. */
export function readXmlColumnOutput({ type, mask }: ColumnShape, maskKey: string | null): ValueReader {
  return mask == null ? readXmlOutput(type) : maskedReader(readXmlOutput(mask.from), mask, maskKey);
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

/** Writes element text as the write methods take it; `zone` is the calling user's. */
export function writeXmlInput(type: ColumnType, zone: string): XmlValueWriter {
  return orNull(TYPE_RULES[type].writeXmlInput(zone));
}

function orNull(write: GivenWriter): XmlValueWriter {
  return (value) => (value === null ? null : write(value));
}
