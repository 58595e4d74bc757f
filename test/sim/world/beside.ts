/**
 * A second table, so that the account of one cannot hide behind that of the other: a mirror beside the table of the
 * other oracles. People write into it, cut its texts, rename and drop it, and the origin may refuse to answer about it.
 * Its rows have other ids than those of the first table. Takes a tape of its own, so that all other worlds stay as they
 * are; produces changes at the origin, and what the account does not name.
 */
import { ident, sql } from '../../../src/base/sql.ts';
import type { Problem } from '../../../src/reconcile/account/account.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import type { User } from '../actors/user.ts';
import type { OriginModel } from '../model/origin.ts';
import { Freshness } from '../oracles/freshness.ts';
import { isGivenFor } from '../oracles/reasons.ts';
import type { LocalRow, Tokens } from './books.ts';
import { isCut } from './cuts.ts';
import type { Ask } from './names.ts';
import type { Draw, Tapes } from './tape.ts';

/** How often something happens to it, beside what else happens. */
export interface BesideSetup {
  readonly weight: number;
  /** Its rows alone change. */
  readonly isSteady?: boolean;
}

/** Whose seeds have one: none that is named anywhere as one that finds something. */
const RESIDUES: ReadonlySet<number> = new Set([4, 15]);

/** Draws whether there is a second table; not where tables are followed, of which only a part is seen at once. */
export function drawBeside(tapes: Tapes): BesideSetup | null {
  const draw = tapes.of('beside').draw();
  return draw.isCalm || tapes.follows || !RESIDUES.has(tapes.seed % 19) ? null : { weight: draw.pick([2, 5, 10]) };
}

/** Fewer deletes of its rows than a guard holds. */
const ROWS = 12;
const ROWS_MIN = 9;
const FIRST_ID = 1_001;

/** The table as a world begins with it. */
export function addBeside(origin: OriginModel, tokens: Tokens, systemColumns: boolean): void {
  const spec: TableSpec = { name: 'Beside', systemColumns, columns: [{ name: 'Text', type: 'Text' }] };
  origin.addTable(spec);
  origin.table('Beside').nextRow = FIRST_ID;
  for (let count = 0; count < ROWS; count += 1) origin.insert('Beside', { Text: tokens.next('b') });
}

/** Whether a name is one of those that the second table has. */
export function isBeside(name: string): boolean {
  return name.toLowerCase().includes('beside');
}

/** What it is worked with. */
export interface BesideParts {
  readonly origin: OriginModel;
  readonly tokens: Tokens;
  readonly user: User;
  readonly setup: { readonly beside?: BesideSetup | null };
  readonly count: (what: string) => void;
}

/** The second table of a world that has one. */
export class Beside {
  readonly #parts: BesideParts;
  readonly tableId: number;
  readonly #freshness: Freshness;
  #isRefused = false;
  /** At how many moments of the cycle it was there, and was not. */
  #moments = { there: 0, gone: 0 };

  constructor(parts: BesideParts) {
    this.#parts = parts;
    this.tableId = parts.origin.table('Beside').id;
    this.#freshness = new Freshness(parts.origin, { rowsSelected: () => this.rowsThere() });
  }

