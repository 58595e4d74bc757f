/**
 * XML text to a tree of elements, through fast-xml-parser. Every value stays the text it was: no numbers, booleans or
 * dates are guessed, no spaces trimmed, `00123` and `1e5` are what was sent. Comments and processing instructions are
 * gone, CDATA is text, line ends are `\n` (XML 1.0, 2.11), references are characters. Element names are decoded (xml-names.ts).
 *
 * Input has passed xml-check.ts, which also owns the bounds; the parser's own entity machinery never runs. Every
 * element name carries a prefix inside the parser, because it refuses columns that are called `constructor` or
 * `__proto__`. Elements hold either elements or text; both at once is a fault. Pure.
 */
import { XMLParser } from 'fast-xml-parser';

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
const TEXT = '#text';
const ATTRIBUTES = ':@';

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: PREFIX,
  textNodeName: TEXT,
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
});

/** What the parser makes of one element or text: a single key, plus the attributes if there are any. */
type ParsedNode = Readonly<Record<string, readonly ParsedNode[] | string | Readonly<Record<string, string>>>>;

/** Reads one document. The fault's message names line and column, never a value. */
export function readXml(text: string, limits: XmlLimits = XML_LIMITS): XmlElement | WireFault {
  const checked = checkXml(text, limits);
  if (checked instanceof WireFault) return checked;
  let nodes: readonly ParsedNode[];
  try {
    nodes = parser.parse(checked) as readonly ParsedNode[]; // the shape that preserveOrder gives
  } catch {
    return new WireFault('The XML document cannot be parsed'); // the parser's message may quote the document
  }
  const root = nodes.find((node) => !(TEXT in node));
  return root === undefined ? new WireFault('The XML document has no element') : elementFrom(root, new Map());
}

const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();

function elementFrom(node: ParsedNode, nameByTag: Map<string, string>): XmlElement | WireFault {
  const tag = Object.keys(node)[0] ?? '';
  let name = nameByTag.get(tag);
  if (name === undefined) nameByTag.set(tag, (name = nameFromElement(tag.slice(PREFIX.length))));
  const children: XmlElement[] = [];
  let text = '';
  for (const item of node[tag] as readonly ParsedNode[]) {
    const itemText = item[TEXT];
    if (typeof itemText === 'string') {
      text += itemText;
      continue;
    }
    const child = elementFrom(item, nameByTag);
    if (child instanceof WireFault) return child;
    children.push(child);
  }
  if (children.length > 0 && text !== '') {
    if (/[^ \t\r\n]/.test(text)) return new WireFault('The XML document mixes text and elements');
    text = '';
  }
  return {
    name,
    attributes: attributesFrom(node[ATTRIBUTES] as Readonly<Record<string, string>> | undefined),
    children,
    text,
  };
}

function attributesFrom(attributes: Readonly<Record<string, string>> | undefined): ReadonlyMap<string, string> {
  if (attributes === undefined) return NO_ATTRIBUTES;
  return new Map(Object.entries(attributes).map(([name, value]) => [name.slice(PREFIX.length), value]));
}
