/**
 * One life of the engine: the real modules, opened on the world's replica, network and clock, doing one cycle after
 * another until the world ends it. A life that is ended stops at once. Whatever it waits for never comes, a transaction
 * that is open is rolled back, and the next life finds what was committed.
 *
 * The modules come from a folder that the caller names, so that a copy with a planted defect can be simulated too.
 */
import type Database from 'better-sqlite3';
import type { Clock } from '../../../src/base/clock.ts';
import type { RowsyncError } from '../../../src/base/errors.ts';
import type { FileSystem } from '../../../src/base/file-system.ts';
import type { Logger } from '../../../src/base/log.ts';
import { REQUEST_RETRIES } from '../../../src/base/retries.ts';
import type { prune } from '../../../src/extras/schema/prune.ts';
import type { carryOutDecision, DecisionOutcome, PersonDecision } from '../../../src/capture/person-decision.ts';
import type { pullFilesAfter } from '../../../src/daemon/work-kinds.ts';
import type { FilesContext, FilesReport, FilesSettings } from '../../../src/files/context.ts';
import type { pullFiles } from '../../../src/files/download.ts';
import type { uploadKeeper } from '../../../src/files/uploaded-files.ts';
import type { openOrigin, Origin } from '../../../src/origin/client.ts';
import type { Transport } from '../../../src/origin/transport.ts';
import type { PullContext, PullSettings } from '../../../src/pull/context.ts';
import type { pull } from '../../../src/pull/pull.ts';
import type { KeepUpload, PushContext, PushSettings } from '../../../src/push/context.ts';
import type { finishPushes, push } from '../../../src/push/push.ts';
import type { readAccount } from '../../../src/daemon/account-facts.ts';
import type { Problem } from '../../../src/reconcile/account/account.ts';
import type { ConfiguredTables, misnamedIn } from '../../../src/reconcile/option-bindings.ts';
import type { openReplica, Replica } from '../../../src/replica/database.ts';
import { surround, type Surround, type TransactionFacts } from '../../support/surround.ts';
import type { boundNameOf, readDescribed } from '../../../src/replica/bookkeeping/described-tables.ts';
import type { proveOnSchedule, readTablesNow } from '../../../src/extras/fresh/moment.ts';
import type { ageBound, requireFresh, staleTables } from '../../../src/extras/shared/fresh-tables.ts';
import type { AgedTable } from '../../../src/extras/shared/freshness.ts';
import { readTables } from '../../../src/replica/bookkeeping/tables.ts';
import type { openReader, ReplicaReader } from '../../../src/replica/reader.ts';
import type { LostRows } from '../../../src/extras/putback/lost-rows.ts';
import type { chooseRows, makePlan } from '../../../src/extras/putback/make-plan.ts';
import type { describeAgain, makePlace } from '../../../src/extras/putback/putback-file.ts';
import type { carryOut } from '../../../src/extras/putback/put-rows-back.ts';
import { isBeside } from './beside.ts';
import type { Connections } from './connections.ts';
import { fileSystemOf, systemError, type FileDisk } from './files-disk.ts';
import { never, type Scheduler } from './scheduler.ts';
import type { Misspelt } from './setup.ts';
import { sfc32 } from './tape.ts';
import { NOTHING_KEPT } from '../../support/kept.ts';

/** The engine's doors, from one source tree. */
export interface EngineModules {
  readonly openOrigin: typeof openOrigin;
  readonly openReplica: typeof openReplica;
  readonly pull: typeof pull;
  readonly finishPushes: typeof finishPushes;
  readonly push: typeof push;
  readonly pullFiles: typeof pullFiles;
  readonly pullFilesAfter: typeof pullFilesAfter;
  readonly uploadKeeper: typeof uploadKeeper;
  readonly carryOutDecision: typeof carryOutDecision;
  readonly prune: typeof prune;
  readonly boundNameOf: typeof boundNameOf;
  readonly readDescribed: typeof readDescribed;
  readonly misnamedIn: typeof misnamedIn;
  readonly readAccount: typeof readAccount;
  readonly ReplicaReader: typeof ReplicaReader;
  readonly proveOnSchedule: typeof proveOnSchedule;
  readonly readTablesNow: typeof readTablesNow;
  readonly ageBound: typeof ageBound;
  readonly staleTables: typeof staleTables;
  readonly requireFresh: typeof requireFresh;
  readonly openReader: typeof openReader;
  readonly makePlace: typeof makePlace;
  readonly describeAgain: typeof describeAgain;
  readonly LostRows: typeof LostRows;
  readonly chooseRows: typeof chooseRows;
  readonly makePlan: typeof makePlan;
  readonly carryOut: typeof carryOut;
}

