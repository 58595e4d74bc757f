/**
 * XML text to a tree of elements, in one pass of saxes, which is strict about XML 1.0. Values stay the text that they
 * were: no numbers are guessed and no spaces trimmed. It also refuses document types (entities, external subsets),
 * other encodings than UTF-8, text mixed with elements, and what exceeds `XmlLimits`.
 */
import { SaxesParser } from 'saxes';
import { must } from '../base/assert.ts';
import { WireFault } from './fault.ts';

/**
 * The bounds of one document: a page of 500 rows with 2,000 columns. Time grows with the length alone: the worst
 * document within these bounds takes a few seconds.
 */
export const XML_LIMITS = {
  charactersMax: 32 * 1024 * 1024,
  /** Elements and attributes in the document. */
  nodesMax: 1_000_000,
  /** Levels of nesting; the deepest document of the specification has 6. */
  depthMax: 16,
  /** Entity and character references in the document. */
  referencesMax: 1_000_000,
  /** Characters of the text of one element. */
  textCharactersMax: 8 * 1024 * 1024,
  /** Characters of one tag: one column name, every character escaped, or the attributes of a row. */
  tagCharactersMax: 16_384,
  /** Characters of a section, a comment, an instruction, or outside of the root: some cost a hundred bytes each. */
  markupCharactersMax: 1024 * 1024,
  /** Characters passed to the parser at once, with a check in between. A usual page fits, because slices cost more. */
  pieceCharacters: 512 * 1024,
};

type XmlLimits = Readonly<typeof XML_LIMITS>;

/** One attribute; its name is as written, prefix included. */
export interface XmlAttribute {
  readonly name: string;
  readonly value: string;
}

/** One element. */
export interface XmlElement {
  /** As written; `nameFromElement` (xml-names.ts) returns the column's name. */
  readonly name: string;
  readonly attributes: readonly XmlAttribute[];
  readonly children: readonly XmlElement[];
  /** Empty if there are children. */
  readonly text: string;
}

/** The value of an attribute; undefined where the element has none of that name. */
export function attributeOf({ attributes }: XmlElement, name: string): string | undefined {
  return attributes.find((attribute) => attribute.name === name)?.value;
}

/** Gets each child of the root when it is complete. The tree then keeps only the last child of the root. */
export type TakeChild = (child: XmlElement) => void;

/** Reads one document. The fault's message names line and column, never a value. */
export function readXml(text: string, limits = XML_LIMITS, takeChild?: TakeChild): XmlElement | WireFault {
  if (text.length > limits.charactersMax) {
    return new WireFault(`The XML document has more than ${limits.charactersMax} characters`, { status: 413 });
  }
  if (!text.isWellFormed()) return new WireFault('The XML document has characters that XML 1.0 does not allow');
  if (hasMoreReferences(text, limits.referencesMax)) {
    return new WireFault(`The XML document has more than ${limits.referencesMax} references`, { status: 413 });
  }
  // Normalizes line ends (XML 1.0, 2.11), because the parser would split text at each carriage return. Most documents
  // have none.
  return new Tree(text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text, limits, takeChild).read();
}

function hasMoreReferences(text: string, countMax: number): boolean {
  let count = 0;
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    count += 1;
    if (count > countMax) return true;
  }
  return false;
}

/** Shared by all elements without children or attributes, which are most of them. */
const NONE: readonly never[] = Object.freeze([]);

interface OpenElement extends XmlElement {
  children: readonly OpenElement[];
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

/** Builds the elements of one document as the parser reports them. */
class Tree {
  readonly #text: string;
  readonly #limits: XmlLimits;
  readonly #takeChild: TakeChild | undefined;
  readonly #parser = new SaxesParser({ position: false, defaultXMLVersion: '1.0', forceXMLVersion: true });
  /** The open elements, from the document, whose only child is the root, to the innermost one. */
  readonly #open: OpenElement[] = [{ name: '', attributes: NONE, children: NONE, text: '' }];
  /** Of the tag being read. */
  #attributes: XmlAttribute[] | undefined;
  #nodeCount = 0;
  /** The end of the last piece while none is being parsed: the parser's own position is wrong then. */
  #pieceEnd: number | null = null;
  /** The parser's position at its last event: after a `>`, or after the `<` that ends a text. */
  #heardAt = 0;

