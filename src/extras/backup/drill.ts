/**
 * Proves that a backup can be used, without touching it. SQLite reads it whole, its rows are counted against its own
 * record and against the history since, and some of its files are hashed.
 */
import { stampFromMs } from '../../base/clock.ts';
import { ident, sql } from '../../base/sql.ts';
import { sumOf } from '../../base/sum.ts';
import { plural } from '../../base/text.ts';
import type { Config } from '../../config/load.ts';
import { gauge, type Metric } from '../shared/linked-extra.ts';
import type { ExtraWork } from '../../daemon/work-kinds.ts';
import { filesBeside, inspectContent, readFilesAwaited } from '../shared/stored-content.ts';
import { FileStore } from '../../files/store.ts';
import type { FoundComplaint } from '../../reconcile/account/facts.ts';
import { readContents } from '../../replica/bookkeeping/files.ts';
import { readTables, type TableRecord } from '../../replica/bookkeeping/tables.ts';
import type { Connection } from '../../replica/connection.ts';
import { errorFromReading } from '../../replica/sqlite-errors.ts';
import { queryNumber, queryRows, queryText } from '../../replica/query.ts';
import { openReader } from '../../replica/reader.ts';
import { hasTable } from '../../replica/schema-objects.ts';
import { earlierBackups } from './backup.ts';
import { lastDrill, storeDrill, type Drill } from './drill-result.ts';

/** Files that are read, and their bytes: some seconds of a slow disk. */
const FILES_MAX = 200;
const FILE_BYTES_MAX = 1024 ** 3;

/** Examines a backup. `main` is the replica that it is of; null if there is none. */
export async function drillBackup(
  path: string,
  given: { readonly main: Connection | null; readonly nowMs: number; readonly onAdvance?: () => void },
): Promise<Drill> {
  const { main, nowMs, onAdvance } = given;
  const noRows = { tableCount: 0, rowCount: 0, newRowCount: 0, deletedRowCount: 0, tracedCount: 0 };
  const none = { at: stampFromMs(nowMs), path, ...noRows, fileCount: 0, readFileCount: 0, notHereCount: 0 };
  try {
    using reader = openReader(path);
    const verdict = queryText(reader, sql`SELECT integrity_check FROM pragma_integrity_check LIMIT 1`);
    if (verdict !== 'ok') return { ...none, problem: `SQLite finds it damaged: ${verdict}` };
    onAdvance?.();
    // A file of an earlier version has other tables of ours.
    const rows = reader.isOlder() ? { problem: null } : countRows(reader, main);
    const files = await readFiles(reader, path, { start: Math.floor(nowMs / 1000), onAdvance });
    return { ...none, ...rows, ...files, problem: rows.problem ?? files.problem };
  } catch (thrown) {
    return { ...none, problem: errorFromReading(thrown, path).message };
  }
}

function countRows(
  backup: Connection,
  main: Connection | null,
): Pick<Drill, 'tableCount' | 'rowCount' | 'newRowCount' | 'deletedRowCount' | 'tracedCount' | 'problem'> {
  const tables = readTables(backup).filter(({ localName }) => hasTable(backup, localName));
  const since = main === null ? null : lastCommonEntry(backup, main);
  const found = tables.map((table) => {
    const name = ident(table.localName);
    const count = queryNumber(backup, sql`SELECT count(*) FROM ${name} WHERE _id > 0`);
    const unsent = sql`SELECT count(*) FROM _rowsync_rows WHERE table_id = ? AND row_id > 0 AND row_id NOT IN (SELECT _id FROM ${name})`;
    const deletedCount = queryNumber(backup, unsent, [BigInt(table.id)]);
    const expected = table.rowCount - deletedCount;
    const newCount = queryNumber(backup, sql`SELECT count(*) FROM ${name} WHERE _id < 0`);
    const traced = main === null || since === null ? null : countSince(main, table, since);
    const was = traced ?? count;
    const why =
      count !== expected
        ? `${table.localName} has ${plural(count, 'row')}, by its own record ${expected}`
        : count !== was
          ? `${table.localName} has ${plural(count, 'row')}, by the history since ${was}`
          : null;
    return { count, newCount, deletedCount, isTraced: traced !== null, why };
  });
  return {
    tableCount: tables.length,
    rowCount: sumOf(found, ({ count, newCount }) => count + newCount),
    newRowCount: sumOf(found, ({ newCount }) => newCount),
    deletedRowCount: sumOf(found, ({ deletedCount }) => deletedCount),
    tracedCount: found.filter(({ isTraced }) => isTraced).length,
    problem: found.find(({ why }) => why !== null)?.why ?? null,
  };
}

