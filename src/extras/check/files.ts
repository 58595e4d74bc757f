/**
 * Checks attached files: which revisions are downloaded, and how they are found. Reads the replica only.
 */
import type { Config } from '../../config/load.ts';
import { filesSettings } from '../../config/settings.ts';
import { columnMode } from '../../reconcile/files.ts';
import { hasListedCells, readFileColumns } from '../../replica/bookkeeping/file-cells.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import type { ReplicaReader } from '../../replica/reader.ts';

/** What was found, and what to do; empty where all is well. */
export interface FileFinding {
  readonly message: string;
  readonly hint: string;
}

/** Columns named in one message. */
const NAMES_MAX = 8;

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
