/**
 * `rowsync status`: one screen that says how fresh each table is, what is wrong, and what to do.
 */
import { statSync } from 'node:fs';
import type { Command } from 'commander';
import { asRowsyncError, EXIT, type RowsyncError } from '../../base/errors.ts';
import { sumOf } from '../../base/sum.ts';
import type { Config } from '../../config/load.ts';
import { findConfigs } from '../../config/paths.ts';
import { boundTo } from '../../config/settings.ts';
import { problemsAt, type DaemonFacts } from '../../daemon/account-facts.ts';
import { freshnessTexts } from '../../daemon/freshness-text.ts';
import type { Invocation, Runner } from '../../extra.ts';
import { troubledTables, type Problem } from '../../reconcile/account/account.ts';
import { openReader, type ReplicaIdentity, type RunRecord, type TableStatus } from '../../replica/reader.ts';
import { loadNamedConfig, printJson } from '../runtime/invocation.ts';
import { accountExitCode, accountText } from '../runtime/account-text.ts';
import { boxTable, type TableColumn } from '../terminal/table.ts';
import { daemonClient, isAtWork } from '../runtime/daemon-client.ts';
import { writeProse } from '../terminal/session.ts';
import { ageText, bytesText, countText, plural, printable, someOf, truncate } from '../../base/text.ts';

/** Tables listed on a terminal, so that a large database still fits on one screen; what is wrong is always listed. */
const TABLES_SHOWN_MAX = 25;

/** Tables named in a line about refreshing, and the width of a name. */
const REFRESH_NAMES_MAX = 3;
const REFRESH_NAME_WIDTH = 20;

/** Runs in the JSON form. */
const RUNS_MAX = 10;

const EXAMPLES = `
"as of" is the age of the oldest page of the table: everything in it was equal to the origin then, or later. "followed" says when
only changed rows were asked for since. With --exit-code, the exit code is 0 if nothing needs attention, 3 if a person is needed, 75 if
tables are late or the origin or the daemon cannot be reached, and 78 if the replica is damaged. Of several, 78 comes before 3, and 3
before 75, since a machine can try again; problems in --json have them all, with their severities.
Where /etc/rowsync has several configurations and none is named, there is a line for each.

Examples:
  rowsync status
  rowsync status --service main
  rowsync status --exit-code >/dev/null || echo "look at rowsync status"
  rowsync status --json | jq '.problems[]'
  rowsync sql 'SELECT * FROM sync_runs ORDER BY id DESC LIMIT 20'`;

/** A table, and how the daemon keeps it up to date, in words; null where nothing is scheduled for it. */
export interface KeptTable extends TableStatus {
  readonly way: string | null;
}

export interface Status {
  /** `isOlder`: an earlier version wrote the file, and nothing has been written since. */
  readonly replica: { readonly path: string; readonly bytes: number; readonly isOlder: boolean };
  readonly identity: ReplicaIdentity | null;
  readonly tables: readonly KeptTable[];
  /** The newest first. */
  readonly runs: readonly RunRecord[];
  /** The account, the most severe first. */
  readonly problems: readonly Problem[];
  /** Who keeps the tables up to date. */
  readonly keeper: DaemonFacts['keeper'];
  /** What a daemon says of itself, and extras of theirs. */
  readonly moreLines: readonly string[];
}

export function addStatusCommand(program: Command, runner: Runner): void {
  program
    .command('status')
    .description('show how fresh tables are, what is wrong, and what to do')
    .option('--exit-code', 'exit with 3, 75 or 78 if something is wrong')
    .addHelpText('after', EXAMPLES)
    .action(runner(showStatus));
}

type StatusFlags = { readonly exitCode?: boolean };

async function showStatus(invocation: Invocation, { exitCode: wantsCode = false }: StatusFlags): Promise<number> {
  const { clock, folder, stdout } = invocation.session;
  const paths = findConfigs(invocation.configPath, folder);
  const [showStatuses] = invocation.extras.flatMap((extra) => extra.showStatuses ?? []);
  if (paths.length > 1 && showStatuses !== undefined) return showStatuses(invocation, paths, wantsCode);
  const { status, json, error } = await gather(invocation);
  await (invocation.isJson
    ? printJson(invocation, json)
    : writeProse(stdout, statusText(status, { nowMs: clock.nowMs(), width: stdout.width() })));
  if (wantsCode) return accountExitCode(status.problems);
  return error?.exitCode ?? EXIT.done;
}

