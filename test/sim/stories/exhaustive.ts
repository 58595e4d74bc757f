/**
 * The exhaustive mode: a short story is played once undisturbed, which gives its steps. Then again for every step and
 * everything that can go wrong there, and for pairs of those. A step is a turn of the world (requests have left, or
 * arrived, or were answered), a transaction, a step of a push, or a request that leaves. Takes a scenario and strikes;
 * produces what came of it.
 */
import type { TransactionFacts } from '../../support/surround.ts';
import type { LocalRow } from '../world/books.ts';
import type { Fate } from '../world/engine.ts';
import { FAULTS, type RequestKind } from '../world/faults.ts';
import type { Runner } from '../run/runner.ts';
import type { Scenario } from './scenario.ts';
import type { Hands, Script } from './script.ts';
import { takesSpace } from '../world/setup.ts';
import type { Complaint } from '../oracles/verdict.ts';

/** What goes wrong at which step. */
export interface Strike {
  readonly step: number;
  /** `kill`, `killLosing`, a fate, or a fault; deaths with `+power` where the machine dies. */
  readonly what: string;
}

/** A step of a story, and what can go wrong there. */
export interface Step {
  readonly name: string;
  readonly options: readonly string[];
}

/** What came of one run. */
export interface Played {
  readonly failure: Complaint | null;
  readonly trace: readonly string[];
  readonly rows: readonly LocalRow[];
  readonly steps: readonly Step[];
}

/** Faults that stand for the others in pairs. */
const SHORT_LIST: ReadonlySet<string> = new Set([
  'lostBefore',
  'lostAfter',
  'status500After',
  'truncated',
  'otherAnswer',
  'unasked304',
]);
const DEATHS: ReadonlySet<string> = new Set(['kill', 'killLosing', 'dieBefore', 'dieInside', 'dieAfter']);
/** Deaths and the full disk in pairs: of those that leave the same behind, one. */
const PAIRED: ReadonlySet<string> = new Set(['kill', 'killLosing', 'dieAfter', 'full']);
/** Requests that change the origin when they arrive. */
const CHANGE_UNDER_WAY = /^turn with .*\b(?:create|update|upsert|delete)\b/;
const POWER = '+power';
/** How the names of operations on files begin. */
const FILE_STEP = 'file ';
const FATES: readonly Fate[] = ['dieBefore', 'dieInside', 'dieAfter', 'full'];
/** Turns after which a story is over in any case, so that faults stop. */
const TURNS_MAX = 1_500;
/** Cycles after which the moment of an act that has not come will not come any more, because of what went wrong. */
const CYCLES_PER_ACT = 4;

/** Strikes as they are written on the command line: `17:dieAfter+power,30:lostAfter`. */
export function textOfStrikes(strikes: readonly Strike[]): string {
  return strikes.map(({ step, what }) => `${step}:${what}`).join(',');
}

/** Reads them. @throws where they are none. */
export function readStrikes(text: string): readonly Strike[] {
  return text.split(',').map((part) => {
    const [, step, what] = /^(\d+):([A-Za-z0-9]+(?:\+power)?)$/.exec(part.trim()) ?? [];
    if (step === undefined || what === undefined) throw new Error(`${part} is no strike: 17:dieAfter, 30:lostAfter`);
    return { step: Number(step), what };
  });
}

/** Plays a scenario in which something goes wrong. */
export async function play(runner: Runner, scenario: Scenario, strikes: readonly Strike[]): Promise<Played> {
  const script = new Playing(scenario, strikes);
  const { failure, trace, rows } = await runner.runScript(script);
  const unused = failure === null ? script.unused() : [];
  const late = { oracle: 'script', what: `${textOfStrikes(unused)} cannot happen` };
  const wrong = failure ?? wrongEnd(scenario.everyEnd, rows);
  return { failure: unused.length > 0 ? late : wrong, trace, rows, steps: script.steps };
}

/** What is wrong with a story in which nothing goes wrong; steps and end of it. */
export async function playUndisturbed(runner: Runner, scenario: Scenario): Promise<Played> {
  const played = await play(runner, scenario, []);
  const again = await play(runner, scenario, []);
  const missing = scenario.proofs.find((proof) => !played.trace.some((line) => proof.test(line)));
  const failure =
    played.failure ??
    (missing === undefined ? null : { oracle: 'script', what: `nothing in the story matches ${String(missing)}` }) ??
    wrongEnd(scenario.end, played.rows) ??
    (again.trace.join('\n') === played.trace.join('\n')
      ? null
      : { oracle: 'determinism', what: 'the same story went differently' });
  return { ...played, failure };
}

function wrongEnd(end: RegExp | undefined, rows: readonly LocalRow[]): Complaint | null {
  if (end === undefined || end.test(endOf(rows))) return null;
  return { oracle: 'end', what: `the story ends with\n${endOf(rows)}\nwhich does not match ${String(end)}` };
}

/** The rows as people see them: ids and made-up codes are not the same twice. */
export function endOf(rows: readonly LocalRow[]): string {
  const isMadeUp = (code: unknown): boolean => typeof code === 'string' && /^[0-9a-f]{8}-/.test(code);
  const texts = rows.map(({ tag, cells: { Code: code, ...cells } }) =>
    JSON.stringify([tag, isMadeUp(code) ? 'made up' : code, cells]),
  );
  return texts.toSorted().join('\n');
}

/** Whether what goes wrong is a death or the full disk, which an engine gets over without anybody noticing. */
export function isCrash(what: string): boolean {
  return what === 'full' || isDeath(what);
}

function isDeath(what: string): boolean {
  return DEATHS.has(what.replace(POWER, ''));
}

