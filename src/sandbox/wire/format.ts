/**
 * The two formats of the Records API as the sandbox speaks them: it writes answers, and reads the rows of a write. The
 * client has the other side of each (wire/format.ts).
 */
import type { AttachmentInfo } from '../../wire/schema.ts';
import type { ValueReader } from '../../wire/column-types.ts';
import type { WireFault } from '../../wire/fault.ts';
import { WIRE_FORMATS, type Extension, type WireFormat } from '../../wire/format.ts';
import type { ErrorDescriptor } from '../../wire/json.ts';
import type {
  ColumnShape,
  ColumnType,
  DatabaseDescriptor,
  Rollup,
  Row,
  TableDescriptor,
  UserDescriptor,
} from '../../wire/schema.ts';
import type { StatusDescriptor } from '../../wire/writes.ts';
import { readInputRows, readXmlInputRows, type InputRow } from './input-rows.ts';
import * as json from './json-answers.ts';
import { readInput, readXmlInput } from './value-forms.ts';
import * as xml from './xml-answers.ts';
import { elementFromName } from '../../wire/xml-names.ts';

/** One format; `zone` is the calling user's. */
export interface ServerFormat extends Pick<WireFormat, 'extension' | 'contentType'> {
  writeDatabase(database: DatabaseDescriptor): string;
  writeTable(table: TableDescriptor): string;
  writeUser(user: UserDescriptor): string;
  /** A writer of pages of rows, prepared once for their columns. */
  rowsWriter(columns: readonly ColumnShape[], zone: string): (rows: readonly Row[]) => string;
  /** A writer of rows that sum up others (origin facts 1.2). */
  rollupsWriter(columns: readonly ColumnShape[], zone: string): (rows: readonly Rollup[]) => string;
  writeStatuses(statuses: readonly StatusDescriptor[]): string;
  writeDeleteStatuses(statuses: readonly StatusDescriptor[]): string;
  writeAttachments(attachments: readonly AttachmentInfo[], zone: string): string;
  writeError(error: ErrorDescriptor): string;
  /** Reads the rows of a write; `inputReader` reads their values once the column is known. */
  readInputRows(text: string): readonly InputRow[] | WireFault;
  inputReader(type: ColumnType, zone: string): ValueReader;
}

const { extension, contentType } = WIRE_FORMATS.xml;

const xmlFormat: ServerFormat = {
  extension,
  contentType,
  writeDatabase: xml.writeXmlDatabase,
  writeTable: xml.writeXmlTable,
  writeUser: xml.writeXmlUser,
  rowsWriter: xml.xmlRowsWriter,
  rollupsWriter: xml.xmlRollupsWriter,
  writeStatuses: xml.writeXmlStatuses,
  writeDeleteStatuses: xml.writeXmlDeleteStatuses,
  writeAttachments: xml.writeXmlAttachments,
  writeError: xml.writeXmlError,
  readInputRows: readXmlInputRows,
  inputReader: readXmlInput,
};

/** XML of a server that escapes a colon in the name of a column, which XML allows there. */
export const XML_WITHOUT_COLONS: ServerFormat = {
  ...xmlFormat,
  rowsWriter: (columns, zone) => xml.xmlRowsWriter(columns, zone, elementFromName),
  rollupsWriter: (columns, zone) => xml.xmlRollupsWriter(columns, zone, elementFromName),
};

/** The format that an extension names. */
export const SERVER_FORMATS: Readonly<Record<Extension, ServerFormat>> = {
  json: {
    extension: 'json',
    contentType: WIRE_FORMATS.json.contentType,
    writeDatabase: json.writeDatabase,
    writeTable: json.writeTable,
    writeUser: json.writeUser,
    rowsWriter: json.rowsWriter,
    rollupsWriter: json.rollupsWriter,
    writeStatuses: json.writeStatuses,
    writeDeleteStatuses: json.writeDeleteStatuses,
    writeAttachments: json.writeAttachments,
    writeError: json.writeError,
    readInputRows,
    inputReader: readInput,
  },
  xml: xmlFormat,
};
