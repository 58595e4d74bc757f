/**
 * What a table or column of the origin is called in the replica. Names of the origin are data. They are kept to the letter
 * wherever SQLite can hold them, and otherwise changed by a rule that is stable and free of collisions.
 *
 *    kept                every name not named below, quotes, brackets, newlines and SQL keywords included
 *    starts reserved     `sqlite_…`, `_rowsync_…`, `sync_…` (tables), `_id`, `_allow` (columns): `origin_` goes in front; so it does before
 *                        tables called `new`, `old`, `json_each` and `pragma_…`, which mean something else in our SQL
 *    no usable name      empty: `origin_<id>`; NUL characters, which no SQL text can carry, are dropped, and half a character,
 *                        which SQLite cannot store, becomes U+FFFD
 *    taken               another table or column has it, where case does not count (A-Z only, as in SQLite): `_<id>`
 *                        goes behind; should that be taken too, another `_`
 *
 * A column keeps its name until the origin renames it. A table gets its own name as soon as that is free. Pure.
 */

/** Whether a name is for a table or for a column. */
export type NameScope = 'table' | 'column';

/** Besides SQLite's names and ours: names that triggers use for a row, and functions that a table of their name would hide. */
const RESERVED_TABLE = /^(?:sqlite_|_rowsync_|sync_|(?:new|old|json_each|pragma_\w+)$)/i;
const RESERVED_COLUMN = /^(_id|_allow)$/i;

/** SQLite's own comparison of identifiers: only the letters A to Z lose their case. */
export function foldName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The replica's name for a thing that the origin calls `name`; `taken` holds folded names. */
export function localName(scope: NameScope, thing: { name: string; id: number }, taken: ReadonlySet<string>): string {
  const { name, id } = thing;
  const text = name.replaceAll('\0', '').toWellFormed();
  const reserved = (scope === 'table' ? RESERVED_TABLE : RESERVED_COLUMN).test(text);
  let candidate = text.trim() === '' ? `origin_${id}` : reserved ? `origin_${text}` : text;
  if (taken.has(foldName(candidate))) candidate = `${candidate}_${id}`;
  while (taken.has(foldName(candidate))) candidate = `${candidate}_`; // ends: `taken` is finite
  return candidate;
}

/** The name of a column or table that makes room for another one; `why` is for example `removed`. */
export function asideName(name: string, why: string, day: string, taken: ReadonlySet<string>): string {
  let candidate = `${name} (${why} ${day})`;
  for (let turn = 2; taken.has(foldName(candidate)); turn += 1) candidate = `${name} (${why} ${day}, ${turn})`;
  return candidate;
}

/** A table of the replica, and whether the origin no longer shows it. */
export interface TableName {
  readonly id: number;
  readonly name: string;
  readonly localName: string;
  readonly isGone: boolean;
}

/**
 * The names here of all described tables, and of tables that are gone and make room for one, by id. `taken` are the folded names of what is no table
 * of ours. Of two names that differ only in case, the table that has it keeps it, else the older one gets it.
 */
export function planTableNames(
  known: readonly TableName[],
  described: readonly { readonly id: number; readonly name: string }[],
  { taken: others, day }: { readonly taken: ReadonlySet<string>; readonly day: string },
): ReadonlyMap<number, string> {
  const knownById = new Map(known.map((table) => [table.id, table]));
  const describedIds = new Set(described.map(({ id }) => id));
  const own = (table: { readonly id: number; readonly name: string }): string =>
    foldName(localName('table', table, new Set()));
  const wanted = new Set(described.map(own));
  const resting = known.filter(({ id }) => !describedIds.has(id));
  const leaving = resting.filter(({ isGone, localName: name }) => isGone && wanted.has(foldName(name)));
  const taken = new Set(others);
  for (const table of resting) if (!leaving.includes(table)) taken.add(foldName(table.localName));
  const names = new Map<number, string>();
  const give = (id: number, name: string): void => {
    names.set(id, name);
    taken.add(foldName(name));
  };
  const inOrder = described.toSorted((a, b) => a.id - b.id);
  const keepsName = (table: (typeof described)[number]): boolean => {
    const before = knownById.get(table.id);
    return before !== undefined && before.name === table.name && foldName(before.localName) === own(table);
  };
  for (const table of inOrder.filter(keepsName)) give(table.id, knownById.get(table.id)?.localName ?? table.name);
  for (const table of inOrder.filter((one) => !keepsName(one))) give(table.id, localName('table', table, taken));
  for (const { id, localName: name } of leaving) give(id, asideName(name, 'gone', day, taken));
  return names;
}
