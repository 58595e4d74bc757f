/**
 * The context of every part of a push: the two sides, the clock, the log, the settings, and the present table. Types,
 * and the hook before each step, where tests may end the process.
 */
import type { Clock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { Logger } from '../base/log.ts';
import type { TwoWayTable } from '../capture/two-way-table.ts';
import type { Address } from '../origin/address.ts';
import type { Origin } from '../origin/client.ts';
import type { RequireShape } from '../origin/renamed-columns.ts';
import type { ColumnChoice } from '../reconcile/column-selection.ts';
import type { BatchLimits, ChangeKind, PushTable, PushTableOptions } from '../reconcile/push-plan.ts';
import type { Replica } from '../replica/database.ts';
import type { TableTally } from './report.ts';
import type { SentFile } from '../reconcile/files.ts';

export interface PushSettings {
  /** Changed rows of one table that may be pushed without a person's consent. */
  readonly maxPushRows: number;
  /** Share of the rows of one table that may be deleted without a person's consent. */
  readonly maxDeletePercent: number;
  /** Tables pushed side by side; one table's batches always leave one after another. */
  readonly concurrency: number;
  /** Options of a table by its origin name; null for a table that is not pushed. */
  readonly tableOptions: (name: string) => PushTableOptions | null;
  /** Which columns of a table come here, by its origin name, as for a pull; left out for all of every table. */
  readonly columns?: ((name: string) => ColumnChoice | null) | undefined;
  /** Absolute path of the folder for relative names of files to attach; null for none. */
  readonly uploadDir: string | null;
  /** Texts that no file may carry to the origin: rowsync's own secrets. */
  readonly secrets: readonly string[];
  /** Smaller batches, for tests. */
  readonly batchLimits?: Partial<BatchLimits> | undefined;
}

/** The steps of a push, in order; those from `reread` to `settle` once for each batch. */
export type PushStep =
  | 'identify'
  | 'describe'
  | 'lookUp'
  | 'plan'
  | 'reread'
  | 'record'
  | 'send'
  | 'store'
  | 'readBack'
  | 'settle'
  | 'finish';

/** Puts an accepted file into the file store; false if it is not kept or has changed. Never throws for the file. */
export type KeepUpload = (table: string, file: SentFile) => Promise<boolean>;

export interface PushFiles {
  /** Where files are sent from; the machine's own unless a simulation has another. */
  readonly system?: FileSystem | undefined;
  /** Left out without a file store: then a pull downloads the files. */
  readonly keep?: KeepUpload | undefined;
}

export interface PushContext {
  readonly origin: Origin;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: PushSettings;
  readonly files?: PushFiles | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly before?: ((step: PushStep, table: string) => void | Promise<void>) | undefined;
}

export interface TablePush {
  readonly context: PushContext;
  readonly table: TwoWayTable;
  readonly address: Address;
  /** Columns that rows are asked for with, by name. */
  readonly names: readonly string[];
  /** Rows of one answer at most, if larger ones did not fit. */
  readonly pageRows: number | undefined;
  readonly planned: PushTable;
  readonly options: PushTableOptions;
  /** The calling user's time zone. */
  readonly zone: string;
  /** Makes sure that its columns are the ones that were read. @throws RowsyncError `push.shape`. */
  readonly requireShape: RequireShape;
  /** Added to as batches are recorded and settled. */
  readonly tally: TableTally;
}

export interface IdBlock {
  readonly kind: ChangeKind;
  readonly ids: readonly number[];
}

export interface Round {
  /** A person has looked: guards let this push through. */
  readonly confirmed: boolean;
  /** No other round follows in this push: rows that have to wait are parked, with the reason. */
  readonly isLast: boolean;
  /** Keys of the match values of the latest batches, whose rows a look at the origin may not have seen yet. */
  readonly leaving: ReadonlySet<string>[];
  /** Gives rows back that did not fit into a batch. */
  readonly putBack: (block: IdBlock) => void;
}

export function step({ context, table }: Pick<TablePush, 'context' | 'table'>, name: PushStep): void | Promise<void> {
  return context.before?.(name, table.localName);
}
