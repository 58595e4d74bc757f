/**
 * Starts `push-child.ts` and waits for its end.
 *
 *    expect(await pushInChild({ path, url, database, token, step: 'send', nth: 1, batchRows: 500 })).toBe('killed');
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { PushStep } from '../../src/push/context.ts';

/** What a child pushes, and when it dies. */
export interface PushJob {
  readonly path: string;
  readonly url: string;
  readonly database: string;
  readonly token: string;
  /** Dies before this step, the `nth` time that it comes to it. */
  readonly step: PushStep;
  readonly nth: number;
  readonly batchRows: number;
}

const CHILD = fileURLToPath(new URL('./push-child.ts', import.meta.url));

/**
 * `killed`, or the codes of what went wrong in a push that lived to its end. Children that share a `cacheFolder`
 * compile the program once.
 */
export async function pushInChild(job: PushJob, cacheFolder: string): Promise<'killed' | readonly string[]> {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: cacheFolder },
  });
  let [out, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const [, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  if (signal === 'SIGKILL') return 'killed';
  if (!out.startsWith('[')) throw new Error(`The child ended. It printed: ${out}${errors}`);
  return JSON.parse(out) as readonly string[];
}
