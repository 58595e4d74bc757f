/**
 * A SQLite file of the user's as tables of the sandbox. Views, virtual tables and SQLite's own tables are left out.
 *
 * Declared types propose, values decide: a column gets a type only if all of its values survive in it. A single INTEGER
 * primary key becomes an Autonumber key, a single text one a unique Text key; every other table gets an Autonumber
 * `Id`. Rows are created one second apart from 2020-01-01 on, in the order of the primary key.
 */
import { closeSync, copyFileSync, existsSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isUtf8 } from 'node:buffer';
import Database from 'better-sqlite3';
import { RowsyncError } from '../../base/errors.ts';
import type { Value, ColumnType } from '../../wire/schema.ts';
import type { SqlValue } from './cells.ts';
import { ident } from './file.ts';
import type { CellInput, Cells, ColumnSpec, TableSpec, FileSpec } from './spec.ts';
import { numericToPlain } from '../../wire/decimal.ts';
import { isDate, isTimeOfDay, utcFromInputText } from '../../wire/time-zones.ts';

const CREATED_FROM_MS = Date.UTC(2020, 0, 1);
/** Width of Text columns whose declaration has none. */
const TEXT_WIDTH = 255;

/** One column of the file, with everything that was learned about it. */
interface Source {
  readonly name: string;
  readonly declared: string;
  readonly notNull: boolean;
  readonly defaultSql: string | null;
  /** Position in the primary key, from 1; 0 outside of it. */
  readonly keyPosition: number;
  readonly isUnique: boolean;
  readonly profile: Profile;
}

/**
 * The tables of the file, in the order of their names.
 * @throws RowsyncError `sandbox.data`, from the first step on.
 */
export function* tablesFromFile(path: string): Generator<TableSpec> {
  const { file, close } = attempt(path, () => openReadOnly(path));
  try {
    const names = attempt(path, () => tableNames(file));
    if (names.includes('_rowsync_identity')) throw isReplica(path);
    for (const name of names) yield attempt(path, () => tableSpec(path, file, name));
  } finally {
    close();
  }
}

/**
 * Opens the file so that nothing is left beside it. SQLite puts `-wal` and `-shm` files next to a database in WAL mode
 * even to read it, and cannot where the folder is read-only. Such a file is read from a copy, unless another program
 * has it open, whose `-wal` then holds rows that the file alone lacks.
 */
export function openReadOnly(path: string): { readonly file: Database.Database; readonly close: () => void } {
  const options = { readonly: true, fileMustExist: true } as const;
  if (!isWal(path) || existsSync(`${path}-wal`)) {
    const file = new Database(path, options);
    return { file, close: () => void file.close() };
  }
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-data-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const copy = join(folder, 'data.sqlite');
    copyFileSync(path, copy);
    const file = new Database(copy, options);
    const close = (): void => {
      file.close();
      remove();
    };
    return { file, close };
  } catch (thrown) {
    remove();
    throw thrown;
  }
}

/** Whether the header says WAL: byte 18, the write version (SQLite file format, 1.3.2). */
function isWal(path: string): boolean {
  if (!existsSync(path)) return false; // SQLite says so in its own words
  const descriptor = openSync(path, 'r');
  try {
    const header = Buffer.alloc(20);
    readSync(descriptor, header, 0, header.length, 0);
    return header[18] === 2;
  } finally {
    closeSync(descriptor);
  }
}

function isReplica(path: string): RowsyncError {
  return new RowsyncError('usage', 'sandbox.data', {
    message: `${path} is a replica of rowsync, whose tables --data would serve without their descriptions`,
    hint: `Serve it as the database that it is a replica of: rowsync sandbox --replica ${path}`,
  });
}

/** Turns an error of SQLite into one about the file. */
export function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof RowsyncError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new RowsyncError('usage', 'sandbox.data', {
      message: `The sandbox cannot serve ${path}: ${reason}`,
      hint: 'Check that the file exists, can be read, and is a SQLite database.',
      cause,
    });
  }
}

