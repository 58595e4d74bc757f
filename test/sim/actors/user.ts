/**
 * People with a SQL client and a connection of their own: each action is one statement or a few, drawn from the tape.
 * What it did is found by comparing the table before and after, so that REPLACE, triggers and refusals need no second
 * opinion.
 */
import Database from 'better-sqlite3';
import { type Books, type LocalRow, type LocalValue, type Tokens } from '../world/books.ts';
import { USER_OPTIONS } from '../world/connections.ts';
import { isUnderOtherCode } from '../world/copies.ts';
import type { Disk } from '../world/disk.ts';
import { rowFromReplica, rowFromVersion, selectedColumns, type LocalNames, type Names } from '../world/names.ts';
import type { Draw } from '../world/tape.ts';

/** One action: the statements to run, or null where there is nothing to do it to. */
type Action = (scene: Scene) => string | null;

interface Scene {
  readonly rows: readonly LocalRow[];
  readonly draw: Draw;
  readonly tokens: Tokens;
  /** Open conflicts, and the triggers that rowsync keeps on the table. */
  readonly conflicts: readonly number[];
  readonly triggers: readonly string[];
  /** Whether there is a unique index of the user's on the code. */
  readonly hasIndex: boolean;
  /** Whether the replica is an older copy: the origin may already have its new rows, under their codes. */
  readonly isOlderCopy: boolean;
  /** Whether triggers of theirs ignore updates of any column. */
  readonly ignores: boolean;
}

/** What an action came to. */
export interface Done {
  readonly name: string;
  readonly statements: string;
  /** What SQLite said where it refused; null where all was carried out. */
  readonly refusal: string | null;
  /**
   * Rows that existed before and no longer do, whatever their ids; empty if the whole table went, whose rows come back.
   */
  readonly removed: readonly LocalRow[];
}

function text(value: LocalValue): string {
  return value === null ? 'NULL' : `'${String(value).replaceAll("'", "''")}'`;
}

function rowOf({ rows, draw }: Scene): LocalRow | null {
  return rows.length === 0 ? null : draw.pick(rows);
}

/**
 * A new row of an older copy may exist at the origin, where only its code finds it: a user who changes or deletes it
 * takes the risk. So is who does that to the row as it came back from there, beside the one that is new here.
 */
function isPerhapsThere({ isOlderCopy, rows }: Scene, row: LocalRow): boolean {
  return isOlderCopy && rows.some(({ id, tag }) => id < 0 && tag === row.tag);
}

/** The columns that people write into. */
const EDITABLE = ['A', 'B'] as const;

const insert: Action = (scene) => {
  const { draw, tokens } = scene;
  const tag = tokens.next('t');
  const cells: (readonly [string, string])[] = [['Tag', text(tag)]];
  if (draw.chance(0.5)) cells.push(['Code', text(tokens.next('c'))]);
  cells.push(['A', text(tokens.next('u'))]);
  if (draw.chance(0.5)) cells.push(['B', text(tokens.next('u'))]);
  return `INSERT INTO {T} (${cells.map(([name]) => `{${name}}`).join(', ')}) VALUES (${cells.map(([, value]) => value).join(', ')})`;
};

const update: Action = (scene) => {
  const row = rowOf(scene);
  if (row === null) return null;
  const { draw, tokens } = scene;
  const columns = draw.chance(0.25) ? EDITABLE : [draw.pick(EDITABLE)];
  const sets = columns.map((column) => `{${column}} = ${text(tokens.next('u'))}`);
  return `UPDATE {T} SET ${sets.join(', ')} WHERE _id = ${row.id}`;
};

const setNull: Action = (scene) => {
  const row = rowOf(scene);
  return row && `UPDATE {T} SET {${scene.draw.pick(EDITABLE)}} = NULL WHERE _id = ${row.id}`;
};

const remove: Action = (scene) => {
  const row = rowOf(scene);
  if (row === null || isPerhapsThere(scene, row)) return null;
  return `DELETE FROM {T} WHERE _id = ${row.id}`;
};

