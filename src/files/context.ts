/**
 * Input, progress and result of every part of the work on files. Types only.
 */
import type { Clock } from '../base/clock.ts';
import type { RowsyncError } from '../base/errors.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { Logger } from '../base/log.ts';
import type { Origin } from '../origin/client.ts';
import type { FileRule } from '../reconcile/files.ts';
import type { Replica } from '../replica/database.ts';

/** Settings of the work on files; units are in the names. */
export interface FilesSettings {
  /** Absolute path of the file store. */
  readonly folder: string;
  /** Whether the group may read content, as it may read the replica. Default false. */
  readonly isShared?: boolean | undefined;
  /** Bytes of all content together; null for no bound. */
  readonly bytesMax: number | null;
  /** Requests under way at a time. */
  readonly concurrency: number;
  /** What is wanted of a table by its origin name; null for a table that is left alone. */
  readonly rule: (table: string) => FileRule | null;
}

export interface FilesContext {
  readonly origin: Origin;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: FilesSettings;
  /** Where files are kept and sent from; the machine's own unless a simulation has another. */
  readonly fileSystem?: FileSystem | undefined;
  readonly onProgress?: ((event: FilesProgress) => void) | undefined;
  /** Called as work continues that asks the origin for nothing. */
  readonly onAdvance?: (() => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One step of running work, for a progress bar or plain lines. */
export type FilesProgress =
  /** `bytes` is null where the size of one or more files is not known. */
  | {
      readonly kind: 'start';
      readonly what: 'download' | 'verify';
      readonly fileCount: number;
      readonly bytes: number | null;
    }
  | { readonly kind: 'bytes'; readonly bytes: number }
  | { readonly kind: 'file' };

/** What the files of a pull came to. Counts are files unless the name says otherwise. */
export interface FilesReport {
  /** Whose content came over the wire. */
  readonly downloadedCount: number;
  readonly downloadedBytes: number;
  /** Whose guid was here already, in another place. */
  readonly knownCount: number;
  /** That failed in this run; listed in `sync_files` with the reason. */
  readonly failedCount: number;
  /** Left out because `files.maxBytes` is reached. */
  readonly overBoundCount: number;
  /** Newly found to be gone at the origin; their content stays. */
  readonly vanishedCount: number;
  /** Cells whose revisions were requested. */
  readonly listedCount: number;
  readonly requestCount: number;
  readonly durationMs: number;
  /** Why the work ended before its end. */
  readonly error: RowsyncError | null;
}

/** Sums of a run under way. */
export type FilesTally = {
  -readonly [Count in Exclude<keyof FilesReport, 'requestCount' | 'durationMs' | 'error'>]: number;
};
