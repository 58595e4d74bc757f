/**
 * Characters of XML 1.0 text and attributes: escaped on the way out, references resolved on the way in. A carriage
 * return leaves as `&#xD;`, because parsers turn a bare one into a line feed (XML 1.0, 2.11). What XML cannot hold at all (most
 * control characters, half a surrogate pair) is replaced by U+FFFD when the sandbox answers. The client asks `isXmlText` first
 * and never sends it. Pure.
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

/** A reference to a character, at `lastIndex`; group 1 is a name, 2 a decimal number, 3 a hexadecimal one. */
export const REFERENCE = /&(?:(amp|lt|gt|quot|apos)|#(\d{1,8})|#x([0-9A-Fa-f]{1,8}));/y;

const NAMED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

/** The character that a match of `REFERENCE` stands for; undefined where XML does not allow it. */
export function characterOf(reference: RegExpExecArray): string | undefined {
  const [, name, decimal, hexadecimal] = reference;
  if (name !== undefined) return NAMED.get(name);
  const codePoint = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number.parseInt(decimal, 10);
  if (codePoint > 0x10_ffff) return undefined;
  const character = String.fromCodePoint(codePoint);
  return isXmlText(character) ? character : undefined;
}

/** Text with its references resolved; the text has passed `checkXml`. */
export function resolveReferences(text: string): string {
  let from = 0;
  let resolved = '';
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', from)) {
    REFERENCE.lastIndex = at;
    const reference = REFERENCE.exec(text);
    if (reference === null) break; // cannot be: checkXml refused it
    resolved += text.slice(from, at) + (characterOf(reference) ?? '');
    from = REFERENCE.lastIndex;
  }
  return from === 0 ? text : resolved + text.slice(from);
}
