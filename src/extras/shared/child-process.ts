/**
 * A child process that answers questions, as extras/shared/child-pool.ts starts it: one question at a time on the
 * channel to its parent. The answer goes chunk by chunk, each as the parent takes it. It ends with the channel.
 *
 * A query blocks the main thread, so a second thread ends the process if it takes too much memory or has no parent.
 */
import { Worker } from 'node:worker_threads';

/** An answer; its `chunks` are made as they are read. */
export interface AnswerChunks {
  readonly status: number;
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks: Iterable<string | Uint8Array>;
}

export function jsonAnswer(status: number, value: unknown): AnswerChunks {
  return { status, type: 'application/json', chunks: [JSON.stringify(value)] };
}

/** The parent begins a question, or takes the next chunk of its answer. */
export type ToChild<Request> = { readonly kind: 'ask'; readonly request: Request } | { readonly kind: 'more' };

export type FromChild =
  | {
      readonly kind: 'head';
      readonly status: number;
      readonly type: string;
      readonly headers: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'chunk'; readonly data: string | Uint8Array }
  | { readonly kind: 'end' };

/** Often enough that a process takes few megabytes beyond its bound. */
const LOOK_MS = 25;
/**
 * Memory of the whole process but for the files that it shares with others: what Node takes, HEAP_MIB_MAX of
 * child-pool.ts and the bound of SQLite. It is the only bound in the executable, which has the heap of the daemon.
 */
export const PROCESS_MIB_MAX = 200;

export function serveQuestions(answerOf: (request: never) => AnswerChunks): void {
  let takeMore: () => void = () => undefined;
  process.on('message', (message: unknown) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its parent sends nothing else
    const received = message as ToChild<never>;
    if (received.kind === 'more') takeMore();
    else void answer(answerOf(received.request), (taken) => (takeMore = taken));
  });
  watch();
}

async function answer(
  { status, type, headers = {}, chunks }: AnswerChunks,
  onTaken: (taken: () => void) => void,
): Promise<void> {
  send({ kind: 'head', status, type, headers });
  for (const data of chunks) {
    const taken = new Promise<void>((resolve) => onTaken(resolve));
    send({ kind: 'chunk', data });
    await taken;
  }
  send({ kind: 'end' });
}

function send(message: FromChild): void {
  process.send?.(message);
}

/** Linux tells shared files apart. */
const TAKEN =
  process.platform === 'linux'
    ? String.raw`1024 * Number(/^RssAnon:\s+(\d+)/m.exec(require('node:fs').readFileSync('/proc/self/status', 'latin1'))[1])`
    : 'process.memoryUsage.rss()';

/** Ends the process when its parent changed, or when it takes too much memory. */
function watch(): void {
  const isOver = `process.ppid !== ${process.ppid} || ${TAKEN} > ${PROCESS_MIB_MAX * 1024 * 1024}`;
  const look = `if (${isOver}) process.kill(process.pid, 'SIGKILL')`;
  const lookout = new Worker(`setInterval(() => { ${look}; }, ${LOOK_MS})`, {
    eval: true,
    resourceLimits: { maxOldGenerationSizeMb: 16 },
  });
  lookout.unref();
}