/** Loads the engine from a folder such as `src/`. */
export async function loadEngine(root: URL): Promise<EngineModules> {
  const load = async (path: string): Promise<unknown> => import(new URL(path, root).href);
  const paths = [
    'origin/client.ts',
    'replica/database.ts',
    'replica/bookkeeping/described-tables.ts',
    'pull/pull.ts',
    'push/push.ts',
  ];
  const account = ['daemon/account-facts.ts', 'reconcile/option-bindings.ts', 'replica/reader.ts'];
  const others = [
    'files/download.ts',
    'files/uploaded-files.ts',
    'daemon/work-kinds.ts',
    'capture/person-decision.ts',
    'extras/schema/prune.ts',
  ];
  const fresh = ['extras/fresh/moment.ts', 'extras/shared/fresh-tables.ts'];
  const putback = ['lost-rows', 'make-plan', 'putback-file', 'put-rows-back'].map(
    (name) => `extras/putback/${name}.ts`,
  );
  const modules = await Promise.all([...paths, ...account, ...others, ...fresh, ...putback].map(load));
  return Object.assign({}, ...modules) as EngineModules;
}

/** What may happen to a life at a boundary. */
export type Fate = 'on' | 'pause' | 'dieBefore' | 'dieInside' | 'dieAfter' | 'full';

/** What a life is given, and whom it tells. */
export interface LifeParts {
  readonly modules: EngineModules;
  /** Its file, and how it is opened. */
  readonly disk: { readonly path: string; readonly connections: Pick<Connections, 'connect'> };
  readonly scheduler: Scheduler;
  readonly transport: (life: Life) => Transport;
  /** The wall clock of this moment; jumps with the machine's. */
  readonly wallMs: () => number;
  readonly seed: number;
  readonly number: number;
  /** `names` are those under which the configuration has the table; what it says of each is the same. */
  readonly settings: EngineSettings & { readonly names: Set<string>; readonly misspelt: Misspelt | null };
  /** Where attached files are; null in a world without. */
  readonly fileDisk: FileDisk | null;
  readonly log: Logger;
  /** What happens at a transaction, at a step of a push, or at an operation on a file. */
  readonly fate: (what: string, facts: TransactionFacts | null) => Fate;
  /** In a transaction, just before it is committed. */
  readonly onCommit: (facts: TransactionFacts, replica: Replica) => void;
  /** Right after it. */
  readonly onCommitted: (facts: TransactionFacts, replica: Replica) => void;
  /** When a pull has ended without a complaint. */
  readonly onPulled: () => void;
  readonly onDeath: (how: string) => void;
}

/** What the configuration would say. */
export interface EngineSettings {
  readonly origin: Parameters<EngineModules['openOrigin']>[0];
  readonly pull: PullSettings;
  readonly push: PushSettings;
  readonly files: FilesSettings | null;
}

/** Thrown into a transaction of a life that ends there; nobody hears of it. */
class Death extends Error {
  override readonly name = 'Death';
}

/** What one cycle came to. */
export interface CycleReport {
  /** Of everything that went wrong or waits for a person. */
  readonly errors: readonly RowsyncError[];
  readonly insertedCount: number;
  readonly updatedCount: number;
  readonly deletedCount: number;
  readonly pagesReadCount: number;
  /** Of files; null where none were looked for. */
  readonly files: FilesCounts | null;
}

/** What came of the files of a cycle. */
type FilesCounts = Pick<FilesReport, 'downloadedCount' | 'knownCount' | 'failedCount' | 'vanishedCount'>;

/** What the daemon makes of a replica that cannot be written: the cycle is over, and there will be another one. */
function replicaFailure(thrown: unknown): CycleReport {
  if (!isOfReplica(thrown)) throw thrown;
  return {
    errors: [thrown],
    insertedCount: 0,
    updatedCount: 0,
    deletedCount: 0,
    pagesReadCount: 0,
    files: null,
  };
}

/** What was thrown and is no defect of the simulation. */
function refusalOf(thrown: unknown): RowsyncError {
  const isOurs = typeof thrown === 'object' && thrown !== null && 'kind' in thrown && 'code' in thrown;
  if (!isOurs) throw thrown;
  return thrown as RowsyncError;
}

