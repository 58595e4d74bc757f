/**
 * Says in a sentence how each table is kept up to date, for `rowsync status`, the page and the log: when it is followed
 * and swept, or why it is only swept.
 */
import type { Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import { timesText } from '../config/schedule.ts';
import { pullSettings } from '../config/settings.ts';
import type { PullSettings } from '../pull/context.ts';
import { LARGE_PAGES, mayFollow, stampColumn } from '../reconcile/follow.ts';
import type { Connection } from '../replica/connection.ts';
import { replicaError } from '../replica/failures.ts';
import { readTableDescriptor } from '../replica/bookkeeping/descriptors.ts';
import { readTables } from '../replica/bookkeeping/tables.ts';
import { countPages } from '../replica/bookkeeping/pages.ts';
import type { Jobs } from './jobs.ts';
import type { Resources } from './resources.ts';
import { type FollowableTable, readFollowable } from '../replica/bookkeeping/following.ts';

/** The facts about how a table is kept up to date. */
export interface RefreshFacts {
  /** When it is followed, and swept, as cron expressions; null for never. */
  readonly follow: string | null;
  readonly sweep: string | null;
  readonly follows: PullSettings['follows'];
  readonly table: FollowableTable;
  /** Called only if they decide. */
  readonly hasStamp: () => boolean;
  /** Whether it has enough pages by now. A table that grew during its last sweep is followed after the next one. */
  readonly isLarge: () => boolean;
}

/** In words. */
export function refreshText({ follow, sweep, table, ...facts }: RefreshFacts): string {
  const windows = table.oneWindow === 'hidden' ? ' as one range (no Date Created is shown)' : '';
  const swept = sweep === null ? 'never swept' : `swept ${timesText(sweep)}${windows}`;
  if (follow === null) return swept;
  if (table.watermark !== null && mayFollow(table)) return `followed ${timesText(follow)}, ${swept}`;
  return `${swept}, not followed (${whyNot({ table, ...facts })})`;
}

function whyNot({ follows, table, hasStamp, isLarge }: Omit<RefreshFacts, 'follow' | 'sweep'>): string {
  if (table.sweptAt === null) return 'not read completely yet';
  if (table.watermark !== null) return 'not proven until the next sweep';
  if (!hasStamp()) return 'no Date Modified is shown';
  return follows === 'large' && !isLarge() ? `fewer than ${LARGE_PAGES} pages` : 'from the next sweep on';
}

/** What is done for each table that the origin has, by its name here. @throws RowsyncError of the replica. */
export function refreshTexts(replica: Connection, config: Config, jobs: Jobs): ReadonlyMap<string, string> {
  try {
    return readRefreshTexts(replica, config, jobs);
  } catch (thrown) {
    throw replicaError(thrown, 'Reading how tables are kept up to date');
  }
}

function readRefreshTexts(replica: Connection, config: Config, jobs: Jobs): ReadonlyMap<string, string> {
  const { follows } = pullSettings(config);
  const ways = new Map<string, string>();
  for (const table of readTables(replica)) {
    if (table.state === 'gone') continue;
    const hasStamp = (): boolean => {
      const stored = readTableDescriptor(replica, table.id, config.origin.format);
      return stored !== null && stampColumn(stored.descriptor.columns) !== null;
    };
    const isLarge = (): boolean => countPages(replica, table.id) >= LARGE_PAGES;
    const timeOf = (kind: 'follow' | 'pull'): string | null => jobs.find(kind, table.name)?.schedule.text ?? null;
    const times = { follow: timeOf('follow'), sweep: timeOf('pull') };
    ways.set(
      table.localName,
      refreshText({ ...times, follows, table: readFollowable(replica, table), hasStamp, isLarge }),
    );
  }
  return ways;
}

/** Remembers the sentence of each table. */
export class RefreshWatch {
  #textByTable: ReadonlyMap<string, string> = new Map();

  /** The sentence of each table, by its name here. */
  get textByTable(): ReadonlyMap<string, string> {
    return this.#textByTable;
  }

  /** Logs the tables whose sentence changed since the last call. @throws RowsyncError of the replica. */
  tell({ replica, config }: Pick<Resources, 'replica' | 'config'>, jobs: Jobs, log: Logger): void {
    const before = this.#textByTable;
    this.#textByTable = refreshTexts(replica, config, jobs);
    for (const [table, way] of this.#textByTable) if (before.get(table) !== way) log.info('table.way', { table, way });
  }
}
