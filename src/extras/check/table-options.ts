/**
 * Checks the options of tables: columns that are left out or masked, filters (`rows`), attached files, and history.
 * Makes no key of masks: the check may run as another user than the pull.
 */
import { foldIdent } from '../../base/sql.ts';
import { asRowsyncError } from '../../base/errors.ts';
import { plural, printable, bytesText, someOf } from '../../base/text.ts';
import { isPushed } from '../../config/table-options.ts';
import type { TableRule } from '../../config/table-patterns.ts';
import type { Origin } from '../../origin/client.ts';
import { columnType, type TableDescriptor, hasOption } from '../../wire/schema.ts';
import { fail, ok, warn, ofSome, type CheckResult } from '../shared/linked-extra.ts';
import type { Config } from '../../config/load.ts';
import { pullSettings, filesSettings, columnChoice } from '../../config/settings.ts';
import { findTable } from '../../replica/bookkeeping/tables.ts';
import { readHistories } from '../../replica/bookkeeping/history.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import { columnMode } from '../../reconcile/files.ts';
import { sql } from '../../base/sql.ts';
import { queryAny } from '../../replica/query.ts';
import { findMaskKey } from '../../config/mask-key.ts';
import {
  selectPulledColumns,
  planSelection,
  isMatch,
  type ColumnChoice,
  type Chosen,
} from '../../reconcile/column-selection.ts';
import { type NameStyle, ownName } from '../../reconcile/naming.ts';
import { readColumns } from '../../replica/bookkeeping/columns.ts';
import { maskKeyDigest } from '../../wire/mask.ts';

const NAME = 'rows';

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

const LISTED_CELLS = sql`SELECT 1 FROM _rowsync_file_cells WHERE table_id = ? AND column_id = ? AND form = 'list' LIMIT 1`;

/** Tables named, each with its bounds. */
const NAMES_MAX = 8;

