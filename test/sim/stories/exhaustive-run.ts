/**
 * The exhaustive mode of the simulation's command line: scenarios one after another, each on several processes, a line
 * of sums for each; or one run with its story. Takes what was asked for; produces text, and whether all was well.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ExhaustiveOrder, ExhaustiveReport, Mode } from './exhaustive-share.ts';
import { play, readStrikes } from './exhaustive.ts';
import { NODE_OPTIONS, type Runner } from '../run/runner.ts';
import type { Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios.ts';
import { storyOf } from './story.ts';

/** What was asked for. */
export interface ExhaustiveAsked {
  readonly root: URL;
  /** One scenario; undefined for all. */
  readonly scenario: string | undefined;
  /** Strikes of the one run that is wanted. */
  readonly at: string | undefined;
  readonly mode: Mode;
  readonly sample: number | undefined;
  readonly seed: number;
  readonly workers: number;
  readonly isWhole: boolean;
  readonly say: (text: string) => void;
}

/** How many failures of a scenario are told with their story. */
const STORIES_MAX = 2;

/** Does what was asked for; returns whether all was well. */
export async function runExhaustive(runner: Runner, asked: ExhaustiveAsked): Promise<boolean> {
  const { scenario: name, at, say } = asked;
  const chosen = SCENARIOS.filter((scenario) => name === undefined || scenario.name === name);
  const [first] = chosen;
  if (first === undefined) throw new Error(`Scenarios: ${SCENARIOS.map((scenario) => scenario.name).join(', ')}`);
  if (at !== undefined) return await tell(runner, asked, first, at);
  if (asked.sample !== undefined) say(`Pairs drawn from seed ${asked.seed}`);
  let isWell = true;
  for (const scenario of chosen) isWell = (await runScenario(runner, asked, scenario)) && isWell;
  return isWell;
}

async function runScenario(runner: Runner, asked: ExhaustiveAsked, scenario: Scenario): Promise<boolean> {
  const { say, mode } = asked;
  const startedMs = performance.now();
  const shares = Array.from({ length: asked.workers }, (_, from) => runShare(asked, scenario, from));
  const reports = await Promise.all(shares);
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  const runCount = reports.reduce((sum, report) => sum + report.runCount, 0);
  const failures = reports.flatMap((report) => report.failures);
  const stepCount = reports[0]?.stepCount ?? 0;
  say(`${scenario.name}: ${stepCount} steps, ${runCount} runs (${mode}), ${failures.length} failed, ${seconds} s`);
  for (const { strikes, oracle, what } of failures) {
    say(`  --scenario ${scenario.name}${strikes === '' ? '' : ` --at ${strikes}`}: ${oracle}: ${what}`);
  }
  for (const { strikes } of failures.slice(0, STORIES_MAX)) await tell(runner, asked, scenario, strikes);
  return failures.length === 0;
}

async function tell(
  runner: Runner,
  { say, isWhole }: ExhaustiveAsked,
  scenario: Scenario,
  at: string,
): Promise<boolean> {
  const strikes = at === '' ? [] : readStrikes(at);
  const { failure, trace, steps } = await play(runner, scenario, strikes);
  const where = strikes.map(({ step, what }) => `${what} at step ${step} (${steps[step]?.name ?? 'not reached'})`);
  say(`\n${scenario.name}, ${where.length === 0 ? 'undisturbed' : where.join(', ')}:`);
  say(storyOf(trace, isWhole));
  say(failure === null ? 'All is well.' : `Broken: ${failure.oracle}: ${failure.what}`);
  say(`Again: npm run sim -- --exhaustive --scenario ${scenario.name}${at === '' ? '' : ` --at ${at}`}`);
  return failure === null;
}

function runShare(asked: ExhaustiveAsked, scenario: Scenario, from: number): Promise<ExhaustiveReport> {
  const { root, mode, workers: step, sample, seed } = asked;
  const order: ExhaustiveOrder = {
    root: root.href,
    scenario: scenario.name,
    mode,
    from,
    step,
    sample: sample === undefined ? null : { count: sample, seed },
  };
  const worker = fork(fileURLToPath(new URL('exhaustive-worker.ts', import.meta.url)), { execArgv: NODE_OPTIONS });
  worker.send(order);
  return new Promise((resolve, reject) => {
    let report: ExhaustiveReport | null = null;
    worker.on('message', (message: ExhaustiveReport) => {
      report = message;
    });
    worker.on('exit', (code) => {
      if (report !== null && code === 0) resolve(report);
      else reject(new Error(`A worker ended with ${String(code)}`));
    });
  });
}
