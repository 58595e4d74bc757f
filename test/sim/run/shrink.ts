/**
 * Makes a failing world small: numbers on its tapes are set to 0 or taken out, as long as the same invariant still
 * breaks. Tape by tape, in chunks that halve; setting to 0 comes first, because it leaves everything else of the tape
 * in its place. Takes tapes and a judge that runs them; produces tapes that no single step makes calmer, or the best so
 * far when the runs are used up.
 */
import { TAPE_NAMES, type TapeName, type TapeRecord } from '../world/tape.ts';

/** Runs tapes and says whether they still fail in the same way. */
export type Judge = (record: TapeRecord) => Promise<boolean>;

/** What shrinking came to. */
export interface Shrunk {
  readonly record: TapeRecord;
  readonly runCount: number;
}

/** Shrinks tapes that fail, in at most `runsMax` runs. */
export async function shrink(record: TapeRecord, judge: Judge, runsMax: number): Promise<Shrunk> {
  const shrinker = new Shrinker(record, judge, runsMax);
  let before = '';
  // Ends: every turn that changes something makes the tapes shorter or calmer.
  while (before !== JSON.stringify(shrinker.record) && !shrinker.isUsedUp) {
    before = JSON.stringify(shrinker.record);
    for (const name of TAPE_NAMES) await shrinker.shrinkTape(name);
  }
  return { record: shrinker.record, runCount: shrinker.runCount };
}

class Shrinker {
  record: TapeRecord;
  runCount = 0;
  readonly #judge: Judge;
  readonly #runsMax: number;

  constructor(record: TapeRecord, judge: Judge, runsMax: number) {
    this.record = record;
    this.#judge = judge;
    this.#runsMax = runsMax;
  }

  get isUsedUp(): boolean {
    return this.runCount >= this.#runsMax;
  }

  async shrinkTape(name: TapeName): Promise<void> {
    if (await this.#try(name, [])) return;
    await this.#chunks(name, (numbers, from, to) => {
      if (numbers.slice(from, to).every((number) => number === 0)) return null;
      return numbers.map((number, index) => (index >= from && index < to ? 0 : number));
    });
    await this.#chunks(name, (numbers, from, to) => numbers.toSpliced(from, to - from));
  }

  /** Tries a change on every chunk of a tape, in chunks that halve. */
  async #chunks(
    name: TapeName,
    change: (numbers: readonly number[], from: number, to: number) => readonly number[] | null,
  ): Promise<void> {
    for (let size = Math.max(1, Math.floor(this.#numbers(name).length / 2)); ; size = Math.floor(size / 2)) {
      let from = 0;
      while (from < this.#numbers(name).length && !this.isUsedUp) {
        const numbers = this.#numbers(name);
        const changed = change(numbers, from, Math.min(from + size, numbers.length));
        const isTaken = changed !== null && (await this.#try(name, changed));
        // What was taken out has moved the next chunk to this place.
        if (!isTaken || changed.length === numbers.length) from += size;
      }
      if (size <= 1) return;
    }
  }

  #numbers(name: TapeName): readonly number[] {
    return this.record[name] ?? [];
  }

  async #try(name: TapeName, numbers: readonly number[]): Promise<boolean> {
    if (this.isUsedUp || (numbers.length === 0 && this.#numbers(name).length === 0)) return false;
    const candidate = { ...this.record, [name]: numbers };
    this.runCount += 1;
    if (!(await this.#judge(candidate))) return false;
    this.record = candidate;
    return true;
  }
}
