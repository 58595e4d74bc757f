/**
 * Runs single worlds in a process of its own, which is killed where a planted bug keeps it busy for ever. Takes a
 * source tree and a world; produces what was wrong in it.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Complaint } from '../oracles/verdict.ts';
import type { Probe, Probed } from './probe-worker.ts';

/** A world that takes longer never ends; most take a tenth of a second. */
const PROBE_MS_MAX = 120_000;

/** One process at a time; dispose it at the end. */
export class Prober {
  #worker: ChildProcess | null = null;

  [Symbol.dispose](): void {
    this.#worker?.kill('SIGKILL');
    this.#worker = null;
  }

  /** What is wrong in a world; null where it is well. @throws Error where the process ends by itself. */
  run(probe: Probe): Promise<Complaint | null> {
    const worker = (this.#worker ??= fork(join(import.meta.dirname, 'probe-worker.ts'), {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    }));
    return new Promise((resolve, reject) => {
      const settle = (failure: Complaint | null): void => {
        clearTimeout(timer);
        worker.off('exit', onExit);
        worker.off('message', onMessage);
        resolve(failure);
      };
      const onExit = (): void => {
        this.#worker = null;
        clearTimeout(timer);
        reject(new Error('The process that runs worlds has ended by itself'));
      };
      const onMessage = ({ failure }: Probed): void => settle(failure);
      const timer = setTimeout(() => {
        worker.off('exit', onExit);
        this[Symbol.dispose]();
        settle({ oracle: 'hang', what: 'the engine does not come to an end' });
      }, PROBE_MS_MAX);
      worker.on('exit', onExit);
      worker.on('message', onMessage);
      worker.send(probe);
    });
  }
}
