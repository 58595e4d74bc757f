/**
 * XML documents of the Records API: answers read, rows of a write written (specification 2.4 to 2.8, 4.5 to 4.8; origin facts 2.5).
 * `<Response>` with `<row>` or `<attachment>` elements directly below it, descriptors with plural wrappers around singular
 * items (`<tables><table>`), `<Error>` as the root when the whole request failed. Rows of a write have any names.
 *
 * Descriptors, statuses and attachments are brought into the fields of the JSON form and read there. So each field is
 * described once, and a number or a boolean may be its text (json.ts, writes.ts, attachments.ts). Rows go straight to and from `Value`s.
 */
import { XMLBuilder } from 'fast-xml-parser';

import { RowsyncError } from '../base/errors.ts';
import { readAttachments, type AttachmentInfo } from './attachments.ts';
import { WireFault } from './fault.ts';
import * as json from './json.ts';
import type {
  ColumnShape,
  ColumnType,
  DatabaseDescriptor,
  JsonObject,
  Rollup,
  RollupShape,
  Row,
  RowPage,
  TableDescriptor,
  UnreadableRow,
  UserDescriptor,
  Value,
} from './schema.ts';
import type { ValueReader } from './column-types.ts';
import {
  checkInputRows,
  readStatuses,
  rowIdFrom,
  type OutgoingCell,
  type OutgoingRow,
  type StatusDescriptor,
} from './writes.ts';
import { unreadableRow, whyUnreadable, type UnreadableCell } from './unreadable.ts';
import { elementFromName } from './xml-names.ts';
import {
  attributeOf,
  escapeText,
  isXmlText,
  readXml,
  XML_LIMITS,
  type TakeChild,
  type XmlElement,
} from './xml-tree.ts';
import { readXmlColumnOutput, readXmlOutput, writeXmlInput, type XmlValueWriter } from './xml-values.ts';

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
  return Object.fromEntries(element.children.map((child) => [child.name, fieldFrom(child)]));
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

/** Reads Describe (Database). @throws RowsyncError `origin.truncated` or `origin.unexpected`, as all readers here. */
export function readXmlDatabase(text: string, what: string): DatabaseDescriptor {
  return json.readDatabase(fieldsFrom(readResponse(text, what)), what);
}

/** Reads Describe (Table). */
export function readXmlTable(text: string, what: string): TableDescriptor {
  return json.readTable(fieldsFrom(readResponse(text, what)), what);
}

/** Reads User. */
export function readXmlUser(text: string, what: string): UserDescriptor {
  return json.readUser(fieldsFrom(readResponse(text, what)), what);
}

/** Reads the statuses of a write or a delete; see `readStatuses`. */
export function readXmlStatuses(text: string, rowCount: number, what: string): readonly StatusDescriptor[] {
  return readStatuses(readResponse(text, what).children.map(fieldsFrom), rowCount, what);
}

/** Reads the revisions of an attachment. */
export function readXmlAttachments(text: string, what: string): readonly AttachmentInfo[] {
  return readAttachments(readResponse(text, what).children.map(fieldsFrom), what);
}

/** Reads an error descriptor; undefined when the body is something else. */
export function readXmlError(text: string): json.ErrorDescriptor | undefined {
  const root = readXml(text);
  return root instanceof WireFault || root.name !== 'Error' ? undefined : json.readError(fieldsFrom(root));
}

interface XmlColumnReader {
  readonly name: string;
  readonly read: ValueReader;
}

