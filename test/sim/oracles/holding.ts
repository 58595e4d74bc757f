/**
 * Whether what was edited in an older copy of the replica waits there until a person lets it go: none of its values
 * leaves before. Where nothing tells that the file is an older one, nothing waits. Takes the replica once it was put
 * back, requests, what people decide; returns complaints.
 */
import { readBase } from './base.ts';
import type { LocalRow, LocalValue } from '../world/books.ts';
import type { SentRow } from './intents.ts';
import type { Names } from '../world/names.ts';
import type { User } from '../actors/user.ts';

/** What there is to look at. */
export interface HoldingParts {
  readonly names: Names;
  readonly user: User;
}

/** Watches one world. */
export class Holding {
  readonly #parts: HoldingParts;
  /** Values of the copy that the base does not have; no value is written twice. */
  #held: ReadonlySet<LocalValue> = new Set();
  #isNew = false;

  constructor(parts: HoldingParts) {
    this.#parts = parts;
  }

  /** An older copy was put in the place of the replica. */
  onOlderCopy(): void {
    const { user, names } = this.#parts;
    const base = readBase((statement) => user.query(statement), names);
    this.#held = new Set(user.rows().flatMap((row) => edited(row, base?.get(row.id))));
    this.#isNew = true;
  }

  /** A cycle begins; `isLet` where a person lets everything go in it. */
  onCycle(isLet: boolean): void {
    const isNoticed = this.#parts.user.query('SELECT 1 FROM _rowsync_tables WHERE older_copy IS NOT NULL').length > 0;
    if (isLet || (this.#isNew && !isNoticed)) this.#held = new Set();
    this.#isNew = false;
  }

  /** A person took a version: what it brought back is theirs. */
  onTaken(after: readonly LocalRow[]): void {
    const taken = new Set(after.flatMap((row) => edited(row, undefined)));
    this.#held = this.#held.difference(taken);
  }

  /** What is wrong with a row that is sent. */
  complaints(row: SentRow): readonly string[] {
    const held = Object.values(row).filter((value) => this.#held.has(value));
    return held.map((value) => `${String(value)} stood in an older copy that was put back, and nobody let it go`);
  }
}

/** Values in which a row differs from its base. */
function edited({ tag, cells }: LocalRow, base: LocalRow | undefined): readonly LocalValue[] {
  const known: Readonly<Record<string, LocalValue>> = base === undefined ? {} : { ...base.cells, Tag: base.tag };
  return Object.entries({ ...cells, Tag: tag }).flatMap(([column, value]) =>
    value === null || value === known[column] || column === 'File' ? [] : [value],
  );
}
