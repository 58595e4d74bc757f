/**
 * A database and its tables by name, for programs: rows are objects of values by column, and pages are iterated. What
 * is written follows from the table's description, which is asked for once, as is the calling user's time zone.
 */
import { RowsyncError, usageError } from '../../base/errors.ts';
import { KEYS_MAX, TOP_MAX, type SortKey } from '../../wire/request-paths.ts';
import {
  columnType,
  type ColumnDescriptor,
  type DatabaseDescriptor,
  type RowPage,
  type TableDescriptor,
  type UnreadableRow,
  type UserDescriptor,
  type Value,
} from '../../wire/schema.ts';
import type { OutgoingFile } from '../../wire/write-body.ts';
import type { OutgoingRow, StatusDescriptor } from '../../wire/writes.ts';
import type { Origin } from '../../origin/client.ts';

/** Values by the name of their column. */
export type NamedValues = Readonly<Record<string, Value>>;

/** A row as read. */
export interface NamedRow {
  readonly id: number;
  /** For example `Edit,Delete`; null where the origin sends none. */
  readonly allow: string | null;
  readonly values: NamedValues;
}

/** A row to write: `values` by name or alias of the column. Without an id it is found by its key, or by `match`. */
export interface RowToWrite {
  readonly id?: number | null | undefined;
  readonly values: NamedValues;
}