const replace: Action = (scene) => {
  const row = rowOf(scene);
  if (row === null) return null;
  const code = scene.draw.chance(0.5) || isPerhapsThere(scene, row) ? (row.cells['Code'] ?? null) : null;
  const values = [String(row.id), text(row.tag), text(code), text(scene.tokens.next('u'))];
  return `INSERT OR REPLACE INTO {T} (_id, {Tag}, {Code}, {A}) VALUES (${values.join(', ')})`;
};

const updateAll: Action = ({ rows, tokens }) =>
  rows.length === 0 ? null : `UPDATE {T} SET {B} = ${text(tokens.next('u'))} || {Tag}`;

const changeCode: Action = (scene) => {
  const row = rowOf(scene);
  if (row === null || isPerhapsThere(scene, row)) return null;
  return `UPDATE {T} SET {Code} = ${text(scene.tokens.next('c'))} WHERE _id = ${row.id}`;
};

const rollBack: Action = ({ tokens }) =>
  `BEGIN; UPDATE {T} SET {A} = ${text(tokens.next('never'))}; DELETE FROM {T} WHERE _id % 2 = 0; ROLLBACK`;

const several: Action = (scene) => {
  const parts = [insert(scene), update(scene), remove(scene)].filter((part) => part !== null);
  return `BEGIN; ${parts.join('; ')}; COMMIT`;
};

const putBackValue: Action = (scene) => {
  const row = rowOf(scene);
  return row && `UPDATE {T} SET {A} = {A}, {B} = {B} WHERE _id = ${row.id}`;
};

const dropTrigger: Action = ({ draw, triggers }) =>
  triggers.length === 0 ? null : `DROP TRIGGER "${draw.pick(triggers)}"`;

const resolve: Action = ({ conflicts, draw }) => {
  if (conflicts.length === 0) return null;
  return `UPDATE sync_conflicts SET resolution = '${draw.pick(['local', 'remote'])}' WHERE id = ${draw.pick(conflicts)}`;
};

/** What a trigger of theirs makes of the value that it fires for. */
const TRIGGER_MARK = '~';

/** Whether a trigger of theirs made a value, of whatever anybody wrote. */
export function isMadeByTrigger(value: LocalValue): boolean {
  return typeof value === 'string' && value.endsWith(TRIGGER_MARK);
}

/** What a trigger of theirs may do to a two-way table: write over B, or say RAISE(IGNORE). */
const OWN_TRIGGERS = [
  `AFTER UPDATE OF {A} ON {T} WHEN NEW.{A} IS NOT OLD.{A} BEGIN
     UPDATE {T} SET {B} = NEW.{A} || '${TRIGGER_MARK}' WHERE _id = NEW._id; END`,
  `BEFORE UPDATE OF _id ON {T} BEGIN SELECT RAISE(IGNORE); END`,
  `BEFORE INSERT ON {T} WHEN NEW._id > 2 BEGIN SELECT RAISE(IGNORE); END`,
  `BEFORE DELETE ON {T} BEGIN SELECT RAISE(IGNORE); END`,
];

/** The same for updates of one column, or any. */
const IGNORING_TRIGGERS = [
  `BEFORE UPDATE OF {A} ON {T} BEGIN SELECT RAISE(IGNORE); END`,
  `BEFORE UPDATE ON {T} WHEN NEW.{B} IS NOT OLD.{B} BEGIN SELECT RAISE(IGNORE); END`,
  `BEFORE UPDATE ON {T} WHEN OLD._id % 2 = 0 BEGIN SELECT RAISE(IGNORE); END`,
];

const ownTrigger: Action = ({ draw, ignores }) =>
  draw.chance(0.3)
    ? 'DROP TRIGGER IF EXISTS own_trigger'
    : `CREATE TRIGGER own_trigger ${draw.pick(ignores ? IGNORING_TRIGGERS : [OWN_TRIGGERS[0] ?? '', ...OWN_TRIGGERS])}`;

/**
 * What a trigger of theirs may do to a mirror behind each row that is stored: change rows, take some away, put others
 * in.
 */
