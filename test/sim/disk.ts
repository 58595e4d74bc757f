/**
 * The files of a simulated world: a replica in memory (tmpfs), copied from a template because making one anew costs three times
 * as much, the images of it that a power cut or a restored backup bring back. Real files, because a second SQL client works on
 * them; SQLite's own promises about torn writes are SQLite's to keep, so an image is always that of a commit.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Connections } from './connections.ts';
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
  readonly image: Image;
  readonly sent: Uint8Array;
}

/** The folder of one worker; one world after another lives in it. */
export class Disk {
  readonly path: string;
  /** Those of the engine; all are closed before the file is replaced. */
  readonly connections = new Connections();
  readonly #folder: string;
  readonly #template: string;

  /** `make` makes the template: a new replica at the given path, closed again. */
  constructor(make: (path: string) => void) {
    const memory = '/dev/shm';
    this.#folder = join(existsSync(memory) ? memory : tmpdir(), `rowsync-sim-${process.pid}`);
    rmSync(this.#folder, { recursive: true, force: true });
    mkdirSync(this.#folder, { recursive: true });
    this.path = join(this.#folder, 'replica.db');
    this.#template = join(this.#folder, 'template.db');
    make(this.#template);
  }

  /** Begins a world: with a replica in which nothing stands yet, or with one that was kept. */
  begin(start: Start | null): void {
    this.connections.closeAll();
    if (start === null) {
      this.#removeLogs();
      copyFileSync(this.#template, this.path);
      copyFileSync(`${this.#template}.sent`, `${this.path}.sent`);
    } else {
      this.restore(start.image);
      writeFileSync(`${this.path}.sent`, start.sent);
    }
  }

  /** What another world may begin with. */
  keep(): Omit<Start, 'files'> {
    return { image: this.image(), sent: readFileSync(`${this.path}.sent`) };
  }

  /** What a backup made now would hold; nobody may be writing. */
  image(): Image {
    const log = `${this.path}-wal`;
    return { main: readFileSync(this.path), log: existsSync(log) ? readFileSync(log) : null };
  }

  /** Puts an image in the place of the replica; nobody may have it open. What stands beside the file stays. */
  restore({ main, log }: Image): void {
    this.connections.closeAll();
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

  #removeLogs(): void {
    for (const suffix of ['-wal', '-shm']) rmSync(`${this.path}${suffix}`, { force: true });
  }
}
