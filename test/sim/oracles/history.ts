/**
 * The journal of the table: at each commit, the entries that it adds lead from the state that the journal knew before
 * to the one that it knows now. So no change is without an entry, no entry without a change, and none of them is half
 * there. Now and then, all entries lead back to the states that were remembered, and forward again. The interval of
 * what came from the origin has a moment at which the row was written there, that of an edit one at which a user wrote
 * here. Takes each transaction before it is committed; returns complaints.
 */
import { isTampered } from '../../../src/capture/sync-mode.ts';
import type { Replica } from '../../../src/replica/database.ts';
import {
  entriesAfter,
  journalled,
  knownState,
  putForward,
  tableState,
  takeBack,
  type Reader,
  type State,
} from '../../support/history.ts';

/** When something changed, as the simulation knows it; in milliseconds. */
export interface Truth {
  /** Writes at the origin, and of which row. */
  readonly writes: readonly { readonly at: number; readonly id: number }[];
  /** A write may have happened so much later than it says. */
  readonly lateMs: number;
  /** When users wrote something here. */
  readonly usersAt: readonly number[];
}

/** A state to come back to, behind an entry. */
interface Moment {
  readonly seq: number;
  readonly state: State;
}

/** Commits between two states that are remembered, of which there are at most so many. */
const MOMENT_EVERY = 8;
const MOMENTS_MAX = 12;

/** Watches the journals of one world. */
export class HistoryOracle {
  #seq = 0;
  /**
   * A column was hidden when a journal began, or was added later: its cells come when it is shown, and nobody writes
   * them then.
   */
  #hasUnwritten = false;
  #commitCount = 0;
  /** By table, the oldest first. */
  readonly #moments = new Map<number, Moment[]>();
  readonly #columns = new Map<number, string>();
  #known = new Map<number, { readonly state: State; readonly begunSeq: number }>();

  /** The file is another one, or somebody changed rows around the guards: what was known counts no more. */
  forget(): void {
    this.#known.clear();
    this.#moments.clear();
  }

