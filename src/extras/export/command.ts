/**
 * `rowsync export`: the tables as Parquet or CSV files, for DuckDB, pandas and lakes. It may run beside the daemon.
 */
import { resolve, join } from 'node:path';
import { Option, type Command } from 'commander';
import { stampFromMs } from '../../base/clock.ts';
import { EXIT, RowsyncError } from '../../base/errors.ts';
import { countText, plural, someOf } from '../../base/text.ts';
import { type WrittenColumn, writeParquet, type ParquetColumn } from './parquet.ts';
import { loadNamedConfig, printResult } from '../../cli/runtime/invocation.ts';
import type { Flags, Invocation, Runner } from '../../extra.ts';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { answerAsCsv } from '../../base/result-formats.ts';
import { openExportFolder } from './export-folder.ts';
import { ident, sql } from '../../base/sql.ts';
import { FolderNames, safeName } from '../shared/file-names.ts';
import { pgType } from '../shared/pg-columns.ts';
import { makePrivate, takeName } from '../../replica/copy-file.ts';
import { replicaError } from '../../replica/sqlite-errors.ts';
import { queryRows } from '../../replica/query.ts';
import { openReader, type ReplicaReader } from '../../replica/reader.ts';
import { readAllRows, readSources } from '../shared/confirmed-rows.ts';
import { chooseTables, type TableRecord } from '../../replica/bookkeeping/tables.ts';
import type { Stored } from '../../replica/connection.ts';

const EXAMPLES = `
Each file is whole and of one moment, and takes the place of the one before. manifest.json names the files of an export; its exportedAt
is null while files are being replaced. For two-way tables, they have what the origin confirmed.

Examples:
  rowsync export /data/lake                      as Parquet; numbers are DECIMAL
  rowsync export /data/csv --format csv Customer
  duckdb -c "SELECT * FROM read_parquet('/data/lake/Customer.parquet')"`;

function emptiedText({ name, type, emptiedCount = 0 }: WrittenColumn): readonly string[] {
  if (emptiedCount === 0) return [];
  return [`  ${name}: ${plural(emptiedCount, 'value')} outside of ${type}, empty in the file; --format csv has them`];
}

export function addExportCommand(program: Command, runner: Runner): void {
  program
    .command('export')
    .description('write tables as Parquet or CSV files')
    .argument('<folder>', 'where the files go; made if it is missing')
    .argument(
      '[table...]',
      'names of tables; all by default. A folder holds one export: other files of an export are removed',
    )
    .addOption(new Option('--format <format>', 'parquet or csv').choices(EXPORT_FORMATS).default('parquet'))
    .addHelpText('after', EXAMPLES)
    .action(runner(exportAndPrint));
}

async function exportAndPrint(
  invocation: Invocation,
  folder: string,
  tables: readonly string[],
  options: ExportCommandOptions,
): Promise<number> {
  const { session } = invocation;
  const config = await loadNamedConfig(invocation, {
    needsCredentials: options.fresh === undefined ? false : 'asRoot',
  });
  const at = stampFromMs(session.clock.nowMs());
  const [hold] = invocation.extras.flatMap((extra) => extra.hold ?? []);
  const { tables: exported, removed } = await exportTables(config.replica.path, {
    folder: resolve(session.folder, folder),
    format: options.format,
    tables,
    at,
    hold: async (reader, reads) => (await hold?.(invocation, config, { reader, reads, options })) ?? null,
  });
  const rowCount = exported.reduce((sum, table) => sum + table.rowCount, 0);
  const lines = [
    ...exported.flatMap(({ table, rowCount: rows, file, columns }) => [
      `${table}: ${countText(rows)} in ${file}`,
      ...columns.flatMap((column) => emptiedText(column)),
    ]),
    `${plural(exported.length, 'table')}, ${plural(rowCount, 'row')}`,
    ...waitingText(exported),
    ...(removed.length === 0
      ? []
      : [
          `removed, of the export before: ${removed.join(', ')} (a folder holds one export; another folder keeps them)`,
        ]),
  ];
  await printResult(invocation, { tables: exported, removed }, lines);
  return EXIT.done;
}

