/**
 * A replica of rowsync as the database that it is a replica of: descriptions as the origin gave them, rows under their
 * own ids, files. Rows are those that the origin confirmed; edits that wait are not among them. The replica is read in
 * one transaction and never written.
 *
 * Its bookkeeping is read with plain SQL, since the sandbox knows nothing of the replica's code; what the columns mean
 * is said in src/replica/bookkeeping.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { RowsyncError } from '../../base/errors.ts';
import { matchesPattern } from '../../base/name-pattern.ts';
import { plural } from '../../base/text.ts';
import {
  columnType,
  type ColumnDescriptor,
  type DatabaseDescriptor,
  type TableDescriptor,
  type TableSummary,
  type Value,
} from '../../wire/schema.ts';
import { valueFromSql, type SqlValue } from './cells.ts';
import { attempt, openReadOnly } from './data-file.ts';
import { ident } from './file.ts';
import { closeOver, type ReplicaRows } from './replica-rows.ts';
import { maskedValue } from './replica-mask.ts';
import type { ColumnSpec, KnownFile, KnownRow, TableSpec, UserSpec, ViewSpec } from './spec.ts';
import type { DatabaseSpec } from './store.ts';

/** What of a replica is served. */
export interface ReplicaChoice {
  readonly path: string;
  /** Patterns of `Table.Column`, whose values are made up. */
  readonly masks?: readonly string[] | undefined;
  /** At most so many rows of each table, the latest ones, and the rows that they refer to. */
  readonly rows?: number | undefined;
}

/** One table, as it is served. */
export interface ReplicaTable {
  readonly spec: TableSpec;
  readonly rows: Iterable<KnownRow>;
  readonly files: Iterable<KnownFile>;
}

/** An open replica. */
export interface ReplicaFile {
  readonly database: DatabaseSpec;
  readonly user: UserSpec & { readonly id: number };
  readonly tables: Iterable<ReplicaTable>;
  /** What the replica does not know of its origin, as sentences; whole once all tables are read. */
  readonly unknown: readonly string[];
  /** What the origin was seen to refuse, in its words. */
  readonly rules: readonly string[];
  close(): void;
}

interface CallerLine {
  readonly database: string;
  readonly userId: number;
  readonly role: string;
  readonly email: string;
  readonly zone: string;
  readonly admin: string | null;
}

/** A column that is in the replica. */
interface ServedColumn {
  readonly id: number;
  readonly localName: string;
  readonly name: string;
  readonly alias: string;
  readonly type: string;
  readonly kind: string | null;
  readonly writable: 0 | 1;
  readonly width: number | null;
  readonly options: string;
  /** The type whose values the column holds here in place of its own; null for none. */
  readonly maskedFrom: string | null;
  readonly storedForm: string;
}

/** One table of the replica, before its rows are read. */
export interface ServedTable extends ReplicaRows {
  readonly localName: string;
  readonly summary: TableSummary;
  readonly described: TableDescriptor;
  readonly columns: readonly ServedColumn[];
  readonly hasColor: boolean;
}

/** Opens a replica. @throws RowsyncError `sandbox.data`, `sandbox.option` for a mask that fits no column. */
export function openReplicaFile(choice: ReplicaChoice): ReplicaFile {
  const { path } = choice;
  const { file, close } = attempt(path, () => openReadOnly(path));
  try {
    return attempt(path, () => readReplica(file, choice, close));
  } catch (thrown) {
    close();
    throw thrown;
  }
}

