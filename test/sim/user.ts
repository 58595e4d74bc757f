/**
 * People with a SQL client of their own, on a connection of their own: each action is one statement or a few, drawn from the tape. What
 * it did is found by looking at the table before and after, so that REPLACE, triggers and refusals need no second
 * opinion. Input: a replica that stands open. Output: statements carried out, and entries in the books.
 */
import Database from 'better-sqlite3';
import type { Books, LocalRow, LocalValue, Tokens } from './books.ts';
import type { Draw } from './tape.ts';

/** One action: the statements to run, or null where there is nothing to do it to. */
type Action = (scene: Scene) => string | null;

interface Scene {
  readonly rows: readonly LocalRow[];
  readonly draw: Draw;
  readonly tokens: Tokens;
  /** Open conflicts, and the triggers that rowsync keeps on the table. */
  readonly conflicts: readonly number[];
  readonly triggers: readonly string[];
  /** Whether the replica is an older copy: what stands in it as new may stand at the origin, under the code that it has. */
  readonly isOlderCopy: boolean;
}

/** What an action came to. */
export interface Done {
  readonly name: string;
  readonly statements: string;
  /** What SQLite said where it refused; null where all was carried out. */
  readonly refusal: string | null;
}

const TABLE = '"Thing"';

function text(value: LocalValue): string {
  return value === null ? 'NULL' : `'${String(value).replaceAll("'", "''")}'`;
}

function rowOf({ rows, draw }: Scene): LocalRow | null {
  return rows.length === 0 ? null : draw.pick(rows);
}

/** What an older copy has as new may stand at the origin, found there by its code alone: whoever changes that, or deletes it, is on their own. */
function isPerhapsThere({ isOlderCopy }: Scene, row: LocalRow): boolean {
  return isOlderCopy && row.id < 0;
}

const insert: Action = ({ draw, tokens }) => {
  const tag = tokens.next('t');
  const cells: (readonly [string, string])[] = [['Tag', text(tag)]];
  if (draw.chance(0.5)) cells.push(['Code', text(tokens.next('c'))]);
  cells.push(['A', text(tokens.next('u'))]);
  if (draw.chance(0.5)) cells.push(['B', text(tokens.next('u'))]);
  return `INSERT INTO ${TABLE} (${cells.map(([name]) => name).join(', ')}) VALUES (${cells.map(([, value]) => value).join(', ')})`;
};

const update: Action = (scene) => {
  const row = rowOf(scene);
  if (row === null) return null;
  const { draw, tokens } = scene;
  const columns = draw.chance(0.25) ? ['A', 'B'] : [draw.pick(['A', 'B'])];
  const sets = columns.map((column) => `${column} = ${text(tokens.next('u'))}`);
  return `UPDATE ${TABLE} SET ${sets.join(', ')} WHERE _id = ${row.id}`;
};

const setNull: Action = (scene) => {
  const row = rowOf(scene);
  return row && `UPDATE ${TABLE} SET ${scene.draw.pick(['A', 'B'])} = NULL WHERE _id = ${row.id}`;
};

const remove: Action = (scene) => {
  const row = rowOf(scene);
  if (row === null || isPerhapsThere(scene, row)) return null;
  return `DELETE FROM ${TABLE} WHERE _id = ${row.id}`;
};

const replace: Action = (scene) => {
  const row = rowOf(scene);
  if (row === null) return null;
  const code = scene.draw.chance(0.5) || isPerhapsThere(scene, row) ? (row.cells['Code'] ?? null) : null;
  const values = [String(row.id), text(row.tag), text(code), text(scene.tokens.next('u'))];
  return `INSERT OR REPLACE INTO ${TABLE} (_id, Tag, Code, A) VALUES (${values.join(', ')})`;
};

const updateAll: Action = ({ rows, tokens }) =>
  rows.length === 0 ? null : `UPDATE ${TABLE} SET B = ${text(tokens.next('u'))} || Tag`;

const changeCode: Action = (scene) => {
  const row = rowOf(scene);
  if (row === null || isPerhapsThere(scene, row)) return null;
  return `UPDATE ${TABLE} SET Code = ${text(scene.tokens.next('c'))} WHERE _id = ${row.id}`;
};

const rollBack: Action = ({ tokens }) =>
  `BEGIN; UPDATE ${TABLE} SET A = ${text(tokens.next('never'))}; DELETE FROM ${TABLE} WHERE _id % 2 = 0; ROLLBACK`;

const several: Action = (scene) => {
  const parts = [insert(scene), update(scene), remove(scene)].filter((part) => part !== null);
  return `BEGIN; ${parts.join('; ')}; COMMIT`;
};

const putBackValue: Action = (scene) => {
  const row = rowOf(scene);
  return row && `UPDATE ${TABLE} SET A = A, B = B WHERE _id = ${row.id}`;
};

const dropTrigger: Action = ({ draw, triggers }) =>
  triggers.length === 0 ? null : `DROP TRIGGER "${draw.pick(triggers)}"`;

