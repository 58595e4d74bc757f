/**
 * Conditions of a filter that hold from a time on or up to one, such as `[Date Created] >= #2026-01-01 00:00:00#`, where `and` joins them with the
 * rest. In the order of such a column, all rows that match come one after the other.
 */
import { compileTree } from './compile.ts';
import type { Node } from './parser.ts';
import { isProblem, type Expression, type Scope } from './types.ts';

/** The span of one column that a filter leaves. */
export interface FilterSpan {
  /** Index of the column. */
  readonly column: number;
  readonly from: readonly Expression[];
  readonly to: readonly Expression[];
  /** Whether the filter says nothing else. */
  readonly isExact: boolean;
}

/** The span of the first column that has one; null without any. */
export function spanOfFilter(tree: Node, scope: Scope): FilterSpan | null {
  const conditions = conditionsOf(tree).map((node) => sideOf(node, scope));
  const column = conditions.find((condition) => condition !== null)?.column;
  if (column === undefined) return null;
  const own = conditions.filter((condition) => condition?.column === column);
  const of = (side: 'from' | 'to'): readonly Expression[] =>
    own.flatMap((condition) => (condition?.side === side ? [condition.expression] : []));
  return { column, from: of('from'), to: of('to'), isExact: own.length === conditions.length };
}

function conditionsOf(node: Node): readonly Node[] {
  if (node.kind !== 'chain' || node.rest[0]?.operator !== 'and') return [node];
  return [node.first, ...node.rest.map(({ operand }) => operand)].flatMap(conditionsOf);
}

function sideOf(
  node: Node,
  scope: Scope,
): { readonly column: number; readonly side: 'from' | 'to'; readonly expression: Expression } | null {
  if (node.kind !== 'chain' || node.rest.length > 1 || node.first.kind !== 'column') return null;
  const [link] = node.rest;
  if (link?.operand.kind !== 'literal' || link.operand.type !== 'timestamp' || !/^[<>]=?$/.test(link.operator))
    return null;
  const column = scope.column(node.first.name);
  const compiled = compileTree(node, scope);
  if (column?.type !== 'Timestamp' || isProblem(compiled)) return null;
  return { column: column.index, side: link.operator.startsWith('>') ? 'from' : 'to', expression: compiled.expression };
}
