/**
 * A person at the command line or the page: lets refused rows be tried again, puts rows back, decides conflicts.
 * Decisions are carried out as the daemon does it, between two cycles. Takes draws, and the views of the replica;
 * produces what became of each, in a sentence.
 */
import type { PersonDecision } from '../../../src/capture/person-decision.ts';
import { readBase } from '../oracles/base.ts';
import type { Books, LocalRow } from '../world/books.ts';
import type { Life } from '../world/engine.ts';
import type { OriginModel } from '../model/origin.ts';
import type { LocalNames, Names } from '../world/names.ts';
import { Draw, type Tape } from '../world/tape.ts';
import type { User } from './user.ts';

/** What a person works with. */
export interface PersonParts {
  /** How often a decision comes before a cycle. */
  readonly rate: number;
  readonly origin: OriginModel;
  readonly names: Names;
  readonly user: User;
  readonly books: Books;
  readonly count: (what: string) => void;
  readonly note: (line: string) => void;
  /** A version was taken; the rows of the table before and after. */
  readonly onTaken: (before: readonly LocalRow[], after: readonly LocalRow[]) => void;
}

/** The person. */
export class Person {
  readonly #parts: PersonParts;
  /** What is being carried out, and the rows before it. */
  #decision: PersonDecision | null = null;
  #before: readonly LocalRow[] = [];
  /**
   * New rows that may be made before it, and those that might when they were discarded: to take one of these again is
   * another try of its create.
   */
  #doubtful: readonly number[] = [];
  readonly #givenUp = new Set<number>();
  /** Decisions of a story, for the next cycle. */
  readonly #wishes: PersonDecision[] = [];

  constructor(parts: PersonParts) {
    this.#parts = parts;
  }

  /** Before a commit: users may have been at work until the decision was carried out. */
  onCommit(what: string): void {
    if (!isOfDecision(what)) return;
    this.#before = this.#parts.user.rows();
    // In an older copy, what the decision finds first is in doubt from then on, within the decision.
    this.#doubtful = [...this.#creates(), ...this.#uncaptured()];
  }

