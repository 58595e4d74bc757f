/**
 * Whether a moment was one: every state of the origin is kept with the time from which it was so, and what is here as a
 * moment is proven must be one of those in force at that time, in all tables. It stays that as long as the moment
 * holds. And whether an answer is as young as it says: each row of it was so at the origin at that time or later. Takes
 * the origin after every turn, rows of the replica; returns complaints.
 */
import { sql } from '../../../src/base/sql.ts';
import type { Replica } from '../../../src/replica/database.ts';
import type { TransactionFacts } from '../../support/surround.ts';
import type { AgedTable } from '../../../src/extras/shared/freshness.ts';
import { readLastMoment } from '../../../src/extras/shared/fresh-tables.ts';
import type { User } from '../actors/user.ts';
import type { OriginModel } from '../model/origin.ts';
import type { Beside } from '../world/beside.ts';
import type { LocalRow } from '../world/books.ts';
import type { Ask, Names } from '../world/names.ts';
import { readBase } from './base.ts';

/** The rows of all tables as texts, by ids; no two tables have rows of one id. */
type Rows = ReadonlyMap<number, string>;

/** What was so from a time on, and which rows of it come here. */
interface State {
  readonly fromMs: number;
  readonly rows: readonly LocalRow[];
}

/** Times are kept to the second. */
const SECOND_MS = 1_000;

/** What is looked at. */
export interface MomentsParts {
  readonly origin: OriginModel;
  readonly names: Names;
  readonly user: User;
  readonly beside: Beside;
  /** The clock of this machine, which nobody sets. */
  readonly nowMs: () => number;
}

/** Watches one world. */
export class Moments {
  readonly #parts: MomentsParts;
  readonly #states: State[] = [];
  #changeCount = -1;
  /** What was here as the last moment was proven; null where that is unknown. */
  #proven: string | null = null;

  constructor(parts: MomentsParts) {
    this.#parts = parts;
    this.noteTurn();
  }

