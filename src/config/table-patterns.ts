/**
 * Which options apply to a table: matches its name against the patterns of the configuration. A table that was renamed
 * at the origin is looked up by the name to which its options are bound (reconcile/option-bindings.ts).
 *
 * Only the most specific matching pattern applies. Options of several patterns are never merged, so that one entry of
 * the file says everything about a table.
 */
import { comparePatterns, matcherOf } from '../base/name-pattern.ts';
import type { ConfiguredTables } from '../reconcile/option-bindings.ts';
import type { TableOptions } from './options.ts';

/** The patterns of `tables` in the order in which they are tried. */
export interface TableRules {
  /** The pattern that decides on a table and its options; null where none matches, or the matching one says false. */
  find(tableName: string): TableRule | null;
  /** Every pattern that does not say false, with its options, the most specific first. */
  readonly rules: readonly TableRule[];
  /** Matches present names, to decide to which name each table is bound. */
  readonly byName: ConfiguredTables;
}

export interface TableRule {
  readonly pattern: string;
  readonly options: Exclude<TableOptions, false>;
}

/** Orders the patterns as `comparePatterns`, then as written. */
export function tableRules(tables: Readonly<Record<string, TableOptions>>): TableRules {
  const rules = Object.entries(tables)
    .map(([pattern, options]) => ({ pattern, options, isMatch: matcherOf(pattern) }))
    .toSorted((a, b) => comparePatterns(a.pattern, b.pattern));
  const ruleOf = (tableName: string): (typeof rules)[number] | null => {
    const name = tableName.normalize('NFC');
    return rules.find(({ pattern }) => pattern === name) ?? rules.find(({ isMatch }) => isMatch(name)) ?? null;
  };
  return {
    rules: rules.flatMap(({ pattern, options }) => (options === false ? [] : [{ pattern, options }])),
    find: (tableName) => {
      const rule = ruleOf(tableName);
      return rule === null || rule.options === false ? null : { pattern: rule.pattern, options: rule.options };
    },
    byName: {
      keys: rules.map(keyOf),
      find: (tableName) => {
        const rule = ruleOf(tableName);
        return rule === null ? null : keyOf(rule);
      },
    },
  };
}

function keyOf({ pattern, options }: { readonly pattern: string; readonly options: TableOptions }) {
  const excludes =
    options === false || [options.columns, options.mask, options.rows].some((option) => option !== undefined);
  return { key: pattern, says: JSON.stringify(options), excludes };
}

/** The same configuration, in which each table is found by the name to which its options are bound. */
export function withBoundNames<T extends { readonly tables: TableRules }>(
  config: T,
  boundNameOf: (name: string) => string,
): T {
  const { tables } = config;
  return { ...config, tables: { ...tables, find: (name) => tables.find(boundNameOf(name)) } };
}
