/**
 * SQL text that cannot carry outside text by accident. The `sql` tag takes numbers and what `ident`, `literal` and
 * `joinSql` made; a plain string in it does not compile. Values are bound, never written into the text. Pure.
 *
 * Where a statement finds rows by the first column of an index and wants them in the order of the next, it says `= +?`.
 * SQLite (3.54) prepares one that says `= ?` anew each time it runs, in case another value had a better plan.
 */

declare const safe: unique symbol;

/** SQL text made in this program. */
export type Sql = string & { readonly [safe]: true };

/** Builds SQL text from constants and safe parts. */
export function sql(texts: TemplateStringsArray, ...parts: readonly (Sql | number)[]): Sql {
  let text = texts[0] ?? '';
  for (const [index, part] of parts.entries()) text += part + (texts[index + 1] ?? '');
  return text as Sql; // every part is safe by its type
}

/** A quoted identifier. The name must have no NUL, which reconcile/naming sees to. */
export function ident(name: string): Sql {
  return `"${name.replaceAll('"', '""')}"` as Sql; // quoting makes any name safe
}

/** The form in which SQLite compares names: letters of ASCII count in either case. */
export function foldIdent(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** A quoted text literal; only for DDL, where SQLite binds nothing. */
export function literal(text: string): Sql {
  return `'${text.replaceAll("'", "''").replaceAll('\0', '')}'` as Sql; // quoting makes any text safe
}

/** Whether two values differ, byte for byte: a column that another client rebuilt may have another collation. */
export function isOther(one: Sql, other: Sql): Sql {
  return sql`${one} COLLATE BINARY IS NOT ${other}`;
}

export function joinSql(parts: readonly Sql[]): Sql {
  return parts.join(', ') as Sql; // both are safe
}

/** The disjunction of at least one condition. */
export function anyOf(conditions: readonly Sql[]): Sql {
  return inHalves(conditions, ' OR ');
}

/** The conjunction of at least one condition. */
export function allOf(conditions: readonly Sql[]): Sql {
  return inHalves(conditions, ' AND ');
}

/** SQLite takes 1,000 levels in an expression (its limits, 4), and a chain has one for each condition. */
function inHalves(conditions: readonly Sql[], operator: ' OR ' | ' AND '): Sql {
  if (conditions.length <= 1) return conditions.join('') as Sql; // it is safe
  const middle = Math.ceil(conditions.length / 2);
  const [one, other] = [conditions.slice(0, middle), conditions.slice(middle)];
  return `(${inHalves(one, operator)}${operator}${inHalves(other, operator)})` as Sql; // both are safe
}

/** SQLite takes 500 terms in one compound SELECT (its limits, 5), and as many of those again around them. */
const TERMS_MAX = 400;

/** The rows of all these selects, at least one. */
export function unionAll(selects: readonly Sql[]): Sql {
  const groups = Array.from({ length: Math.ceil(selects.length / TERMS_MAX) }, (_, index) =>
    selects.slice(index * TERMS_MAX, (index + 1) * TERMS_MAX).join(' UNION ALL '),
  );
  const terms = groups.length === 1 ? groups : groups.map((group) => `SELECT * FROM (${group})`);
  return terms.join(' UNION ALL ') as Sql; // all are safe
}