  /** Something may have happened at the origin. */
  noteTurn(): void {
    const { origin, names, beside, nowMs } = this.#parts;
    if (origin.log.length === this.#changeCount) return;
    this.#changeCount = origin.log.length;
    this.#states.push({ fromMs: nowMs(), rows: [...names.rowsThere(), ...beside.rowsThere()] });
  }

  /** The replica is another one. */
  onReplaced(): void {
    this.#proven = null;
  }

  /** What is wrong with a commit. */
  complaints({ what }: Pick<TransactionFacts, 'what'>, replica: Replica): readonly string[] {
    const last = readLastMoment(replica);
    if (last?.holds !== true || this.#isOpen()) return [];
    const here = this.#here((statement) => replica.prepare(statement).raw().all() as unknown[][], last.tables);
    if (what !== 'Storing a moment')
      return this.#proven === null || this.#proven === textOf(here)
        ? []
        : [`"${what}" changes rows, and the moment holds`];
    this.#proven = textOf(here);
    const between = [last.tables, Date.parse(last.at), Date.parse(last.at) + SECOND_MS] as const;
    const unfiltered = this.#there(...between, () => true);
    const states = this.#there(...between).map((state, index) =>
      this.#withStaying(state, { here, unfiltered: unfiltered[index], edited: editedIn(replica) }),
    );
    if (states.some((state) => textOf(state) === this.#proven)) return [];
    const differences = states.map((state) => differing(here, state).join(', '));
    return [`at ${last.at} the origin was not what is here: ${differences.join('; or ')}`];
  }

  /** What is wrong with an answer that is given now from these tables, when they were allowed to be as of a time. */
  complaintsOfAnswer(tables: readonly AgedTable[], allowedMs: number): readonly string[] {
    return tables.flatMap(({ localName, asOf }) => {
      const sinceMs = Date.parse(asOf ?? '');
      if (!(sinceMs >= Math.floor(allowedMs / SECOND_MS) * SECOND_MS))
        return [`${localName} is as of ${asOf}, and ${new Date(allowedMs).toISOString()} was allowed`];
      if (this.#isOpen()) return [];
      const here = this.#here((statement) => this.#parts.user.query(statement), [localName]);
      const states = this.#there([localName], sinceMs, Infinity);
      // A row that was made here and does not come here, by its filter, stays until the next pull.
      const unfiltered = this.#there([localName], sinceMs, Infinity, () => true);
      const isSo = (id: number): boolean =>
        states.some((rows) => rows.get(id) === here.get(id)) ||
        (here.has(id) && unfiltered.some((rows) => rows.get(id) === here.get(id))) ||
        (states.at(-1)?.has(id) === false && this.#isUnseen(id));
      const ids = new Set([here, ...states].flatMap((rows) => [...rows.keys()]));
      return [...ids]
        .filter((id) => !isSo(id))
        .map((id) => {
          const was = states.map((rows) => rows.get(id) ?? 'missing').join(', then ');
          return `row ${id} is ${here.get(id) ?? 'missing'}; since ${asOf} it was ${was}`;
        });
    });
  }

  /**
   * A state with the rows that left the filter and stay here for an edit that waits, as they were at the origin before.
   */
  #withStaying(
    state: Rows,
    { here, unfiltered, edited }: Record<'here', Rows> & { unfiltered?: Rows | undefined; edited: ReadonlySet<number> },
  ): Rows {
    const wasSo = (id: number, row: string): boolean =>
      this.#states.some(({ rows }) => rowsOf(rows.filter((there) => there.id === id)).get(id) === row);
    const staying = [...here].filter(
      ([id, row]) => !state.has(id) && unfiltered?.has(id) === true && edited.has(id) && wasSo(id, row),
    );
    return new Map([...state, ...staying]);
  }

  /**
   * Whether a push of ours created a row that nothing has shown since: until a sweep asks for it, it is here as it was
   * sent.
   */
  #isUnseen(id: number): boolean {
    const found = this.#parts.user.query(`SELECT 1 FROM _rowsync_suspects WHERE row_id = ${id} AND applied = 0`);
    return found.length > 0;
  }

  /** Whether users may have written into a mirror, or renamed it, which the next pull puts right. */
  #isOpen(): boolean {
    const { names, user } = this.#parts;
    const isRenamed = (): boolean => names.inReplica((statement) => user.query(statement)) === null;
    return names.isMirror && (user.hadTrigger || user.hadNoTrigger || isRenamed());
  }

  /** The rows of tables at the origin in each state that was in force between two times. */
  #there(
    tables: readonly string[],
    fromMs: number,
    untilMs: number,
    selects = this.#parts.names.selects,
  ): readonly Rows[] {
    const { beside } = this.#parts;
    const isOf = (id: number): boolean => tables.some((table) => beside.isAsked({ table }) === beside.hasRow(id));
    const comes = (row: LocalRow): boolean => isOf(row.id) && (beside.hasRow(row.id) || selects(row));
    return this.#states
      .filter((state, index) => state.fromMs < untilMs && (this.#states[index + 1]?.fromMs ?? Infinity) >= fromMs)
      .map(({ rows }) => rowsOf(rows.filter(comes)));
  }

  /** The rows of tables as the origin confirmed them. */
  #here(ask: Ask, tables: readonly string[]): Rows {
    const { beside, names } = this.#parts;
    const rows = tables.flatMap((table) =>
      beside.isAsked({ table }) ? beside.rowsHere(ask, table) : [...(readBase(ask, names)?.values() ?? [])],
    );
    return rowsOf(rows);
  }
}

/** The rows with an edit that waits. */
function editedIn(replica: Replica): ReadonlySet<number> {
  return new Set(
    replica
      .prepare(sql`SELECT row_id FROM sync_changes`)
      .pluck()
      .all()
      .map(Number),
  );
}

function rowsOf(rows: readonly LocalRow[]): Rows {
  return new Map(rows.map(({ id, tag, cells }) => [id, `${tag} ${JSON.stringify(cells)}`]));
}

function textOf(rows: Rows): string {
  return JSON.stringify([...rows].toSorted(([a], [b]) => a - b));
}

function differing(here: Rows, there: Rows): readonly string[] {
  return [...new Set([...here.keys(), ...there.keys()])].flatMap((id) =>
    here.get(id) === there.get(id)
      ? []
      : [`row ${id} is ${here.get(id) ?? 'missing'} and was ${there.get(id) ?? 'missing'}`],
  );
}