const MIRROR_TRIGGERS = [
  `AFTER UPDATE ON {T} WHEN NEW.{A} IS NOT OLD.{A} BEGIN UPDATE {T} SET {B} = '${TRIGGER_MARK}' WHERE _id <> NEW._id; END`,
  `AFTER INSERT ON {T} BEGIN UPDATE {T} SET {B} = NEW.{A} || '${TRIGGER_MARK}'; END`,
  `AFTER INSERT ON {T} BEGIN DELETE FROM {T} WHERE _id = NEW._id - 1; END`,
  `AFTER INSERT ON {T} BEGIN INSERT OR IGNORE INTO {T} (_id, {Tag}) VALUES (NEW._id + 100, 'stranger'); END`,
  `AFTER DELETE ON {T} BEGIN DELETE FROM {T} WHERE _id = (SELECT min(_id) FROM {T}); END`,
  `AFTER DELETE ON {T} BEGIN INSERT OR IGNORE INTO {T} (_id, {Tag}) VALUES (OLD._id, OLD.{Tag}); END`,
];

const mirrorTrigger: Action = ({ draw }) =>
  draw.chance(0.3) ? 'DROP TRIGGER IF EXISTS own_trigger' : `CREATE TRIGGER own_trigger ${draw.pick(MIRROR_TRIGGERS)}`;

const ownIndex: Action = ({ draw }) =>
  draw.chance(0.3) ? 'DROP INDEX IF EXISTS own_index' : 'CREATE UNIQUE INDEX own_index ON {T} ({Code})';

/** With an index of their own, this removes the row that has the code already. */
const takeCode: Action = (scene) => {
  if (!scene.hasIndex) return null;
  const [row, other] = [rowOf(scene), rowOf(scene)];
  const code = other?.cells['Code'] ?? null;
  if (row === null || other === null || code === null || row.id === other.id) return null;
  if (isPerhapsThere(scene, row) || isPerhapsThere(scene, other)) return null;
  return `UPDATE OR REPLACE {T} SET {Code} = ${text(code)} WHERE _id = ${row.id}`;
};

const ownColumn: Action = ({ draw }) =>
  draw.chance(0.5) ? 'ALTER TABLE {T} ADD COLUMN own_column TEXT' : 'ALTER TABLE {T} DROP COLUMN own_column';

const dropColumn: Action = ({ draw }) => `ALTER TABLE {T} DROP COLUMN {${draw.pick(['A', 'B'])}}`;

const dropTable: Action = () => 'DROP TABLE {T}';

const renameTable: Action = () => 'ALTER TABLE {T} RENAME TO own_name';

const rebuild: Action = () => 'CREATE TABLE own_copy AS SELECT * FROM {T}; DROP TABLE own_copy; VACUUM';

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
  [0.5, 'ownTrigger', ownTrigger],
  [0.5, 'ownIndex', ownIndex],
  [0.5, 'takeCode', takeCode],
  [0.2, 'ownColumn', ownColumn],
  [0.1, 'dropColumn', dropColumn],
  [0.1, 'dropTable', dropTable],
  [0.1, 'renameTable', renameTable],
  [0.2, 'rebuild', rebuild],
];

/** The actions of people who say RAISE(IGNORE). */
const IGNORING_ACTIONS: typeof USER_ACTIONS = [...USER_ACTIONS, [3, 'ownTrigger', ownTrigger]];

/** The actions in a mirror, which refuses edits. */
const MIRROR_ACTIONS: typeof USER_ACTIONS = [
  ...USER_ACTIONS.map(([weight, ...action]) => [weight / 2, ...action] as const),
  [8, 'mirrorTrigger', mirrorTrigger],
  [3, 'dropTrigger', dropTrigger],
];

const DROPS_TRIGGER = /DROP TRIGGER "?_rowsync_/;

/** What a user works with. */
interface UserParts {
  readonly books: Books;
  readonly tokens: Tokens;
  readonly names: Names;
  readonly ignores?: boolean | undefined;
}

/** The SQL client. */
export class User {
  readonly #disk: Disk;
  readonly #books: Books;
  readonly #tokens: Tokens;
  readonly #names: Names;
  readonly #ignores: boolean;
  #db: Database.Database | null = null;
  /** Statements of this connection; SQLite prepares them anew by itself after the schema changed. */
  readonly #statements = new Map<string, Database.Statement>();
  /**
   * Set once there was a trigger of their own, which may write over B whenever A changes, also when rowsync changes it.
   */
  hadTrigger = false;
  /** Set once one of rowsync's triggers was dropped, which refuse what the origin would not take. */
  hadNoTrigger = false;
  /** Set once the replica was replaced by an older copy. */
  isOlderCopy = false;

