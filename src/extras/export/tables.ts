/**
 * Tables as files of a folder. Each file shows its table at one moment. The manifest names the files of one export,
 * and replaces the former manifest when all files are there. So a reader that begins with the manifest never sees half
 * an export.
 */
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerAsCsv } from '../../base/answer.ts';
import { RowsyncError } from '../../base/errors.ts';
import { openExportFolder } from '../../base/file-system.ts';
import { sql } from '../../base/sql.ts';
import { FolderNames, safeName } from '../../reconcile/file-names.ts';
import { pgType } from '../shared/column-shape.ts';
import { makePrivate, PARTIAL, takeName } from '../../replica/copy-file.ts';
import { replicaError } from '../../replica/failures.ts';
import { openReader } from '../../replica/reader.ts';
import { readAllRows, readSources } from '../shared/confirmed-rows.ts';
import type { Stored } from '../../replica/rows.ts';
import { writeParquet, type ParquetColumn, type WrittenColumn } from './parquet.ts';

/** The forms of files. */
export const EXPORT_FORMATS = ['parquet', 'csv'] as const;

/** One of them. */
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** A table as it was exported. */
export interface ExportedTable {
  readonly table: string;
  /** Within the folder. */
  readonly file: string;
  readonly rowCount: number;
  readonly columns: readonly WrittenColumn[];
}

const MANIFEST = 'manifest.json';

/** Exports tables by their names at the origin or here, or all; `at` is the stamp of now. @throws RowsyncError `usage.invalid`, `replica.full`, …. */
export async function exportTables(
  path: string,
  options: {
    readonly folder: string;
    readonly format: ExportFormat;
    readonly tables: readonly string[];
    readonly at: string;
  },
): Promise<readonly ExportedTable[]> {
  const { folder, format, tables, at } = options;
  const reader = openReader(path);
  try {
    const sources = readSources(reader).filter(
      ({ table }) => tables.length === 0 || tables.includes(table.localName) || tables.includes(table.name),
    );
    const unknown = tables.find(
      (name) => !sources.some(({ table }) => table.localName === name || table.name === name),
    );
    if (unknown !== undefined) {
      throw new RowsyncError('usage', 'usage.invalid', {
        message: `There is no table ${unknown} in the replica`,
        hint: 'rowsync status lists them.',
      });
    }
    openExportFolder(folder, 0o700);
    const before = readManifest(folder);
    const names = new FolderNames();
    const written: ExportedTable[] = [];
    for (const source of sources) {
      const stem = names.take(safeName(source.table.localName, String(source.table.id)));
      const file = `${stem}-${at.replaceAll(/[^0-9]/g, '')}.${format}`;
      const columns: readonly ParquetColumn[] = [
        { name: '_id', type: 'bigint' },
        { name: '_allow', type: 'text' },
        ...source.columns.map(({ localName, type }) => ({ name: localName, type: pgType(type) })),
      ];
      const partial = join(folder, file) + PARTIAL;
      makePrivate(partial);
      const counted = { count: 0 };
      // Both passes over the table see the same rows.
      reader.prepare(sql`BEGIN`).run();
      const rows = (): Iterable<readonly Stored[]> => countRows(readAllRows(reader, source), counted);
      const result = await (format === 'parquet'
        ? writeParquet(partial, columns, rows)
        : writeCsv(partial, columns, rows));
      reader.prepare(sql`COMMIT`).run();
      takeName(partial, join(folder, file));
      written.push({ table: source.table.localName, file, rowCount: counted.count, columns: result });
    }
    const partial = join(folder, MANIFEST) + PARTIAL;
    makePrivate(partial);
    writeFileSync(partial, `${JSON.stringify({ exportedAt: at, format, tables: written }, null, 2)}\n`);
    takeName(partial, join(folder, MANIFEST));
    const now = new Set(written.map(({ file }) => file));
    for (const file of before) if (!now.has(file)) rmSync(join(folder, file), { force: true });
    return written;
  } catch (thrown) {
    throw replicaError(thrown, `Exporting to ${folder}`);
  } finally {
    reader.close();
  }
}

/** Counts the rows of one pass, which may be the second. */
function* countRows(rows: Iterable<readonly Stored[]>, counted: { count: number }): Iterable<readonly Stored[]> {
  counted.count = 0;
  for (const row of rows) {
    counted.count += 1;
    yield row;
  }
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

async function writeCsv(
  path: string,
  columns: readonly ParquetColumn[],
  rows: () => Iterable<readonly Stored[]>,
): Promise<readonly WrittenColumn[]> {
  const answer = { columns: columns.map(({ name }) => name), rows: rows() };
  for (const text of answerAsCsv(answer, { escapeFormulas: false, forTerminal: false })) appendFileSync(path, text);
  return Promise.resolve(columns.map(({ name, type }) => ({ name, type: type === 'boolean' ? '0 or 1' : type })));
}
