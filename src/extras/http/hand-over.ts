/**
 * `pull`, `push`, `sync` and `verify` beside a daemon that listens: it does the work at once, and this process shows
 * its progress.
 */
import { asRowsyncError, EXIT, RowsyncError, sharedExitCode, usageError } from '../../base/errors.ts';
import { countText, durationText, plural, printable, truncate } from '../../base/text.ts';
import { accountText } from '../../cli/runtime/account-text.ts';
import { exitCodeOfAccount, fatesText } from '../../cli/report/push-report.ts';
import { confirmationText } from '../../cli/runtime/hand-over.ts';
import { loadNamedConfig, printJson } from '../../cli/runtime/invocation.ts';
import type { Config } from '../../config/load.ts';
import { problemsAt } from '../../daemon/account-facts.ts';
import type { WorkKind } from '../../daemon/jobs.ts';
import type { Invocation, WorkRequest } from '../../extra.ts';
import type { PushAccount } from '../../reconcile/account/push-account.ts';
import { chooseTables } from '../../replica/bookkeeping/tables.ts';
import type { GivenConfirmation } from '../../replica/confirmation.ts';
import { holderOf, inUseText } from '../../replica/lock.ts';
import { openReader, type TableStatus } from '../../replica/reader.ts';
import { askDaemonForWork, type DaemonWork, failureOf, hearDaemon, hearDaemonWork } from '../shared/daemon-client.ts';
import { httpOf } from '../shared/http-settings.ts';

const POLL_MS = 300;
/** Requests in a row without an answer after which the daemon counts as ended; as many may be refused. */
const SILENT_MAX = 20;
/** The newest runs among which the requested one is sought; a daemon that rings and follows has more of them. */
const RUNS_MAX = 50;

/** Has the daemon do each kind of work in turn. @throws RowsyncError `replica.inUse` where it cannot be asked. */
export async function handOver(
  invocation: Invocation,
  cause: RowsyncError,
  { works, tables, flags, confirm }: WorkRequest,
  confirmations: readonly GivenConfirmation[],
): Promise<number> {
  const config = await loadNamedConfig(invocation, { needsCredentials: false });
  const held = tables.length === 0 ? 'nothing is held' : `nothing of ${tables.map(printable).join(', ')} is held`;
  const vain = confirm && confirmations.length === 0 ? `${held} that could be confirmed` : null;
  const ask = { invocation, config, cause, news: vain === null ? '' : `, and ${vain}` };
  if (httpOf(config).listen === null) {
    throw inUse(ask, confirmations.length > 0 ? null : 'set http.listen in the configuration, so that it can be asked');
  }
  // Reading more tables than requested is harmless; pushing more is not.
  const isReading = works.every((work) => work === 'pull' || work === 'verify');
  const named = isReading || tables.length === 0 ? [] : [tables.length === 1 ? 'the table' : 'the tables'];
  // --strict only judges what waits afterwards.
  const unasked = [...named, ...flags.filter((flag) => flag !== '--strict')];
  if (unasked.length > 0) {
    const heard = await Promise.all(works.map((work) => hearDaemonWork(config, work)));
    const unscheduled = works.filter((_, index) => heard[index]?.isScheduled === false).join(' and ');
    if (unscheduled === '' && confirmations.length > 0) throw inUse(ask, null);
    if (flags.includes('--moment')) throw inUse(ask, 'let schedule.moment say when it proves moments');
    const away = `leave out ${unasked.join(' and ')}, so that it does the work for all tables`;
    throw inUse(ask, unscheduled === '' ? away : `schedule ${unscheduled} in the configuration and ${away}`);
  }
  requireTables(config, tables);
  const ended: { work: WorkKind; outcome: string; exitCode: number; ms: number; account?: PushAccount | undefined }[] =
    [];
  for (const work of works) {
    const { outcome, durationMs, account, exitCode: code = EXIT.failed } = await awaitWork(ask, work);
    ended.push({ work, outcome, exitCode: code, ms: durationMs, account });
    // A failure of some tables holds up no others; one of all has been thrown.
    if (outcome === 'stopped') break;
  }
  const statuses = statusesOf(config);
  const { facts } = await hearDaemon(config, invocation.extras);
  const problems = problemsAt(config, { ...facts, nowMs: invocation.session.clock.nowMs() });
  const isAsked = works.includes('push') && problems.some(({ code }) => code === 'rows.conflicts');
  const ofEdits = ended.map(({ account }) => (account === undefined ? EXIT.done : exitCodeOfAccount(account)));
  const isParked = flags.includes('--strict') && statuses.some(({ parkedCount }) => parkedCount > 0);
  const codes = [isAsked || isParked ? EXIT.needsPerson : EXIT.done, ...ended.map((end) => end.exitCode), ...ofEdits];
  const exitCode = sharedExitCode(codes.filter((code) => code !== EXIT.done));
  if (invocation.isJson) {
    await printJson(invocation, {
      exitCode,
      consents: confirmations,
      byDaemon: ended,
      // Of the work for all tables, what each one is now.
      tables: statuses.map(({ table, state, freshSince }) => ({ table, state, freshSince })),
      problems,
    });
    return exitCode;
  }
  const of = tables.length === 0 ? '' : ' of all tables';
  const first = vain === null ? '' : `${vain}, so --confirm does nothing\n`;
  const confirmed = confirmations.map((given) => `${confirmationText(given)}\n`);
  const lines = ended.map(({ work, outcome, ms }) => {
    const found = work !== 'verify' ? '' : outcome === 'done' ? ': every cell matches the origin' : ', see below';
    return `${work}${of} by the daemon: ${outcome} in ${durationText(ms)}${found}\n`;
  });
  const counts = runText(config, works);
  const edits = ended.map(({ account }) => (account === undefined ? '' : fatesText(account))).join('');
  await invocation.session.stdout.write(
    first + confirmed.join('') + lines.join('') + counts + edits + accountText(problems),
  );
  return exitCode;
}

