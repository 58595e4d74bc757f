/**
 * The tables and views of a replica, copied into memory without rows. Queries are compiled there, never run, even with
 * a table or a column removed. This is the only way to find out which ones a query reads.
 */
import Database from 'better-sqlite3';
import { oncePerKey } from '../../base/memoize.ts';
import { foldIdent, ident, sql } from '../../base/sql.ts';
import type { Connection } from '../../replica/connection.ts';
import { queryRows, queryTexts } from '../../replica/query.ts';

/** The names of the columns of an answer, or why there is none. */
export type CompiledQuery =
  | { readonly columns: readonly string[]; readonly problem: null }
  | { readonly columns: null; readonly problem: string };

export class SchemaModel {
  readonly #db = new Database(':memory:');
  readonly #columns = new Map<string, readonly string[]>();
  readonly #views = new Map<string, string>();
  /** Compiles a query with everything there. */
  readonly compile = oncePerKey((text: string) => this.#compileNow(text));
  /** The text of a query and of the views that it uses, folded. */
  readonly #wordsOf = oncePerKey((text: string) => this.#readWords(text));

  constructor(from: Connection) {
    // They come first, since each makes tables of its own, which are among the others.
    const virtual = sql`SELECT sql FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'`;
    for (const text of queryTexts(from, virtual)) this.#tryExec(text);
    const columns = sql`SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c
        WHERE t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL%' AND t.name NOT GLOB 'sqlite_*'`;
    for (const [table, lines] of Map.groupBy(queryRows(from, columns, []), ([name]) => String(name))) {
      const names = lines.map(([, column]) => String(column));
      this.#columns.set(foldIdent(table), names);
      this.#create(table, names);
    }
    const views = sql`SELECT name, sql FROM sqlite_schema WHERE type = 'view'`;
    for (const [name, text] of queryRows(from, views, [])) {
      this.#tryExec(String(text));
      this.#views.set(spoken(String(name)), String(text));
    }
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }

  /** Whether a query that compiles names a table, or one of its columns, itself or by a view. */
  names(text: string, table: string, column: string | null): boolean {
    // Compiling takes longer than looking for the words.
    const words = this.#wordsOf(text);
    if (!words.includes(spoken(table)) || !words.includes(spoken(column ?? table))) return false;
    return this.compile(text).problem === null && this.compileWithout(text, table, column).problem !== null;
  }

  /** Whether a column is in the answer of a query that takes all columns of something. */
  takesAll(text: string, table: string, column: string): boolean {
    const words = this.#wordsOf(text);
    if (!words.includes('*') || !words.includes(spoken(table))) return false;
    const [now, then] = [this.compile(text).columns, this.compileWithout(text, table, column).columns];
    return now !== null && then !== null && then.length < now.length;
  }

  /** Compiles a query as if a table or view, or a column of a table, were not there. */
  compileWithout(text: string, table: string, column: string | null): CompiledQuery {
    const columns = this.#columns.get(foldIdent(table));
    const view = this.#views.get(spoken(table));
    this.#tryExec(columns === undefined ? `DROP VIEW ${ident(table)}` : `DROP TABLE ${ident(table)}`);
    const others = columns?.filter((name) => column !== null && foldIdent(name) !== foldIdent(column)) ?? [];
    if (others.length > 0) this.#create(table, others);
    const compiled = this.#compileNow(text);
    if (others.length > 0) this.#tryExec(`DROP TABLE ${ident(table)}`);
    if (columns !== undefined) this.#create(table, columns);
    else if (view !== undefined) this.#tryExec(view);
    return compiled;
  }

  #compileNow(text: string): CompiledQuery {
    try {
      const statement = this.#db.prepare(text);
      if (!statement.reader || !statement.readonly)
        return { columns: null, problem: 'only a query that reads can be registered' };
      return { columns: statement.columns().map(({ name }) => name), problem: null };
    } catch (thrown) {
      const words = thrown instanceof Error ? thrown.message : String(thrown);
      return { columns: null, problem: words.replace(/ - should this be a string literal in single-quotes\?$/, '') };
    }
  }

  #readWords(text: string): string {
    let words = spoken(text);
    const left = new Map(this.#views);
    for (;;) {
      const found = [...left].find(([name]) => words.includes(name));
      if (found === undefined) break;
      left.delete(found[0]);
      words += ` ${spoken(found[1])}`;
    }
    return words;
  }

  #create(table: string, columns: readonly string[]): void {
    this.#tryExec(`CREATE TABLE ${ident(table)} (${columns.map(ident).join(', ')})`);
  }

  /** What cannot be copied is missing, and what reads it does not compile. */
  #tryExec(text: string): void {
    try {
      this.#db.exec(text);
    } catch {
      // A virtual table of a module that is not here, or a table that a virtual one made.
    }
  }
}

/** A text in the form in which names are looked for in it. */
function spoken(text: string): string {
  return foldIdent(text).replaceAll('""', '"');
}
