/**
 * XML text to a tree of elements, through fast-xml-parser. Every value stays the text it was: no numbers, booleans or
 * dates are guessed, no spaces trimmed, `00123` and `1e5` are what was sent. Comments and processing instructions are
 * gone, CDATA is text, line ends are `\n` (XML 1.0, 2.11), references are characters. Element names are decoded (xml-names.ts).
 * The tree is made in the parser's callbacks: they are quicker than going through what it would make by itself.
 *
 * Input has passed xml-check.ts, which also owns the bounds; the parser's own entity machinery never runs. Every
 * element name carries a prefix inside the parser, because it refuses columns that are called `constructor` or
 * `__proto__`. Elements hold either elements or text; both at once is a fault. Pure.
 */
import { XMLParser, type JPathOrMatcher } from 'fast-xml-parser';

import { WireFault } from './fault.ts';
import { checkXml, XML_LIMITS, type XmlLimits } from './xml-check.ts';
import { nameFromElement } from './xml-names.ts';
import { resolveReferences } from './xml-text.ts';

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

/** Keeps element names apart from JavaScript's own; not a character that an XML name can begin with. */
const PREFIX = '$';

type ParserOptions = NonNullable<ConstructorParameters<typeof XMLParser>[0]>;

const OPTIONS: ParserOptions = {
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: PREFIX,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  maxNestedTags: XML_LIMITS.depthMax,
  jPath: false,
  // Empty elements pass twice through here.
  transformTagName: (name) => (name.startsWith(PREFIX) ? name : PREFIX + name),
  entityDecoder: {
    setExternalEntities: () => undefined,
    addInputEntities: () => {
      throw new Error('a document type came through'); // xml-check.ts refuses it; a second lock costs nothing
    },
    reset: () => undefined,
    setXmlVersion: () => undefined,
    decode: resolveReferences,
  },
};

/** Reads one document. The fault's message names line and column, never a value. */
export function readXml(text: string, limits: XmlLimits = XML_LIMITS): XmlElement | WireFault {
  const checked = checkXml(text, limits);
  if (checked instanceof WireFault) return checked;
  const tree = new Tree();
  const parser = new XMLParser({
    ...OPTIONS,
    // `false` and the empty text keep the parser from making a tree of its own.
    attributeValueProcessor: (name, value) => tree.attribute(name, value),
    updateTag: (tag, path) => {
      tree.open(tag, depthOf(path));
      return false;
    },
    tagValueProcessor: (_tag, value, path) => {
      tree.text(value, depthOf(path));
      return '';
    },
  });
  try {
    parser.parse(checked);
  } catch {
    return new WireFault('The XML document cannot be parsed'); // the parser's message may quote the document
  }
  return tree.root();
}

function depthOf(path: JPathOrMatcher): number {
  if (typeof path === 'string') throw new Error('the place is a text'); // cannot be: `jPath` is false
  return path.getDepth();
}

const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();

interface OpenElement extends XmlElement {
  readonly children: OpenElement[];
  text: string;
}

/** The elements of one document, as they come. */
class Tree {
  /** The root, and below it the last element of each level. */
  readonly #open: OpenElement[] = [];
  readonly #nameByTag = new Map<string, string>();
  #attributes: Map<string, string> | undefined;
  #isMixed = false;

  root(): XmlElement | WireFault {
    if (this.#isMixed) return new WireFault('The XML document mixes text and elements');
    return this.#open[0] ?? new WireFault('The XML document has no element');
  }

  /** An attribute of the element that begins next. */
  attribute(name: string, value: string): void {
    (this.#attributes ??= new Map<string, string>()).set(name, value);
  }

  /** An element begins, at a depth from 1. */
  open(tag: string, depth: number): void {
    const element = { name: this.#nameOf(tag), attributes: this.#attributes ?? NO_ATTRIBUTES, children: [], text: '' };
    this.#attributes = undefined;
    this.#open[depth - 1] = element;
    const parent = this.#open[depth - 2];
    if (parent === undefined) return;
    parent.children.push(element);
    this.#settle(parent);
  }

  /** Text of the element at a depth; it may come in pieces. */
  text(piece: string, depth: number): void {
    const element = this.#open[depth - 1];
    if (element === undefined) return;
    element.text += piece;
    if (element.children.length > 0) this.#settle(element);
  }

  /** Spaces beside elements are nothing. */
  #settle(element: OpenElement): void {
    if (element.text === '') return;
    if (/[^ \t\r\n]/.test(element.text)) this.#isMixed = true;
    element.text = '';
  }

  #nameOf(tag: string): string {
    let name = this.#nameByTag.get(tag);
    if (name === undefined) this.#nameByTag.set(tag, (name = nameFromElement(tag.slice(PREFIX.length))));
    return name;
  }
}
