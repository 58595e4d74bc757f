/**
 * One value of one column, between the JSON wire and `Value` (specification 2.4). Four directions, because input and
 * output forms differ: output is what Select and Retrieve return, input is what the write methods take.
 *
 *               client                 sandbox
 *    output     readOutput   <──────   writeOutput
 *    input      writeInput   ──────>   readInput
 *
 * What a type means is in column-types.ts.
 */
import { TYPE_RULES, type GivenWriter, type ValueReader } from './column-types.ts';
import { maskedReader } from './mask.ts';
import type { ColumnShape, ColumnType, Value } from './schema.ts';

/** Turns a `Value` into JSON text. */
export type ValueWriter = (value: Value) => string;

/** Reads a value as Select and Retrieve send it. */
export function readOutput(type: ColumnType): ValueReader {
  return TYPE_RULES[type].readOutput;
}

/** Reads a value of a column as Select and Retrieve send it, masked where the column is; `maskKey` is needed by hashes. */
export function readColumnOutput({ type, mask }: ColumnShape, maskKey: string | null): ValueReader {
  return mask == null ? readOutput(type) : maskedReader(readOutput(mask.from), mask, maskKey);
}

/** Writes a value as the write methods take it, as JSON text; `zone` is the calling user's. */
export function writeInput(type: ColumnType, zone: string): ValueWriter {
  return orNull(TYPE_RULES[type].writeInput(zone));
}

function orNull(write: GivenWriter): ValueWriter {
  return (value) => (value === null ? 'null' : write(value));
}