/** Files have what the origin confirmed, so edits that wait are not in them. */
function waitingText(exported: readonly ExportedTable[]): readonly string[] {
  const waiting = exported.filter(({ waitingCount }) => waitingCount > 0);
  const count = waiting.reduce((sum, table) => sum + table.waitingCount, 0);
  const names = someOf(waiting.map(({ table }) => table));
  return count === 0 ? [] : [`left out: edits of ${plural(count, 'row')} that the origin does not have yet (${names})`];
}

/** `fresh` and `moment` are options of another extra. */
type ExportCommandOptions = Flags<'fresh', 'moment'> & { readonly format: ExportFormat };

const EXPORT_FORMATS = ['parquet', 'csv'] as const;

type ExportFormat = (typeof EXPORT_FORMATS)[number];

interface ExportedTable {
  readonly table: string;
  /** Within the folder. */
  readonly file: string;
  /** Every row was so at the origin then, or later; null while a row cannot be read. */
  readonly freshSince: string | null;
  readonly rowCount: number;
  /** Rows with edits, which are not in the file. */
  readonly waitingCount: number;
  readonly columns: readonly WrittenColumn[];
}

const MANIFEST = 'manifest.json';

/** Exports named tables, or all; `at` is the stamp of now. @throws RowsyncError `usage.invalid`, `replica.full`, …. */
export async function exportTables(
  path: string,
  options: {
    readonly folder: string;
    readonly format: ExportFormat;
    readonly tables: readonly string[];
    readonly at: string;
    /** Begins a transaction over all tables; returns what the manifest says of it, null for one transaction a table. */
    readonly hold?: (reader: ReplicaReader, reads: () => readonly string[]) => Promise<object | null>;
  },
): Promise<{ readonly tables: readonly ExportedTable[]; readonly removed: readonly string[] }> {
  const { folder, format, tables, at } = options;
  const reader = openReader(path);
  /** The folder where files are until all are written. */
  let aside: string | null = null;
  try {
    const choose = (): ReturnType<typeof chooseSources> => chooseSources(reader, tables);
    choose();
    const held = (await options.hold?.(reader, () => choose().map(({ table }) => table.localName))) ?? null;
    const sources = choose();
    requireRead(tables.length === 0 ? [] : chooseTables(reader, tables), sources);
    openExportFolder(folder, 0o700);
    const before = readManifest(folder);
    const names = new FolderNames();
    aside = join(folder, `.export-${process.pid}`);
    rmSync(aside, { recursive: true, force: true }); // of a process that had this number and was killed
    mkdirSync(aside, { mode: 0o700 });
    const written: ExportedTable[] = [];
    for (const source of sources) {
      const file = `${names.take(safeName(source.table.localName, String(source.table.id)))}.${format}`;
      requireOwn(folder, file, before);
      const columns: readonly ParquetColumn[] = [
        { name: '_id', type: 'bigint' },
        { name: '_allow', type: 'text' },
        ...source.columns.map(({ localName, type }) => ({ name: localName, type: pgType(type) })),
      ];
      const unnamed = join(aside, file);
      makePrivate(unnamed);
      // All reads of the table see the same rows.
      if (held === null) reader.prepare(sql`BEGIN`).run();
      const rows = (): Iterable<readonly Stored[]> => readAllRows(reader, source);
      const result = await (format === 'parquet'
        ? writeParquet(unnamed, columns, rows)
        : writeCsv(unnamed, columns, rows));
      const { localName } = source.table;
      const facts = sql`SELECT fresh_since, coalesce(pending, 0) + coalesce(parked, 0),
            (SELECT count(*) FROM ${ident(source.source)} WHERE _id > 0) FROM sync_status WHERE "table" = ?`;
      const [[since = null, waiting, count] = []] = queryRows(reader, facts, [localName]);
      if (held === null) reader.prepare(sql`COMMIT`).run();
      const freshSince = since === null ? null : String(since);
      const counts = { rowCount: Number(count), waitingCount: Number(waiting) };
      written.push({ table: localName, file, freshSince, ...counts, columns: result });
    }
    const manifest = { exportedAt: at, ...held, format, tables: written };
    return { tables: written, removed: replaceFiles(folder, { aside, before, written, manifest }) };
  } catch (thrown) {
    throw replicaError(thrown, `Exporting to ${folder}`);
  } finally {
    if (aside !== null) rmSync(aside, { recursive: true, force: true });
    reader.close();
  }
}

