/**
 * The page process itself: the program that host.ts starts. Input: one question at a time on the channel to the daemon. Output: its answer,
 * chunk by chunk, each as the daemon takes it. It ends with the channel.
 *
 * The replica is opened anew for every question, read-only, and SQLite may use only so much memory. Should the daemon be killed in the
 * middle of a query, a thread beside it notices that the parent is another one, and ends the process: SQLite lets nothing else
 * run meanwhile.
 */
import { Worker } from 'node:worker_threads';
import type { FromProcess, PageReply, ToProcess } from './request.ts';

const PARENT_LOOK_MS = 2_000;

/** Answers whoever started the process until it goes. */
export function serveQuestions(answerOf: (request: never) => PageReply): void {
  let takeMore: () => void = () => undefined;
  process.on('message', (message: unknown) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the daemon sends nothing else
    const asked = message as ToProcess<never>;
    if (asked.kind === 'more') takeMore();
    else void answer(answerOf(asked.request), (taken) => (takeMore = taken));
  });
  watchParent();
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

function watchParent(): void {
  const look = `if (process.ppid !== ${process.ppid}) process.kill(process.pid, 'SIGKILL')`;
  const lookout = new Worker(`setInterval(() => { ${look}; }, ${PARENT_LOOK_MS})`, {
    eval: true,
    resourceLimits: { maxOldGenerationSizeMb: 16 },
  });
  lookout.unref();
}
