/**
 * Which columns of a table come here, and how they are masked. Later code gets a description without omitted columns,
 * so no request names one. Masked columns have the type of their masks in it, and cannot be written.
 *
 * A renamed column stays omitted, or masked, while its pattern is in the configuration: its id is remembered. Pure.
 */
import { comparePatterns, matchesPattern } from '../base/name-pattern.ts';
import { isSameMask, maskedType, maskProblem } from '../wire/mask.ts';
import {
  columnType,
  type ColumnDescriptor,
  type Mask,
  type MaskKind,
  type TableDescriptor,
  isWritable,
} from '../wire/schema.ts';
import { guessText } from './option-bindings.ts';
import { stampColumn } from './follow.ts';
import { createdColumn } from './windows.ts';

export interface MaskRule {
  readonly pattern: string;
  readonly kind: MaskKind;
  readonly constant?: string | undefined;
}

export interface ColumnChoice {
  /** Patterns; null for all columns. */
  readonly include: readonly string[] | null;
  readonly exclude: readonly string[];
  readonly masks: readonly MaskRule[];
  /** Whether the configuration names this table, so that a name without a column is a mistake. */
  readonly isOfOneTable: boolean;
  /** The columns in `match` and `sort` of the table, which come as they are. */
  readonly match: string | null;
  readonly sort: readonly string[] | null;
}

/** An omitted column, and its pattern; null if `include` does not list it. */
export interface LeftOut {
  readonly id: number;
  readonly pattern: string | null;
}

/** A column as the replica knows it. */
interface ChosenColumn {
  readonly id: number;
  readonly name: string;
  readonly state: 'live' | 'removed' | 'aside';
  readonly mask: Mask | null;
}

/** The input of a choice. */
export interface Choosing {
  readonly choice: ColumnChoice | null;
  /** The columns omitted the last time, and the columns known here, with their masks. */
  readonly leftOut: readonly LeftOut[];
  readonly known: readonly ChosenColumn[];
  /** The key for hashing; called only if a column is hashed. */
  readonly keyDigest: () => string;
}

/** The result of a choice. */
export interface Chosen {
  readonly descriptor: TableDescriptor;
  readonly leftOut: readonly LeftOut[];
  /** Columns that come only because rowsync needs them. */
  readonly kept: readonly { readonly name: string; readonly why: string }[];
  /** Problems of the configuration: sentences that begin with an option. */
  readonly problems: readonly string[];
}

/** Chooses the columns of a described table. */
export function selectPulledColumns(descriptor: TableDescriptor, choosing: Choosing): Chosen {
  const { choice } = choosing;
  if (choice === null) return { descriptor, leftOut: [], kept: [], problems: [] };
  const needs = neededColumns(descriptor, choice);
  const leftOut: LeftOut[] = [];
  const kept: { name: string; why: string }[] = [];
  const problems: string[] = [];
  const columns = descriptor.columns.flatMap((column): readonly ColumnDescriptor[] => {
    const why = needs.get(column.id);
    const out = leftOutBy(column, choosing);
    if (out !== null && why === undefined) {
      leftOut.push(out);
      return [];
    }
    if (out !== null && why !== undefined) kept.push({ name: column.name, why });
    const rule = maskRuleOf(column, choosing);
    if (rule === null) return [column];
    const problem = why ?? maskProblem(rule.kind, columnType(column.type));
    if (problem === null) return [maskedColumn(column, rule, choosing.keyDigest)];
    const is = why === undefined ? problem : `is needed as it is at the origin, as ${why}`;
    problems.push(`mask.${rule.pattern}: the column "${column.name}" ${is}`);
    return [];
  });
  leftOut.push(...unseenLeftOut(descriptor, choosing));
  problems.push(...strayNames(descriptor, choosing, leftOut));
  const isChosen = leftOut.length > 0 || columns.some(({ mask }) => mask !== undefined);
  return { descriptor: isChosen ? { ...descriptor, columns, asksByName: true } : descriptor, leftOut, kept, problems };
}