function tableNames(file: Database.Database): readonly string[] {
  return file
    .prepare<[], string>(
      `SELECT name FROM pragma_table_list
       WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`,
    )
    .pluck()
    .all();
}

function tableSpec(path: string, file: Database.Database, name: string): TableSpec {
  const sources = readSources(file, name);
  const key = keyOf(sources);
  return {
    name,
    plural: name.endsWith('s') ? name : `${name}s`,
    key: key?.name,
    columns: sources.map((source) => columnSpec(source, source === key)),
    rows: rowsOf(path, file, { name, sources, key }),
    createdFromMs: CREATED_FROM_MS,
  };
}

function readSources(file: Database.Database, table: string): readonly Source[] {
  const columns = file
    .prepare<[string], { name: string; type: string; notnull: number; dflt_value: string | null; pk: number }>(
      'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid',
    )
    .all(table);
  const unique = new Set(
    file
      .prepare<[string], string | null>(
        `SELECT max(i.name) FROM pragma_index_list(?) l JOIN pragma_index_info(l.name) i
         WHERE l."unique" = 1 AND l.partial = 0 GROUP BY l.name HAVING count(*) = 1`,
      )
      .pluck()
      .all(table),
  );
  const names = columns.map((column) => column.name);
  const profiles = columns.map((column) => emptyProfile(column.type));
  for (const row of readRows(file, table, { names, orderBy: [] })) {
    for (const [index, profile] of profiles.entries()) lookAt(profile, row[index] ?? null);
  }
  return columns.map((column, index) => ({
    name: column.name,
    declared: column.type,
    notNull: column.notnull === 1,
    defaultSql: column.dflt_value,
    keyPosition: column.pk,
    isUnique: unique.has(column.name),
    profile: profiles[index] ?? emptyProfile(column.type),
  }));
}

function* readRows(
  file: Database.Database,
  table: string,
  { names, orderBy }: { readonly names: readonly string[]; readonly orderBy: readonly string[] },
): Generator<readonly SourceValue[]> {
  const order = orderBy.length === 0 ? '' : ` ORDER BY ${orderBy.map(ident).join(', ')}`;
  yield* file
    .prepare<[], SourceValue[]>(`SELECT ${names.map(ident).join(', ')} FROM ${ident(table)}${order}`)
    .raw()
    .safeIntegers()
    .iterate();
}

/** The column that can be the key: alone in the primary key, and all integers or all texts. */
function keyOf(sources: readonly Source[]): Source | undefined {
  const keys = sources.filter(({ keyPosition }) => keyPosition > 0);
  const [only] = keys;
  if (only === undefined || keys.length > 1 || only.profile.nullCount > 0) return undefined;
  return isIntegerKey(only) || chooseType(only.profile) === 'Text' ? only : undefined;
}

function isIntegerKey({ declared, profile }: Source): boolean {
  return /INT/i.test(declared) && profile.integerCount === profile.valueCount;
}

function columnSpec(source: Source, isKey: boolean): ColumnSpec {
  const { name, profile, notNull, isUnique } = source;
  const type = isKey && isIntegerKey(source) ? 'Autonumber' : chooseType(profile);
  const options = [...(isUnique || isKey ? ['Unique'] : []), ...(notNull || isKey ? ['Required'] : [])];
  const declaredWidth = Number(/\(\s*(\d{1,6})\s*\)/.exec(source.declared)?.[1] ?? TEXT_WIDTH);
  return {
    name,
    type,
    options: type === 'Text' || type === 'Multiline' ? [...options, 'AllowFind'] : options,
    width: type === 'Text' ? Math.max(declaredWidth, profile.longest) : undefined,
    defaultValue: isKey ? undefined : defaultOf(source),
  };
}

/** A default that is written as a literal, where it fits the type; expressions have no counterpart. */
function defaultOf({ defaultSql, profile }: Source): Value | undefined {
  const type = chooseType(profile);
  if (defaultSql === null || type === 'Attachment') return undefined;
  const literal = literalOf(defaultSql);
  return literal === undefined ? undefined : convert(type, literal);
}