  /** After a commit, even if the engine dies before it can report it. */
  onCommitted(what: string): void {
    if (isOfDecision(what) && this.#decision?.kind === 'discard') {
      const left = this.#creates();
      for (const id of this.#doubtful) if (!left.includes(id)) this.#givenUp.add(id);
    }
    // Taking a version is an edit like any other; putting a row back is none.
    if (!isOfDecision(what) || this.#decision?.kind !== 'resolve') return;
    const { user, books, names, onTaken } = this.#parts;
    const after = user.rows();
    const base = readBase((statement) => user.query(statement), names);
    books.noteTaken(this.#before, after, base);
    onTaken(this.#before, after);
  }

  /** Decides this before the next cycle. */
  wish(decision: PersonDecision): void {
    this.#wishes.push(decision);
  }

  /** Decides something now and then. */
  async act(life: Life, tape: Tape): Promise<void> {
    const { rate, names, user } = this.#parts;
    for (const wish of this.#wishes.splice(0)) await this.#decide(life, wish);
    if (rate > 0) await this.prune(life);
    const value = rate === 0 ? 0 : tape.decide(rate);
    if (value === 0) return;
    const query = (statement: string): readonly (readonly unknown[])[] => user.query(statement);
    const local = names.inReplica(query);
    const decision = local === null ? null : decisionOf(new Draw(value), local, { query, givenUp: [...this.#givenUp] });
    if (decision === null) return;
    await this.#decide(life, decision);
  }

  /**
   * Drops columns for which the table is held, if none of them is one that the origin may show again; whether it did.
   */
  async prune(life: Life): Promise<boolean> {
    const { user, names, count, note } = this.#parts;
    const missing = user.query(
      `SELECT c.id FROM _rowsync_tables t, json_each(t.missing_columns) m JOIN _rowsync_columns c ON c.seq = m.value
       WHERE t.id = ${names.tableId}`,
    );
    if (missing.length === 0 || missing.some(([id]) => names.columnWithId(Number(id)) !== undefined)) return false;
    count('person prune');
    note('person: drops the columns that the origin does not have any more');
    await life.prune();
    return true;
  }

  /** The workflow refuses nothing from now on, and the person has all refused rows tried again. */
  async letAll(life: Life): Promise<void> {
    const { knobs } = this.#parts.origin;
    if (knobs.refusesCell === null) return;
    knobs.refusesCell = null;
    await this.#decide(life, { kind: 'retry', ids: [] });
  }

  /** New rows that are in doubt. */
  #creates(): readonly number[] {
    const found = this.#parts.user.query(`SELECT row_id FROM sync_failures WHERE kind = 'inDoubt' AND row_id < 0`);
    return found.map(([id]) => Number(id));
  }

  /** New rows of an older copy that nobody has looked at since it was put back. */
  #uncaptured(): readonly number[] {
    const text = `SELECT max(doubt_creates_from) FROM _rowsync_tables WHERE older_copy = 'creates'`;
    const [[from = null] = []] = this.#parts.user.query(text);
    return from === null ? [] : this.#before.flatMap(({ id }) => (id < 0 && id >= Number(from) ? [id] : []));
  }

  async #decide(life: Life, decision: PersonDecision): Promise<void> {
    const { count, note, user } = this.#parts;
    if (decision.kind === 'resolve' && user.undecidable().has(decision.id)) {
      count('person leaves a conflict');
      return note(`person: leaves conflict ${decision.id}, since nothing would tell which row it is about`);
    }
    this.#decision = decision;
    const outcome = await life.decide(decision);
    const isSomething = outcome?.kind === 'done' && outcome.rowCount > 0;
    count(`person ${decision.kind}${isSomething ? '' : ' in vain'}`);
    note(`person: ${JSON.stringify(decision)}: ${outcome?.words ?? 'the disk is full'}`);
  }
}

/** Whether a transaction carries out what a person decided. */
function isOfDecision(what: string): boolean {
  return what === 'Carrying out a decision';
}

/** What a person decides; null where there is nothing to decide on. */
function decisionOf(
  draw: Draw,
  { T }: LocalNames,
  {
    query,
    givenUp,
  }: {
    readonly query: (statement: string) => readonly (readonly unknown[])[];
    /** Rows without a taken version. */
    readonly givenUp: readonly number[];
  },
): PersonDecision | null {
  const numbers = (statement: string): readonly number[] => query(statement).map(([number]) => Number(number));
  // Another try of a create in doubt may make a second row, as everybody is told who asks for one.
  const refused = numbers(`SELECT id FROM sync_failures WHERE kind NOT IN ('read', 'inDoubt') ORDER BY id`);
  const edited = numbers('SELECT DISTINCT row_id FROM sync_changes ORDER BY row_id');
  // A version with a file that is to be attached has it attached once more: what is sent twice then was asked for
  // twice.
  const conflicts = numbers(
    `SELECT id FROM sync_conflicts
     WHERE concat(base, local) NOT LIKE '%file:%' AND row_id NOT IN (${givenUp.join()}) ORDER BY id`,
  );
  const table = T.slice(1, -1).replaceAll('""', '"');
  const retry: readonly (() => PersonDecision)[] = [
    () => ({ kind: 'retry', ids: [] }),
    () => ({ kind: 'retry', ids: [draw.pick(refused)] }),
  ];
  const discard: typeof retry = [
    () => ({ kind: 'discard', table, rowId: draw.pick(edited) }),
    () => ({ kind: 'discard', table, rowId: draw.pick(edited) }),
    () => ({ kind: 'discard', table, rowId: null }),
  ];
  const resolve = (): PersonDecision => {
    return {
      kind: 'resolve',
      id: draw.pick(conflicts),
      take: draw.pick(['local', 'remote', 'base']),
      value: null,
      isAgain: true,
    };
  };
  const possible = [
    ...(refused.length === 0 ? [] : retry),
    ...(edited.length === 0 ? [] : discard),
    ...(conflicts.length === 0 ? [] : [resolve, resolve]),
  ];
  return possible.length === 0 ? null : draw.pick(possible)();
}
