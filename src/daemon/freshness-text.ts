/**
 * Says in a sentence how each table is kept up to date, for `rowsync status`, the page and the log. It says when it is
 * followed and pulled, or why it is only pulled.
 */
import { someOf } from '../base/text.ts';
import type { Config } from '../config/load.ts';
import { timesText } from '../config/cron-times.ts';
import { pullSettings } from '../config/settings.ts';
import type { PullSettings } from '../pull/context.ts';
import { LARGE_PAGES, mayFollow, RUNG_REST_MS, stampColumn } from '../reconcile/follow.ts';
import type { Connection } from '../replica/connection.ts';
import { withReplicaErrors } from '../replica/sqlite-errors.ts';
import { readTableDescriptor } from '../replica/bookkeeping/descriptors.ts';
import { readTables, type TableRecord } from '../replica/bookkeeping/tables.ts';
import { countPages } from '../replica/bookkeeping/pages.ts';
import { jobsOf } from './jobs.ts';
import type { Resources } from './resources.ts';

export interface RefreshFacts {
  /** When it is followed, and swept, as cron expressions; null for never. */
  readonly follow: string | null;
  readonly sweep: string | null;
  readonly follows: PullSettings['follows'];
  readonly table: TableRecord;
  /** Whether following leaves it out while rings bring its changes. */
  readonly waitsForRings: boolean;
  /** Called only if they decide. */
  readonly hasStamp: () => boolean;
  /** Whether it has enough pages by now. A table that grew during its last sweep is followed after the next one. */
  readonly isLarge: () => boolean;
}

export function freshnessText({ follow, sweep, table, waitsForRings, ...facts }: RefreshFacts): string {
  const windows = table.oneWindow === 'hidden' ? ' as one range (no Date Created is shown)' : '';
  const pulled = sweep === null ? 'not pulled on schedule' : `pulled ${timesText(sweep)}${windows}`;
  if (follow === null) return pulled;
  if (table.watermark !== null && mayFollow(table))
    return `followed ${timesText(follow)}${waitsForRings ? RARER : ''}, ${pulled}`;
  return `${pulled}, not followed (${whyNot({ table, ...facts })})`;
}

const RARER = ` (every ${RUNG_REST_MS / 60_000} minutes while rings bring its changes)`;

function whyNot(given: Pick<RefreshFacts, 'follows' | 'table' | 'hasStamp' | 'isLarge'>): string {
  const { follows, table, hasStamp, isLarge } = given;
  if (table.sweptAt === null) return 'not read completely yet';
  if (table.watermark !== null) return 'not proven until the next pull';
  if (!hasStamp()) return 'no Date Modified is shown';
  return follows === 'large' && !isLarge() ? `its rows fill fewer than ${LARGE_PAGES} pages` : 'from the next pull on';
}

/** What is done for each table that the origin has, by its name here. @throws RowsyncError of the replica. */
export function freshnessTexts(replica: Connection, config: Config): ReadonlyMap<string, string> {
  const jobs = jobsOf(config);
  const { follows } = pullSettings(config);
  const textOf = (table: TableRecord): string => {
    const hasStamp = (): boolean => {
      const stored = readTableDescriptor(replica, table.id);
      return stored !== null && stampColumn(stored.descriptor.columns) !== null;
    };
    const isLarge = (): boolean => countPages(replica, table.id) >= LARGE_PAGES;
    const [follow, sweep] = [jobs.find('follow', table.name), jobs.find('pull', table.name)];
    const times = { follow: follow?.schedule.text ?? null, sweep: sweep?.schedule.text ?? null };
    const waitsForRings = follow?.waitsForRings === true;
    return freshnessText({ ...times, follows, waitsForRings, table, hasStamp, isLarge });
  };
  return withReplicaErrors('Reading how tables are kept up to date', () => {
    const tables = readTables(replica).filter(({ state }) => state !== 'gone');
    return new Map(tables.map((table) => [table.localName, textOf(table)]));
  });
}

export class RefreshWatch {
  #textByTable: ReadonlyMap<string, string> = new Map();

  /** The sentence of each table, by its name here. */
  get textByTable(): ReadonlyMap<string, string> {
    return this.#textByTable;
  }

  /** Logs the tables whose sentence changed since the last call. @throws RowsyncError of the replica. */
  tell({ replica, config, log }: Pick<Resources, 'replica' | 'config' | 'log'>): void {
    const before = this.#textByTable;
    this.#textByTable = freshnessTexts(replica, config);
    const changed = [...this.#textByTable].filter(([table, text]) => before.get(table) !== text);
    for (const [text, of] of Map.groupBy(changed, ([, changedText]) => changedText))
      log.info('table.way', { table: someOf(of.map(([table]) => table)), way: text });
  }
}