function literalOf(sql: string): SqlValue | undefined {
  if (/^[+-]?\d{1,15}$/.test(sql)) return BigInt(sql.replace('+', ''));
  if (/^[+-]?\d{1,15}\.\d{1,15}$/.test(sql)) return Number(sql);
  return /^'(?:[^']|'')*'$/.test(sql) ? sql.slice(1, -1).replaceAll("''", "'") : undefined;
}

function* rowsOf(
  path: string,
  file: Database.Database,
  table: { readonly name: string; readonly sources: readonly Source[]; readonly key: Source | undefined },
): Generator<Cells> {
  const { name, sources, key } = table;
  const types = sources.map((source) => columnSpec(source, source === key).type);
  const orderBy = sources
    .filter(({ keyPosition }) => keyPosition > 0)
    .toSorted((a, b) => a.keyPosition - b.keyPosition)
    .map((source) => source.name);
  const rows = readRows(file, name, { names: sources.map((source) => source.name), orderBy });
  let rowNumber = 0;
  for (;;) {
    const next = attempt(path, () => rows.next());
    if (next.done === true) return;
    rowNumber += 1;
    const row = next.value;
    const keyText = key === undefined ? String(rowNumber) : String(row[sources.indexOf(key)]);
    const cells = sources.map(
      (source, index) =>
        [source.name, cellOf(types[index] ?? 'Text', row[index] ?? null, `${source.name}-${keyText}`)] as const,
    );
    yield Object.fromEntries(cells);
  }
}

function cellOf(type: string, value: SourceValue, fileName: string): CellInput {
  if (value === null) return null;
  if (type === 'Attachment') return fileFromValue(fileName, value);
  return convert(type, Buffer.isBuffer(value) ? value.toString('utf8') : value);
}

const SIGNATURES: readonly (readonly [hex: string, extension: string, mediaType: string])[] = [
  ['ffd8ff', 'jpg', 'image/jpeg'],
  ['89504e470d0a1a0a', 'png', 'image/png'],
  ['47494638', 'gif', 'image/gif'],
  ['424d', 'bmp', 'image/bmp'],
  ['49492a00', 'tif', 'image/tiff'],
  ['4d4d002a', 'tif', 'image/tiff'],
  ['25504446', 'pdf', 'application/pdf'],
  ['504b0304', 'zip', 'application/zip'],
  ['1f8b', 'gz', 'application/gzip'],
];

/** Bytes as a file `<name>.<extension by content>`; anything that is not bytes is written out as text. */
function fileFromValue(name: string, value: Buffer | string | number | bigint): FileSpec {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(String(value), 'utf8');
  const head = bytes.subarray(0, 8).toString('hex');
  const signature = SIGNATURES.find(([hex]) => head.startsWith(hex));
  if (signature !== undefined) return { name: `${name}.${signature[1]}`, mediaType: signature[2], bytes };
  const isText = bytes.length > 0 && isUtf8(bytes) && !bytes.includes(0);
  return isText
    ? { name: `${name}.txt`, mediaType: 'text/plain', bytes }
    : { name: `${name}.bin`, mediaType: 'application/octet-stream', bytes };
}

/** A value as it is read from the file, integers as bigint. */
type SourceValue = SqlValue | Buffer;

/** What the declaration proposes; `any` where it says nothing that we know. */
type Family = 'Checkbox' | 'Timestamp' | 'Date' | 'Time' | 'Attachment' | 'Numeric' | 'Text' | 'any';

/** What all values of a column have in common; filled by `lookAt`. */
interface Profile {
  readonly family: Family;
  nullCount: number;
  /** Values that are not null. */
  valueCount: number;
  integerCount: number;
  /** Finite ones; an infinity has no decimal. */
  realCount: number;
  blobCount: number;
  /** Integers 0 and 1. */
  bitCount: number;
  dateCount: number;
  timestampCount: number;
  timeCount: number;
  /** Characters of the longest text. */
  longest: number;
  hasLineBreak: boolean;
}