/**
 * Everything that can go wrong once. `states`: a death behind each commit, before each operation on a file, and while
 * each change is under way. That leaves behind every state of both sides that any death does. `crashes`: every death,
 * with and without a power cut, and the full disk. `singles`: every fault of every request as well.
 */
export function singles(steps: readonly Step[], kinds: 'states' | 'crashes' | 'singles'): readonly Strike[] {
  const isAsked = (what: string, name: string): boolean => {
    if (kinds === 'states') return leavesState(what, name);
    return kinds === 'singles' || isCrash(what);
  };
  return steps.flatMap(({ options, name }, step) =>
    options
      .filter((what) => isAsked(what, name))
      .flatMap((what) => (isDeath(what) && kinds !== 'states' ? [what, `${what}${POWER}`] : [what]))
      .map((what) => ({ step, what })),
  );
}

/** One of the deaths that leave behind a state of both sides that no other leaves. */
function leavesState(what: string, name: string): boolean {
  const isOfFiles = what === 'dieBefore' && name.startsWith(FILE_STEP);
  return what === 'dieAfter' || isOfFiles || (what === 'kill' && CHANGE_UNDER_WAY.test(name));
}

/**
 * What of a story's steps is paired. `short`: a short list of faults, one kind of death at each. `states`: deaths that
 * each leave a different state, and lost answers; few enough to go through all pairs.
 */
export function paired(steps: readonly Step[], after: number, list: 'short' | 'states'): readonly Strike[] {
  const isShort = (what: string, name: string): boolean =>
    PAIRED.has(what) || SHORT_LIST.has(what) || (what === 'dieBefore' && name.startsWith(FILE_STEP));
  const isAsked = (what: string, name: string): boolean =>
    list === 'short' ? isShort(what, name) : what === 'lostAfter' || leavesState(what, name);
  return steps.flatMap(({ options, name }, step) =>
    options.filter((what) => step > after && isAsked(what, name)).map((what) => ({ step, what })),
  );
}

/** What may happen at a step of a push, and at an operation on a file. */
function fatesBetween(what: string): readonly Fate[] {
  return takesSpace(what) ? ['dieBefore', 'full'] : ['dieBefore'];
}

/** A scenario as a script; counts the steps, and strikes. */
class Playing implements Script {
  readonly setup: Scenario['setup'];
  readonly steps: Step[] = [];
  readonly #scenario: Scenario;
  readonly #strikes: Map<number, string>;
  #trace: readonly string[] = [];
  #actCount = 0;
  /** The line of the trace behind the act before, and behind the last act or strike. */
  #actLine = 0;
  #restLine = 0;
  #turnCount = 0;
  #lastDeath = '';

  constructor(scenario: Scenario, strikes: readonly Strike[]) {
    this.#scenario = scenario;
    this.#strikes = new Map(strikes.map(({ step, what }) => [step, what]));
    this.setup = { ...scenario.setup, losesPower: strikes.some(({ what }) => what.endsWith(POWER)) };
  }

  unused(): readonly Strike[] {
    return [...this.#strikes].map(([step, what]) => ({ step, what }));
  }

  goesOn(trace: readonly string[]): boolean {
    this.#trace = trace;
    this.#turnCount += 1;
    if (this.#turnCount > TURNS_MAX) return false;
    const isAwaited = this.#actCount < this.#scenario.acts.length || this.#strikes.size > 0;
    return isAwaited
      ? this.#cyclesSince(this.#actLine) < CYCLES_PER_ACT
      : this.#cyclesSince(this.#restLine) < this.#scenario.cycles;
  }

  act(trace: readonly string[], hands: Hands): boolean {
    const { underWay } = hands;
    const name = underWay.length === 0 ? 'turn' : `turn with ${underWay.join(', ')} under way`;
    if (this.#next(name, underWay.length === 0 ? ['kill'] : ['kill', 'killLosing']) !== null) {
      hands.kill();
      return true;
    }
    const next = this.#scenario.acts[this.#actCount];
    if (next === undefined) return false;
    const { after } = next;
    if (after !== null && !trace.slice(this.#actLine).some((line) => after.test(line))) return false;
    this.#actCount += 1;
    next.act(hands);
    this.#actLine = trace.length;
    this.#restLine = trace.length;
    return true;
  }

  fate(what: string, facts: TransactionFacts | null): Fate {
    const strike = this.#next(what, facts === null ? fatesBetween(what) : FATES);
    return FATES.find((fate) => strike?.replace(POWER, '') === fate) ?? 'on';
  }

  fault(kind: RequestKind, method: string): string | null {
    const names = FAULTS.filter(({ on }) => on.includes(kind)).map(({ name }) => name);
    return this.#next(`request ${method}`, names);
  }

  losesRequests(): boolean {
    return this.#lastDeath.startsWith('killLosing');
  }

  cutsPower(): boolean {
    return this.#lastDeath.endsWith(POWER);
  }

  #cyclesSince(line: number): number {
    return this.#trace.slice(line).filter((text) => text.startsWith('the cycle ends')).length;
  }

  /** Counts a step; returns what strikes at it. */
  #next(name: string, options: readonly string[]): string | null {
    const step = this.steps.length;
    this.steps.push({ name, options });
    const strike = this.#strikes.get(step) ?? null;
    if (strike === null || !options.includes(strike.replace(POWER, ''))) return null;
    this.#strikes.delete(step);
    if (isDeath(strike)) this.#lastDeath = strike;
    // The cycle that meets a fault ends, and the next one makes up for it.
    this.#restLine = this.#trace.length;
    return strike;
  }
}