/** A misspelt name must not cause all tables to be read. @throws RowsyncError `usage.invalid`. */
function requireTables({ replica }: Config, names: readonly string[]): void {
  if (names.length === 0) return;
  using reader = openReader(replica.path);
  try {
    chooseTables(reader, names);
  } catch (thrown) {
    const { message, hint } = asRowsyncError(thrown);
    throw usageError(message, `${hint} One that is new at the origin comes with rowsync pull without names.`);
  }
}

function statusesOf({ replica }: Config): readonly TableStatus[] {
  using reader = openReader(replica.path);
  return reader.status();
}

interface Asking {
  readonly invocation: Invocation;
  readonly config: Config;
  /** Why this process may not do the work itself, and what was left for the other one. */
  readonly cause: RowsyncError;
  /** What is said beside it. */
  readonly news: string;
}

/** `what` makes a daemon do the work now; null where a confirmation is kept for it, which it uses by itself. */
function inUse({ config, cause, news }: Asking, what: string | null): RowsyncError {
  if (what === null) return cause;
  const pid = holderOf(config.replica.path);
  const [stop, cycle] = pid === null ? ['', ''] : [` (kill ${pid})`, `; kill -USR1 ${pid} starts a cycle`];
  // A daemon does not end by itself, so waiting for it would not help.
  const asDaemon = `If it is a daemon, ${what}, or stop it first${stop}${cycle}. A command ends by itself.`;
  return new RowsyncError('replica', 'replica.inUse', {
    message: (cause.code === 'replica.inUse' ? cause.message : inUseText(config.replica.path)) + news,
    hint: `${asDaemon} Meanwhile rowsync status, sql, plan and backup work.`,
    cause,
  });
}

/** Where nothing answers at `http.listen`, so that another command is the likely one. */
function unheard({ config, cause }: Asking): RowsyncError {
  return new RowsyncError('replica', 'replica.inUse', {
    message: cause.code === 'replica.inUse' ? cause.message : inUseText(config.replica.path),
    hint: 'It is most likely another command, since nothing answers at http.listen: it ends by itself, try again then. A daemon that does not answer must be started again. Meanwhile rowsync status, sql, plan and backup work.',
    cause,
  });
}

