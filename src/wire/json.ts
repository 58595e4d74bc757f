/**
 * Reads JSON documents of the Records API (specification, sections 2.2 to 2.9), once they are parsed (exact-json.ts).
 * Every complaint names what was read, and never quotes a value. Fields that are not named here go to `other`.
 */
import { RowsyncError } from '../base/errors.ts';
import { integerFromText } from '../base/text.ts';
import { ExactNumber, parseExactJson } from './exact-json.ts';
import { utcFromOffsetText } from './time-zones.ts';
import { overBudget } from './json-budget.ts';
import type {
  AttachmentInfo,
  ColumnDescriptor,
  ColumnShape,
  ColumnType,
  DatabaseDescriptor,
  JsonObject,
  Rollup,
  RollupShape,
  Row,
  RowPage,
  TableDescriptor,
  TableSummary,
  UnreadableRow,
  UserDescriptor,
  Value,
  ViewDescriptor,
} from './schema.ts';
import type { ValueReader } from './column-types.ts';
import { unreadableRow, whyUnreadable, type UnreadableCell } from './unreadable.ts';
import { columnReader, readOutput } from './values.ts';

/** An error descriptor (2.7, origin facts 4.1); `error` is HTTP-like, `source` names a parameter, column or view. */
export interface ErrorDescriptor {
  readonly error: number;
  readonly code: number | null;
  readonly message: string;
  readonly source: string | null;
}

/** Hint for an answer beyond the limits; rowsync has already halved the page by then. */
export const HINT_TOO_LARGE =
  'A table cannot be copied if two of its rows do not fit into one answer: make them smaller, or exclude the column that is so large. If no row is that large, this is not the Records API.';

/** A document that is too costly to parse (json-budget.ts, xml-tree.ts); `complaint` says why. */
export function tooCostly(what: string, complaint: string): RowsyncError {
  return new RowsyncError('wireFormat', 'origin.tooLarge', {
    message: `${what}: the answer was not read, because ${complaint}`,
    hint: HINT_TOO_LARGE,
  });
}

/**
 * Parses a body.
 * @throws RowsyncError `origin.tooLarge`, or `origin.truncated` when it is not complete JSON.
 */
export function parseBody(text: string, what: string): unknown {
  const complaint = overBudget(text);
  if (complaint !== null) throw tooCostly(what, complaint);
  try {
    return parseExactJson(text);
  } catch {
    // The SyntaxError is not kept as the cause: V8 quotes the text around the fault, which is someone's row (I16).
    throw new RowsyncError('wireFormat', 'origin.truncated', {
      message: `${what}: the answer (${text.length} characters) is not complete JSON`,
      hint: 'The connection was probably cut, or a proxy changed the answer; run the command again.',
    });
  }
}

/** An answer that is well-formed but not what the method returns. */
export function unexpected(what: string, complaint: string): RowsyncError {
  return new RowsyncError('wireFormat', 'origin.unexpected', {
    message: `${what}: ${complaint}`,
    hint: 'Check that origin.url and origin.database name a Records API; if they do, please report this answer.',
  });
}

/** Whether a parsed JSON value is an object with fields. */
export function isObject(json: unknown): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json) && !(json instanceof ExactNumber);
}

export function readObject(json: unknown, what: string): JsonObject {
  if (isObject(json)) return json;
  throw unexpected(what, `an object was expected, ${describeKind(json)} came`);
}

export function readArray(json: unknown, items: string, what: string): readonly unknown[] {
  if (Array.isArray(json)) return json;
  throw unexpected(what, `an array of ${items} was expected, ${describeKind(json)} came`);
}

/** Describes what came, for a complaint; never the value. */
export function describeKind(json: unknown): string {
  if (json === null) return 'null';
  if (json instanceof ExactNumber) return 'a number';
  if (typeof json === 'object') return Array.isArray(json) ? 'an array' : 'an object';
  return `a ${typeof json}`;
}

