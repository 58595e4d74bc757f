/**
 * Whether a text is well-formed XML 1.0 without a document type, within bounds. The parser of fast-xml-parser takes
 * almost anything: a truncated document, two roots, `</b>` for `</a>`, `&#0;`. Its validator (deprecated) stops some of
 * that, but lets through a DOCTYPE, `<a/><b/>`, unknown entities and forbidden characters. So every document is checked
 * here first, in one linear pass, and only what passes is parsed.
 *
 * Refused beyond the XML 1.0 rules: any `<!` declaration (entities, external subsets), an encoding other than UTF-8,
 * and whatever exceeds `XmlLimits`. Complaints name line and column and quote nothing. Pure.
 */
import { WireFault } from './fault.ts';
import { characterOf, isXmlText, REFERENCE } from './xml-text.ts';

/** The bounds of one document. */
export interface XmlLimits {
  readonly charactersMax: number;
  /** Elements and attributes in the document. */
  readonly nodesMax: number;
  /** Levels of nesting. */
  readonly depthMax: number;
  /** Entity and character references in the document. */
  readonly referencesMax: number;
  /** Characters of the text of one element. */
  readonly textCharactersMax: number;
  /** Characters of one tag with its attributes. */
  readonly tagCharactersMax: number;
}

/**
 * A page of 500 rows with 2,000 columns. The deepest document of the specification has 6 levels. A tag holds one column name,
 * every character escaped, or the attributes of a row. The worst document within these bounds takes about five seconds (measured:
 * 32 M characters of text), a million references or elements about one.
 */
export const XML_LIMITS: XmlLimits = {
  charactersMax: 32 * 1024 * 1024,
  nodesMax: 1_000_000,
  depthMax: 16,
  referencesMax: 1_000_000,
  textCharactersMax: 8 * 1024 * 1024,
  tagCharactersMax: 16_384,
};

const START =
  ':A-Z_a-z\\xc0-\\xd6\\xd8-\\xf6\\xf8-\\u02ff\\u0370-\\u037d\\u037f-\\u1fff\\u200c\\u200d\\u2070-\\u218f' +
  '\\u2c00-\\u2fef\\u3001-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\ufffd\\u{10000}-\\u{effff}';
/** Names of the fifth edition: every name of the fourth is one. */
const NAME = new RegExp(`^[${START}][${START}\\-.0-9\\xb7\\u0300-\\u036f\\u203f\\u2040]*$`, 'u');

const SPACE = '[ \\t\\r\\n]';
const RAW_NAME = '[^\\s<>=/"\'&;!?]+';
const ATTRIBUTE = `${SPACE}+(${RAW_NAME})${SPACE}*=${SPACE}*("[^<"]*"|'[^<']*')`;
/** Group 1: `/` of a closing tag; 2: name; 3: attributes; 4: `/` of an empty element. */
const TAG = new RegExp(`<(/?)(${RAW_NAME})((?:${ATTRIBUTE.replaceAll('(', '(?:')})*)${SPACE}*(/?)>`, 'y');
const EACH_ATTRIBUTE = new RegExp(ATTRIBUTE, 'g');
/** Nearly every tag: a name alone. */
const BARE_TAG = new RegExp(`<(/?)(${RAW_NAME})>`, 'y');

const DECLARATION = new RegExp(
  `^<\\?xml${SPACE}+version${SPACE}*=${SPACE}*(?:"1\\.\\d+"|'1\\.\\d+')` +
    `(?:${SPACE}+encoding${SPACE}*=${SPACE}*["']([A-Za-z][\\w.\\-]*)["'])?` +
    `(?:${SPACE}+standalone${SPACE}*=${SPACE}*["'](?:yes|no)["'])?${SPACE}*\\?>`,
);

/**
 * The text without its XML declaration and processing instructions, or what is wrong with it. The parser would stumble over
 * those: a lone apostrophe in one swallows what follows.
 */
export function checkXml(text: string, limits: XmlLimits = XML_LIMITS): string | WireFault {
  if (text.length > limits.charactersMax) {
    return new WireFault(`The XML document has more than ${limits.charactersMax} characters`, { status: 413 });
  }
  if (!isXmlText(text)) return new WireFault('The XML document has characters that XML 1.0 does not allow');
  return new Check(text, limits).run();
}