/** The description as chosen when the table was read. A column with another type than then is unknown. */
export function chosenAsRead(
  descriptor: TableDescriptor,
  { leftOut, known }: Pick<Choosing, 'leftOut' | 'known'>,
): TableDescriptor {
  const outIds = new Set(leftOut.map(({ id }) => id));
  const maskById = new Map(
    known.flatMap(({ id, mask, state }) => (mask === null || state !== 'live' ? [] : [[id, mask]])),
  );
  if (outIds.size + maskById.size === 0) return descriptor;
  const columns = descriptor.columns.flatMap((column): readonly ColumnDescriptor[] => {
    const mask = maskById.get(column.id);
    if (outIds.has(column.id)) return [];
    if (mask === undefined) return [column];
    return [{ ...maskedAs(column, mask), ...(columnType(column.type) === mask.from ? {} : { type: 'Unknown' }) }];
  });
  return { ...descriptor, columns, asksByName: true };
}

/** Columns that are now omitted, or masked in another way: their values are removed before they are read anew. */
export function overtakenColumns<C extends ChosenColumn>(
  known: readonly C[],
  { descriptor, leftOut }: Pick<Chosen, 'descriptor' | 'leftOut'>,
  choosing: Choosing,
): readonly C[] {
  const maskById = new Map(descriptor.columns.map(({ id, mask }) => [id, mask ?? null]));
  const outIds = new Set(leftOut.map(({ id }) => id));
  return known.filter((column) => {
    if (outIds.has(column.id)) return true;
    const mask = maskById.get(column.id);
    if (mask !== undefined) return !isSameMask(column.mask, mask);
    // Not described any more, or hidden: only its name here is known.
    if (leftOutBy(column, choosing) !== null) return true;
    return column.mask === null && maskRuleOf(column, choosing) !== null;
  });
}

/** Why columns always come, unmasked, by their ids. */
function neededColumns(descriptor: TableDescriptor, { match, sort }: ColumnChoice): ReadonlyMap<number, string> {
  const { columns, key } = descriptor;
  const named = (names: readonly (string | null)[]): readonly ColumnDescriptor[] =>
    columns.filter(({ name }) => names.some((chosen) => chosen?.toLowerCase() === name.toLowerCase()));
  const needs: readonly (readonly [string, readonly (ColumnDescriptor | null)[]])[] = [
    ['column of sort', named(sort ?? [])],
    ['match column', named([match])],
    ['time of the last change', [stampColumn(columns)]],
    ['time of creation', [createdColumn(columns)]],
    ['key', columns.filter(({ name }) => name === key)],
  ];
  return new Map(
    needs.flatMap(([why, found]) => found.flatMap((column) => (column === null ? [] : [[column.id, `the ${why}`]]))),
  );
}

/** Whether a pattern names a column. */
export function isMatch(pattern: string, name: string): boolean {
  return matchesPattern(pattern, name, { ignoreCase: true });
}

/** The pattern that omits a column; null if it comes. */
function leftOutBy(
  { id, name }: { readonly id: number; readonly name: string },
  { choice, leftOut }: Choosing,
): LeftOut | null {
  if (choice === null) return null;
  if (choice.include !== null) {
    return choice.include.some((pattern) => isMatch(pattern, name)) ? null : { id, pattern: null };
  }
  const before = leftOut.find((one) => one.id === id)?.pattern;
  const [pattern] = choice.exclude.filter((one) => isMatch(one, name) || one === before).toSorted(comparePatterns);
  return pattern === undefined ? null : { id, pattern };
}

/** Columns to leave out that are not described now: a role may hide them, and show them again under another name. */
function unseenLeftOut({ columns }: TableDescriptor, choosing: Choosing): readonly LeftOut[] {
  const { choice, leftOut, known } = choosing;
  if (choice === null || choice.include !== null) return [];
  const described = new Set(columns.map(({ id }) => id));
  const before = leftOut.filter(({ pattern }) => choice.exclude.some((one) => one === pattern));
  const hidden = known.flatMap((column) => leftOutBy(column, choosing) ?? []);
  const unseen = new Map([...hidden, ...before].map((one) => [one.id, one]));
  return [...unseen.values()].filter(({ id }) => !described.has(id));
}

/** The most specific rule that masks a column; null for none. */
function maskRuleOf(
  { id, name }: { readonly id: number; readonly name: string },
  { choice, known }: Choosing,
): MaskRule | null {
  const rules = choice?.masks ?? [];
  const [rule] = rules
    .filter(({ pattern }) => isMatch(pattern, name))
    .toSorted((a, b) => comparePatterns(a.pattern, b.pattern));
  if (rule !== undefined) return rule;
  const before = known.find((column) => column.id === id && column.mask !== null)?.mask?.pattern;
  return rules.find(({ pattern }) => pattern === before) ?? null;
}

