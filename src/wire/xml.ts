/**
 * XML documents of the Records API: answers read, rows of a write written (specification 2.4 to 2.8, 4.5 to 4.8; origin facts 2.5).
 * `<Response>` with `<row>` or `<attachment>` elements directly below it, descriptors with plural wrappers around singular
 * items (`<tables><table>`), `<Error>` as the root when the whole request failed. Rows of a write have any names.
 *
 * Documents are brought into the JSON form and read there. So each field is described once, and a number or a boolean may be its text (json.ts,
 * writes.ts, schema.ts).
 */
import { XMLBuilder } from 'fast-xml-parser';

import { RowsyncError } from '../base/errors.ts';
import { TYPE_RULES } from './column-types.ts';
import { WireFault } from './fault.ts';
import * as json from './json.ts';
import type { JsonObject } from './schema.ts';
import { checkInputRows, rowIdFrom, unsendable, type OutgoingCell, type OutgoingRow } from './writes.ts';
import { whyUnreadable } from './unreadable.ts';
import { elementFromName, nameFromElement } from './xml-names.ts';
import {
  escapeText,
  isXmlText,
  readXml,
  XML_LIMITS,
  type TakeChild,
  type XmlAttribute,
  type XmlElement,
} from './xml-tree.ts';
import { readXmlOutput } from './values.ts';

/** Begins every document. */
export const DECLARATION = '<?xml version="1.0" encoding="utf-8"?>';

function readDocument(text: string, what: string, takeChild?: TakeChild): XmlElement {
  const root = readXml(text, XML_LIMITS, takeChild);
  if (!(root instanceof WireFault)) return root;
  if (root.status === 413) throw json.tooCostly(what, root.message);
  throw new RowsyncError('wireFormat', 'origin.truncated', {
    message: `${what}: the answer (${text.length} characters) is not complete XML. ${root.message}`,
    hint: 'The connection was probably cut, or a proxy changed the answer; run the command again.',
  });
}

function readResponse(text: string, what: string, takeChild?: TakeChild): XmlElement {
  const root = readDocument(text, what, takeChild);
  if (root.name === 'Response') return root;
  throw json.unexpected(what, 'the root element is not <Response>');
}

/** Fields that are lists even when they are empty. */
const LIST_FIELDS: ReadonlySet<string> = new Set(['tables', 'columns', 'views', 'errors']);

function fieldsFrom(element: XmlElement): JsonObject {
  return Object.fromEntries(element.children.map((child) => [nameFromElement(child.name), fieldFrom(child)]));
}

function fieldFrom(element: XmlElement): unknown {
  if (isNil(element)) return null;
  const { name, children, text } = element;
  if (LIST_FIELDS.has(name) || (children.length > 0 && children.every((child) => `${child.name}s` === name))) {
    return children.map(fieldFrom);
  }
  return children.length > 0 ? fieldsFrom(element) : text;
}

/** `i:nil="true"`, whatever prefix the sender gave the namespace. */
export function isNil({ attributes }: XmlElement): boolean {
  if (attributes.length === 0) return false;
  return attributes.some(({ name, value }) => name.endsWith(':nil') && (value === 'true' || value === '1'));
}

/** Which part of an answer is asked for: what describes one thing, a list of such descriptions, or rows. */
export type DocumentForm = 'fields' | 'list' | 'rows';

/**
 * Parses an answer to what JSON.parse gives of the same answer in JSON, but that numbers and booleans are their texts.
 * @throws RowsyncError `origin.truncated`, `origin.tooLarge` or `origin.unexpected`.
 */
export function parseXmlBody(text: string, what: string, form: DocumentForm): unknown {
  if (form === 'rows') return parseRows(text, what);
  const root = readResponse(text, what);
  return form === 'list' ? root.children.map(fieldsFrom) : fieldsFrom(root);
}

/** The rows of an answer; no element is kept behind the row that it became. */
function parseRows(text: string, what: string): readonly JsonObject[] {
  const rows: JsonObject[] = [];
  const nameByElement = new Map<string, string>(); // an origin spells all rows alike
  const nameOf = ({ name: element }: XmlElement): string => {
    let name = nameByElement.get(element);
    if (name === undefined) {
      const decoded = nameFromElement(element);
      name = decoded.startsWith('@row.') ? element : decoded; // no column passes for an attribute
      nameByElement.set(element, name);
    }
    return name;
  };
  readResponse(text, what, ({ name, attributes, children }) => {
    if (name !== 'row') throw json.unexpected(what, `element ${rows.length + 1} of the answer is not a <row>`);
    const row = new XmlRow();
    for (const cell of children) row[nameOf(cell)] = rawValueOf(cell);
    for (const attribute of attributes) row[`@row.${attribute.name}`] = fieldOf(attribute);
    rows.push(row);
  });
  return rows;
}

/** The fields of a row: any name is one, even `__proto__`. Literals without a prototype take V8 longer. */
class XmlRow {
  [name: string]: unknown;
}
Object.setPrototypeOf(XmlRow.prototype, null);

/** What JSON has in the place of an attribute of a row. */
function fieldOf({ name, value }: XmlAttribute): unknown {
  if (name === 'id') return rowIdFrom(value);
  return name === 'allow' ? value.trim().replaceAll(/\s+/g, ',') : value;
}

/** The text of a column, null, or the elements that are there instead. */
function rawValueOf(cell: XmlElement): unknown {
  return cell.children.length > 0 ? cell.children : isNil(cell) ? null : cell.text;
}

/** Parses an error like other documents; undefined when the body is something else. */
export function parseXmlError(text: string): unknown {
  const root = readXml(text);
  return root instanceof WireFault || root.name !== 'Error' ? undefined : fieldsFrom(root);
}

export const XML_ROWS: json.RowForm = {
  idName: 'attribute "id"',
  readerOf: readXmlOutput,
  reasonOf: (raw) => (Array.isArray(raw) ? 'elements instead of text' : whyUnreadable(raw, 'text')),
};

/** Whether XML can say every value: an empty text arrives as null, and some control characters not at all. */
export function carriesXmlInput(rows: readonly OutgoingRow[]): boolean {
  return rows.every(({ cells }) =>
    cells.every(({ value }) => typeof value !== 'string' || (value !== '' && isXmlText(value))),
  );
}

/** An element as the builder takes it: its name with what it holds, and its attributes; or a text, which is escaped already. */
type XmlNode = Readonly<Record<string, readonly XmlNode[] | string | Readonly<Record<string, string>>>>;

const BUILDER = new XMLBuilder({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  processEntities: false,
  suppressEmptyNode: true,
});

/**
 * Writes the rows of a write for a user in `zone`.
 * @throws RowsyncError `origin.unsendable` where a value does not fit its type, or has characters that XML cannot carry.
 */
export function writeXmlInputRows(rows: readonly OutgoingRow[], zone: string): string {
  checkInputRows(rows);
  const cellNode = ({ name, type, value }: OutgoingCell): XmlNode => {
    const text = value === null ? '' : TYPE_RULES[type].writeInput(value, zone);
    if (!isXmlText(text)) {
      const complaint = `a value of the column "${name}" has characters that XML cannot carry`;
      throw unsendable(complaint, 'Remove the control characters from the text, or set origin.format to json.');
    }
    return { [elementFromName(name)]: [{ '#text': escapeText(text) }] };
  };
  const nodes = rows.map(({ id, cells }) => {
    const row = cells.map(cellNode);
    return id === null ? { row } : { row, ':@': { id: String(id) } };
  });
  return DECLARATION + BUILDER.build([{ rows: nodes }]);
}