/** Not by its class: the engine may come from another source tree. */
function isOfReplica(thrown: unknown): thrown is RowsyncError {
  return typeof thrown === 'object' && thrown !== null && 'kind' in thrown && thrown.kind === 'replica';
}

/** What a cycle consists of. */
export interface CycleOrder {
  readonly pull: boolean;
  readonly push: boolean;
  /** The files: with the rows as the daemon does it, or all of them, also those that failed a moment ago. */
  readonly files: 'withPull' | 'now';
  /** A person has looked: guards let it through. */
  readonly confirm: boolean;
}

/** One life. */
export class Life {
  readonly #parts: LifeParts;
  #pullCount = 0;
  readonly #clock: Clock;
  readonly #fileSystem: FileSystem | undefined;
  #isAlive = true;
  #replica: Replica | null = null;
  #origin: Origin | null = null;
  #keepUpload: KeepUpload | undefined;

  constructor(parts: LifeParts) {
    this.#parts = parts;
    const random = sfc32(parts.seed, `life ${parts.number}`);
    this.#clock = {
      nowMs: parts.wallMs,
      monotonicMs: () => parts.scheduler.nowMs,
      random: () => random() / 2 ** 32,
      sleep: (ms, signal) => this.#sleep(ms, signal),
    };
    const { fileDisk } = parts;
    this.#fileSystem = fileDisk === null ? undefined : fileSystemOf(fileDisk, (what) => this.#point(what));
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get number(): number {
    return this.#parts.number;
  }

