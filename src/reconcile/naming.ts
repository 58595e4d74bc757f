/**
 * What a table or column of the origin is called in the replica. Names of the origin are data. They are kept to the
 * letter wherever SQLite can hold them, and otherwise changed by a rule that is stable and free of collisions.
 *
 *    kept                every name not named below, quotes, brackets, newlines and SQL keywords included
 *    starts reserved     `sqlite_…`, `_rowsync_…`, `sync_…` (tables), `_id`, `_allow` (columns): `origin_` goes in
 *                        front; also of the tables `new`, `old`, `json_each` and `pragma_…`, which mean something else
 *                        in our SQL, and of `rowid`, `oid` and `_rowid_`, columns that SQLite neither adds nor renames
 *    no usable name      empty: `origin_<id>`; NUL is dropped, and half a character becomes U+FFFD
 *    taken               another table or column has it, where case does not count (A-Z only, as in SQLite): `_<id>`
 *                        goes behind; should that be taken too, another `_`
 *    style `snake`       before all of that: `Order Line` is `order_line`, `2nd Phone` is `_2nd_phone`
 *
 * A name in the configuration goes first. A table or column gets its own name as soon as that is free. Pure.
 */
import { foldIdent } from '../base/sql.ts';

/** Whether a name is for a table or for a column. */
export type NameScope = 'table' | 'column';

/** How names are written here: as the origin has them, or in the form that code prefers. */
export type NameStyle = 'origin' | 'snake';

/** Besides SQLite's names and ours: names of rows in triggers, and functions that such a table would hide. */
const RESERVED_TABLE = /^(?:sqlite_|_rowsync_|sync_|(?:new|old|json_each|json_tree|dbstat|fts3tokenize|pragma_\w+)$)/i;
const RESERVED_COLUMN = /^(_id|_allow|rowid|oid|_rowid_)$/i;

/** Whether SQLite renames no column of this name; a table that an earlier version made may have one. */
export function isUnrenamable(local: string): boolean {
  return /^(?:rowid|oid|_rowid_)$/i.test(local);
}

/** How names are made here. */
export interface NameRules {
  readonly style: NameStyle;
  /** The name that the configuration gives a thing, by its name at the origin; undefined for none. */
  readonly given?: ((name: string) => string | undefined) | undefined;
}

/** The same, and what a name is scoped to. */
export interface Naming extends NameRules {
  readonly scope: NameScope;
}

/** What the origin calls a thing, and its id there. */
interface Named {
  readonly name: string;
  readonly id: number;
}

/** The replica's name for a thing that the origin calls `name`, if no other thing has it. */
export function ownName({ scope, style, given }: Naming, { name, id }: Named): string {
  const wellFormed = name.replaceAll('\0', '').toWellFormed();
  const text = given?.(name) ?? (style === 'snake' ? snakeName(wellFormed) : wellFormed);
  const reserved = (scope === 'table' ? RESERVED_TABLE : RESERVED_COLUMN).test(text);
  return text.trim() === '' ? `origin_${id}` : reserved ? `origin_${text}` : text;
}

function snakeName(name: string): string {
  const words = name
    .replaceAll(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, '_')
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '')
    .join('_');
  return /^\p{N}/u.test(words) ? `_${words}` : words;
}

/** The replica's name for a thing; `taken` holds folded names. */
export function localName(naming: Naming, thing: Named, taken: ReadonlySet<string>): string {
  const { id } = thing;
  let candidate = ownName(naming, thing);
  if (taken.has(foldIdent(candidate))) candidate = `${candidate}_${id}`;
  while (taken.has(foldIdent(candidate))) candidate = `${candidate}_`; // ends: `taken` is finite
  return candidate;
}

/** Whether a name is the one that a thing has in this style, perhaps with what tells it from another one's. */
export function isNameOf(local: string, naming: Naming, thing: Named): boolean {
  const own = ownName(naming, thing);
  const suffixed = `${own}_${thing.id}`;
  return local === own || (local.startsWith(suffixed) && /^_*$/.test(local.slice(suffixed.length)));
}

/** The names that described things have in the replica, without those that any known thing has already. */
export function newNames(
  naming: Naming,
  known: readonly { readonly localName: string }[],
  described: readonly Named[],
): readonly string[] {
  const here = new Set(known.map(({ localName: name }) => foldIdent(name)));
  return described.map((thing) => ownName(naming, thing)).filter((name) => !here.has(foldIdent(name)));
}

/** The name of a column or table that makes room for another one; `why` is for example `removed`. */
export function asideName(name: string, why: string, day: string, taken: ReadonlySet<string>): string {
  let candidate = `${name} (${why} ${day})`;
  for (let turn = 2; taken.has(foldIdent(candidate)); turn += 1) candidate = `${name} (${why} ${day}, ${turn})`;
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
 * The names here of all described tables, and of tables that are gone and make room for one, by id. `taken` are the
 * folded names of what is no table of ours. Of names that differ only in case, the table that has it, or the older one,
 * gets it.
 */
export function planTableNames(
  known: readonly TableName[],
  described: readonly { readonly id: number; readonly name: string }[],
  options: NameRules & { readonly taken: ReadonlySet<string>; readonly day: string },
): ReadonlyMap<number, string> {
  const knownById = new Map(known.map((table) => [table.id, table]));
  const describedIds = new Set(described.map(({ id }) => id));
  const naming: Naming = { ...options, scope: 'table' };
  const own = (table: Named): string => foldIdent(ownName(naming, table));
  const wanted = new Set(described.map(own));
  const resting = known.filter(({ id }) => !describedIds.has(id));
  const leaving = resting.filter(({ isGone, localName: name }) => isGone && wanted.has(foldIdent(name)));
  const taken = new Set(options.taken);
  for (const table of resting) if (!leaving.includes(table)) taken.add(foldIdent(table.localName));
  const names = new Map<number, string>();
  const give = (id: number, name: string): void => {
    names.set(id, name);
    taken.add(foldIdent(name));
  };
  const inOrder = described.toSorted((a, b) => a.id - b.id);
  const keepsName = (table: (typeof described)[number]): boolean => {
    const before = knownById.get(table.id);
    const isOwn = before?.name === table.name && before.localName === ownName(naming, table);
    return isOwn && !options.taken.has(foldIdent(before.localName));
  };
  for (const table of inOrder.filter(keepsName)) give(table.id, ownName(naming, table));
  for (const table of inOrder) if (!names.has(table.id)) give(table.id, localName(naming, table, taken));
  for (const { id, localName: name } of leaving) give(id, asideName(name, 'gone', options.day, taken));
  return names;
}
