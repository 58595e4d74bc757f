/**
 * The other side of a world in which rows are put back: colleagues make families of rows, delete some, with or without
 * what refers to them, and do more while the rows return. Remembers each row as it stood in the last pull.
 */
import { MODEL_TOKEN, OriginModel } from '../model/origin.ts';
import type { Tokens } from '../world/books.ts';
import { DATABASE } from '../world/setup.ts';
import type { Draw } from '../world/tape.ts';
import { isIdentified, keyColumn, REFERENCES, TABLES, tablesOf, type PutbackSetup, type Reference } from './setup.ts';

/** A row as a pull saw it. */
export interface KnownRow {
  readonly table: string;
  readonly id: number;
  readonly key: string;
  readonly name: string;
  readonly note: string;
  /** By the column of a reference, the key that it holds; empty for none. */
  readonly keys: ReadonlyMap<string, string>;
}

/** The name that a row has in maps. */
export function nameIn(table: string, idOrKey: number | string): string {
  return `${table} ${idOrKey}`;
}

/** The same notes again and again, as a rule would refuse them. */
function isRefused(value: unknown, share: number): boolean {
  const number = typeof value === 'string' ? /^m(\d{4})/.exec(value)?.[1] : undefined;
  return number !== undefined && (Number(number) * 37) % 100 < share * 100;
}

/** All colleagues, and their origin. */
export class Colleagues {
  readonly origin: OriginModel;
  /** Each row as it stood in the last pull that saw it, by table and id. */
  readonly known = new Map<string, KnownRow>();
  /** Rows that lost a reference which they had in a pull: the key, by table, id and column. */
  readonly emptied = new Map<string, string>();
  /** Names of rows that somebody made again, or changed, while rows returned. */
  readonly touched = new Set<string>();
  readonly #setup: PutbackSetup;
  readonly #tokens: Tokens;

  constructor(setup: PutbackSetup, tokens: Tokens, nowMs: () => number) {
    this.#setup = setup;
    this.#tokens = tokens;
    this.origin = new OriginModel({ tables: tablesOf(setup), nowMs, database: DATABASE, token: MODEL_TOKEN });
    this.origin.knobs.refusesCell = ({ value }) => isRefused(value, setup.refusedShare);
  }

