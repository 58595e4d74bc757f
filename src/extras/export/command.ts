/**
 * `rowsync export`: the tables as Parquet or CSV files, for DuckDB, pandas and lakes. It only reads, so it may run beside the daemon.
 */
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { stampFromMs } from '../../base/clock.ts';
import { EXIT } from '../../base/errors.ts';
import { countText, plural, printable } from '../../base/text.ts';
import { EXPORT_FORMATS, exportTables, type ExportFormat } from './tables.ts';
import type { WrittenColumn } from './parquet.ts';
import { loadNamedConfig, printJson } from '../../cli/runtime/invocation.ts';
import type { Runner } from '../../extra.ts';

const EXAMPLES = `
Each file is whole and of one moment. manifest.json names the files of an export, and is replaced when all of them are there;
the files of the export before go then. Of two-way tables, it has what the origin confirmed.

Examples:
  rowsync export /data/lake                      as Parquet; numbers are DECIMAL
  rowsync export /data/csv --format csv Customer
  duckdb -c "SELECT * FROM read_parquet('/data/lake/Customer-*.parquet')"`;

function emptiedText({ name, type, emptiedCount = 0 }: WrittenColumn): readonly string[] {
  if (emptiedCount === 0) return [];
  return [`  ${name}: ${plural(emptiedCount, 'value')} outside of ${type}, empty in the file; --format csv has them`];
}

/** Adds the command. */
export function addExportCommand(program: Command, runner: Runner): void {
  program
    .command('export')
    .description('write tables as Parquet or CSV files')
    .argument('<folder>', 'where the files go; made if it is missing')
    .argument('[table...]', 'names of tables; all by default')
    .addOption(new Option('--format <format>', 'parquet or csv').choices(EXPORT_FORMATS).default('parquet'))
    .addHelpText('after', EXAMPLES)
    .action((folder: string, tables: string[], options: { format: ExportFormat }, command: Command) =>
      runner(command, async (invocation) => {
        const { session } = invocation;
        const config = await loadNamedConfig(invocation, { needsCredentials: false });
        const at = stampFromMs(session.clock.nowMs());
        const exported = await exportTables(config.replica.path, {
          folder: resolve(session.folder, folder),
          format: options.format,
          tables,
          at,
        });
        const rowCount = exported.reduce((sum, table) => sum + table.rowCount, 0);
        const lines = [
          ...exported.flatMap(({ table, rowCount: rows, file, columns }) => [
            `${table}: ${countText(rows)} in ${file}`,
            ...columns.flatMap((column) => emptiedText(column)),
          ]),
          `${plural(exported.length, 'table')}, ${plural(rowCount, 'row')}`,
        ];
        await (invocation.isJson
          ? printJson(invocation, { tables: exported })
          : session.stdout.write(`${lines.map(printable).join('\n')}\n`));
        return EXIT.done;
      }),
    );
}