/** What the newest ended run of each kind did, from the record that the daemon keeps. */
function runText({ replica }: Config, works: readonly WorkKind[]): string {
  using reader = openReader(replica.path);
  const ended = reader.runs(RUNS_MAX).filter(({ finishedAt }) => finishedAt !== null);
  const runs = works.flatMap((work) => ended.find(({ kind }) => kind === work) ?? []);
  return runs
    .map(({ kind, insertedCount, updatedCount, deletedCount, requestCount }) => {
      const rows = `${countText(insertedCount)} new, ${countText(updatedCount)} changed, ${countText(deletedCount)} deleted`;
      return `last ${kind}: ${rows}; ${plural(requestCount, 'request')}\n`;
    })
    .join('');
}

/** Waits for a run of one kind that was asked for from now on, since the one under way may have passed what is new. */
async function awaitWork(ask: Asking, work: WorkKind): Promise<NonNullable<DaemonWork['last']>> {
  const { invocation, config } = ask;
  const { session } = invocation;
  const { clock } = session;
  const signal = session.stopSignal();
  const show = progressLine(invocation);
  let before: DaemonWork | null = null;
  let silentCount = 0;
  let refusedCount = 0;
  try {
    // Ends with the run, with the daemon, or with a signal.
    while (!signal.aborted) {
      const now = await hearDaemonWork(config, work);
      silentCount = now === null ? silentCount + 1 : 0;
      if (now === null && (before === null || silentCount > SILENT_MAX)) {
        // It tells a little to anyone.
        const isHeard = (await hearDaemon(config, invocation.extras)).answer !== null;
        throw isHeard
          ? inUse(ask, 'read the key of the page beside the replica, as its owner or group may')
          : unheard(ask);
      }
      if (now !== null) {
        await show(now);
        if (!now.isScheduled) throw inUse(ask, `schedule ${work} in the configuration, so that it does that`);
        if (before === null) {
          const isTaken = now.isUnderWay ? null : await askDaemonForWork(config, work);
          if (isTaken === false && (refusedCount += 1) > SILENT_MAX)
            throw inUse(ask, 'start it again (one of an earlier version takes no work)');
          if (isTaken === true) {
            before = now;
            await sayFailure(invocation, now);
          }
        } else if (now.failure !== null && numberOf(now.failure) !== numberOf(before.failure))
          throw failureOf(now.failure);
        else if (now.last !== null && now.lastKey !== before.lastKey) return now.last;
      }
      await clock.sleep(POLL_MS, signal);
    }
    throw inUse(ask, 'let it finish what was begun');
  } finally {
    await show(null);
  }
}

/** Prints why the daemon has been waiting, since its next attempt may be a minute away. */
async function sayFailure({ session, isJson }: Invocation, { failure }: DaemonWork): Promise<void> {
  if (failure === null || isJson) return;
  await session.stderr.write(`the daemon waits after a failure, and tries now: ${printable(failure.message)}\n`);
}

/** Which failure it is; 0 for none. */
function numberOf(failure: DaemonWork['failure']): number {
  return failure?.number ?? failure?.count ?? 0;
}

/** One line on a terminal, which is written over; in a log a line for each table. */
function progressLine({ session, isJson }: Invocation): (now: DaemonWork | null) => Promise<void> {
  const { stderr } = session;
  let said = '';
  return async (now) => {
    if (isJson) return;
    if (now?.progress == null) {
      if (stderr.isTerminal && said !== '') await stderr.write('\r\u001B[K');
      return;
    }
    const { work, table, tablesDoneCount, tableCount, rowCount } = now.progress;
    const tables = tableCount === null ? '' : `, ${tablesDoneCount} of ${plural(tableCount, 'table')}`;
    const where = table === null ? '' : `, ${printable(table)}`;
    const start = `the daemon is at work: ${work}${tables}`;
    const text = stderr.isTerminal ? `${start}${where}, ${plural(rowCount, 'row')}` : start;
    if (text === said) return;
    said = text;
    await stderr.write(stderr.isTerminal ? `\r\u001B[K${truncate(text, (stderr.width() ?? 80) - 1)}` : `${text}\n`);
  };
}