const resolve: Action = ({ conflicts, draw }) => {
  if (conflicts.length === 0) return null;
  return `UPDATE sync_conflicts SET resolution = '${draw.pick(['local', 'remote'])}' WHERE id = ${draw.pick(conflicts)}`;
};

/** The actions, each as often as its weight says. */
export const USER_ACTIONS: readonly (readonly [weight: number, name: string, action: Action])[] = [
  [10, 'update', update],
  [6, 'insert', insert],
  [4, 'delete', remove],
  [2, 'setNull', setNull],
  [2, 'replace', replace],
  [1, 'updateAll', updateAll],
  [1, 'changeCode', changeCode],
  [1, 'rollBack', rollBack],
  [2, 'several', several],
  [1, 'touch', putBackValue],
  [1, 'dropTrigger', dropTrigger],
  [1, 'resolve', resolve],
];

/** The SQL client. */
export class User {
  readonly #path: string;
  readonly #books: Books;
  readonly #tokens: Tokens;
  #db: Database.Database | null = null;
  /** Statements of this connection; SQLite prepares them anew by itself after the schema changed. */
  readonly #statements = new Map<string, Database.Statement>();
  /** Set once the replica was replaced by an older copy. */
  isOlderCopy = false;

  constructor(path: string, parts: { readonly books: Books; readonly tokens: Tokens }) {
    this.#path = path;
    this.#books = parts.books;
    this.#tokens = parts.tokens;
  }

  /** Does what the draw says; null where nothing was done. */
  act(draw: Draw): Done | null {
    if (draw.isCalm || !this.#hasTable()) return null;
    const [name, action] = draw.weighted(USER_ACTIONS.map(([weight, ...item]) => [weight, item] as const));
    const rows = this.rows();
    const statements = action({ rows, draw, tokens: this.#tokens, isOlderCopy: this.isOlderCopy, ...this.#around() });
    if (statements === null) return null;
    const db = this.#open();
    let refusal: string | null = null;
    try {
      db.exec(`PRAGMA recursive_triggers = ${draw.chance(0.5) ? 'ON' : 'OFF'}`);
      db.exec(statements);
    } catch (thrown) {
      if (!(thrown instanceof Database.SqliteError)) throw thrown;
      refusal = thrown.message;
      if (db.inTransaction) db.exec('ROLLBACK');
    }
    this.#books.note(rows, this.rows());
    return { name, statements, refusal };
  }

  /** Carries out what somebody wrote down. */
  carryOut(statements: string): Done {
    const rows = this.rows();
    let refusal: string | null = null;
    try {
      this.#open().exec(statements);
    } catch (thrown) {
      if (!(thrown instanceof Database.SqliteError)) throw thrown;
      refusal = thrown.message;
    }
    this.#books.note(rows, this.rows());
    return { name: 'scripted', statements, refusal };
  }

  /** The rows of the table, as far as anybody edits them. */
  rows(): readonly LocalRow[] {
    if (!this.#hasTable()) return [];
    const found = this.query(`SELECT _id, Tag, Code, A, B FROM ${TABLE} ORDER BY _id`) as readonly (readonly [
      number,
      string,
      LocalValue,
      LocalValue,
      LocalValue,
    ])[];
    return found.map(([id, tag, code, a, b]) => ({ id, tag, cells: { Code: code, A: a, B: b } }));
  }

  /** Reads the replica; each row is an array of its columns. */
  query(statement: string): readonly (readonly unknown[])[] {
    const db = this.#open();
    let prepared = this.#statements.get(statement);
    if (prepared === undefined) this.#statements.set(statement, (prepared = db.prepare(statement).raw()));
    return prepared.all() as unknown[][];
  }

  /** Closes the connection; it opens again by itself. */
  close(): void {
    this.#db?.close();
    this.#db = null;
    this.#statements.clear();
  }

  #around(): Pick<Scene, 'conflicts' | 'triggers'> {
    const conflicts = this.query(`SELECT id FROM sync_conflicts WHERE state = 'open' ORDER BY id`);
    // Without those that give new rows their ids, a row may take that of a deleted one: another history, not a loss.
    const triggers = this.query(
      `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'Thing' AND name GLOB '_rowsync_capture_*'
         AND name NOT GLOB '_rowsync_capture_given_*' AND name NOT GLOB '_rowsync_capture_new_*' ORDER BY name`,
    );
    return { conflicts: conflicts.map(([id]) => Number(id)), triggers: triggers.map(([name]) => String(name)) };
  }

  #hasTable(): boolean {
    const known = `SELECT count(*) FROM pragma_table_info('Thing') WHERE name IN ('_id', 'Tag', 'Code', 'A', 'B')`;
    return this.query(known)[0]?.[0] === 5;
  }

  #open(): Database.Database {
    if (this.#db === null) {
      this.#db = new Database(this.#path, { timeout: 0 });
      this.#db.pragma('synchronous = FULL');
    }
    return this.#db;
  }
}
