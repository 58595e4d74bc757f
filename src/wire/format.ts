/**
 * The two formats of the Records API behind one interface, so that the client and the sandbox choose one by name and
 * are written once. Readers of answers are the client's, and raise `RowsyncError`s; readers of bodies are the sandbox's, and
 * give `WireFault`s. What one side of a pair writes, the other reads.
 */
import { readAttachments, writeAttachments, type AttachmentInfo } from './attachments.ts';
import type { WireFault } from './fault.ts';
import * as json from './json.ts';
import type {
  ColumnShape,
  ColumnType,
  DatabaseDescriptor,
  Rollup,
  RollupShape,
  Row,
  RowPage,
  TableDescriptor,
  UserDescriptor,
} from './schema.ts';
import type { ValueReader } from './column-types.ts';
import { readInput } from './values.ts';
import * as writes from './writes.ts';
import { readXmlInput } from './xml-values.ts';
import * as xml from './xml.ts';

/** The extension of a method that chooses the format of its answer. */
export type Extension = 'json' | 'xml';

/** One format; `what` names the request in complaints, `zone` is the calling user's. */
export interface WireFormat {
  readonly extension: Extension;
  /** The Content-Type of answers and of bodies. */
  readonly contentType: string;

  readDatabase(text: string, what: string): DatabaseDescriptor;
  writeDatabase(database: DatabaseDescriptor): string;
  readTable(text: string, what: string): TableDescriptor;
  writeTable(table: TableDescriptor): string;
  readUser(text: string, what: string): UserDescriptor;
  writeUser(user: UserDescriptor): string;

  /** Reads the rows of Select or Retrieve; `columns` gives the order of each row's values, `maskKey` is needed where one is hashed. */
  readRows(text: string, columns: readonly ColumnShape[], what: string, maskKey?: string | null): RowPage;
  /** A writer of pages of rows, prepared once for their columns. */
  rowsWriter(columns: readonly ColumnShape[], zone: string): (rows: readonly Row[]) => string;

  /** The names of the columns that the first row has; null without a row. */
  readColumnNames(text: string, what: string): ReadonlySet<string> | null;

  readRollups(text: string, columns: readonly RollupShape[], what: string): readonly Rollup[];
  /** A writer of rows that stand for others (origin facts 1.2). */
  rollupsWriter(columns: readonly ColumnShape[], zone: string): (rows: readonly Rollup[]) => string;

  /** Reads the answer of a write or a delete of `rowCount` rows. */
  readStatuses(text: string, rowCount: number, what: string): readonly writes.StatusDescriptor[];
  writeStatuses(statuses: readonly writes.StatusDescriptor[]): string;
  writeDeleteStatuses(statuses: readonly writes.StatusDescriptor[]): string;

  readAttachments(text: string, what: string): readonly AttachmentInfo[];
  writeAttachments(attachments: readonly AttachmentInfo[], zone: string): string;

  /** Undefined when the text is something else than an error. */
  readError(text: string): json.ErrorDescriptor | undefined;
  writeError(error: json.ErrorDescriptor): string;

  /** Reads the rows of a write; `inputReader` reads their values once the column is known. */
  readInputRows(text: string): readonly writes.InputRow[] | WireFault;
  inputReader(type: ColumnType, zone: string): ValueReader;
  /** Whether the format can say every value of the rows; JSON can. */
  carriesInput(rows: readonly writes.OutgoingRow[]): boolean;
  /** @throws RowsyncError `origin.unsendable`, in XML. */
  writeInputRows(rows: readonly writes.OutgoingRow[], zone: string): string;
}

const jsonFormat: WireFormat = {
  extension: 'json',
  contentType: 'application/json;charset=utf-8',
  readDatabase: (text, what) => json.readDatabase(json.parseBody(text, what), what),
  writeDatabase: json.writeDatabase,
  readTable: (text, what) => json.readTable(json.parseBody(text, what), what),
  writeTable: json.writeTable,
  readUser: (text, what) => json.readUser(json.parseBody(text, what), what),
  writeUser: json.writeUser,
  readRows: (text, columns, what, maskKey) => json.readRows(json.parseBody(text, what), columns, what, maskKey),
  rowsWriter: json.rowsWriter,
  readColumnNames: (text, what) => json.readColumnNames(json.parseBody(text, what), what),
  readRollups: (text, columns, what) => json.readRollups(json.parseBody(text, what), columns, what),
  rollupsWriter: json.rollupsWriter,
  readStatuses: (text, rowCount, what) => writes.readStatuses(json.parseBody(text, what), rowCount, what),
  writeStatuses: writes.writeStatuses,
  writeDeleteStatuses: writes.writeDeleteStatuses,
  readAttachments: (text, what) => readAttachments(json.parseBody(text, what), what),
  writeAttachments,
  readError: readJsonError,
  writeError: json.writeError,
  readInputRows: writes.readInputRows,
  inputReader: readInput,
  carriesInput: () => true,
  writeInputRows: writes.writeInputRows,
};

function readJsonError(text: string): json.ErrorDescriptor | undefined {
  try {
    return json.readError(JSON.parse(text));
  } catch {
    return undefined; // a SyntaxError: an HTML page of a proxy, or nothing
  }
}

const xmlFormat: WireFormat = {
  extension: 'xml',
  contentType: 'text/xml;charset=utf-8',
  readDatabase: xml.readXmlDatabase,
  writeDatabase: xml.writeXmlDatabase,
  readTable: xml.readXmlTable,
  writeTable: xml.writeXmlTable,
  readUser: xml.readXmlUser,
  writeUser: xml.writeXmlUser,
  readRows: xml.readXmlRows,
  rowsWriter: xml.xmlRowsWriter,
  readColumnNames: xml.readXmlColumnNames,
  readRollups: xml.readXmlRollups,
  rollupsWriter: xml.xmlRollupsWriter,
  readStatuses: xml.readXmlStatuses,
  writeStatuses: xml.writeXmlStatuses,
  writeDeleteStatuses: xml.writeXmlDeleteStatuses,
  readAttachments: xml.readXmlAttachments,
  writeAttachments: xml.writeXmlAttachments,
  readError: xml.readXmlError,
  writeError: xml.writeXmlError,
  readInputRows: xml.readXmlInputRows,
  inputReader: readXmlInput,
  carriesInput: xml.carriesXmlInput,
  writeInputRows: xml.writeXmlInputRows,
};

/** XML of a server that escapes a colon in the name of a column, which XML allows there. */
export const XML_WITHOUT_COLONS: WireFormat = {
  ...xmlFormat,
  rowsWriter: (columns, zone) => xml.xmlRowsWriter(columns, zone, 'escaped'),
  rollupsWriter: (columns, zone) => xml.xmlRollupsWriter(columns, zone, 'escaped'),
};

/** The format that an extension names. */
export const WIRE_FORMATS: Readonly<Record<Extension, WireFormat>> = { json: jsonFormat, xml: xmlFormat };
