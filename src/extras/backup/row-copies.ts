/**
 * Finds backups and former replicas that still have a row. Read-only.
 */
import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { ident, sql } from '../../base/sql.ts';
import type { Config } from '../../config/load.ts';
import type { ForgottenCopies, ForgottenRow } from '../shared/linked-extra.ts';
import type { Connection } from '../../replica/connection.ts';
import { queryAny, queryText } from '../../replica/query.ts';
import { hasTable } from '../../replica/schema-objects.ts';
import { earlierBackups } from './backup.ts';
import { withFile } from '../../replica/copy-file.ts';
import { READ_ONLY } from './replica-copy.ts';

/** Endings of what is no copy of its own. */
const NO_COPY = /(-wal|-shm|-journal|\.page-key|\.mask-key|\.doorbell-secret|\.lock|\.sent|\.partial|\.files)$/;

/** Which copies still have a row, or could not be read. */
export function copiesOf(config: Config, row: ForgottenRow, nowMs: number): ForgottenCopies {
  const dated = earlierBackups(config, nowMs);
  const all = [...(dated ?? []), ...copiesBeside(config.replica.path)].map((path) => ({
    path,
    has: hasRow(path, row),
  }));
  const copies = all.filter(({ has }) => has === true).map(({ path }) => path);
  const unreadCopies = all.filter(({ has }) => has === null).map(({ path }) => path);
  return {
    removed: [],
    left: [
      ...copies.map((path) => `still has it: ${path}`),
      ...unreadCopies.map((path) => `could not be read: ${path}`),
      ...(dated === null ? ['backups that were made by hand are not known: look there as well'] : []),
    ],
    json: { copies, unreadCopies },
  };
}

/** Former replicas that a restore or an upgrade left beside one. */
function copiesBeside(source: string): readonly string[] {
  const path = resolve(source);
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(`${basename(path)}.`) && !NO_COPY.test(name))
    .map((name) => join(dirname(path), name))
    .filter((copy) => statSync(copy, { throwIfNoEntry: false })?.isFile() === true);
}

/** Whether a copy has anything of a row: in its table, in the journal, or elsewhere. Null where that cannot be read. */
function hasRow(path: string, { tableId, ids }: ForgottenRow): boolean | null {
  try {
    return withFile(path, READ_ONLY, (db) => hasRowIn(db, { tableId, list: JSON.stringify(ids) }));
  } catch {
    return null; // no replica, or a damaged one
  }
}

/** Where a row may be kept beside its table, and what of that still has values. */
const KEPT = [
  ['_rowsync_history', sql`kind IN ('insert', 'update', 'delete') AND json_array_length(cells) > 0`],
  ['_rowsync_deleted', sql`row_values <> '{}'`],
  ['_rowsync_conflicts', sql`1`],
  ['_rowsync_files', sql`1`],
] as const;

function hasRowIn(db: Connection, { tableId, list }: { readonly tableId: number; readonly list: string }): boolean {
  const local = queryText(db, sql`SELECT local_name FROM _rowsync_tables WHERE id = ?`, [tableId]);
  if (local !== null && hasTable(db, local)) {
    const text = sql`SELECT 1 FROM ${ident(local)} WHERE _id IN (SELECT value FROM json_each(?)) LIMIT 1`;
    if (queryAny(db, text, [list])) return true;
  }
  return KEPT.some(([name, hasValues]) => {
    if (!hasTable(db, name)) return false;
    const isOwn = sql`table_id = ? AND row_id IN (SELECT value FROM json_each(?))`;
    const text = sql`SELECT 1 FROM ${ident(name)} WHERE ${isOwn} AND ${hasValues} LIMIT 1`;
    return queryAny(db, text, [tableId, list]);
  });
}
