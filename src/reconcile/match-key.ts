/**
 * Which match values may be one and the same at the origin, although they differ here. The one place that decides this. Pure.
 */
import type { Value } from '../wire/schema.ts';

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

/**
 * The same text for match values that may be one at the origin: its uniqueness may ignore case, accents, width, and blanks at the ends. Values with
 * different keys are certainly different there.
 */
export function matchKey(value: Value): string {
  if (typeof value !== 'string') return String(value ?? '');
  const bare = value.normalize('NFKD').replaceAll(/[\p{M}\p{Cf}]/gu, '');
  const folded = bare.toUpperCase().toLowerCase().trim();
  return folded.replaceAll(/[æœþðđøłħŧı]/gu, (letter) => LOOKALIKES[letter] ?? letter);
}