function maskedColumn(column: ColumnDescriptor, rule: MaskRule, keyDigest: () => string): ColumnDescriptor {
  const { pattern, kind, constant } = rule;
  const from = columnType(column.type);
  const key = kind === 'hash' ? keyDigest() : undefined;
  return maskedAs(column, { kind, from, pattern, constant, key });
}

function maskedAs(column: ColumnDescriptor, mask: Mask): ColumnDescriptor {
  return { ...column, type: maskedType(mask.kind), kind: null, readOnly: true, width: null, dataOptions: [], mask };
}

/**
 * Names under `exclude` and `mask` that no column of a table has, where the configuration names the table: a typing
 * error would let values through. A column that had such a name here stays bound to it, also when it is gone.
 */
function strayNames(
  { columns }: TableDescriptor,
  { choice, known }: Choosing,
  leftOut: readonly LeftOut[],
): readonly string[] {
  if (choice?.isOfOneTable !== true) return [];
  const described = new Set(columns.map(({ id }) => id));
  const names = [...columns, ...known.filter(({ id }) => !described.has(id))].map(({ name }) => name);
  const isStray = (pattern: string): boolean => !pattern.includes('*') && !names.some((name) => isMatch(pattern, name));
  const excludes = choice.exclude.filter((one) => isStray(one) && !leftOut.some(({ pattern }) => pattern === one));
  const masks = choice.masks
    .map(({ pattern }) => pattern)
    .filter((one) => isStray(one) && !known.some(({ mask }) => mask?.pattern === one));
  return [
    ...excludes.map((one) => `columns.exclude: the table has no column "${one}"${guessText(one, names)}`),
    ...masks.map((one) => `mask.${one}: the table has no such column${guessText(one, names)}`),
  ];
}

interface MisnamedColumn {
  readonly kind: 'renamed' | 'stray';
  readonly words: string;
}

/** Names to leave out that no column has any more: the column is called otherwise, or not shown any more. */
export function misnamedColumns(
  { columns }: TableDescriptor,
  { exclude, leftOut }: Pick<ColumnChoice, 'exclude'> & Pick<Choosing, 'leftOut'>,
): readonly MisnamedColumn[] {
  const isNamed = (one: string): boolean => columns.some(({ name }) => isMatch(one, name));
  return exclude.flatMap((one): readonly MisnamedColumn[] => {
    const bound = leftOut.filter(({ pattern }) => pattern === one);
    if (bound.length === 0 || one.includes('*') || isNamed(one)) return [];
    const now = columns.find(({ id }) => bound.some((out) => out.id === id));
    return now === undefined
      ? [{ kind: 'stray', words: `the origin no longer shows a column "${one}"` }]
      : [{ kind: 'renamed', words: `"${one}" is now called "${now.name}", which stays left out` }];
  });
}

/** The parameters of `select`. */
export interface Selection {
  readonly columns: readonly string[];
  readonly sort: readonly string[];
}

/** Decides the selection of a table. `sortOverride` wins; the key ends the order, which makes it total. */
export function planSelection(
  table: Pick<TableDescriptor, 'key' | 'columns' | 'asksByName'>,
  sortOverride: readonly string[] | null,
): { readonly selection: Selection; readonly unknownSort: readonly string[] } {
  const byLowerName = new Map(table.columns.map(({ name }) => [name.toLowerCase(), name]));
  const created = createdColumn(table.columns);
  const chosen = sortOverride ?? (created === null ? [] : [created.name]);
  const known = chosen.flatMap((name) => byLowerName.get(name.toLowerCase()) ?? []);
  // A key that the calling user may not see cannot be sorted by.
  const key = table.columns.find(({ name }) => name === table.key)?.name;
  const sort = key === undefined || known.includes(key) ? known : [...known, key];
  const unknownSort = chosen.filter((name) => !byLowerName.has(name.toLowerCase()));
  return { selection: { columns: columnNames(table), sort }, unknownSort };
}

/** The `column` parameters for exactly the columns of the description. */
export function columnNames(table: Pick<TableDescriptor, 'columns' | 'asksByName'>): readonly string[] {
  if (table.asksByName === true) return table.columns.map(({ name }) => name);
  return ['*', ...table.columns.filter((column) => !isWritable(column)).map(({ name }) => name)];
}