function readReplica(
  file: Database.Database,
  { path, masks = [], rows }: ReplicaChoice,
  close: () => void,
): ReplicaFile {
  file.exec('BEGIN');
  const identity = readIdentity(file, path);
  const described = readDescriptor(file, 'database') as DatabaseDescriptor | undefined; // stored under this scope only
  const tables = readTables(file, described);
  const isMasked = masksOf(tables, masks);
  const unknown: string[] = [];
  const without = (described?.tables ?? []).filter(({ id }) => !tables.some((table) => table.summary.id === id));
  if (without.length > 0) unknown.push(`not in the replica: ${without.map(({ recordName }) => recordName).join(', ')}`);
  if (rows !== undefined) closeOver(file, tables, rows);
  const person = userFrom(identity, described);
  return {
    database: databaseFrom(identity, described, path),
    user: person,
    tables: tables.map((table) => servedTable(file, { table, isMasked, isPart: rows !== undefined, unknown })),
    unknown,
    rules: readRules(file),
    close: () => {
      file.exec('ROLLBACK');
      close();
    },
  };
}

function readIdentity(file: Database.Database, path: string): CallerLine {
  const isReplica = file.prepare(`SELECT 1 FROM sqlite_schema WHERE name = '_rowsync_identity'`).get() !== undefined;
  const identity = !isReplica
    ? undefined
    : file
        .prepare<[], CallerLine>(
          'SELECT database, user_id AS userId, role, user_email AS email, time_zone AS zone, admin FROM _rowsync_identity',
        )
        .get();
  if (identity !== undefined) return identity;
  throw new RowsyncError('usage', 'sandbox.data', {
    message: `${path} is no replica that was pulled`,
    hint: isReplica ? 'Run rowsync pull first.' : 'To serve a SQLite file of your own, use --data.',
  });
}

function readDescriptor(file: Database.Database, scope: string): unknown {
  const text = file
    .prepare<string[], string>(`SELECT descriptor FROM _rowsync_descriptors WHERE scope = ?`)
    .pluck()
    .get(scope);
  return text === undefined ? undefined : JSON.parse(text);
}

function databaseFrom(identity: CallerLine, described: DatabaseDescriptor | undefined, path: string): DatabaseSpec {
  const source = `the replica ${path}`;
  const { name = 'Replica', description = '', culture = 'en-US', timeZone = identity.zone, other } = described ?? {};
  return { id: identity.database, name, description, culture, timeZone, source, other };
}

/** The name of a user is in no replica but as a value; it is for display, and the e-mail identifies the user. */
function userFrom(identity: CallerLine, described: DatabaseDescriptor | undefined): UserSpec & { readonly id: number } {
  const { userId: id, email, role, zone: timezone, admin } = identity;
  const [firstName = ''] = email.split('@');
  const culture = described?.culture ?? 'en-US';
  const rights = (admin ?? '').split(',').filter((right) => right !== '');
  return { id, email, firstName, lastName: '', role, culture, timezone, admin: rights };
}

/** The tables in the order in which the origin describes them. */
function readTables(file: Database.Database, database: DatabaseDescriptor | undefined): readonly ServedTable[] {
  const tables = file
    .prepare<[], { id: number; name: string; alias: string; localName: string; allowAdd: 0 | 1 }>(
      `SELECT id, name, alias, local_name AS localName, allow_add AS allowAdd FROM _rowsync_tables
       WHERE state <> 'gone' AND local_name COLLATE NOCASE IN (SELECT name FROM sqlite_schema WHERE type = 'table') ORDER BY id`,
    )
    .all();
  const place = new Map(database?.tables.map(({ id }, index) => [id, index]));
  const known = tables.map(({ id, name, alias, localName, allowAdd }): ServedTable => {
    const columns = readColumns(file, id);
    const inTable = readDescriptor(file, `table:${id}`) as TableDescriptor | undefined; // stored under this scope only
    const base = `_rowsync_base_${id}`;
    const sourceName = physicalColumns(file, base).length > 0 ? base : localName;
    const summary = database?.tables.find((table) => table.id === id) ?? {
      id,
      recordName: name,
      recordsName: name,
      alias,
      showTab: true,
      color: '#0061B0',
      other: {},
    };
    const described = inTable ?? describedBy(summary, columns, allowAdd === 1);
    const keyId = described.columns.find((column) => column.name === described.key)?.id;
    const keyName = columns.find((column) => column.id === keyId)?.localName ?? null;
    const physical = physicalColumns(file, sourceName);
    const hasColor = physical.includes('_color');
    return {
      id,
      localName,
      summary,
      described,
      columns,
      sourceName,
      keyName,
      hasColor,
      possibleReferences: columns
        .filter(({ storedForm }) => storedForm !== 'Autonumber')
        .map((column) => column.localName),
    };
  });
  return known.toSorted((a, b) => (place.get(a.id) ?? tables.length) - (place.get(b.id) ?? tables.length));
}

