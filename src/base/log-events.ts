/**
 * Every event that is logged, with the sentence that documents it. The names are stable: people match on them.
 * docs/reference/log-events.md is made from this record, and the compiler lets nothing else be logged. Pure.
 */

export const LOG_EVENTS = {
  'daemon.started': 'The daemon has opened the replica.',
  'daemon.stopped': 'The daemon has ended on request, with everything closed.',
  'daemon.abandoned': 'The daemon ends although work is still under way, because it did not stop in time.',
  'replica.upgraded': 'A replica of an earlier version was brought to this version; the former file is at `path`.',
  'schedule.armed': 'A job is scheduled; `nextAt` is its first tick.',
  'config.reloaded': 'A changed configuration is in force.',
  'config.refused': 'A changed configuration has a problem (one line each); the present one stays in force.',
  'http.listening': 'The HTTP server answers at `path`.',
  'notify.failed': 'The state of the daemon cannot be reported to systemd.',
  'notice.sent': 'A notice was sent; `reason` is needsPerson, failing, toKnow, recovered or changed.',
  'notice.failed': 'The command or the webhook of `notify` failed; `waitMs` says when it is tried again.',
  'work.started': 'A piece of scheduled work begins.',
  'work.finished': 'A piece of scheduled work has ended; `outcome` is done, held, failed or stopped.',
  'work.failed': 'A job such as a backup failed; it is tried again at its next scheduled time.',
  'table.failed': 'A table could not be finished in this run.',
  'history.pruned':
    'Entries of the history of a table were removed because they exceed its bounds; `rowCount` says how many.',
  'file.failed': 'An attached file could not be fetched; sync_files says which, and why.',
  'files.stopped': 'The work on attached files stopped before it was finished.',
  'table.waits': 'A table that failed is left out for `waitMs`.',
  'table.restored': 'Another SQL client dropped a table of the replica; it was recreated (problem `table.remade`).',
  'table.recovered': 'A table that failed before works again.',
  'circuit.opened': 'A failure concerns everything; no work is done for `waitMs`.',
  'circuit.closed': 'The failure that concerned everything is over.',
  'guard.held': 'Deletes of a table wait for a person.',
  'guard.waits': 'Something waits for a person; `hint` says what to do.',
  'problem.found': 'A problem is new, or larger than before; `code` as in problems.md.',
  'problem.solved': 'A problem is over.',
  'person.decided':
    'A person decided something, on the page or by a command; `reason` is resolve, discard, retry or confirm.',
  'identity.changed':
    'The calling user, its role, permissions or time zone changed; no ETag is trusted, and deletes wait.',
  'push.lookUp': 'Rows whose batch had no answer are looked up at the origin before anything is sent again.',
  'push.unfinished': 'What an earlier push left behind could not be settled yet.',
  'pages.halved': 'An answer was beyond the bound; from now on the pages of the table have `rowCount` rows.',
  'windows.none': 'A table is read as one run of pages, because its windows do not hold: the reason says what.',
  'windows.differ': 'Totals of days differ from the origin in some windows of a table; these windows are read.',
  'sweep.torn': 'Rows shifted between two pages while they were read; they are read again.',
  'follow.swept': 'A table could not be followed, for `reason`, and was read whole.',
  'table.reshaped': 'Columns of a table changed while its rows were read; they are read again.',
  'table.way':
    'When tables (`table`) are followed and when they are pulled, in `way`, or why they are not followed; logged at the start and when it changes.',
  'schema.changed': 'Tables or columns changed, at the origin or by the configuration; `message` says how.',
  'table.gone': 'The origin no longer shows a table; its rows stay, and its edits wait.',
  'contracts.failed':
    'Old names that the configuration no longer wants could not be ended; the next start tries again.',
  'sink.sent': 'Changed rows were sent to a sink, or tables were loaded.',
  'sink.failed': 'A sink cannot continue; it is tried again after `waitMs`.',
  'sink.recovered': 'A sink that failed before receives rows again.',
  'sink.tableFailed': 'One table of a sink failed and is left out for `waitMs`; other tables continue.',
  'sink.again': 'A sink is not in the state that this replica left; every table is compared as a whole.',
  'problem.notStored': 'The reason why a table failed could not be written to the replica.',
  'origin.retry': 'A request failed in a way that may pass, and is sent again.',
  'origin.request': 'A request was answered (level debug).',
} as const;

export type LogEvent = keyof typeof LOG_EVENTS;