/** The status under one configuration, and why the replica cannot be read; null where it can. */
export async function gather(
  invocation: Invocation,
): Promise<{ readonly status: Status; readonly json: object; readonly error: RowsyncError | null }> {
  const { extras } = invocation;
  const nowMs = invocation.session.clock.nowMs();
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const heard = await (await daemonClient(invocation)).hear(config, { extras, nowMs });
  const problems = problemsAt(config, { ...heard, nowMs });
  const read = readStatus(config);
  const others = read.error === null ? extras.flatMap(({ status }) => status?.(config) ?? []) : [];
  const added = [heard, ...(await Promise.all(others))];
  const status = { ...read.status, problems, keeper: heard.keeper };
  return {
    status: { ...status, moreLines: added.flatMap(({ lines }) => lines) },
    json: added.reduce<object>((all, { json }) => ({ ...all, ...json }), status),
    error: read.error,
  };
}

type ReplicaPart = Pick<Status, 'replica' | 'identity' | 'tables' | 'runs'>;

/** What the replica shows; of one that cannot be read only the path, and why. */
function readStatus(config: Config): { readonly status: ReplicaPart; readonly error: RowsyncError | null } {
  const { path } = config.replica;
  const replica = { path, bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0, isOlder: false };
  try {
    return { status: readReplica(config, replica), error: null };
  } catch (thrown) {
    const nothing = { identity: null, tables: [], runs: [] };
    return { status: { replica, ...nothing }, error: asRowsyncError(thrown) };
  }
}

function readReplica(config: Config, replica: Status['replica']): ReplicaPart {
  using reader = openReader(config.replica.path);
  const wasKilled = ({ outcome }: RunRecord): boolean => outcome === 'running' && !isAtWork(replica.path);
  const runs = reader.runs(RUNS_MAX).map((run) => (wasKilled(run) ? { ...run, outcome: 'interrupted' } : run));
  if (reader.isOlder())
    return { replica: { ...replica, isOlder: true }, identity: reader.identity(), tables: [], runs };
  const bound = boundTo(reader, config);
  const refreshByTable = freshnessTexts(reader, bound);
  return {
    replica,
    identity: reader.identity(),
    tables: reader.status().map((table) => ({ ...table, way: refreshByTable.get(table.table) ?? null })),
    runs,
  };
}

/** The screen; `width` is null where the output is no terminal, and then every table is listed. */
export function statusText(
  status: Status,
  { nowMs, width }: { readonly nowMs: number; readonly width: number | null },
): string {
  const { replica, identity, tables, runs, problems, keeper, moreLines } = status;
  const [last] = runs;
  const head = [
    `replica   ${printable(replica.path)} (${bytesText(replica.bytes)})`,
    ...(identity !== null
      ? identityLines(identity)
      : problems.some(({ code }) => code === 'replica.unpulled')
        ? [`origin    ${last === undefined ? 'not asked yet: run rowsync pull' : 'not known yet'}`]
        : []),
    ...(last === undefined ? ['last run  none'] : runLines(last, nowMs)),
    ...moreLines,
  ];
  const troubled = troubledTables(problems);
  // What is wrong comes first, then what is oldest.
  const place = ({ table, freshSince }: KeptTable) => `${troubled.has(table) ? 0 : 1} ${freshSince ?? ''}`;
  const ordered = tables.toSorted((one, other) => byText(place(one), place(other)));
  const shown = width === null ? tables : ordered.slice(0, Math.max(TABLES_SHOWN_MAX, troubled.size));
  const hiddenCount = tables.length - shown.length;
  const more = hiddenCount === 0 ? '' : `and ${plural(hiddenCount, 'more table')}, all fresher (--json lists them)\n`;
  const box = tables.length === 0 ? '' : `\n${tableBox(shown, troubled, { nowMs, width })}${more}`;
  const rest = [
    sumText(tables, problems),
    refreshSums(tables, keeper),
    editsText(tables, nowMs),
    accountText(problems),
  ];
  return `${head.join('\n')}\n${box}${rest.join('')}`;
}

