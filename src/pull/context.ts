/**
 * The context of every part of a pull: origin, replica, clock, log and settings. Types only.
 */
import type { Clock } from '../base/clock.ts';
import type { RowsyncError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Address } from '../origin/address.ts';
import type { Origin } from '../origin/client.ts';
import type { RequireShape } from '../origin/renamed-columns.ts';
import type { RemoteTable } from '../capture/writer/store-origin-rows.ts';
import type { Bounds as HistoryBounds } from '../reconcile/history-bounds.ts';
import type { ConfiguredTables } from '../reconcile/option-bindings.ts';
import type { ColumnChoice, Selection } from '../reconcile/column-selection.ts';
import type { PushTableOptions } from '../reconcile/push-plan.ts';
import type { NameStyle } from '../reconcile/naming.ts';
import type { Replica } from '../replica/database.ts';
import type { TableRecord } from '../replica/bookkeeping/tables.ts';
import type { ColumnShape, TableDescriptor, TableSummary } from '../wire/schema.ts';
import type { PullProgress, SweepCounts } from './report.ts';

export interface PullSettings {
  /** Rows per page, 2 to 500. */
  readonly pageRows: number;
  /** Pages of a window; left out for the default (reconcile/windows.ts). */
  readonly windowPages?: number | undefined;
  readonly maxDeletePercent: number;
  /** How tables and columns are called here; left out for as the origin calls them. */
  readonly names?: NameStyle | undefined;
  /** Requests under way at a time, and pages in memory per table. */
  readonly concurrency: number;
  /** Which tables are followed between sweeps: their sweeps also ask for the watermark. Left out for none. */
  readonly follows?: 'all' | 'large' | 'none' | undefined;
  /** Whether following also compares sums of days when it is time; left out for yes. */
  readonly compares?: boolean | undefined;
  readonly tableOptions: (name: string) => TableSettings | null;
  /** What a table is called here, also one that takes no part; left out, and undefined, for by the rule. */
  readonly ownNameOf?: ((name: string) => string | undefined) | undefined;
  /** What the configuration says of tables by their names; left out if none is bound to one, and none need match. */
  readonly configured?: ConfiguredTables | undefined;
}

export interface TableSettings {
  /** Columns to sort by instead of creation time; null for the default. */
  readonly sort: readonly string[] | null;
  /** Which columns come here, and how they are masked; absent or null for all as they are. */
  readonly columns?: ColumnChoice | null | undefined;
  /** How edits made here are treated; absent or null for a read-only mirror. */
  readonly editing?: EditingOptions | null | undefined;
  /** The filter that a row has to satisfy to be here, in the origin's language; absent or null for all rows. */
  readonly rows?: string | null | undefined;
  /** What columns of it are called here, by their names at the origin; absent for by the rule. */
  readonly columnNames?: ReadonlyMap<string, string> | undefined;
  /** The bounds of its history; absent or null for no history. */
  readonly history?: HistoryBounds | null | undefined;
}

export interface EditingOptions extends PushTableOptions {
  /** Origin's name of the unique column that identifies rows; null without one. */
  readonly match: string | null;
}

export interface PullContext {
  readonly origin: Origin;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: PullSettings;
  readonly onProgress?: ((event: PullProgress) => void) | undefined;
  /** Removes content of attached files that no row names any more; left out if no files are kept. */
  readonly removeContents?: ((hashes: readonly string[]) => Promise<unknown>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface LocalShape extends ColumnShape {
  readonly localName: string;
}

/** A table that is ready to be swept: its shape here is the one that the origin describes. */
export interface PreparedTable extends RemoteTable {
  readonly address: Address;
  /** The origin's description, with the columns that come here (reconcile/column-selection.ts). */
  readonly descriptor: TableDescriptor;
  /** Makes sure that its columns still have the names of the descriptor. */
  readonly requireShape: RequireShape;
  /** The columns that rows are read with, in the order of `target.columns`. */
  readonly shapes: readonly LocalShape[];
  readonly selection: Selection;
  /** Rows of a page: those of the settings, or fewer because larger pages did not fit (pull/windows.ts). */
  readonly pageRows: number;
  /** Why its edits cannot be pushed, to be reported once its rows are here; null if they can, or there are none. */
  readonly problem: RowsyncError | null;
}

/** What a person agreed to. */
export interface Permission {
  /** Rows that may be deleted here. */
  readonly rows: number;
  /** Whether columns may be dropped with their values. */
  readonly schema: boolean;
  /** By an option of this command; a consent in the replica can be written by everyone who may edit it. */
  readonly isHere: boolean;
}

/** One table of a pull, before it is prepared. */
export interface TableTurn {
  readonly context: PullContext;
  readonly summary: TableSummary;
  readonly tableOptions: TableSettings;
  /** As it was then: the end of a sweep forgets the problem. Null for a new table. */
  readonly known: TableRecord | null;
  readonly permission: Permission;
  readonly discard: boolean | undefined;
  readonly counts: SweepCounts;
}

/** A table that is read, in a pull or to compare it. */
export interface TableReading {
  readonly context: PullContext;
  readonly table: PreparedTable;
}

/** One table of a pull. */
export interface TablePull extends TableReading {
  /** Added to as rows are stored or leave. */
  readonly counts: SweepCounts;
}

export interface PullOptions {
  /** Names as at the origin or in the replica, ignoring case; empty for all that the configuration matches. */
  readonly tables: readonly string[];
  /** A person has looked: guards let this pull through. */
  readonly confirm: boolean;
  /** Read only changes where the table has their time; others are swept, or with `known` skipped. */
  readonly follow?: boolean | 'known' | undefined;
  /** Give up edits of tables that are no longer to be two-way; they are kept in `sync_conflicts`. */
  readonly discard?: boolean | undefined;
}
