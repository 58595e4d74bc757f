/**
 * Where every decision of a simulated world comes from: one tape of 32-bit numbers for each actor. A tape is drawn from
 * a seeded generator and recorded, or it is given. Behind its end there are only zeros, and 0 is always the calm choice
 * (no fault, no edit, the first that is due). So a tape that is cut, or has numbers set to 0, is still a world, and a
 * calmer one.
 *
 * One decision is one number, whatever it leads to. Its details come from a generator that the number seeds (`Draw`),
 * so that leaving out one decision shifts no other actor's. Pure but for its own state.
 */
import type { Choosing } from './choosing.ts';

/** The actors that decide something. */
export const TAPE_NAMES = [
  'setup',
  'schedule',
  'engine',
  'network',
  'origin',
  'disk',
  'user',
  'colleague',
  'admin',
  'clock',
  'files',
  'person',
  'hider',
  'rows',
  'follow',
  'letter',
  'poison',
  'cuts',
  'misspelt',
  'beside',
  'ignores',
  'moments',
  'putback',
  'putbackStorm',
] as const;

/** Whose tape it is. */
export type TapeName = (typeof TAPE_NAMES)[number];

/** Whose tape says what an actor does (setup.ts). */
export const TAPE_OF = {
  user: 'user',
  colleague: 'colleague',
  admin: 'admin',
  clock: 'clock',
  files: 'files',
  hider: 'hider',
  cutter: 'cuts',
  kill: 'disk',
  copy: 'disk',
  originClock: 'follow',
  formula: 'follow',
  beside: 'beside',
} as const;

/** The numbers of every tape, as they are kept in a corpus file. Trailing zeros say nothing and are left out. */
export type TapeRecord = { readonly [Name in TapeName]?: readonly number[] };

const U32 = 2 ** 32;

/** A small generator with 128 bits of state (sfc32); the same seed gives the same numbers everywhere. */
export function sfc32(seed: number, stream: string): () => number {
  let a = hash(`${stream}/a`, seed);
  let b = hash(`${stream}/b`, seed);
  let c = hash(`${stream}/c`, seed);
  let d = 1;
  const next = (): number => {
    const sum = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  };
  for (let turn = 0; turn < 12; turn += 1) next();
  return next;
}

function hash(text: string, seed: number): number {
  let state = 0x811c9dc5 ^ (seed >>> 0) ^ Math.imul(Math.floor(seed / U32), 0x9e3779b1);
  for (let index = 0; index < text.length; index += 1) {
    state = Math.imul(state ^ text.charCodeAt(index), 0x01000193);
  }
  state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
  return (state ^ (state >>> 13)) >>> 0;
}

/** The details of one decision. The draw of 0 is calm: every number in it is 0. */
export class Draw {
  readonly isCalm: boolean;
  readonly #next: () => number;

  constructor(value: number) {
    this.isCalm = value === 0;
    this.#next = this.isCalm ? () => 0 : sfc32(value, 'draw');
  }

  /** A whole number from 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor((this.#next() / U32) * count);
  }

  /** Whether something with this probability happens. */
  chance(probability: number): boolean {
    return this.#next() >= U32 * (1 - probability);
  }

  /** One of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    const item = list[this.below(list.length)];
    if (item === undefined) throw new Error('Nothing to pick from');
    return item;
  }

  /** One of a list, each as often as its weight says; the first where the draw is calm. */
  weighted<T>(list: readonly (readonly [weight: number, item: T])[]): T {
    const total = list.reduce((sum, [weight]) => sum + weight, 0);
    let left = (this.#next() / U32) * total;
    for (const [weight, item] of list) {
      if (left < weight) return item;
      left -= weight;
    }
    const [first] = list;
    if (first === undefined) throw new Error('Nothing to pick from');
    return first[1];
  }
}

/** One actor's tape. */
export class Tape {
  readonly #numbers: number[] = [];
  readonly #given: readonly number[];
  readonly #source: (() => number) | null;

  constructor(given: readonly number[], source: (() => number) | null) {
    this.#given = given;
    this.#source = source;
  }

