/**
 * What the table and its columns are called: at the origin, where administrators rename them, and in the replica, which
 * follows. The rest of the simulation calls them `Tag`, `Code`, `A` and `B`, whatever their names are at the moment;
 * they are known by their ids. Takes the origin, and queries of the replica; produces names.
 */
import { ident, joinSql, sql, type Sql } from '../../../src/base/sql.ts';
import type { LocalRow, LocalValue } from './books.ts';
import type { OriginModel } from '../model/origin.ts';

/** The columns that anybody edits, by the names that they are born with; not every world has files. */
export const COLUMNS = ['Tag', 'Code', 'A', 'B', 'File'] as const;

/** One of them. */
export type Column = (typeof COLUMNS)[number];

/** Asks; each row is an array of its columns. */
export type Ask = (statement: Sql) => readonly (readonly unknown[])[];

/** Names in the replica, quoted; `T` is the table. */
export type LocalNames = Readonly<Record<Exclude<Column, 'File'> | 'T', Sql>> & { readonly File: Sql | null };

/** The names of one world. */
export class Names {
  readonly #origin: OriginModel;
  readonly #tableId: number;
  readonly #idByColumn: ReadonlyMap<Column, number>;
  readonly #columnById: ReadonlyMap<number, Column>;
  readonly #idByFirstName: ReadonlyMap<string, number>;
  /** The table's name at the origin. */
  table = 'Thing';
  /**
   * Names under which the configuration has the table: the one that it began with, and those under which new files
   * first read it.
   */
  readonly configured = new Set(['Thing']);
  /** Whether a row of the origin is one that comes here, as the configuration of the present engine has it. */
  selects: (row: LocalRow) => boolean = () => true;
  /** Whether the replica is a mirror, which has no base: what the origin confirmed stands in the table itself. */
  readonly isMirror: boolean;

  constructor(origin: OriginModel, isMirror = false) {
    this.#origin = origin;
    this.isMirror = isMirror;
    const { id, columns } = origin.table(this.table);
    this.#tableId = id;
    const pairs = columns.flatMap((column) => {
      const known = COLUMNS.find((name) => name === column.name);
      return known === undefined ? [] : [[known, column.id] as const];
    });
    this.#idByFirstName = new Map(columns.map((column) => [column.name, column.id]));
    this.#idByColumn = new Map(pairs);
    this.#columnById = new Map(pairs.map(([column, columnId]) => [columnId, column]));
  }

  get tableId(): number {
    return this.#tableId;
  }

  /** What a column is called at the origin. */
  atOrigin(column: Column): string {
    const id = this.#idByColumn.get(column);
    return this.#origin.table(this.table).columns.find((candidate) => candidate.id === id)?.name ?? column;
  }

  /** What a column is called at the origin that the world began with, edited or not; null where it is gone. */
  nameNow(firstName: string): string | null {
    const id = this.firstIdOf(firstName);
    return this.#origin.table(this.table).columns.find((candidate) => candidate.id === id)?.name ?? null;
  }

  /** The id of a column by the name that the world began with; 0 where it had none of it. */
  firstIdOf(firstName: string): number {
    return this.#idByFirstName.get(firstName) ?? 0;
  }

  /** Cells by the names of the origin, under the names of the simulation; other columns are left out. */
  fromOrigin(values: Readonly<Record<string, unknown>>): Readonly<Record<string, LocalValue>> {
    const cells: Record<string, LocalValue> = {};
    for (const { id, name, alias } of this.#origin.table(this.table).columns) {
      const column = this.#columnById.get(id);
      // An empty cell is a value as well.
      const value = name in values ? values[name] : values[alias];
      if (column !== undefined && value !== undefined) cells[column] = value as LocalValue;
    }
    return cells;
  }

