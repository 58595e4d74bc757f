/**
 * Whether anything still moves once the faults have stopped (L1): one cycle after another, until one finds nothing to
 * do and does nothing. Takes both sides, what a cycle reports; produces a verdict for each cycle.
 *
 * A push may settle what an earlier one left behind, without a message to the origin and behind the files of its cycle.
 * The user's table was renamed, or the origin's columns changed: only the pull puts right what keeps the edits from
 * being finished before it. The rows are then what the origin says, and their files are for the next cycle.
 */
import { readBase } from './base.ts';
import type { CycleReport } from '../world/engine.ts';
import type { EtagMode } from '../model/knobs.ts';
import type { LocalRow } from '../world/books.ts';
import { partsOf } from '../world/files-world.ts';
import type { OriginModel } from '../model/origin.ts';
import type { Names } from '../world/names.ts';
import type { User } from '../actors/user.ts';

/** What is looked at. */
export interface StillnessParts {
  readonly origin: OriginModel;
  readonly user: User;
  readonly names: Names;
  readonly etag: EtagMode;
}

/** ETags by which an unchanged page is proven, and not sent again. */
const PROVING: ReadonlySet<EtagMode> = new Set<EtagMode>(['page', 'weak', 'table']);

/** Whether a file is an earlier revision of a parked row that left the filter. */
export function isOutdated(
  { rowId, guid }: { readonly rowId: number; readonly guid: string },
  sides: {
    readonly there: readonly LocalRow[];
    readonly selected: readonly LocalRow[];
    readonly parked: ReadonlySet<number>;
  },
): boolean {
  const row = sides.there.find(({ id }) => id === rowId);
  if (row === undefined || !sides.parked.has(rowId)) return false;
  const isSelected = sides.selected.some(({ id }) => id === rowId);
  return !isSelected && partsOf(row.cells['File']).guid !== guid;
}

/** Watches the cycles at the end of one world. */
export class Stillness {
  readonly #parts: StillnessParts;
  /** Writes at the origin when the cycle began; null while none is watched. */
  #writeCount: number | null = null;
  /** The base as the pull left it, from which the files are told. */
  #pulled = '';

  constructor(parts: StillnessParts) {
    this.#parts = parts;
  }

  /** A cycle begins that is to be judged. */
  begin(): void {
    this.#writeCount = this.#parts.origin.log.length;
  }

  /** The pull of a cycle ended without a complaint; its files and its push are still to come. */
  onPulled(): void {
    if (this.#writeCount !== null) this.#pulled = this.#base();
  }

  /** The cycle ended: whether it found all as it should be and left it so. */
  end(report: CycleReport): boolean {
    const { origin, user } = this.#parts;
    const isSame = origin.log.length === this.#writeCount;
    this.#writeCount = null;
    return (
      this.#isUneventful(report) &&
      isSame &&
      user.query(`SELECT 1 FROM _rowsync_rows WHERE state IN ('edited', 'sending')`).length === 0 &&
      this.#base() === this.#pulled
    );
  }

  /** Whether a cycle found nothing to do and nothing wrong. */
  #isUneventful({ errors, insertedCount, updatedCount, deletedCount, pagesReadCount, files }: CycleReport): boolean {
    const { failedCount = 0, ...others } = files ?? {};
    return (
      errors.length === 0 &&
      insertedCount + updatedCount + deletedCount === 0 &&
      Object.values(others).every((count) => count === 0) &&
      this.#mayFail(failedCount) &&
      (pagesReadCount === 0 || !PROVING.has(this.#parts.etag))
    );
  }

  /**
   * Whether all files that failed are earlier revisions of rows that wait outside of the filter, and each was asked for
   * once.
   */
  #mayFail(failedCount: number): boolean {
    if (failedCount === 0) return true;
    const { user, names } = this.#parts;
    const failed = user.query(`SELECT row_id, guid FROM _rowsync_files WHERE state = 'failed' AND vanished_at IS NULL`);
    const parked = user.query(`SELECT row_id FROM _rowsync_rows WHERE state IN ('refused', 'conflicted', 'inDoubt')`);
    const sides = {
      there: names.rowsThere(),
      selected: names.rowsSelected(),
      parked: new Set(parked.map(([id]) => Number(id))),
    };
    return (
      failedCount === failed.length &&
      failed.every(([id, guid]) => isOutdated({ rowId: Number(id), guid: String(guid) }, sides))
    );
  }

  #base(): string {
    const { user, names } = this.#parts;
    const rows = readBase((statement) => user.query(statement), names);
    return JSON.stringify([...(rows?.values() ?? [])]);
  }
}
