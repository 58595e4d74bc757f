/**
 * The database behind a sandbox, as one handle: what the server reads, and what tests and simulated colleagues change.
 * Every public method is one transaction and is done when it returns, so a request sees each change whole. No SQL in
 * or out.
 */
import type { Statement } from 'better-sqlite3';

import { assert, must } from '../../base/assert.ts';
import { stampFromMs, type Clock } from '../../base/clock.ts';
import type { AttachmentInfo } from '../../wire/schema.ts';
import type { JsonObject, Row, Value } from '../../wire/schema.ts';
import { readDeleted, readUpdated, type BinRow, type TimeSpan, type StampedRow } from './bin.ts';
import {
  findByName,
  readCatalog,
  userText,
  type Catalog,
  type StoreColumn,
  type Role,
  type Table,
  type User,
} from './catalog.ts';
import { openStoreFile, type StoreConnection } from './file.ts';
import { fileBytes, fileRevisions, rowOfFile, storeKnownFile } from './files.ts';
import { Matching, type RowFilter } from './matching.ts';
import { Rows, type Author, type ColumnOrder } from './rows.ts';
import {
  createColumn,
  createTable,
  moveKey,
  removeColumn,
  removeTable,
  renameColumnTo,
  renameTableTo,
  retypeColumn,
  type ColumnChange,
} from './schema.ts';
import type { Cells, ColumnSpec, KnownFile, KnownRow, RoleSpec, TableSpec, UserSpec } from './spec.ts';
import { Versions } from './versions.ts';
import { RowWriter } from './writer.ts';

/** What a new store is created with. */
export interface DatabaseSpec {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly culture: string;
  readonly timeZone: string;
  /** Where the data comes from, in words; compared when a store is opened again. */
  readonly source: string;
  /** Fields that the specification does not name. */
  readonly other?: JsonObject | undefined;
}

/** One row as code reads it: cells by column name, computed ones included. */
export interface StoredRow {
  readonly id: number;
  readonly values: Readonly<Record<string, Value>>;
}

/** First ids, near those of the documented samples: clients should not depend on small numbers. */
const FIRST_TABLE_ID = 115_442;
const FIRST_COLUMN_ID = 2_445_930;
const FIRST_VIEW_ID = 730_247;

/** An open sandbox database. */
export class Store {
  /** The SQLite file; other connections may read it while the sandbox runs. */
  readonly path: string;
  readonly #connection: StoreConnection;
  readonly #clock: Clock;
  readonly #versions = new Versions();
  #catalog: Catalog;
  #rows: Rows;
  #matching: Matching;
  /** Both are asked for each request. */
  readonly #findToken: Statement<[string], number>;
  /** SQLite's own change counter; it moves when another connection writes to the file. */
  readonly #readFileVersion: Statement<[], number>;
  #fileVersion: number | undefined;