  /** Does what the draw says; returns what that was. */
  act(draw: Draw): string {
    const { origin, tokens, count } = this.#parts;
    const name = this.#name();
    if (name === null) return 'beside: the table is gone';
    const [id, isMany] = [draw.pick([...origin.ids(name), 0]), origin.ids(name).length > ROWS_MIN];
    const text = tokens.next('b');
    const other = draw.pick(['Beside', 'beside', 'Other Beside']);
    const exchange = (): void => {
      if (id > 0) origin.delete(name, id);
      origin.insert(name, { Text: text });
    };
    const acts: readonly (readonly [number, readonly [string, () => unknown]])[] = [
      [6, ['update', () => id > 0 && origin.update(name, id, { Text: text })]],
      [3, ['insert', () => origin.insert(name, { Text: text })]],
      [2, ['delete', () => id > 0 && isMany && origin.delete(name, id)]],
      [3, ['cut', () => id > 0 && origin.update(name, id, { Text: `${text}\ud83d` })]],
      [2, ['rename', () => origin.renameTable(name, other)]],
      [2, ['refuse', () => (this.#isRefused = !this.#isRefused)]],
      [0.2, ['drop', () => origin.dropTable(name)]],
    ];
    const steady = [...acts.slice(0, 3), [5, ['exchange', exchange]] as const] as const;
    const [what, act] = draw.weighted(this.#parts.setup.beside?.isSteady === true ? steady : acts);
    act();
    count(`beside ${what}`);
    return `beside: ${what} (${name}, row ${id}, ${text}, ${other})`;
  }

  /** Whether a request is about it. */
  isAsked({ table }: { readonly table: string }): boolean {
    return isBeside(table) || table === `t_${this.tableId}`;
  }

  /** The name of the fault that strikes a request for it; null for none. */
  faultOf(request: { readonly table: string }): string | null {
    return this.#isRefused && this.isAsked(request) ? 'status500Before' : null;
  }

  /** Corrects the texts that were cut, for the end. */
  tidyUp(): void {
    const { origin, tokens } = this.#parts;
    this.#isRefused = false;
    const name = this.#name();
    for (const { id, tag } of this.rowsThere())
      if (name !== null && isCut(tag)) origin.update(name, id, { Text: tokens.next('b') });
  }

  /** A cycle begins. */
  begin(isPull: boolean): void {
    this.#moments = { there: 0, gone: 0 };
    this.#freshness.begin(isPull);
    this.noteTurn();
  }

  noteTurn(): void {
    this.#freshness.noteTurn();
    this.#moments[this.#name() === null ? 'gone' : 'there'] += 1;
  }

  /** After a cycle with a pull: what is not as the origin had it, row by row, and not named by the account. */
  unnamed(problems: readonly Problem[]): readonly { readonly rowId: number; readonly what: string }[] {
    const { user, setup } = this.#parts;
    if (setup.beside?.isSteady === true) return []; // followed perhaps, and judged by what is asked of it
    const [found] = user.query(
      sql`SELECT local_name, state, (SELECT count(*) FROM _rowsync_unreadable WHERE table_id = id) FROM _rowsync_tables WHERE id = ${this.tableId}`,
    );
    const [local, state, unreadable] = (found ?? [null, null, 0]) as readonly [string | null, string | null, number];
    const own = problems.filter(({ table }) => table === local);
    if (isGivenFor(problems, { table: local, state })) return [];
    const { there, gone } = this.#moments;
    if (gone > 0)
      return there > 0 || local === null
        ? []
        : [{ rowId: 0, what: 'a table is gone, and the account does not say so' }];
    const told = own.reduce((sum, { code, count }) => (code === 'rows.unreadable' ? sum + count : sum), 0);
    if (told !== unreadable)
      return [{ rowId: 0, what: `${unreadable} rows beside cannot be read, and the account counts ${told}` }];
    const listed = user.query(sql`SELECT row_id FROM _rowsync_unreadable WHERE table_id = ${this.tableId}`);
    return this.#freshness
      .differing(
        new Map(this.rowsHere((statement) => user.query(statement), local ?? '').map((row) => [row.id, row])),
        new Set(listed.map(([id]) => Number(id))),
        new Set(),
      )
      .map((rowId) => ({
        rowId,
        what: `row ${rowId} beside is not as the origin had it, and the account does not name it`,
      }));
  }

  /** Its rows in the replica, where it has this name. */
  rowsHere(ask: Ask, local: string): readonly LocalRow[] {
    return ask(sql`SELECT _id, "Text" FROM ${ident(local)}`).map(([id, text]) => ({
      id: Number(id),
      tag: String(text),
      cells: {},
    }));
  }

  /** Whether a row is one of it, by its id. */
  hasRow(id: number): boolean {
    return id >= FIRST_ID;
  }

  #name(): string | null {
    return this.#parts.origin.tables().find(({ id }) => id === this.tableId)?.name ?? null;
  }

  /** Its rows at the origin. */
  rowsThere(): readonly LocalRow[] {
    const name = this.#name();
    const rows = name === null ? [] : this.#parts.origin.rows(name);
    return rows.map(({ id, values }) => ({ id, tag: String(values['Text']), cells: {} }));
  }
}
