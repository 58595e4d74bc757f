/**
 * One simulated world, from its tapes to its end: an engine that lives, dies and lives again, people on both sides, a
 * network, a disk and a clock. Each turn either someone acts or the next thing that is due happens. When the world's
 * points are used up, all faults stop, the engine finishes, and everything is judged. Same tapes, same world: nothing
 * here knows the real time.
 */
import type { Logger } from '../../../src/base/log.ts';
import type { Replica } from '../../../src/replica/database.ts';
import type { TransactionFacts } from '../../support/surround.ts';
import { Books, Tokens, type LocalRow } from './books.ts';
import { judgeChosen, type ChosenSides } from './choosing.ts';
import { Beside } from './beside.ts';
import { askingOf, type Asking } from './moments.ts';
import type { Start } from './disk.ts';
import { drawOrder } from './order.ts';
import { causeOf, Life, loggerOf, type CycleReport, type Fate } from './engine.ts';
import type { FileImage } from './files-disk.ts';
import type { FileDeed } from '../actors/files-people.ts';
import { filesOf, type FilesWorld } from './files-world.ts';
import type { OriginModel } from '../model/origin.ts';
import { Admin, chosenIn } from '../actors/admin.ts';
import { Colleague, makeOrigin } from '../actors/colleague.ts';
import { Names } from './names.ts';
import { Network } from './network.ts';
import { Oracles } from '../oracles/oracles.ts';
import { Past } from './past.ts';
import { Person } from '../actors/person.ts';
import { judgeReopening } from '../oracles/reopening.ts';
import { gatherRest } from '../oracles/rest.ts';
import { Ended, runDry, Scheduler } from './scheduler.ts';
import type { Hands, Script } from '../stories/script.ts';
import { leaksOf } from '../oracles/secrecy.ts';
import { cyclesMaxOf, drawFate, selectionOf, settingsOf, START_MS, type Actor, type Setup } from './setup.ts';
import { Stillness } from '../oracles/stillness.ts';
import { Draw, TAPE_OF, type Tapes } from './tape.ts';
import { User, type Done } from '../actors/user.ts';
import { judgeRest, type Complaint } from '../oracles/verdict.ts';
import type { WorldOptions, WorldResult } from '../run/run.ts';
import { Writes } from './writes.ts';

/** Turns until an engine that nobody disturbs must have finished what it does. */
const TURNS_MAX = 20_000;

/** One world; `close` lets go of its files. */
export class World {
  readonly #tapes: Tapes;
  readonly #options: WorldOptions;
  readonly #script: Script | null;
  readonly #setup: Setup;
  readonly #scheduler = new Scheduler();
  readonly #books = new Books();
  readonly #tokens = new Tokens();
  readonly #origin: OriginModel;
  readonly #network: Network;
  readonly #user: User;
  readonly #files: FilesWorld | null;
  readonly #colleague: Colleague;
  readonly #admin: Admin;
  readonly #names: Names;
  readonly #chosen: Pick<ChosenSides, 'origin' | 'names' | 'tokens'> & { readonly setup: Setup; readonly user: User };
  readonly #person: Person;
  readonly #beside: Beside | null;
  readonly #asking: Asking | null;
  readonly #oracles: Oracles;
  readonly #stillness: Stillness;
  readonly #trace: string[] = [];
  readonly #coverage = new Map<string, number>();
  #life: Life | null = null;
  #lifeCount = 0;
  readonly #writes: Writes;
  #failure: Complaint | null = null;
  #rows: readonly LocalRow[] = [];
  #jumpMs = 0;
  readonly #originClock: { offMs: number };
  #isEnding = false;
  #isIdle = false;
  #isHeldBack = false; // by columns that vanished, until a person let them go right before this cycle
  readonly #past: Past;

