/**
 * The steps that give one replica table the shape that the origin describes. Tables and columns are followed by their
 * origin id, so a rename is a rename. Nothing is dropped or retyped on a guess (I17). A vanished column keeps its
 * values and is marked. If its values change their form, it is set aside under a dated name, and replaced.
 *
 * The actions must be applied in the order of the list. Pure.
 */
import { foldIdent } from '../base/sql.ts';
import { TYPE_RULES } from '../wire/column-types.ts';
import { columnType, type ColumnDescriptor, type ColumnType } from '../wire/schema.ts';
import { isMassRemoval } from './guards.ts';
import { asideName, isUnrenamable, localName, ownName, type NameRules, type Naming } from './naming.ts';

/** live: described and filled · removed: no longer described, keeps its last values · aside: replaced by a new form. */
export type ColumnState = 'live' | 'removed' | 'aside';

/** A column as the bookkeeping remembers it. */
export interface KnownColumn {
  readonly id: number;
  readonly name: string;
  readonly localName: string;
  readonly type: ColumnType;
  readonly state: ColumnState;
}

/** One step. A column that changes gets this name and state; `add` and `keep` have what is stored of the column. */
export type SchemaAction<C extends KnownColumn = KnownColumn> =
  | { readonly kind: 'change'; readonly column: C; readonly localName: string; readonly state: ColumnState }
  | { readonly kind: 'add' | 'keep'; readonly descriptor: ColumnDescriptor; readonly localName: string };

/** The steps, or the refusal to take any because most columns vanished. */
export type SchemaPlan<C extends KnownColumn = KnownColumn> =
  | { readonly kind: 'apply'; readonly actions: readonly SchemaAction<C>[] }
  | { readonly kind: 'hold'; readonly vanishedCount: number; readonly liveCount: number };

/** Writable columns that the origin no longer shows, or shows in another form. */
export function missingColumns<T extends Pick<KnownColumn, 'id' | 'type'> & { readonly writable: boolean }>(
  known: readonly T[],
  described: readonly ColumnDescriptor[],
): readonly T[] {
  const formById = new Map(described.map(({ id, type }) => [id, TYPE_RULES[columnType(type)].form]));
  return known.filter(({ id, type, writable }) => writable && formById.get(id) !== TYPE_RULES[type].form);
}

/** Plans one table; `day` names columns set aside, `foreign` are folded names of other clients' columns. */
export function planSchema<C extends KnownColumn>(
  known: readonly C[],
  described: readonly ColumnDescriptor[],
  options: NameRules & {
    readonly day: string;
    readonly foreign: ReadonlySet<string>;
    readonly confirmed: boolean;
  },
): SchemaPlan<C> {
  const describedById = new Map(described.map((column) => [column.id, column]));
  const live = known.filter(({ state }) => state === 'live');
  const vanished = live.filter(({ id }) => !describedById.has(id));
  if (!options.confirmed && isMassRemoval(live.length, vanished.length)) {
    return { kind: 'hold', vanishedCount: vanished.length, liveCount: live.length };
  }
  const { day, foreign } = options;
  const naming: Naming = { ...options, scope: 'column' };
  const usable = new Map<number, C>(); // columns that stay the home of their id
  const actions: SchemaAction<C>[] = [];
  const change = (column: C, name: string, state: ColumnState): void =>
    void actions.push({ kind: 'change', column, localName: name, state });
  const taken = new Set([...foreign, ...known.map((column) => foldIdent(column.localName))]);
  const setAside = (column: C, why: string, state: ColumnState): void => {
    const aside = isUnrenamable(column.localName) ? column.localName : asideName(column.localName, why, day, taken);
    taken.delete(foldIdent(column.localName));
    taken.add(foldIdent(aside));
    change(column, aside, state);
  };

  for (const column of known) {
    if (column.state === 'aside') continue;
    const descriptor = describedById.get(column.id);
    if (descriptor === undefined) {
      if (column.state === 'live') change(column, column.localName, 'removed');
    } else if (TYPE_RULES[column.type].form === TYPE_RULES[columnType(descriptor.type)].form) {
      usable.set(column.id, column);
      if (column.state === 'removed') change(column, column.localName, 'live');
    } else {
      setAside(column, 'was ' + column.type, 'aside');
    }
  }

  // A described name wins over a removed column that still has it.
  const wanted = new Set(described.map((column) => foldIdent(ownName(naming, column))));
  for (const column of known) {
    const isGone = column.state !== 'aside' && !describedById.has(column.id);
    if (isGone && wanted.has(foldIdent(column.localName))) setAside(column, 'removed', 'removed');
  }
  return { kind: 'apply', actions: [...actions, ...planNames(described, usable, { naming, taken })] };
}

/** Renames, additions and confirmations, in the order of ids, so that of two equal names the older thing keeps it. */
function planNames<C extends KnownColumn>(
  described: readonly ColumnDescriptor[],
  usable: ReadonlyMap<number, C>,
  { naming, taken }: { readonly naming: Naming; readonly taken: Set<string> },
): readonly SchemaAction<C>[] {
  const actions: SchemaAction<C>[] = [];
  const inOrder = described.toSorted((a, b) => a.id - b.id);
  const keepsName = (descriptor: ColumnDescriptor): boolean => {
    const name = usable.get(descriptor.id)?.localName;
    return name === ownName(naming, descriptor) || isUnrenamable(name ?? '');
  };
  const renamed = inOrder.filter((descriptor) => !keepsName(descriptor));
  for (const { id } of renamed) taken.delete(foldIdent(usable.get(id)?.localName ?? ''));
  const localNameById = new Map<number, string>();
  for (const descriptor of inOrder) {
    const column = usable.get(descriptor.id);
    const kept = keepsName(descriptor) ? column?.localName : undefined;
    const local = kept ?? localName(naming, descriptor, taken);
    taken.add(foldIdent(local));
    localNameById.set(descriptor.id, local);
    if (column !== undefined && column.localName !== local)
      actions.push({ kind: 'change', column, localName: local, state: 'live' });
  }
  for (const descriptor of described) {
    const local = localNameById.get(descriptor.id) ?? descriptor.name;
    actions.push({ kind: usable.has(descriptor.id) ? 'keep' : 'add', descriptor, localName: local });
  }
  return actions;
}
