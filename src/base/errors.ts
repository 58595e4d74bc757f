/**
 * Every error that rowsync raises on purpose, and the exit code that it ends a command with. The message says what was
 * attempted, on what, and what came back; the hint says what the operator does next. Expected results (not modified, a
 * refused row, an empty page) are values and never errors. None contains a secret or a row's value (I16).
 */

/** What the reader of an error can do about it; decides the exit code. */
export type ErrorKind =
  | 'usage' // the command line is wrong
  | 'config' // the configuration is wrong; every problem is listed
  | 'auth' // the origin does not accept the credentials or their rights
  | 'originDown' // no usable answer now; trying later can help
  | 'originRefused' // a complete answer that says no; trying again gives the same
  | 'wireFormat' // an answer that is not what the method returns
  | 'replica' // the SQLite file is damaged, locked, full, or not ours
  | 'needsPerson' // a guard stopped the work until a person decides
  | 'bug'; // a broken assumption of ours

/** Process exit codes; `rowsync --help` documents them. */
export const EXIT = { done: 0, failed: 1, usage: 2, needsPerson: 3, tryLater: 75, unusable: 78 } as const;

export const EXIT_BY_KIND: Readonly<Record<ErrorKind, number>> = {
  usage: EXIT.usage,
  config: EXIT.usage,
  auth: EXIT.failed,
  originDown: EXIT.tryLater,
  originRefused: EXIT.failed,
  wireFormat: EXIT.failed,
  replica: EXIT.failed,
  needsPerson: EXIT.needsPerson,
  bug: EXIT.failed,
};