/** The last entry of a backup's history, if the replica has the same one: else it was rebuilt or pruned since. */
function lastCommonEntry(backup: Connection, main: Connection): bigint | null {
  const last = sql`SELECT seq, table_id, row_id, kind, at FROM _rowsync_history ORDER BY seq DESC LIMIT 1`;
  const [entry] = queryRows(backup, last, []);
  const same = sql`SELECT count(*) FROM _rowsync_history WHERE seq = ? AND table_id IS ? AND row_id IS ? AND kind = ? AND at = ?`;
  return entry !== undefined && queryNumber(main, same, entry) === 1 ? BigInt(entry[0] ?? 0) : null;
}

/** How many rows a mirror had at an entry, by its rows now and the entries since; null without a history since then. */
function countSince(main: Connection, { id, localName }: TableRecord, since: bigint): number | null {
  const known = sql`SELECT count(*) FROM _rowsync_tables t JOIN _rowsync_history_tables h ON h.table_id = t.id
      WHERE t.id = @id AND t.push = 'off' AND t.local_name = @name AND h.begun_seq <= @since AND NOT EXISTS (
        SELECT 1 FROM _rowsync_history WHERE table_id = t.id AND seq > @since AND kind NOT IN ('insert', 'update', 'delete', 'schema'))`;
  const values = { id: BigInt(id), name: localName, since };
  if (queryNumber(main, known, [values]) === 0) return null;
  const count = sql`SELECT (SELECT count(*) FROM ${ident(localName)})
      - (SELECT count(*) FILTER (WHERE kind = 'insert') - count(*) FILTER (WHERE kind = 'delete') FROM _rowsync_history
         WHERE table_id = ? AND seq > ?)`;
  return queryNumber(main, count, [values.id, since]);
}

/** Looks whether all files are there, and reads some of them; each drill begins at another one. */
async function readFiles(
  backup: Connection,
  path: string,
  { start, onAdvance }: { readonly start: number; readonly onAdvance: (() => void) | undefined },
): Promise<Pick<Drill, 'fileCount' | 'readFileCount' | 'notHereCount' | 'problem'>> {
  const contents = readContents(backup, null);
  const store = new FileStore(filesBeside(path));
  let problem: string | null = null;
  for (const content of contents) {
    if (!(await store.holds(content))) problem ??= `its file ${content.sha256} is missing, or has another size`;
  }
  const from = contents.length === 0 ? 0 : start % contents.length;
  let [readFileCount, bytes] = [0, 0];
  for (const content of [...contents.slice(from), ...contents.slice(0, from)].slice(0, FILES_MAX)) {
    if (bytes > FILE_BYTES_MAX) break;
    const state = await inspectContent(store, content);
    if (state !== 'whole') problem ??= `its file ${content.sha256} is ${state}`;
    readFileCount += 1;
    bytes += content.bytes;
    onAdvance?.();
  }
  return { fileCount: contents.length, readFileCount, notHereCount: readFilesAwaited(backup).length, problem };
}

/** The scheduled work `drill`, of the newest backup. A stored result says what is wrong, also after a restart. */
export const drillOnSchedule: ExtraWork = async ({ config, nowMs, onAdvance, pull: { replica } }) => {
  const [path] = earlierBackups(config, nowMs) ?? [];
  if (path === undefined) return { own: null, facts: {} }; // the age of the last backup has a metric
  const drill = await drillBackup(path, { main: replica, nowMs, onAdvance });
  storeDrill(config, drill);
  return { own: null, facts: { path, rowCount: drill.rowCount, fileCount: drill.fileCount, reason: drill.problem } };
};

/** Says that the newest backup failed its last drill. */
export function drillComplaints(config: Config): readonly FoundComplaint[] {
  const { at, path, problem } = lastDrill(config) ?? { problem: null };
  if (problem === null) return [];
  const message = `The last drill failed: ${path} cannot be trusted: ${problem}`;
  const hint = 'Make another backup (rowsync backup), check the disk, then run rowsync backup --drill.';
  return [{ about: 'work.failed', subject: null, code: 'backup.damaged', message, hint, since: at }];
}

export function drillMetrics({ at, problem }: Pick<Drill, 'at' | 'problem'>): readonly Metric[] {
  return [
    gauge('last_drill_timestamp_seconds', 'When the newest backup was last drilled.', Date.parse(at) / 1000),
    gauge('last_drill_passed', 'Whether that backup could be used: 1 or 0.', problem === null ? 1 : 0),
  ];
}
