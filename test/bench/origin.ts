/**
 * Sandboxes for benchmarks: one process for each size and latency, started when first asked for, all ended together.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writeDataFile } from './data.ts';
import type { Address, Order } from './origin-child.ts';

/** A sandbox in another process. */
export interface BenchOrigin extends Address {
  readonly rowCount: number;
  /** Changes rows at the origin; resolves when it is done. */
  change(order: Order): Promise<void>;
  /** Milliseconds that its process has worked so far. */
  workedMs(): Promise<number>;
}

/** Starts sandboxes, and keeps their files in `folder`. */
export class Origins {
  readonly #folder: string;
  readonly #children: ChildProcess[] = [];
  readonly #origins = new Map<string, Promise<BenchOrigin>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * A sandbox that serves `rowCount` rows; the same one for equal arguments, so whoever changes rows names it apart.
   */
  serve(
    rowCount: number,
    options: { readonly latencyMs?: number; readonly apart?: string } = {},
  ): Promise<BenchOrigin> {
    const { latencyMs = 0, apart = '' } = options;
    const name = `${rowCount}-${latencyMs}-${apart}`;
    let origin = this.#origins.get(name);
    if (origin === undefined) {
      const dataPath = join(this.#folder, `data-${rowCount}.sqlite`);
      if (!existsSync(dataPath)) writeDataFile(dataPath, rowCount);
      this.#origins.set(name, (origin = this.#start(dataPath, { rowCount, latencyMs })));
    }
    return origin;
  }

  /** A sandbox that serves the SQLite file that `write` makes; the same one for equal names. */
  serveFile(name: string, write: (path: string) => void): Promise<BenchOrigin> {
    let origin = this.#origins.get(name);
    if (origin === undefined) {
      const dataPath = join(this.#folder, `${name}.sqlite`);
      write(dataPath);
      this.#origins.set(name, (origin = this.#start(dataPath, { rowCount: 0, latencyMs: 0 })));
    }
    return origin;
  }

  async #start(dataPath: string, served: { rowCount: number; latencyMs: number }): Promise<BenchOrigin> {
    const { rowCount, latencyMs } = served;
    const child = fork(new URL('origin-child.ts', import.meta.url), [dataPath, String(latencyMs)]);
    this.#children.push(child);
    const failed = failure(child);
    failed.catch(() => undefined); // it ends with the benchmarks, too
    const [address] = (await Promise.race([once(child, 'message'), failed])) as [Address];
    const send = async (order: Order): Promise<number> => {
      child.send(order);
      const [workedMs] = (await Promise.race([once(child, 'message'), failed])) as [number];
      return workedMs;
    };
    return {
      ...address,
      rowCount,
      change: async (order) => void (await send(order)),
      workedMs: () => send({ kind: 'nothing' }),
    };
  }

  /** Ends every sandbox. */
  async stop(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, 'exit');
        child.disconnect();
        await ended;
      }),
    );
  }
}

async function failure(child: ChildProcess): Promise<never> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  throw new Error(`a child process of the benchmark ended early (${String(code ?? signal)})`);
}
