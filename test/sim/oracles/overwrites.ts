/**
 * Whether a push writes over what colleagues wrote with open eyes only. A value that stood at the origin when the push
 * was planned may be replaced where the base knew it. Where it came after the edit it must be kept as the loser of a
 * conflict. What colleagues write behind the plan may be lost; nothing at the origin can prevent that. Only for worlds
 * in which columns keep their names.
 *
 * Takes what users and colleagues wrote, and requests before they leave; returns complaints.
 */
import { readBase } from './base.ts';
import { writtenKey, type Books, type LocalRow, type LocalValue } from '../world/books.ts';
import type { OriginModel } from '../model/origin.ts';
import type { Names } from '../world/names.ts';
import type { SeenRequest } from '../world/network.ts';
import { removedFrom, type User } from '../actors/user.ts';
import type { Writes } from '../world/writes.ts';

/** What there is to look at. */
export interface OverwriteParts {
  readonly books: Books;
  readonly names: Names;
  readonly origin: OriginModel;
  readonly user: User;
  readonly writes: Writes;
}

/**
 * What was known of rows when users wrote into them; a copy of the replica that is put back knows only what was known
 * when it was made.
 */
export interface Known {
  /**
   * What the base said of each row into which a user wrote a value, by the row's id then. A new row may be there twice
   * for a moment.
   */
  readonly baseByWritten: ReadonlyMap<string, ReadonlyMap<number, LocalValue>>;
  /**
   * What was known of a row, by its tag, when a user deleted it. What the base said, or of one that it did not have,
   * what stood here.
   */
  readonly byDeleted: ReadonlyMap<string, LocalRow>;
}

/** The judged columns: both have texts that are never written twice. */
const JUDGED = ['A', 'B'] as const;

/** Watches one world. */
export class Overwrites {
  readonly #parts: OverwriteParts;
  #baseByWritten = new Map<string, ReadonlyMap<number, LocalValue>>();
  #knownByDeleted = new Map<string, LocalRow>();
  /** Writes at the origin when the present push was planned. */
  #plannedAt = 0;

  constructor(parts: OverwriteParts) {
    this.#parts = parts;
  }

