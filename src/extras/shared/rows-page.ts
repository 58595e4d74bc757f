/**
 * Reads the rows of one table in pages, with filters, a search and an order. A page begins behind the id of a row, so
 * that no value gets into an address.
 *
 * Names are quoted and values bound; the SQL that people are shown has the values as literals.
 */
import { allOf, anyOf, ident, joinSql, literal, sql, type Sql } from '../../base/sql.ts';
import type { Connection, Stored } from '../../replica/connection.ts';
import { queryAll, queryNumber, queryRows, withFlags } from '../../replica/query.ts';
import { isDate, utcFromInputText } from '../../wire/time-zones.ts';

/** A value as SQLite gives it; integers that a double does not hold are bigint. */
export type Cell = string | number | bigint | null | Uint8Array;

export interface BrowsedColumn {
  readonly name: string;
  /** At the origin; empty for a column that is not the origin's: another client's, or `_color`. */
  readonly originName: string;
  readonly type: string;
  readonly storedAs: string;
  readonly kind: string | null;
  readonly isWritable: boolean;
  readonly isRequired: boolean;
  readonly width: number | null;
  /** How its values are masked; null where they are not. */
  readonly mask: string | null;
}

/** A table as it can be looked at; columns in the origin's order. */
export interface BrowsedTable {
  readonly id: number;
  readonly name: string;
  readonly originName: string;
  readonly columns: readonly BrowsedColumn[];
  /** The column by whose values other tables refer to its rows; null where none is the key. */
  readonly keyColumn: string | null;
  readonly isTwoWay: boolean;
  readonly allowsAdd: boolean;
  readonly rowCount: number;
}

export interface Filter {
  readonly column: string;
  readonly op: '=' | '<>' | '<' | '<=' | '>' | '>=' | 'has' | 'empty' | 'given';
  readonly value: string;
}

export interface BrowseQuery {
  readonly filters: readonly Filter[];
  /** Looked for in every text column; empty for nothing. */
  readonly search: string;
  readonly sort: { readonly column: string; readonly isDescending: boolean } | null;
  readonly start: { readonly direction: 'after' | 'before'; readonly id: number } | null;
}

/** A page of rows; `rows` hold the id first, then a cell for each column that was asked for. */
export interface RowsPage {
  readonly rows: readonly { readonly id: number; readonly cells: readonly CutCell[] }[];
  readonly hasBefore: boolean;
  readonly hasAfter: boolean;
}

/** A cell, cut to CUT_CHARS characters; `bytes` is its whole length if it was cut. */
export interface CutCell {
  readonly value: Cell;
  readonly bytes: number | null;
}

const BROWSED_ROWS = 100;
/** Characters of a cell that a list shows. */
const CUT_CHARS = 300;
/** Longer cells are named by their length only: SQLite has to read all of a text to cut it. */
const LOOK_BYTES_MAX = 1_000_000;

const TABLES = sql`
  SELECT t.id, t.local_name AS name, t.name AS originName, t.push = 'on' AS isTwoWay, t.allow_add AS allowsAdd,
    t.row_count AS rowCount
  FROM _rowsync_tables t WHERE EXISTS (SELECT 1 FROM pragma_table_info(t.local_name))
  ORDER BY t.local_name COLLATE NOCASE`;

const COLUMNS = sql`
  SELECT p.name, coalesce(c.name, '') AS originName, coalesce(c.type, '') AS type, p.type AS storedAs, c.kind,
         coalesce(c.writable AND c.value_form <> 'Autonumber', 0) AS isWritable, coalesce(c.options, '') AS options, c.width,
         c.mask ->> '$.kind' AS mask
  FROM pragma_table_info(@name) p
  LEFT JOIN _rowsync_columns c ON c.table_id = @id AND c.local_name = p.name COLLATE NOCASE AND c.state = 'live'
  WHERE p.name COLLATE NOCASE NOT IN ('_id', '_allow')
  ORDER BY c.position IS NULL, c.position, p.cid`;

type TableLine = Omit<BrowsedTable, 'columns' | 'keyColumn'>;

