/**
 * The files of a simulated world: a replica in memory (tmpfs), copied from a template because making one anew costs three times
 * as much, the images of it that a power cut or a restored backup bring back. Real files, because a second SQL client works on
 * them; SQLite's own promises about torn writes are SQLite's to keep, so an image is always that of a commit.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Connections, USER_OPTIONS } from './connections.ts';
import type { FileImage } from './files-disk.ts';

/** What stood in the file and its log at one moment. */
export interface Image {
  readonly main: Uint8Array;
  readonly log: Uint8Array | null;
}

/** A replica with what stands beside it. */
export interface Start {
  /** What stands on the disk of its files; null in a world without. */
  readonly files: FileImage | null;
  readonly main: Uint8Array;
  readonly sent: Uint8Array;
  /** Worlds that begin with the same schema share a path, and so the connections to it. */
  readonly path: string;
}

/** How many worlds connections are kept for, so that what is prepared on them does not grow for ever. */
const WORLDS_A_CONNECTION = 100;
/**
 * Where a file counts the changes of its schema (the SQLite file format, 1.3). Schemas that begin under one path begin with one number,
 * so that a connection reads the schema anew just where an earlier world changed it.
 */
const SCHEMA_VERSION_AT = 40;
/** The size of the index header of a log (the same, 2.2). */
const LOG_INDEX_HEADER_BYTES = 136;

/** The folder of one worker; one world after another lives in it. */
export class Disk {
  /** Those of the engine and the user. */
  readonly connections = new Connections();
  readonly #folder: string;
  /** A replica in which nothing stands yet. */
  readonly #empty: Omit<Start, 'files'>;
  /** The path for each schema that a world has begun with. */
  readonly #paths = new Map<string, string>();
  #path: string;
  #worldCount = 0;

  /** `make` makes the template: a new replica at the given path, closed again. */
  constructor(make: (path: string) => void) {
    const memory = '/dev/shm';
    this.#folder = join(existsSync(memory) ? memory : tmpdir(), `rowsync-sim-${process.pid}`);
    rmSync(this.#folder, { recursive: true, force: true });
    mkdirSync(this.#folder, { recursive: true });
    this.#path = join(this.#folder, 'replica.db');
    make(this.path);
    this.#empty = this.keep();
  }

  /** Where the replica of this world is. */
  get path(): string {
    return this.#path;
  }

  /** Begins a world: with a replica in which nothing stands yet, or with one that was kept. */
  begin(start: Omit<Start, 'files'> | null): void {
    this.#worldCount += 1;
    if (this.#worldCount % WORLDS_A_CONNECTION === 0) this.connections.closeAll();
    const { path, main, sent } = start ?? this.#empty;
    this.#path = path;
    this.#emptyLog();
    writeFileSync(path, main);
    writeFileSync(`${path}.sent`, sent);
    this.connections.catchUp(path);
  }

  /** What other worlds may begin with. */
  keep(): Omit<Start, 'files'> {
    const db = this.connections.connect(this.path, USER_OPTIONS);
    db.pragma('wal_checkpoint(TRUNCATE)');
    const schema = JSON.stringify(db.prepare('SELECT * FROM sqlite_schema').all());
    db.close();
    const path = this.#paths.get(schema) ?? join(this.#folder, `replica-${this.#paths.size + 1}.db`);
    this.#paths.set(schema, path);
    const main = readFileSync(this.path);
    main.writeUInt32BE(1, SCHEMA_VERSION_AT);
    return { main, sent: readFileSync(`${this.path}.sent`), path };
  }

  /** What a backup made now would hold; nobody may be writing. */
  image(): Image {
    const log = `${this.path}-wal`;
    return { main: readFileSync(this.path), log: existsSync(log) ? readFileSync(log) : null };
  }

  /** Puts an image in the place of the replica; nobody may have it open. What stands beside the file stays. */
  restore({ main, log }: Image): void {
    this.connections.closeAllTo(this.path);
    this.#removeLogs();
    writeFileSync(this.path, main);
    if (log !== null) writeFileSync(`${this.path}-wal`, log);
  }

  /** Reads what stands in an image. */
  lookInto<T>({ main, log }: Image, read: (look: (statement: string) => readonly unknown[][]) => T): T {
    const path = join(this.#folder, 'image.db');
    writeFileSync(path, main);
    if (log !== null) writeFileSync(`${path}-wal`, log);
    const db = new Database(path);
    try {
      return read((statement) => db.prepare(statement).raw().all() as unknown[][]);
    } finally {
      db.close();
    }
  }

  /** Removes everything. */
  [Symbol.dispose](): void {
    this.connections.closeAll();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** In place, because connections have them open: a log without frames, and an index of it that must be made anew. */
  #emptyLog(): void {
    const [log, index] = [`${this.path}-wal`, `${this.path}-shm`];
    if (existsSync(log)) truncateSync(log);
    if (existsSync(index)) writeFileSync(index, new Uint8Array(LOG_INDEX_HEADER_BYTES), { flag: 'r+' });
  }

  #removeLogs(): void {
    for (const suffix of ['-wal', '-shm']) rmSync(`${this.path}${suffix}`, { force: true });
  }
}
