/**
 * Makes finished downloads durable, several at a time. What arrives while one batch is synced goes into the next, because a file
 * system writes its journal once for syncs that run side by side. Order (I15): the bytes are synced, then come the final names, then
 * their folders, then the rows that name them.
 */
import type { Replica } from '../replica/database.ts';
import { storeFileFacts, storeFileHere, type FileFacts } from '../replica/bookkeeping/files.ts';
import type { FileStore, IncomingFile } from './store.ts';

/** A download that is whole. */
export interface FinishedFile {
  /** Of its row. */
  readonly id: number;
  readonly file: IncomingFile;
  readonly facts: FileFacts;
}

interface PendingWrite {
  readonly finished: FinishedFile;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Keeps files; use one for all that work side by side. */
export class FileWriter {
  readonly #store: FileStore;
  readonly #replica: Replica;
  #waiting: PendingWrite[] = [];
  #isBusy = false;

  constructor(store: FileStore, replica: Replica) {
    this.#store = store;
    this.#replica = replica;
  }

  /** Resolves once the file is durable and its row names it. @throws RowsyncError of the store or the replica. */
  keep(finished: FinishedFile): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ finished, resolve, reject });
      if (!this.#isBusy) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    // Ends: whoever waits is one of the downloads under way, whose number is bounded.
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      try {
        await this.#keepBatch(batch.map(({ finished }) => finished));
        for (const { resolve } of batch) resolve();
      } catch (thrown) {
        for (const { reject } of batch) reject(thrown);
      }
    }
    this.#isBusy = false;
  }

  async #keepBatch(batch: readonly FinishedFile[]): Promise<void> {
    const complete = await Promise.all(
      batch.map(async ({ file, ...known }) => ({ ...known, file: await file.complete() })),
    );
    await this.#store.keep(complete.map(({ file }) => file));
    await this.#replica.write('Storing files', (tx) => {
      for (const { id, file, facts } of complete) {
        storeFileFacts(tx, id, facts);
        storeFileHere(tx, id, file);
      }
    });
  }
}
