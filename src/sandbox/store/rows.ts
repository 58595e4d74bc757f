/**
 * The rows of a sandbox's tables: read in any order, inserted, edited, deleted. Invariants: a row id is never used
 * twice; every write stamps `Versions` if and only if something changed; a deleted row is kept in the bin.
 */
import type { Statement } from 'better-sqlite3';
import { assert, must } from '../../base/assert.ts';
import { TYPE_RULES } from '../../wire/column-types.ts';
import { numericFromText } from '../../wire/decimal.ts';
import type { Row, Value } from '../../wire/schema.ts';
import { columnSql, findByName, type Catalog, type StoreColumn, type Table } from './catalog.ts';
import { autonumber, isFile, sqlFromValue, textFromValue, valueFromSql, type SqlValue } from './cells.ts';
import { ident, type StoreConnection } from './file.ts';
import { removeFiles, storeFile } from './files.ts';
import type { Cells, FileSpec, KnownRow } from './spec.ts';
import type { Versions } from './versions.ts';

/** Who writes, and when. */
export interface Author {
  /** `Name <email>`. */
  readonly user: string;
  readonly nowMs: number;
  /** `nowMs` as the value of a Timestamp. */
  readonly stamp: string;
}

/** A sort key whose column was found. */
export interface ColumnOrder {
  readonly column: StoreColumn;
  readonly descending: boolean;
}

/** Reads and writes rows by the catalog of the moment. A new catalog needs a new instance. */
export class Rows {
  readonly #connection: StoreConnection;
  readonly #catalog: Catalog;
  readonly #versions: Versions;
  readonly #numbering: Numbering;
  readonly #rowReads: Statements<Statement<[string | number], SqlValue[]>>;
  readonly #searches: Statements<Statement<[SqlValue, number], number>>;
  readonly #updates: Statements<Statement<SqlValue[]>>;
  readonly #allowances: Statements<Statement<[number], string | null>>;
  readonly #inserts = new Map<number, (cells: Cells, author: Author) => number>();
  readonly #orders: Statements<Statement<string[], number>>;

