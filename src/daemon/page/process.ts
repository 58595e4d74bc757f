/**
 * The page process itself: the program that host.ts starts. Input: one question at a time on the channel to the daemon. Output: its answer,
 * chunk by chunk, each as the daemon takes it. It ends with the channel.
 *
 * The replica is opened anew for every question, read-only. SQLite blocks the main thread during a query. So a second thread ends the process when it
 * takes too much memory, or when the daemon is gone.
 */
import { Worker } from 'node:worker_threads';
import type { FromProcess, PageReply, ToProcess } from './request.ts';

/** Often enough that a process takes few megabytes beyond its bound. */
const LOOK_MS = 25;
/**
 * Memory of the whole process but for the files that it shares with others: what Node takes, HEAP_MIB_MAX of host.ts and SQLITE_BYTES_MAX of answer.ts.
 * The single executable has the heap of the daemon baked in, so this is what bounds it there.
 */
export const PROCESS_MIB_MAX = 200;

/** Answers the parent process until it ends. */
export function serveQuestions(answerOf: (request: never) => PageReply): void {
  let takeMore: () => void = () => undefined;
  process.on('message', (message: unknown) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the daemon sends nothing else
    const asked = message as ToProcess<never>;
    if (asked.kind === 'more') takeMore();
    else void answer(answerOf(asked.request), (taken) => (takeMore = taken));
  });
  watch();
}

async function answer(
  { status, type, headers = {}, chunks }: PageReply,
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

function send(message: FromProcess): void {
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
