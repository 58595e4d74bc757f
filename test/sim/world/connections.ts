/**
 * Keeps connections to the files of a simulated world. Opening one, reading the schema and preparing every statement
 * anew costs more than all that a short life does with it. A connection that is closed is given to the next life, or to
 * the next world, as a new one would be, with nothing open. SQLite itself looks whether the schema is still the one
 * that it knows. Where a file is written anew in its place, `catchUp` lets them see it; to what replaces a replica
 * within a world, everybody opens a new one.
 *
 * So what a new connection alone can show is shown behind each power cut and each copy: a log that is read from the
 * file, a schema that cannot be parsed.
 */
import Database from 'better-sqlite3';

/** What a person's connection is opened with: it never waits, because nobody would continue meanwhile. */
export const USER_OPTIONS: Database.Options = { timeout: 0 };

/** Setting a flag of a connection makes SQLite prepare every statement anew, also where it is set so already. */
const FLAG = /^(trusted_schema|cell_size_check|recursive_triggers) = (\w+)$/;

/** The connections of one worker. */
export class Connections {
  readonly #idle = new Map<string, Database.Database[]>();
  /** Closes each, idle or not, with the path that it is for. */
  readonly #closes = new Map<() => void, string>();
  /** Those that write the first commit of each world, by path. */
  readonly #writers = new Map<string, Database.Database>();

  /** A connection; `close` gives it back. */
  readonly connect = (path: string, options: Database.Options): Database.Database => {
    const key = JSON.stringify([path, options]);
    const idle = this.#idle.get(key) ?? [];
    this.#idle.set(key, idle);
    return idle.pop() ?? this.#open(path, options, idle);
  };

  /**
   * Lets every connection see that its database was replaced, without a log; none may be in use. The first commit gives
   * the log a salt of its own, by which each connection knows that its pages are of another time. But only a connection
   * that never began a log anew draws one (SQLite's wal.c), so one for each path does nothing else. Itself it knows
   * because it finds no log.
   */
  catchUp(path: string): void {
    const writer = this.#writers.get(path) ?? new Database(path, USER_OPTIONS);
    this.#writers.set(path, writer);
    const version = Number(writer.pragma('user_version', { simple: true }));
    writer.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${version}; COMMIT`);
    for (const [key, idle] of this.#idle) {
      if (pathOf(key) === path) for (const db of idle) db.prepare('SELECT count(*) FROM sqlite_schema').get();
    }
  }

  /** Closes those to this database permanently. */
  closeAllTo(path: string): void {
    for (const [close, openPath] of this.#closes) {
      if (openPath !== path) continue;
      close();
      this.#closes.delete(close);
    }
    for (const key of this.#idle.keys()) if (pathOf(key) === path) this.#idle.delete(key);
    this.#writers.get(path)?.close();
    this.#writers.delete(path);
  }

  /** Closes all of them permanently. */
  closeAll(): void {
    for (const close of [...this.#closes.keys(), ...this.#writers.values().map((db) => () => db.close())]) close();
    this.#closes.clear();
    this.#idle.clear();
    this.#writers.clear();
  }

  #open(path: string, options: Database.Options, idle: Database.Database[]): Database.Database {
    const db = new Database(path, options);
    const statements = new Map<string, Database.Statement>();
    const flags = new Map<string, string>();
    const [prepare, pragma, close] = [db.prepare.bind(db), db.pragma.bind(db), db.close.bind(db)];
    this.#closes.set(close, path);
    return Object.assign(db, {
      prepare: (text: string): Database.Statement => {
        let statement = statements.get(text);
        if (statement === undefined) statements.set(text, (statement = prepare(text)));
        return statement;
      },
      pragma: (text: string, how?: Database.PragmaOptions): unknown => {
        const [, name, value] = FLAG.exec(text) ?? [];
        if (name === undefined || value === undefined) return pragma(text, how);
        if (flags.get(name) !== value) pragma(text);
        flags.set(name, value);
        return [];
      },
      close: (): Database.Database => {
        if (db.inTransaction) db.exec('ROLLBACK');
        if (db.open && !idle.includes(db)) idle.push(db);
        return db;
      },
    });
  }
}

function pathOf(key: string): unknown {
  return (JSON.parse(key) as readonly unknown[])[0];
}