/** The stable codes, each with the sentence that documents it; docs/reference/errors.md is made from this record. */
export const ERROR_CODES = {
  'usage.invalid': 'The command line has an unknown command, option or argument.',
  'config.missing': 'The configuration file does not exist or cannot be read, or there are several and none was named.',
  'config.invalid': 'The configuration has one or more problems; all of them are listed.',
  'config.secret': 'A secret named by the configuration cannot be read or is empty.',
  'config.maskKey':
    'The key of the masks is in a file of another user, or in one that others may write, and is not used.',
  'origin.unreachable': 'No connection to the origin: name not found, refused, reset or no route.',
  'origin.proxy': 'The proxy under `origin.proxy` cannot be reached, or made no connection to the origin.',
  'origin.tls': 'The TLS handshake with the origin failed.',
  'origin.timeout': 'The origin accepted the connection but did not answer in time.',
  'origin.busy':
    'The origin answered 429 or 5xx until the retries were used up, or asked to be left alone for longer than they last.',
  'origin.unauthorized': 'The origin answered 401: it saw no credentials.',
  'origin.forbidden': 'The origin answered 403: the credentials are wrong or lack a right.',
  'origin.refused': 'The origin answered another 4xx: the request is wrong for this database.',
  'origin.redirect': 'The origin answered with a redirect, which is never followed.',
  'origin.notApi': 'The answer is not an answer of the Records API (an HTML page, a proxy, another host).',
  'origin.truncated': 'The body ended early or is not valid JSON or XML.',
  'origin.unexpected': 'The body is JSON or XML, but not what the method returns.',
  'origin.tooLarge': 'The body is larger than the bound, compressed or not, or would cost too much to be parsed.',
  'origin.unsendable':
    'A value does not fit the type of its column, or has characters that XML or a file name cannot carry.',
  'origin.cutShort': 'The body of the request could not be read to its end, so the origin never got all of it.',
  'origin.unknownOutcome': 'A change was sent, and no answer says whether it happened; it was not sent again.',
  'origin.shortPage': 'The origin returned fewer rows than it was asked for although more exist.',
  'origin.samePage': 'The next page has the same rows again, as if from a cache that ignores the query.',
  'origin.moving': 'Rows kept shifting between pages while they were read; the next pull reads them again.',
  'origin.stopped': 'The request was abandoned because rowsync was asked to stop.',
  'replica.path':
    'The folder of the replica is missing or cannot be written, or the file was moved or deleted while it was open.',
  'replica.foreign': 'The SQLite file exists but was not made by rowsync.',
  'replica.newer': 'The replica was written by a newer version of rowsync.',
  'replica.older': 'The replica was written by an earlier version of rowsync and lacks what was asked for.',
  'replica.otherDatabase': 'The replica belongs to another database.',
  'replica.inUse': 'Another rowsync process works on this replica.',
  'replica.busy': 'Another SQL client held the write lock for too long.',
  'replica.full': 'The disk is full.',
  'replica.damaged': "SQLite reports that the file is damaged, or another program dropped a table of rowsync's own.",
  'replica.log': 'A copy was put in the place of the replica, and the log of the former file is still beside it.',
  'replica.failed': 'SQLite or the file system failed for another reason.',
  'replica.schema': 'The tables in the replica cannot be brought to the shape the origin describes.',
  'replica.query': 'The SQL given to `rowsync sql` is wrong or would write.',
  'output.failed': 'What a command prints could not be written to the end, as on a full disk.',
  'backup.exists': 'The file that a backup would be written to exists already.',
  'backup.damaged': 'A copy of the replica did not pass its check and was not kept, or a backup failed its drill.',
  'files.store': 'The folder of the file store, or one to export to, cannot be made, read or written.',
  'files.damaged': 'Content in the file store is lost or damaged, and could not be fetched again.',
  'files.failed': 'Files could not be fetched, for the reasons that sync_files shows.',
  'guard.deletes': 'More rows would be deleted here than safety.maxDeletePercent allows, or a table turned up empty.',
  'guard.filter': 'The filter of a table (rows) changed, and rows that are here lie outside of it.',
  'guard.schema':
    'Most tables or most columns of a table vanished at once, or columns with values are to be left out or masked.',
  'guard.maskKey': 'Hashes of a table were made with another key; only a command with --confirm reads it anew.',
  'guard.columns':
    'Writable columns of a two-way table vanished at the origin; it waits until they are back or pruned.',
  'guard.keys':
    'A key under tables that keeps something out matches no table, so nothing was read into the new replica yet.',
  'guard.names': 'A table took the name under which the configuration knows another table, so it waits.',
  'guard.pending': 'Edits wait in a table that is to be a read-only mirror, or that the origin no longer shows.',
  'guard.pushRows': 'More rows of a table were changed here than safety.maxPushRows allows to be pushed.',
  'guard.pushDeletes': 'More rows of a table were deleted here than safety.maxDeletePercent allows to be pushed.',
  'guard.olderCopy': 'Edits wait in a table of an older copy of the replica that was restored; they may be outdated.',
  'pull.unsettled': 'The outcome of sent rows could not be looked up yet; their table is not read before that.',
  'pull.sum': 'The rows of a table here are not those that the origin listed, and nothing says why.',
  'push.forbidden': 'The origin refuses every change of a table: the calling user may not write it.',
  'push.identity':
    'The calling user, its role or its time zone changed since the last pull; nothing is pushed before the next one.',
  'push.shape':
    'Columns of a table changed at the origin, or in the configuration, since the last pull; nothing is pushed before the next one.',
  'push.unanswered': 'Too many requests of one table ended without an answer about rows; the next push continues.',
  'push.workflow': 'Suppressing workflow rules needs a permission that the calling user does not have.',
  'verify.notModified':
    'Something between here and the origin answers "not modified" whatever it is asked; rows are older here.',
  'verify.unreadable': 'Rows of the origin have a value that cannot be read, so they cannot be equal here.',
  'verify.mismatch': 'The replica differs from the origin although nothing changed meanwhile.',
  'verify.history': 'An entry of the history does not begin with the values that the entry before it ended with.',
  'history.unknown': 'The history does not cover what was asked for.',
  'fresh.stale':
    'Tables that a question reads are older than it allows, and could not be read now; nothing was answered.',
  'fresh.moved': 'The tables are not proven to be as they all were at one moment, or have changed since.',
  'sink.unreachable': 'No connection to the PostgreSQL server of a sink, or it broke.',
  'sink.login': 'The PostgreSQL server of a sink does not accept the user, the password or the database.',
  'sink.tls': 'The connection to the PostgreSQL server of a sink could not be secured as sslmode asks.',
  'sink.version': 'The PostgreSQL server of a sink is older than 14.',
  'sink.busy': 'The PostgreSQL server of a sink is busy: a lock was held for long, or another process writes there.',
  'sink.full': 'The disk of the PostgreSQL server of a sink is full.',
  'sink.rights': 'The user of a sink lacks a right in PostgreSQL.',
  'sink.refused': 'PostgreSQL refused what a sink sent, for the reason that it gives.',
  'sink.foreign': 'A table or a column that rowsync did not make has the name of one that is to be sent.',
  'sink.inTheWay': 'Something that depends on a table of a sink keeps it from being changed.',
  'sink.taken': 'The schema of a sink has rows of another replica, or of this one from before it was made anew.',
  'daemon.listen': 'The daemon cannot listen on the address of `http.listen`.',
  'service.failed': 'The systemd service cannot be set up or asked: a file or a program of the system failed.',
  'sandbox.option': 'An option of the sandbox has a value that it cannot work with.',
  'sandbox.data': 'The file to serve is missing, unreadable, or not a SQLite database.',
  'sandbox.store': "The sandbox's own database cannot be created or opened, or belongs to something else.",
  'sandbox.listen': 'The sandbox cannot listen on the address: the port is taken or not allowed.',
  'system.descriptors': 'The limit of open files was reached, of this process or of the system.',
  'system.installation': 'A file of rowsync itself is missing, or the user for whom root works may not read it.',
  'bug.assertion': 'A broken assumption inside rowsync.',
} as const;

