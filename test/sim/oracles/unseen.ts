/**
 * Rows that following cannot see until a sweep reads them: rows that changed without a stamp, and rows stamped too
 * early because the origin's clock was set back by more than the overlap, and rows that were changed twice in one
 * second and showed the second change late. In one cycle also rows that were stamped earlier than before: pages are
 * read in the order of stamps, so such a row moves behind whoever reads them, and the next cycle brings it. Takes what
 * happens at the origin; produces ids.
 */
import type { OriginModel } from '../model/origin.ts';

/** The overlap, less the second that stamps lose. */
const OVERLAP_MS = 119_000;

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000);
}

/** Watches the origin of one world. */
export class Unseen {
  readonly #origin: OriginModel;
  /** When each row became one of them, counted; those that a sweep has read are left out. */
  readonly #sinceById = new Map<number, number>();
  /** All that ever were: an older copy of the replica knows nothing of the sweep. */
  readonly #ever = new Set<number>();
  /** Rows that were stamped back in this cycle, before it was noted what was followed. */
  readonly #stampedBack = new Set<number>();
  readonly #stampById = new Map<number, number>();
  /** Whether the table was followed in this cycle, and not swept. */
  hasFollowed = false;
  #count = 0;
  #cycleCount = 0;
  #logCount = 0;
  #newestMs = 0;

  constructor(origin: OriginModel) {
    this.#origin = origin;
  }

  /** A value changed without a stamp. */
  note(id: number): void {
    this.#count += 1;
    this.#sinceById.set(id, this.#count);
    this.#ever.add(id);
  }

  /** Something may have happened at the origin. */
  noteTurn(): void {
    const { log, knobs } = this.#origin;
    for (const { at, id, kind } of log.slice(this.#logCount)) {
      if (kind === 'delete') continue;
      if (at < this.#newestMs - OVERLAP_MS) this.note(id);
      // Where changes show late, the second one of a second may show when that second was read and compared.
      const before = this.#stampById.get(id) ?? null;
      if (before !== null && knobs.lateMsMax > 0 && secondOf(at) === secondOf(before)) this.note(id);
      this.#newestMs = Math.max(this.#newestMs, at);
      if (!this.hasFollowed && at < (this.#stampById.get(id) ?? at)) this.#stampedBack.add(id);
      this.#stampById.set(id, at);
    }
    this.#logCount = log.length;
  }

  /** A cycle begins. */
  begin(): void {
    this.noteTurn(); // what happened before
    this.#cycleCount = this.#count;
    this.#stampedBack.clear();
    this.hasFollowed = false;
  }

  /** All pages of changes were read in this cycle. */
  onFollowed(): void {
    this.noteTurn();
    this.hasFollowed = true;
  }

  /** All rows were read in this cycle. */
  onSwept(): void {
    for (const [id, since] of this.#sinceById) if (since <= this.#cycleCount) this.#sinceById.delete(id);
  }

  /** The replica is an older one. */
  onReplaced(): void {
    for (const id of this.#ever) this.note(id);
  }

  /** The rows that following need not have brought. */
  get ids(): Iterable<number> {
    return [...this.#sinceById.keys(), ...this.#stampedBack];
  }
}
