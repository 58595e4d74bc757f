/**
 * Which options apply to a table: matches its name against the patterns of the configuration.
 *
 * The most specific pattern that matches decides alone. Options of several patterns are never mixed, so that one line of the file
 * tells all there is to know of a table. Pure.
 */
import { comparePatterns, matcherOf, matchesPattern } from '../base/pattern.ts';
import type { TableOptions } from './options.ts';

/** The patterns of `tables` in the order in which they are tried. */
export interface TableRules {
  /** The pattern that decides on a table and its options; null where none matches, or the matching one says false. */
  find(tableName: string): TableRule | null;
  /** Every pattern of the configuration, the most specific first. */
  readonly patterns: readonly string[];
  /** Every pattern that does not say false, with its options, in the same order. */
  readonly rules: readonly TableRule[];
  /** Whether a pattern matches a table's name, regardless of the others. */
  matches(pattern: string, tableName: string): boolean;
}

/** The options that apply to one table. */
export interface TableRule {
  readonly pattern: string;
  readonly options: Exclude<TableOptions, false>;
}

/**
 * Orders the patterns: a name without `*` before any pattern, then by the number of literal characters, then by fewer
 * stars, then as written.
 */
export function tableRules(tables: Readonly<Record<string, TableOptions>>): TableRules {
  const rules = Object.entries(tables)
    .map(([pattern, options]) => ({ pattern, options, isMatch: matcherOf(pattern) }))
    .toSorted((a, b) => comparePatterns(a.pattern, b.pattern));
  return {
    patterns: rules.map((rule) => rule.pattern),
    rules: rules.flatMap(({ pattern, options }) => (options === false ? [] : [{ pattern, options }])),
    find: (tableName) => {
      const name = tableName.normalize('NFC');
      const rule = rules.find(({ pattern }) => pattern === name) ?? rules.find(({ isMatch }) => isMatch(name));
      return rule === undefined || rule.options === false ? null : { pattern: rule.pattern, options: rule.options };
    },
    matches: (pattern, tableName) => matchesPattern(pattern, tableName),
  };
}
