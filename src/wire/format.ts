/**
 * The two formats of the Records API behind one interface, so that the client chooses one by name and is written once.
 * Readers of answers raise `RowsyncError`s. The sandbox has the other side of each (sandbox/wire/format.ts).
 */
import * as json from './json.ts';
import type { ValueReader } from './column-types.ts';
import type { ColumnShape, ColumnType, RollupShape, RowPage } from './schema.ts';
import { readOutput, readXmlOutput } from './values.ts';
import * as writes from './writes.ts';
import * as xml from './xml.ts';

/** The extension of a method that chooses the format of its answer. */
export type Extension = 'json' | 'xml';

/** Reads a document; `what` names the request in complaints. */
export type DocumentReader<T> = (text: string, what: string) => T;

/** One format as the client uses it. */
export type WireFormat = ReturnType<typeof formatFrom>;

/** Everything that differs between the formats. */
interface Syntax {
  readonly extension: Extension;
  /** The Content-Type of answers and of bodies. */
  readonly contentType: string;
  /** Returns the document as JSON.parse would. */
  readonly parse: (text: string, what: string, form: xml.DocumentForm) => unknown;
  /** The same for an error descriptor; undefined for anything else. */
  readonly parseError: (text: string) => unknown;
  readonly readerOf: (type: ColumnType) => ValueReader;
  /** Reads the rows of Select or Retrieve, with values in the order of `columns`; hashes need `maskKey`. */
  readonly readRows: (text: string, columns: readonly ColumnShape[], what: string, maskKey?: string | null) => RowPage;
  /** Whether the format can express every value of the rows; JSON can. */
  readonly carriesInput: (rows: readonly writes.OutgoingRow[]) => boolean;
  /** Writes rows for a user in `zone`. @throws RowsyncError `origin.unsendable`. */
  readonly writeInputRows: (rows: readonly writes.OutgoingRow[], zone: string) => string;
}

function formatFrom({ parse, parseError, readerOf, ...syntax }: Syntax) {
  return {
    ...syntax,
    readDatabase: (text: string, what: string) => json.readDatabase(parse(text, what, 'fields'), what),
    readTable: (text: string, what: string) => json.readTable(parse(text, what, 'fields'), what),
    readUser: (text: string, what: string) => json.readUser(parse(text, what, 'fields'), what),
    readColumnNames: (text: string, what: string) => json.readColumnNames(parse(text, what, 'rows'), what),
    readRollups: (text: string, columns: readonly RollupShape[], what: string) =>
      json.readRollups(parse(text, what, 'rows'), columns, what, readerOf),
    /** Reads the answer of a write or a delete of `rowCount` rows. */
    readStatuses: (text: string, rowCount: number, what: string) =>
      writes.readStatuses(parse(text, what, 'list'), rowCount, what),
    readAttachments: (text: string, what: string) => json.readAttachments(parse(text, what, 'list'), what),
    readError: (text: string) => json.readError(parseError(text)),
  } as const;
}

/** The format that an extension names. */
export const WIRE_FORMATS: Readonly<Record<Extension, WireFormat>> = {
  json: formatFrom({
    extension: 'json',
    contentType: 'application/json;charset=utf-8',
    parse: json.parseBody,
    parseError: parseJsonError,
    readerOf: readOutput,
    readRows: (text, columns, what, maskKey) => json.readRows(json.parseBody(text, what), columns, what, maskKey),
    carriesInput: () => true,
    writeInputRows: writes.writeInputRows,
  }),
  xml: formatFrom({
    extension: 'xml',
    contentType: 'text/xml;charset=utf-8',
    parse: xml.parseXmlBody,
    parseError: xml.parseXmlError,
    readerOf: readXmlOutput,
    readRows: xml.readXmlRows,
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
