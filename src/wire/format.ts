/**
 * The two formats of the Records API behind one interface, so that the client chooses one by name and is written once. Readers of answers raise
 * `RowsyncError`s. The sandbox has the other side of each (sandbox/wire/format.ts).
 */
import * as json from './json.ts';
import type {
  AttachmentInfo,
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

/** Reads a document; `what` names the request in complaints. */
export type DocumentReader<T> = (text: string, what: string) => T;

/** One format as the client uses it; `zone` is the calling user's. */
export interface WireFormat {
  readonly extension: Extension;
  /** The Content-Type of answers and of bodies. */
  readonly contentType: string;
  readonly readDatabase: DocumentReader<DatabaseDescriptor>;
  readonly readTable: DocumentReader<TableDescriptor>;
  readonly readUser: DocumentReader<UserDescriptor>;
  readonly readAttachments: DocumentReader<readonly AttachmentInfo[]>;
  /** The names of the columns that the first row has; null without a row. */
  readonly readColumnNames: DocumentReader<ReadonlySet<string> | null>;

  /** Reads the rows of Select or Retrieve; `columns` gives the order of each row's values, `maskKey` is needed where one is hashed. */
  readRows(text: string, columns: readonly ColumnShape[], what: string, maskKey?: string | null): RowPage;
  readRollups(text: string, columns: readonly RollupShape[], what: string): readonly Rollup[];
  /** Reads the answer of a write or a delete of `rowCount` rows. */
  readStatuses(text: string, rowCount: number, what: string): readonly writes.StatusDescriptor[];
  /** Undefined when the text is something else than an error. */
  readError(text: string): json.ErrorDescriptor | undefined;

  /** Whether the format can say every value of the rows; JSON can. */
  carriesInput(rows: readonly writes.OutgoingRow[]): boolean;
  /** @throws RowsyncError `origin.unsendable`, in XML. */
  writeInputRows(rows: readonly writes.OutgoingRow[], zone: string): string;
}

/** In what one format differs from the other. */
interface Syntax extends Pick<WireFormat, 'extension' | 'contentType' | 'carriesInput' | 'writeInputRows'> {
  /** What JSON.parse gives of the document. */
  readonly parse: (text: string, what: string, form: xml.DocumentForm) => unknown;
  /** The same of an error; undefined for what is none. */
  readonly parseError: (text: string) => unknown;
  readonly rows: json.RowForm;
}

function formatFrom({ parse, parseError, rows, ...syntax }: Syntax): WireFormat {
  return {
    ...syntax,
    readDatabase: (text, what) => json.readDatabase(parse(text, what, 'fields'), what),
    readTable: (text, what) => json.readTable(parse(text, what, 'fields'), what),
    readUser: (text, what) => json.readUser(parse(text, what, 'fields'), what),
    readColumnNames: (text, what) => json.readColumnNames(parse(text, what, 'rows'), what),
    readRows: (text, columns, what, maskKey) => json.readRows(parse(text, what, 'rows'), columns, what, rows, maskKey),
    readRollups: (text, columns, what) => json.readRollups(parse(text, what, 'rows'), columns, what, rows),
    readStatuses: (text, rowCount, what) => writes.readStatuses(parse(text, what, 'list'), rowCount, what),
    readAttachments: (text, what) => json.readAttachments(parse(text, what, 'list'), what),
    readError: (text) => json.readError(parseError(text)),
  };
}

/** The format that an extension names. */
export const WIRE_FORMATS: Readonly<Record<Extension, WireFormat>> = {
  json: formatFrom({
    extension: 'json',
    contentType: 'application/json;charset=utf-8',
    parse: json.parseBody,
    parseError: parseJsonError,
    rows: json.JSON_ROWS,
    carriesInput: () => true,
    writeInputRows: writes.writeInputRows,
  }),
  xml: formatFrom({
    extension: 'xml',
    contentType: 'text/xml;charset=utf-8',
    parse: xml.parseXmlBody,
    parseError: xml.parseXmlError,
    rows: xml.XML_ROWS,
    carriesInput: xml.carriesXmlInput,
    writeInputRows: xml.writeXmlInputRows,
  }),
};

function parseJsonError(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a SyntaxError: an HTML page of a proxy, or nothing
  }
}