export function checkHistory(reader: ReplicaReader, config: Config): readonly CheckResult[] {
  const { tableOptions } = pullSettings(config);
  const texts = readHistories(reader).flatMap(({ tableId, bytes }) => {
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

/** Which revisions of which columns come, and where that is less, or costs more, than the option says. */
export function checkFiles(
  described: readonly TableDescriptor[],
  config: Config,
  reader: ReplicaReader | null,
): readonly CheckResult[] {
  const { rule } = filesSettings(config);
  const columns = described.flatMap((table) => {
    const chosen = rule(table.recordName)?.mode ?? 'none';
    const attachments = table.columns.filter(({ type }) => columnType(type) === 'Attachment');
    return attachments.map(({ id, name, dataOptions }) => ({
      name: `${table.recordName}.${name}`,
      chosen,
      mode: columnMode(chosen, dataOptions),
      // Values of another form, so that the origin has to be asked for their revisions.
      isListed: reader !== null && chosen !== 'none' && queryAny(reader, LISTED_CELLS, [table.id, id]),
    }));
  });
  const named = (isMeant: (column: (typeof columns)[number]) => boolean): readonly string[] =>
    columns.filter(isMeant).map(({ name }) => name);
  const kinds = (['all', 'latest', 'none'] as const).flatMap((mode) =>
    ofSome(
      named((column) => column.mode === mode),
      (names) => `${FILE_MODES[mode]} of ${names}`,
    ),
  );
  const listed = named(({ isListed }) => isListed);
  const withoutHistory = named(({ chosen, mode }) => chosen === 'all' && mode === 'latest');
  return [
    ...(kinds.length === 0 ? [] : [ok('files', kinds.join('; '))]),
    ...ofSome(listed, (names) =>
      warn(
        'files',
        `${names}: the origin does not show the revision there, so that each cell with a file costs a request in every pull`,
        'Write files: none for the tables whose files are not needed.',
      ),
    ),
    ...ofSome(withoutHistory, (names) =>
      warn(
        'files',
        `${names}: all revisions are wanted, but the column does not show its history`,
        'Set "Allow See Revision History" for the column at the origin, or write files: latest.',
      ),
    ),
  ];
}

const FILE_MODES = { all: 'every revision', latest: 'the latest revision', none: 'none' } as const;

export function checkChoice(
  described: TableDescriptor,
  given: { readonly config: Config; readonly rule: TableRule | null; readonly reader: ReplicaReader | null },
): { readonly descriptor: TableDescriptor; readonly results: readonly CheckResult[] } {
  const { config, rule, reader } = given;
  const choice = rule === null ? null : columnChoice(rule);
  if (rule === null || choice === null) return { descriptor: described, results: [] };
  const key = config.replica.maskKey ?? findMaskKey(config.replica.maskKeyFile);
  const leftOut = reader === null ? [] : (findTable(reader, described.id)?.leftOut ?? []);
  const chosen = selectPulledColumns(described, {
    choice,
    leftOut,
    known: reader === null ? [] : readColumns(reader, described.id),
    keyDigest: () => (key === null ? '' : maskKeyDigest(key)),
  });
  const useless = chosen.problems.length > 0 ? [] : uselessPatterns(described, choice);
  const name = described.recordName;
  return {
    descriptor: chosen.descriptor,
    results: [
      ...chosen.problems.map((problem) => fail('columns', `${name}: ${problem}`, `Correct tables.${rule.pattern}.`)),
      ...choiceResults(described, chosen),
      ...ofSome(useless, (patterns) =>
        warn('columns', `${name}: no column matches ${patterns}`, `Correct tables.${rule.pattern}.columns.`),
      ),
      ...(isPushed(rule.options) ? requiredResults(described, chosen) : []),
    ],
  };
}

/** The patterns of `include` and `exclude` that no column of the table matches. */
export function uselessPatterns(
  { columns }: Pick<TableDescriptor, 'columns'>,
  { include, exclude }: Pick<ColumnChoice, 'include' | 'exclude'>,
): readonly string[] {
  return [...exclude, ...(include ?? [])].filter((pattern) => !columns.some(({ name }) => isMatch(pattern, name)));
}

/** What `references`, `sort` and `columnNames` name wrongly; `tables` are the names of all tables. */
export function checkNames(
  descriptor: TableDescriptor,
  described: TableDescriptor,
  {
    rule: { options, pattern },
    tables,
    style,
  }: { readonly rule: TableRule; readonly tables: readonly string[]; readonly style: NameStyle },
): readonly CheckResult[] {
  const { columns } = descriptor;
  const has = (list: readonly string[], wanted: string): boolean =>
    list.some((name) => name.toLowerCase() === wanted.toLowerCase());
  const columnNames = columns.map(({ name }) => name);
  const unreferenced = Object.entries(options.references ?? {}).flatMap(([column, table]) => [
    ...(has(columnNames, column) ? [] : [`column "${column}"`]),
    ...(has(tables, table) ? [] : [`table "${table}"`]),
  ]);
  const given = new Map(Object.entries(options.columnNames ?? {}));
  const unknown = [...given.keys()].filter((name) => !described.columns.some((column) => column.name === name));
  const naming = { scope: 'column', style, given: (name: string) => given.get(name) } as const;
  const own = columns.map((column) => foldIdent(ownName(naming, column)));
  const isGiven = (...names: readonly string[]): boolean => names.some((name) => given.has(name));
  const alike = columnNames.filter((name, place) =>
    columnNames.some((other, at) => at !== place && own[at] === own[place] && isGiven(name, other)),
  );
  const findings = [
    ['references', 'names what does not come here', unreferenced],
    ['sort', 'names columns that do not exist', planSelection(descriptor, options.sort ?? null).unknownSort],
    ['columnNames', 'names columns that do not exist', unknown],
    ['columnNames', 'gives several columns the same name', alike],
  ] as const;
  return findings.flatMap(([option, problem, names]) =>
    ofSome(names, (some) =>
      fail(
        'columns',
        `${descriptor.recordName}: ${option} ${problem}: ${some}`,
        `Correct tables.${pattern}.${option}.`,
      ),
    ),
  );
}

function choiceResults(described: TableDescriptor, { descriptor, leftOut, kept }: Chosen): readonly CheckResult[] {
  const out = new Set(leftOut.map(({ id }) => id));
  const left = described.columns.filter(({ id }) => out.has(id)).map((column) => column.name);
  const masked = descriptor.columns.flatMap(({ name, mask }) => (mask === undefined ? [] : [`${name} (${mask.kind})`]));
  const parts = [
    ...(left.length === 0 ? [] : [`left out: ${someOf(left)}`]),
    ...(masked.length === 0 ? [] : [`masked: ${someOf(masked)}`]),
    ...(kept.length === 0 ? [] : [`come in any case: ${someOf(kept.map(({ name, why }) => `${name} (${why})`))}`]),
  ];
  return parts.length === 0 ? [] : [ok('columns', `${described.recordName}: ${parts.join('; ')}`)];
}

/** Columns without which the origin takes no new row, and that cannot be given one here. */
function requiredResults(described: TableDescriptor, { descriptor }: Chosen): readonly CheckResult[] {
  const writable = new Set(descriptor.columns.flatMap(({ id, mask }) => (mask === undefined ? [id] : [])));
  const missing = described.columns.filter(
    ({ id, dataOptions }) => !writable.has(id) && hasOption(dataOptions, 'Required'),
  );
  return ofSome(
    missing.map(({ name }) => name),
    (names) =>
      warn(
        'push',
        `${described.recordName}: the origin requires ${names}, which new rows cannot be given here`,
        'Rows that are inserted here will be refused, unless the origin has a default.',
      ),
  );
}
