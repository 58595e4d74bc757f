/**
 * Earlier states of the replica that may come back: what a power cut would leave, and the copy that someone made. With
 * the file goes back what is expected of it, and what the oracles take for known. Takes the world around it; produces
 * another file in the place of the replica; nobody may be using it then.
 */
import type { Books, Expected } from './books.ts';
import { findUnrecognisable, newIn, type NewInCopy } from './copies.ts';
import type { Disk, Image, Moment } from './disk.ts';
import type { OriginModel } from '../model/origin.ts';
import type { Names } from './names.ts';
import type { Oracles } from '../oracles/oracles.ts';
import type { Known } from '../oracles/overwrites.ts';
import type { Setup } from './setup.ts';
import type { Draw } from './tape.ts';
import type { User } from '../actors/user.ts';

/** What is looked at, and who is told. */
export interface PastParts {
  readonly setup: Setup;
  readonly disk: Disk;
  readonly origin: OriginModel;
  readonly names: Names;
  readonly user: User;
  readonly books: Books;
  readonly oracles: Oracles;
  /** Ends the engine that works on the replica. */
  readonly end: (how: string) => void;
  readonly note: (line: string) => void;
  readonly count: (what: string) => void;
}

interface Copy {
  readonly image: Image;
  readonly expected: Expected;
  readonly known: Known;
  /** What is new in it; null where that waits for a person, because no match column tells what became of it. */
  readonly added: NewInCopy | null;
}

/** The past of one world's replica. */
export class Past {
  readonly #parts: PastParts;
  /** What a power cut would leave; null where the power never fails. */
  #onDisk: Moment | null;
  #copy: Copy | null = null;

  constructor(parts: PastParts) {
    this.#parts = parts;
    this.#onDisk = parts.setup.losesPower ? parts.disk.moment() : null;
  }

  /** Everything that was committed up to now survives a power cut. */
  keepOnDisk(): void {
    if (this.#onDisk !== null) this.#onDisk = this.#parts.disk.moment();
  }

  /** Cuts the power, where that may be and `cuts` says so; returns whether it did. */
  losePower(cuts: () => boolean): boolean {
    const { disk, note, count } = this.#parts;
    if (this.#onDisk === null || !cuts()) return false;
    // The log was written into the file since, and what is written there reaches the disk.
    if (!disk.has(this.#onDisk)) this.keepOnDisk();
    this.#replace(this.#onDisk);
    count('power cut');
    note('the power failed: what was not on the disk is gone');
    return true;
  }

  /** Someone copies the replica, or puts the copy in its place. */
  copyOrRestore(draw: Draw): void {
    if (this.#copy === null || draw.chance(0.3)) this.makeCopy();
    else this.restoreCopy();
  }

  /** Someone copies the replica. */
  makeCopy(): void {
    const { setup, disk, user, books, oracles, note } = this.#parts;
    this.#copy = {
      image: disk.image(),
      expected: books.expected(),
      known: oracles.known(),
      added: setup.match === null ? null : newIn(user),
    };
    note('somebody copies the replica');
  }

  /**
   * Someone puts the copy in the place of the replica, unless nothing at the origin would tell what became of a row in
   * it.
   */
  restoreCopy(): void {
    if (this.#copy === null) throw new Error('Nobody has copied the replica');
    const { origin, names, user, books, oracles, end, note, count } = this.#parts;
    const { image, expected, known, added } = this.#copy;
    end('because its replica is replaced');
    const rows = origin.rows(names.table).map(({ id, values }) => names.rowFromOrigin(id, values));
    const tag = added === null ? null : findUnrecognisable(added, rows);
    if (tag !== null) {
      count('restore given up');
      return note(`somebody leaves the replica as it is, since nothing would tell what became of ${tag}`);
    }
    this.#replace(image);
    books.goBackTo(expected);
    oracles.goBackTo(known);
    user.isOlderCopy = true;
    count('restore');
    note('somebody puts the older copy in the place of the replica');
  }

  #replace(moment: Moment): void {
    const { disk, user, oracles } = this.#parts;
    user.close();
    disk.restore(moment);
    const [[evidence, batch] = [0, 0]] = user.query(
      `SELECT (SELECT coalesce(max(seq), 0) FROM _rowsync_deleted),
              (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '_rowsync_batches')`,
    );
    oracles.onReplaced(Number(evidence), Number(batch));
    this.keepOnDisk();
  }
}
