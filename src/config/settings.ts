/**
 * Turns the configuration into the settings of the origin, of pulls, pushes and files, for commands and the daemon.
 */
import { must } from '../base/assert.ts';
import type { FilesSettings } from '../files/context.ts';
import type { OriginSettings } from '../origin/client.ts';
import { proxySecrets } from '../origin/proxy.ts';
import { authorizationOf } from '../origin/credentials.ts';
import type { Bounds as HistoryBounds } from '../reconcile/history-bounds.ts';
import type { PullSettings, TableSettings } from '../pull/context.ts';
import type { PushSettings } from '../push/context.ts';
import type { ColumnChoice } from '../reconcile/column-selection.ts';
import type { FileRule } from '../reconcile/files.ts';
import type { Connection } from '../replica/connection.ts';
import { boundNameOf } from '../replica/bookkeeping/described-tables.ts';
import type { Config } from './load.ts';
import { findMaskKey, maskKey } from './mask-key.ts';
import { isPushed } from './table-options.ts';
import { withBoundNames, type TableRule, type TableRules } from './table-patterns.ts';

/** How to open the origin of a configuration that was loaded with its credentials. */
export function originSettings({ origin, limits, replica }: Config): OriginSettings {
  let key = replica.maskKey;
  return {
    url: origin.url,
    database: origin.database,
    credentials: must(origin.credentials, 'commands that reach the origin load its credentials'),
    format: origin.format,
    ...origin.route,
    concurrency: limits.concurrency,
    requestsPerSecond: limits.requestsPerSecond,
    maskKey: () => (key ??= maskKey(replica.maskKeyFile)),
  };
}

/** The texts of the way to the origin that no log and no answer may show. */
export function originSecrets({ origin }: Pick<Config, 'origin'>): readonly string[] {
  const { credentials, route } = origin;
  return [...(credentials === null ? [] : authorizationOf(credentials).secrets), ...proxySecrets(route.proxy)];
}

/** The same configuration, in which each table of a replica is found by the name to which its options are bound. */
export function boundTo(from: Connection, config: Config): Config {
  return withBoundNames(config, (name) => boundNameOf(from, name));
}

export function pullSettings(
  given: Pick<Config, 'limits' | 'safety' | 'schedule' | 'tables'> & {
    readonly replica: Pick<Config['replica'], 'names'>;
  },
): PullSettings {
  const { limits, replica, safety, schedule, tables } = given;
  const ofTables = tables.rules.map(({ options }) => options.schedule?.follow);
  return {
    follows: followsOf([schedule.follow, ...ofTables]),
    pageRows: limits.pageRows,
    maxDeletePercent: safety.maxDeletePercent,
    names: replica.names,
    concurrency: limits.concurrency,
    tableOptions: ofTable(tables, tableSettings),
    ownNameOf: (table) => tables.find(table)?.options.name,
    configured: tables.byName,
  };
}

function followsOf(schedules: readonly (string | false | undefined)[]): PullSettings['follows'] {
  const wanted = schedules.filter((text) => text !== false && text !== undefined);
  if (wanted.length === 0) return 'none';
  return wanted.every((text) => text === 'auto') ? 'large' : 'all';
}

export function pushSettings(config: Config): PushSettings {
  const { files, limits, replica, safety, tables } = config;
  return {
    uploadDir: files.uploadDir,
    // Read each time: a pull may have made the key of masks since.
    get secrets() {
      const key = replica.maskKey ?? findMaskKey(replica.maskKeyFile);
      return [...originSecrets(config), ...(key === null ? [] : [key])];
    },
    maxPushRows: safety.maxPushRows,
    maxDeletePercent: safety.maxDeletePercent,
    concurrency: limits.concurrency,
    tableOptions: ofTable(tables, (rule) => tableSettings(rule).editing ?? null),
    columns: ofTable(tables, columnChoice),
  };
}

/** What is made of the rule for a table; null where there is none. */
function ofTable<T>(tables: TableRules, make: (rule: TableRule) => T | null): (name: string) => T | null {
  return (name) => {
    const rule = tables.find(name);
    return rule === null ? null : make(rule);
  };
}

function tableSettings(rule: TableRule): TableSettings {
  const { columnNames = {}, sort, match, conflict, workflow, delete: deletes, history, rows } = rule.options;
  const editing = {
    match: match ?? null,
    conflict: conflict ?? 'origin',
    workflow: workflow ?? 'run',
    purges: deletes === 'purge',
    inserts: takesInserts(rule.options),
  } as const;
  return {
    sort: sort ?? null,
    columns: columnChoice(rule),
    rows: rows ?? null,
    editing: isPushed(rule.options) ? editing : null,
    columnNames: new Map(Object.entries(columnNames)),
    history: historyBounds(history),
  };
}

/** Whether rows may be added here, as far as the option `push` goes. */
export function takesInserts({ push }: TableRule['options']): boolean {
  return typeof push !== 'object' || push.insert !== false;
}

/** Which columns of a table come here, and how they are masked; null for all as they are. */
export function columnChoice({ pattern, options }: TableRule): ColumnChoice | null {
  const { columns, mask, match, sort } = options;
  if (columns === undefined && mask === undefined) return null;
  return {
    include: columns?.include ?? null,
    exclude: columns?.exclude ?? [],
    masks: Object.entries(mask ?? {}).map(([name, kind]) =>
      typeof kind === 'string' ? { pattern: name, kind } : { pattern: name, kind: 'constant', constant: kind.constant },
    ),
    isOfOneTable: !pattern.includes('*'),
    match: match ?? null,
    sort: sort ?? null,
  };
}

/** How much of the history of a table is kept where the configuration does not say. */
const HISTORY_BOUNDS = { keepDays: 400, bytesMax: 2_000_000_000 };

/** How much of the history of a table is kept; null for none of it. */
function historyBounds(history: TableRule['options']['history']): HistoryBounds | null {
  if (history === undefined || history === false) return null;
  if (history === true) return HISTORY_BOUNDS;
  return { keepDays: history.keep ?? HISTORY_BOUNDS.keepDays, bytesMax: history.maxBytes ?? HISTORY_BOUNDS.bytesMax };
}

export function filesSettings({ files, limits, replica, tables }: Config): FilesSettings {
  return {
    folder: replica.files,
    isShared: replica.shared,
    bytesMax: files.maxBytes ?? null,
    concurrency: limits.concurrency,
    rule: ofTable(tables, fileRule),
  };
}

function fileRule({ pattern, options }: TableRule): FileRule {
  const name = `tables.${pattern}.files`;
  const { files = 'latest' } = options;
  if (typeof files === 'string') return { mode: files, maxFileBytes: null, types: null, name };
  const { revisions, maxFileBytes, types } = files;
  return { mode: revisions ?? 'latest', maxFileBytes: maxFileBytes ?? null, types: types ?? null, name };
}
