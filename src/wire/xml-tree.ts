/**
 * XML text to a tree of elements, in one pass of saxes, which is strict about XML 1.0. Values stay the text that they were: no
 * numbers are guessed and no spaces trimmed. Beyond what XML forbids, a document type (entities, external subsets), an encoding
 * other than UTF-8, elements that mix text with elements, and whatever exceeds `XmlLimits` are refused.
 */
import { SaxesParser } from 'saxes';
import { WireFault } from './fault.ts';
import { nameFromElement } from './xml-names.ts';

/** The bounds of one document. */
export interface XmlLimits {
  readonly charactersMax: number;
  /** Elements and attributes in the document. */
  readonly nodesMax: number;
  /** Levels of nesting. */
  readonly depthMax: number;
  /** Entity and character references in the document; carriage returns too. */
  readonly referencesMax: number;
  /** Characters of the text of one element. */
  readonly textCharactersMax: number;
  /** Characters of one tag with its attributes. */
  readonly tagCharactersMax: number;
  /** Characters of a section, a comment, an instruction, or of what is outside of the root: the parser takes a hundred bytes for some of them. */
  readonly markupCharactersMax: number;
}

/**
 * A page of 500 rows with 2,000 columns. The deepest document of the specification has 6 levels. A tag holds one column name,
 * every character escaped, or the attributes of a row. Time grows with the length alone: the worst document within these bounds
 * takes a few seconds.
 */
export const XML_LIMITS: XmlLimits = {
  charactersMax: 32 * 1024 * 1024,
  nodesMax: 1_000_000,
  depthMax: 16,
  referencesMax: 1_000_000,
  textCharactersMax: 8 * 1024 * 1024,
  tagCharactersMax: 16_384,
  markupCharactersMax: 1024 * 1024,
};

/** The parser gets so many characters at once; its progress is looked at in between. */
const PIECE_CHARACTERS = 65_536;

/** One element. */
export interface XmlElement {
  /** Decoded: a column name, where the element is a column. */
  readonly name: string;
  /** By name as written, prefix included. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** Empty where there are children. */
  readonly text: string;
}

/** Gets each child of the root when it is complete; of the root's children, only the last one is kept then. */
export type TakeChild = (child: XmlElement) => void;

/** Reads one document. The fault's message names line and column, never a value. */
export function readXml(text: string, limits = XML_LIMITS, takeChild?: TakeChild): XmlElement | WireFault {
  if (text.length > limits.charactersMax) {
    return new WireFault(`The XML document has more than ${limits.charactersMax} characters`, { status: 413 });
  }
  if (!isXmlText(text)) return new WireFault('The XML document has characters that XML 1.0 does not allow');
  for (const [character, name] of COUNTED) {
    if (!hasMore(text, character, limits.referencesMax)) continue;
    return new WireFault(`The XML document has more than ${limits.referencesMax} ${name}`, { status: 413 });
  }
  return new Tree(limits, takeChild).read(text);
}

const COUNTED = [
  ['&', 'references'],
  ['\r', 'carriage returns'],
] as const;

function hasMore(text: string, character: string, countMax: number): boolean {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) {
    count += 1;
    if (count > countMax) return true;
  }
  return false;
}

const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();

interface OpenElement extends XmlElement {
  children: OpenElement[];
  text: string;
}

/** Carries a fault out of the parser. */
class XmlError extends Error {
  readonly fault: WireFault;

  constructor(fault: WireFault) {
    super(fault.message);
    this.fault = fault;
  }
}

/** The elements of one document, as they come. */
class Tree {
  readonly #limits: XmlLimits;
  readonly #takeChild: TakeChild | undefined;
  readonly #parser = new SaxesParser({ position: false, defaultXMLVersion: '1.0', forceXMLVersion: true });
  /** From the root to the element that is open. */
  readonly #open: OpenElement[] = [];
  readonly #nameByTag = new Map<string, string>();
  #text = '';
  /** Of the tag that is read. */
  #attributes: Map<string, string> | undefined;
  #root: OpenElement | undefined;
  #nodeCount = 0;
  /** Where the tag that is read began; null outside of tags. */
  #tagAt: number | null = null;
  /** Between two pieces, where the last one ended: the parser's own position is wrong then. */
  #pieceEnd: number | null = null;
  /** Where the parser was when it last said something. */
  #heardAt = 0;
  /** Characters of the open element's text, also those that turn out to be spaces between elements. */
  #textLength = 0;

