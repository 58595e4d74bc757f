/**
 * Child processes that answer questions with a read-only connection of their own, so that SQL of people and agents
 * never holds up this process. An answer that is late or unwanted is ended with its process, which always interrupts
 * SQLite.
 *
 * A process answers one question at a time. One stays a while for the next. It gets neither the environment of its
 * parent nor its secrets.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { on } from 'node:events';
import { writeFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { setPriority } from 'node:os';
import { isSea } from 'node:sea';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import PQueue from 'p-queue';
import { childFlags } from '../../base/node-flags.ts';
import type { FromChild, ToChild } from './child-process.ts';

/** The head of an answer, and its chunks. */
export interface ChildAnswer {
  readonly status: number;
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncGenerator<string | Uint8Array, void>;
}

/** Why there is no answer: `late` after the time limit, `ended` if the process ended, for example out of memory. */
export class ChildFailure extends Error {
  readonly reason: 'late' | 'ended' | 'unwanted' | 'closed';

  constructor(reason: ChildFailure['reason']) {
    super(reason);
    this.reason = reason;
  }
}

const IDLE_MS_MAX = 120_000;
/** Events by which a process ends; one that could not be started only closes. */
const ENDS = ['exit', 'close'];
/** Memory for JavaScript in a process; SQLite's own is bounded in there (process.ts). */
export const HEAP_MIB_MAX = 96;
/** Work of the daemon goes first, and such a process is what the system ends first where memory runs out. */
const NICENESS = 5;
const OOM_SCORE = '1000';

/** A process that was taken for one question; `release` says whether it may be asked another one. */
interface TakenChild {
  readonly child: ChildProcess;
  readonly release: (isWell: boolean) => void;
}

/** Processes that start on demand; `word` is the first word of their command line, and says which program answers. */
export class ChildPool<Request> {
  /** A question holds its place until its process ended or is free for another one. */
  readonly #queue: PQueue;
  readonly #word: string;
  readonly #closing = new AbortController();
  /** The process that waits for the next question, and how long it does. */
  #idle: { readonly child: ChildProcess; readonly until: AbortSignal } | null = null;

  constructor(processesMax: number, word: string) {
    this.#queue = new PQueue({ concurrency: processesMax });
    this.#word = word;
  }

