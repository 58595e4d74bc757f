/**
 * Which match values may be one and the same at the origin, although they differ here. Pure.
 */
import type { ColumnType, Value } from '../wire/schema.ts';
import { isSameValue } from './diff.ts';

/** Whether two values may be one at the origin, whose uniqueness may ignore case, accents, width, and blanks at the ends. */
export function isSameAtOrigin(type: ColumnType, one: Value, other: Value): boolean {
  if (isSameValue(type, one, other)) return true;
  return typeof one === 'string' && typeof other === 'string' && matchKey(one) === matchKey(other);
}

/** Letters that Unicode does not take apart, and that an origin may treat as others. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ð: 'd',
  đ: 'd',
  ø: 'o',
  ł: 'l',
  ħ: 'h',
  ŧ: 't',
  ı: 'i',
};

/** Values with different keys are certainly different at the origin. */
export function matchKey(value: Value): string {
  if (typeof value !== 'string') return String(value ?? '');
  const bare = value.normalize('NFKD').replaceAll(/[\p{M}\p{Cf}]/gu, '');
  const folded = bare.toUpperCase().toLowerCase().trim();
  return folded.replaceAll(/[æœþðđøłħŧı]/gu, (letter) => LOOKALIKES[letter] ?? letter);
}