/** How tables are kept up to date: a line for each way, with the first tables that it is for. */
function refreshSums(tables: readonly KeptTable[], keeper: Status['keeper']): string {
  const byRefresh = Map.groupBy(tables, ({ way }) => way);
  const lines = [...byRefresh].flatMap(([way, of]) => {
    if (way === null) return [];
    const names = of.map(({ table }) => truncate(printable(table), REFRESH_NAME_WIDTH));
    const isAll = of.length === tables.length && of.length > REFRESH_NAMES_MAX;
    return `  ${printable(way)}: ${isAll ? 'all' : someOf(names, REFRESH_NAMES_MAX)}`;
  });
  const hasDaemon = keeper !== 'nobody' && keeper !== 'silent';
  const by = hasDaemon ? 'by the daemon:' : 'once a daemon runs (rowsync daemon, or rowsync service install):';
  return lines.length === 0 ? '' : `${by}\n${lines.join('\n')}\n`;
}

/** The order of stamps; the order of a language would load its data. */
function byText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Edits that are not at the origin yet, with the age of the oldest one; empty if there are none. */
function editsText(tables: readonly TableStatus[], nowMs: number): string {
  const [oldest] = tables.flatMap(({ oldestChangeAt }) => oldestChangeAt ?? []).toSorted();
  if (oldest === undefined) return '';
  const pending = sumOf(tables, ({ pendingCount }) => pendingCount);
  const parked = sumOf(tables, ({ parkedCount }) => parkedCount);
  return `edits: ${plural(pending, 'row')} to push, ${countText(parked)} parked; the oldest ${ageText(oldest, nowMs)}\n`;
}

function identityLines({ url, database, userEmail, role, timeZone }: ReplicaIdentity): readonly string[] {
  return [`origin    ${url}, database ${database}`, `user      ${userEmail}, ${role}, ${timeZone}`].map(printable);
}

function runLines(run: RunRecord, nowMs: number): readonly string[] {
  const when = run.finishedAt === null ? `began ${ageText(run.startedAt, nowMs)}` : ageText(run.finishedAt, nowMs);
  const counts =
    `${plural(run.requestCount, 'request')}, ${countText(run.notModifiedCount)} not modified; ` +
    `${countText(run.insertedCount)} new, ${countText(run.updatedCount)} changed, ${countText(run.deletedCount)} deleted`;
  const lines = [`last run  ${run.kind}, ${when}: ${run.outcome}`, `          ${counts}`];
  return [...lines, ...(run.errorMessage === null ? [] : [`          ${run.errorMessage}`])].map(printable);
}

function tableBox(
  tables: readonly TableStatus[],
  troubled: ReadonlySet<string>,
  { nowMs, width }: { readonly nowMs: number; readonly width: number | null },
): string {
  const cells = tables.map((table) => [
    table.table,
    countText(table.rowCount),
    ageText(table.freshSince, nowMs),
    troubled.has(table.table) ? `${table.state}, see below` : stateText(table, nowMs),
  ]);
  return boxTable(TABLE_COLUMNS, cells, width);
}

const TABLE_COLUMNS: readonly TableColumn[] = [
  { title: 'table' },
  { title: 'rows', align: 'right' },
  { title: 'as of', align: 'right' },
  { title: 'state' },
];

/** Why a table that could have windows has none, in words. */
const NO_WINDOWS: Readonly<Record<string, string>> = {
  filter: 'read as one range: the origin does not filter by creation time',
  order: 'read as one range: the origin does not keep to the order of creation',
};

function stateText(table: TableStatus, nowMs: number): string {
  const { state, followedAt, freshSince, oneWindow, isFiltered, maskedCount } = table;
  const isFollowed = followedAt !== null && followedAt > (freshSince ?? '');
  const parts = [
    state,
    isFollowed ? `followed ${ageText(followedAt, nowMs)}` : '',
    NO_WINDOWS[oneWindow ?? ''] ?? '',
    isFiltered ? 'filtered' : '',
    maskedCount > 0 ? `${countText(maskedCount)} masked` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function sumText(tables: readonly TableStatus[], problems: readonly Problem[]): string {
  if (tables.length === 0) return 'no tables yet\n';
  const rowCount = sumOf(tables, (table) => table.rowCount);
  const byState = [...Map.groupBy(tables, ({ state }) => printable(state))];
  const wrongCount = problems.filter(({ severity }) => severity !== 'notice').length;
  const isPlain = byState.length === 1 && wrongCount === 0;
  const wrong = wrongCount === 0 ? '' : `, with ${plural(wrongCount, 'problem')}`;
  const states = byState.map(([state, { length }]) => `${isPlain ? 'all' : length} ${state}`).join(', ');
  return `${plural(tables.length, 'table')}, ${plural(rowCount, 'row')}; ${states}${wrong}\n`;
}