  /** What is wrong where the entries of a table are taken back to the oldest moment, and put forward again. */
  #replay(db: Reader, tableId: number, now: State): readonly string[] {
    const moments = this.#moments.get(tableId) ?? [];
    const [oldest] = moments;
    if (oldest === undefined) return [];
    const state = copyOf(now);
    const entries = entriesAfter(db, tableId, oldest.seq);
    const check = ({ seq, state: was }: Moment): readonly string[] => {
      const text = differenceOf(state, was);
      return text === '' ? [] : [`behind ${seq} it was not so: ${text}`];
    };
    let at = entries.length;
    const back = moments.toReversed().flatMap((moment) => {
      for (let entry = entries[at - 1]; entry !== undefined && entry.seq > moment.seq; entry = entries[(at -= 1) - 1])
        takeBack(state, entry);
      return check(moment);
    });
    const forward = [...moments, { seq: Infinity, state: now }].flatMap((moment) => {
      for (let entry = entries[at]; entry !== undefined && entry.seq <= moment.seq; entry = entries[(at += 1)])
        putForward(state, entry);
      return check(moment);
    });
    return [...back, ...forward];
  }

  /** Remembers what a table is behind the last entry. */
  #remember(db: Reader, tableId: number, state: State): void {
    const moments = this.#moments.get(tableId) ?? [];
    if (moments.length === MOMENTS_MAX) moments.splice(1 + (this.#commitCount % (MOMENTS_MAX - 1)), 1);
    const seq = db.prepare('SELECT coalesce(max(seq), 0) FROM _rowsync_history').pluck().get() as number;
    this.#moments.set(tableId, [...moments, { seq, state: copyOf(state) }]);
  }

  /** What is wrong with the intervals of the entries behind a number. */
  #intervals(db: Reader, { writes, lateMs, usersAt }: Truth): readonly string[] {
    const text = `SELECT seq, row_id, cause, not_before, not_after FROM _rowsync_history
      WHERE seq > ? AND (cause = 'edit' OR row_id > 0 AND cause IN ('pull', 'push'))`;
    const rows = db.prepare(text).raw().all(this.#seq) as [number, number, string, number | null, number][];
    return rows.flatMap(([seq, rowId, cause, notBefore, notAfter]) => {
      const isEdit = cause === 'edit';
      const times = isEdit ? usersAt : writes.filter(({ id }) => id === rowId).map(({ at }) => at);
      const isInside = (at: number): boolean =>
        secondOf(at + (isEdit ? 0 : lateMs)) >= (notBefore ?? 0) && secondOf(at) <= notAfter;
      if (times.some(isInside) || (!isEdit && isGivenBack(db, seq))) return [];
      const were = times.map(secondOf).join();
      return [
        `entry ${seq} (${cause}) of row ${rowId}: nothing was written from ${notBefore} to ${notAfter} (${were})`,
      ];
    });
  }

  /** What is wrong with what a transaction leaves. */
  complaints(replica: Replica, what: string, truth: Truth | null): readonly string[] {
    const db = replica as unknown as Reader;
    const known = new Map<number, { readonly state: State; readonly begunSeq: number }>();
    const complaints: string[] = [];
    this.#commitCount += 1;
    // Entries go that lead to earlier states.
    if (what === 'Pruning history') this.#moments.clear();
    for (const { tableId, localName, begunSeq } of journalled(db)) {
      const now = knownState(db, tableId);
      // There all edits were looked for, but for those since another client dropped a trigger that marks them, and
      // those of columns that the origin does not show: a user's trigger may write into one while the table is loaded.
      const gone = goneColumns(db, tableId);
      const unseen =
        what.startsWith('Planning the push') && !isTampered(replica, tableId)
          ? differenceOf(without(gone, now), without(gone, tableState(db, tableId, localName)))
          : '';
      if (unseen !== '') complaints.push(`edits are in no entry: ${unseen}`);
      const before = this.#known.get(tableId);
      known.set(tableId, { state: now, begunSeq });
      const columns = String(db.prepare('SELECT group_concat(name) FROM pragma_table_xinfo(?)').pluck().get(localName));
      const hadColumns = this.#columns.get(tableId);
      this.#columns.set(tableId, columns);
      // Another client dropped a column, or it came back: its cells are not among what stands here.
      if (before === undefined || before.begunSeq !== begunSeq || hadColumns !== columns) {
        this.#moments.delete(tableId);
        const isWider = hadColumns !== undefined && columns.split(',').length > hadColumns.split(',').length;
        this.#hasUnwritten ||= before?.begunSeq === begunSeq ? isWider : gone.size > 0;
        continue;
      }
      try {
        const state = copyOf(before.state);
        for (const entry of entriesAfter(db, tableId, this.#seq)) putForward(state, entry);
        const text = differenceOf(state, now);
        if (text !== '') complaints.push(`the entries lead elsewhere: ${text}`);
        if (this.#commitCount % MOMENT_EVERY === 0) {
          complaints.push(...this.#replay(db, tableId, now));
          this.#remember(db, tableId, now);
        }
      } catch (thrown) {
        complaints.push((thrown as Error).message);
      }
    }
    if (truth !== null && !this.#hasUnwritten) complaints.push(...this.#intervals(db, truth));
    this.#known = known;
    this.#seq = db.prepare('SELECT coalesce(max(seq), 0) FROM _rowsync_history').pluck().get() as number;
    return complaints;
  }
}

/** The ledger rows of the columns of a table that the origin does not show any more. */
function goneColumns(db: Reader, tableId: number): ReadonlySet<string> {
  const text = "SELECT CAST(seq AS TEXT) FROM _rowsync_columns WHERE table_id = ? AND state = 'removed'";
  return new Set(db.prepare(text).pluck().all(tableId) as string[]);
}

function without(columns: ReadonlySet<string>, state: State): State {
  if (columns.size === 0) return state;
  const kept = (row: Record<string, string>) => Object.entries(row).filter(([column]) => !columns.has(column));
  return new Map([...state].map(([id, row]) => [id, Object.fromEntries(kept(row))]));
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1000);
}

function copyOf(state: State): State {
  return new Map([...state].map(([id, row]) => [id, { ...row }]));
}

function differenceOf(one: State, other: State): string {
  const text = (row: State extends Map<number, infer R> ? R | undefined : never): string =>
    row === undefined ? 'none' : JSON.stringify(Object.entries(row).toSorted(([a], [b]) => Number(a) - Number(b)));
  return [...new Set([...one.keys(), ...other.keys()])]
    .filter((id) => text(one.get(id)) !== text(other.get(id)))
    .map((id) => `row ${id}: ${text(one.get(id))} instead of ${text(other.get(id))}`)
    .join('; ');
}

/**
 * Whether all that an entry brings was taken from its row by a user, who replaced it; a trigger of theirs may keep us
 * from giving it back at once.
 */
function isGivenBack(db: Reader, seq: number): boolean {
  const text = `SELECT NOT EXISTS (
      SELECT 1 FROM _rowsync_history given, json_each(given.cells) g
      WHERE given.seq = @seq AND NOT EXISTS (
        SELECT 1 FROM _rowsync_history taken, json_each(taken.cells) t
        WHERE taken.table_id = given.table_id AND taken.row_id = given.row_id AND taken.seq < @seq AND taken.cause = 'edit'
          AND t.value ->> 0 = g.value ->> 0 AND t.value -> 1 = g.value -> 2 AND t.value -> 2 = g.value -> 1))`;
  return db.prepare(text).pluck().get({ seq }) === 1;
}
