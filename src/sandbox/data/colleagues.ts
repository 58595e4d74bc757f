/**
 * Simulated colleagues: people who edit, add and delete rows while someone replicates the database. New values are
 * taken from other rows of the same column, and which changes happen depends on the seed and the rows alone.
 */
import { must } from '../../base/assert.ts';
import { stampFromMs, type Clock } from '../../base/clock.ts';
import { TYPE_RULES } from '../../wire/column-types.ts';
import { hasOption, type Value } from '../../wire/schema.ts';
import { Random } from './random.ts';
import type { StoreColumn, Role, Table, User } from '../store/catalog.ts';
import type { UserSpec } from '../store/spec.ts';
import type { Store } from '../store/store.ts';

/** What colleagues did. */
export interface ActivityCounts {
  readonly updatedCount: number;
  readonly insertedCount: number;
  readonly deletedCount: number;
}

/** Colleagues leave small tables their last rows, so that no table runs empty while someone watches. */
const ROWS_KEPT = 5;
/** Rows and columns tried before an edit is given up as impossible, as in a table whose every column is unique. */
const TRIES_MAX = 20;
/** Time between two looks at what is due; a higher rate plays several changes per look. */
const TICK_MS_MIN = 20;

/** Shares of the changes; the rest are edits. */
const INSERT_SHARE = 0.2;
const DELETE_SHARE = 0.1;

type ColleagueAction = 'updated' | 'inserted' | 'deleted';

/** The colleagues of one sandbox. */
export class Colleagues {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  #insertedCount = 0;

  constructor(store: Store, clock: Clock, seed: number) {
    this.#store = store;
    this.#clock = clock;
    this.#random = new Random(seed);
  }

  /** Plays `count` changes, fewer only where the tables offer nothing to change. */
  play(count: number): ActivityCounts {
    const done = { updated: 0, inserted: 0, deleted: 0 };
    this.#store.change(() => {
      const countByTable = new Map(this.#store.catalog.tables.map((table) => [table, this.#store.count(table.name)]));
      for (let played = 0; played < count; played += 1) {
        const change = this.#playOne(countByTable);
        if (change !== undefined) done[change] += 1;
      }
    });
    return { updatedCount: done.updated, insertedCount: done.inserted, deletedCount: done.deleted };
  }

  /** Plays `perSecond` changes a second until `signal` aborts. Time lost beyond a second is not made up for. */
  async run(perSecond: number, signal: AbortSignal): Promise<void> {
    const tickMs = Math.max(TICK_MS_MIN, 1000 / perSecond);
    let dueSinceMs = this.#clock.monotonicMs();
    let owed = 0;
    while (!signal.aborted) {
      await this.#clock.sleep(tickMs, signal);
      if (signal.aborted) return;
      const nowMs = this.#clock.monotonicMs();
      owed = Math.min(perSecond, owed + ((nowMs - dueSinceMs) / 1000) * perSecond);
      dueSinceMs = nowMs;
      // The margin is for clocks that wake up a fraction of a millisecond early.
      const due = Math.floor(owed + 0.01);
      if (due > 0) this.play(due);
      owed -= due;
    }
  }

  #playOne(countByTable: Map<Table, number>): ColleagueAction | undefined {
    const table = this.#pickTable(countByTable);
    if (table === undefined) return undefined;
    const count = must(countByTable.get(table), 'the table was picked from the map');
    const draw = this.#random.next();
    if (draw < INSERT_SHARE) {
      this.#insert(table);
      countByTable.set(table, count + 1);
      return 'inserted';
    }
    if (draw < INSERT_SHARE + DELETE_SHARE && count > ROWS_KEPT) {
      this.#store.delete(table.name, this.#pickRow(table), { as: this.#pickColleague() });
      countByTable.set(table, count - 1);
      return 'deleted';
    }
    return this.#edit(table) ? 'updated' : undefined;
  }

  /** A table with rows; the more it has, the more is done in it. */
  #pickTable(countByTable: ReadonlyMap<Table, number>): Table | undefined {
    let total = 0;
    for (const count of countByTable.values()) total += count;
    let left = this.#random.next() * total;
    for (const [table, count] of countByTable) {
      left -= count;
      if (left < 0) return table;
    }
    return undefined;
  }

  #pickRow(table: Table): number {
    return must(this.#store.rowNear(table, this.#random.next()), 'a picked table has rows');
  }

  #pickColleague(): UserSpec {
    const { users, roles } = this.#store.catalog;
    const [owner, ...others] = users.filter((user) => mayWriteEverything(roles, user));
    return others.length > 0 ? this.#random.pick(others) : (owner ?? this.#store.user);
  }

  #edit(table: Table): boolean {
    const columns = table.columns.filter(isEditable);
    for (let tries = 0; tries < TRIES_MAX && columns.length > 0; tries += 1) {
      const column = this.#random.pick(columns);
      const row = this.#pickRow(table);
      const value = this.#newValue(table, column, row);
      if (this.#store.update(table.name, row, { [column.name]: value }, this.#pickColleague())) return true;
    }
    return false;
  }

  #newValue(table: Table, column: StoreColumn, row: number): Value {
    const now = this.#read(table, column, row);
    switch (TYPE_RULES[column.valueType].form) {
      case 'checkbox':
        return now !== true;
      case 'number':
        // Identifiers and long decimals are borrowed, small counts move by one.
        return typeof now === 'number' && Number.isInteger(now) && Math.abs(now) < 1000 && this.#random.chance(0.5)
          ? now + 1
          : this.#read(table, column, this.#pickRow(table));
      case 'timestamp':
        return stampFromMs(this.#clock.nowMs());
      default:
        return this.#read(table, column, this.#pickRow(table));
    }
  }

  #read(table: Table, column: StoreColumn, row: number): Value {
    return this.#store.readRows(table, [column], [row], null)[0]?.values[0] ?? null;
  }

  /** Adds a row that looks like another one, but for what must be unique. */
  #insert(table: Table): void {
    const columns = table.columns.filter((column) => isEditable(column) || isUniqueText(column));
    const [model] = this.#store.readRows(table, columns, [this.#pickRow(table)], null);
    const cells = columns.map((column, index) => {
      const value = model?.values[index] ?? null;
      return [column.name, isUniqueText(column) ? this.#uniqueText(value) : value] as const;
    });
    this.#store.insert(table.name, Object.fromEntries(cells), this.#pickColleague());
  }

  #uniqueText(model: Value): string {
    this.#insertedCount += 1;
    const serial = this.#random.integer(0, 0xffff_ffff).toString(16).padStart(8, '0');
    return `${String(model ?? 'New').slice(0, 40)}-${serial}${this.#insertedCount}`;
  }
}

function mayWriteEverything(roles: readonly Role[], user: User): boolean {
  const role = roles.find(({ name }) => name === user.role);
  return role === undefined || (role.canWrite && !role.editOwnOnly && role.hiddenTableIds.length === 0);
}

function isEditable(column: StoreColumn): boolean {
  return (
    column.kind === 'Updatable' &&
    !column.readOnly &&
    column.valueType !== 'Attachment' &&
    column.valueType !== 'Autonumber' &&
    !hasOption(column.options, 'Unique')
  );
}

function isUniqueText(column: StoreColumn): boolean {
  const isUnique = column.kind === 'Key' || (column.kind === 'Updatable' && hasOption(column.options, 'Unique'));
  return isUnique && column.valueType !== 'Autonumber' && column.sqlName !== null;
}