/** Refuses a table whose first pull has not ended, and a replica without tables. @throws RowsyncError `fresh.stale`. */
function requireRead(named: readonly TableRecord[], sources: ReturnType<typeof readSources>): void {
  const unmade = named.filter(({ id }) => !sources.some(({ table }) => table.id === id));
  const loading = sources.flatMap(({ table }) => (table.state === 'loading' ? [table] : []));
  const unread = [...unmade, ...loading].map(({ localName }) => localName);
  if (unread.length === 0 && sources.length > 0) return;
  throw new RowsyncError('originDown', 'fresh.stale', {
    message:
      unread.length === 0
        ? 'The replica has no table yet, so nothing was exported'
        : `Not read to the end yet, so nothing was exported: ${unread.join(', ')}`,
    hint: 'Let rowsync pull end first (rowsync status says what is in its way), or name the tables to export.',
  });
}

/** A file of that name that no export made is not replaced. @throws RowsyncError `files.store`. */
function requireOwn(folder: string, file: string, before: readonly string[]): void {
  if (!existsSync(join(folder, file)) || before.includes(file)) return;
  throw new RowsyncError('replica', 'files.store', {
    message: `${join(folder, file)} is not the file of an export: ${MANIFEST} does not name it`,
    hint: 'Move it away, or name another folder.',
  });
}

/** Puts the files of an export in the place of those of the one before; returns those that had to go. */
function replaceFiles(
  folder: string,
  parts: {
    readonly aside: string;
    readonly before: readonly string[];
    readonly written: readonly ExportedTable[];
    readonly manifest: object;
  },
): readonly string[] {
  const { aside, before, written, manifest } = parts;
  const writeManifest = (content: object): void => {
    makePrivate(join(aside, MANIFEST));
    writeFileSync(join(aside, MANIFEST), `${JSON.stringify(content, null, 2)}\n`);
    takeName(join(aside, MANIFEST), join(folder, MANIFEST));
  };
  const now = written.map(({ file }) => file);
  // Names them all, so that the next export knows them as its own should this one end here.
  writeManifest({ exportedAt: null, tables: [...new Set([...before, ...now])].map((file) => ({ file })) });
  for (const file of now) takeName(join(aside, file), join(folder, file));
  writeManifest(manifest);
  const removed = before.filter((file) => !now.includes(file));
  for (const file of removed) rmSync(join(folder, file), { force: true });
  return removed;
}

/** The named tables, or all for no name. @throws RowsyncError `usage.invalid`. */
function chooseSources(reader: ReplicaReader, names: readonly string[]): ReturnType<typeof readSources> {
  const meant = new Set(chooseTables(reader, names).map(({ id }) => id));
  return readSources(reader).filter(({ table }) => meant.has(table.id));
}

/** Files of the former export; only plain names, since another program may have written the manifest. */
function readManifest(folder: string): readonly string[] {
  const path = join(folder, MANIFEST);
  if (!existsSync(path)) return [];
  try {
    const names: string[] = [];
    JSON.parse(readFileSync(path, 'utf8'), (key, value: unknown) => {
      if (key === 'file' && typeof value === 'string' && /^[^/\\]+\.(?:parquet|csv)$/.test(value)) names.push(value);
      return value;
    });
    return names;
  } catch {
    return []; // no manifest of ours: nothing is taken away
  }
}

function writeCsv(
  path: string,
  columns: readonly ParquetColumn[],
  rows: () => Iterable<readonly Stored[]>,
): readonly WrittenColumn[] {
  const answer = { columns: columns.map(({ name }) => name), rows: rows() };
  for (const text of answerAsCsv(answer, { escapeFormulas: false, forTerminal: false })) appendFileSync(path, text);
  return columns.map(({ name, type }) => ({ name, type: type === 'boolean' ? '0 or 1' : type }));
}
