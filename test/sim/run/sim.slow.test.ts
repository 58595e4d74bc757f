/**
 * The simulation in the ordinary tests. Kept worlds first, then some seeds. And that the simulation is what it claims
 * to be: the same tapes make the same world, calm tapes a calm one, and shrinking keeps what a failure needs. Three
 * seeds run here; ROWSYNC_SEEDS=1-1000 runs a thousand, `npm run sim` more on two processes.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seeds } from '../../support/seeds.ts';
import { findUnmet, readCorpus, tapesOf, textOfCase, type Case } from './corpus.ts';
import { loadEngine } from '../world/engine.ts';
import { Runner } from './runner.ts';
import { shrink } from './shrink.ts';
import { Draw, followsIn, Tapes, type TapeRecord } from '../world/tape.ts';

let runner: Runner;

beforeAll(async () => {
  runner = new Runner(await loadEngine(new URL('../../../src/', import.meta.url)));
});

afterAll(() => runner[Symbol.dispose]());

describe('the simulated engine', () => {
  test.each(readCorpus())('keeps its promises in the world of corpus/%s', async (_name, kept) => {
    const { failure, trace } = await runner.run(tapesOf(kept));

    expect(failure).toBeNull();
    expect(findUnmet(kept.happens ?? [], trace)).toBeNull();
  });

  test.each(readCorpus())('is told of corpus/%s what must happen in it, or what does not any more', (_name, kept) => {
    const { happens = [], drifted = '' } = kept;

    expect(happens.length > 0).toBe(drifted === '');
  });

  test.each(seeds(3))('keeps its promises in a world of its own (seed %i)', async (seed) => {
    const { failure } = await runner.run(Tapes.fromSeed(seed, false, followsIn('half', seed)));

    expect(failure).toBeNull();
  });

  test('lives the same life twice', async () => {
    const first = await runner.run(Tapes.fromSeed(7));
    const second = await runner.run(Tapes.fromSeed(7));

    expect(second.trace).toEqual(first.trace);
    expect(first.trace.length).toBeGreaterThan(50);
  });

  test.each([
    ['that ends early', false],
    ['that does not', true],
  ])('lives the same life from the tapes that were recorded: one %s', async (_what, isLong) => {
    const first = await runner.run(Tapes.fromSeed(8, isLong));
    const second = await runner.run(Tapes.fromRecord(8, first.record));

    expect(second.trace).toEqual(first.trace);
  });

  test('a world that does not end early goes on behind one that does', async () => {
    const [short, long] = [await runner.run(Tapes.fromSeed(8)), await runner.run(Tapes.fromSeed(8, true))];
    const end = short.trace.indexOf('the faults stop');

    expect(long.trace.slice(0, end)).toEqual(short.trace.slice(0, end));
    expect(long.trace.indexOf('the faults stop')).toBeGreaterThan(end);
  });

  test('comes to rest in a world in which nothing is decided', async () => {
    const { failure, coverage } = await runner.run(Tapes.fromRecord(1, {}));

    expect(failure).toBeNull();
    expect(coverage.get('request select')).toBeGreaterThan(0);
    expect([...coverage.keys()].filter((what) => /^(fault|user|colleague|death)/.test(what))).toEqual([]);
  });
});

describe('what must happen in a kept world', () => {
  test('happens in its order', () => {
    const trace = ['a begins', 'b comes', 'a ends'];

    expect(findUnmet(['^a', 'comes$', '^a'], trace)).toBeNull();
    expect(findUnmet(['comes', 'begins'], trace)).toBe('begins');
    expect(findUnmet(['^a', '^a', '^a'], trace)).toBe('^a');
  });
});

describe('tapes', () => {
  test('give the same numbers for a seed, and others for another actor', () => {
    const draw = (seed: number): readonly number[] => [0, 1, 2].map(() => Tapes.fromSeed(seed).of('user').u32());

    expect(draw(1)).toEqual(draw(1));
    expect(Tapes.fromSeed(1).of('user').u32()).not.toBe(Tapes.fromSeed(1).of('admin').u32());
    expect(Tapes.fromSeed(1).of('user').u32()).not.toBe(Tapes.fromSeed(2).of('user').u32());
  });

  test('are calm behind their end', () => {
    const tape = Tapes.fromRecord(1, { user: [5] }).of('user');

    expect([tape.u32(), tape.u32(), tape.decide(0.9)]).toEqual([5, 0, 0]);
    expect(new Draw(0).pick(['calm', 'wild'])).toBe('calm');
    expect(new Draw(0).chance(0.99)).toBe(false);
  });

  test('decide as often as they are asked to', () => {
    const tape = Tapes.fromSeed(3).of('disk');
    const count = Array.from({ length: 10_000 }, () => tape.decide(0.2)).filter((value) => value !== 0).length;

    expect(count).toBeGreaterThan(1_800);
    expect(count).toBeLessThan(2_200);
  });

  test('are read back from a kept file as they were', () => {
    const kept: Case = { seed: 3, oracle: 'I1', what: 'x "y"', about: '', tapes: { user: [1, 2], disk: [0, 9] } };

    expect(JSON.parse(textOfCase(kept))).toEqual(kept);
  });
});

describe('shrinking', () => {
  test('leaves what a failure needs, and nothing else', async () => {
    const needs = async ({ user = [], disk = [] }: TapeRecord): Promise<boolean> =>
      user.includes(7) && disk.includes(9) && user.indexOf(7) < 20;
    const noise = Array.from({ length: 100 }, (_, index) => index + 100);
    const record = { user: noise.with(13, 7), disk: noise.with(60, 9), clock: noise };

    const { record: small } = await shrink(record, needs, 5_000);

    expect(small).toEqual({ user: [7], disk: [9], clock: [] });
  });

  test('ends when its runs are used up', async () => {
    let runCount = 0;
    const judge = async (): Promise<boolean> => {
      runCount += 1;
      return true;
    };
    await shrink({ user: Array.from({ length: 1_000 }, () => 1) }, judge, 10);

    expect(runCount).toBeLessThanOrEqual(10);
  });
});