  /** Opens both sides. @throws RowsyncError of the replica. */
  open(): void {
    const { modules, disk, settings, log, transport } = this.#parts;
    const { connect } = disk.connections;
    this.#replica = modules.openReplica(disk.path, { clock: this.#clock, connect });
    surround(this.#replica, this.#surround);
    this.#origin = modules.openOrigin(settings.origin, { clock: this.#clock, log, transport: transport(this) });
    const files = this.#filesContext();
    if (files !== null) this.#keepUpload = modules.uploadKeeper(files);
  }

  /** Opens both sides once more, as a process that was started twice. @throws RowsyncError of the replica. */
  reopen(): void {
    this.#replica?.close();
    this.open();
  }

  /** Ends this life; what it left open is closed by `bury`, once nothing of it is running. */
  end(): void {
    this.#isAlive = false;
    this.#parts.scheduler.drop(this);
  }

  /** Lets go of the files. */
  bury(): void {
    this.#replica?.close();
    this.#replica = null;
  }

  /** One cycle, as the daemon runs it: what earlier pushes left behind, the rows, their files, then the edits. */
  cycle(order: CycleOrder): Promise<CycleReport> {
    return this.#cycle(order).catch(replicaFailure);
  }

  async #cycle(order: CycleOrder): Promise<CycleReport> {
    const { modules } = this.#parts;
    const pushing = this.#pushContext();
    const errors: RowsyncError[] = [];
    const counts = { insertedCount: 0, updatedCount: 0, deletedCount: 0, pagesReadCount: 0 };
    const filing = this.#filesContext();
    let files: FilesReport | null = null;
    if (order.pull) {
      await modules.finishPushes(pushing);
      this.#pullCount += 1;
      // Two of three, so that one follows another; lives begin with another one of them.
      const isTurn = (this.#pullCount + this.number) % 3 !== 1;
      const follow = this.#parts.settings.pull.follows === 'all' && isTurn && !order.confirm;
      const report = await modules.pull(this.#pullContext(), { tables: [], confirm: order.confirm, follow });
      for (const { error, held } of [...report.tables, { error: report.error, held: null }]) {
        errors.push(...[error, held].filter((each) => each !== null));
      }
      for (const table of report.tables) {
        counts.insertedCount += table.insertedCount;
        counts.updatedCount += table.updatedCount;
        counts.deletedCount += table.deletedCount + table.filteredCount;
        counts.pagesReadCount += table.pagesReadCount;
      }
      if (errors.length === 0 && !report.tables.some(({ isFollowed }) => isFollowed)) this.#parts.onPulled();
      if (filing !== null && order.files === 'withPull') files = await modules.pullFilesAfter(filing, report);
    }
    if (filing !== null && order.files === 'now') {
      files = await modules.pullFiles(filing, { tables: [], retryNow: true });
    }
    if (files?.error != null) errors.push(files.error);
    if (order.push) {
      const report = await modules.push(pushing, { tables: [], confirm: order.confirm });
      for (const { error, held } of [...report.tables, { error: report.error, held: null }]) {
        errors.push(...[error, held].filter((each) => each !== null));
      }
    }
    return { errors, ...counts, files: files === null ? null : filesCounts(files) };
  }

  /**
   * Carries out what a person decided, as the daemon does it for the command line; null where the replica cannot be
   * written.
   */
  decide(decision: PersonDecision): Promise<DecisionOutcome | null> {
    const { replica } = this.#sides();
    const at = new Date(this.#clock.nowMs()).toISOString();
    return this.#parts.modules
      .carryOutDecision(replica, decision, at)
      .catch((thrown: unknown) => (isOfReplica(thrown) ? null : Promise.reject(thrown)));
  }

  /** Drops what the origin does not have any more, as the command line does it. */
  async prune(): Promise<void> {
    const { replica } = this.#sides();
    const at = new Date(this.#clock.nowMs()).toISOString();
    const write = replica.writeDurably('Dropping what the origin no longer has', (tx) =>
      this.#parts.modules.prune(tx, at),
    );
    await write.catch((thrown: unknown) => (isOfReplica(thrown) ? null : Promise.reject(thrown)));
  }

  /** What every surface says is not as it should be. */
  account(db: Database.Database): readonly Problem[] {
    const { modules, disk } = this.#parts;
    const reader = new modules.ReplicaReader(db, disk.path);
    const misnamed = modules.misnamedIn(this.#named(this.#sides().replica), modules.readDescribed(reader));
    const outside = { keeper: 'nobody' as const, complaints: [], nowMs: this.#clock.nowMs() };
    return modules.readAccount(reader, { ...NOTHING_KEPT, misnamed, ...outside });
  }

  /** Pulls, and proves a moment, as a schedule has it done; returns why there is none. */
  proveMoment(): Promise<RowsyncError | null> {
    return this.#parts.modules.proveOnSchedule(this.sides()).then(({ own }) => own, refusalOf);
  }

  /** Answers from all tables if they are young enough, or can be read now; returns why there is no answer. */
  async answer(
    db: () => Database.Database,
    within: string,
    judge: (tables: readonly AgedTable[]) => void,
  ): Promise<RowsyncError | null> {
    const { modules, disk } = this.#parts;
    const sides = this.sides();
    const { tableOptions } = sides.pull.settings;
    const bound = modules.ageBound(within, this.#clock.nowMs(), (name) => {
      const options = tableOptions(name);
      return options === null ? undefined : (options.rows ?? null);
    });
    const readerNow = (): ReplicaReader => new modules.ReplicaReader(db(), disk.path);
    const names = (): readonly string[] => readTables(readerNow()).map(({ localName }) => localName);
    try {
      const stale = modules.staleTables(readerNow(), names(), bound);
      const failure =
        stale.length === 0
          ? null
          : await modules.readTablesNow(
              sides,
              stale.map(({ localName }) => localName),
            );
      const reader = readerNow();
      try {
        judge(modules.requireFresh(reader, { names, bound, failure }));
      } finally {
        db().exec('ROLLBACK');
      }
      return null;
    } catch (thrown) {
      return refusalOf(thrown);
    }
  }

  /** Both sides, as a pull and as a push are given them. */
  sides(): { readonly pull: PullContext; readonly push: PushContext } {
    return { pull: this.#pullContext(), push: this.#pushContext() };
  }

  /** Waits, unless it dies meanwhile. */
  sleep(ms: number): Promise<void> {
    return this.#clock.sleep(ms);
  }

  /** Lets the time pass for which the origin asked to be left alone, where a request fails rather than waits for it. */
  async leaveAlone(): Promise<void> {
    const { quietMs } = this.#sides().origin.counters();
    if (quietMs > REQUEST_RETRIES.totalMs) await this.#clock.sleep(quietMs);
  }

  #pullContext(): PullContext {
    const { settings, log } = this.#parts;
    const sides = this.#sides();
    const named = this.#named(sides.replica);
    const tableOptions: PullSettings['tableOptions'] = (name) =>
      named.applies(name) ? settings.pull.tableOptions(name) : { sort: null };
    return { ...sides, clock: this.#clock, log, settings: { ...settings.pull, tableOptions, configured: named } };
  }

  #pushContext(): PushContext {
    const { settings, log } = this.#parts;
    const before = (step: string): Promise<void> => this.#point(`push step ${step}`);
    const files = { system: this.#fileSystem, keep: this.#keepUpload };
    const sides = this.#sides();
    const named = this.#named(sides.replica);
    const tableOptions: PushSettings['tableOptions'] = (name) =>
      named.applies(name) ? settings.push.tableOptions(name) : null;
    return { ...sides, clock: this.#clock, log, settings: { ...settings.push, tableOptions }, before, files };
  }

  /**
   * The configuration names the table as it is called when it is first read; every other name has only what stands
   * under the star.
   */
  #named(replica: Replica): ConfiguredTables & { applies(name: string): boolean } {
    const { modules } = this.#parts;
    const { names, misspelt } = this.#parts.settings;
    return {
      keys: misspelt === null ? [] : [{ key: 'Thnig', says: misspelt, excludes: misspelt === 'excluding' }],
      find: (name) => {
        if (modules.readDescribed(replica).length === 0 && !isBeside(name)) names.add(name);
        return { key: names.has(name) ? name : '*', says: names.has(name) ? 'named' : 'star', excludes: false };
      },
      applies: (name) => names.has(modules.boundNameOf(replica, name)),
    };
  }

  #filesContext(): FilesContext | null {
    const { settings, log } = this.#parts;
    if (settings.files === null) return null;
    return { ...this.#sides(), clock: this.#clock, log, settings: settings.files, fileSystem: this.#fileSystem };
  }

  #sides(): { readonly origin: Origin; readonly replica: Replica } {
    const [origin, replica] = [this.#origin, this.#replica];
    if (origin === null || replica === null) throw new Error('This life is not open');
    return { origin, replica };
  }

  #die(how: string): void {
    this.end();
    this.#parts.onDeath(how);
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (!this.#isAlive) return never();
    if (signal?.aborted === true) return Promise.resolve();
    const { scheduler } = this.#parts;
    return new Promise((resolve) => {
      const finish = (): void => {
        scheduler.cancel(pending);
        signal?.removeEventListener('abort', finish);
        resolve();
      };
      const pending = scheduler.add(`the wait of ${ms} ms ends`, ms, this, finish);
      signal?.addEventListener('abort', finish);
    });
  }

  /** A boundary at which nothing is open. */
  async #point(what: string): Promise<void> {
    if (!this.#isAlive) return never();
    const fate = this.#parts.fate(what, null);
    if (fate === 'pause') await this.#sleep(0);
    if (fate === 'full') throw systemError('ENOSPC');
    if (fate !== 'dieBefore') return undefined;
    this.#die(`before ${what}`);
    return never();
  }

  readonly #surround: Surround = async <T>(
    facts: TransactionFacts,
    transact: (beforeEnd: () => void) => Promise<T>,
  ): Promise<T> => {
    if (!this.#isAlive) return never();
    const fate = this.#parts.fate(facts.what, facts);
    if (fate === 'pause') await this.#sleep(0);
    if (fate === 'dieBefore') {
      this.#die(`before "${facts.what}"`);
      return never();
    }
    const replica = this.#sides().replica;
    const result = await transact(() => this.#beforeEnd(facts, fate, replica)).catch((thrown: unknown) => {
      if (!this.#isAlive) return never<T>();
      throw thrown;
    });
    if (!this.#isAlive) return never();
    if (facts.isKept) this.#parts.onCommitted(facts, replica);
    if (fate !== 'dieAfter') return result;
    this.#die(`after "${facts.what}"`);
    return never();
  };

  #beforeEnd(facts: TransactionFacts, fate: Fate, replica: Replica): void {
    if (fate === 'dieInside') {
      this.#die(`in "${facts.what}"`);
      throw new Death();
    }
    if (fate === 'full') throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
    if (facts.isKept) this.#parts.onCommit(facts, replica);
  }
}

function filesCounts({ downloadedCount, knownCount, failedCount, vanishedCount }: FilesReport): FilesCounts {
  return { downloadedCount, knownCount, failedCount, vanishedCount };
}

/** A log of which each line, with its event, is handed on. */
export function loggerOf(hear: (event: string, line: string) => void): Logger {
  const log: Logger['info'] = (event, facts) =>
    hear(event, `log: ${event}${facts === undefined ? '' : ` ${JSON.stringify(facts)}`}`);
  return { debug: log, info: log, warn: log, error: log };
}

/** What was thrown, with where. */
export function causeOf(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}