  constructor(
    tapes: Tapes,
    setup: Setup,
    options: WorldOptions & { readonly start: Start | null; readonly script?: Script },
  ) {
    this.#tapes = tapes;
    this.#options = options;
    this.#script = options.script ?? null;
    this.#setup = setup;
    options.disk.begin(options.start);
    this.#originClock = { offMs: setup.moments?.aheadMs ?? 0 };
    const originMs = (): number => START_MS + this.#scheduler.nowMs + this.#originClock.offMs;
    this.#origin = makeOrigin(this.#setup, {
      tokens: this.#tokens,
      nowMs: originMs,
      draw: () => (this.#isEnding ? 0 : tapes.of('origin').u32() / 2 ** 32),
    });
    this.#names = new Names(this.#origin, setup.isMirror);
    const around = {
      origin: this.#origin,
      names: this.#names,
      tokens: this.#tokens,
      books: this.#books,
      count: (what: string) => this.#count(what),
      note: (line: string) => this.#note(line),
      fail: (oracle: string, what: string) => this.#fail(oracle, what),
    };
    this.#admin = new Admin({
      ...around,
      ...chosenIn(setup),
      onRestore: () => {
        this.#writes.noteRestore();
        this.#files?.noteRestore();
      },
    });
    this.#colleague = new Colleague({ ...around, choosing: setup.choosing });
    this.#user = new User(options.disk, { ...around, ignores: setup.ignores });
    this.#beside = (setup.beside ?? null) === null ? null : new Beside({ ...around, setup, user: this.#user });
    this.#chosen = { ...around, setup, user: this.#user };
    this.#person = new Person({
      ...around,
      rate: setup.personRate,
      user: this.#user,
      onTaken: (before, after) => this.#oracles.onTaken(before, after),
    });
    this.#files = filesOf(this.#setup.files, options.start?.files ?? null, { ...around, user: this.#user });
    this.#writes = new Writes(this.#origin, this.#names, (name) => this.#files?.askedFor(name) ?? null);
    this.#oracles = new Oracles({
      ...around,
      admin: this.#admin,
      user: this.#user,
      writes: this.#writes,
      beside: this.#beside,
      setup: this.#setup,
      account: () => this.#life?.account(this.#user.connection) ?? [],
    });
    const [tape, nowMs] = [tapes.of('moments'), (): number => START_MS + this.#scheduler.nowMs];
    this.#asking = askingOf(this.#beside, { ...this.#chosen, ...around, oracles: this.#oracles, tape, nowMs });
    this.#stillness = new Stillness({ ...around, user: this.#user, etag: setup.etag });
    this.#network = new Network({
      scheduler: this.#scheduler,
      tape: tapes.of('network'),
      setup: this.#setup,
      script: this.#script,
      origin: (request) => this.#origin.answer(request),
      refuses: (request) => this.#beside?.faultOf(request) ?? null,
      wallMs: originMs,
      rowsOfUpload: (contentType, body) => this.#files?.rowsOfUpload(contentType, body) ?? null,
      onDeparture: (request) => {
        this.#note(`request ${request.number}: ${request.method} ${request.table}${request.body ?? ''}`);
        this.#oracles.onDeparture(request);
      },
      onCutShort: () => this.#note('a request ends early: a file of it is not what it was'),
      onAnswer: (request, fault, result) => {
        const end = result.kind === 'answer' ? String(result.status) : result.reason;
        this.#count(`request ${request.method}`);
        if (fault !== null) this.#count(`fault ${fault} on ${request.kind}`);
        else if (request.method === 'describe' && result.kind === 'answer')
          this.#admin.noteDescribed(request.table, result.status);
        this.#oracles.onAnswer(request, fault, result);
        this.#note(`request ${request.number} ends: ${end}${fault === null ? '' : ` (fault ${fault})`}`);
      },
    });
    this.#past = new Past({
      ...around,
      setup,
      disk: options.disk,
      user: this.#user,
      oracles: this.#oracles,
      end: (how) => {
        this.#kill(how);
        this.#bury();
      },
    });
  }

  async run(): Promise<void> {
    try {
      for (let point = 0; this.#goesOn(point); point += 1) await this.#turn();
      await this.#rest();
    } catch (thrown) {
      if (!(thrown instanceof Ended)) throw thrown;
    }
  }

  close(): void {
    this.#life?.end();
    this.#life?.bury();
    this.#user.close();
  }

  /** What stands on the disk of its files; null in a world without. */
  fileImage(): FileImage | null {
    return this.#files?.disk.image() ?? null;
  }

  result(): WorldResult {
    return {
      failure: this.#failure,
      trace: this.#trace,
      coverage: this.#coverage,
      record: this.#tapes.record(),
      rows: this.#rows,
    };
  }

  #goesOn(point: number): boolean {
    return this.#script === null ? point < this.#setup.pointCount : this.#script.goesOn(this.#trace);
  }

  /** One point of the world: an engine is there, someone acts, or what is due happens. */
  async #turn(): Promise<void> {
    if (this.#life === null) {
      this.#begin();
      await runDry();
    }
    const act = this.#isEnding ? 0 : this.#tapes.of('schedule').decide(this.#setup.actRate);
    const actor = act === 0 ? null : new Draw(act).weighted(this.#setup.actors);
    if (actor !== null) this.#act(actor);
    else if (!this.#followScript()) this.#happen();
    await runDry();
    this.#writes.collect();
    this.#oracles.onTurn();
    this.#asking?.oracle.noteTurn();
    if (this.#life?.isAlive === false) this.#afterDeath();
    if (this.#failure !== null) throw new Ended();
  }

  #followScript(): boolean {
    if (this.#script === null || this.#isEnding) return false;
    const hands: Hands = {
      user: (statements) => this.#noteUser(this.#user.carryOut(statements)),
      atOrigin: (sentence, change) => {
        change(this.#origin);
        this.#note(sentence);
      },
      haveFile: (name, content) => this.#files?.haveFile(name, content),
      kill: () => this.#kill('between two steps'),
      copy: () => this.#past.makeCopy(),
      restore: () => this.#past.restoreCopy(),
      decides: (decision) => this.#person.wish(decision),
      narrowsRole: () => this.#note(`admin: ${this.#admin.narrowRole()}`),
      hidesColumn: (column) => this.#note(this.#admin.hideColumn(column)),
      showsColumn: () => this.#note(this.#admin.showColumn()),
      backsUpOrRestores: () => {
        this.#writes.collect();
        this.#note(`admin: ${this.#admin.backUpOrRestore()}`);
      },
      underWay: this.#network.underWay(),
    };
    return this.#script.act(this.#trace, hands);
  }

  #happen(): void {
    const rate = this.#isEnding ? 0 : this.#setup.reorderRate;
    const what = this.#scheduler.step((count) => {
      const value = rate === 0 ? 0 : this.#tapes.of('schedule').decide(rate);
      return new Draw(value).below(count);
    });
    if (what === null && !this.#isIdle && this.#life?.isAlive === true)
      this.#fail('deadlock', 'the engine waits for something that never comes');
  }

  #act(actor: Actor): void {
    const draw = this.#tapes.of(TAPE_OF[actor]).draw();
    if (draw.isCalm) return;
    if (actor === 'clock' || actor === 'originClock') this.#oracles.onClockSet();
    switch (actor) {
      case 'user':
        return this.#noteDeed(this.#user.act(draw));
      case 'colleague':
        return this.#note(this.#colleague.act(draw));
      case 'admin':
        this.#writes.collect();
        return this.#note(this.#admin.act(draw));
      case 'hider':
        return this.#hideOrShow(draw);
      case 'clock':
        this.#jumpMs += draw.pick([1_000, -1_000, 3_600_000, -3_600_000, 86_400_000 * 400, -86_400_000 * 400]);
        this.#count('clock jump');
        return this.#note(`the clock jumps to ${this.#jumpMs} ms off`);
      case 'cutter':
        return this.#note(this.#colleague.cut(draw));
      case 'beside':
        return this.#note(this.#beside?.act(draw) ?? '');
      case 'originClock':
        return this.#note(this.#colleague.setClock(draw, this.#originClock));
      case 'formula':
        return this.#note(this.#colleague.recompute(draw, (id) => this.#oracles.onUnstamped(id)));
      case 'kill':
        return this.#kill('between two steps');
      case 'copy':
        return this.#past.copyOrRestore(draw);
      case 'files':
        return this.#noteDeed(this.#files?.act(draw) ?? null);
      default:
        return actor satisfies never;
    }
  }

  #hideOrShow(draw: Draw): void {
    const { hidden } = this.#admin;
    this.#note(this.#admin.hideOrShow(draw));
    for (const what of this.#oracles.momentOf(this.#admin.hidden ?? hidden))
      this.#count(`${hidden === null ? 'hidden' : 'shown'} ${what}`);
  }

  #begin(): void {
    const number = (this.#lifeCount += 1);
    this.#names.selects = selectionOf(this.#setup, number);
    this.#asking?.oracle.onReplaced();
    const life = new Life({
      modules: this.#options.modules,
      disk: this.#options.disk,
      scheduler: this.#scheduler,
      transport: (owner) => this.#network.transport({ owner, isAlive: () => owner.isAlive }),
      wallMs: () => START_MS + this.#scheduler.nowMs + this.#jumpMs,
      seed: this.#tapes.seed,
      number,
      settings: {
        ...settingsOf(this.#setup, number),
        names: this.#names.configured,
        misspelt: this.#setup.misspelt ?? null,
      },
      log: this.#logger(),
      fate: (what, facts) => this.#fate(what, facts),
      fileDisk: this.#files?.disk ?? null,
      onCommit: (facts, replica) => this.#beforeCommit(facts, replica),
      onCommitted: (facts) => this.#committed(facts),
      onPulled: () => {
        this.#oracles.onPulled();
        this.#stillness.onPulled();
      },
      onDeath: (how) => this.#died(how),
    });
    this.#life = life;
    life.open();
    // What the first life opens was closed in peace, and is what many worlds begin with.
    const look = (statement: string): ReturnType<User['query']> => this.#user.query(statement);
    for (const what of number === 1 ? [] : judgeReopening(life, this.#options.disk, look)) this.#fail('I13', what);
    this.#isIdle = false;
    this.#note(`engine ${number} opens the replica`);
    void this.#live(life);
  }

  async #live(life: Life): Promise<void> {
    try {
      while (!this.#isEnding) {
        const order = drawOrder(this.#setup, this.#tapes.of('engine'));
        const { pull, push, confirm } = order;
        await this.#person.act(life, this.#tapes.of('person'));
        this.#note(`engine ${life.number}: ${pull ? 'pull ' : ''}${push ? 'push ' : ''}${confirm ? 'confirmed' : ''}`);
        this.#oracles.onCycle(order);
        this.#noteCycle(await life.cycle(order));
        this.#noteErrors((await this.#asking?.ask(life)) ?? []);
        await life.sleep(this.#setup.follow?.restMs ?? 1_000);
      }
      this.#isIdle = true;
    } catch (thrown) {
      this.#fail('thrown', causeOf(thrown));
    }
  }

  #noteCycle({ errors, ...counts }: CycleReport): void {
    this.#noteErrors(errors);
    this.#oracles.onCycleEnd(errors);
    this.#note(`the cycle ends: ${JSON.stringify(counts)}`);
  }

  #noteErrors(errors: CycleReport['errors']): void {
    for (const error of errors) {
      this.#count(`error ${error.code}`);
      this.#note(`the cycle says: ${error.code}`);
      this.#checkSaid(`the error ${error.code}`, `${error.message} ${error.hint ?? ''}`);
      if (error.kind === 'bug') this.#fail('bug', `${error.message} ${causeOf(error.cause)}`);
    }
  }

  #logger(): Logger {
    return loggerOf((event, line) => {
      this.#checkSaid('a line of the log', line);
      if (event === 'origin.request') return;
      this.#count(`event ${event}`);
      this.#note(line);
    });
  }

  #checkSaid(where: string, text: string): void {
    for (const what of leaksOf(where, text, this.#tokens)) this.#fail('I16', what);
  }

  #fate(what: string, facts: TransactionFacts | null): Fate {
    const name = what.replaceAll(/ \d+/g, '').replaceAll(/ of \w+$/g, '');
    this.#count(`point ${name}`);
    if (this.#isEnding) return 'on';
    const drawn = (): Fate => drawFate(this.#setup, this.#tapes.of('disk'), { isTransaction: facts !== null, what });
    const fate = this.#script === null ? drawn() : this.#script.fate(what, facts);
    if (fate === 'on') return fate;
    this.#count(`fate ${fate}`);
    if (fate === 'full') this.#oracles.onDiskFull();
    return fate;
  }

  #beforeCommit(facts: TransactionFacts, replica: Replica): void {
    this.#oracles.onCommit(facts, replica);
    this.#person.onCommit(facts.what);
    this.#asking?.onCommit(facts, replica);
    for (const { oracle, what } of this.#files?.onCommit(replica) ?? []) this.#fail(oracle, `"${facts.what}": ${what}`);
  }

  #committed(facts: TransactionFacts): void {
    this.#note(`commit: ${facts.what}`);
    this.#oracles.onCommitted(facts);
    this.#person.onCommitted(facts.what);
    if (facts.isDurable) this.#past.keepOnDisk();
  }

  #died(how: string): void {
    this.#count('death');
    this.#note(`the engine dies ${how}`);
  }

  #kill(how: string): void {
    this.#life?.end();
    this.#died(how);
  }

  /** After a death: what was under way is lost or not, and the files are let go of. */
  #bury(): void {
    const life = this.#life;
    if (life === null) return;
    this.#network.abandon(life);
    this.#oracles.onDeath();
    this.#writes.collect();
    life.bury();
    this.#life = null;
  }

  /** The process is gone, and perhaps the whole machine. */
  #afterDeath(): void {
    this.#bury();
    const cutsPower = (): boolean => this.#script?.cutsPower() ?? this.#tapes.of('disk').decide(0.5) !== 0;
    if (this.#past.losePower(cutsPower) && this.#files !== null)
      this.#note(this.#files.losePower(this.#tapes.of('disk').draw()));
  }

  #noteDeed(deed: FileDeed): void {
    if (typeof deed === 'string') this.#note(deed);
    else if (deed !== null) this.#noteUser(deed);
  }

  #noteUser(done: Done): void {
    this.#count(`user ${done.name}${done.refusal === null ? '' : ' refused'}`);
    this.#note(`user: ${done.statements}${done.refusal === null ? '' : ` -- refused: ${done.refusal}`}`);
    this.#oracles.onUserActed(done.removed, START_MS + this.#scheduler.nowMs);
    this.#past.keepOnDisk();
  }

  /** The faults stop; the engine comes to rest, and everything is judged. */
  async #rest(): Promise<void> {
    this.#isEnding = true;
    this.#network.isCalm = true;
    this.#note('the faults stop');
    await this.#until(() => this.#isIdle && this.#life !== null);
    for (const actor of [this.#admin, this.#colleague, this.#user, this.#beside]) actor?.tidyUp();
    await this.#finish((life) => life.leaveAlone());
    await this.#finish((life) => this.#person.letAll(life));
    for (let cycle = 1; ; cycle += 1) {
      if (cycle > cyclesMaxOf(this.#setup))
        this.#giveUp(`after ${cycle - 1} cycles without faults there is still something to do`);
      if (await this.#isQuietCycle()) break;
      if (this.#isHeldBack) cycle = 1;
    }
    this.#rows = this.#user.rows();
    for (const { oracle, what } of this.#judge()) this.#fail(oracle, what);
    this.#oracles.onRest();
  }

  /** Runs one more cycle; whether there was nothing to do any more. */
  async #isQuietCycle(): Promise<boolean> {
    this.#isIdle = false;
    await this.#finish(async (life) => void (this.#isHeldBack = await this.#person.prune(life)));
    this.#stillness.begin();
    let report: CycleReport | null = null;
    await this.#finish(async (life) => {
      const order = { pull: true, push: true, confirm: true, files: 'now' } as const;
      this.#oracles.onCycle(order);
      report = await life.cycle(order);
      this.#noteCycle(report);
    });
    return report !== null && this.#stillness.end(report);
  }

  /** Goes on until something that the engine does has come to its end. */
  async #finish(work: (life: Life) => Promise<void>): Promise<void> {
    const life = this.#life;
    if (life === null) throw new Error('An engine lives');
    let isDone = false;
    void work(life)
      .catch((thrown: unknown) => this.#fail('thrown', causeOf(thrown)))
      .finally(() => (isDone = true));
    await runDry();
    await this.#until(() => isDone);
  }

  async #until(isDone: () => boolean): Promise<void> {
    for (let turn = 0; !isDone(); turn += 1) {
      if (turn > TURNS_MAX) this.#giveUp('the engine does not come to an end');
      await this.#turn();
    }
  }

  #giveUp(what: string): never {
    this.#fail('L1', what);
    throw new Ended();
  }

  #judge(): readonly Complaint[] {
    const sides = { ...this.#chosen, books: this.#books, writes: this.#writes.all };
    const rest = gatherRest({ ...sides, admin: this.#admin, oracles: this.#oracles });
    if (rest === null) return [{ oracle: 'I17', what: 'the table does not stand in the replica as the origin has it' }];
    const chosen = { ...this.#chosen, life: this.#lifeCount, image: this.#options.disk.image() };
    return [...judgeRest(rest), ...judgeChosen(chosen, rest.waiting), ...(this.#files?.judge() ?? [])];
  }

  #count(what: string): void {
    this.#coverage.set(what, (this.#coverage.get(what) ?? 0) + 1);
  }

  #note(line: string): void {
    this.#trace.push(line);
  }

  #fail(oracle: string, what: string): void {
    this.#note(`WRONG: ${oracle}: ${what}`);
    this.#failure ??= { oracle, what };
  }
}
