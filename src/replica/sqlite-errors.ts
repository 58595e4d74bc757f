/**
 * What SQLite and the file system throw, as errors that say what the operator does next.
 */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { asRowsyncError, codeOf, RowsyncError, type ErrorCode } from '../base/errors.ts';

interface Explanation {
  readonly code: ErrorCode;
  readonly hint: string;
  /** In place of SQLite's own words. */
  readonly words?: string;
}

/** First match wins; SQLite's extended codes start with the basic one, and its words follow. */
const EXPLANATIONS: readonly (readonly [RegExp, Explanation])[] = [
  [
    // The -shm file is the first to find no space.
    /^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)/,
    { code: 'replica.full', hint: 'Free some space, then run the command again; what the replica holds is whole.' },
  ],
  [
    /^(SQLITE_BUSY|SQLITE_LOCKED)/,
    { code: 'replica.busy', hint: 'End the open transaction of the other SQL client, then run the command again.' },
  ],
  [
    /^SQLITE_NOTADB/,
    { code: 'replica.foreign', hint: 'Nothing was changed. Point replica.path to a new file, or move this one away.' },
  ],
  [
    // A base is made again, and so are views.
    /^SQLITE_CORRUPT|^SQLITE_ERROR: no such table: (main\.)?_rowsync_(?!base_)/,
    {
      code: 'replica.damaged',
      hint: 'rowsync rebuild puts what was edited here into a file and makes room for a new replica; or restore a backup.',
    },
  ],
  [
    /^(SQLITE_CANTOPEN|SQLITE_READONLY|EACCES|EPERM|EROFS|ENOENT|ENOTDIR|EISDIR)/,
    { code: 'replica.path', hint: 'Give this user write access to the file and its folder, or change replica.path.' },
  ],
  [
    // Ours let our own writes pass. What another one says may be made of the row (I16).
    /^SQLITE_CONSTRAINT_TRIGGER/,
    {
      code: 'replica.failed',
      hint: "Drop or change the trigger: SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' lists all; ours begin with _rowsync.",
      words: 'a trigger that another SQL client made refuses it',
    },
  ],
  [
    // Ours have none on the origin's values: it knows which are unique, and rows come one after the other.
    /^SQLITE_CONSTRAINT/,
    {
      code: 'replica.failed',
      hint: "Drop the unique index, or the constraint, that another SQL client made: SELECT name, sql FROM sqlite_schema WHERE type = 'index' lists indexes. Those without UNIQUE do no harm.",
    },
  ],
  [
    // Every view and trigger must stay valid after a table is changed; one invalid view prevents changes of all tables.
    /^SQLITE_ERROR: error in (index|view|trigger) /,
    {
      code: 'replica.failed',
      hint: 'Another SQL client made the view, trigger or index that the message names. Drop or change it, run the command again, then create it anew.',
    },
  ],
];

/** Wraps what was thrown while doing `what`; a `RowsyncError` passes unchanged. */
export function replicaError(thrown: unknown, what: string): RowsyncError {
  if (thrown instanceof RowsyncError) return thrown;
  const code = codeOf(thrown);
  // Without a code it is a defect of ours, not a failure of SQLite or the file system; or a part is missing.
  if (code === '' || code.endsWith('MODULE_NOT_FOUND')) throw thrown;
  // By the time it is thrown, files that were open may be closed again.
  const lack = NO_DESCRIPTOR.has(code) ? thrown : code.startsWith('SQLITE_CANTOPEN') ? lackOfDescriptors() : null;
  if (lack !== null) return asRowsyncError(lack);
  const said = thrown instanceof Error ? thrown.message : '';
  const found = EXPLANATIONS.find(([pattern]) => pattern.test(`${code}: ${said}`))?.[1];
  const explanation: Explanation = found ?? {
    code: 'replica.failed',
    hint: 'See the message; `rowsync check` looks at the file and its folder.',
  };
  const { code: ours, hint } = explanation;
  const reason = explanation.words ?? (said === '' ? code : said);
  return new RowsyncError('replica', ours, { message: `${what}: ${reason} (${code})`, hint, cause: thrown });
}

/** Does something with a replica, or with what is beside it. @throws RowsyncError of the replica. */
export function withReplicaErrors<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw replicaError(thrown, what);
  }
}

const NO_DESCRIPTOR: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);

/** More than SQLite opens for a replica and its lock: each a file, a log, an index and the folder. */
const FILES_AT_ONCE = 16;

/** SQLite does not say that it cannot open a file for want of a descriptor; null where there are enough. */
function lackOfDescriptors(): unknown {
  const opened: number[] = [];
  try {
    while (opened.length < FILES_AT_ONCE) opened.push(openSync(devNull, 'r'));
    return null;
  } catch (thrown) {
    return NO_DESCRIPTOR.has(codeOf(thrown)) ? thrown : null;
  } finally {
    for (const file of opened) closeSync(file);
  }
}

/** Like `asRowsyncError`, but also explains what SQLite says while the replica is read. */
export function errorFromReading(thrown: unknown, path: string): RowsyncError {
  return sqliteCode(thrown) === undefined ? asRowsyncError(thrown) : replicaError(thrown, `Reading ${path}`);
}

/** Why SQLite refuses a value, naming the table and column at most; null where it was thrown for another reason. */
export function refusalWords(thrown: unknown): string | null {
  if (sqliteCode(thrown)?.startsWith('SQLITE_CONSTRAINT') !== true || !(thrown instanceof Error)) return null;
  const words = EXPLANATIONS.find(([pattern]) => pattern.test(codeOf(thrown)))?.[1].words;
  return words ?? thrown.message;
}

/** The code of an error of SQLite's, such as `SQLITE_BUSY_SNAPSHOT`; undefined for any other. */
export function sqliteCode(thrown: unknown): string | undefined {
  const code = codeOf(thrown);
  return code.startsWith('SQLITE_') ? code : undefined;
}