/** One pass over a document. Positions are indexes of UTF-16 code units. */
class Check {
  readonly #text: string;
  readonly #limits: XmlLimits;
  readonly #open: string[] = [];
  readonly #names = new Set<string>();
  readonly #kept: string[] = [];
  #keptFrom = 0;
  #at = 0;
  #nodeCount = 0;
  #referenceCount = 0;
  #nextReference = -1;
  #nextSectionEnd = -1;
  #textLength = 0;
  #fault: WireFault | undefined;

  constructor(text: string, limits: XmlLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  run(): string | WireFault {
    this.#declaration();
    // Each turn consumes at least one character or ends the loop.
    while (this.#fault === undefined) {
      const markupAt = this.#text.indexOf('<', this.#at);
      this.#characters(this.#at, markupAt === -1 ? this.#text.length : markupAt);
      if (markupAt === -1 || this.#fault !== undefined) break;
      this.#markup(markupAt);
    }
    if (this.#fault !== undefined) return this.#fault;
    if (this.#open.length > 0) return new WireFault('The XML document ends before its elements do');
    if (this.#nodeCount === 0) return new WireFault('The XML document has no element');
    if (this.#kept.length === 0) return this.#keptFrom === 0 ? this.#text : this.#text.slice(this.#keptFrom);
    return this.#kept.join('') + this.#text.slice(this.#keptFrom);
  }

  /** What is well-formed, but more than the bounds allow. */
  #exceed(at: number, complaint: string): void {
    this.#complain(at, complaint, 413);
  }

  #complain(at: number, complaint: string, status: 400 | 413 = 400): void {
    let line = 1;
    let lineAt = 0;
    for (let next = this.#text.indexOf('\n'); next !== -1 && next < at; next = this.#text.indexOf('\n', lineAt)) {
      line += 1;
      lineAt = next + 1;
    }
    const column = at - lineAt + 1;
    this.#fault ??= new WireFault(`The XML document, line ${line}, column ${column}: ${complaint}`, { status });
  }

  #declaration(): void {
    if (this.#text.startsWith('\ufeff')) this.#at = 1;
    if (!/^<\?xml[\s?]/.test(this.#text.slice(this.#at, this.#at + 6))) {
      this.#keptFrom = this.#at;
      return;
    }
    const declaration = DECLARATION.exec(this.#text.slice(this.#at, this.#at + this.#limits.tagCharactersMax));
    if (declaration === null) return this.#complain(this.#at, 'the XML declaration is not one of XML 1.0');
    const encoding = declaration[1] ?? 'utf-8';
    if (!/^(?:utf-?8|us-ascii)$/i.test(encoding)) return this.#complain(this.#at, 'the encoding is not UTF-8');
    this.#at += declaration[0].length;
    this.#keptFrom = this.#at;
  }

  #characters(from: number, to: number): void {
    if (this.#open.length === 0) {
      if (/[^ \t\r\n]/.test(this.#text.slice(from, to)))
        this.#complain(from, 'there is text outside of the root element');
      return;
    }
    this.#countText(from, to - from);
    this.#references(from, to);
    if (this.#nextSectionEnd < from) this.#nextSectionEnd = this.#indexAfter(']]>', from);
    if (this.#nextSectionEnd < to) this.#complain(this.#nextSectionEnd, '"]]>" stands in text');
  }

  /** Text of the element that is open; a tag ends it, a comment does not. */
  #countText(at: number, length: number): void {
    this.#textLength += length;
    const { textCharactersMax } = this.#limits;
    if (this.#textLength > textCharactersMax) this.#exceed(at, `a value has more than ${textCharactersMax} characters`);
  }

  /** Like indexOf, but past the end where there is none, so that the answer can be kept until it is passed. */
  #indexAfter(text: string, from: number): number {
    const at = this.#text.indexOf(text, from);
    return at === -1 ? this.#text.length + 1 : at;
  }

  #references(from: number, to: number): void {
    if (this.#nextReference < from) this.#nextReference = this.#indexAfter('&', from);
    while (this.#nextReference < to) {
      REFERENCE.lastIndex = this.#nextReference;
      const reference = REFERENCE.exec(this.#text);
      if (reference === null || characterOf(reference) === undefined) {
        return this.#complain(this.#nextReference, 'an ampersand begins no character that XML allows');
      }
      this.#referenceCount += 1;
      if (this.#referenceCount > this.#limits.referencesMax) {
        return this.#exceed(this.#nextReference, `there are more than ${this.#limits.referencesMax} references`);
      }
      this.#nextReference = this.#indexAfter('&', REFERENCE.lastIndex);
    }
  }

  #markup(at: number): void {
    const text = this.#text;
    if (text.startsWith('<!--', at)) {
      const endAt = text.indexOf('--', at + 4);
      if (endAt === -1) return this.#complain(at, 'a comment does not end');
      if (text[endAt + 2] !== '>') return this.#complain(endAt, '"--" stands in a comment');
      this.#at = endAt + 3;
    } else if (text.startsWith('<![CDATA[', at)) {
      const endAt = text.indexOf(']]>', at + 9);
      if (endAt === -1) return this.#complain(at, 'a CDATA section does not end');
      if (this.#open.length === 0) return this.#complain(at, 'there is text outside of the root element');
      this.#countText(at, endAt - at);
      this.#at = endAt + 3;
    } else if (text.startsWith('<!', at)) {
      this.#complain(at, 'a document type or another declaration is not accepted');
    } else if (text.startsWith('<?', at)) {
      this.#instruction(at);
    } else {
      this.#tag(at);
    }
  }

  #instruction(at: number): void {
    const endAt = this.#text.indexOf('?>', at + 2);
    if (endAt === -1) return this.#complain(at, 'a processing instruction does not end');
    const target = /^[^\s?]*/.exec(this.#text.slice(at + 2, at + 2 + 256))?.[0] ?? '';
    if (!NAME.test(target) || target.toLowerCase() === 'xml') {
      return this.#complain(at, 'a processing instruction has no allowed name');
    }
    this.#kept.push(this.#text.slice(this.#keptFrom, at));
    this.#at = endAt + 2;
    this.#keptFrom = this.#at;
  }

  #tag(at: number): void {
    this.#textLength = 0;
    const tag = this.#tagAt(at);
    if (tag === null || tag[0].length > this.#limits.tagCharactersMax) {
      return this.#complain(at, `this is no tag, or one of more than ${this.#limits.tagCharactersMax} characters`);
    }
    const [all, closing, name = '', attributes = '', empty] = tag;
    this.#at = at + all.length;
    if (closing === '/') {
      if (attributes !== '' || empty === '/') return this.#complain(at, 'a closing tag holds only its name');
      if (this.#open.pop() !== name) this.#complain(at, 'a closing tag does not match the element it closes');
      return;
    }
    if (!this.#isName(name)) return this.#complain(at, 'the tag has no allowed name');
    if (this.#open.length === 0 && this.#nodeCount > 0) return this.#complain(at, 'there is a second root element');
    this.#countNode(at);
    if (this.#open.length >= this.#limits.depthMax) {
      return this.#exceed(at, `elements are nested deeper than ${this.#limits.depthMax} levels`);
    }
    if (attributes !== '') this.#attributes(at + 1 + name.length, attributes);
    if (empty !== '/') this.#open.push(name);
  }

  #tagAt(at: number): RegExpExecArray | null {
    BARE_TAG.lastIndex = at;
    const bare = BARE_TAG.exec(this.#text);
    if (bare !== null) return bare;
    // The window bounds the work, and the stack that the expression takes for a tag with very many attributes.
    TAG.lastIndex = 0;
    return TAG.exec(this.#text.slice(at, at + this.#limits.tagCharactersMax));
  }

  #countNode(at: number): void {
    this.#nodeCount += 1;
    if (this.#nodeCount <= this.#limits.nodesMax) return;
    this.#exceed(at, `there are more than ${this.#limits.nodesMax} elements and attributes`);
  }

  #attributes(at: number, attributes: string): void {
    const seen = new Set<string>();
    for (const [, name = ''] of attributes.matchAll(EACH_ATTRIBUTE)) {
      if (!this.#isName(name)) return this.#complain(at, 'an attribute has no allowed name');
      if (seen.has(name)) return this.#complain(at, 'an attribute stands twice');
      seen.add(name);
      this.#countNode(at);
    }
    this.#references(at, at + attributes.length);
  }

  /** The same few names come again and again. */
  #isName(name: string): boolean {
    if (this.#names.has(name)) return true;
    const isName = NAME.test(name);
    if (isName) this.#names.add(name);
    return isName;
  }
}
