/**
 * Column names as XML element names, and back (specification 2.4). Every UTF-16 code unit not allowed at its position
 * in an XML 1.0 (fourth edition) name becomes `_xHHHH_`. A character outside the BMP therefore takes two escapes. An
 * underscore becomes `_x005f_` only where it would otherwise read as the start of an escape.
 *
 * Invariant: `nameFromElement(elementFromName(name)) === name` for every name. XML allows a colon in a name, so the
 * rule does not escape it, but namespace-aware readers take what comes before it for a prefix. Both forms are read; the
 * client writes the escape, which no reader of the rule mistakes. Yet .NET, whose XmlConvert the rule describes, writes
 * eight digits for characters outside the BMP. They are read here, never written. Character classes:
 * https://www.w3.org/TR/2006/REC-xml-20060816/, appendix B.
 */
import { BASE_CHAR, COMBINING_CHAR, DIGIT, EXTENDER, IDEOGRAPHIC } from 'xmlchars/xml/1.0/ed4.js';
import { assert } from '../base/assert.ts';

const LETTER = BASE_CHAR + IDEOGRAPHIC;
/** What may be inside a name, without the colon. */
const INNER = `${LETTER}${COMBINING_CHAR}${DIGIT}${EXTENDER}._\\-`;

/** Makes a writer of element names; `kept` is a colon where names keep theirs, and else empty. */
export function elementWriter(kept: '' | ':'): (name: string) => string {
  const firstUnit = new RegExp(`[${LETTER}_${kept}]`);
  const innerUnit = new RegExp(`[${INNER}${kept}]`);
  // No underscore, and nothing to escape.
  const plainName = new RegExp(`^[${LETTER}${kept}](?:(?!_)[${INNER}${kept}])*$`);
  // An underscore that would read as an escape once the rest of the name is written. What closes it is an underscore,
  // or a unit that becomes an escape itself and so begins with one. The capital X and eight digits are escapes to .NET.
  const escape = new RegExp(`_[xX](?:[0-9A-Fa-f]{8}|[0-9A-Fa-f]{4})(?:_|[^${INNER}${kept}])`, 'y');
  const isEscaped = (name: string, at: number): boolean => {
    if (name.charAt(at) !== '_') return !(at === 0 ? firstUnit : innerUnit).test(name.charAt(at));
    escape.lastIndex = at;
    return escape.test(name);
  };
  return (name) => {
    assert(name !== '', 'a column has a name');
    if (plainName.test(name)) return name;
    return name
      .split('')
      .map((unit, at) => (isEscaped(name, at) ? escapeOf(unit) : unit))
      .join('');
  };
}

/** The element name of a column name, as the client writes it. The name has at least one character. */
export const elementFromName = elementWriter('');

function escapeOf(unit: string): string {
  return `_x${unit.charCodeAt(0).toString(16).padStart(4, '0')}_`;
}

const ESCAPE = /_x(?:([0-9A-Fa-f]{4})|([0-9A-Fa-f]{8}))_/g;

/** The column name of an element name. */
export function nameFromElement(element: string): string {
  if (!element.includes('_x')) return element;
  return element.replaceAll(ESCAPE, (escape: string, unit: string | undefined, wide: string | undefined) => {
    if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16));
    const codePoint = Number.parseInt(wide ?? '', 16);
    return codePoint >= 0x1_0000 && codePoint <= 0x10_ffff ? String.fromCodePoint(codePoint) : escape;
  });
}
