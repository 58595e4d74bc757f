/**
 * Rows that wait for a person or a timer, compared before and after each piece of work. Input: the replica. Output: tables with more waiting rows
 * than before, and tables that have none any more.
 */
import type { Replica } from '../replica/database.ts';
import { errorFromReading } from '../replica/failures.ts';
import { readParkedCounts } from '../replica/push-rows.ts';

/** A table with more waiting rows, or with none any more (0). */
export interface ParkedChange {
  /** Its name at the origin. */
  readonly table: string;
  readonly rowCount: number;
}

/** Remembers how many rows of each table waited. */
export class ParkedWatch {
  #countByTable: ReadonlyMap<string, number> = new Map();

  /** Changes since the last call; before the first one, nothing waited. @throws RowsyncError of the replica. */
  look(replica: Replica): readonly ParkedChange[] {
    const before = this.#countByTable;
    const now = read(replica);
    this.#countByTable = now;
    const more = [...now].filter(([table, rowCount]) => rowCount > (before.get(table) ?? 0));
    const gone = [...before.keys()].filter((table) => !now.has(table));
    return [
      ...more.map(([table, rowCount]) => ({ table, rowCount })),
      ...gone.map((table) => ({ table, rowCount: 0 })),
    ];
  }
}

function read(replica: Replica): ReadonlyMap<string, number> {
  try {
    return readParkedCounts(replica);
  } catch (thrown) {
    throw errorFromReading(thrown, replica.path);
  }
}
