/**
 * The two formats of the Records API behind one interface, so that the client chooses one by name and is written once. Readers of answers raise
 * `RowsyncError`s. The sandbox has the other side of each (sandbox/wire/format.ts).
 */
import { readAttachments, type AttachmentInfo } from './attachments.ts';
import * as json from './json.ts';
import type {
  ColumnShape,
  DatabaseDescriptor,
  Rollup,
  RollupShape,
  RowPage,
  TableDescriptor,
  UserDescriptor,
} from './schema.ts';
import * as writes from './writes.ts';
import * as xml from './xml.ts';

/** The extension of a method that chooses the format of its answer. */
export type Extension = 'json' | 'xml';

/** One format as the client uses it; `what` names the request in complaints, `zone` is the calling user's. */
export interface WireFormat {
  readonly extension: Extension;
  /** The Content-Type of answers and of bodies. */
  readonly contentType: string;

  readDatabase(text: string, what: string): DatabaseDescriptor;
  readTable(text: string, what: string): TableDescriptor;
  readUser(text: string, what: string): UserDescriptor;

  /** Reads the rows of Select or Retrieve; `columns` gives the order of each row's values, `maskKey` is needed where one is hashed. */
  readRows(text: string, columns: readonly ColumnShape[], what: string, maskKey?: string | null): RowPage;

  /** The names of the columns that the first row has; null without a row. */
  readColumnNames(text: string, what: string): ReadonlySet<string> | null;

  readRollups(text: string, columns: readonly RollupShape[], what: string): readonly Rollup[];

  /** Reads the answer of a write or a delete of `rowCount` rows. */
  readStatuses(text: string, rowCount: number, what: string): readonly writes.StatusDescriptor[];

  readAttachments(text: string, what: string): readonly AttachmentInfo[];

  /** Undefined when the text is something else than an error. */
  readError(text: string): json.ErrorDescriptor | undefined;

  /** Whether the format can say every value of the rows; JSON can. */
  carriesInput(rows: readonly writes.OutgoingRow[]): boolean;
  /** @throws RowsyncError `origin.unsendable`, in XML. */
  writeInputRows(rows: readonly writes.OutgoingRow[], zone: string): string;
}

const jsonFormat: WireFormat = {
  extension: 'json',
  contentType: 'application/json;charset=utf-8',
  readDatabase: (text, what) => json.readDatabase(json.parseBody(text, what), what),
  readTable: (text, what) => json.readTable(json.parseBody(text, what), what),
  readUser: (text, what) => json.readUser(json.parseBody(text, what), what),
  readRows: (text, columns, what, maskKey) => json.readRows(json.parseBody(text, what), columns, what, maskKey),
  readColumnNames: (text, what) => json.readColumnNames(json.parseBody(text, what), what),
  readRollups: (text, columns, what) => json.readRollups(json.parseBody(text, what), columns, what),
  readStatuses: (text, rowCount, what) => writes.readStatuses(json.parseBody(text, what), rowCount, what),
  readAttachments: (text, what) => readAttachments(json.parseBody(text, what), what),
  readError: readJsonError,
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
  readTable: xml.readXmlTable,
  readUser: xml.readXmlUser,
  readRows: xml.readXmlRows,
  readColumnNames: xml.readXmlColumnNames,
  readRollups: xml.readXmlRollups,
  readStatuses: xml.readXmlStatuses,
  readAttachments: xml.readXmlAttachments,
  readError: xml.readXmlError,
  carriesInput: xml.carriesXmlInput,
  writeInputRows: xml.writeXmlInputRows,
};

/** The format that an extension names. */
export const WIRE_FORMATS: Readonly<Record<Extension, WireFormat>> = { json: jsonFormat, xml: xmlFormat };
