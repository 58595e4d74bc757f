/**
 * Plans the tables of another database: names, types, and what gives a table today's columns. A renamed
 * column is recognised by its number in the bookkeeping; nothing is dropped.
 */
import { TYPE_RULES, type ValueForm } from '../../wire/column-types.ts';
import type { ColumnType } from '../../wire/schema.ts';

export const PG_TYPES = ['text', 'boolean', 'numeric', 'date', 'time', 'timestamptz', 'bigint'] as const;

export type PgType = (typeof PG_TYPES)[number];

const TYPES: Readonly<Record<ValueForm, PgType>> = {
  text: 'text',
  multiline: 'text',
  file: 'text',
  checkbox: 'boolean',
  number: 'numeric', // durations are seconds with all their digits, which an interval would round
  date: 'date',
  time: 'time',
  timestamp: 'timestamptz',
};

export function pgType(type: ColumnType): PgType {
  return TYPES[TYPE_RULES[type].form];
}

/** Bytes of a name in PostgreSQL (NAMEDATALEN - 1); a longer one would be cut silently. */
const NAME_BYTES_MAX = 63;

/** Columns that every table of PostgreSQL has (its documentation, 5.6), and the one that rowsync adds. */
const TAKEN_COLUMNS = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid', 'oid', '_deleted_at']);

/** The name in PostgreSQL: as it is here, or shortened, with a number that is unique among its kind. */
export function pgName(name: string, number: number, kind: 'table' | 'column'): string {
  const isTaken = kind === 'column' && TAKEN_COLUMNS.has(name);
  if (!isTaken && Buffer.byteLength(name) <= NAME_BYTES_MAX) return name;
  const ending = `~${number}`;
  let kept = name;
  while (Buffer.byteLength(kept + ending) > NAME_BYTES_MAX) kept = withoutLast(kept);
  return kept + ending;
}

/** Without its last character, which may be half of a surrogate pair. */
function withoutLast(text: string): string {
  const shorter = text.slice(0, -1);
  return shorter.isWellFormed() ? shorter : shorter.slice(0, -1);
}

/** A column: its identity, and its present or wanted form in PostgreSQL. */
export interface PgColumn {
  /** Number in the bookkeeping, and id at the origin: both, since another replica counts anew. */
  readonly seq: number;
  readonly originId: number;
  readonly name: string;
  readonly type: PgType;
}

/** What is renamed and then added, or the foreign column that has a needed name. */
export type PgPlan =
  | { readonly kind: 'apply'; readonly renames: readonly PgRename[]; readonly added: readonly PgColumn[] }
  | { readonly kind: 'hold'; readonly name: string };

interface PgRename {
  readonly from: string;
  readonly to: string;
}

/** Plans one table: `known` are our columns there, and `standing` the names of all columns. */
export function planPgTable(
  wanted: readonly PgColumn[],
  known: readonly PgColumn[],
  standing: readonly string[],
): PgPlan {
  const ours = known.filter(({ name }) => standing.includes(name));
  const left = new Set(ours);
  const homes = new Map<PgColumn, PgColumn>();
  const settle = (isHome: (one: PgColumn, other: PgColumn) => boolean): void => {
    for (const column of wanted) {
      if (homes.has(column)) continue;
      const home = [...left].find((one) => one.type === column.type && isHome(one, column));
      if (home === undefined) continue;
      homes.set(column, home);
      left.delete(home);
    }
  };
  settle((one, other) => one.seq === other.seq && one.originId === other.originId);
  settle((one, other) => one.name === other.name); // of another replica
  const foreign = new Set(standing.filter((name) => !ours.some((column) => column.name === name)));
  const blocked = wanted.find(({ name }) => foreign.has(name));
  if (blocked !== undefined) return { kind: 'hold', name: blocked.name };

  const wantedNames = new Set(wanted.map(({ name }) => name));
  const taken = new Set([...standing, ...wantedNames]);
  const renames: PgRename[] = [];
  for (const { name, seq } of left) {
    // It is no longer sent, and keeps its values under another name.
    if (!wantedNames.has(name)) continue;
    let aside = pgName(`${name} (old)`, seq, 'column');
    for (let number = 2; taken.has(aside); number += 1) aside = pgName(`${name} (old ${number})`, seq, 'column');
    taken.add(aside);
    renames.push({ from: name, to: aside });
  }
  for (const [column, home] of homes) {
    if (home.name !== column.name) renames.push({ from: home.name, to: column.name });
  }
  return { kind: 'apply', renames, added: wanted.filter((column) => !homes.has(column)) };
}
