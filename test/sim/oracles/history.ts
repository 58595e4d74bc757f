/**
 * The journal of the table: at each commit, the entries that it adds lead from the state that the journal knew before to the one that it knows
 * now. So no change is without an entry, no entry without a change, and none of them is half there. The interval of what came from the origin
 * has a moment at which the row was written there. Input: each transaction before it is committed. Output: complaints.
 */
import type { Replica } from '../../../src/replica/database.ts';
import {
  entriesAfter,
  journalled,
  knownState,
  putForward,
  tableState,
  type Reader,
  type State,
} from '../../support/history.ts';

/** A write at the origin: when, in milliseconds, and of which row. */
export interface OriginWrite {
  readonly at: number;
  readonly id: number;
}

/** Watches the journals of one world. */
export class HistoryOracle {
  #seq = 0;
  readonly #columns = new Map<number, string>();
  #known = new Map<number, { readonly state: State; readonly begunSeq: number }>();

  /** The file is another one, or somebody changed rows around the guards: what was known counts no more. */
  forget(): void {
    this.#known.clear();
  }

  /** What is wrong with the intervals of the entries behind a number, by what was written at the origin. */
  #intervals(db: Reader, writes: readonly OriginWrite[]): readonly string[] {
    const text = `SELECT seq, row_id, not_before, not_after FROM _rowsync_history
      WHERE seq > ? AND row_id > 0 AND cause IN ('pull', 'push')`;
    const rows = db.prepare(text).raw().all(this.#seq) as [number, number, number | null, number][];
    return rows.flatMap(([seq, rowId, notBefore, notAfter]) => {
      const isInside = ({ at, id }: OriginWrite): boolean =>
        id === rowId && Math.floor(at / 1000) >= (notBefore ?? 0) && Math.floor(at / 1000) <= notAfter;
      if (writes.some(isInside)) return [];
      const times = writes.filter(({ id }) => id === rowId).map(({ at }) => Math.floor(at / 1000));
      return [
        `entry ${seq} of row ${rowId}: nothing was written there from ${notBefore} to ${notAfter} (${times.join()})`,
      ];
    });
  }

  /** What is wrong with what a transaction leaves. */
  complaints(
    replica: Replica,
    what: string,
    { writes, isMarked }: { readonly writes: readonly OriginWrite[] | null; readonly isMarked: boolean },
  ): readonly string[] {
    const db = replica as unknown as Reader;
    const known = new Map<number, { readonly state: State; readonly begunSeq: number }>();
    const complaints: string[] = [];
    for (const { tableId, localName, begunSeq } of journalled(db)) {
      const now = knownState(db, tableId);
      // There all edits were looked for, unless another client dropped the triggers that mark them.
      const unseen =
        isMarked && what.startsWith('Planning the push') ? differenceOf(now, tableState(db, tableId, localName)) : '';
      if (unseen !== '') complaints.push(`edits are in no entry: ${unseen}`);
      const before = this.#known.get(tableId);
      known.set(tableId, { state: now, begunSeq });
      const columns = String(db.prepare('SELECT group_concat(name) FROM pragma_table_xinfo(?)').pluck().get(localName));
      const hadColumns = this.#columns.get(tableId);
      this.#columns.set(tableId, columns);
      if (before === undefined || before.begunSeq !== begunSeq) continue;
      // Another client dropped a column, or it came back: its cells are not among what stands here.
      if (hadColumns !== columns) continue;
      try {
        const state = new Map([...before.state].map(([id, row]) => [id, { ...row }]));
        for (const entry of entriesAfter(db, tableId, this.#seq)) putForward(state, entry);
        const text = differenceOf(state, now);
        if (text !== '') complaints.push(`the entries lead elsewhere: ${text}`);
      } catch (thrown) {
        complaints.push((thrown as Error).message);
      }
    }
    if (writes !== null) complaints.push(...this.#intervals(db, writes));
    this.#known = known;
    this.#seq = db.prepare('SELECT coalesce(max(seq), 0) FROM _rowsync_history').pluck().get() as number;
    return complaints;
  }
}

function differenceOf(one: State, other: State): string {
  const text = (row: State extends Map<number, infer R> ? R | undefined : never): string =>
    row === undefined ? 'none' : JSON.stringify(Object.entries(row).toSorted(([a], [b]) => Number(a) - Number(b)));
  return [...new Set([...one.keys(), ...other.keys()])]
    .filter((id) => text(one.get(id)) !== text(other.get(id)))
    .map((id) => `row ${id}: ${text(one.get(id))} instead of ${text(other.get(id))}`)
    .join('; ');
}