  private constructor(path: string, connection: StoreConnection, clock: Clock) {
    this.path = path;
    this.#connection = connection;
    this.#clock = clock;
    this.#catalog = readCatalog(connection);
    const versions = this.#versions;
    const rows = (this.#rows = new Rows(connection, this.#catalog, versions));
    this.#matching = new Matching(versions, rows);
    this.#findToken = connection
      .prepare<[string], number>('SELECT user_id FROM _sandbox_tokens WHERE token = ? AND revoked = 0')
      .pluck();
    this.#readFileVersion = connection.prepare<[], number>('PRAGMA data_version').pluck();
    this.#fileVersion = this.#readFileVersion.get();
  }

  /**
   * Opens the store at `path`, or creates it as `database` says. `durable` is false for temporary files.
   * @throws RowsyncError `sandbox.store`.
   */
  static open(
    path: string,
    database: DatabaseSpec,
    options: { readonly clock: Clock; readonly durable: boolean },
  ): { store: Store; isNew: boolean } {
    const { connection, isNew } = openStoreFile(path, options.durable);
    if (isNew) {
      connection
        .prepare(
          `INSERT INTO _sandbox_database (id, name, description, culture, time_zone, source, next_table_id,
             next_column_id, next_view_id, other) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          database.id,
          database.name,
          database.description,
          database.culture,
          database.timeZone,
          database.source,
          FIRST_TABLE_ID,
          FIRST_COLUMN_ID,
          FIRST_VIEW_ID,
          JSON.stringify(database.other ?? {}),
        );
    }
    return { store: new Store(path, connection, options.clock), isNew };
  }

  /** Closes the file. Nothing else may be called afterwards. */
  close(): void {
    this.#connection.close();
  }

  /** What is described at this moment. */
  get catalog(): Catalog {
    this.#followFile();
    return this.#catalog;
  }

  /** Equal texts promise equal answers from these tables; the schema alone for none. */
  version(tableIds: readonly number[]): string {
    this.#followFile();
    return this.#versions.ofTables(tableIds);
  }

  // Reading, for the server.

  /** The version of what these rows show; see `Versions.ofRows`. */
  rowsVersion(table: Table, ids: readonly number[]): string {
    return this.#versions.ofRows(table, ids);
  }

  /** A page of the ids of the rows that pass all filters, in an order; see `Matching.ids`. */
  orderedIds(
    table: Table,
    sort: readonly ColumnOrder[],
    filters: readonly RowFilter[],
    page: { readonly skip: number; readonly top: number },
  ): readonly number[] {
    return this.#matching.ids(table, sort, filters, page);
  }

  /** The values of all rows that pass the filters, by id. Nothing may be written meanwhile. */
  *eachRow(
    table: Table,
    columns: readonly StoreColumn[],
    filters: readonly RowFilter[],
  ): Generator<readonly Value[], void> {
    const ids = filters.length === 0 ? null : this.#matching.ids(table, [], filters);
    for (const { values } of this.#rows.each(table, columns, ids)) yield values;
  }

  /** How many rows have a value, for each of some columns. */
  countValues(table: Table, columns: readonly StoreColumn[]): readonly number[] {
    return this.#rows.countValues(table, columns);
  }

  /** Rows by id, in the order of the ids. */
  readRows(table: Table, columns: readonly StoreColumn[], ids: readonly number[], allow: string | null): Row[] {
    return this.#rows.read(table, columns, ids, allow);
  }

  /** Row ids by key, in the order of the keys. */
  idsFromKeys(table: Table, keys: readonly string[]): number[] {
    return this.#rows.idsFromKeys(table, keys);
  }

  /** Rows by their last change, the latest first; see `readUpdated`. */
  updatedRows(table: Table, span: TimeSpan): readonly StampedRow[] {
    return readUpdated(this.#connection, table, span);
  }

  /** Rows in the recycle bin, the latest first; see `readDeleted`. */
  deletedRows(
    table: Table,
    columns: readonly StoreColumn[],
    { email, ...span }: TimeSpan & { readonly email: string | null },
  ): readonly BinRow[] {
    return readDeleted(this.#connection, this.#catalog, table, { columns, span, email });
  }

  /** All revisions of the file in a cell, the newest first. */
  fileRevisions(column: StoreColumn, rowId: number): readonly AttachmentInfo[] {
    return fileRevisions(this.#connection, { column, rowId });
  }

  /** The row that a file of a column was stored for, whether it still exists or not. */
  rowOfFile(column: StoreColumn, guid: string): number | undefined {
    return rowOfFile(this.#connection, column, guid);
  }

  /** The bytes of a file that exists. */
  fileBytes(guid: string): Buffer {
    return must(fileBytes(this.#connection, guid), 'a file that was found has bytes');
  }

  /** A row about `fraction` (0 to 1) of the way through the table; undefined when it is empty. */
  rowNear(table: Table, fraction: number): number | undefined {
    return this.#rows.near(table, fraction);
  }

  /** Runs the writes of one API call as one transaction; nothing stays of them when `work` throws. */
  writeAs<T>(user: User, work: (writer: RowWriter) => T): T {
    return this.#write(() => work(new RowWriter(this.#connection, this.#rows, this.#author(user))));
  }

  // Rows, for tests and colleagues. Tables and columns have exact names. The author is the first user unless given.

  /** Inserts a row and returns its `@row.id`. */
  insert(table: string, cells: Cells, as?: UserSpec): number {
    return this.#write(() => this.#rows.insert(this.table(table), cells, this.#author(as)));
  }

  /** Inserts many rows in one transaction and returns their number; see `TableSpec.createdFromMs`. */
  insertMany(table: string, rows: Iterable<Cells>, createdFromMs?: number): number {
    return this.#write(() => {
      const target = this.table(table);
      const author = this.#author(undefined);
      let count = 0;
      for (const cells of rows) {
        const nowMs = createdFromMs === undefined ? author.nowMs : createdFromMs + count * 1000;
        const stamp = createdFromMs === undefined ? author.stamp : stampFromMs(nowMs);
        this.#rows.insert(target, cells, { ...author, nowMs, stamp });
        count += 1;
      }
      return count;
    });
  }

  /** Inserts rows of another database as they are there, and their files. */
  insertKnown(table: string, rows: Iterable<KnownRow>, files: Iterable<KnownFile>): void {
    const nowMs = this.#clock.nowMs();
    this.#write(() => {
      const target = this.table(table);
      for (const row of rows) this.#rows.insertKnown(target, row, nowMs);
      for (const file of files) storeKnownFile(this.#connection, target.id, file);
    });
  }

  /** Changes cells of a row; false when nothing changed. */
  update(table: string, id: number, cells: Cells, as?: UserSpec): boolean {
    return this.#write(() => this.#rows.update(this.table(table), id, cells, this.#author(as)));
  }

  /** Deletes a row; false when there is none. With `purge` it does not go to the recycle bin. */
  delete(table: string, id: number, options: { readonly purge?: boolean; readonly as?: UserSpec } = {}): boolean {
    return this.#write(() =>
      this.#rows.delete(this.table(table), id, this.#author(options.as), options.purge ?? false),
    );
  }

  /** Calls a function with the number of a table when a row came, went or changed, before its transaction ends. */
  onRow(listener: (tableId: number) => void): void {
    this.#versions.onRow = listener;
  }

  /** Runs several changes as one. */
  change(changes: () => void): void {
    this.#write(changes);
  }

  /** All rows of a table by id, every column. */
  rows(table: string): readonly StoredRow[] {
    const found = this.table(table);
    const ids = this.#rows.ids(found, []);
    return this.#rows.read(found, found.columns, ids, null).map(({ id, values }) => ({
      id,
      values: Object.fromEntries(found.columns.map((column, index) => [column.name, values[index] ?? null])),
    }));
  }

  /** Ids of all rows of a table, ascending. */
  ids(table: string): readonly number[] {
    return this.#rows.ids(this.table(table), []);
  }

  /** Number of rows of a table. */
  count(table: string): number {
    return this.#rows.count(this.table(table));
  }

  /** The table with this exact name. */
  table(name: string): Table {
    const table = this.catalog.tables.find((candidate) => candidate.name === name);
    assert(table !== undefined, `the sandbox has a table "${name}"`);
    return table;
  }

  // Schema.

  /** Creates a table with its rows. */
  addTable(spec: TableSpec): void {
    this.#write(() => {
      this.#changeSchema(() => createTable(this.#connection, this.#catalog, spec));
      if (spec.rows !== undefined) this.insertMany(spec.name, spec.rows, spec.createdFromMs);
    });
  }

  /** Drops a table with its rows. */
  dropTable(name: string): void {
    this.#changeSchema(() => removeTable(this.#connection, this.#catalog, this.table(name)));
  }

  /** Renames a table; id and alias stay. */
  renameTable(name: string, now: string): void {
    this.#changeSchema(() => renameTableTo(this.#connection, this.table(name), now));
  }

  /** Adds a column at the end; existing rows get its default. */
  addColumn(table: string, spec: ColumnSpec): void {
    const { id, sqlName } = this.table(table);
    this.#changeSchema(() => createColumn(this.#connection, this.#catalog, { tableId: id, sqlTable: sqlName }, spec));
  }

  /** Drops a column with its values. */
  dropColumn(table: string, name: string): void {
    const found = this.table(table);
    this.#changeSchema(() => removeColumn(this.#connection, this.#catalog, found, columnOf(found, name)));
  }

  /** Renames a column; id and alias stay. */
  renameColumn(table: string, name: string, now: string): void {
    const found = this.table(table);
    this.#changeSchema(() => renameColumnTo(this.#connection, found, columnOf(found, name), now));
  }

  /** Changes a column's alias, type, kind, options, width; values that mean nothing in a new type become null. */
  changeColumn(table: string, name: string, change: ColumnChange): void {
    const found = this.table(table);
    const place = { table: found, column: columnOf(found, name) };
    this.#changeSchema(() => retypeColumn(this.#connection, this.#catalog, place, change));
  }

  /** Makes another column the key of a table. */
  changeKey(table: string, name: string): void {
    const found = this.table(table);
    this.#changeSchema(() => moveKey(this.#connection, found, columnOf(found, name)));
  }

  // Users and rights.

  /** The user that the sandbox's own token and password belong to. */
  get user(): User {
    return must(this.#catalog.users[0], 'a store has a user');
  }

  /** Adds users, with ids of their own unless given. */
  addUsers(...specs: readonly (UserSpec & { readonly password: string })[]): void {
    this.#changeSchema(() => {
      const insert = this.#connection.prepare(
        `INSERT INTO _sandbox_users (email, password, first_name, last_name, role, culture, timezone, admin)
         VALUES (@email, @password, @firstName, @lastName, @role, @culture, @timezone, @admin)`,
      );
      for (const spec of specs) insert.run({ ...spec, admin: JSON.stringify(spec.admin) });
    });
  }

  /** Turns the sandbox's own user into another one: role, zone, e-mail, even the id. Token and password go along. */
  changeUser(change: Partial<UserSpec & { readonly id: number }>): void {
    const before = this.user;
    const after = { ...before, ...change };
    this.#changeSchema(() => {
      this.#connection
        .prepare(
          `UPDATE _sandbox_users
           SET id = @id, email = @email, first_name = @firstName, last_name = @lastName, role = @role, culture = @culture,
             timezone = @timezone, admin = @admin WHERE id = @idBefore`,
        )
        .run({ ...after, admin: JSON.stringify(after.admin), idBefore: before.id });
      this.#connection.prepare('UPDATE _sandbox_tokens SET user_id = ? WHERE user_id = ?').run(after.id, before.id);
    });
  }

  /** Creates roles or changes their rights. */
  setRole(...specs: readonly RoleSpec[]): void {
    const rightsOf = (spec: RoleSpec): Omit<Role, 'name'> => ({
      canWrite: spec.canWrite,
      editOwnOnly: spec.editOwnOnly ?? false,
      hiddenTableIds: spec.hiddenTables.map((name) => this.table(name).id),
      hiddenColumnIds: spec.hiddenColumns.map(([table, name]) => columnOf(this.table(table), name).id),
    });
    this.#changeSchema(() => {
      const write = this.#connection.prepare(
        'INSERT INTO _sandbox_roles (name, rights) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET rights = excluded.rights',
      );
      for (const spec of specs) write.run(spec.name, JSON.stringify(rightsOf(spec)));
    });
  }

  /** Binds a token to a user, the sandbox's own unless given. A revoked one becomes valid again. */
  addToken(token: string, user: User = this.user): void {
    this.#connection
      .prepare('INSERT OR REPLACE INTO _sandbox_tokens (token, user_id, revoked) VALUES (?, ?, 0)')
      .run(token.toLowerCase(), user.id);
  }

  /** Makes a token worthless. */
  revokeToken(token: string): void {
    this.#connection.prepare('UPDATE _sandbox_tokens SET revoked = 1 WHERE token = ?').run(token.toLowerCase());
  }

  /** A token of the sandbox's own user, or of another one, that works; undefined when there is none. */
  anyToken(user: User = this.user): string | undefined {
    return this.#connection
      .prepare<[number], string>(
        'SELECT token FROM _sandbox_tokens WHERE revoked = 0 AND user_id = ? ORDER BY rowid LIMIT 1',
      )
      .pluck()
      .get(user.id);
  }

  /** The user that a token belongs to; undefined when it is unknown or revoked. */
  userOfToken(token: string): User | undefined {
    const id = this.#findToken.get(token.toLowerCase());
    return id === undefined ? undefined : this.catalog.users.find((user) => user.id === id);
  }

  #author(as: UserSpec | undefined): Author {
    const nowMs = this.#clock.nowMs();
    return { user: userText(as ?? this.user), nowMs, stamp: stampFromMs(nowMs) };
  }

  /** Runs writes in a transaction; a nested one joins the outer. */
  #write<T>(work: () => T): T {
    this.#followFile();
    if (this.#connection.inTransaction) return work();
    const transaction = this.#connection.transaction(() => {
      const result = work();
      this.#rows.flush();
      return result;
    });
    try {
      return transaction.immediate();
    } catch (thrown) {
      this.#reload(); // what was rolled back may already be in memory
      throw thrown;
    }
  }

  #changeSchema(work: () => unknown): void {
    this.#write(() => {
      this.#rows.flush();
      work();
      this.#reload();
    });
  }

  #reload(): void {
    this.#catalog = readCatalog(this.#connection);
    const [connection, catalog, versions] = [this.#connection, this.#catalog, this.#versions];
    const rows = (this.#rows = new Rows(connection, catalog, versions));
    this.#matching = new Matching(versions, rows);
    this.#versions.touchSchema();
  }

  /** Someone else may edit the store's file with any SQLite client: what was kept in memory is then worth nothing. */
  #followFile(): void {
    if (this.#connection.inTransaction) return;
    const now = this.#readFileVersion.get();
    if (now === this.#fileVersion) return;
    this.#fileVersion = now;
    this.#reload();
  }
}

function columnOf(table: Table, name: string): StoreColumn {
  const column = findByName(table.columns, name);
  assert(column !== undefined && column.name === name, `the sandbox's table "${table.name}" has a column "${name}"`);
  return column;
}
