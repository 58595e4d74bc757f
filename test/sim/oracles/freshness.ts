/**
 * Whether a pull that ended without a complaint brought what it promises. Every row as it was at the origin at some
 * moment of that pull, and none that was never there meanwhile. Someone who reads the replica after a green run relies
 * on that, even though the next run would heal it. Columns that the pull was not shown it cannot bring: those that the
 * replica takes for gone are left out. Not for worlds in which administrators are at work unseen otherwise, and only
 * for cycles in which no answer was a lie. Takes the origin after every turn, the base at the end; returns complaints.
 */
import type { LocalRow } from '../world/books.ts';
import type { OriginModel } from '../model/origin.ts';
import type { Column, Names } from '../world/names.ts';

/** Stands for "no such row". */
const NOTHING = 'nothing';

/** What a row was during a cycle, by the whole of its text; undefined where there was none. */
type Seen = Map<string, LocalRow | undefined>;

const NONE_GONE: ReadonlySet<Column> = new Set();

/** One cycle after another. */
export class Freshness {
  readonly #origin: OriginModel;
  readonly #names: Pick<Names, 'rowsSelected'>;
  /** What each row was during the cycle; null while none is watched. */
  #seenById: Map<number, Seen> | null = null;
  #turnCount = 0;
  #changeCount = -1;

  constructor(origin: OriginModel, names: Pick<Names, 'rowsSelected'>) {
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
    const rows = new Map(this.#names.rowsSelected().map((row) => [row.id, row] as const));
    for (const [id, row] of rows) {
      const seen = this.#seenById.get(id) ?? (this.#turnCount === 0 ? new Map() : notThere());
      this.#seenById.set(id, seen.set(textOf(row, NONE_GONE), row));
    }
    for (const [id, seen] of this.#seenById) if (!rows.has(id)) seen.set(NOTHING, undefined);
    this.#turnCount += 1;
  }

  /** An answer was not what the origin gave, or did not come: this cycle is not judged. */
  excuse(): void {
    this.#seenById = null;
  }

  /** Whether a row was not at the origin, or outside of the filter, at a moment of the cycle. */
  wasGone(id: number): boolean {
    return this.#seenById?.get(id)?.has(NOTHING) ?? false;
  }

  /** Whether the cycle that is watched saw the origin stand still. */
  get isStill(): boolean {
    return this.#seenById !== null && this.#turnCount === 1;
  }

  /**
   * The pull ended well, or the cycle: what stands in the base although it was never so meanwhile. `excused` wait for
   * an answer, `gone` are the columns that the replica takes for gone.
   */
  complaints(
    base: ReadonlyMap<number, LocalRow> | null,
    excused: ReadonlySet<number>,
    gone: ReadonlySet<Column>,
  ): readonly string[] {
    if (base === null) return [];
    return this.differing(base, excused, gone).map((id) => {
      const seen = [...this.#textsOf(id, gone)].join(', then ');
      return `a pull ended well and left row ${id} as ${textOf(base.get(id), gone)}; while it ran, that was ${seen}`;
    });
  }

  /** The ids of rows that are not as they were at the origin at any moment of the cycle; none while none is watched. */
  differing(
    rows: ReadonlyMap<number, LocalRow>,
    excused: ReadonlySet<number>,
    gone: ReadonlySet<Column>,
  ): readonly number[] {
    if (this.#seenById === null) return [];
    const ids = new Set([...rows.keys(), ...this.#seenById.keys()]);
    return [...ids].filter((id) => !excused.has(id) && !this.#textsOf(id, gone).has(textOf(rows.get(id), gone)));
  }

  #textsOf(id: number, gone: ReadonlySet<Column>): ReadonlySet<string> {
    return new Set([...(this.#seenById?.get(id) ?? notThere()).values()].map((row) => textOf(row, gone)));
  }
}

function notThere(): Seen {
  return new Map([[NOTHING, undefined]]);
}

function textOf(row: LocalRow | undefined, gone: ReadonlySet<string>): string {
  if (row === undefined) return NOTHING;
  const cells = Object.entries(row.cells).filter(([column]) => !gone.has(column));
  return `${row.tag} ${JSON.stringify(Object.fromEntries(cells))}`;
}
