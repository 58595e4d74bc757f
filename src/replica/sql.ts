/**
 * SQL text that cannot carry outside text by accident. The `sql` tag takes numbers and what `ident`, `literal` and
 * `joinSql` made; a plain string in it does not compile. Values are bound, never written into the text. Pure.
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

/** A quoted text literal; only for DDL, where SQLite binds nothing. */
export function literal(text: string): Sql {
  return `'${text.replaceAll("'", "''").replaceAll('\0', '')}'` as Sql; // quoting makes any text safe
}

/** Safe parts with a constant between them. */
export function joinSql(parts: readonly Sql[], between: ', ' | ' OR ' | ' AND ' | ' UNION ALL ' = ', '): Sql {
  return parts.join(between) as Sql; // both are safe
}