function physicalColumns(file: Database.Database, table: string): readonly string[] {
  return file.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table);
}

function readColumns(file: Database.Database, tableId: number): readonly ServedColumn[] {
  return file
    .prepare<[number], ServedColumn>(
      `SELECT id, local_name AS localName, name, alias, type, kind, writable, width, options,
         json_extract(mask, '$.from') AS maskedFrom, value_form AS storedForm
       FROM _rowsync_columns WHERE table_id = ? AND state = 'live' ORDER BY position, seq`,
    )
    .all(tableId);
}

/** A description made of what is kept of the columns, where the origin sends no ETag and its own was not kept. */
function describedBy(summary: TableSummary, columns: readonly ServedColumn[], allowAdd: boolean): TableDescriptor {
  const all = columns.map(
    ({ id, name, alias, type, kind, writable, width, options, maskedFrom }): ColumnDescriptor => ({
      id,
      name,
      alias,
      type: maskedFrom ?? type,
      kind,
      width,
      readOnly: writable === 0,
      other: {},
      dataOptions: options.split(', ').filter((option) => option !== ''),
      displayOptions: ['ShowInViews'],
    }),
  );
  const key = all.find(({ kind }) => kind === 'Key') ?? all[0];
  return { ...summary, allowAdd, key: key?.name ?? '', columns: all, views: [] };
}

/** Masked columns, as `table id/column id`. A misspelt mask would show values, so one that fits nothing throws. */
function masksOf(tables: readonly ServedTable[], patterns: readonly string[]): ReadonlySet<string> {
  const masked = new Set<string>();
  for (const pattern of patterns) {
    const found = tables.flatMap((table) =>
      table.described.columns.flatMap((column) => {
        const name = `${table.described.recordName}.${column.name}`;
        return matchesPattern(pattern, name, { ignoreCase: true }) ? [{ table, column, name }] : [];
      }),
    );
    const key = found.find(({ table, column }) => column.name === table.described.key);
    if (found.length > 0 && (key === undefined || pattern.includes('*'))) {
      for (const { table, column } of found)
        if (column.name !== table.described.key) masked.add(`${table.id}/${column.id}`);
      continue;
    }
    throw new RowsyncError('usage', 'sandbox.option', {
      message:
        key === undefined
          ? `No column is called ${pattern}`
          : `${key.name} is a key, by which other rows refer to its row`,
      hint: 'Name columns with their table, as in --mask Customer.Phone; * matches any text.',
    });
  }
  return masked;
}