  constructor(connection: StoreConnection, catalog: Catalog, versions: Versions) {
    this.#connection = connection;
    this.#catalog = catalog;
    this.#versions = versions;
    this.#numbering = new Numbering(connection);
    this.#rowReads = new Statements((sql) =>
      connection.prepare<[string | number], SqlValue[]>(sql).raw().safeIntegers(),
    );
    this.#searches = new Statements((sql) => connection.prepare<[SqlValue, number], number>(sql).pluck());
    this.#updates = new Statements((sql) => connection.prepare<SqlValue[]>(sql));
    this.#allowances = new Statements((sql) => connection.prepare<[number], string | null>(sql).pluck());
    this.#orders = new Statements((sql) => connection.prepare<string[], number>(sql).pluck());
  }

  /** Writes down what was counted in memory; called at the end of every transaction. */
  flush(): void {
    this.#numbering.flush();
  }

  /** Notes what the counters are; the function that comes back undoes what was counted since. */
  markNumbering(): () => void {
    return this.#numbering.mark();
  }

  /** Inserts one row and returns its id. */
  insert(table: Table, cells: Cells, author: Author): number {
    let insert = this.#inserts.get(table.id);
    if (insert === undefined) this.#inserts.set(table.id, (insert = this.#prepareInsert(table)));
    const id = insert(cells, author);
    this.#versions.touchRow(table.id, id, null, true);
    return id;
  }

  /** Inserts a row of another database under its own id. */
  insertKnown(table: Table, row: KnownRow, nowMs: number): void {
    const stored = table.columns.filter((column) => column.sqlName !== null);
    const names = stored.map((column) => `, ${ident(must(column.sqlName, 'filtered above'))}`);
    const values = stored.map((column) => sqlFromValue(column, row.cells[column.name] ?? null));
    this.#updates
      .get(
        `INSERT INTO ${ident(table.sqlName)} (_sandbox_row, _sandbox_created_ms, _sandbox_modified_ms, _sandbox_allow,
           _sandbox_color${names.join('')}) VALUES (?, ?, ?, ?, ?${', ?'.repeat(names.length)})`,
      )
      .run(row.id, row.createdMs ?? nowMs, row.modifiedMs ?? row.createdMs ?? nowMs, row.allow, row.color, ...values);
    for (const [index, column] of stored.entries()) {
      if (column.valueType === 'Autonumber') this.#numbering.countPast(column.id, values[index] ?? null);
    }
    this.#versions.touchRow(table.id, row.id, null, true);
  }

  /** What a row itself says that the caller may do with it; null where it says nothing, or does not exist. */
  allowOf(table: Table, id: number): string | null {
    if (table.described === null) return null;
    return (
      this.#allowances.get(`SELECT _sandbox_allow FROM ${ident(table.sqlName)} WHERE _sandbox_row = ?`).get(id) ?? null
    );
  }

  /** Changes the given cells of one row; false when they all had these values already, or the row does not exist. */
  update(table: Table, id: number, cells: Cells, author: Author): boolean {
    const targets = Object.entries(cells).map(([name, cell]) => ({ column: storedColumn(table, name), cell }));
    const before = this.#storedCells(
      table,
      targets.map(({ column }) => column),
      id,
    );
    if (before === undefined) return false;
    const changed: { column: StoreColumn; value: SqlValue }[] = [];
    for (const [index, { column, cell }] of targets.entries()) {
      const value = isFile(cell)
        ? storeFile(this.#connection, { column, rowId: id }, cell, author)
        : sqlFromValue(column, cell);
      if (value === before[index]) continue;
      if (column.valueType === 'Autonumber') this.#numbering.countPast(column.id, value);
      changed.push({ column, value });
    }
    if (changed.length === 0) return false;
    this.#writeChanged(table, id, changed, author);
    return true;
  }

  /** Deletes one row; false when it does not exist. It stays in the recycle bin unless `purge` is set. */
  delete(table: Table, id: number, author: Author, purge = false): boolean {
    const stored = table.columns.filter((column) => column.sqlName !== null);
    const values = this.#storedCells(table, stored, id);
    if (values === undefined) return false;
    if (!purge) {
      const cells = stored.map((column, index) => [
        column.id,
        textFromValue(valueFromSql(column.valueType, values[index] ?? null)),
      ]);
      this.#connection
        .prepare(
          'INSERT INTO _sandbox_deleted (table_id, row_id, deleted_ms, deleted_by, cells) VALUES (?, ?, ?, ?, ?)',
        )
        .run(table.id, id, author.nowMs, author.user, JSON.stringify(Object.fromEntries(cells)));
    } else {
      removeFiles(this.#connection, table.id, id);
    }
    this.#connection.prepare(`DELETE FROM ${ident(table.sqlName)} WHERE _sandbox_row = ?`).run(id);
    this.#versions.touchRow(table.id, id, null);
    return true;
  }

  /** Number of rows. */
  count(table: Table): number {
    const count = this.#connection
      .prepare<[], number>(`SELECT count(*) FROM ${ident(table.sqlName)}`)
      .pluck()
      .get();
    return must(count, 'a count has one row');
  }

  /** The row that is about `fraction` of the way through the ids; undefined in an empty table. */
  near(table: Table, fraction: number): number | undefined {
    const name = ident(table.sqlName);
    return this.#connection
      .prepare<[number], number>(
        `SELECT _sandbox_row FROM ${name}
         WHERE _sandbox_row >= (SELECT min(_sandbox_row) FROM ${name}) + CAST(? *
           ((SELECT max(_sandbox_row) FROM ${name}) - (SELECT min(_sandbox_row) FROM ${name})) AS INTEGER)
         ORDER BY _sandbox_row LIMIT 1`,
      )
      .pluck()
      .get(fraction);
  }

  /** The ids of all rows, or of some that exist, in the given order; rows that compare equal are ordered by id. */
  ids(table: Table, sort: readonly ColumnOrder[], among: readonly number[] | null = null): number[] {
    const terms = sort.map(({ column, descending }) => this.#orderTerm(column, descending ? ' DESC' : ''));
    const some = among === null ? '' : 'WHERE t._sandbox_row IN (SELECT value FROM json_each(?))';
    return this.#orders
      .get(
        `SELECT t._sandbox_row FROM ${ident(table.sqlName)} t ${some} ORDER BY ${[...terms, 't._sandbox_row'].join(', ')}`,
      )
      .all(...(among === null ? [] : [JSON.stringify(among)]));
  }

  /** The rows with these ids, in their order, without missing ones. `allow` is of rows that say nothing themselves. */
  read(table: Table, columns: readonly StoreColumn[], ids: readonly number[], allow: string | null): Row[] {
    const rows = this.#rowReads.get(this.#readSql(table, columns, true)).all(JSON.stringify(ids));
    return rows.map((row) => {
      const [id, ownAllow, color] = row;
      const said = typeof color === 'string' ? { color } : {};
      const rowAllow = typeof ownAllow === 'string' ? ownAllow : allow;
      return { id: Number(id), allow: rowAllow, ...said, values: valuesOf(columns, row) };
    });
  }

  /** The same one by one, or all rows by id. Nothing may be written meanwhile. */
  *each(
    table: Table,
    columns: readonly StoreColumn[],
    ids: readonly number[] | null,
  ): Generator<{ readonly id: number; readonly values: readonly Value[] }, void> {
    const rows = this.#connection.prepare<string[], SqlValue[]>(this.#readSql(table, columns, ids !== null));
    const given = ids === null ? [] : [JSON.stringify(ids)];
    for (const row of rows
      .raw()
      .safeIntegers()
      .iterate(...given))
      yield { id: Number(row[0]), values: valuesOf(columns, row) };
  }

  #readSql(table: Table, columns: readonly StoreColumn[], byId: boolean): string {
    const values = columns.map((column) => `, ${columnSql(this.#catalog, column)}`).join('');
    const name = ident(table.sqlName);
    return byId
      ? `SELECT ${factsOf(table)}${values} FROM json_each(?) page
         CROSS JOIN ${name} t ON t._sandbox_row = page.value ORDER BY page.key`
      : `SELECT ${factsOf(table)}${values} FROM ${name} t ORDER BY t._sandbox_row`;
  }

  /** How many rows have a value, for each of some columns. */
  countValues(table: Table, columns: readonly StoreColumn[]): readonly number[] {
    const counts = columns.map((column) => `count(${columnSql(this.#catalog, column)})`).join(', ');
    const row = this.#connection
      .prepare<[], number[]>(`SELECT ${counts} FROM ${ident(table.sqlName)} t`)
      .raw()
      .get();
    return must(row, 'counts have one row');
  }

  /** The ids of the rows with these keys, in the order of the keys; what does not exist is left out. */
  idsFromKeys(table: Table, keys: readonly string[]): number[] {
    if (TYPE_RULES[table.key.valueType].storedAs !== 'TEXT') {
      // Numbers are no texts to SQLite, and one number has several texts.
      return keys.flatMap((text) => this.idsWith(table, table.key, numericFromText(text) ?? null, 1));
    }
    const key = ident(must(table.key.sqlName, 'a key is stored'));
    return this.#connection
      .prepare<[string], number>(
        `SELECT t._sandbox_row FROM json_each(?) page
         CROSS JOIN ${ident(table.sqlName)} t ON t.${key} = page.value ORDER BY page.key`,
      )
      .pluck()
      .all(JSON.stringify(keys));
  }

  /** Ids of the first rows, `limit` of them at most, that hold a value in a stored column. */
  idsWith(table: Table, column: StoreColumn, value: Value, limit: number): readonly number[] {
    const name = ident(must(column.sqlName, 'only stored columns are searched'));
    return this.#searches
      .get(`SELECT _sandbox_row FROM ${ident(table.sqlName)} WHERE ${name} = ? ORDER BY _sandbox_row LIMIT ?`)
      .all(sqlFromValue(column, value), limit);
  }

  #orderTerm(column: StoreColumn, direction: string): string {
    const value = columnSql(this.#catalog, column);
    switch (TYPE_RULES[column.valueType].form) {
      case 'checkbox':
        return `${value}${direction}`;
      case 'timestamp':
        // As texts, half past a second would come before the second: a point comes before a Z.
        return `rtrim(${value}, 'Z')${direction}`;
      case 'number':
        // Exact decimals that no double holds are stored as text; they sort among the numbers, not behind them.
        return `CAST(${value} AS REAL)${direction}, ${value}${direction}`;
      default:
        return `${value} COLLATE NOCASE${direction}`;
    }
  }

  #prepareInsert(table: Table): (cells: Cells, author: Author) => number {
    const stored = table.columns.filter((column) => column.sqlName !== null);
    const names = stored.map((column) => ident(must(column.sqlName, 'filtered above')));
    const statement = this.#connection.prepare(
      `INSERT INTO ${ident(table.sqlName)} (_sandbox_created_ms, _sandbox_modified_ms${names.map((name) => `, ${name}`).join('')})
       VALUES (?, ?${', ?'.repeat(names.length)})`,
    );
    const known = new Set(stored.map((column) => column.name));
    return (cells, author) => {
      for (const name of Object.keys(cells)) if (!known.has(name)) storedColumn(table, name);
      const files: { column: StoreColumn; file: FileSpec }[] = [];
      const values = stored.map((column) => {
        const cell = Object.hasOwn(cells, column.name) ? cells[column.name] : undefined;
        if (column.valueType === 'Autonumber') return this.#numbering.take(column, cell);
        if (cell === undefined) return sqlFromValue(column, valueWithout(column, author));
        if (!isFile(cell)) return sqlFromValue(column, cell);
        files.push({ column, file: cell });
        return null;
      });
      const id = Number(statement.run(author.nowMs, author.nowMs, ...values).lastInsertRowid);
      for (const { column, file } of files) {
        const value = storeFile(this.#connection, { column, rowId: id }, file, author);
        const name = ident(must(column.sqlName, 'filtered above'));
        this.#connection
          .prepare(`UPDATE ${ident(table.sqlName)} SET ${name} = ? WHERE _sandbox_row = ?`)
          .run(value, id);
      }
      return id;
    };
  }

  #storedCells(table: Table, columns: readonly StoreColumn[], id: number): readonly SqlValue[] | undefined {
    const values = columns.map((column) => `, t.${ident(must(column.sqlName, 'only stored columns are read here'))}`);
    const row = this.#rowReads
      .get(`SELECT t._sandbox_row${values.join('')} FROM ${ident(table.sqlName)} t WHERE t._sandbox_row = ?`)
      .get(id);
    return row?.slice(1);
  }

  #writeChanged(
    table: Table,
    id: number,
    changed: readonly { column: StoreColumn; value: SqlValue }[],
    author: Author,
  ): void {
    const given = new Set(changed.map(({ column }) => column.id));
    const stamps = table.columns
      .filter((column) => (column.kind === 'LastModifiedBy' || column.kind === 'DateModified') && !given.has(column.id))
      .map((column) => ({ column, value: sqlFromValue(column, valueWithout(column, author)) }));
    const all = [...changed, ...stamps];
    const settings = all.map(({ column }) => `, ${ident(must(column.sqlName, 'only stored columns are written'))} = ?`);
    this.#updates
      .get(`UPDATE ${ident(table.sqlName)} SET _sandbox_modified_ms = ?${settings.join('')} WHERE _sandbox_row = ?`)
      .run(author.nowMs, ...all.map(({ value }) => value), id);
    this.#versions.touchRow(
      table.id,
      id,
      all.map(({ column }) => column.id),
    );
  }
}