  /** Makes rows that refer to each other, customers in circles, too. */
  begin(draw: Draw): void {
    const { rowCount } = this.#setup;
    for (const table of TABLES)
      for (let count = 0; count < rowCount; count += 1) {
        const keys = REFERENCES.filter((reference) => reference.table === table && table !== 'Customer');
        this.#insert(table, keys, draw);
      }
    for (const { id } of this.rows('Customer'))
      if (draw.chance(0.5)) this.origin.update('Customer', id, { Parent: this.#someKey('Customer', draw) });
  }

  /** A pull has seen everything. */
  notePulled(): void {
    for (const table of TABLES) for (const row of this.rows(table)) this.known.set(nameIn(table, row.id), row);
  }

  /** Rows of a table at the origin. */
  rows(table: string): readonly KnownRow[] {
    return this.origin.rows(table).map(({ id, values }) => ({
      table,
      id,
      key: String(values[keyColumn(this.#setup, table)] ?? ''),
      name: String(values['Name'] ?? ''),
      note: String(values['Note'] ?? ''),
      keys: new Map(
        REFERENCES.filter((one) => one.table === table).map(({ column }) => [column, String(values[column] ?? '')]),
      ),
    }));
  }

  /** Rows that a pull has seen, and that are gone, by the ids that they had. */
  lost(): readonly KnownRow[] {
    const here = new Set(TABLES.flatMap((table) => this.origin.ids(table).map((id) => nameIn(table, id))));
    return [...this.known].flatMap(([name, row]) => (here.has(name) ? [] : [row]));
  }

  /**
   * Changes notes, and deletes rows: each one that refers to them goes, too, loses its reference, or keeps it. Returns
   * what that was.
   */
  lose(draw: Draw): string {
    const done: string[] = [];
    for (const table of TABLES)
      for (const { id, name } of this.rows(table)) {
        if (draw.chance(0.2)) this.origin.update(table, id, { Note: this.#tokens.next('m') });
        if (draw.chance(0.25)) this.#delete(table, id, draw, done);
        if (draw.chance(0.1) && this.origin.ids(table).includes(id)) done.push(`${table} ${id} stays as ${name}`);
      }
    return `colleagues: ${done.join(', ')}`;
  }

  /** Does something while rows return; returns what that was. */
  act(draw: Draw): string {
    const table = draw.pick(TABLES);
    const [lost, here] = [this.lost().filter((row) => row.table === table), this.rows(table)];
    const names = new Set(here.map(({ name }) => name));
    const missing = lost.filter(({ name }) => !names.has(name));
    const what = draw.weighted([
      [3, 'restore'],
      [2, 'edit'],
      [1, 'insert'],
      [1, 'link'],
    ] as const);
    if (what === 'restore' && missing.length > 0 && isIdentified(this.#setup, table)) {
      const { name } = draw.pick(missing);
      const cells = { Name: name, Note: this.#tokens.next('m'), ...this.#required(table, draw) };
      this.touched.add(name);
      return `colleague: makes ${name} again as ${table} ${this.origin.insert(table, cells)}`;
    }
    const reference = REFERENCES.find((one) => one.table === table);
    if (what === 'insert') return `colleague: inserts ${table} ${this.#insert(table, [], draw)}`;
    if (here.length === 0 || reference === undefined) return 'colleague: does nothing';
    const { id, name } = draw.pick(here);
    this.touched.add(name);
    const { column, to } = reference;
    const cells = what === 'link' ? { [column]: this.#someKey(to, draw) } : { Note: this.#tokens.next('m') };
    this.origin.update(table, id, cells);
    return `colleague: changes ${table} ${id} (${name})`;
  }

  #delete(table: string, id: number, draw: Draw, done: string[]): void {
    const row = this.rows(table).find((one) => one.id === id);
    if (row === undefined) return;
    this.origin.delete(table, id);
    done.push(`${table} ${id} (${row.name}) goes`);
    for (const { table: from, column } of REFERENCES.filter(({ to }) => to === table))
      for (const child of this.rows(from).filter(({ keys }) => keys.get(column) === row.key)) {
        const fate = draw.pick(['goes', 'goes', 'loses', 'keeps'] as const);
        if (fate === 'goes') this.#delete(from, child.id, draw, done);
        if (fate !== 'loses' || (this.#setup.isRequired && from === 'Order')) continue;
        this.origin.update(from, child.id, { [column]: null });
        const had = this.known.get(nameIn(from, child.id))?.keys.get(column);
        if (had === row.key) this.emptied.set(`${nameIn(from, child.id)} ${column}`, row.key);
        done.push(`${from} ${child.id} loses ${column}`);
      }
  }

  #insert(table: string, references: readonly Reference[], draw: Draw): number {
    const cells = { ...this.#required(table, draw), ...this.#keys(references, draw) };
    return this.origin.insert(table, { Name: this.#tokens.next('t'), Note: this.#tokens.next('m'), ...cells });
  }

  #required(table: string, draw: Draw): Record<string, string> {
    return table === 'Order' && this.#setup.isRequired ? { Customer: this.#someKey('Customer', draw) ?? '0' } : {};
  }

  #keys(references: readonly Reference[], draw: Draw): Record<string, string | null> {
    return Object.fromEntries(references.map(({ column, to }) => [column, this.#someKey(to, draw)]));
  }

  #someKey(table: string, draw: Draw): string | null {
    const rows = this.rows(table);
    return rows.length === 0 ? null : draw.pick(rows).key;
  }
}