function servedTable(
  file: Database.Database,
  part: {
    readonly table: ServedTable;
    readonly isMasked: ReadonlySet<string>;
    readonly isPart: boolean;
    readonly unknown: string[];
  },
): ReplicaTable {
  const { table, unknown } = part;
  const { described, summary } = table;
  const kindOf = (column: ColumnDescriptor): string => {
    const known = table.columns.find(({ id }) => id === column.id);
    return column.kind ?? known?.kind ?? (known?.writable === 1 ? 'Updatable' : 'Unknown');
  };
  const columns = described.columns.map((column): ColumnSpec => {
    const { id, name, alias, type, dataOptions: options, displayOptions, width, kind, readOnly, other } = column;
    const words = { width, kind, readOnly, other };
    const isReadOnly = readOnly ?? table.columns.some((known) => known.id === id && known.writable === 0);
    return {
      name,
      type,
      kind: kindOf(column),
      options,
      displayOptions,
      width: width ?? undefined,
      readOnly: isReadOnly,
      described: { id, alias, words },
    };
  });
  noteUnknown(table, columns, unknown);
  const { id, recordName: name, alias, color, showTab } = summary;
  const key = columns.some((column) => column.name === described.key) ? described.key : columns[0]?.name;
  const words = { inDatabase: summary.other, other: described.other };
  const spec: TableSpec = {
    name,
    plural: summary.recordsName,
    color,
    showTab,
    allowAdd: described.allowAdd,
    key,
    columns,
    systemColumns: false,
    views: described.views.map((view) => viewSpec(view, columns)),
    described: { id, alias, words },
  };
  return { spec, rows: rowsOf(file, { ...part, columns }), files: filesOf(file, part) };
}

function viewSpec(view: TableDescriptor['views'][number], columns: readonly ColumnSpec[]): ViewSpec {
  const { id, name, alias, type, showInMenu, actions, other } = view;
  const isKnown = (text: string): boolean =>
    columns.some((column) => column.name === text || column.described?.alias === text);
  const texts = (field: string): readonly string[] | undefined => {
    const list = other[field];
    return Array.isArray(list) ? list.map(String) : undefined;
  };
  const groups = texts('groups')?.filter((text) => isKnown(text.replace(/\/\/[^/]+$/, '')) && text.includes('//'));
  const shown = texts('columns')?.filter(isKnown);
  return { name, type, showInMenu, actions, columns: shown, groups, described: { id, alias, words: other } };
}

/** Says what of a table is served otherwise than the origin does, by the names of the replica. */
function noteUnknown(table: ServedTable, columns: readonly ColumnSpec[], unknown: string[]): void {
  const note = (what: string, names: readonly string[]): void => {
    if (names.length > 0) unknown.push(`${table.localName}: ${what}: ${names.join(', ')}`);
  };
  const here = new Map(table.columns.map((column) => [column.id, column]));
  const frozen = columns.filter(({ kind }) => !OWN_KINDS.has(kind ?? ''));
  note(
    'empty, since the replica leaves them out',
    table.described.columns.filter(({ id }) => !here.has(id)).map(({ name }) => name),
  );
  note(
    'empty, since the replica has masked values of another type',
    table.columns.filter(isOtherType).map(({ localName }) => localName),
  );
  note(
    'computed there, and frozen here',
    frozen.map(({ name, described }) => here.get(described?.id ?? -1)?.localName ?? name),
  );
}

/** Kinds of columns that the origin does not compute from others. */
const OWN_KINDS: ReadonlySet<string> = new Set([
  'Updatable',
  'Key',
  'RecordOwner',
  'CreatedBy',
  'DateCreated',
  'LastModifiedBy',
  'DateModified',
]);

function isOtherType({ maskedFrom, storedForm }: ServedColumn): boolean {
  return maskedFrom !== null && maskedFrom !== storedForm;
}

