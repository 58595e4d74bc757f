/**
 * Masks replace the values of a column while an answer of the origin is read, so that no other code ever sees them. A
 * missing value stays missing. Pure, given the key.
 */
import { must } from '../base/assert.ts';
import { TYPE_RULES, type Given, type ValueReader } from './column-types.ts';
import { numericToPlain } from './decimal.ts';
import type { ColumnType, Mask, MaskKind, Value } from './schema.ts';

/** Hexadecimal digits of a hash: 128 bits, so that no two values of one database meet by chance. */
const HASH_CHARS = 32;
/** Shorter texts could be guessed from their last four characters. */
const LAST4_CHARS_MIN = 8;

/** The type of the masked values. */
export function maskedType(kind: MaskKind): ColumnType {
  return kind === 'year' ? 'Numeric' : 'Text';
}

/** Why a mask does not fit values of a type: the end of a sentence that begins with the column; null where it does. */
export function maskProblem(kind: MaskKind, type: ColumnType): string | null {
  if (kind !== 'year' || type === 'Date' || type === 'Timestamp') return null;
  return `is of the type ${type}, and only dates and timestamps have a year`;
}

/** Whether two masks produce the same values; null is no mask. */
export function isSameMask(one: Mask | null, other: Mask | null): boolean {
  return maskText(one) === maskText(other);
}

function maskText(mask: Mask | null): string {
  if (mask === null) return '';
  const { kind, from, constant, key } = mask;
  return JSON.stringify([kind, TYPE_RULES[from].form, constant ?? null, key ?? null]);
}

/** A digest that identifies a key of masks without revealing it. */
export function maskKeyDigest(key: string): string {
  return hmac(key, 'rowsync: which key this is').slice(0, 16);
}

/** Wraps a reader for the type at the origin so that it masks each value; `key` is needed only for hashes. */
export function maskedReader(read: ValueReader, mask: Mask, key: string | null): ValueReader {
  const put = MASKERS[mask.kind](mask, key);
  return (raw) => {
    const value = read(raw);
    return value === undefined || value === null ? value : put(value);
  };
}

/** How each kind of mask replaces values; called once per column. */
const MASKERS: Readonly<Record<MaskKind, (mask: Mask, key: string | null) => (value: Given) => Value>> = {
  hash: (_, key) => {
    const secret = must(key, 'a hash is asked for with its key');
    return (value) => hmac(secret, textOf(value)).slice(0, HASH_CHARS);
  },
  last4: () => (value) => lastFour(textOf(value)),
  year: () => (value) => Number(textOf(value).slice(0, 4)),
  domain: (mask) => (value) => domainOf(textOf(value), mask.from),
  constant: (mask) => () => mask.constant ?? null,
  null: () => () => null,
};

function textOf(value: Given): string {
  return typeof value === 'number' ? numericToPlain(value) : String(value);
}

function hmac(key: string, text: string): string {
  // Commands that hash nothing do not load it: it takes 7 MiB.
  const { createHmac } = process.getBuiltinModule('node:crypto');
  return createHmac('sha256', key).update(text).digest('hex');
}

function lastFour(text: string): Value {
  const characters = Array.from(text);
  return characters.length < LAST4_CHARS_MIN ? null : characters.slice(-4).join('');
}

/** The host of a web address, or what follows the @ of an e-mail address, also of one in angle brackets. */
function domainOf(text: string, from: ColumnType): Value {
  const host = from !== 'EMail' && URL.canParse(text) ? new URL(text).hostname : '';
  const domain = host === '' ? (/@([^@\s<>]+)>?\s*$/.exec(text)?.[1] ?? '') : host;
  return domain === '' ? null : domain.toLowerCase();
}
