/**
 * Names of rows as people know them, for lists of conflicts, refusals, edits and files.
 */
import { oncePerKey } from '../../base/memoize.ts';
import { ident, joinSql, sql } from '../../base/sql.ts';
import type { Connection, Stored } from '../connection.ts';
import { queryAll, queryRows } from '../query.ts';
import { baseName, readStanding } from '../user-tables.ts';

/** The key and the column that the origin uses as the name of a record, then the first other text column. */
const NAMING_COLUMNS = sql`
  WITH live AS (
    SELECT t.id AS tableId, c.local_name AS name, c.value_form AS form, c.position, iif(c.kind = 'Key', 2, EXISTS (
        SELECT 1 FROM _rowsync_descriptors
        WHERE scope = 'table:' || t.id AND descriptor ->> '$.other.nameColumn' = c.name)) AS rank
    FROM _rowsync_columns c JOIN _rowsync_tables t ON t.id = c.table_id
    WHERE t.local_name = @table AND c.state = 'live')
  SELECT tableId, name, rank > 0 AS isOwn FROM live WHERE rank > 0
    OR position = (SELECT min(position) FROM live WHERE rank = 0 AND form = 'Text')
  ORDER BY rank DESC`;

/** The values of a row when it was last deleted. */
const LAST_VALUES = sql`SELECT key, value FROM json_each((SELECT row_values FROM _rowsync_deleted
    WHERE table_id = ? AND row_id = ? ORDER BY seq DESC LIMIT 1))`;

/**
 * Names rows as people know them: by the key, and the column that the origin uses as the name of a record. If these add
 * nothing to `_id`, by the first other text column. A deleted row keeps the name that the origin last confirmed, or
 * else its last one. Empty if there is none.
 */
export function rowNamer(from: Connection): (table: string, rowId: number) => string {
  const naming = oncePerKey((table: string) => {
    const columns = queryAll(from, NAMING_COLUMNS, [{ table }]) as NamingColumn[]; // as selected
    const names = columns.map(({ name }) => name);
    // Another client may have dropped the table, or a column.
    const tableId = columns[0]?.tableId ?? 0;
    const texts = [table, baseName(tableId)]
      .filter((source) => names.length > 0 && readStanding(from, source, names).length === names.length)
      .map((source) => sql`SELECT ${joinSql(names.map(ident))} FROM ${ident(source)} WHERE _id = ?`);
    return { columns, tableId, texts };
  });
  return (table, rowId) => {
    const { columns, tableId, texts } = naming(table);
    const readDeleted = (): readonly Stored[] => {
      const values = new Map(queryRows(from, LAST_VALUES, [tableId, rowId]).map(([key, value]) => [key, value]));
      return columns.map(({ name }) => values.get(name) ?? null);
    };
    const row = texts.flatMap((text) => queryRows(from, text, [rowId]))[0] ?? readDeleted();
    const nameBy = (isOwn: 0 | 1): string => {
      const values = row.map((value) => String(value ?? ''));
      return [...new Set(values.filter((text, index) => text !== '' && columns[index]?.isOwn === isOwn))].join(' ');
    };
    const name = nameBy(1);
    return name === '' || name === String(rowId) ? nameBy(0) : name;
  };
}

interface NamingColumn {
  readonly tableId: number;
  readonly name: string;
  readonly isOwn: 0 | 1;
}
