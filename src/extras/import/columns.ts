/**
 * Which columns of a table the columns of a file are, and why some are not read. Pure.
 */
import type { TwoWayColumn, TwoWayTable } from '../../capture/table.ts';
import { keptSentence } from '../../capture/rules.ts';
import { usage } from './cell-value.ts';

/** A column of the file that is one of the table. */
export interface MatchedColumn {
  readonly header: string;
  /** Where it is in the file. */
  readonly index: number;
  readonly column: TwoWayColumn;
  /** Why its values are not written; null where they are. */
  readonly reason: string | null;
}

/** The columns of a file. */
export interface MatchedColumns {
  readonly matched: readonly MatchedColumn[];
  /** Where the column `_id` is in the file; null without one. */
  readonly idIndex: number | null;
  /** Those that are none of the table. */
  readonly unknown: readonly string[];
}

/** Finds the columns by their names at the origin, then aliases, then names here. @throws RowsyncError `usage.invalid`. */
export function matchHeaders(table: TwoWayTable, headers: readonly string[]): MatchedColumns {
  const matched: MatchedColumn[] = [];
  const unknown: string[] = [];
  const indexOf = new Map<string, number>();
  for (const [index, header] of headers.entries()) {
    const own = OURS.find((name) => folded(name) === folded(header));
    const column = own === undefined ? findColumn(table, header) : null;
    const name = own ?? column?.localName;
    if (name === undefined) {
      unknown.push(header.trim() === '' ? `column ${index + 1}, which has no name` : header);
      continue;
    }
    if (indexOf.has(name)) {
      throw usage(`Two columns of the file are "${name}" of ${table.localName}`, 'Remove one of them, or rename it.');
    }
    indexOf.set(name, index);
    if (column !== null) matched.push({ header, index, column, reason: reasonNotWritten(table, column) });
  }
  if (indexOf.size > 0) return { matched, idIndex: indexOf.get('_id') ?? null, unknown };
  throw usage(
    `No column of the file is one of ${table.localName}`,
    `The first line has the names of columns, such as ${table.columns[1]?.name ?? '_id'}.`,
  );
}

/** Columns that rowsync adds to each table. */
const OURS = ['_id', '_allow'];

/** Finds a column as people write its name; null for none. @throws RowsyncError `usage.invalid` where it may be one of two. */
export function findColumn({ columns, localName }: TwoWayTable, given: string): TwoWayColumn | null {
  const names = ['name', 'alias', 'localName'] as const;
  const exact = names.flatMap((name) => columns.find((column) => column[name] === given) ?? []);
  if (exact[0] !== undefined) return exact[0];
  const like = names.map((name) => columns.filter((column) => folded(column[name]) === folded(given)));
  const found = like.find(({ length }) => length > 0) ?? [];
  if (found.length < 2) return found[0] ?? null;
  const all = found.map(({ name }) => `"${name}"`).join(' and ');
  throw usage(`"${given}" may be ${all} of ${localName}`, 'Write the name as one of them has it.');
}

/** Accents may be stored in two ways; case and spaces around are no difference either. */
export function folded(text: string): string {
  return text.normalize('NFC').trim().toLowerCase();
}

function reasonNotWritten(table: TwoWayTable, column: TwoWayColumn): string | null {
  if (column.type === 'Autonumber') return 'the origin numbers the rows';
  if (column.type === 'Attachment') return 'files are attached with SQL (docs/files.md)';
  if (column.writable) return null;
  return keptSentence(table, column).replace(/^.*? cannot be changed here(?: yet)?: /, '');
}