/** Which rows to read, and what of them. */
export interface RowQuery {
  /** Names of columns; all of them where it is left out. */
  readonly columns?: readonly string[] | undefined;
  /** A formula of the origin, such as `[Status] = "open"`. */
  readonly filter?: string | undefined;
  /** By the key column where it is left out. An order that is not unique may give a row twice, or leave one out. */
  readonly sort?: readonly SortKey[] | undefined;
  /** Rows in a request, 1 to 500. Default 500. */
  readonly pageRows?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One page of rows. Rows that cannot be read are listed, and not in `rows`. */
export interface NamedPage {
  readonly rows: readonly NamedRow[];
  readonly unreadable: readonly UnreadableRow[];
}

/** How rows are written. */
export interface WriteOptions {
  /** A unique column to find rows by in place of the key. */
  readonly match?: string | undefined;
  readonly workflow?: 'run' | 'suppress' | undefined;
  /** Files that values of attachment columns refer to as `cid:<content id>`. */
  readonly files?: readonly OutgoingFile[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How rows are deleted. */
export type RemoveOptions = Pick<WriteOptions, 'workflow' | 'signal'> & {
  /** Deletes at once, without the recycle bin. */
  readonly purge?: boolean | undefined;
};

/**
 * One table. Each method that changes rows sends one request, of at most 500 rows, and gives one status for each row in
 * their order. Look at every one, because a refused row is a status and no error.
 */
export interface NamedTable {
  readonly description: TableDescriptor;
  /** Pages of rows, read as they are asked for. Rows created or deleted meanwhile may move others between pages. */
  pages(query?: RowQuery): AsyncGenerator<NamedPage, void>;
  /** The same, row by row. @throws RowsyncError `origin.unexpected` at the first row that cannot be read. */
  rows(query?: RowQuery): AsyncGenerator<NamedRow, void>;
  /** Rows by id, at most 500 and in any order; those that do not exist, or are hidden from the user, are missing. */
  byIds(ids: readonly number[], query?: Pick<RowQuery, 'columns' | 'signal'>): Promise<NamedPage>;
  create(rows: readonly RowToWrite[], options?: Omit<WriteOptions, 'match'>): Promise<readonly StatusDescriptor[]>;
  update(rows: readonly RowToWrite[], options?: WriteOptions): Promise<readonly StatusDescriptor[]>;
  upsert(rows: readonly RowToWrite[], options?: WriteOptions): Promise<readonly StatusDescriptor[]>;
  delete(ids: readonly number[], options?: RemoveOptions): Promise<readonly StatusDescriptor[]>;
}

/** One database. `origin` has every method of the specification, without names and conveniences. */
export interface NamedDatabase {
  readonly origin: Origin;
  readonly description: DatabaseDescriptor;
  readonly user: UserDescriptor;
  /** A table by its singular name or alias. @throws RowsyncError `usage.invalid` where there is none. */
  table(name: string): Promise<NamedTable>;
  close(): Promise<void>;
}

/** Asks for the description and the calling user; closes the origin where that fails. */
export async function nameDatabase(origin: Origin): Promise<NamedDatabase> {
  try {
    const [database, user] = await Promise.all([origin.describeDatabase(), origin.user()]);
    return {
      origin,
      description: database.value,
      user: user.value,
      table: async (name) => {
        const found = database.value.tables.find(({ recordName, alias }) => recordName === name || alias === name);
        const names = database.value.tables.map(({ recordName }) => recordName);
        if (found === undefined) throw unknown('table', name, names);
        const address = { name: found.recordName, alias: found.alias };
        const { value: description } = await origin.describeTable(address);
        return tableOf({ origin, address, description, zone: user.value.timezone });
      },
      close: () => origin.close(),
    };
  } catch (thrown) {
    await origin.close();
    throw thrown;
  }
}

interface Context {
  readonly origin: Origin;
  readonly address: { readonly name: string; readonly alias: string };
  readonly description: TableDescriptor;
  readonly zone: string;
}

function tableOf(context: Context): NamedTable {
  const { origin, address: table, description, zone } = context;
  const write =
    (method: 'create' | 'update' | 'upsert') =>
    async (rows: readonly RowToWrite[], options: WriteOptions = {}): Promise<readonly StatusDescriptor[]> => {
      checkCount(rows.length);
      const { signal, ...rest } = options;
      return await origin[method](
        { table, zone, ...rest, rows: rows.map((row) => outgoingRow(row, context)) },
        { signal },
      );
    };
  return {
    description,
    pages: (query = {}) => pagesOf(context, query),
    rows: (query = {}) => rowsOf(context, query),
    byIds: async (ids, { columns: names, signal } = {}) => {
      checkCount(ids.length);
      if (ids.length === 0) return { rows: [], unreadable: [] };
      const columns = columnsOf(context, names);
      const request = { table, ids, columns: columns.map(shapeOf), names: columns.map(({ name }) => name) };
      const { value } = await origin.retrieve(request, { signal });
      return namedPage(value, columns);
    },
    create: write('create'),
    update: write('update'),
    upsert: write('upsert'),
    delete: async (ids, { signal, ...options } = {}) => await origin.delete({ table, ids, ...options }, { signal }),
  };
}

async function* pagesOf(context: Context, query: RowQuery): AsyncGenerator<NamedPage, void> {
  const { origin, address: table, description } = context;
  const { filter, pageRows: top = TOP_MAX, signal } = query;
  if (!Number.isInteger(top) || top < 1 || top > TOP_MAX)
    throw misused(`pageRows is a whole number from 1 to ${TOP_MAX}`);
  const columns = columnsOf(context, query.columns);
  const sort = query.sort ?? (description.key === '' ? [] : [{ column: description.key }]);
  const names = columns.map(({ name }) => name);
  // A page may have fewer rows than were asked for although more follow; only an empty one is the end.
  for (let skip = 0, isEnd = false; !isEnd;) {
    const request = { table, columns: columns.map(shapeOf), query: { columns: names, sort, filter, top, skip } };
    const { value } = await origin.select(request, { signal });
    isEnd = value.ids.length === 0;
    skip += value.ids.length;
    if (!isEnd) yield namedPage(value, columns);
  }
}

async function* rowsOf(context: Context, query: RowQuery): AsyncGenerator<NamedRow, void> {
  for await (const { rows, unreadable } of pagesOf(context, query)) {
    const [first] = unreadable;
    if (first !== undefined) {
      const place = `row ${first.id} of "${context.address.name}", column "${first.column}"`;
      throw new RowsyncError('wireFormat', 'origin.unexpected', {
        message: `${place}: ${first.reason}`,
        hint: 'Use pages(), which lists rows that cannot be read, or leave the column out.',
      });
    }
    yield* rows;
  }
}

function namedPage({ rows, unreadable }: RowPage, columns: readonly ColumnDescriptor[]): NamedPage {
  const named = rows.map(({ id, allow, values }) => {
    return { id, allow, values: Object.fromEntries(columns.map(({ name }, index) => [name, values[index] ?? null])) };
  });
  return { rows: named, unreadable };
}

function columnsOf({ description }: Context, names: readonly string[] | undefined): readonly ColumnDescriptor[] {
  return names === undefined ? description.columns : names.map((name) => columnNamed(name, description));
}

function shapeOf({ name, type }: ColumnDescriptor): {
  readonly name: string;
  readonly type: ReturnType<typeof columnType>;
} {
  return { name, type: columnType(type) };
}

function outgoingRow({ id = null, values }: RowToWrite, { description }: Context): OutgoingRow {
  const cells = Object.entries(values).map(([name, value]) => ({ ...shapeOf(columnNamed(name, description)), value }));
  return { id, cells };
}

function columnNamed(name: string, { recordName, columns }: TableDescriptor): ColumnDescriptor {
  const found =
    columns.find((column) => column.name === name) ?? columns.find(({ alias }) => alias !== '' && alias === name);
  if (found !== undefined) return found;
  const names = columns.map((column) => column.name);
  throw unknown(`column of "${recordName}"`, name, names);
}

function checkCount(count: number): void {
  if (count > KEYS_MAX) throw misused(`a request has at most ${KEYS_MAX} rows, not ${count}`);
}

function unknown(what: string, name: string, names: readonly string[]): RowsyncError {
  return misused(`there is no ${what} called "${name}"; there are ${names.map((known) => `"${known}"`).join(', ')}`);
}

function misused(message: string): RowsyncError {
  return usageError(message, 'Nothing was sent. Correct the call.');
}
