/**
 * Limits what parsing a JSON text may cost, before it is parsed. A few kilobytes of gzip can unpack to millions of
 * brackets or numbers, which the parser turns into hundreds of megabytes: enough to run out of memory.
 */

/** Levels of nesting; the deepest document of the specification has five. */
const DEPTH_MAX = 64;
/** Characters of one text. The longest column of the service holds much less, and files do not travel in rows. */
const TEXT_CHARACTERS_MAX = 8 * 1_024 * 1_024;
/** Up to this length, a text of nothing but values costs some 50 MB: with few brackets, it is not checked further. */
const SMALL_CHARACTERS = 1_024 * 1_024;
/** Brackets and braces of such a text. A page of 500 rows has 501; even nested, this many are harmless. */
const SMALL_BRACKETS = 1_000;

/** The values of 500 rows with 2,000 columns, or of 200,000 changed rows. As long decimals, they cost 300 MB. */
const VALUES_MAX = 1_200_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Why a text must not be parsed, in words; null where it may. It need not be JSON. */
export function overBudget(text: string): string | null {
  if (text.length <= SMALL_CHARACTERS && hasFewBrackets(text)) return null;
  let depth = 0;
  let valueCount = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfText(text, at + 1);
        if (end - at - 1 > TEXT_CHARACTERS_MAX) return `it has a value of more than ${TEXT_CHARACTERS_MAX} characters`;
        at = end;
        break;
      }
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth += 1;
        valueCount += 1;
        if (depth > DEPTH_MAX) return `it is nested deeper than ${DEPTH_MAX} levels`;
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        break;
      case COMMA:
        valueCount += 1;
        break;
      default:
    }
    if (valueCount > VALUES_MAX) return `it has more than ${VALUES_MAX} values`;
  }
  return null;
}

function hasFewBrackets(text: string): boolean {
  let count = 0;
  for (const bracket of ['[', '{']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      count += 1;
      if (count > SMALL_BRACKETS) return false;
    }
  }
  return true;
}

/** The position of the quote that ends a string, or the length of the text if there is none. */
function endOfText(text: string, from: number): number {
  let at = text.indexOf('"', from);
  while (at !== -1) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at;
    at = text.indexOf('"', at + 1);
  }
  return text.length;
}