  constructor(limits: XmlLimits, takeChild: TakeChild | undefined) {
    this.#limits = limits;
    this.#takeChild = takeChild;
    // At most seven handlers: with more, V8 keeps the parser as a dictionary, which is twenty times as slow.
    const parser = this.#parser;
    parser.on('opentagstart', ({ name }) => {
      this.#tagAt = parser.position - name.length - 2;
      this.#countNode();
    });
    parser.on('attribute', ({ name, value }) => {
      this.#countNode();
      (this.#attributes ??= new Map<string, string>()).set(name, value);
    });
    parser.on('opentag', ({ name }) => this.#begin(name));
    parser.on('closetag', () => this.#end());
    parser.on('text', (piece) => this.#addText(piece));
    parser.on('cdata', (piece) => this.#addText(piece));
    parser.on('comment', () => {
      if (this.#open.length > 0) this.#heardAt = parser.position + '>'.length;
    });
  }

  read(text: string): XmlElement | WireFault {
    this.#text = text;
    try {
      for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
        const piece = text.slice(at, at + PIECE_CHARACTERS);
        this.#parser.write(piece);
        this.#pieceEnd = at + piece.length;
        this.#checkTag();
        this.#checkMarkup();
        this.#pieceEnd = null;
      }
      this.#parser.close();
    } catch (error) {
      if (error instanceof XmlError) return error.fault;
      // The parser throws plain errors. Some end with a name out of the document.
      if (!(error instanceof Error) || error.name !== 'Error') throw error;
      return this.#fault(error.message.split(/[.:]/, 1).join(), 400);
    }
    return this.#root ?? new WireFault('The XML document has no element');
  }

  get #position(): number {
    return this.#pieceEnd ?? this.#parser.position;
  }

  #fault(complaint: string, status: 400 | 413): WireFault {
    const { line, columnIndex, position } = this.#parser;
    const column = columnIndex - position + this.#position;
    return new WireFault(`The XML document, line ${line}, column ${column}: ${complaint}`, { status });
  }

  #refuse(complaint: string, status: 400 | 413 = 400): never {
    throw new XmlError(this.#fault(complaint, status));
  }

  /** What comes before the root: the declaration, and no document type. */
  #checkProlog(): void {
    const { encoding = 'utf-8' } = this.#parser.xmlDecl;
    if (!/^(?:utf-?8|us-ascii)$/i.test(encoding)) this.#refuse('the encoding is not UTF-8');
    const prolog = this.#text.slice(0, this.#position);
    if (prolog.includes('<!DOCTYPE')) this.#refuse('a document type is not accepted');
  }

  #countNode(): void {
    const { nodesMax } = this.#limits;
    this.#nodeCount += 1;
    if (this.#nodeCount > nodesMax) this.#refuse(`there are more than ${nodesMax} elements and attributes`, 413);
  }

  #checkTag(): void {
    const { tagCharactersMax } = this.#limits;
    if (this.#tagAt === null || this.#position - this.#tagAt <= tagCharactersMax) return;
    this.#refuse(`a tag has more than ${tagCharactersMax} characters`);
  }

  /** The parser says nothing of a section before it ends, and nothing at all of instructions and document types. */
  #checkMarkup(): void {
    const { markupCharactersMax } = this.#limits;
    while (this.#position - this.#heardAt > markupCharactersMax) {
      // Behind text it was heard with the `<`, else right before.
      const at = this.#text.charAt(this.#heardAt) === '<' ? this.#heardAt + 1 : this.#heardAt;
      const mark = this.#text.charAt(at - 1) === '<' ? this.#text.charAt(at) : '';
      if (mark !== '!' && mark !== '?' && this.#open.length > 0) return;
      const end =
        mark === '?' && this.#open.length > 0 ? this.#text.slice(at, at + markupCharactersMax).indexOf('?>') : -1;
      if (end < 0) this.#refuse(`a section or a comment has more than ${markupCharactersMax} characters`, 413);
      // The text behind an instruction is none of it.
      this.#heardAt = at + end + '?>'.length;
    }
  }

  #begin(name: string): void {
    const { depthMax } = this.#limits;
    if (this.#open.length >= depthMax) this.#refuse(`elements are nested deeper than ${depthMax} levels`, 413);
    this.#checkTag();
    const element: OpenElement = {
      name: this.#nameOf(name),
      attributes: this.#attributes ?? NO_ATTRIBUTES,
      children: [],
      text: '',
    };
    this.#attributes = undefined;
    const parent = this.#open.at(-1);
    if (parent === undefined) {
      this.#checkProlog();
      this.#root = element;
    } else {
      this.#requireBlank(parent);
      const isTaken = this.#takeChild !== undefined && parent === this.#root;
      if (isTaken) parent.children = [element];
      else parent.children.push(element);
    }
    this.#open.push(element);
    this.#textLength = 0;
    this.#tagAt = null;
    this.#heardAt = this.#parser.position;
  }

  #end(): void {
    const element = this.#open.pop();
    if (this.#open.length === 1 && element !== undefined) this.#takeChild?.(element);
    this.#textLength = 0;
    this.#heardAt = this.#parser.position;
  }

  /** Text of the open element; it may come in pieces. */
  #addText(piece: string): void {
    this.#heardAt = this.#parser.position;
    const element = this.#open.at(-1);
    if (element === undefined) return;
    const { textCharactersMax } = this.#limits;
    this.#textLength += piece.length;
    if (this.#textLength > textCharactersMax) {
      this.#refuse(`a value has more than ${textCharactersMax} characters`, 413);
    }
    element.text += piece;
    if (element.children.length > 0) this.#requireBlank(element);
  }

  /** Spaces beside elements are nothing. */
  #requireBlank(element: OpenElement): void {
    if (/[^ \t\r\n]/.test(element.text)) this.#refuse('text and elements are mixed');
    element.text = '';
  }

  #nameOf(tag: string): string {
    if (!tag.includes('_x')) return tag;
    let name = this.#nameByTag.get(tag);
    if (name === undefined) this.#nameByTag.set(tag, (name = nameFromElement(tag)));
    return name;
  }
}

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
  return text.toWellFormed().replaceAll(FORBIDDEN_ALL, '\ufffd');
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
