/**
 * The files of a simulated world. A replica in memory (tmpfs), copied from a template because making one anew costs
 * three times as much. And the images of it that a power cut or a restored backup bring back. Real files, because a
 * second SQL client works on them. SQLite's own promises about torn writes are SQLite's to keep, so an image is always
 * that of a commit.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
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

/** A moment that the disk can go back to: of a log that only grows, its length is enough. */
export type Moment = Image | { readonly main: Uint8Array; readonly logBytes: number };

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
const WORLDS_A_CONNECTION = 1_000;
/**
 * Where a file counts the changes of its schema (the SQLite file format, 1.3). Schemas that begin under one path begin
 * with one number, so that a connection reads the schema anew just where an earlier world changed it.
 */
const SCHEMA_VERSION_AT = 40;
/** The size of the index header of a log (the same, 2.2), and where it says how much of the log went into the file. */
const LOG_INDEX_HEADER_BYTES = 136;
const BACKFILL_AT = 96;
/** Where a log counts how often it was begun anew (the same, 4.1). */
const LOG_ROUND_AT = 12;

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
  /** What stood in the file when this world, or a copy, was put there. */
  #main: Uint8Array = new Uint8Array();
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
    this.#writeMain(main);
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
    return {
      main: this.#isMainUntouched() ? this.#main : readFileSync(this.path),
      log: existsSync(log) ? readFileSync(log) : null,
    };
  }

  /** Like an image, but for this world alone, and cheaper. */
  moment(): Moment {
    return this.#isMainUntouched() ? { main: this.#main, logBytes: statSync(`${this.path}-wal`).size } : this.image();
  }

  /** Whether it can still be put back: what stood in the log alone is gone once that was written into the file. */
  has(moment: Moment): boolean {
    return 'log' in moment || this.#isMainUntouched();
  }

  /**
   * Puts what was there in the place of the replica; nobody may be using it. What stands beside the file stays. It goes
   * to a path of its own: everybody opens it anew, and the connections to the first one are as good as new for the next
   * world.
   */
  restore(moment: Moment): void {
    const log = this.#logOf(moment);
    const sent = readFileSync(`${this.path}.sent`);
    this.#path = join(this.#folder, 'replaced.db');
    this.connections.closeAllTo(this.path);
    this.#removeLogs();
    this.#writeMain(moment.main);
    writeFileSync(`${this.path}.sent`, sent);
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

  #writeMain(main: Uint8Array): void {
    writeFileSync(this.path, main);
    this.#main = main;
  }

  /**
   * Whether the file is as it was put there: nothing of the log went into it, neither now nor before it was begun anew.
   */
  #isMainUntouched(): boolean {
    const [log, index] = [`${this.path}-wal`, `${this.path}-shm`];
    if (!existsSync(log) || !existsSync(index)) return false;
    return numberAt(index, BACKFILL_AT) === 0 && numberAt(log, LOG_ROUND_AT) === 0;
  }

  #logOf(moment: Moment): Uint8Array | null {
    if ('log' in moment) return moment.log;
    if (!this.#isMainUntouched()) throw new Error('The log was begun anew since that moment');
    return readFileSync(`${this.path}-wal`).subarray(0, moment.logBytes);
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

/** A number of four bytes; whether it is 0 does not depend on their order. Null where the file is shorter. */
function numberAt(path: string, offset: number): number | null {
  const bytes = Buffer.alloc(4);
  const file = openSync(path, 'r');
  try {
    return readSync(file, bytes, 0, 4, offset) === 4 ? bytes.readUInt32LE() : null;
  } finally {
    closeSync(file);
  }
}
