/**
 * Whether a value that stands in the replica can be said to the origin. Triggers refuse most of what cannot, but another
 * client may have removed them, and a writer of values must never meet one that it has no words for. Pure.
 */
import { numericFromText } from '../wire/decimal.ts';
import type { ColumnType, Value } from '../wire/schema.ts';
import { isDate, isTimeOfDay, utcFromOffsetText } from '../wire/zone.ts';
import { uploadName } from './uploads.ts';

/** Why a value of a column cannot be sent, as a sentence without a full stop and without the value; null where it can. */
export function sendProblem(type: ColumnType, value: Value): string | null {
  if (value === null) return null;
  switch (type) {
    case 'Checkbox':
      return typeof value === 'boolean' ? null : 'a checkbox is 0 or 1';
    case 'Numeric':
    case 'Duration':
      return isNumber(value) ? null : 'the value is not a number';
    case 'Date':
      return typeof value === 'string' && isDate(value) ? null : 'a date is written YYYY-MM-DD';
    case 'Time':
      return typeof value === 'string' && isTimeOfDay(value) ? null : 'a time is written hh:mm:ss';
    case 'Timestamp':
      return typeof value === 'string' && value.endsWith('Z') && utcFromOffsetText(value) !== undefined
        ? null
        : 'a timestamp is written YYYY-MM-DDThh:mm:ssZ, in UTC';
    case 'Attachment':
      return uploadName(type, value) ? null : 'a file is attached by file: and its name';
    default:
      return typeof value === 'string' && !value.isWellFormed() ? 'the text has half a character in it' : null;
  }
}

function isNumber(value: Exclude<Value, null>): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'bigint' || (typeof value === 'string' && numericFromText(value) !== undefined);
}