/** What is read of each row before its values. */
function factsOf({ described }: Table): string {
  return described === null ? 't._sandbox_row, NULL, NULL' : 't._sandbox_row, t._sandbox_allow, t._sandbox_color';
}

function valuesOf(columns: readonly StoreColumn[], row: readonly SqlValue[]): readonly Value[] {
  return columns.map((column, index) => valueFromSql(column.valueType, row[index + 3] ?? null));
}

function storedColumn(table: Table, name: string): StoreColumn {
  const column = findByName(table.columns, name);
  assert(column !== undefined && column.name === name, `the sandbox's table "${table.name}" has a column "${name}"`);
  assert(column.sqlName !== null, `the column "${name}" of the sandbox's table "${table.name}" is not computed`);
  return column;
}

/** The value of a column for which none was given. */
function valueWithout(column: StoreColumn, author: Author): Value {
  switch (column.kind) {
    case 'RecordOwner':
    case 'CreatedBy':
    case 'LastModifiedBy':
      return author.user;
    case 'DateCreated':
    case 'DateModified':
      return author.stamp;
    default:
      return column.defaultValue;
  }
}

/** The counters of the Autonumber columns, kept in memory and written down once per transaction. */
class Numbering {
  readonly #connection: StoreConnection;
  #nextById = new Map<number, number>();
  #moved = new Set<number>();