  /** The next number. */
  u32(): number {
    const value = this.#source === null ? (this.#given[this.#numbers.length] ?? 0) : this.#source();
    this.#numbers.push(value);
    return value;
  }

  /** The next decision: 0 unless something with this probability happens; then a number that says what. */
  decide(probability: number): number {
    const value = this.u32();
    return value >= U32 * (1 - probability) && value !== 0 ? value : 0;
  }

  /** The next decision with its details. */
  draw(): Draw {
    return new Draw(this.u32());
  }

  /** A decision for what is calmest, whatever would have been drawn. */
  drawCalm(): Draw {
    this.u32();
    this.#numbers[this.#numbers.length - 1] = 0;
    return new Draw(0);
  }

  /** What was drawn so far, up to the last number that is not 0. */
  record(): readonly number[] {
    let end = this.#numbers.length;
    while (end > 0 && this.#numbers[end - 1] === 0) end -= 1;
    return this.#numbers.slice(0, end);
  }
}

/** Columns are chosen in one world of eight; which they are was settled when other seeds were kept already. */
function choosingOf(seed: number): Choosing | null {
  return seed % 16 === 6 ? 'always' : seed % 16 === 13 ? 'later' : null;
}

/** Which worlds follow their table: half of the seeds, unless something else is asked for. */
export type FollowMode = 'half' | 'all' | 'none';

/** Whether the world of a seed does. */
export function followsIn(mode: FollowMode, seed: number): boolean {
  return mode === 'all' || (mode === 'half' && seed % 4 >= 2);
}

/** The tapes of one world. */
export class Tapes {
  /** The seed of what is random but decides nothing: jitter, made-up ids. */
  readonly seed: number;
  /** Whether the world continues for as long as its setup says, and does not end early as most do. */
  readonly isLong: boolean;
  /** Whether the engine follows the table in every other cycle, in place of a sweep. */
  readonly follows: boolean;
  /** Whether the table has a journal. */
  readonly history: boolean;
  /** Whether and how columns are left out and masked. */
  readonly choosing: Choosing | null;
  readonly #tapes: ReadonlyMap<TapeName, Tape>;

  private constructor(
    seed: number,
    {
      isLong,
      follows,
      history = seed % 2 === 1,
      choosing = choosingOf(seed),
    }: {
      readonly isLong: boolean;
      readonly follows: boolean;
      readonly history?: boolean | undefined;
      readonly choosing?: Choosing | null | undefined;
    },
    tapes: ReadonlyMap<TapeName, Tape>,
  ) {
    this.seed = seed;
    this.isLong = isLong;
    this.follows = follows;
    this.history = history;
    this.choosing = choosing;
    this.#tapes = tapes;
  }

  /** Tapes drawn anew from a seed. */
  static fromSeed(seed: number, isLong = false, follows = false): Tapes {
    return new Tapes(
      seed,
      { isLong, follows },
      new Map(TAPE_NAMES.map((name) => [name, new Tape([], sfc32(seed, name))])),
    );
  }

  /** Tapes that were recorded, perhaps shortened since; what is `kept` says whatever the seed does not. */
  static fromRecord(
    seed: number,
    record: TapeRecord,
    follows = false,
    kept: { readonly history?: boolean; readonly choosing?: Choosing | null } = {},
  ): Tapes {
    return new Tapes(
      seed,
      { isLong: false, follows, ...kept },
      new Map(TAPE_NAMES.map((name) => [name, new Tape(record[name] ?? [], null)])),
    );
  }

  /** One actor's tape. */
  of(name: TapeName): Tape {
    const tape = this.#tapes.get(name);
    if (tape === undefined) throw new Error(`There is no tape ${name}`);
    return tape;
  }

  /** All that was drawn so far. */
  record(): TapeRecord {
    return Object.fromEntries(
      [...this.#tapes].flatMap(([name, tape]) => {
        const numbers = tape.record();
        return numbers.length === 0 ? [] : [[name, numbers] as const];
      }),
    );
  }
}