/** A stable identifier for one way to fail; scripts may match on it. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** What keeps a replica from being used before a person has seen to it. */
const UNUSABLE: ReadonlySet<ErrorCode> = new Set(['replica.newer', 'replica.damaged', 'replica.log']);

/**
 * What the origin said when it refused a whole request. Its words may name values of rows and are in no message of a
 * change for that reason (I16). Read them, show them only to users who may see the rows, and log the rest.
 */
export interface Refusal {
  readonly status: number;
  /** The origin's own code (origin facts 4.2); null where it gave none. */
  readonly code: number | null;
  /** The origin's words; empty where it gave none. */
  readonly words: string;
  /** The parameter, column, table or view at fault; null where the origin named none. */
  readonly source: string | null;
}

/** The only error class that rowsync throws. `message`: what was attempted and what came back; `hint`: what to do. */
export class RowsyncError extends Error {
  readonly kind: ErrorKind;
  readonly code: ErrorCode;
  readonly hint: string;
  /** The origin's refusal, where the error is one; null for every other. */
  readonly refusal: Refusal | null;

  constructor(
    kind: ErrorKind,
    code: ErrorCode,
    text: { message: string; hint: string; cause?: unknown; refusal?: Refusal | null | undefined },
  ) {
    super(text.message, text.cause === undefined ? undefined : { cause: text.cause });
    this.name = 'RowsyncError';
    this.kind = kind;
    this.code = code;
    this.hint = text.hint;
    this.refusal = text.refusal ?? null;
  }

  /** As every command prints it in JSON. */
  toJSON(): Readonly<Record<'code' | 'kind' | 'message' | 'hint', string>> {
    return { code: this.code, kind: this.kind, message: this.message, hint: this.hint };
  }

  /** The process exit code for this error (0 is never returned). */
  get exitCode(): number {
    // Starting again does not help, and systemd does not try.
    if (UNUSABLE.has(this.code)) return EXIT.unusable;
    return this.code === 'replica.inUse' || this.code === 'replica.busy' ? EXIT.tryLater : EXIT_BY_KIND[this.kind];
  }
}

/** The error of a command line, a form or a call that cannot be carried out as it was given. */
export function usageError(message: string, hint: string, code: ErrorCode = 'usage.invalid'): RowsyncError {
  return new RowsyncError('usage', code, { message, hint });
}

/** What helps where the system opens no more files or connections. */
export const HINT_DESCRIPTORS = 'Raise the limit (ulimit -n, or LimitNOFILE= of the service); rowsync needs some 100.';

/** The code that the system, SQLite or a library gave what was thrown, such as ENOENT; empty without one. */
export function codeOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return '';
  return typeof thrown.code === 'string' ? thrown.code : '';
}

/** Wraps anything thrown into a `RowsyncError`; what is neither one already nor a limit of the system is a bug. */
export function asRowsyncError(thrown: unknown): RowsyncError {
  if (thrown instanceof RowsyncError) return thrown;
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  const code = codeOf(thrown);
  if (code === 'EMFILE' || code === 'ENFILE')
    return new RowsyncError('replica', 'system.descriptors', {
      message: `The system opens no more files for this process: ${reason}`,
      hint: HINT_DESCRIPTORS,
      cause: thrown,
    });
  if (code.endsWith('MODULE_NOT_FOUND'))
    return new RowsyncError('replica', 'system.installation', {
      message: `A file of rowsync itself is missing, or may not be read: ${reason}`,
      hint: 'Install rowsync where every user may read it, such as below /usr/local or /opt: root works as the owner of the replica.',
      cause: thrown,
    });
  return new RowsyncError('bug', 'bug.assertion', {
    message: `Unexpected failure inside rowsync: ${reason}`,
    hint: 'Please report this with the output of the same command and --verbose.',
    cause: thrown,
  });
}

/**
 * The exit code for several failures of work that was done in part. A guard that waits comes first, then the code that
 * all of them share (such as "try later", if that would help with each), then plain failure. Options of a table that
 * are wrong are a plain failure: "nothing was done" would not be true of the others.
 */
export function exitCodeOf(failures: readonly RowsyncError[]): number {
  return sharedExitCode(failures.map(({ kind, exitCode }) => (kind === 'config' ? EXIT.failed : exitCode)));
}

/** The exit code for several failures, by their own codes. */
export function sharedExitCode(codes: readonly number[]): number {
  if (codes.includes(EXIT.needsPerson)) return EXIT.needsPerson;
  const [first = EXIT.done] = codes;
  return codes.every((code) => code === first) ? first : EXIT.failed;
}
