/**
 * The handle of an origin process (origin-child.ts): orders go out one at a time, each with its answer.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Pace } from './fast-clock.ts';
import type { Address, Answer, Order } from './origin-child.ts';

/** A running origin. */
export interface SoakOrigin extends Address {
  obey(order: Order): Promise<Answer>;
  /** Ends the process; its store stays. */
  stop(): Promise<void>;
}

/** Starts an origin whose store is a new file. */
export async function startOrigin(options: {
  readonly storePath: string;
  readonly seed: number;
  readonly mirrorRows: number;
  readonly pace: Pace;
}): Promise<SoakOrigin> {
  const { storePath, seed, mirrorRows, pace } = options;
  const args = [storePath, String(seed), String(mirrorRows), JSON.stringify(pace)];
  const child = fork(new URL('origin-child.ts', import.meta.url), args, { serialization: 'advanced' });
  const [address] = (await messageFrom(child)) as [Address];
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (order: Order): Promise<Answer> => {
    child.send(order);
    const [answer] = (await messageFrom(child)) as [Answer];
    return answer;
  };
  return {
    ...address,
    obey: (order) => {
      const answer = last.then(() => ask(order));
      last = answer.catch(() => undefined);
      return answer;
    },
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

async function messageFrom(child: ChildProcess): Promise<readonly unknown[]> {
  const ending = new AbortController();
  const { signal } = ending;
  const message: Promise<readonly unknown[]> = once(child, 'message', { signal });
  const exit = once(child, 'exit', { signal }).then(([code]): never => {
    throw new Error(`The origin ended: ${String(code)}`);
  });
  try {
    return await Promise.race([message, exit]);
  } finally {
    ending.abort();
    await Promise.allSettled([message, exit]);
  }
}
