/**
 * Which key of the configuration applies to each table of the origin. What is under a table's name binds to its id at
 * the first match, until a person changes it. So a rename at the origin brings nothing here that was to stay out. Pure.
 */
import { matchesPattern } from '../base/name-pattern.ts';
import { printable } from '../base/text.ts';
import type { Misnamed } from './account/facts.ts';

/** A key of `tables`, and what it says. */
export interface ConfiguredKey {
  readonly key: string;
  /** Its options as a text that can be compared; `false` where it leaves tables out. */
  readonly says: string;
  /** Whether it keeps tables, columns or rows from coming here, or masks them. */
  readonly excludes: boolean;
}

export interface ConfiguredTables {
  readonly keys: readonly ConfiguredKey[];
  /** The key that decides on a name; null for none. */
  find(name: string): ConfiguredKey | null;
}

export interface Binding {
  readonly id: number;
  /** Its name at the origin. */
  readonly name: string;
  /** The name under which the configuration applies to it; null while it waits for a person. */
  readonly boundName: string | null;
  /** The key that decided on that name; null for none, and for a table of an earlier version. */
  readonly boundKey: string | null;
  /** The key of its present name when a pull first saw that; null for none. A later key answers the rename. */
  readonly seenKey: string | null;
}

export interface WaitingTable {
  readonly id: number;
  readonly name: string;
  /** The name that it had; null for a new table. */
  readonly formerName: string | null;
  /** The present name of the table that its name belongs to; null where that is a key that no table has. */
  readonly owner: string | null;
}

export interface BoundTables {
  readonly bindings: readonly Binding[];
  readonly waiting: readonly WaitingTable[];
}

/**
 * Binds the described tables. `known` is what was bound the last time. A renamed table waits if the configuration has
 * its new name, and any table if its name is bound to another. One that `isConfirmed` takes what is under its present
 * name.
 */
export function bindTables(
  described: readonly { readonly id: number; readonly name: string }[],
  {
    known,
    configured,
    isConfirmed,
  }: {
    readonly known: readonly Binding[];
    readonly configured: ConfiguredTables;
    readonly isConfirmed: (name: string) => boolean;
  },
): BoundTables {
  const knownById = new Map(known.map((binding) => [binding.id, binding]));
  const tables = described.map((table) => {
    const judged = judge(table, knownById.get(table.id), configured);
    const isTaken = judged.hasOwnKey && isConfirmed(table.name);
    return { ...table, ...judged, ...(isTaken ? { keeps: null, isSettled: true } : {}) };
  });
  const ownerByName = new Map(tables.flatMap(({ keeps, name }) => (keeps === null ? [] : [[nameOf(keeps), name]])));
  const waiting: WaitingTable[] = [];
  const bindings = tables.map(({ id, name, own, keeps, hasOwnKey, isSettled }): Binding => {
    const owner = ownerByName.get(nameOf(name)) ?? null;
    const seenKey = own?.key ?? null;
    if (keeps !== null) {
      const before = knownById.get(id);
      if (hasOwnKey) waiting.push({ id, name, formerName: keeps, owner });
      return {
        id,
        name,
        boundName: keeps,
        boundKey: before?.boundKey ?? null,
        seenKey: seenKeyOf(before, name) ?? seenKey,
      };
    }
    if (isSettled || owner === null || !hasOwnKey) return { id, name, boundName: name, boundKey: seenKey, seenKey };
    if (own?.says !== LEFT_OUT) waiting.push({ id, name, formerName: null, owner });
    return { id, name, boundName: null, boundKey: null, seenKey };
  });
  return { bindings, waiting };
}

const LEFT_OUT = 'false';

/** Names and keys are compared in NFC. */
function nameOf(text: string): string {
  return text.normalize('NFC');
}

/** The key of a table's present name when a pull first saw that name; undefined if it is new. */
function seenKeyOf(before: Binding | undefined, name: string): string | null | undefined {
  return before?.name === name ? before.seenKey : undefined;
}

interface Judged {
  readonly own: ConfiguredKey | null;
  /** Whether `own` is the table's name, and no pattern. */
  readonly hasOwnKey: boolean;
  /** The former name under which the configuration applies; null for none. */
  readonly keeps: string | null;
  /** Whether the name is the table's own, whoever else had it. */
  readonly isSettled: boolean;
}

