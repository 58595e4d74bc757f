/**
 * The daemon: one process that keeps one replica up to date, on schedule, for years. It reads the clock, asks
 * next-step.ts what to do, does it, and stores the result; it decides nothing itself. It does one piece of work at a
 * time. It retries failures at growing intervals and never gives them up: only a stop ends the loop.
 */
import { asRowsyncError, type RowsyncError } from '../base/errors.ts';
import { stampFromMs, type Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import { pullSettings, pushSettings } from '../config/settings.ts';
import { AccountWatch } from './account-watch.ts';
import { problemsAt, readKeptTables, daemonFactsOf, type Surroundings } from './account-facts.ts';
import { jobsOf, ScheduledJobs, type Jobs, type WorkKind } from './jobs.ts';
import { questionOf, answerQuestion, Retries } from './circuit-breaker.ts';
import { errorFromReading } from '../replica/sqlite-errors.ts';
import type { FoundComplaint } from '../reconcile/account/facts.ts';
import type { Problem } from '../reconcile/account/account.ts';
import { noteFilters } from '../pull/pull.ts';
import { endsInTime, ProgressWatchdog } from './process-health.ts';
import { EditWatch, LOOK_MS } from './edit-watch.ts';
import type { DaemonParts, DaemonView } from './context.ts';
import { JoinedParts } from './joined-parts.ts';
import { RefreshQueue } from './refresh-queue.ts';
import { Results } from './results.ts';
import { openResources, type Resources } from './resources.ts';
import { statusLine, type DaemonState } from './state.ts';
import { isRefresh, nextStep, takesPart, type Run, type Step } from './next-step.ts';
import { contextFor, isAnyFollowed, runWork, workOfExtras } from './work-kinds.ts';
import type { TableOutcome, WorkContext, WorkOutcome } from './work-kinds.ts';
import { RefreshWatch } from './freshness-text.ts';

interface InnerParts extends DaemonParts {
  /** Waiting on it does not count as a sign of life. */
  readonly besideClock: Clock;
  readonly joined: JoinedParts;
}

/** How long current work may take to end when it is to stop. With the close of joined parts, this stays below 20 s. */
const STOP_MS_MAX = 14_000;

/** Runs until the stop signal. @throws RowsyncError if the replica or the HTTP address cannot be opened. */
export async function runDaemon(config: Config, parts: DaemonParts): Promise<void> {
  const watchdog = new ProgressWatchdog();
  const { notifier } = parts;
  const clock = watchdog.watch(parts.clock);
  const joined = new JoinedParts();
  const logFor = (of: Config): Logger => joined.heard(parts.logFor(of));
  notifier?.starting();
  await notifier?.flush(); // opening may take long and blocks the event loop
  const resources = await openResources(config, { clock, log: logFor(config) }, null);
  const daemon = new Daemon(resources, { ...parts, clock, besideClock: parts.clock, logFor, joined }, watchdog);
  const ended = new AbortController();
  const watching = notifier?.watch(parts.clock, ended.signal, () => daemon.hasAdvanced());
  try {
    await daemon.run();
  } finally {
    ended.abort();
    await watching;
    await notifier?.flush();
    await joined.close(parts.clock);
  }
}

class Daemon {
  readonly #parts: InnerParts;
  #resources: Resources;
  #scheduled: ScheduledJobs;
  #edits: EditWatch;
  #refreshWatch = new RefreshWatch();
  readonly #retries = new Retries();
  readonly #watchdog: ProgressWatchdog;
  readonly #startedAtMs: number;
  readonly #view: DaemonView;
  readonly #extraWork: ReturnType<typeof workOfExtras>;
  #working: WorkKind | null = null;
  #refusedReload: readonly FoundComplaint[] = [];
  readonly #account = new AccountWatch();
  readonly #results = new Results();
  readonly #refreshes: RefreshQueue;
  #hasRefreshed = false;
  #isReloadAsked = false;
  /** Work that a person asked for, until it succeeds: it skips schedules and waits, and leaves out no table. */
  readonly #requested = new Set<WorkKind>();
  #wake = new AbortController();

  constructor(resources: Resources, parts: InnerParts, watchdog: ProgressWatchdog) {
    this.#parts = parts;
    this.#watchdog = watchdog;
    this.#extraWork = workOfExtras(parts.extras);
    this.#startedAtMs = parts.clock.nowMs();
    this.#resources = resources;
    this.#edits = new EditWatch(resources.replica);
    this.#scheduled = new ScheduledJobs(jobsOf(resources.config), this.#startedAtMs);
    this.#refreshes = new RefreshQueue(parts.clock, () => this.#wake.abort());
    this.#view = this.#makeView();
  }

  get #log(): Logger {
    return this.#resources.log;
  }

  get #jobs(): Jobs {
    return this.#scheduled.jobs;
  }

  async run(): Promise<void> {
    const { signals, clock, notifier, extras, joined } = this.#parts;
    signals.stop.addEventListener('abort', () => {
      notifier?.stopping();
      this.#wake.abort();
    });
    signals.onReload(() => {
      this.#isReloadAsked = true;
      this.#wake.abort();
    });
    signals.onCycle(() => this.#askFor(null));
    this.#log.info('daemon.started', { path: this.#resources.config.replica.path });
    try {
      await joined.join(extras, this.#view);
      await this.#noteFilters();
      await (await joined.prepare(this.#resources.config)).use();
    } catch (thrown) {
      await this.#resources.close();
      throw thrown;
    }
    this.#tellSchedule();
    notifier?.ready();
    while (!signals.stop.aborted) {
      // Requests from here on end the wait at the end of this round.
      this.#wake = new AbortController();
      if (this.#isReloadAsked) await this.#reload();
      // Between two pieces of work, because what a push has planned must not change under it.
      if (await joined.betweenWork(this.#resources)) this.#edits.note(clock.monotonicMs());
      this.#watchdog.beat();
      const step = this.#nextStep();
      if (step.kind === 'wait') {
        this.#parts.atRest?.();
        await clock.sleep(step.ms, this.#wake.signal);
        continue;
      }
      // Work reports its failures, so an exception here is a bug, which must not end the service.
      const work = this.#run(step).catch((thrown: unknown) => this.#fail(asRowsyncError(thrown)));
      if (!(await endsInTime(work, { stop: signals.stop, clock, afterStopMs: STOP_MS_MAX }))) {
        this.#log.warn('daemon.abandoned', { work: step.work });
        return; // SQLite rolls back what was not committed
      }
    }
    await (await joined.prepare(null)).use();
    await this.#resources.close();
    this.#log.info('daemon.stopped');
  }

  /** Has one kind of work done now; null for a whole cycle, which has both directions, and the files. */
  #askFor(work: WorkKind | null): void {
    const ofCycle = ['pull', ...['push', 'files'].filter((kind) => this.#jobs.all.some((job) => job.kind === kind))];
    for (const kind of work === null ? ofCycle : [work]) this.#requested.add(kind);
    this.#retries.letThrough();
    this.#wake.abort();
  }

  #tellSchedule(): void {
    for (const { id, schedule, nextAtMs } of this.#scheduled.all) {
      this.#log.info('schedule.armed', { job: id, schedule: schedule.text, nextAt: stampFromMs(nextAtMs) });
    }
  }

  #nextStep(): Step {
    const { clock } = this.#parts;
    const nowMs = clock.nowMs();
    this.#scheduled.tick(nowMs);
    return nextStep({
      jobs: this.#scheduled.all,
      circuit: this.#retries.failure,
      localKinds: this.#extraWork.localKinds,
      troubleByTable: this.#retries.byTable,
      requested: this.#requested,
      refreshedTables: this.#refreshes.tables,
      hasRefreshed: this.#hasRefreshed,
      ...this.#lookForEdits(),
      nowMs,
      monotonicMs: clock.monotonicMs(),
    });
  }

  /** The edited tables to push now, and when to look again. */
  #lookForEdits(): { readonly editedTables: ReadonlySet<string>; readonly lookMs: number } {
    const { delayMs } = this.#resources.config.push;
    const none = new Set<string>();
    if (delayMs === null || !this.#jobs.all.some(({ kind }) => kind === 'push')) {
      return { editedTables: none, lookMs: Infinity };
    }
    try {
      const { clock } = this.#parts;
      const look = { nowMs: clock.monotonicMs(), wallMs: clock.nowMs(), delayMs };
      const edited = this.#edits.tables(look, (name) => this.#jobs.find('push', name) !== null);
      return { editedTables: edited.difference(this.#retries.pushesByTable), lookMs: LOOK_MS };
    } catch (thrown) {
      // Work reports the same failure, but the next work may be an hour away.
      if (this.#retries.failure === null) this.#fail(errorFromReading(thrown, this.#resources.replica.path));
      return { editedTables: none, lookMs: LOOK_MS };
    }
  }

  async #run(step: Step & { readonly kind: 'run' }): Promise<void> {
    this.#hasRefreshed = isRefresh(step);
    const endRefresh = this.#hasRefreshed ? this.#refreshes.take() : null;
    // A request from here on starts another run, since this one may already be past the new rows.
    if (step.isAsked) this.#requested.delete(step.work);
    let outcomes: readonly TableOutcome[] = [];
    try {
      outcomes = await this.#runOne({ ...step, monotonicMs: this.#parts.clock.monotonicMs() });
    } finally {
      endRefresh?.(outcomes);
    }
  }

  async #runOne(run: Run): Promise<readonly TableOutcome[]> {
    const { clock, signals, joined } = this.#parts;
    const { monotonicMs: startedMs } = run;
    const included = new Set<string>();
    // Otherwise a bug in it would run it again at once, since no failure delays it.
    if (this.#extraWork.localKinds.has(run.work)) this.#scheduled.serve(run.jobIds, clock.nowMs());
    const context = contextFor(this.#resources, {
      clock,
      signal: signals.stop,
      takes: (name) => {
        const job = this.#jobs.find(run.work, name);
        const waitsForRing = job?.waitsForRings === true && joined.all.some((part) => part.bringsChanges?.(name));
        return takesPart({ name, job, trouble: this.#retries.troubleOf(run.work, name), waitsForRing }, run);
      },
      isRefresh: isRefresh(run),
      comesWithPull: (name) => this.#jobs.comesWithPull(name),
      onTable: (name) => included.add(name),
      onAdvance: () => this.#watchdog.beat(),
      onProgress: (event) => joined.takeWork({ kind: 'advanced', event, monotonicMs: clock.monotonicMs() }),
    });
    // With nothing to follow, the tick each minute sends no request and proves nothing.
    if (run.work === 'follow' && !isAnyFollowed(context)) {
      this.#scheduled.serve(run.jobIds, clock.nowMs());
      return [];
    }
    if (run.probeFirst) {
      const refusal = await this.#probe();
      if (refusal !== null) {
        this.#failRun(run, refusal);
        this.#tellStatus();
        return [];
      }
    }
    this.#log.info('work.started', { work: run.work });
    this.#working = run.work;
    joined.takeWork({ kind: 'began', work: run.work, atMs: clock.nowMs() });
    this.#tellStatus();
    const outcome = await this.#outcomeOf(run, context);
    this.#working = null;
    this.#report(run, outcome, clock.monotonicMs() - startedMs);
    if (signals.stop.aborted) return [];
    if (outcome.error === null) this.#succeed(run, outcome, included);
    else this.#failRun(run, outcome.error);
    this.#tellStatus();
    return outcome.tables;
  }

  async #outcomeOf({ work }: Pick<Run, 'work'>, context: WorkContext): Promise<WorkOutcome> {
    try {
      const outcome = await runWork(work, context, this.#extraWork.byKind);
      const question = questionOf(work, outcome);
      return question === null ? outcome : answerQuestion(outcome, question, await this.#probe());
    } catch (thrown) {
      return { error: asRowsyncError(thrown), isOver: true, own: null, held: null, tables: [], facts: {} };
    }
  }

  /** One question to the origin; null if it answers. */
  async #probe(): Promise<RowsyncError | null> {
    try {
      await this.#resources.origin.user({ signal: this.#parts.signals.stop });
      return null;
    } catch (thrown) {
      return asRowsyncError(thrown);
    }
  }

  #report(run: Run, outcome: WorkOutcome, durationMs: number): void {
    const { clock, signals, joined } = this.#parts;
    const end = { durationMs, finishedAtMs: clock.nowMs(), isStopped: signals.stop.aborted };
    const ended = this.#results.note(run, outcome, end, this.#log);
    joined.takeWork({ kind: 'ended', isRefresh: isRefresh(run), ...ended });
    // After a failure, the replica itself may be unusable.
    if (outcome.error === null) this.#refreshWatch.tell(this.#resources);
  }

  /** Everything failed: the jobs stay due, and are tried again when the circuit lets them. */
  #fail(error: RowsyncError): void {
    if (this.#parts.signals.stop.aborted) return; // we caused the failure ourselves
    this.#resources.damage.note(error);
    this.#retries.failed(error, { clock: this.#parts.clock, log: this.#log });
  }

  #failRun({ work, isAsked }: Run, error: RowsyncError): void {
    if (isAsked && !this.#extraWork.localKinds.has(work)) this.#requested.add(work);
    this.#fail(error);
  }

  #succeed(run: Run, { tables, own }: WorkOutcome, included: ReadonlySet<string>): void {
    const { clock } = this.#parts;
    this.#scheduled.serve(run.jobIds, clock.nowMs());
    // It proves nothing of the origin.
    if (this.#extraWork.localKinds.has(run.work) && this.#retries.failure?.cause !== 'replica') return;
    if (run.work === 'push') {
      const ended = { nowMs: clock.monotonicMs(), random: clock.random() };
      this.#edits.notePush({ ...ended, hasFailed: own !== null, tables: run.wantedTables });
    }
    const at = { clock, log: this.#log };
    this.#retries.succeeded({ work: run.work, turnMs: run.monotonicMs }, { tables, included }, at);
  }

  async #reload(): Promise<void> {
    this.#isReloadAsked = false;
    try {
      await this.#changeTo(this.#parts.load());
    } catch (thrown) {
      const error = asRowsyncError(thrown);
      const { code, hint } = error;
      for (const message of error.message.split('\n')) this.#log.error('config.refused', { code, message, hint });
      const since = stampFromMs(this.#parts.clock.nowMs());
      const message = `The changed configuration is not in use, and the next restart would fail: ${error.message}`;
      this.#refusedReload = [{ about: 'config.refused', subject: null, code, message, hint, since }];
      return this.#tellStatus();
    }
    this.#refusedReload = [];
    this.#scheduled = new ScheduledJobs(jobsOf(this.#resources.config), this.#parts.clock.nowMs());
    this.#edits = new EditWatch(this.#resources.replica);
    this.#refreshWatch = new RefreshWatch();
    const { tableOptions } = pullSettings(this.#resources.config);
    const pushing = pushSettings(this.#resources.config);
    this.#retries.tryAgain({
      pull: (table) => tableOptions(table) !== null,
      push: (table) => pushing.tableOptions(table) !== null,
    });
    this.#log.info('config.reloaded', { path: this.#resources.config.file });
    this.#tellSchedule();
    this.#tellStatus();
  }

  /** Opens what a new configuration names before it closes the old. @throws with everything left as it was. */
  async #changeTo(config: Config): Promise<void> {
    const { logFor, clock, joined } = this.#parts;
    const prepared = await joined.prepare(config);
    try {
      this.#resources = await openResources(config, { clock, log: logFor(config) }, this.#resources);
    } catch (thrown) {
      await prepared.giveBack();
      throw thrown;
    }
    await this.#noteFilters();
    await prepared.use();
  }

  /** Until the next pull, the page and agents would otherwise answer by the former filter. */
  async #noteFilters(): Promise<void> {
    const { replica, config } = this.#resources;
    const noted = noteFilters({ replica, settings: pullSettings(config) });
    await noted.catch((thrown: unknown) => this.#fail(asRowsyncError(thrown)));
  }

  #makeView(): DaemonView {
    return {
      clock: this.#parts.besideClock,
      parts: () => this.#parts.joined.all,
      stop: this.#parts.signals.stop,
      isAlive: () => this.#watchdog.isAlive,
      state: () => this.#state(),
      resources: () => this.#resources,
      surroundings: () => this.#surroundings(),
      problems: () => this.#readProblems(),
      wake: () => this.#wake.abort(),
      askForCycle: (work) => this.#askFor(work),
      refresh: async (tables) =>
        this.#retries.waitMs(this.#parts.clock.monotonicMs()) > 0 ? [] : this.#refreshes.ask(tables),
    };
  }

  /** Whether work has advanced since the last time this was asked. */
  hasAdvanced(): boolean {
    return this.#watchdog.hasAdvanced(this.#resources.origin.counters().requestCount);
  }

  /** What the account has from outside of the replica. */
  #surroundings(): Surroundings {
    const nowMs = this.#parts.clock.nowMs();
    return {
      ...daemonFactsOf(this.#state(), this.#parts.extras),
      ...readKeptTables(this.#resources.replica, this.#resources.config, nowMs),
      nowMs,
    };
  }

  #readProblems(): readonly Problem[] {
    const around = { ...daemonFactsOf(this.#state(), this.#parts.extras), nowMs: this.#parts.clock.nowMs() };
    return problemsAt(this.#resources.config, around, () => this.#resources.config);
  }

  #tellStatus(): void {
    if (this.#working === null) {
      const problems = this.#readProblems();
      this.#account.take(problems, this.#log);
      this.#parts.joined.takeAccount(problems);
    }
    const state = this.#state();
    this.#parts.notifier?.status(state.working === null ? statusLine(state) : `${state.working} under way`);
  }

  #state(): DaemonState {
    const { notes, complaints } = this.#parts.joined.words();
    return {
      startedAtMs: this.#startedAtMs,
      working: this.#working,
      failure: this.#retries.failure,
      circuitWaitMs: this.#retries.waitMs(this.#parts.clock.monotonicMs()),
      jobs: this.#scheduled.all.map(({ id, nextAtMs, isDue }) => ({ id, nextAtMs, isDue })),
      lastByWork: this.#results.lastByWork,
      lastAskedByWork: this.#results.lastAskedByWork,
      workCounts: this.#results.workCounts,
      refreshByTable: this.#refreshWatch.textByTable,
      logFailure: this.#parts.logFailure?.() ?? null,
      notes,
      complaints: [...this.#refusedReload, ...this.#results.complaints, ...complaints],
      problems: this.#account.problems,
    };
  }
}