function* rowsOf(
  file: Database.Database,
  part: {
    readonly table: ServedTable;
    readonly columns: readonly ColumnSpec[];
    readonly isMasked: ReadonlySet<string>;
    readonly isPart: boolean;
  },
): Generator<KnownRow> {
  const { table, columns, isMasked, isPart } = part;
  const read = columns.flatMap((column) => {
    const known = table.columns.find(({ id }) => id === column.described?.id);
    return known === undefined || isOtherType(known) ? [] : [{ column, known }];
  });
  const stamps = { created: indexOfKind(read, 'DateCreated'), modified: indexOfKind(read, 'DateModified') };
  const cells = read.map(({ known }) => `, ${ident(known.localName)}`).join('');
  const taken = isPart ? ` AND _id IN (SELECT id FROM temp.taken WHERE table_id = ${table.id})` : '';
  const rows = file
    .prepare<[], SqlValue[]>(
      `SELECT _id, _allow, ${table.hasColor ? '_color' : 'NULL'}${cells} FROM ${ident(table.sourceName)} WHERE _id > 0${taken}`,
    )
    .raw()
    .safeIntegers();
  for (const [id, allow, color, ...stored] of rows.iterate()) {
    const values = read.map(({ column }, index): readonly [string, Value] => {
      const value = valueFromSql(columnType(column.type), stored[index] ?? null);
      const isHidden = isMasked.has(`${table.id}/${column.described?.id}`);
      return [column.name, isHidden && value !== null ? maskedValue(column, Number(id)) : value];
    });
    yield {
      id: Number(id),
      cells: Object.fromEntries(values),
      allow: typeof allow === 'string' ? allow.split(',').join(', ') : null, // kept without blanks
      color: typeof color === 'string' && color !== '' ? color : null,
      createdMs: msOf(stored[stamps.created]),
      modifiedMs: msOf(stored[stamps.modified]),
    };
  }
}

function indexOfKind(read: readonly { readonly column: ColumnSpec }[], kind: string): number {
  return read.findIndex(({ column }) => column.kind === kind);
}

function msOf(stamp: SqlValue | undefined): number | null {
  const ms = typeof stamp === 'string' ? Date.parse(stamp) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** Files whose content is here, read one by one. Those of masked columns and of rows that are not taken stay out. */
function* filesOf(
  file: Database.Database,
  part: {
    readonly table: ServedTable;
    readonly isMasked: ReadonlySet<string>;
    readonly isPart: boolean;
    readonly unknown: string[];
  },
): Generator<KnownFile> {
  const { table, isMasked, isPart, unknown } = part;
  const taken = isPart ? ` AND row_id IN (SELECT id FROM temp.taken WHERE table_id = ${table.id})` : '';
  const folder = file.prepare<[], string>('SELECT folder FROM _rowsync_file_store').pluck().get() ?? '';
  const files = file
    .prepare<[number], FileLine>(
      `SELECT column_id AS columnId, row_id AS rowId, revision, guid, name, type, author, created_at AS created, sha256
       FROM _rowsync_files WHERE table_id = ? AND row_id > 0${taken}`,
    )
    .all(table.id);
  let missing = 0;
  for (const { type, author, created, sha256, ...line } of files) {
    if (isMasked.has(`${table.id}/${line.columnId}`)) continue;
    const bytes = sha256 === null ? undefined : contentOf(join(folder, sha256.slice(0, 2), sha256));
    if (bytes === undefined) {
      missing += 1;
      continue;
    }
    const createdMs = msOf(created) ?? 0;
    yield { ...line, mediaType: type ?? 'application/octet-stream', author: author ?? '', createdMs, bytes };
  }
  if (missing > 0) unknown.push(`${table.localName}: ${plural(missing, 'file')} without content in the replica`);
}

interface FileLine extends Pick<KnownFile, 'columnId' | 'rowId' | 'revision' | 'guid' | 'name'> {
  readonly type: string | null;
  readonly author: string | null;
  readonly created: string | null;
  readonly sha256: string | null;
}

function contentOf(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // counted and said by the caller
  }
}

/** Refusals of the origin by the names of the replica, each once, with how many rows it was said of. */
function readRules(file: Database.Database): readonly string[] {
  return file
    .prepare<[], { name: string; column: string | null; reason: string; count: number }>(
      `SELECT t.local_name AS name, f.column_name AS "column", f.reason, count(*) AS count
       FROM _rowsync_refusals f JOIN _rowsync_tables t ON t.id = f.table_id
       WHERE f.status IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    )
    .all()
    .map(({ name, column, reason, count }) => {
      return `${name}${column === null ? '' : `.${column}`}: ${reason} (${plural(count, 'row')})`;
    });
}
