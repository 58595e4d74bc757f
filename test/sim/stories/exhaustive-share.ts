/**
 * A share of a scenario's runs in the exhaustive mode: which strikes are played, and what came of them. Takes an order;
 * produces sums, and every run that failed.
 */
import { endOf, isCrash, paired, play, playUndisturbed, singles, textOfStrikes, type Strike } from './exhaustive.ts';
import type { Runner } from '../run/runner.ts';
import type { Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios.ts';
import { sfc32 } from '../world/tape.ts';

const MODES = ['states', 'crashes', 'singles', 'statePairs', 'crashPairs', 'pairs'] as const;

/**
 * What is played: each state that a death leaves behind. All deaths, the full disk and power cuts. Those and every
 * fault. Pairs of states and lost answers; pairs of deaths. Pairs of the short list.
 */
export type Mode = (typeof MODES)[number];

/** A share of a scenario's runs. */
export interface ExhaustiveOrder {
  /** The source tree of the engine, as a URL. */
  readonly root: string;
  readonly scenario: string;
  readonly mode: Mode;
  /** Every how-many-th run is this process's, from which one on. */
  readonly from: number;
  readonly step: number;
  /** Of pairs, how many are drawn, and from which seed; null for all of them. */
  readonly sample: { readonly count: number; readonly seed: number } | null;
}

/** What came of it. */
export interface ExhaustiveReport {
  readonly stepCount: number;
  readonly runCount: number;
  readonly failures: readonly { readonly strikes: string; readonly oracle: string; readonly what: string }[];
}

/** A mode by its name. @throws where there is none. */
export function modeNamed(name: string): Mode {
  const mode = MODES.find((known) => known === name);
  if (mode === undefined) throw new Error(`Modes: ${MODES.join(', ')}`);
  return mode;
}

/** Plays a share; a scenario that fails undisturbed is one failure, and nothing else is played. */
export async function playShare(runner: Runner, order: ExhaustiveOrder): Promise<ExhaustiveReport> {
  const scenario = SCENARIOS.find(({ name }) => name === order.scenario);
  if (scenario === undefined) throw new Error(`There is no scenario ${order.scenario}`);
  const { steps, failure, rows } = await playUndisturbed(runner, scenario);
  if (failure !== null) return { stepCount: steps.length, runCount: 1, failures: [{ strikes: '', ...failure }] };
  const end = endOf(rows);
  const failures: { strikes: string; oracle: string; what: string }[] = [];
  let runCount = 0;
  for await (const strikes of strikesOf(runner, scenario, order)) {
    runCount += 1;
    const played = await play(runner, scenario, strikes);
    const isOther =
      scenario.hasOneEnd && strikes.every(({ what }) => isCrash(what)) && endOf(played.rows) !== end
        ? { oracle: 'end', what: `the story ends with\n${endOf(played.rows)}\ninstead of\n${end}` }
        : null;
    const wrong = played.failure ?? isOther;
    if (wrong !== null) failures.push({ strikes: textOfStrikes(strikes), ...wrong });
  }
  return { stepCount: steps.length, runCount, failures };
}

async function* strikesOf(
  runner: Runner,
  scenario: Scenario,
  { mode, from, step, sample }: ExhaustiveOrder,
): AsyncGenerator<readonly Strike[]> {
  const { steps } = await play(runner, scenario, []);
  const isMine = (_: unknown, index: number): boolean => index % step === from;
  if (mode !== 'statePairs' && mode !== 'crashPairs' && mode !== 'pairs') {
    for (const strike of singles(steps, mode).filter(isMine)) yield [strike];
    return;
  }
  const kinds = mode === 'statePairs' ? 'states' : 'short';
  const isAsked = ({ what }: Strike): boolean => mode !== 'crashPairs' || isCrash(what);
  const firsts = paired(steps, -1, kinds).filter(isAsked);
  if (sample === null) {
    for (const first of firsts.filter(isMine)) {
      for (const second of paired((await play(runner, scenario, [first])).steps, first.step, kinds).filter(isAsked)) {
        yield [first, second];
      }
    }
    return;
  }
  const random = sfc32(sample.seed, `pairs of ${scenario.name}`);
  const pick = <T>(items: readonly T[]): T | undefined => items[random() % Math.max(1, items.length)];
  for (let index = 0; index < sample.count; index += 1) {
    const first = pick(firsts);
    const seconds = first === undefined ? [] : paired((await play(runner, scenario, [first])).steps, first.step, kinds);
    const second = pick(seconds.filter(isAsked));
    if (first !== undefined && second !== undefined && isMine(second, index)) yield [first, second];
  }
}
