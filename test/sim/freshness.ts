/**
 * Whether a pull that ended without a complaint brought what it promises: every row as it was at the origin at some moment of that pull, and
 * none that was never there meanwhile. Somebody who reads the replica after a green run relies on that, even though the next run
 * would heal it. Not for worlds in which administrators are at work unseen, and only for cycles in which no answer was a lie.
 * Input: the origin after every turn, the base at the end. Output: sentences.
 */
import type { LocalRow } from './books.ts';
import type { OriginModel } from './model/origin.ts';
import type { Names } from './names.ts';

/** Stands for "no such row". */
const NOTHING = 'nothing';

/** One cycle after another. */
export class Freshness {
  readonly #origin: OriginModel;
  readonly #names: Names;
  /** What each row was during the cycle; null while none is watched. */
  #seenById: Map<number, Set<string>> | null = null;
  #turnCount = 0;
  #changeCount = -1;

  constructor(origin: OriginModel, names: Names) {
    this.#origin = origin;
    this.#names = names;
  }

  /** A cycle with a pull begins; with anything else, nothing is watched. */
  begin(isPull: boolean): void {
    this.#seenById = isPull ? new Map() : null;
    this.#turnCount = 0;
    this.#changeCount = -1;
    this.noteTurn();
  }

  /** Something may have happened at the origin. */
  noteTurn(): void {
    const changeCount = this.#origin.log.length;
    if (this.#seenById === null || changeCount === this.#changeCount) return;
    this.#changeCount = changeCount;
    const rows = new Map(
      this.#origin
        .rows(this.#names.table)
        .map(({ id, values }) => [id, textOf(this.#names.rowFromOrigin(id, values))] as const),
    );
    for (const [id, text] of rows) {
      const seen = this.#seenById.get(id) ?? new Set(this.#turnCount === 0 ? [] : [NOTHING]);
      this.#seenById.set(id, seen.add(text));
    }
    for (const [id, seen] of this.#seenById) if (!rows.has(id)) seen.add(NOTHING);
    this.#turnCount += 1;
  }

  /** An answer was not what the origin gave, or did not come: this cycle is not judged. */
  excuse(): void {
    this.#seenById = null;
  }

  /** Whether the cycle that is watched saw the origin stand still. */
  get isStill(): boolean {
    return this.#seenById !== null && this.#turnCount === 1;
  }

  /** The pull ended well, or the cycle: what stands in the base although it was never so meanwhile. `excused` wait for an answer. */
  complaints(base: ReadonlyMap<number, LocalRow> | null, excused: ReadonlySet<number>): readonly string[] {
    const seenById = this.#seenById;
    if (base === null || seenById === null) return [];
    const ids = new Set([...base.keys(), ...seenById.keys()]);
    return [...ids].flatMap((id) => {
      const row = base.get(id);
      const here = row === undefined ? NOTHING : textOf(row);
      const seen = seenById.get(id) ?? new Set([NOTHING]);
      if (seen.has(here) || excused.has(id)) return [];
      return [`a pull ended well and left row ${id} as ${here}; while it ran, that was ${[...seen].join(', then ')}`];
    });
  }
}

function textOf({ tag, cells }: LocalRow): string {
  return `${tag} ${JSON.stringify(cells)}`;
}