/** Names are compared with patterns, sent in URLs and shown; the service allows some hundred characters. */
const NAME_CHARACTERS_MAX = 1_000;

/** An integer, or its text, as XML has it. */
export function integerFrom(value: unknown): number | null {
  const number = typeof value === 'string' ? integerFromText(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : null;
}

/** Typed access to the fields of one descriptor; remembers which ones were read, the rest is `other`. */
class Fields {
  readonly #json: JsonObject;
  readonly #what: string;
  readonly #read = new Set<string>();

  constructor(json: unknown, what: string) {
    this.#json = readObject(json, what);
    this.#what = what;
  }

  #get(field: string): unknown {
    this.#read.add(field);
    return this.#json[field];
  }

  #missing(field: string, expected: string): RowsyncError {
    return unexpected(this.#what, `the field "${field}" is not ${expected}`);
  }

  integer(field: string): number {
    const integer = this.nullableInteger(field);
    if (integer !== null) return integer;
    throw this.#missing(field, 'an integer');
  }

  text(field: string): string {
    const value = this.#get(field);
    if (typeof value === 'string') return value;
    if (typeof value === 'number') return String(value);
    throw this.#missing(field, 'a text');
  }

  /** The name of a table, a column or a type. */
  nameText(field: string): string {
    const name = this.text(field);
    if (name.length > NAME_CHARACTERS_MAX) throw this.#missing(field, `at most ${NAME_CHARACTERS_MAX} characters long`);
    return name;
  }

  /** A text that some databases leave out or set to null. */
  optionalText(field: string): string {
    return this.nullableText(field) ?? '';
  }

  nullableText(field: string): string | null {
    const value = this.#get(field);
    return typeof value === 'string' ? value : null;
  }

  nullableInteger(field: string): number | null {
    return integerFrom(this.#get(field));
  }

  nullableBoolean(field: string): boolean | null {
    const value = this.#get(field);
    return value === true || value === 'true' ? true : value === false || value === 'false' ? false : null;
  }

  /** Comma-separated names. */
  names(field: string): readonly string[] {
    return this.optionalText(field)
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '');
  }

  array(field: string): readonly unknown[] {
    const value = this.#get(field);
    if (Array.isArray(value)) return value;
    throw this.#missing(field, 'an array');
  }

  /** Everything that no other method read. */
  rest(): JsonObject {
    return Object.fromEntries(Object.entries(this.#json).filter(([field]) => !this.#read.has(field)));
  }
}

function readTableFields(fields: Fields): Omit<TableSummary, 'other'> {
  return {
    id: fields.integer('id'),
    recordName: fields.nameText('recordName'),
    recordsName: fields.optionalText('recordsName'),
    alias: fields.optionalText('alias'),
    showTab: fields.nullableBoolean('showTab') ?? false,
    color: fields.optionalText('color'),
  };
}

/** Reads Describe (Database). @throws RowsyncError `origin.unexpected`. */
export function readDatabase(json: unknown, what = 'describe database'): DatabaseDescriptor {
  const fields = new Fields(json, what);
  return {
    id: fields.text('id'),
    name: fields.optionalText('name'),
    description: fields.optionalText('description'),
    culture: fields.optionalText('culture'),
    timeZone: fields.optionalText('timeZone'),
    tables: fields.array('tables').map((table, index) => {
      const summary = new Fields(table, `${what}, table ${index + 1}`);
      return { ...readTableFields(summary), other: summary.rest() };
    }),
    other: fields.rest(),
  };
}

/** Reads Describe (Table). @throws RowsyncError `origin.unexpected`. */
export function readTable(json: unknown, what = 'describe table'): TableDescriptor {
  const fields = new Fields(json, what);
  return {
    ...readTableFields(fields),
    allowAdd: fields.nullableBoolean('allowAdd') ?? false,
    key: fields.optionalText('key'),
    columns: fields.array('columns').map((column, index) => readColumn(column, `${what}, column ${index + 1}`)),
    views: fields.array('views').map((view, index) => readView(view, `${what}, view ${index + 1}`)),
    other: fields.rest(),
  };
}

function readColumn(json: unknown, what: string): ColumnDescriptor {
  const fields = new Fields(json, what);
  return {
    id: fields.integer('id'),
    name: fields.nameText('name'),
    alias: fields.optionalText('alias'),
    type: fields.nameText('type'),
    dataOptions: fields.names('dataOptions'),
    displayOptions: fields.names('displayOptions'),
    width: fields.nullableInteger('width') || null,
    kind: fields.nullableText('kind'),
    readOnly: fields.nullableBoolean('readOnly'),
    other: fields.rest(),
  };
}

function readView(json: unknown, what: string): ViewDescriptor {
  const fields = new Fields(json, what);
  return {
    id: fields.integer('id'),
    type: fields.optionalText('type'),
    name: fields.text('name'),
    alias: fields.optionalText('alias'),
    showInMenu: fields.nullableBoolean('showInMenu') ?? false,
    actions: fields.names('actions'),
    other: fields.rest(),
  };
}

/** Reads User. @throws RowsyncError `origin.unexpected`. */
export function readUser(json: unknown, what = 'user'): UserDescriptor {
  const fields = new Fields(json, what);
  return {
    id: fields.integer('id'),
    email: fields.optionalText('email'),
    firstName: fields.optionalText('firstName'),
    lastName: fields.optionalText('lastName'),
    role: fields.optionalText('role'),
    culture: fields.optionalText('culture'),
    timezone: fields.optionalText('timezone'),
    admin: fields.names('admin'),
    other: fields.rest(),
  };
}

/** Reads the answer of the list method. @throws RowsyncError `origin.unexpected`. */
export function readAttachments(json: unknown, what: string): readonly AttachmentInfo[] {
  return readArray(json, 'revisions', what).map((item, index) => {
    const where = `${what}, revision ${index + 1}`;
    const fields = new Fields(item, where);
    const createdAt = utcFromOffsetText(fields.text('created'));
    if (createdAt === undefined) throw unexpected(where, 'the field "created" is not a time with an offset');
    return {
      name: fields.text('name'),
      revision: fields.integer('revision'),
      type: fields.optionalText('type'),
      size: fields.integer('size'),
      guid: fields.text('guid'),
      author: fields.optionalText('author'),
      createdAt,
    };
  });
}

/** Reads an error descriptor; undefined when the body is something else. Some clients call the field `status`. */
export function readError(json: unknown): ErrorDescriptor | undefined {
  if (!isObject(json) || typeof json['message'] !== 'string') return undefined;
  return {
    error: integerFrom(json['error'] ?? json['status']) ?? 0,
    code: integerFrom(json['code']),
    message: json['message'],
    source: typeof json['source'] === 'string' ? json['source'] : null,
  };
}

interface JsonColumnReader {
  readonly name: string;
  readonly read: ValueReader;
}

/**
 * Reads the rows of Select or Retrieve; `columns` gives the order of each row's values. Rows with `@row.type` (totals
 * of views, origin facts 1.1) are left out. `maskKey` is needed where a column is hashed. A page is refused if a row
 * has no readable id or lacks a column.
 * @throws RowsyncError `origin.unexpected`.
 */
export function readRows(
  json: unknown,
  columns: readonly ColumnShape[],
  what: string,
  maskKey: string | null = null,
): RowPage {
  const readers = columns.map((column) => ({ name: column.name, read: columnReader(readOutput, column, maskKey) }));
  const page: OpenPage = { rows: [], unreadable: [], ids: [] };
  let count = 0;
  for (const item of readArray(json, 'rows', what)) {
    count += 1;
    const object = isObject(item) ? item : readObject(item, `${what}, row ${count}`);
    if (object['@row.type'] !== undefined) continue;
    const id = object['@row.id'];
    if (typeof id !== 'number' || !Number.isSafeInteger(id)) {
      throw unexpected(what, `row ${count} has no integer "@row.id"`);
    }
    const { values, faults } = readValues(object, readers, what); // no spread: it costs as much as three cells
    addRow(page, { id, allow: readAllow(object['@row.allow']), color: object['@row.color'], values, faults });
  }
  return page;
}

/** The rows of one answer while it is being read. */
export interface OpenPage {
  readonly rows: Row[];
  readonly unreadable: UnreadableRow[];
  readonly ids: number[];
}

/** A row as a format has it. The specification leaves the form of a color open: anything but text is ignored. */
interface ReadRow extends ReadValues {
  readonly id: number;
  readonly allow: string | null;
  readonly color: unknown;
}

interface ReadValues {
  readonly values: readonly Value[];
  readonly faults: readonly UnreadableCell[];
}

/** Adds a row to a page, in either format. */
export function addRow(page: OpenPage, { id, allow, color, values, faults }: ReadRow): void {
  page.ids.push(id);
  const row = typeof color === 'string' && color !== '' ? { id, allow, color, values } : { id, allow, values };
  const unreadable = unreadableRow(row, faults);
  if (unreadable === null) page.rows.push(row);
  else page.unreadable.push(unreadable);
}

/** The names of the columns of the first row; null without a row. @throws RowsyncError `origin.unexpected`. */
export function readColumnNames(json: unknown, what: string): ReadonlySet<string> | null {
  const [first] = readArray(json, 'rows', what);
  if (first === undefined) return null;
  return new Set(Object.keys(readObject(first, `${what}, row 1`)).filter((name) => !name.startsWith('@row.')));
}

/** `Edit, Delete` at the service, `Edit,Delete` in the specification: one text for both. */
function readAllow(allow: unknown): string | null {
  return typeof allow === 'string' ? allow.replaceAll(' ', '') : null;
}

/** Reads rows that sum up others (origin facts 1.2). @throws RowsyncError `origin.unexpected`. */
export function readRollups(
  json: unknown,
  columns: readonly RollupShape[],
  what: string,
  readerOf: (type: ColumnType) => ValueReader,
): readonly Rollup[] {
  return readArray(json, 'rows', what).map((item, index) => {
    const object = readObject(item, `${what}, row ${index + 1}`);
    const type = object['@row.type'];
    const values = columns.map(({ name, otherName, type: valueType }): Value => {
      if (otherName !== undefined && typeof type === 'string') return null;
      const isOther = otherName !== undefined && !Object.hasOwn(object, name);
      const value = readerOf(valueType)(object[isOther ? otherName : name]);
      if (value === undefined) throw unexpected(what, `row ${index + 1} has no usable "${name}"`);
      return value;
    });
    return { type: typeof type === 'string' ? type : null, values };
  });
}

function readValues(object: JsonObject, readers: readonly JsonColumnReader[], what: string): ReadValues {
  const values: Value[] = [];
  let faults: readonly UnreadableCell[] = [];
  const read = (reader: JsonColumnReader, raw: unknown): void => {
    const value = reader.read(raw);
    if (value === undefined)
      faults = [...faults, { column: reader.name, reason: whyUnreadable(raw, describeKind(raw)) }];
    values.push(value ?? null);
  };
  // Columns usually come in the requested order, and V8 iterates over an object faster than it looks up names.
  for (const name in object) {
    const reader = readers[values.length];
    if (reader?.name === name) read(reader, object[name]);
  }
  for (const reader of readers.slice(values.length)) {
    if (!Object.hasOwn(object, reader.name))
      throw unexpected(what, `rows lack the column "${reader.name}" that describe lists`);
    read(reader, object[reader.name]);
  }
  return { values, faults };
}