  /** A row of the origin. */
  rowFromOrigin(id: number, values: Readonly<Record<string, unknown>>): LocalRow {
    const { Tag = null, Code = null, A = null, B = null, File = null } = this.fromOrigin(values);
    return { id, tag: String(Tag), cells: { Code, A, B, ...(this.#idByColumn.has('File') ? { File } : {}) } };
  }

  /** All rows of the origin. */
  rowsThere(): readonly LocalRow[] {
    return this.#origin.rows(this.table).map(({ id, values }) => this.rowFromOrigin(id, values));
  }

  /** Those of them that come here. */
  rowsSelected(): readonly LocalRow[] {
    return this.rowsThere().filter((row) => this.selects(row));
  }

  /** The tag of a row at the origin; null where there is no such row, or it has none. */
  tagOf(id: number): string | null {
    const row = this.#origin.rows(this.table).find((candidate) => candidate.id === id);
    const tag = row === undefined ? null : this.fromOrigin(row.values)['Tag'];
    return typeof tag === 'string' ? tag : null;
  }

  /** The ids of the columns, in the order in which a row is selected. */
  get columnIds(): readonly number[] {
    return COLUMNS.flatMap((column) => this.#idByColumn.get(column) ?? []);
  }

  /** The id of a column; 0 where the table has none of it. */
  idOf(column: Column): number {
    return this.#idByColumn.get(column) ?? 0;
  }

  /** What the simulation calls a column of this id. */
  columnWithId(id: number): Column | undefined {
    return this.#columnById.get(id);
  }

  /**
   * The columns that stand in the replica with their last values, since the caller was not shown them when it was
   * pulled.
   */
  goneIn(ask: Ask): ReadonlySet<Column> {
    const ids = ask(sql`SELECT id FROM _rowsync_columns WHERE table_id = ${this.#tableId} AND state = 'removed'`);
    return new Set(ids.flatMap(([id]) => this.#columnById.get(Number(id)) ?? []));
  }

  /** The names in the replica; null while not all of it is there. */
  inReplica(ask: Ask): LocalNames | null {
    const names: Record<string, Sql> = {};
    for (const [table, id, name] of ask(
      sql`SELECT t.local_name, c.id, c.local_name
       FROM _rowsync_tables t CROSS JOIN pragma_table_info(t.local_name) p
       JOIN _rowsync_columns c ON c.table_id = t.id AND c.local_name = p.name AND c.state <> 'aside'
       WHERE t.id = ${this.#tableId}
         AND EXISTS (SELECT 1 FROM sqlite_schema s WHERE s.type = 'table' AND s.name = t.local_name)`,
    )) {
      const column = this.#columnById.get(Number(id));
      names['T'] = ident(String(table));
      if (column !== undefined) names[column] = ident(String(name));
    }
    const { T, Tag, Code, A, B, File = null } = names;
    if (T === undefined || Tag === undefined || Code === undefined || A === undefined || B === undefined) return null;
    return File === null && this.#idByColumn.has('File') ? null : { T, Tag, Code, A, B, File };
  }
}

/** What is selected of a row of the replica. */
export function selectedColumns({ Tag, Code, A, B, File }: LocalNames): Sql {
  return joinSql([sql`_id`, Tag, Code, A, B, ...(File === null ? [] : [File])]);
}

/** A row of the replica as it is selected. */
export function rowFromReplica([id, tag, Code = null, A = null, B = null, ...files]: readonly unknown[]): LocalRow {
  const cells = { Code, A, B, ...(files.length === 0 ? {} : { File: files[0] }) };
  return { id: Number(id), tag: String(tag), cells: cells as Readonly<Record<string, LocalValue>> };
}

/** A row that is kept as a whole: its cells by their names in the replica. */
export function rowFromVersion(version: string, { Tag, Code }: LocalNames): LocalRow {
  const values = JSON.parse(version) as Readonly<Record<string, LocalValue>>;
  const valueOf = (name: Sql): LocalValue => values[name.slice(1, -1).replaceAll('""', '"')] ?? null;
  return { id: Number(values['_id']), tag: String(valueOf(Tag)), cells: { Code: valueOf(Code) } };
}