/** Longer texts become Multiline, which has no width. */
const TEXT_LENGTH_MAX = 250;

/** In this order, because DATETIME contains DATE and TIMESTAMP contains TIME. */
const FAMILIES: readonly (readonly [RegExp, Family])[] = [
  [/BOOL|^BIT\b/i, 'Checkbox'],
  [/DATETIME|TIMESTAMP/i, 'Timestamp'],
  [/^DATE/i, 'Date'],
  [/^TIME/i, 'Time'],
  [/BLOB|BINARY|IMAGE|BYTEA/i, 'Attachment'],
  [/CHAR|CLOB|TEXT|STRING/i, 'Text'],
  [/INT|REAL|FLOA|DOUB|NUM|DEC|MONEY|CURRENCY/i, 'Numeric'],
];

/** A profile that has seen nothing yet. */
function emptyProfile(declared: string): Profile {
  return {
    family: FAMILIES.find(([pattern]) => pattern.test(declared))?.[1] ?? 'any',
    nullCount: 0,
    valueCount: 0,
    integerCount: 0,
    realCount: 0,
    blobCount: 0,
    bitCount: 0,
    dateCount: 0,
    timestampCount: 0,
    timeCount: 0,
    longest: 0,
    hasLineBreak: false,
  };
}

/** Adds one value to a profile. */
function lookAt(profile: Profile, value: SourceValue): void {
  if (value === null) {
    profile.nullCount += 1;
    return;
  }
  profile.valueCount += 1;
  if (typeof value === 'bigint') {
    profile.integerCount += 1;
    if (value === 0n || value === 1n) profile.bitCount += 1;
  } else if (typeof value === 'number') {
    if (Number.isFinite(value)) profile.realCount += 1;
  } else if (typeof value === 'string') {
    lookAtText(profile, value);
  } else {
    profile.blobCount += 1;
  }
}

function lookAtText(profile: Profile, text: string): void {
  profile.longest = Math.max(profile.longest, text.length);
  profile.hasLineBreak ||= /[\r\n]/.test(text);
  if (profile.family !== 'Date' && profile.family !== 'Timestamp' && profile.family !== 'Time') return;
  if (isDate(text)) profile.dateCount += 1;
  else if (isTimeOfDay(text)) profile.timeCount += 1;
  else if (utcFromInputText(text, 'UTC') !== undefined) profile.timestampCount += 1;
}

/** The type that loses nothing. */
function chooseType(profile: Profile): ColumnType {
  const { family, valueCount } = profile;
  if (profile.blobCount > 0) return 'Attachment';
  if (valueCount === 0) return family === 'any' ? 'Text' : family;
  if (family === 'Checkbox' && profile.bitCount === valueCount) return 'Checkbox';
  if (profile.timestampCount === valueCount) return 'Timestamp';
  if (profile.dateCount === valueCount) return 'Date';
  if (profile.timeCount === valueCount) return 'Time';
  if (family !== 'Text' && profile.integerCount + profile.realCount === valueCount) return 'Numeric';
  return profile.hasLineBreak || profile.longest > TEXT_LENGTH_MAX ? 'Multiline' : 'Text';
}

/** A value of the file as one of the chosen type; null where that cannot hold it, which `chooseType` rules out. */
function convert(type: string, value: SqlValue): Value {
  if (value === null) return null;
  switch (type) {
    case 'Checkbox':
      return value === 1n;
    case 'Numeric':
      return typeof value === 'string' ? null : value;
    case 'Timestamp':
      return utcFromInputText(String(value), 'UTC') ?? null;
    case 'Multiline':
      return textOf(value).replaceAll('\r\n', '\n'); // the wire's line break is `\r\n` for all of them
    default:
      return textOf(value);
  }
}

function textOf(value: string | number | bigint): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : numericToPlain(value);
}