/** Reads the rows of Select or Retrieve; the rules are those of `readRows` (json.ts). */
export function readXmlRows(
  text: string,
  columns: readonly ColumnShape[],
  what: string,
  maskKey: string | null = null,
): RowPage {
  const readers = columns.map((column) => ({ name: column.name, read: readXmlColumnOutput(column, maskKey) }));
  const rows: Row[] = [];
  const unreadable: UnreadableRow[] = [];
  const ids: number[] = [];
  let count = 0;
  readResponse(text, what, (element) => {
    count += 1;
    if (element.name !== 'row') throw json.unexpected(what, `element ${count} of the answer is not a <row>`);
    if (attributeOf(element, 'type') !== undefined) return;
    const id = rowIdFrom(attributeOf(element, 'id'));
    if (id === undefined) throw json.unexpected(what, `row ${count} has no integer attribute "id"`);
    ids.push(id);
    const allow = attributeOf(element, 'allow')?.trim().replaceAll(/\s+/g, ',') ?? null;
    const { values, faults } = readValues(element, readers, what);
    const color = attributeOf(element, 'color');
    const row = color === undefined ? { id, allow, values } : { id, allow, ...json.readColor(color), values };
    const fault = faults[0];
    if (fault === undefined) rows.push(row);
    else unreadable.push(unreadableRow(row, [fault, ...faults.slice(1)]));
  });
  return { rows, unreadable, ids };
}

/** The names of the columns that the first row of an answer has; null without a row. */
export function readXmlColumnNames(text: string, what: string): ReadonlySet<string> | null {
  const [first] = readResponse(text, what).children;
  return first === undefined ? null : new Set(first.children.map(({ name }) => name));
}

/** Reads rows that sum up others (origin facts 1.2). @throws RowsyncError `origin.unexpected`. */
export function readXmlRollups(text: string, columns: readonly RollupShape[], what: string): readonly Rollup[] {
  return readResponse(text, what).children.map((row, index) => {
    const byName = cellByName(row);
    const rowType = attributeOf(row, 'type') ?? null;
    const values = columns.map(({ name, otherName, type }): Value => {
      if (otherName !== undefined && rowType !== null) return null;
      const cell = byName.get(name) ?? (otherName === undefined ? undefined : byName.get(otherName));
      const value = cell === undefined ? undefined : readXmlOutput(type)(isNil(cell) ? null : cell.text);
      if (value === undefined) throw json.unexpected(what, `row ${index + 1} has no usable "${name}"`);
      return value;
    });
    return { type: rowType, values };
  });
}

function readValues(
  row: XmlElement,
  readers: readonly XmlColumnReader[],
  what: string,
): { readonly values: readonly Value[]; readonly faults: readonly UnreadableCell[] } {
  let faults: readonly UnreadableCell[] = [];
  let byName: ReadonlyMap<string, XmlElement> | undefined;
  const values = readers.map(({ name, read }, index) => {
    let cell = row.children[index];
    // Answers keep the order of the request, so that a search is needed only where columns were added or left out.
    if (cell?.name !== name) cell = (byName ??= cellByName(row)).get(name);
    if (cell === undefined) throw json.unexpected(what, `rows lack the column "${name}" that describe lists`);
    const value = cell.children.length > 0 ? undefined : read(isNil(cell) ? null : cell.text);
    if (value !== undefined) return value;
    const reason = cell.children.length > 0 ? 'elements instead of text' : whyUnreadable(cell.text, 'text');
    faults = [...faults, { column: name, reason }];
    return null;
  });
  return { values, faults };
}

function cellByName(row: XmlElement): ReadonlyMap<string, XmlElement> {
  return new Map(row.children.map((cell) => [cell.name, cell]));
}

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
  const writers = new Map<ColumnType, XmlValueWriter>();
  const cellNode = ({ name, type, value }: OutgoingCell): XmlNode => {
    let write = writers.get(type);
    if (write === undefined) writers.set(type, (write = writeXmlInput(type, zone)));
    const text = write(value) ?? '';
    if (!isXmlText(text)) throw unsendable(name);
    return { [elementFromName(name)]: [{ '#text': escapeText(text) }] };
  };
  const nodes = rows.map(({ id, cells }) => {
    const row = cells.map(cellNode);
    return id === null ? { row } : { row, ':@': { id: String(id) } };
  });
  return DECLARATION + BUILDER.build([{ rows: nodes }]);
}

function unsendable(column: string): RowsyncError {
  return new RowsyncError('originRefused', 'origin.unsendable', {
    message: `a value of the column "${column}" has characters that XML cannot carry`,
    hint: 'Remove the control characters from the text, or set origin.format to json.',
  });
}
