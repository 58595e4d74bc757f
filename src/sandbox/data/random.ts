/**
 * Seeded random numbers, so that the sample data and the colleagues are the same in every run with the same seed. The
 * generator is mulberry32 (Tommy Ettinger, public domain): small, fast, and good enough to make data look alive. Holds
 * its state; no other source of randomness.
 */
import { assert } from '../../base/assert.ts';

/** Draws from one seeded sequence. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  /** True with the given probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of the items; there must be one. */
  pick<T>(items: readonly T[]): T {
    const item = items[this.integer(0, items.length - 1)];
    assert(item !== undefined, 'there is something to pick from');
    return item;
  }
}
