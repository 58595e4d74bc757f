/**
 * Answers of the Records API in XML, as the sandbox writes them. They have the fields of the JSON form as elements,
 * rows straight from their values (specification 2.4 to 2.8; origin facts 2.5).
 */
import type { AttachmentInfo } from '../../wire/schema.ts';
import { ExactNumber, parseExactJson } from '../../wire/exact-json.ts';
import { isObject, type ErrorDescriptor } from '../../wire/json.ts';
import type {
  ColumnShape,
  DatabaseDescriptor,
  JsonObject,
  Rollup,
  Row,
  TableDescriptor,
  UserDescriptor,
} from '../../wire/schema.ts';
import type { StatusDescriptor } from '../../wire/writes.ts';
import { DECLARATION } from '../../wire/xml.ts';
import { elementFromName, elementWriter } from '../../wire/xml-names.ts';
import { escapeText, isXmlText } from '../../wire/xml-tree.ts';
import {
  attachmentFields,
  deleteStatusFields,
  statusFields,
  writeDatabase,
  writeError,
  writeTable,
  writeUser,
} from './json-answers.ts';
import { writeXmlOutput } from './value-forms.ts';

const RESPONSE = '<Response xmlns:i="http://www.w3.org/2001/XMLSchema-instance">';

const elementWithColons = elementWriter(':');

/** The value of an attribute, without its quotes. */
export function escapeAttribute(text: string): string {
  return escapeText(text).replaceAll('"', '&quot;').replaceAll('\n', '&#xA;').replaceAll('\t', '&#x9;');
}

/** Text that XML can carry: the same wherever possible. */
export function xmlText(text: string): string {
  if (isXmlText(text)) return text;
  return Array.from(text, (character) => (isXmlText(character) ? character : '\ufffd')).join('');
}

function elementText(tag: string, text: string | null): string {
  return text === null ? `<${tag} i:nil="true"/>` : `<${tag}>${escapeText(xmlText(text))}</${tag}>`;
}

function fieldText(name: string, value: unknown): string {
  const tag = elementFromName(name);
  if (Array.isArray(value)) {
    const item = name === 'errors' ? 'Error' : name.length > 1 && name.endsWith('s') ? name.slice(0, -1) : 'item';
    return `<${tag}>${(value as unknown[]).map((inner) => fieldText(item, inner)).join('')}</${tag}>`;
  }
  if (value instanceof ExactNumber) return elementText(tag, value.text);
  if (isObject(value)) return `<${tag}>${fieldTexts(value)}</${tag}>`;
  return elementText(
    tag,
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : null,
  );
}

function fieldTexts(fields: JsonObject): string {
  return Object.entries(fields)
    .filter(([name]) => name !== '')
    .map(([name, value]) => fieldText(name, value))
    .join('');
}

function response(content: string): string {
  return `${DECLARATION}${RESPONSE}${content}</Response>`;
}

/** The fields that the JSON form has, from its text. */
function jsonFields(text: string): JsonObject {
  return parseExactJson(text) as JsonObject; // the writers of json-answers.ts write an object
}

/** Writes Describe (Database). */
export function writeXmlDatabase(database: DatabaseDescriptor): string {
  return response(fieldTexts(jsonFields(writeDatabase(database))));
}

/** Writes Describe (Table). */
export function writeXmlTable(table: TableDescriptor): string {
  return response(fieldTexts(jsonFields(writeTable(table))));
}

/** Writes User. */
export function writeXmlUser(user: UserDescriptor): string {
  return response(fieldTexts(jsonFields(writeUser(user))));
}

/** Writes an error of the whole request; the root says that it is one. */
export function writeXmlError(error: ErrorDescriptor): string {
  return `${DECLARATION}<Error>${fieldTexts(jsonFields(writeError(error)))}</Error>`;
}

/** Writes the answer of Create, Update and Upsert. */
export function writeXmlStatuses(statuses: readonly StatusDescriptor[]): string {
  return response(statuses.map((status) => `<row>${fieldTexts(statusFields(status))}</row>`).join(''));
}

/** Writes the answer of Delete. */
export function writeXmlDeleteStatuses(statuses: readonly StatusDescriptor[]): string {
  return response(statuses.map((status) => `<row>${fieldTexts(deleteStatusFields(status))}</row>`).join(''));
}

/** Writes the revisions of an attachment for a user in `zone`. */
export function writeXmlAttachments(attachments: readonly AttachmentInfo[], zone: string): string {
  const texts = attachments.map((item) => `<attachment>${fieldTexts(attachmentFields(item, zone))}</attachment>`);
  return response(texts.join(''));
}

/** Writes rows as Select and Retrieve send them, for a user in `zone`. */
export function xmlRowsWriter(
  columns: readonly ColumnShape[],
  zone: string,
  elementOf = elementWithColons,
): (rows: readonly Row[]) => string {
  const cells = columns.map(({ name, type }) => ({
    tag: elementOf(name),
    write: writeXmlOutput(type, zone),
  }));
  return (rows) => {
    let content = '';
    for (const { id, allow, color, values } of rows) {
      content += `<row id="${id}"`;
      if (allow !== null)
        content += ` allow="${escapeAttribute(
          xmlText(
            allow
              .trim()
              .split(/[,\s]+/)
              .join(' '),
          ),
        )}"`;
      if (color !== undefined) content += ` color="${escapeAttribute(xmlText(color))}"`;
      content += '>';
      for (const [index, { tag, write }] of cells.entries()) content += elementText(tag, write(values[index] ?? null));
      content += '</row>';
    }
    return response(content);
  };
}

/** Writes rows that sum up others, for a user in `zone`. */
export function xmlRollupsWriter(
  columns: readonly ColumnShape[],
  zone: string,
  elementOf = elementWithColons,
): (rows: readonly Rollup[]) => string {
  const cells = columns.map(({ name, type }) => ({
    tag: elementOf(name),
    write: writeXmlOutput(type, zone),
  }));
  return (rows) => {
    const texts = rows.map(({ type, values }) => {
      const attribute = type === null ? '' : ` type="${escapeAttribute(xmlText(type))}"`;
      const content = cells.map(({ tag, write }, index) => elementText(tag, write(values[index] ?? null)));
      return `<row${attribute}>${content.join('')}</row>`;
    });
    return response(texts.join(''));
  };
}
