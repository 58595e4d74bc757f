/**
 * What a trial of a drift (drift.ts) leaves behind, read from both sides without any code of the pull. The origin
 * through the sandbox's store, the replica through connections of its own.
 */
import { quoted, readOrigin, readReplica, type Cell } from './compare.ts';
import type { Drift } from './drift.ts';
import type { Fixture } from './replica.ts';

/** Whether the edits of the drifting table are pushed. */
export type Mode = 'mirror' | 'two-way';

/** One drift at one moment. */
export interface Trial {
  readonly fixture: Fixture;
  readonly mode: Mode;
  readonly drift: Drift;
  readonly tableId: number;
  /** The drifting table's columns at the origin before, by name. */
  readonly columnIds: ReadonlyMap<string, number>;
  /** What had reached the origin when it changed, as text. */
  readonly reached: string;
}

/** What is wrong after a trial; all lists are empty where nothing is. */
export interface Outcome {
  readonly differences: readonly string[];
  readonly lostEdits: readonly string[];
  readonly lostRows: readonly string[];
  readonly lostValues: readonly string[];
}

/** Looks at both sides. Where something was `stopped`, they may differ. */
export function outcomeOf(trial: Trial, isStopped: boolean): Outcome {
  return {
    differences: isStopped ? [] : differencesOf(trial),
    lostEdits: trial.mode === 'mirror' ? [] : lostEdits(trial),
    lostRows: lostRows(trial),
    lostValues: lostValues(trial),
  };
}

/** Where the two sides differ, without rows that have edits; empty where they agree. */
export function differencesOf({ fixture }: Trial): readonly string[] {
  const here = readReplica(fixture.path);
  const there = visibleAtOrigin(fixture);
  const pending = new Set(
    (fixture.rows('SELECT "table", row_id FROM sync_changes') as { table: string; row_id: number }[]).map(
      ({ table, row_id: row }) => `${originNameOf(fixture, table)} ${row}`,
    ),
  );
  const differences: string[] = [];
  for (const [table, rows] of Object.entries(there)) {
    const byId = new Map((here[table] ?? []).map((row) => [text(row['_id']), row]));
    for (const row of rows) {
      const id = text(row['_id']);
      const own = byId.get(id);
      byId.delete(id);
      if (pending.has(`${table} ${id}`)) continue;
      for (const [column, value] of Object.entries(row)) {
        if (own?.[column] === value) continue;
        differences.push(`${table} ${id} ${column}: ${text(value)} there, ${text(own?.[column])} here`);
      }
    }
    for (const id of byId.keys())
      if (!pending.has(`${table} ${id}`)) differences.push(`${table} ${id} stands here alone`);
  }
  return differences;
}

function text(cell: Cell | undefined): string {
  return cell === undefined ? 'nothing' : String(cell);
}

function visibleAtOrigin({ sandbox }: Fixture): Readonly<Record<string, readonly Readonly<Record<string, Cell>>[]>> {
  const { catalog, user } = sandbox.store;
  const role = catalog.roles.find(({ name }) => name === user.role);
  const isHidden = (column: { readonly id: number }): boolean => role?.hiddenColumnIds.includes(column.id) ?? false;
  const visible = catalog.tables.filter(({ id }) => !(role?.hiddenTableIds.includes(id) ?? false));
  const rows = readOrigin(sandbox);
  return Object.fromEntries(
    visible.map(({ name, columns }) => {
      const names = ['_id', ...columns.flatMap((column) => (isHidden(column) ? [] : [column.name]))];
      return [
        name,
        (rows[name] ?? []).map((row) => Object.fromEntries(names.map((column) => [column, row[column] ?? null]))),
      ];
    }),
  );
}

function originNameOf(fixture: Fixture, localName: string): string {
  const [table] = fixture.rows('SELECT name FROM _rowsync_tables WHERE local_name = ?', localName);
  return (table as { name: string }).name;
}