  /** What is known now, as a copy. */
  known(): Known {
    return { baseByWritten: new Map(this.#baseByWritten), byDeleted: new Map(this.#knownByDeleted) };
  }

  /**
   * The replica is an older copy from now on: a row that was deleted in it, came back and was deleted again is deleted
   * as it was then.
   */
  goBackTo({ baseByWritten, byDeleted }: Known): void {
    this.#baseByWritten = new Map(baseByWritten);
    this.#knownByDeleted = new Map(byDeleted);
  }

  /** A user wrote into the replica; `removed` are the rows that went with it. */
  onUserActed(removed: readonly LocalRow[]): void {
    const { books, user } = this.#parts;
    const base = this.#base();
    const rows = user.rows();
    // A row may have come back since it was deleted, or since its table was dropped: only its last delete counts.
    for (const row of rows) this.#knownByDeleted.delete(row.tag);
    for (const row of removed)
      this.#knownByDeleted.set(row.tag, base.values().find(({ tag }) => tag === row.tag) ?? row);
    const written = new Map<string, Map<number, LocalValue>>();
    for (const { id, tag, cells } of rows) {
      for (const column of JUDGED) {
        const value = cells[column] ?? null;
        const key = writtenKey({ tag, column, value });
        const known = base.get(id)?.cells[column] ?? null;
        if (!books.everWritten.has(key) || this.#baseByWritten.has(key)) continue;
        written.set(key, (written.get(key) ?? new Map<number, LocalValue>()).set(id, known));
      }
    }
    for (const [key, baseById] of written) this.#baseByWritten.set(key, baseById);
  }

  /**
   * A person took a version that was kept: what it brought back is written, or deleted, with what is known now,
   * whenever it was before.
   */
  onTaken(before: readonly LocalRow[], after: readonly LocalRow[]): void {
    const beforeById = new Map(before.map((row) => [row.id, row]));
    for (const row of after) {
      for (const column of JUDGED) {
        const value = row.cells[column] ?? null;
        if (value !== (beforeById.get(row.id)?.cells[column] ?? null))
          this.#baseByWritten.delete(writtenKey({ tag: row.tag, column, value }));
      }
    }
    this.onUserActed(removedFrom(before, after));
  }

  /** A push was planned. */
  onPlanned(): void {
    this.#parts.writes.collect();
    this.#plannedAt = this.#parts.writes.all.length;
  }

  /** What is wrong with a request that changes rows; they are those of its body. */
  complaints(
    rows: readonly Readonly<Record<string, LocalValue>>[],
    { method }: Pick<SeenRequest, 'method'>,
  ): readonly string[] {
    const { names, origin, writes } = this.#parts;
    writes.collect();
    const base = this.#base();
    const there = origin.rows(names.table).map(({ id, values }) => names.rowFromOrigin(id, values));
    return rows.flatMap((row) => {
      const cells = names.fromOrigin(row);
      const id = row['@row.id'] ?? null;
      const code = cells['Code'] ?? null;
      // A create of a unique value that another row has is refused, and writes over nothing.
      const isMet = (other: LocalRow): boolean => method === 'upsert' && code !== null && other.cells['Code'] === code;
      const present = there.find((other) => (id === null ? isMet(other) : other.id === id));
      if (present === undefined) return [];
      return JUDGED.flatMap((column) => {
        const value = cells[column];
        return value === undefined ? [] : this.#judge(present, { column, value, known: base.get(present.id) });
      });
    });
  }

  /** What is wrong with the delete of a row. */
  complaintsOfDelete(id: number): readonly string[] {
    const { names, origin, writes } = this.#parts;
    writes.collect();
    const there = origin.rows(names.table).find((row) => row.id === id);
    if (there === undefined) return [];
    const { tag, cells } = names.rowFromOrigin(id, there.values);
    const then = this.#knownByDeleted.get(tag);
    if (then === undefined) return [];
    return JUDGED.flatMap((column) => {
      const now = cells[column] ?? null;
      if (!this.#isShown(column)) return [];
      if (now === null || now === then.cells[column] || !this.#isOfColleague(id, column, now)) return [];
      if (this.#isKept(now)) return [];
      return [
        `${column} of ${tag} is ${String(now)} at the origin since before the push was planned, but was not when the row was deleted here`,
      ];
    });
  }

  /** Whether a value that stands at the origin is a colleague's, and was there when the push was planned. */
  #isOfColleague(id: number, column: string, value: LocalValue): boolean {
    const { all } = this.#parts.writes;
    const at = all.findLastIndex((write) => write.id === id && write.cells[column] === value);
    return at < this.#plannedAt && (at < 0 || all[at]?.by === 'colleague');
  }

  #judge(
    { id, tag, cells }: LocalRow,
    {
      column,
      value,
      known,
    }: { readonly column: string; readonly value: LocalValue; readonly known: LocalRow | undefined },
  ): readonly string[] {
    const before = cells[column] ?? null;
    if (before === null || before === value || !this.#isOfColleague(id, column, before)) return [];
    const what = `${column} of ${tag} was ${String(before)} at the origin before the push was planned; ${String(value)} is written over it`;
    if (known?.cells[column] !== before) return [`${what}, and the base does not know`];
    if (value === null) return [];
    const baseById = this.#baseByWritten.get(writtenKey({ tag, column, value }));
    // A value that no actor wrote here is from the user's trigger, which also reacts to the origin's values, or is
    // judged as invented.
    if (baseById === undefined) return [];
    const baseThen = baseById.has(id) ? baseById.get(id) : baseById.values().next().value;
    if (baseThen === before || this.#isKept(before)) return [];
    return [`${what}, which came after the edit, and is kept nowhere`];
  }

  /**
   * Whether the replica knows that the origin shows a column, and that it may be written. At an origin by the letter, a
   * column that is hidden for a moment seems read-only.
   */
  #isShown(column: (typeof JUDGED)[number]): boolean {
    const { names, user } = this.#parts;
    const id = names.idOf(column);
    return user.query(`SELECT 1 FROM _rowsync_columns WHERE id = ${id} AND state = 'live' AND writable`).length > 0;
  }

  #isKept(value: LocalValue): boolean {
    return JSON.stringify(this.#parts.user.query('SELECT * FROM sync_conflicts')).includes(String(value));
  }

  #base(): ReadonlyMap<number, LocalRow> {
    return readBase((statement) => this.#parts.user.query(statement), this.#parts.names) ?? new Map<number, LocalRow>();
  }
}
