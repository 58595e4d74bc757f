/**
 * What must be true while the calling user is not shown a column, and the replica knows it. A mirror takes it for gone,
 * and keeps its last values. A table that people edit is held, so that nothing of it changes but by people, and nothing
 * is sent. What becomes of the edits is judged at rest, like that of all others (verdict.ts). Takes transactions before
 * their commit, requests before they leave; returns complaints.
 */
import type { Replica } from '../../../src/replica/database.ts';
import type { KeptRow } from '../../../src/replica/bookkeeping/batches.ts';
import { sql } from '../../../src/base/sql.ts';
import { readBase } from './base.ts';
import type { LocalRow } from '../world/books.ts';
import { rowFromReplica, selectedColumns, type Ask, type Column, type Names } from '../world/names.ts';
import type { SeenRequest } from '../world/network.ts';
import type { User } from '../actors/user.ts';

/** What there is to look at. */
export interface HidingParts {
  readonly names: Names;
  readonly user: User;
}

/** What a person does continues while a table is held. */
const BY_PEOPLE = /^(?:Carrying out a decision|Dropping what the origin no longer has)/;

/** A table and what tells its edits, as one connection sees both. */
interface Seen {
  readonly gone: ReadonlySet<Column>;
  /** Whether the table waits for columns that vanished. */
  readonly isHeld: boolean;
  /** Whether all of it is there; what a client does away with comes back from the base. */
  readonly stands: boolean;
  readonly rows: ReadonlyMap<number, LocalRow>;
  readonly base: ReadonlyMap<number, LocalRow>;
}

const NOBODY: ReadonlyMap<number, LocalRow> = new Map();

/** Watches one world. */
export class Hiding {
  readonly #parts: HidingParts;

  constructor(parts: HidingParts) {
    this.#parts = parts;
  }

  /**
   * What is wrong with a transaction that is about to be committed: another connection still sees what was before it.
   */
  complaints(replica: Replica, what: string): readonly string[] {
    const { user, names } = this.#parts;
    const ask: Ask = (statement) => user.query(statement);
    // A trigger of theirs writes into columns that are gone as well, whenever rowsync writes; a mirror has no base.
    if ((names.isMirror && (user.hadTrigger || user.hadNoTrigger)) || BY_PEOPLE.test(what)) return [];
    const before = this.#look(ask);
    if (before.gone.size === 0 && !before.isHeld) return [];
    const after = this.#look((statement) => replica.prepare(statement).raw().all() as unknown[][]);
    if (before.isHeld && after.isHeld) {
      return [
        ...(!before.stands || textOf(before.rows) === textOf(after.rows)
          ? []
          : ['rows change, although their table is held']),
        ...(textOf(before.base) === textOf(after.base) ? [] : ['the base changes, although its table is held']),
      ];
    }
    if (user.hadTrigger) return [];
    return [...before.gone]
      .filter((column) => after.gone.has(column))
      .flatMap((column) => changed(column, before.rows, after.rows));
  }

  /** What is wrong with a request before it leaves. */
  complaintsOf({ method }: SeenRequest): readonly string[] {
    const { isHeld: isTableHeld } = this.#look((statement) => this.#parts.user.query(statement));
    return isTableHeld ? [`a request to ${method} rows leaves, although their table is held`] : [];
  }

  /** What the moment is at which a column is hidden, or shown again: what stands in it, or is on its way. */
  momentOf(column: Column | null): readonly string[] {
    if (column === null) return [];
    const { user, names } = this.#parts;
    const { rows, base } = this.#look((statement) => user.query(statement));
    const values = [...rows].map(
      ([id, { cells }]) => [id, cells[column] ?? null, base.get(id)?.cells[column]] as const,
    );
    const [[seq = -1] = []] = user.query(
      `SELECT seq FROM _rowsync_columns WHERE id = ${names.idOf(column)} AND state <> 'aside'`,
    );
    const isSent = user
      .query('SELECT rows FROM _rowsync_batches')
      .flatMap(([text]) => JSON.parse(String(text)) as KeptRow[])
      .some(([, , cells]) => cells.some((cell) => cell[0] === Number(seq)));
    return [
      ...(values.some(([id, here, there]) => id > 0 && there !== undefined && here !== there) ? ['over an edit'] : []),
      ...(values.some(([id, here]) => id < 0 && here !== null) ? ['over a new row'] : []),
      ...(isSent ? ['while it is on its way'] : []),
    ];
  }

  #look(ask: Ask): Seen {
    const { names } = this.#parts;
    const local = names.inReplica(ask);
    const rows = local === null ? [] : ask(sql`SELECT ${selectedColumns(local)} FROM ${local.T}`).map(rowFromReplica);
    return {
      gone: names.goneIn(ask),
      isHeld: isHeld(ask, names),
      stands: local !== null,
      rows: new Map(rows.map((row) => [row.id, row])),
      base: readBase(ask, names) ?? NOBODY,
    };
  }
}

/** Whether the table waits for columns that vanished. */
function isHeld(ask: Ask, { tableId }: Names): boolean {
  return ask(sql`SELECT 1 FROM _rowsync_tables WHERE id = ${tableId} AND missing_columns <> '[]'`).length > 0;
}

function textOf(rows: ReadonlyMap<number, LocalRow>): string {
  return JSON.stringify([...rows.values()]);
}

/** Rows that are there before and after with another value in a column. */
function changed(
  column: Column,
  before: ReadonlyMap<number, LocalRow>,
  after: ReadonlyMap<number, LocalRow>,
): readonly string[] {
  return [...after].flatMap(([id, { cells }]) => {
    const was = before.get(id)?.cells[column];
    const is = cells[column];
    return was === undefined || was === is
      ? []
      : [`${column} of row ${id} was ${String(was)} and is ${String(is)}, while the origin does not show that column`];
  });
}