/** The edits of a trial: where each value belongs, by the column's name before. */
const EDITS: readonly (readonly [column: string, value: string | number])[] = [
  ['Title', 'edited title'],
  ['Count', 101],
  ['Remark', 'edited remark'],
  ['Title', 'inserted title'],
  ['Code', 'inserted code'],
  ['Remark', 'inserted remark'],
];

function lostEdits({ fixture, columnIds, tableId, reached }: Trial): readonly string[] {
  const kept = JSON.stringify([
    reached,
    fixture.rows('SELECT local FROM sync_changes'),
    fixture.rows('SELECT sent FROM sync_failures'),
    fixture.rows('SELECT local FROM sync_conflicts'),
  ]);
  const { store } = fixture.sandbox;
  const table = store.catalog.tables.find(({ id }) => id === tableId);
  const rows = table === undefined ? [] : store.rows(table.name);
  const lost = EDITS.flatMap(([name, value]) => {
    const holders = (table?.columns ?? []).filter((column) =>
      rows.some(({ values }) => String(values[column.name]) === String(value)),
    );
    const wrong = holders.filter(({ id }) => id !== columnIds.get(name));
    if (wrong.length > 0) return [`${value} went into ${wrong.map((column) => column.name).join(', ')}`];
    return holders.length > 0 || kept.includes(String(value)) ? [] : [`${value} is gone`];
  });
  const isListed =
    fixture.rows(`SELECT 1 FROM sync_changes WHERE row_id = 4 AND kind = 'delete'`).length +
    fixture.rows(`SELECT 1 FROM sync_conflicts WHERE row_id = 4 AND kind = 'deletedHere'`).length;
  return rows.some(({ id }) => id === 4) && isListed === 0 ? [...lost, 'the delete of row 4 is gone'] : lost;
}

function lostRows({ fixture, mode, tableId }: Trial): readonly string[] {
  const { store } = fixture.sandbox;
  const table = store.catalog.tables.find(({ id }) => id === tableId);
  const there = table === undefined ? null : new Set(store.rows(table.name).map(({ id }) => id));
  const [local] = fixture.rows('SELECT local_name AS name FROM _rowsync_tables WHERE id = ?', tableId);
  const name = (local as { name: string }).name;
  const here = new Set(fixture.rows(`SELECT _id FROM ${quoted(name)}`).map((row) => (row as { _id: number })._id));
  const expected = mode === 'mirror' ? [1, 2, 3, 4, 6] : [1, 2, 3, 6];
  return expected.flatMap((id) => [
    ...(there === null || there.has(id) ? [] : [`row ${id} was deleted at the origin`]),
    ...(here.has(id) ? [] : [`row ${id} was deleted here`]),
  ]);
}

const ROW_6: Readonly<Record<string, unknown>> = {
  Title: 'title 6',
  Code: 'c6',
  Count: 6,
  Remark: 'remark 6',
  Done: 0,
};

/** Columns that were lost keep the last values of a row that nobody touched, as they were. */
function lostValues({ fixture, columnIds, drift, tableId }: Trial): readonly string[] {
  const names = drift.lostTable === 'Note' ? Object.keys(ROW_6) : (drift.lost ?? []);
  return names.flatMap((name) => {
    const columns = fixture.rows(
      `SELECT t.local_name AS "table", c.local_name AS "column" FROM _rowsync_columns c JOIN _rowsync_tables t ON t.id = c.table_id
       WHERE c.table_id = ? AND c.id = ?`,
      tableId,
      columnIds.get(name),
    ) as { table: string; column: string }[];
    const values = columns.map(({ table, column }) => {
      const [row] = fixture.rows(`SELECT ${quoted(column)} AS value FROM ${quoted(table)} WHERE _id = 6`);
      return (row as { value: unknown } | undefined)?.value;
    });
    return values.includes(ROW_6[name]) ? [] : [`${name} of row 6 is not kept`];
  });
}

/** Stops that this drift may end in, as codes. */
export function allowedStops({ drift, mode }: Trial): readonly string[] {
  return (mode === 'mirror' ? drift.mirrorStops : drift.stops) ?? [];
}