  constructor(disk: Disk, parts: UserParts) {
    this.#disk = disk;
    this.#books = parts.books;
    this.#tokens = parts.tokens;
    this.#names = parts.names;
    this.#ignores = parts.ignores === true;
  }

  /** Does what the draw says; null where nothing was done. */
  act(draw: Draw): Done | null {
    const names = draw.isCalm ? null : this.#names.inReplica((statement) => this.query(statement));
    if (names === null) return null;
    const ofRows = this.#ignores ? IGNORING_ACTIONS : USER_ACTIONS;
    const actions = this.#names.isMirror ? MIRROR_ACTIONS : ofRows;
    const [name, action] = draw.weighted(actions.map(([weight, ...item]) => [weight, item] as const));
    const rows = this.#rowsUnder(names);
    const template = action({
      rows,
      draw,
      tokens: this.#tokens,
      isOlderCopy: this.isOlderCopy,
      ignores: this.#ignores,
      ...this.#around(),
    });
    if (template === null) return null;
    const statements = template.replaceAll(
      /\{(T|Tag|Code|A|B)\}/g,
      (_, key: Exclude<keyof LocalNames, 'File'>) => names[key],
    );
    const db = this.#open();
    let refusal: string | null = null;
    try {
      db.pragma(`recursive_triggers = ${draw.chance(0.5) ? 'ON' : 'OFF'}`);
      db.exec(statements);
    } catch (thrown) {
      if (!(thrown instanceof Database.SqliteError)) throw thrown;
      refusal = thrown.message;
      if (db.inTransaction) db.exec('ROLLBACK');
    }
    if (/^(?:own|mirror)Trigger$/.test(name)) this.hadTrigger = true;
    if (DROPS_TRIGGER.test(statements)) this.hadNoTrigger = true;
    const namesAfter = this.#names.inReplica((statement) => this.query(statement));
    // What goes with a column or the table is no edit of rows: it comes back as the origin confirmed it.
    const after = namesAfter === null ? rows : this.#rowsUnder(namesAfter);
    if (namesAfter === null) this.#books.forget(/DROP COLUMN \{(\w+)\}/.exec(template)?.[1] ?? null);
    else this.#note(rows, after);
    return { name, statements, refusal, removed: removedFrom(rows, after) };
  }

  /**
   * Drops the index, which may keep the origin's rows out for as long as it stands. Drops the trigger, which may answer
   * every push with another edit where the origin's workflow answers every edit too.
   */
  tidyUp(): void {
    this.#open().exec('DROP INDEX IF EXISTS own_index; DROP TRIGGER IF EXISTS own_trigger');
  }

