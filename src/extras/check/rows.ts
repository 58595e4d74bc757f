/**
 * Checks what tables are limited to and what they keep: filters (`rows`), attached files, and history.
 */
import { asRowsyncError } from '../../base/errors.ts';
import { plural, printable, bytesText } from '../../base/text.ts';
import type { TableRule } from '../../config/tables.ts';
import type { Origin } from '../../origin/client.ts';
import type { TableDescriptor } from '../../wire/schema.ts';
import { fail, ok, type CheckResult } from '../../cli/runtime/check-result.ts';
import type { Config } from '../../config/load.ts';
import { pullSettings, filesSettings } from '../../config/settings.ts';
import { findTable, readTables } from '../../replica/bookkeeping/tables.ts';
import { readJournals } from '../../replica/bookkeeping/history.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { columnMode } from '../../reconcile/files.ts';
import { hasListedCells, readFileColumns } from '../../replica/bookkeeping/file-cells.ts';

const NAME = 'rows';

/** Asks with the filter of a table; none where it has none. */
export async function checkRows(
  { origin, signal }: { readonly origin: Origin; readonly signal: AbortSignal },
  { recordName, alias, key, columns }: TableDescriptor,
  rule: TableRule | null,
): Promise<readonly CheckResult[]> {
  const rows = rule?.options.rows;
  if (rule === null || rows === undefined) return [];
  const name = printable(recordName);
  if (!columns.some((column) => column.name === key)) {
    const hint = 'Show the key column to the role of the user, or copy the table without a filter.';
    return [fail(NAME, `${name}: a filter needs the key column, and this user is not shown it`, hint)];
  }
  const table = { name: recordName, alias, rows };
  try {
    await origin.select({ table, columns: [], query: { columns: [], sort: [], top: 1 } }, { signal });
    const count = await origin.count({ table, column: key }, { signal });
    const words = count === null ? 'the origin takes the filter' : `${plural(count, 'row')} under the filter`;
    return [ok(NAME, `${name}: ${words} ${printable(rows)}`)];
  } catch (thrown) {
    const { kind, message, hint } = asRowsyncError(thrown);
    const advice = kind === 'originRefused' ? `Correct tables.${rule.pattern}.rows.` : hint;
    return [fail(NAME, `${name}: ${message}`, advice)];
  }
}

/** Tables named, each with its bounds. */
const NAMES_MAX = 8;

/** The journals of tables, with their sizes and bounds; nothing without history. */
export function checkHistory(reader: ReplicaReader, config: Config): readonly CheckResult[] {
  const { tableOptions } = pullSettings(config);
  const texts = readJournals(reader).flatMap(({ tableId, bytes }) => {
    const table = findTable(reader, tableId);
    const bounds = table === null ? null : (tableOptions(table.name)?.history ?? null);
    if (table === null || bounds === null) return [];
    const { keepDays, bytesMax } = bounds;
    return [
      `${table.localName} takes ${bytesText(bytes)} and keeps ${plural(keepDays, 'day')}, at most ${bytesText(bytesMax)}`,
    ];
  });
  if (texts.length === 0) return [];
  const rest = texts.length > NAMES_MAX ? `; and ${plural(texts.length - NAMES_MAX, 'more table')}` : '';
  return [ok('history', `${texts.slice(0, NAMES_MAX).join('; ')}${rest}`)];
}

/** What was found, and what to do; empty where all is well. */
interface FileFinding {
  readonly message: string;
  readonly hint: string;
}

/** The findings about the files of a replica; none without attachment columns whose files are wanted. */
export function findFileFacts(reader: ReplicaReader, config: Config): readonly FileFinding[] {
  const { rule } = filesSettings(config);
  const columns = readTables(reader).flatMap(({ id, name }) => {
    const wished = rule(name)?.mode ?? 'none';
    return readFileColumns(reader, id).map((column) => ({
      name: `${column.tableName}.${column.columnName}`,
      wished,
      mode: columnMode(wished, column.options),
      isListed: hasListedCells(reader, column),
    }));
  });
  const wanted = columns.filter(({ mode }) => mode !== 'none');
  if (wanted.length === 0) return [];
  const named = (list: readonly { readonly name: string }[]): string => namesText(list.map(({ name }) => name));
  const all = wanted.filter(({ mode }) => mode === 'all');
  const latest = wanted.filter(({ mode }) => mode === 'latest');
  const kinds = [
    all.length === 0 ? [] : [`every revision of ${named(all)}`],
    latest.length === 0 ? [] : [`the latest of ${named(latest)}`],
  ].flat();
  const listed = wanted.filter(({ isListed }) => isListed);
  const findings: FileFinding[] = [
    {
      message: `${kinds.join('; ')}${listed.length === 0 ? '; found by the values of their cells' : ''}`,
      hint: '',
    },
  ];
  if (listed.length > 0) {
    findings.push({
      message: `${named(listed)}: the origin does not show the revision there, so that each cell with a file costs a request in every pull`,
      hint: 'Write files: none for the tables whose files are not needed.',
    });
  }
  const withoutHistory = wanted.filter(({ wished, mode }) => wished === 'all' && mode === 'latest');
  if (withoutHistory.length > 0) {
    findings.push({
      message: `${named(withoutHistory)}: all revisions are wanted, but the column does not show its history`,
      hint: 'Set "Allow See Revision History" for the column at the origin, or write files: latest.',
    });
  }
  return findings;
}

function namesText(names: readonly string[]): string {
  const rest = names.length - NAMES_MAX;
  return rest > 0 ? `${names.slice(0, NAMES_MAX).join(', ')} and ${rest} more` : names.join(', ');
}
