/**
 * How each table is kept up to date, in words: when it is followed and when it is swept, or why it is only swept. Input: the jobs, the settings, and
 * what the replica knows of its tables. Output: a sentence per table, logged if it changed.
 */
import type { Logger } from '../base/log.ts';
import { pullSettings } from '../config/settings.ts';
import type { PullSettings } from '../pull/context.ts';
import { LARGE_PAGES, mayFollow, stampColumn } from '../reconcile/follow.ts';
import { readTableDescriptor, readTables, type LedgerTable } from '../replica/ledger.ts';
import type { Jobs } from './jobs.ts';
import type { Sides } from './sides.ts';

/** The facts about how a table is kept up to date. */
export interface WayFacts {
  /** When it is followed, and swept, as cron expressions; null for never. */
  readonly follow: string | null;
  readonly sweep: string | null;
  readonly follows: PullSettings['follows'];
  readonly table: LedgerTable;
  /** Called only if it decides. */
  readonly hasStamp: () => boolean;
}

/** In words. */
export function wayText({ follow, sweep, follows, table, hasStamp }: WayFacts): string {
  const swept = sweep === null ? 'never swept' : `swept at ${sweep}`;
  if (follow === null) return swept;
  if (table.watermark !== null && mayFollow(table)) return `followed at ${follow}, ${swept}`;
  return `${swept} only: ${whyNot({ follows, table, hasStamp })}`;
}

function whyNot({ follows, table, hasStamp }: Pick<WayFacts, 'follows' | 'table' | 'hasStamp'>): string {
  if (table.sweptAt === null) return 'it was not read whole yet';
  if (table.watermark !== null) return 'what is here is not proven until the next sweep';
  if (!hasStamp()) return 'the calling user is not shown when its rows were changed';
  return follows === 'large'
    ? `it has fewer than ${LARGE_PAGES} pages`
    : 'the next sweep asks from when on to follow it';
}

/** Remembers the sentence of each table. */
export class WayWatch {
  #textByTable: ReadonlyMap<string, string> = new Map();

  /** The sentence of each table, by its name here. */
  get textByTable(): ReadonlyMap<string, string> {
    return this.#textByTable;
  }

  /** Logs the tables whose sentence changed since the last call. @throws errors of SQLite. */
  tell({ replica, origin, config }: Pick<Sides, 'replica' | 'origin' | 'config'>, jobs: Jobs, log: Logger): void {
    const { follows } = pullSettings(config);
    const before = this.#textByTable;
    const now = new Map<string, string>();
    for (const table of readTables(replica)) {
      if (table.state === 'gone') continue;
      const hasStamp = (): boolean => {
        const stored = readTableDescriptor(replica, table.id, origin.format);
        return stored !== null && stampColumn(stored.descriptor.columns) !== null;
      };
      const timeOf = (kind: 'follow' | 'pull'): string | null => jobs.find(kind, table.name)?.schedule.text ?? null;
      const facts = { follow: timeOf('follow'), sweep: timeOf('pull'), follows, table, hasStamp };
      now.set(table.localName, wayText(facts));
    }
    this.#textByTable = now;
    for (const [table, way] of now) if (before.get(table) !== way) log.info('table.way', { table, way });
  }
}