export function readBrowsedTables(from: Connection): readonly BrowsedTable[] {
  return readTableLines(from).map((line) => browsedTable(from, line));
}

/** One table by its name here; null if there is none. */
export function findBrowsedTable(from: Connection, name: string): BrowsedTable | null {
  const line = readTableLines(from).find((each) => each.name === name);
  return line === undefined ? null : browsedTable(from, line);
}

function readTableLines(from: Connection): readonly TableLine[] {
  return queryAll(from, TABLES).map((row) => withFlags(row, 'isTwoWay', 'allowsAdd') as TableLine); // columns are ours
}

function browsedTable(from: Connection, line: TableLine): BrowsedTable {
  const { id, name } = line;
  const columns = queryAll(from, COLUMNS, [{ id, name }]).map((row) => {
    const { options, ...column } = withFlags(row, 'isWritable') as Omit<BrowsedColumn, 'isRequired'> & {
      options: string;
    }; // the columns just listed
    return { ...column, isRequired: options.split(', ').includes('Required') };
  });
  const keyColumn = columns.find(({ kind }) => kind === 'Key')?.name ?? null;
  return { ...line, columns, keyColumn };
}

/** A statement, or a condition, and what is bound in it. */
interface Statement {
  readonly text: Sql;
  readonly values: readonly Stored[];
}

/** The query for all rows that match, as people write it, with values written in. */
export function shownSql(table: BrowsedTable, columns: readonly string[], query: BrowseQuery): string {
  return written(select(table, joinSql([sql`_id`, ...columns.map((column) => ident(column))]), query, []));
}

function countStatement(table: BrowsedTable, query: BrowseQuery): Statement {
  const { text, values } = whereOf(table, query, []);
  return { text: sql`SELECT count(*) AS "rows" FROM ${ident(table.name)}${text}`, values };
}

/** The same for how many rows there are. */
export function shownCountSql(table: BrowsedTable, query: BrowseQuery): string {
  return written(countStatement(table, query));
}

/** Rows of a table that is always counted: a scan takes less than a fifth of a second. */
const COUNTED_ROWS_MAX = 200_000;

/** How many rows match; null where counting takes a scan of a large table. */
export function countRows(from: Connection, table: BrowsedTable, query: BrowseQuery): number | null {
  const { text, values } = countStatement(table, query);
  if (table.rowCount > COUNTED_ROWS_MAX) {
    const steps = queryAll(from, sql`EXPLAIN QUERY PLAN ${text}`, values) as { detail: string }[]; // as SQLite documents it
    if (steps.some(({ detail }) => !detail.startsWith('SEARCH'))) return null;
  }
  return queryNumber(from, text, values);
}

/** How many matching rows have each value of a column, the most frequent first; `isCut` where there are more values. */
export interface Facet {
  readonly column: string;
  readonly values: readonly { readonly value: Cell; readonly count: number }[];
  readonly isCut: boolean;
}

const FACET_VALUES_MAX = 20;
/** Longer values are not told apart. */
export const FACET_CHARS_MAX = 200;

export function readFacet(from: Connection, table: BrowsedTable, column: string, query: BrowseQuery): Facet {
  const { text, values } = whereOf(table, query, []);
  const name = ident(column);
  const cell = sql`iif(typeof(${name}) IN ('text', 'blob'), substr(${name}, 1, ${FACET_CHARS_MAX}), ${name})`;
  const counted = sql`SELECT ${cell}, count(*) FROM ${ident(table.name)}${text}
      GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${FACET_VALUES_MAX + 1}`;
  const found = queryRows(from, counted, values);
  const shown = found.slice(0, FACET_VALUES_MAX);
  return {
    column,
    values: shown.map(([value = null, count]) => ({ value: plain(value), count: Number(count) })),
    isCut: found.length > FACET_VALUES_MAX,
  };
}

function written({ text, values }: Statement): string {
  let index = 0;
  const literals = values.map((value) => (typeof value === 'string' ? literal(value) : String(value)));
  // Names are quoted, and a quoted name may hold a question mark.
  return text.replaceAll(/"(?:[^"]|"")*"|\?/g, (part) => (part === '?' ? (literals[index++] ?? 'NULL') : part));
}

