/**
 * Which rows of a replica make a smaller copy: the latest of each table, and every row that they refer to. No
 * description says which columns are references (specification 2.3). A column counts as one where it has the name of a
 * table, or else where each of its values is a key of one. The second may take too many rows along, and never too few.
 */
import type Database from 'better-sqlite3';
import { ident } from './file.ts';

/** A table of a replica as far as its rows are chosen. */
export interface ReplicaRows {
  readonly id: number;
  /** The table of SQLite that has the rows of the origin. */
  readonly sourceName: string;
  /** The column there that has the keys; null where it is left out. */
  readonly keyName: string | null;
  /** Columns that may refer to rows: a number that the origin counts does not. */
  readonly possibleReferences: readonly string[];
  readonly summary: { readonly recordName: string };
}

/** A column whose values are keys of a table. */
interface KeyReference {
  readonly from: ReplicaRows;
  readonly column: string;
  readonly to: ReplicaRows & { readonly keyName: string };
}

/** Fills `temp.taken` with the ids of the rows that are taken. */
export function closeOver(file: Database.Database, tables: readonly ReplicaRows[], count: number): void {
  file.exec('CREATE TEMP TABLE taken (table_id INTEGER, id INTEGER, PRIMARY KEY (table_id, id)) WITHOUT ROWID');
  for (const { id, sourceName } of tables) {
    file
      .prepare(`INSERT INTO temp.taken SELECT ?, _id FROM ${ident(sourceName)} WHERE _id > 0 ORDER BY _id DESC LIMIT ?`)
      .run(id, count);
  }
  const references = tables.flatMap((table) => referencesOf(file, table, tables));
  const steps = references.map(({ from, column, to }) => {
    return file.prepare(
      `INSERT OR IGNORE INTO temp.taken SELECT ${to.id}, parent._id FROM ${ident(to.sourceName)} parent
       WHERE parent._id > 0 AND parent.${ident(to.keyName)} IN (SELECT child.${ident(column)}
         FROM ${ident(from.sourceName)} child JOIN temp.taken t ON t.table_id = ${from.id} AND t.id = child._id)`,
    );
  });
  // Each round takes at least one row more, so it ends with the last row.
  while (steps.reduce((added, step) => added + step.run().changes, 0) > 0);
}

function referencesOf(
  file: Database.Database,
  from: ReplicaRows,
  tables: readonly ReplicaRows[],
): readonly KeyReference[] {
  return from.possibleReferences.flatMap((column) => {
    const keyed = tables.flatMap((to) => (to.keyName === null ? [] : [{ ...to, keyName: to.keyName }]));
    const others = keyed.filter((to) => to.id !== from.id || column !== to.keyName);
    const named = others.filter(({ summary }) => summary.recordName.toLowerCase() === column.toLowerCase());
    const found = named.length > 0 ? named : others.filter((to) => isOfKeys(file, { from, column }, to));
    return found.map((to) => ({ from, column, to }));
  });
}

/** Whether a column has values, and all of them are keys of a table. */
function isOfKeys(
  file: Database.Database,
  { from, column }: { readonly from: ReplicaRows; readonly column: string },
  to: KeyReference['to'],
): boolean {
  const value = `child.${ident(column)}`;
  const isKey = `${value} IN (SELECT ${ident(to.keyName)} FROM ${ident(to.sourceName)})`;
  const source = `${ident(from.sourceName)} child WHERE ${value} IS NOT NULL AND _id > 0`;
  return (
    file
      .prepare<[], 0 | 1>(
        `SELECT EXISTS (SELECT 1 FROM ${source}) AND NOT EXISTS (SELECT 1 FROM ${source} AND NOT (${isKey}))`,
      )
      .pluck()
      .get() === 1
  );
}
