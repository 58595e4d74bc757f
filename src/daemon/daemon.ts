/**
 * The daemon: one process that keeps one replica up to date, on schedule, for years. It reads the clock, asks step.ts what
 * to do, does it, and stores what came of it; nothing else decides here.
 *
 * Input: a configuration, three signals (stop, reload, a cycle now), the clock. Output: a replica and events in the log. One
 * piece of work at a time. What fails is tried again, later and later, and never given up; only a stop ends the loop.
 */
import { asRowsyncError, type RowsyncError } from '../base/errors.ts';
import { stampFromMs, type Clock } from '../base/clock.ts';
import type { LogFacts, Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import { pullSettings } from '../config/settings.ts';
import type { PullContext } from '../pull/context.ts';
import { armEntry, serveEntry, tickEntry, type Entry } from './agenda.ts';
import { afterFailure, afterTableFailure, causeOf, CLOSED, type Circuit, type TableTrouble } from './circuit.ts';
import { jobsOf, type Jobs } from './jobs.ts';
import { openSides, type Sides } from './sides.ts';
import { nextStep, takesPart, type Run, type Step } from './step.ts';
import { WORK, type WorkOutcome } from './work.ts';

/** What the world asks of a running daemon; each listener is called for every signal. */
export interface DaemonSignals {
  readonly stop: AbortSignal;
  onReload(listener: () => void): void;
  onCycle(listener: () => void): void;
}

/** The surroundings of a daemon. */
export interface DaemonParts {
  readonly clock: Clock;
  readonly signals: DaemonSignals;
  /** Reads the configuration anew. @throws RowsyncError with every problem there is. */
  readonly load: () => Config;
  /** The log; asked for again with every configuration, because it hides the secrets of that one. */
  readonly logFor: (config: Config) => Logger;
}

/** How long work that is under way may take to end once it was asked to; systemd kills after 30 seconds. */
const STOP_MS_MAX = 20_000;

/**
 * Runs until the stop signal; returns when the work under way has ended, or cannot be waited for any longer.
 * @throws RowsyncError when the replica cannot be opened at the start; later failures are waited out.
 */
export async function runDaemon(config: Config, parts: DaemonParts): Promise<void> {
  const sides = openSides(config, { clock: parts.clock, log: parts.logFor(config) });
  await new Daemon(sides, parts).run();
}

class Daemon {
  readonly #parts: DaemonParts;
  #sides: Sides;
  #jobs: Jobs;
  #entryById = new Map<string, Entry>();
  #circuit: Circuit = CLOSED;
  #troubleByTable = new Map<string, TableTrouble>();
  #isReloadAsked = false;
  #isCycleAsked = false;
  #wake = new AbortController();

  constructor(sides: Sides, parts: DaemonParts) {
    this.#parts = parts;
    this.#sides = sides;
    this.#jobs = jobsOf(sides.config);
  }

  get #log(): Logger {
    return this.#sides.log;
  }

  async run(): Promise<void> {
    const { signals, clock } = this.#parts;
    signals.stop.addEventListener('abort', () => this.#wake.abort());
    signals.onReload(() => {
      this.#isReloadAsked = true;
      this.#wake.abort();
    });
    signals.onCycle(() => {
      this.#isCycleAsked = true;
      this.#wake.abort();
    });
    this.#log.info('daemon.started', { path: this.#sides.config.replica.path });
    this.#arm();
    while (!signals.stop.aborted) {
      if (this.#isReloadAsked) await this.#reload();
      const step = this.#nextStep();
      if (step.kind === 'wait') {
        // The work of the moment is done; whoever wakes us from here on ends this wait.
        this.#wake = new AbortController();
        if (!this.#isAnythingAsked()) await clock.sleep(step.ms, this.#wake.signal);
        continue;
      }
      const work = this.#run(step);
      if (!(await this.#endsInTime(work))) {
        this.#log.warn('daemon.abandoned', { work: step.work });
        return; // SQLite takes back what was not committed
      }
    }
    await this.#sides.close();
    this.#log.info('daemon.stopped');
  }

  #isAnythingAsked(): boolean {
    return this.#parts.signals.stop.aborted || this.#isReloadAsked || this.#isCycleAsked;
  }

  /** Waits for work to end; false where it goes on although it was asked to stop. */
  async #endsInTime(work: Promise<void>): Promise<boolean> {
    const { signals, clock } = this.#parts;
    const done = new AbortController();
    const ended = work.then(
      () => true,
      (thrown: unknown) => {
        // Work reports what fails; what comes here is a defect, which must not end the service.
        this.#fail(asRowsyncError(thrown));
        return true;
      },
    );
    const stopped = new Promise<void>((resolve) => {
      if (signals.stop.aborted) return resolve();
      signals.stop.addEventListener('abort', () => resolve(), { once: true, signal: done.signal });
    });
    const late = stopped.then(() => clock.sleep(STOP_MS_MAX, done.signal)).then(() => false);
    const inTime = await Promise.race([ended, late]);
    done.abort();
    return inTime;
  }

  /** Sets up every job of the configuration; pulls are due at once, because nobody knows what was missed. */
  #arm(): void {
    const nowMs = this.#parts.clock.nowMs();
    this.#entryById = new Map(
      this.#jobs.all.map((job) => [job.id, armEntry(job.schedule, nowMs, job.kind === 'pull')]),
    );
    for (const job of this.#jobs.all) {
      const nextAt = stampFromMs(this.#entryById.get(job.id)?.nextAtMs ?? nowMs);
      this.#log.info('schedule.armed', { job: job.id, schedule: job.schedule.text, nextAt });
    }
  }

  #nextStep(): Step {
    const { clock } = this.#parts;
    const nowMs = clock.nowMs();
    for (const { id, schedule } of this.#jobs.all) {
      const entry = this.#entryById.get(id);
      if (entry !== undefined) this.#entryById.set(id, tickEntry(entry, schedule, nowMs));
    }
    return nextStep({
      jobs: this.#jobs.all,
      entryById: this.#entryById,
      circuit: this.#circuit,
      troubleByTable: this.#troubleByTable,
      isAsked: this.#isCycleAsked,
      nowMs,
      monotonicMs: clock.monotonicMs(),
    });
  }

  async #run(step: Step & { readonly kind: 'run' }): Promise<void> {
    const { clock, signals } = this.#parts;
    const isAsked = this.#isCycleAsked;
    this.#isCycleAsked = false;
    const startedMs = clock.monotonicMs();
    const run = { ...step, isAsked, monotonicMs: startedMs };
    const included = new Set<string>();
    const settings = pullSettings(this.#sides.config);
    const context: PullContext = {
      ...this.#sides,
      clock,
      signal: signals.stop,
      settings: {
        ...settings,
        tableOptions: (name) => {
          const options = settings.tableOptions(name);
          if (options === null) return null;
          if (!takesPart(this.#jobs.find(step.work, name), this.#troubleByTable.get(name), run)) return null;
          included.add(name);
          return options;
        },
      },
    };
    if (step.probeFirst) {
      const refusal = await this.#probe();
      if (refusal !== null) return this.#fail(refusal);
    }
    this.#log.info('work.started', { work: step.work });
    const outcome = await this.#outcomeOf(step, context);
    this.#report(step, outcome, clock.monotonicMs() - startedMs);
    if (signals.stop.aborted) return;
    if (outcome.error !== null) return this.#fail(outcome.error);
    this.#succeed(run, outcome, included);
  }

  async #outcomeOf(step: Step & { readonly kind: 'run' }, context: PullContext): Promise<WorkOutcome> {
    try {
      const outcome = await WORK[step.work](context);
      if (outcome.error !== null || !outcome.tables.some(({ error }) => error?.kind === 'auth')) return outcome;
      // A right to one table may be missing, or the credentials may be refused altogether.
      return { ...outcome, error: await this.#probe() };
    } catch (thrown) {
      return { error: asRowsyncError(thrown), held: null, tables: [], facts: {} };
    }
  }

  /** One question to the origin; null if it answers. */
  async #probe(): Promise<RowsyncError | null> {
    try {
      await this.#sides.origin.user({ signal: this.#parts.signals.stop });
      return null;
    } catch (thrown) {
      return asRowsyncError(thrown);
    }
  }

  #report({ work }: { readonly work: string }, { error, held, tables, facts }: WorkOutcome, durationMs: number): void {
    const isWhole = error === null && tables.every((table) => table.error === null);
    const isHeld = held !== null || tables.some((table) => table.held !== null);
    const result = this.#parts.signals.stop.aborted ? 'stopped' : isWhole ? (isHeld ? 'held' : 'done') : 'failed';
    this.#log.info('work.finished', { work, outcome: result, durationMs: Math.round(durationMs), ...facts });
    for (const hold of [held, ...tables.map((table) => table.held)]) {
      if (hold !== null) this.#log.warn('guard.waits', errorFacts(hold));
    }
  }

  /** Everything failed: the jobs stay due, and are tried again when the circuit lets them. */
  #fail(error: RowsyncError): void {
    if (this.#parts.signals.stop.aborted) return; // the failure is our own doing
    const { clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    this.#circuit = afterFailure(this.#circuit, causeOf(error), { nowMs, random: clock.random() });
    const { failureCount, retryAtMs, cause } = this.#circuit;
    this.#log.error('circuit.opened', {
      ...errorFacts(error),
      reason: cause,
      attempt: failureCount,
      waitMs: retryAtMs - nowMs,
    });
  }

  #succeed(run: Run, { tables }: WorkOutcome, included: ReadonlySet<string>): void {
    const { jobIds, monotonicMs: startedMs } = run;
    const { clock } = this.#parts;
    if (this.#circuit.failureCount > 0) this.#log.info('circuit.closed', { attempt: this.#circuit.failureCount });
    this.#circuit = CLOSED;
    const nowMs = clock.nowMs();
    for (const { id, schedule } of this.#jobs.all) {
      if (jobIds.has(id)) this.#entryById.set(id, serveEntry(schedule, nowMs));
    }
    const errorByTable = new Map(tables.map(({ name, error }) => [name, error]));
    for (const table of included) {
      const error = errorByTable.get(table) ?? null;
      const trouble = this.#troubleByTable.get(table);
      if (error !== null) {
        const at = { nowMs: clock.monotonicMs(), random: clock.random() };
        const next = afterTableFailure(trouble, at);
        this.#troubleByTable.set(table, next);
        const { failureCount: attempt, retryAtMs } = next;
        this.#log.warn('table.waits', { table, ...errorFacts(error), attempt, waitMs: retryAtMs - at.nowMs });
      } else if (trouble !== undefined) {
        this.#troubleByTable.delete(table);
        this.#log.info('table.recovered', { table, attempt: trouble.failureCount });
      }
    }
    // Its turn had come and nobody asked for it: the origin has no such table any more.
    for (const [table, { retryAtMs }] of this.#troubleByTable) {
      if (!included.has(table) && retryAtMs <= startedMs) this.#troubleByTable.delete(table);
    }
  }

  /** Takes over a changed configuration, or keeps the present one where anything is wrong with the new one. */
  async #reload(): Promise<void> {
    this.#isReloadAsked = false;
    const { load, logFor, clock } = this.#parts;
    try {
      const config = load();
      this.#sides = await this.#sides.changeTo(config, { clock, log: logFor(config) });
    } catch (thrown) {
      const error = asRowsyncError(thrown);
      const { code, hint } = error;
      for (const message of error.message.split('\n')) this.#log.error('config.refused', { code, message, hint });
      return;
    }
    this.#jobs = jobsOf(this.#sides.config);
    this.#circuit = CLOSED; // the credentials may be what was changed
    this.#troubleByTable.clear();
    this.#log.info('config.reloaded', { path: this.#sides.config.file });
    this.#arm();
  }
}

function errorFacts({ code, message, hint }: RowsyncError): LogFacts {
  return { code, message, hint };
}
