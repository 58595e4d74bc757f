/**
 * The page process itself: the program that host.ts starts. Input: one question at a time on the channel to the daemon. Output: its answer,
 * chunk by chunk, each as the daemon takes it. It ends with the channel.
 *
 * The replica is opened anew for every question, read-only. SQLite blocks the main thread during a query. So a second thread ends the process when it
 * takes too much memory, or when the daemon is gone.
 */
import { Worker } from 'node:worker_threads';
import type { FromProcess, PageReply, ToProcess } from './request.ts';

/** Often enough to stop a query that takes a gigabyte a second. */
const LOOK_MS = 100;
/** Memory of the whole process, more than any page needs. This build of SQLite does not count its memory, so its own limits have no effect. */
const PROCESS_BYTES_MAX = 384 * 1024 * 1024;

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

/** Ends the process when its parent changed, or when it takes too much memory. */
function watch(): void {
  const isOver = `process.ppid !== ${process.ppid} || process.memoryUsage.rss() > ${PROCESS_BYTES_MAX}`;
  const look = `if (${isOver}) process.kill(process.pid, 'SIGKILL')`;
  const lookout = new Worker(`setInterval(() => { ${look}; }, ${LOOK_MS})`, {
    eval: true,
    resourceLimits: { maxOldGenerationSizeMb: 16 },
  });
  lookout.unref();
}
