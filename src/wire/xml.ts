/**
 * XML documents of the Records API: answers read, rows of a write written (specification 2.4 to 2.8, 4.5 to 4.8; origin
 * facts 2.5). `<Response>` with `<row>` or `<attachment>` elements directly below it, descriptors with plural wrappers
 * around singular items (`<tables><table>`), `<Error>` as the root if the request failed.
 *
 * Documents are converted to their JSON form and read by json.ts and writes.ts, so that each field is described once
 * (schema.ts). Numbers and booleans may therefore be text there. Pages of rows, where time matters, are converted
 * directly to and from `Value`s.
 */
import { XMLBuilder } from 'fast-xml-parser';

import { RowsyncError } from '../base/errors.ts';
import { TYPE_RULES, type ValueReader } from './column-types.ts';
import { WireFault } from './fault.ts';
import * as json from './json.ts';
import type { ColumnShape, JsonObject, RowPage, Value } from './schema.ts';
import { checkInputRows, rowIdFrom, unsendable, type OutgoingCell, type OutgoingRow } from './writes.ts';
import { whyUnreadable, type UnreadableCell } from './unreadable.ts';
import { elementFromName, nameFromElement } from './xml-names.ts';
import {
  attributeOf,
  escapeText,
  isXmlText,
  readXml,
  XML_LIMITS,
  type TakeChild,
  type XmlElement,
} from './xml-tree.ts';
import { columnReader, readXmlOutput } from './values.ts';

/** Begins every document. */
export const DECLARATION = '<?xml version="1.0" encoding="utf-8"?>';

function readResponse(text: string, what: string, takeChild?: TakeChild): XmlElement {
  const root = readXml(text, XML_LIMITS, takeChild);
  if (!(root instanceof WireFault)) {
    if (root.name === 'Response') return root;
    throw json.unexpected(what, 'the root element is not <Response>');
  }
  if (root.status === 413) throw json.tooCostly(what, root.message);
  throw new RowsyncError('wireFormat', 'origin.truncated', {
    message: `${what}: the answer (${text.length} characters) is not complete XML. ${root.message}`,
    hint: 'The connection was probably cut, or a proxy changed the answer; run the command again.',
  });
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
  return attributes.some(({ name, value }) => name.endsWith(':nil') && (value === 'true' || value === '1'));
}

/** The part of an answer to read: one description, a list of descriptions, or rows. */
export type DocumentForm = 'fields' | 'list' | 'rows';

/**
 * Parses an answer to what JSON.parse would return for the same answer in JSON, except that numbers and booleans are
 * texts.
 * @throws RowsyncError `origin.truncated`, `origin.tooLarge` or `origin.unexpected`.
 */
export function parseXmlBody(text: string, what: string, form: DocumentForm): unknown {
  const root = readResponse(text, what);
  return form === 'fields' ? fieldsFrom(root) : root.children.map(form === 'list' ? fieldsFrom : rowFrom);
}

/** A row: its attributes as `@row.…`, and the text of each column, which may have any name. */
function rowFrom({ attributes, children }: XmlElement): JsonObject {
  return Object.fromEntries<unknown>([
    ...attributes.map(({ name, value }) => [`@row.${name}`, value] as const),
    ...children.map((cell) => [nameFromElement(cell.name), rawValueOf(cell)] as const),
  ]);
}

/** The text of a column, null, or the elements that it contains instead. */
function rawValueOf(cell: XmlElement): unknown {
  return cell.children.length > 0 ? cell.children : isNil(cell) ? null : cell.text;
}

/** Parses an error like other documents; undefined when the body is something else. */
export function parseXmlError(text: string): unknown {
  const root = readXml(text);
  return root instanceof WireFault || root.name !== 'Error' ? undefined : fieldsFrom(root);
}

interface XmlColumnReader {
  readonly name: string;
  readonly read: ValueReader;
  /** The name of the column's element in the previous row: an origin spells all rows alike. */
  element: string;
}

/** Reads the rows of Select or Retrieve, with the rules of `readRows` (json.ts). */
export function readXmlRows(
  text: string,
  columns: readonly ColumnShape[],
  what: string,
  maskKey: string | null = null,
): RowPage {
  const readers = columns.map((column) => ({
    name: column.name,
    read: columnReader(readXmlOutput, column, maskKey),
    element: '',
  }));
  const page: json.OpenPage = { rows: [], unreadable: [], ids: [] };
  let count = 0;
  readResponse(text, what, (element) => {
    count += 1;
    if (element.name !== 'row') throw json.unexpected(what, `element ${count} of the answer is not a <row>`);
    if (attributeOf(element, 'type') !== undefined) return;
    const id = rowIdFrom(attributeOf(element, 'id'));
    if (id === undefined) throw json.unexpected(what, `row ${count} has no integer attribute "id"`);
    const allow = attributeOf(element, 'allow')?.trim().replaceAll(/\s+/g, ',') ?? null;
    const { values, faults } = readValues(element, readers, what);
    json.addRow(page, { id, allow, color: attributeOf(element, 'color'), values, faults });
  });
  return page;
}

function readValues(
  row: XmlElement,
  readers: readonly XmlColumnReader[],
  what: string,
): { readonly values: readonly Value[]; readonly faults: readonly UnreadableCell[] } {
  let faults: readonly UnreadableCell[] = [];
  let byName: ReadonlyMap<string, XmlElement> | undefined;
  const values = readers.map((reader, index) => {
    const { name, read } = reader;
    let cell = row.children[index];
    // Answers keep the order of the request, so a search is needed only if columns were added or left out.
    if (cell?.name !== reader.element) {
      cell = (byName ??= cellByName(row)).get(name);
      if (cell === undefined) throw json.unexpected(what, `rows lack the column "${name}" that describe lists`);
      reader.element = cell.name;
    }
    const value = read(rawValueOf(cell));
    if (value !== undefined) return value;
    const reason = cell.children.length > 0 ? 'elements instead of text' : whyUnreadable(cell.text, 'text');
    faults = [...faults, { column: name, reason }];
    return null;
  });
  return { values, faults };
}

function cellByName(row: XmlElement): ReadonlyMap<string, XmlElement> {
  return new Map(row.children.map((cell) => [nameFromElement(cell.name), cell]));
}

/** Whether XML can express every value: an empty text would arrive as null, and some characters are forbidden. */
export function carriesXmlInput(rows: readonly OutgoingRow[]): boolean {
  return rows.every(({ cells }) =>
    cells.every(({ value }) => typeof value !== 'string' || (value !== '' && isXmlText(value))),
  );
}

/** An element for the builder: its name with its content, and its attributes; or a text that is already escaped. */
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
 *
 * @throws RowsyncError `origin.unsendable` where a value does not fit its type, or into XML.
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