  /** Asks; the time limit is for the whole answer. @throws ChildFailure, as its body does. */
  async ask(request: Request, options: { readonly msMax: number; readonly signal: AbortSignal }): Promise<ChildAnswer> {
    const late = AbortSignal.timeout(options.msMax);
    const ended = AbortSignal.any([late, options.signal, this.#closing.signal]);
    const failure = (): ChildFailure => {
      if (this.#closing.signal.aborted) return new ChildFailure('closed');
      return new ChildFailure(options.signal.aborted ? 'unwanted' : late.aborted ? 'late' : 'ended');
    };
    const taken = await this.#take(ended);
    if (taken === null) throw failure();
    const { child } = taken;
    holdOpen(child, true);
    const inbox = on(child, 'message', { close: ENDS });
    const next = async (): Promise<FromChild> => {
      const { value, done } = await inbox.next().catch(() => ({ value: undefined, done: true }));
      if (done === true) throw failure();
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own program sends nothing else
      return value?.[0] as FromChild;
    };
    const stop = (): void => void child.kill('SIGKILL');
    ended.addEventListener('abort', stop, { once: true });
    if (ended.aborted) stop(); // just when it was taken
    const release = (isWell: boolean): void => {
      ended.removeEventListener('abort', stop);
      void inbox.return?.();
      taken.release(isWell && !ended.aborted);
    };
    try {
      send(child, { kind: 'ask', request });
      const head = await next();
      if (head.kind !== 'head') throw new ChildFailure('ended');
      const body = bodyOf(child, next, release);
      await body.next(); // begun, so that it also ends where nobody takes anything of it
      return { status: head.status, type: head.type, headers: head.headers, body };
    } catch (thrown) {
      release(false);
      throw thrown;
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }

  close(): void {
    this.#closing.abort();
    this.#idle?.child.kill('SIGKILL');
  }

  /** A process for one question, once there is room for it; null if the question ended, or none can be started. */
  #take(ended: AbortSignal): Promise<TakenChild | null> {
    const { promise, resolve } = Promise.withResolvers<TakenChild | null>();
    ended.addEventListener('abort', () => resolve(null), { once: true });
    const work = this.#queue.add(async () => {
      if (ended.aborted) return resolve(null);
      const child = this.#idle?.child ?? this.#start();
      this.#idle = null;
      const isFree = await new Promise<boolean>((settle) => {
        // A process that ended makes room, whatever becomes of the answer.
        const end = (): void => settle(false);
        const release = (isWell: boolean): void => {
          for (const event of ENDS) child.off(event, end);
          settle(isWell);
        };
        for (const event of ENDS) child.once(event, end);
        resolve({ child, release });
      });
      // One process stays for the next question; others end, and so does one in the middle of an answer.
      if (isFree && this.#idle === null && !this.#closing.signal.aborted) return this.#keep(child);
      if (child.kill('SIGKILL'))
        await new Promise<void>((end) => void ENDS.map((event) => child.once(event, () => end())));
    });
    work.catch(() => resolve(null)); // the system refuses to start a process
    return promise;
  }

  #start(): ChildProcess {
    const child = spawn(process.execPath, ownWords(this.#word), {
      serialization: 'advanced',
      env: { UV_THREADPOOL_SIZE: '1', ...compileCache() },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('error', () => undefined); // it closes as well
    const forget = (): void => {
      if (this.#idle?.child === child) this.#idle = null;
    };
    for (const event of ENDS) child.once(event, forget);
    holdOpen(child, false);
    if (child.pid !== undefined) lowerPriority(child.pid);
    return child;
  }

  #keep(child: ChildProcess): void {
    holdOpen(child, false);
    const until = AbortSignal.timeout(IDLE_MS_MAX);
    this.#idle = { child, until };
    until.addEventListener('abort', () => {
      if (this.#idle?.until === until) child.kill('SIGKILL');
    });
  }
}

/** The command that starts this rowsync, its sources or its bundle. An executable has its own flags for Node. */
export function ownCommand(nodeFlags: readonly string[]): readonly string[] {
  if (isSea()) return [process.execPath];
  const own = import.meta.url;
  const main = new URL(own.endsWith('.ts') ? '../../cli/main.ts' : 'main.cjs', own);
  return [process.execPath, ...nodeFlags, fileURLToPath(main)];
}

/** The words behind the program that start a child of this pool. */
export function ownWords(word: string): readonly string[] {
  return [...ownCommand(childFlags(HEAP_MIB_MAX)).slice(1), word];
}

/** Lets a child use the compiled code of this process. Node appends a folder of its version itself. */
function compileCache(): Readonly<Record<string, string>> {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}

/** Whether this process stays for that child: while it is asked, not while it waits for a question. */
function holdOpen(child: ChildProcess, isAsked: boolean): void {
  const name = isAsked ? 'ref' : 'unref';
  child[name]();
  child.channel?.[name]();
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICENESS);
    if (process.platform === 'linux') writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE);
  } catch {
    // The process has ended already, or the system refuses; answers are made anyway.
  }
}

function send(child: ChildProcess, message: ToChild<unknown>): void {
  // If the channel is closed, the process ends, and that is what comes next.
  if (child.connected) child.send(message, () => undefined);
}

async function* bodyOf(
  child: ChildProcess,
  next: () => Promise<FromChild>,
  release: (isWell: boolean) => void,
): AsyncGenerator<string | Uint8Array, void> {
  let isWell = false;
  try {
    yield '';
    // Ends with the answer, or with the process at its time limit.
    for (;;) {
      const message = await next();
      if (message.kind !== 'chunk') {
        isWell = message.kind === 'end';
        return;
      }
      yield message.data;
      send(child, { kind: 'more' });
    }
  } finally {
    release(isWell);
  }
}