  constructor(text: string, limits: XmlLimits, takeChild: TakeChild | undefined) {
    this.#text = text;
    this.#limits = limits;
    this.#takeChild = takeChild;
    // At most seven handlers: with more, V8 turns the parser into a dictionary, which is twenty times slower.
    const parser = this.#parser;
    parser.on('attribute', (attribute) => {
      this.#countNode();
      (this.#attributes ??= []).push(attribute);
    });
    parser.on('opentag', ({ name }) => this.#begin(name));
    parser.on('closetag', () => this.#end());
    parser.on('text', (piece) => this.#addText(piece));
    parser.on('cdata', (piece) => this.#addText(piece));
    parser.on('comment', () => this.#passOver(parser.position + '>'.length));
    parser.on('processinginstruction', () => this.#passOver(parser.position));
  }

  read(): XmlElement | WireFault {
    const text = this.#text;
    const { pieceCharacters } = this.#limits;
    try {
      for (let at = 0; at < text.length; at += pieceCharacters) {
        const piece = text.slice(at, at + pieceCharacters);
        this.#parser.write(piece);
        this.#pieceEnd = at + piece.length;
        this.#checkProgress();
        this.#pieceEnd = null;
      }
      this.#parser.close();
    } catch (error) {
      if (error instanceof XmlError) return error.fault;
      // The parser throws plain errors. Some end with a name from the document.
      if (!(error instanceof Error) || error.name !== 'Error') throw error;
      return this.#fault(error.message.split(/[.:]/, 1).join(), 400);
    }
    return this.#open[0]?.children[0] ?? new WireFault('The XML document has no element');
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

  /** Checks what comes before the root: the declaration, and that there is no document type. */
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

  #checkTag(position: number): void {
    const { tagCharactersMax } = this.#limits;
    if (position - this.#heardAt < tagCharactersMax) return;
    // The last event was before or after the `<` of this tag, and a tag contains no other one.
    const length = position - this.#text.lastIndexOf('<', position - 1);
    if (length > tagCharactersMax) this.#refuse(`a tag has more than ${tagCharactersMax} characters`);
  }

  /** Checks unfinished markup: the parser reports it only at its end, and document types not at all. */
  #checkProgress(): void {
    const { markupCharactersMax } = this.#limits;
    const at = this.#text.charAt(this.#heardAt) === '<' ? this.#heardAt + 1 : this.#heardAt;
    const isText = this.#text.charAt(at - 1) !== '<';
    if (!isText && !'!?'.includes(this.#text.charAt(at))) this.#checkTag(this.#position);
    else if (this.#position - this.#heardAt > markupCharactersMax && !(isText && this.#open.length > 1)) {
      this.#refuse(`a section or a comment has more than ${markupCharactersMax} characters`, 413);
    }
  }

  #begin(name: string): void {
    const { depthMax } = this.#limits;
    const { position } = this.#parser;
    const depth = this.#open.length;
    if (depth > depthMax) this.#refuse(`elements are nested deeper than ${depthMax} levels`, 413);
    this.#checkTag(position);
    this.#countNode();
    if (depth === 1) this.#checkProlog();
    const element: OpenElement = { name, attributes: this.#attributes ?? NONE, children: NONE, text: '' };
    this.#attributes = undefined;
    const parent = must(this.#open[depth - 1], 'the document is always open');
    this.#requireBlank(parent);
    const isTaken = this.#takeChild !== undefined && depth === 2;
    if (isTaken || parent.children.length === 0) parent.children = [element];
    else (parent.children as OpenElement[]).push(element);
    this.#open.push(element);
    this.#heardAt = position;
  }

  #end(): void {
    const { position } = this.#parser;
    this.#checkTag(position);
    this.#heardAt = position;
    const element = this.#open.pop();
    if (this.#open.length === 2 && element !== undefined) this.#takeChild?.(element);
  }

  /** A comment or an instruction ended here. */
  #passOver(end: number): void {
    if (this.#open.length > 1) this.#heardAt = end;
  }

  /** Text of the open element; it may come in pieces. */
  #addText(piece: string): void {
    this.#heardAt = this.#parser.position;
    const element = this.#open.at(-1);
    if (element === undefined || this.#open.length === 1) return;
    const { textCharactersMax } = this.#limits;
    element.text += piece;
    if (element.text.length > textCharactersMax) {
      this.#refuse(`a value has more than ${textCharactersMax} characters`, 413);
    }
    if (element.children.length > 0) this.#requireBlank(element);
  }

  /** Ignores spaces beside elements, and refuses other text there. */
  #requireBlank(element: OpenElement): void {
    if (element.text === '') return;
    if (/[^ \t\r\n]/.test(element.text)) this.#refuse('text and elements are mixed');
    element.text = '';
  }
}

// oxlint-disable-next-line no-control-regex -- these are the characters that XML 1.0 forbids (2.2)
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;

/** Whether XML can carry the text. */
export function isXmlText(text: string): boolean {
  return !FORBIDDEN.test(text) && text.isWellFormed();
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#xD;' };

/** Text between tags. */
export function escapeText(text: string): string {
  return /[&<>\r]/.test(text) ? text.replaceAll(/[&<>\r]/g, (character) => ESCAPES[character] ?? character) : text;
}
