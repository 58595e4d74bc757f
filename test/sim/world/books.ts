/**
 * What users wrote into the replica of a simulated world. Every value is a text that was never written before, so what
 * became of each one can be told at the end. Rows are known by their tag, which is given at birth and never changed.
 * Takes the rows of the user's table before and after each statement; produces what must be found at the end, and what
 * may be. Pure but for its own state.
 */

/** A cell as SQLite returns it. */
export type LocalValue = string | number | bigint | null;

/** A row of the user's table, as far as anybody edits it. */
export interface LocalRow {
  readonly id: number;
  readonly tag: string;
  readonly cells: Readonly<Record<string, LocalValue>>;
}

/** A cell that a user wrote last. */
export interface Written {
  readonly tag: string;
  readonly column: string;
  readonly value: LocalValue;
  /** Whether the row had no id of the origin then. */
  readonly isNew?: boolean;
}

/**
 * What must be found at the end; a copy of the replica that is put back knows only what was expected when it was made.
 */
export interface Expected {
  /**
   * Cells that users wrote, and no statement of theirs replaced since, by `tag.column`, in the order in which they were
   * written.
   */
  readonly standing: ReadonlyMap<string, Written>;
  /** Tags of rows that a user's statement added, and none removed since. */
  readonly inserted: ReadonlySet<string>;
  /** Tags of rows that a user's statement removed. */
  readonly deleted: ReadonlySet<string>;
}

/** The user's side of the story. */
export class Books {
  /** Every value that a user's statement left in a cell, by `tag.column=value`. */
  readonly everWritten = new Set<string>();
  /** Tags of rows that a user's statement ever added or removed. */
  readonly everInserted = new Set<string>();
  readonly everDeleted = new Set<string>();
  /** Whether a user ever did away with the whole table. */
  hasLostTable = false;
  #standing = new Map<string, Written>();
  #inserted = new Set<string>();
  #deleted = new Set<string>();

  /** What must be found now, as a copy. */
  expected(): Expected {
    return { standing: new Map(this.#standing), inserted: new Set(this.#inserted), deleted: new Set(this.#deleted) };
  }

  /** The replica is an older copy from now on: what was written since is not there any more. */
  goBackTo({ standing, inserted, deleted }: Expected): void {
    this.#standing = new Map(standing);
    this.#inserted = new Set(inserted);
    this.#deleted = new Set(deleted);
  }

  /** A user did away with a column, or with the whole table, and with the edits in it that were not pushed yet. */
  forget(column: string | null): void {
    for (const [key, written] of this.#standing)
      if (column === null || written.column === column) this.#standing.delete(key);
    if (column !== null) return;
    this.hasLostTable = true;
    this.#inserted.clear();
    this.#deleted.clear();
  }

  /** Takes note of what a statement did. */
  note(before: readonly LocalRow[], after: readonly LocalRow[]): void {
    const beforeById = new Map(before.map((row) => [row.id, row]));
    const beforeByTag = new Map(before.map((row) => [row.tag, row]));
    const tagsAfter = new Set(after.map(({ tag }) => tag));
    const idsAfter = new Set(after.map(({ id }) => id));
    for (const { tag, id } of before) {
      if (!tagsAfter.has(tag)) this.#noteDeleted(tag);
      else if (!idsAfter.has(id)) this.#noteHalfDeleted(tag);
    }
    for (const row of after) {
      const own = beforeById.get(row.id);
      const known = own?.tag === row.tag ? own : beforeByTag.get(row.tag);
      if (known === undefined) this.#noteInserted(row.tag);
      for (const [column, value] of Object.entries(row.cells)) {
        if (value !== (known?.cells[column] ?? null))
          this.#noteWritten({ tag: row.tag, column, value, isNew: row.id < 0 });
      }
    }
  }

  /**
   * Takes note of a version that a person took: a row that comes back has each of its cells as they wanted it, empty
   * ones too. A cell that says what the origin confirmed, by `base`, is nobody's edit from then on.
   */
  noteTaken(before: readonly LocalRow[], after: readonly LocalRow[], base: ReadonlyMap<number, LocalRow> | null): void {
    this.note(before, after);
    const beforeById = new Map(before.map((row) => [row.id, row]));
    for (const { id, tag, cells } of after) {
      for (const [column, value] of Object.entries(cells)) {
        const isTaken = value !== beforeById.get(id)?.cells[column];
        if (isTaken && value === base?.get(id)?.cells[column]) this.#standing.delete(`${tag}.${column}`);
      }
    }
    const tagsBefore = new Set(before.map(({ tag }) => tag));
    for (const { tag, cells } of after.filter((row) => !tagsBefore.has(row.tag)))
      for (const [column, value] of Object.entries(cells)) this.everWritten.add(writtenKey({ tag, column, value }));
  }

  #noteDeleted(tag: string): void {
    this.everDeleted.add(tag);
    this.#deleted.add(tag);
    this.#inserted.delete(tag);
    this.#forgetCells(tag);
  }

  /** A row was here twice, as it was sent and as it came back, and one of the two is deleted: both may go now. */
  #noteHalfDeleted(tag: string): void {
    this.everDeleted.add(tag);
    this.#inserted.delete(tag);
    this.#forgetCells(tag);
  }

  #forgetCells(tag: string): void {
    for (const [key, written] of this.#standing) if (written.tag === tag) this.#standing.delete(key);
  }

  #noteInserted(tag: string): void {
    this.everInserted.add(tag);
    this.#inserted.add(tag);
  }

  #noteWritten(written: Written): void {
    // The row came back with a pull before its delete could be pushed, and someone continues with it.
    this.#deleted.delete(written.tag);
    const key = `${written.tag}.${written.column}`;
    // The last one stands at the end.
    this.#standing.delete(key);
    this.#standing.set(key, written);
    this.everWritten.add(writtenKey(written));
  }
}

/** A written value with its place. */
export function writtenKey({ tag, column, value }: Written): string {
  return `${tag}.${column}=${String(value)}`;
}

/** Makes texts that were never written before. */
export class Tokens {
  readonly #given = new Set<string>();

  /** The next text; the prefix says who writes it. */
  next(prefix: string): string {
    const text = `${prefix}${String(this.#given.size + 1).padStart(4, '0')}`;
    this.#given.add(text);
    return text;
  }

  /** Whether a text was given out. */
  isGiven(text: string): boolean {
    return this.#given.has(text);
  }
}