/** What decides on a table's present name, and whether what is under its former name still applies. */
function judge({ name }: { readonly name: string }, before: Binding | undefined, configured: ConfiguredTables): Judged {
  const own = configured.find(name);
  const boundName = before?.boundName ?? null;
  const judged = { own, hasOwnKey: own?.key === nameOf(name), keeps: null };
  if (before === undefined || boundName === null) return { ...judged, isSettled: false };
  if (nameOf(boundName) === nameOf(name)) return { ...judged, isSettled: true };
  const former = configured.find(boundName);
  const seenKey = seenKeyOf(before, name);
  const isAnswered = judged.hasOwnKey && seenKey !== undefined && seenKey !== own?.key;
  const isEdited = former === null || (before.boundKey !== null && before.boundKey !== former.key);
  if (isAnswered || isEdited) return { ...judged, isSettled: false };
  return former.says === own?.says ? { ...judged, isSettled: true } : { ...judged, keeps: boundName, isSettled: false };
}

/** A key that no table matches, and what a person reads of it. */
interface StrayKey extends Pick<ConfiguredKey, 'key' | 'excludes'> {
  readonly sentence: string;
}

/** The keys that match no table, neither by its name nor by the one under which the configuration applies to it. */
export function strayKeys(configured: ConfiguredTables, tables: readonly Binding[]): readonly StrayKey[] {
  const names = [
    ...new Set(tables.flatMap(({ name, boundName }) => (boundName === null ? [name] : [name, boundName]))),
  ];
  return configured.keys
    .filter(({ key }) => key !== '*' && !names.some((name) => matchesPattern(key, name)))
    .map(({ key, excludes }) => {
      return { key, excludes, sentence: `No table matches ${printable(key)} under tables${guessText(key, names)}` };
    });
}

/** Characters of a name that are compared; a longer one is as good as different. */
const COMPARED_CHARS_MAX = 200;

/** The name that differs from a key in the fewest letters, a third at most, where case and blanks do not count. */
export function nearestName(key: string, names: readonly string[]): string | null {
  const plain = (text: string): string =>
    nameOf(text)
      .toLowerCase()
      .replaceAll(/[\s*_-]+/g, '');
  const wanted = plain(key);
  if (wanted === '' || wanted.length > COMPARED_CHARS_MAX) return null;
  const near = names
    .filter((name) => name.length <= COMPARED_CHARS_MAX)
    .map((name) => ({ name, distance: distanceBetween(wanted, plain(name)) }))
    .filter(({ distance }) => distance <= Math.ceil(wanted.length / 3));
  return near.toSorted((a, b) => a.distance - b.distance)[0]?.name ?? null;
}

/** What a misspelt name may mean, to put behind it; empty where no name is alike. */
export function guessText(key: string, names: readonly string[]): string {
  const nearest = nearestName(key, names);
  return nearest === null ? '' : ` (did you mean ${printable(nearest)}?)`;
}

/** How many letters have to be added, dropped or exchanged (Levenshtein). */
function distanceBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const exchanged = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(exchanged, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Names in the configuration that no described table has; empty before the first pull. */
export function misnamedIn(
  configured: ConfiguredTables,
  tables: readonly (Binding & { readonly isDescribed: boolean })[],
): readonly Misnamed[] {
  const described = tables.filter(({ isDescribed }) => isDescribed);
  if (described.length === 0) return [];
  return [
    ...renamedSentences(described).map((sentence) => ({ kind: 'renamed' as const, sentence })),
    ...strayKeys(configured, described).map(({ excludes, sentence }) => ({
      kind: excludes ? ('excluding' as const) : ('stray' as const),
      sentence,
    })),
  ];
}

/** What a person reads of tables that were renamed while the configuration has their former names. */
export function renamedSentences(bindings: readonly Binding[]): readonly string[] {
  return bindings.flatMap(({ name, boundName, boundKey }) => {
    if (boundName === null || nameOf(boundName) === nameOf(name)) return [];
    const now = `${printable(boundName)} is now called ${printable(name)}; its configuration still applies`;
    return boundKey === null || boundKey === nameOf(boundName)
      ? `${now}: change the name in the configuration`
      : `${now} (${printable(boundKey)}): give ${printable(name)} a key of its own in the configuration`;
  });
}
