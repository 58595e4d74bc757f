/**
 * SQL text that cannot carry outside text by accident. The `sql` tag takes numbers and what `ident`, `literal` and
 * `joinSql` made; a plain string in it does not compile. Values are bound, never written into the text. Pure.
 *
 * Where a statement finds rows by the first column of an index and wants them in the order of the next, it says `= +?`: SQLite (3.54) prepares
 * one that says `= ?` anew each time it runs, in case another value had a better plan.
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

/** Whether two values differ, byte for byte: a column of a table that another client rebuilt may compare its texts in another way. */
export function isOther(one: Sql, other: Sql): Sql {
  return sql`${one} COLLATE BINARY IS NOT ${other}`;
}

/** Safe parts with a constant between them. */
export function joinSql(parts: readonly Sql[], between: ', ' | ' OR ' | ' AND ' | ' UNION ALL ' = ', '): Sql {
  return parts.join(between) as Sql; // both are safe
}