/** One page of rows. A row that a page begins behind and that is gone begins it from the first row. */
export function readRowsPage(
  from: Connection,
  table: BrowsedTable,
  columns: readonly string[],
  query: BrowseQuery,
): RowsPage {
  const start = query.start === null ? null : startOf(from, table, query);
  const isBackward = query.start?.direction === 'before' && start !== null;
  const cells = columns.flatMap((column) => cutCell(ident(column), CUT_CHARS));
  const conditions = start === null ? [] : [start];
  const isDescending = (query.sort?.isDescending ?? false) !== isBackward;
  const { text, values } = select(table, joinSql([sql`_id`, ...cells]), query, conditions, isDescending);
  const found = queryRows(from, sql`${text} LIMIT ${BROWSED_ROWS + 1}`, values);
  const hasMore = found.length > BROWSED_ROWS;
  const rows = found.slice(0, BROWSED_ROWS).map(([id, ...rest]) => ({ id: Number(id), cells: cutCells(rest) }));
  return {
    rows: isBackward ? rows.toReversed() : rows,
    hasBefore: isBackward ? hasMore : start !== null,
    hasAfter: isBackward ? true : hasMore,
  };
}

function plain(value: Cell): Cell {
  return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** A cell cut to so many characters, or to none if it has more bytes than `bytesMax`; and its bytes if it was cut. */
export function cutCell(name: Sql, charsMax: number, bytesMax = LOOK_BYTES_MAX): readonly Sql[] {
  const isCut = sql`typeof(${name}) IN ('text', 'blob') AND octet_length(${name}) > ${charsMax}`;
  return [
    sql`CASE WHEN NOT (${isCut}) THEN ${name} WHEN octet_length(${name}) > ${bytesMax} THEN '' ELSE substr(${name}, 1, ${charsMax}) END`,
    sql`CASE WHEN ${isCut} THEN octet_length(${name}) END`,
  ];
}

/** What was selected with `cutCell`. */
export function cutCells(found: readonly Stored[]): readonly CutCell[] {
  return found.flatMap((value, index) => {
    const bytes = found[index + 1] ?? null;
    return index % 2 === 1 ? [] : [{ value: plain(value), bytes: bytes === null ? null : Number(bytes) }];
  });
}

function select(
  table: BrowsedTable,
  selected: Sql,
  query: BrowseQuery,
  more: readonly Statement[],
  isDescending = query.sort?.isDescending ?? false,
): Statement {
  const { sort } = query;
  const where = whereOf(table, query, more);
  const turn = isDescending ? sql` DESC` : sql``;
  const order = sort === null ? sql`_id${turn}` : sql`${ident(sort.column)}${turn}, _id${turn}`;
  return {
    text: sql`SELECT ${selected} FROM ${ident(table.name)}${where.text} ORDER BY ${order}`,
    values: where.values,
  };
}

/** Which rows; empty for all of them. */
function whereOf(table: BrowsedTable, { filters, search }: BrowseQuery, more: readonly Statement[]): Statement {
  const conditions = [
    ...filters.flatMap((filter) => filterCondition(table, filter) ?? []),
    ...(search === '' ? [] : [searchCondition(table, search)]),
    ...more,
  ];
  return {
    text: conditions.length === 0 ? sql`` : sql` WHERE ${allOf(conditions.map(({ text }) => text))}`,
    values: conditions.flatMap(({ values }) => values),
  };
}

/** Where a page begins: behind a row in the wanted order; null if that row is gone. NULL comes before every value. */
function startOf(from: Connection, table: BrowsedTable, { sort, start }: BrowseQuery): Statement | null {
  if (start === null) return null;
  const { id, direction } = start;
  const goesDown = (sort?.isDescending ?? false) !== (direction === 'before');
  const beyond = goesDown ? sql`<` : sql`>`;
  if (sort === null) return { text: sql`_id ${beyond} ?`, values: [id] };
  const name = ident(sort.column);
  const [row] = queryRows(from, sql`SELECT ${name} FROM ${ident(table.name)} WHERE _id = ?`, [id]);
  if (row === undefined) return null;
  const [value = null] = row;
  const isEqual = sql`(${name} IS ? AND _id ${beyond} ?)`;
  if (value === null) {
    return goesDown
      ? { text: isEqual, values: [null, id] }
      : { text: sql`(${name} IS NOT NULL OR ${isEqual})`, values: [null, id] };
  }
  return goesDown
    ? { text: sql`(${name} < ? OR ${name} IS NULL OR ${isEqual})`, values: [value, value, id] }
    : { text: sql`(${name} > ? OR ${isEqual})`, values: [value, value, id] };
}

const OPERATORS = { '=': sql`=`, '<>': sql`<>`, '<': sql`<`, '<=': sql`<=`, '>': sql`>`, '>=': sql`>=` } as const;

/** Null for a column that the table does not have. */
function filterCondition(table: BrowsedTable, { column, op, value }: Filter): Statement | null {
  const found = table.columns.find(({ name }) => name === column);
  const storedAs = column === '_id' ? 'INTEGER' : found?.storedAs;
  if (storedAs === undefined) return null;
  const name = ident(column);
  if (op === 'empty') return { text: sql`coalesce(${name}, '') = ''`, values: [] };
  if (op === 'given') return { text: sql`coalesce(${name}, '') <> ''`, values: [] };
  if (op === 'has') return { text: sql`${name} LIKE ? ESCAPE '\\'`, values: [likePattern(value)] };
  const operator = OPERATORS[op];
  if (isPeriodOf(found, value)) return periodCondition(name, op, value);
  if (hasTimes(found)) return stampCondition(name, op, value);
  if (storedAs === 'TEXT') return { text: sql`${name} ${operator} ?`, values: [value] };
  const number = numberOf(value);
  if (number === null) return { text: sql`${name} ${operator} ?`, values: [value] };
  // Decimals that a double does not hold are texts in such a column.
  const given = storedAs === 'ANY' && op !== '=' && op !== '<>' ? sql`CAST(${name} AS NUMERIC)` : name;
  return { text: sql`${given} ${operator} ?`, values: [number] };
}

function stampCondition(name: Sql, op: keyof typeof OPERATORS, value: string): Statement {
  const stamp = stampOf(value) ?? value;
  const isEqual = op === '=' || op === '<>';
  if (!isEqual || !value.includes('.')) return { text: sql`${name} ${OPERATORS[op]} ?`, values: [stamp] };
  // Another client may have written zeros behind a fraction.
  return { text: sql`${name} ${op === '=' ? sql`IN` : sql`NOT IN`} (?, ?)`, values: [value, stamp] };
}

/** A year begins all of its days and times, an hour its times of day. */
function periodCondition(name: Sql, op: keyof typeof OPERATORS, value: string): Statement {
  if (op === '=') return { text: sql`${name} LIKE ?`, values: [`${value}%`] };
  if (op === '<>') return { text: sql`${name} NOT LIKE ?`, values: [`${value}%`] };
  // At most, and more than: by the end of the period.
  return { text: sql`${name} ${OPERATORS[op]} ?`, values: [op === '<=' || op === '>' ? `${value}~` : value] };
}

/** Whether a text is the beginning of values of a column: a day, a month or a year, or an hour or a minute. */
function isPeriodOf(column: BrowsedColumn | undefined, text: string): boolean {
  if (column === undefined || column.mask !== null) return false;
  if (column.type === 'Time') return /^\d\d(?::\d\d)?$/.test(text);
  if (column.type === 'Timestamp' && isDate(text)) return true;
  return /^(?:Timestamp|Date)$/.test(column.type) && /^\d{4}(?:-(?:0[1-9]|1[0-2]))?$/.test(text);
}

/** Whether a column has times that can be compared. */
export function hasTimes(column: BrowsedColumn | undefined): boolean {
  return column?.type === 'Timestamp' && column.mask === null;
}

/** The form of the values of a column of days or times, if the text lacks it; null otherwise. */
export function missedForm(column: BrowsedColumn | undefined, text: string): string | null {
  if (column === undefined || column.mask !== null || isPeriodOf(column, text)) return null;
  if (column.type === 'Timestamp') return stampOf(text) === null ? 'times' : null;
  if (column.type === 'Date') return isDate(text) ? null : 'days such as 2026-01-31';
  return column.type !== 'Time' || /^\d\d:\d\d:\d\d$/.test(text) ? null : 'times of day such as 09:30:00';
}

/** A time as it is stored, of one with an offset or in UTC; null for what is none. */
export function stampOf(text: string): string | null {
  const [, day, minute, rest = ':00', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)? ?(Z|[+-]\d\d:\d\d)?$/.exec(text) ?? [];
  return day === undefined ? null : (utcFromInputText(`${day}T${minute}${rest}${zone}`, 'UTC') ?? null);
}

export function isNumericColumn({ columns }: BrowsedTable, name: string): boolean {
  return name === '_id' || ['INTEGER', 'ANY'].includes(columns.find((column) => column.name === name)?.storedAs ?? '');
}

/** A number, or yes and no as SQLite keeps them; null for what is neither. */
export function numberOf(text: string): number | null {
  if (/^(?:true|yes)$/i.test(text)) return 1;
  if (/^(?:false|no)$/i.test(text)) return 0;
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : null;
}

function likePattern(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;
}

/** Any text column has the text; a whole number may be the id as well. */
function searchCondition({ columns }: BrowsedTable, search: string): Statement {
  const texts = columns.filter(({ storedAs }) => storedAs === 'TEXT' || storedAs === 'ANY');
  const pattern = likePattern(search);
  const byId = /^-?\d{1,15}$/.test(search) ? [{ text: sql`_id = ?`, values: [Number(search)] }] : [];
  const conditions: readonly Statement[] = [
    ...byId,
    ...texts.map(({ name }) => ({ text: sql`${ident(name)} LIKE ? ESCAPE '\\'`, values: [pattern] })),
  ];
  if (conditions.length === 0) return { text: sql`0`, values: [] };
  return { text: anyOf(conditions.map(({ text }) => text)), values: conditions.flatMap(({ values }) => values) };
}

/** Views that people may ask, ours and those of other clients, with their columns. */
export function readViews(from: Connection): readonly { readonly name: string; readonly columns: readonly string[] }[] {
  const text = sql`SELECT s.name, (SELECT json_group_array(p.name) FROM pragma_table_info(s.name) p) AS columns
      FROM sqlite_schema s WHERE s.type = 'view' AND s.name NOT GLOB '_rowsync_*' ORDER BY s.name`;
  const lines = queryAll(from, text) as { name: string; columns: string }[]; // the two columns just listed
  return lines.map(({ name, columns }) => ({ name, columns: JSON.parse(columns) as string[] })); // made by json_group_array
}

export interface SavedQuestion {
  readonly name: string;
  readonly sql: string;
}

/** All views that are not ours, by name; those of other programs as questions for all their rows. */
export function readSaved(from: Connection): readonly SavedQuestion[] {
  const views = sql`SELECT name, sql FROM sqlite_schema WHERE type = 'view' AND name NOT GLOB '_rowsync_*' AND name NOT GLOB 'sync_*'
      AND sql NOT LIKE '%/* rowsync: old name until %' ORDER BY name`;
  const saved = queryAll(from, views) as readonly SavedQuestion[]; // the two columns just listed
  return saved.map(({ name, sql: text }) => {
    const start = `CREATE VIEW ${ident(name)} AS `;
    return { name, sql: text.startsWith(start) ? text.slice(start.length) : `SELECT * FROM ${ident(name)}` };
  });
}

/** Bounds the memory of SQLite in this process; a query that needs more fails. */
export function boundMemory(from: Connection, bytesMax: number): void {
  from.prepare(sql`PRAGMA hard_heap_limit = ${bytesMax}`).get();
  from.prepare(sql`PRAGMA temp_store = 2`).run();
}