  /** Carries out what someone wrote down. */
  carryOut(statements: string, name = 'scripted'): Done {
    const rows = this.rows();
    let refusal: string | null = null;
    try {
      this.#open().exec(statements);
    } catch (thrown) {
      if (!(thrown instanceof Database.SqliteError)) throw thrown;
      refusal = thrown.message;
    }
    if (DROPS_TRIGGER.test(statements)) this.hadNoTrigger = true;
    if (this.#names.isMirror && statements.includes('CREATE TRIGGER')) this.hadTrigger = true;
    const namesAfter = this.#names.inReplica((statement) => this.query(statement));
    const after = namesAfter === null ? rows : this.#rowsUnder(namesAfter);
    // A table that was done away with, or renamed, comes back as the origin confirmed it.
    if (namesAfter === null) this.#books.forget(null);
    else this.#note(rows, after);
    return { name, statements, refusal, removed: removedFrom(rows, after) };
  }

  /**
   * Enters an edit in the books, but not of a mirror, where none is wanted: what gets in without our triggers is put
   * right.
   */
  #note(before: readonly LocalRow[], after: readonly LocalRow[]): void {
    if (!this.#names.isMirror) this.#books.note(before, after);
  }

  /** The rows of the table, as far as anybody edits them. */
  rows(): readonly LocalRow[] {
    const names = this.#names.inReplica((statement) => this.query(statement));
    return names === null ? [] : this.#rowsUnder(names);
  }

  /** All that stands in a row, also in columns that nobody edits. */
  valuesOf(id: number): readonly unknown[] {
    const names = this.#names.inReplica((statement) => this.query(statement));
    return names === null ? [] : this.query(`SELECT * FROM ${names.T} WHERE _id = ${id}`).flat();
  }

  #rowsUnder(names: LocalNames): readonly LocalRow[] {
    const rows = this.query(`SELECT ${selectedColumns(names)} FROM ${names.T} ORDER BY _id`).map(rowFromReplica);
    if (!rows.some(({ tag }) => tag === 'null')) return rows;
    // A tag that could not be read is empty here; its row is the one of the origin.
    const unreadable = new Set(
      this.query(`SELECT row_id FROM sync_failures WHERE kind = 'read'`).map(([id]) => Number(id)),
    );
    return rows.map((row) =>
      row.tag === 'null' && unreadable.has(row.id) ? { ...row, tag: this.#names.tagOf(row.id) ?? row.tag } : row,
    );
  }

  /** The connection of a client that only looks. */
  get connection(): Database.Database {
    return this.#open();
  }

  /** Reads the replica; each row is an array of its columns. */
  query(statement: string): readonly (readonly unknown[])[] {
    const db = this.#open();
    let prepared = this.#statements.get(statement);
    if (prepared === undefined) this.#statements.set(statement, (prepared = db.prepare(statement).raw()));
    return prepared.all() as unknown[][];
  }

  /**
   * Conflicts that are not decided in an older copy: a taken version could not be distinguished from its row at the
   * origin.
   */
  undecidable(): ReadonlySet<number> {
    const names = this.isOlderCopy ? this.#names.inReplica((statement) => this.query(statement)) : null;
    if (names === null) return new Set();
    const there = this.#names.rowsThere();
    const kept = this.query(`SELECT id, base, local, remote FROM sync_conflicts WHERE "column" IS NULL`);
    const isTwin = (version: unknown): boolean =>
      typeof version === 'string' && isUnderOtherCode(rowFromVersion(version, names), there);
    return new Set(kept.flatMap(([id, ...versions]) => (versions.some(isTwin) ? [Number(id)] : [])));
  }

  /** Closes the connection; it opens again by itself. */
  close(): void {
    this.#db?.close();
    this.#db = null;
    this.#statements.clear();
  }

  #around(): Pick<Scene, 'conflicts' | 'triggers' | 'hasIndex'> {
    const conflicts = this.query(`SELECT id FROM sync_conflicts WHERE state = 'open' ORDER BY id`);
    const left = this.undecidable();
    // Without those that give new rows their ids, a row may take that of a deleted one: another history, not a loss.
    const parts = this.query(
      `SELECT type, name FROM sqlite_schema
       WHERE type = 'trigger' AND name GLOB '${this.#names.isMirror ? '_rowsync_guard_*' : '_rowsync_capture_*'}'
         AND name NOT GLOB '_rowsync_capture_given_*' AND name NOT GLOB '_rowsync_capture_insert_*'
         OR type = 'index' AND name = 'own_index'
       ORDER BY 2`,
    );
    return {
      conflicts: conflicts.map(([id]) => Number(id)).filter((id) => !left.has(id)),
      triggers: parts.flatMap(([type, name]) => (type === 'trigger' ? [String(name)] : [])),
      hasIndex: parts.some(([type]) => type === 'index'),
    };
  }

  #open(): Database.Database {
    if (this.#db === null) {
      this.#db = this.#disk.connections.connect(this.#disk.path, USER_OPTIONS);
      this.#db.pragma('synchronous = FULL');
    }
    return this.#db;
  }
}

/** Rows of a table that are not in it any more, whatever their ids. */
export function removedFrom(before: readonly LocalRow[], after: readonly LocalRow[]): readonly LocalRow[] {
  const tagsAfter = new Set(after.map(({ tag }) => tag));
  return before.filter(({ tag }) => !tagsAfter.has(tag));
}
