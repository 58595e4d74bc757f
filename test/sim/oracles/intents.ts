/**
 * I11: what a request changes stands in a batch that is on the disk before it leaves: that row, and in it those cells
 * with those values. Rows that the origin knows are told by their ids; a new one is any row of a batch that has all of
 * its cells. Takes batches as the replica keeps them, columns by the address that requests use, rows of a request;
 * returns complaints. Pure.
 */
import type { KeptCell, KeptRow } from '../../../src/replica/bookkeeping/batches.ts';
import type { LocalValue } from '../world/books.ts';

/** What a request says of a row, by the names that it uses. */
export type SentRow = Readonly<Record<string, LocalValue>>;

/** Asks the replica; each row is an array of its columns. */
type Query = (statement: string) => readonly (readonly unknown[])[];

/** The batches that were on the disk when a request left. */
export class Intents {
  readonly #rows: readonly KeptRow[];
  readonly #addressBySeq: ReadonlyMap<number, string>;

  /** Batches up to `newest` are on the disk. */
  constructor(query: Query, newest: number) {
    this.#rows = query(`SELECT rows FROM _rowsync_batches WHERE id <= ${newest}`).flatMap(
      ([rows]) => JSON.parse(String(rows)) as KeptRow[],
    );
    const columns = query(`SELECT seq, iif(alias = '', name, alias) FROM _rowsync_columns`);
    this.#addressBySeq = new Map(columns.map(([seq, address]) => [Number(seq), String(address)]));
  }

  /** What is wrong with a row that is sent. */
  complaints(row: SentRow): readonly string[] {
    const id = row['@row.id'] ?? null;
    const cells = Object.entries(row).filter(([name]) => !name.startsWith('@'));
    const known = this.#rows.filter((kept) => kept[1] !== 'delete' && (id === null || kept[0] === Number(id)));
    const missing = (kept: KeptRow): readonly (readonly [string, LocalValue])[] =>
      cells.filter(([name, value]) => !kept[2].some((cell) => this.#isCell(cell, name, value)));
    if (known.some((kept) => missing(kept).length === 0)) return [];
    const what = known.length === 1 ? known.flatMap(missing) : cells;
    const text = what.map(([name, value]) => `${name} = ${String(value)}`).join(', ');
    return [`${id === null ? 'a new row' : `row ${String(id)}`} with ${text} leaves before its batch is on the disk`];
  }

  /** What is wrong with a row whose delete is sent. */
  complaintsOfDelete(id: number): readonly string[] {
    const isKept = this.#rows.some((kept) => kept[0] === id && kept[1] === 'delete');
    return isKept ? [] : [`the delete of row ${id} leaves before its batch is on the disk`];
  }

  #isCell([seq, value]: KeptCell, name: string, sent: LocalValue): boolean {
    return this.#addressBySeq.get(seq) === name && value === sent;
  }
}