  constructor(connection: StoreConnection) {
    this.#connection = connection;
  }

  /** The next number in the column's format; a given value is kept, and counted past if it is a number. */
  take(column: StoreColumn, given: Cells[string] | undefined): SqlValue {
    if (given === undefined) {
      const next = this.#next(column.id);
      this.#advance(column.id, next + 1);
      return autonumber(column.format, next);
    }
    if (given === null) return null;
    assert(!isFile(given), `the cell for the Autonumber "${column.name}" is a text`);
    const text = String(given);
    this.countPast(column.id, text);
    return text;
  }

  /** Makes sure that no number to come equals a value that was given, so far as that ends with digits. */
  countPast(columnId: number, given: SqlValue): void {
    const digits = /\d{1,15}$/.exec(String(given ?? ''));
    if (digits !== null && Number(digits[0]) >= this.#next(columnId)) this.#advance(columnId, Number(digits[0]) + 1);
  }

  /** Notes what the counters are; the function that comes back sets them there again. */
  mark(): () => void {
    const [next, moved] = [new Map(this.#nextById), new Set(this.#moved)];
    return () => {
      this.#nextById = next;
      this.#moved = moved;
    };
  }

  /** Writes the counters that moved. */
  flush(): void {
    if (this.#moved.size === 0) return;
    const write = this.#connection.prepare('UPDATE _sandbox_columns SET next_number = ? WHERE id = ?');
    for (const id of this.#moved) write.run(this.#nextById.get(id), id);
    this.#moved.clear();
  }

  #next(columnId: number): number {
    const known = this.#nextById.get(columnId);
    if (known !== undefined) return known;
    const next = this.#connection
      .prepare<[number], number>('SELECT next_number FROM _sandbox_columns WHERE id = ?')
      .pluck()
      .get(columnId);
    return must(next, 'a column has a counter');
  }

  #advance(columnId: number, next: number): void {
    this.#nextById.set(columnId, next);
    this.#moved.add(columnId);
  }
}

/** Far more than the shapes of rows that one client writes. */
const STATEMENTS_MAX = 200;

/** Prepared statements of one kind. */
class Statements<S> {
  readonly #prepare: (sql: string) => S;
  readonly #bySql = new Map<string, S>();

  constructor(prepare: (sql: string) => S) {
    this.#prepare = prepare;
  }

  /** The statement for a text. */
  get(sql: string): S {
    let statement = this.#bySql.get(sql);
    if (statement === undefined) {
      if (this.#bySql.size >= STATEMENTS_MAX) this.#bySql.clear();
      this.#bySql.set(sql, (statement = this.#prepare(sql)));
    }
    return statement;
  }
}
