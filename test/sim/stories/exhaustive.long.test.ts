/**
 * The exhaustive mode in the ordinary tests: every scenario goes as it is meant to, and is survived whatever a crash
 * leaves behind. ROWSYNC_EXHAUSTIVE=singles adds power cuts, full disks and every fault; so does `npm run sim --
 * --exhaustive`, on two processes.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadEngine } from '../world/engine.ts';
import { modeNamed, playShare } from './exhaustive-share.ts';
import { play, readStrikes, textOfStrikes } from './exhaustive.ts';
import { Runner } from '../run/runner.ts';
import { SCENARIOS } from './scenarios.ts';

const MODE = modeNamed(process.env['ROWSYNC_EXHAUSTIVE'] ?? 'states');

let runner: Runner;

beforeAll(async () => {
  runner = new Runner(await loadEngine(new URL('../../../src/', import.meta.url)));
});

afterAll(() => runner[Symbol.dispose]());

describe('each scenario', () => {
  test.each(SCENARIOS.map(({ name }) => name))(
    `may be cut short anywhere: %s (${MODE})`,
    async (scenario) => {
      const order = { root: '', scenario, mode: MODE, from: 0, step: 1, sample: null };
      const { failures, runCount } = await playShare(runner, order);

      expect(failures).toEqual([]);
      expect(runCount).toBeGreaterThan(8);
    },
    120_000,
  );
});

describe('strikes', () => {
  test('are read as they are written', () => {
    const text = '17:dieAfter+power,30:lostAfter';

    expect(textOfStrikes(readStrikes(text))).toBe(text);
    expect(() => readStrikes('17')).toThrow('no strike');
  });

  test('hit the step that they name', async () => {
    const [edit] = SCENARIOS.filter(({ name }) => name === 'edit');
    if (edit === undefined) throw new Error('There is a scenario of that name');
    const { steps } = await play(runner, edit, []);
    const step = steps.findIndex(({ name }) => /^request (update|upsert)/.test(name));
    const { trace } = await play(runner, edit, [{ step, what: 'lostAfter' }]);

    expect(trace.filter((line) => line.includes('fault lostAfter'))).toHaveLength(1);
  });

  test('that cannot happen are complained of', async () => {
    const [first] = SCENARIOS;
    if (first === undefined) throw new Error('There are scenarios');

    const { failure } = await play(runner, first, [{ step: 9_999, what: 'dieAfter' }]);

    expect(failure?.oracle).toBe('script');
  });
});
