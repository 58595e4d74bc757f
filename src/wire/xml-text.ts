/**
 * Characters of XML 1.0 text and attributes: which are allowed, and how they are escaped. A carriage
 * return leaves as `&#xD;`, because parsers turn a bare one into a line feed (XML 1.0, 2.11). What XML cannot hold at all (most
 * control characters, half a surrogate pair) is replaced by U+FFFD when the sandbox answers. The client asks `isXmlText` first
 * and never sends it.
 */

// oxlint-disable-next-line no-control-regex -- these are the characters that XML 1.0 forbids (2.2)
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;
const FORBIDDEN_ALL = new RegExp(FORBIDDEN, 'g');

/** Whether XML can carry the text. */
export function isXmlText(text: string): boolean {
  return !FORBIDDEN.test(text) && text.isWellFormed();
}

/** Text between tags. */
export function escapeText(text: string): string {
  return /[&<>\r]/.test(text) ? text.replaceAll(/[&<>\r]/g, escapeCharacter) : text;
}

/** The value of an attribute, without its quotes. */
export function escapeAttribute(text: string): string {
  return text.replaceAll(/[&<>\r\n\t"]/g, escapeCharacter);
}

/** Text that XML can carry: the same wherever possible. */
export function xmlText(text: string): string {
  return isXmlText(text) ? text : text.toWellFormed().replaceAll(FORBIDDEN_ALL, '\ufffd');
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ['\r', '&#xD;'],
  ['\n', '&#xA;'],
  ['\t', '&#x9;'],
]);

function escapeCharacter(character: string): string {
  return ESCAPES.get(character) ?? character;
}

/** The entities of XML 1.0 itself; no others are accepted. */
export const XML_ENTITIES: Record<string, string> = Object.assign(Object.create(null) as Record<string, string>, {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
});
