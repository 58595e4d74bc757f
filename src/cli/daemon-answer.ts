/**
 * What a running daemon says of itself, asked over its HTTP server. Input: the address that the configuration names. Output:
 * the part of `/status` that the command line shows, or null where nobody answers in time: the replica tells the rest.
 */
import { request } from 'node:http';
import type { ListenAddress } from '../config/load.ts';

/** What the daemon says of itself. */
export interface DaemonAnswer {
  /** One line. */
  readonly status: string;
  readonly working: string | null;
  readonly failure: { readonly message: string; readonly hint: string } | null;
  readonly jobs: readonly { readonly job: string; readonly nextAt: string }[];
}

/** A daemon that is there answers in milliseconds; a command that hangs because of it would be worse than none. */
const ANSWER_MS_MAX = 1_000;
const ANSWER_CHARS_MAX = 4 * 1024 * 1024;

/** Asks the daemon; null where none answers. */
export async function askDaemon(address: ListenAddress): Promise<DaemonAnswer | null> {
  try {
    const answer: unknown = JSON.parse(await get(address));
    return isAnswer(answer) ? answer : null;
  } catch {
    return null; // no daemon, or one that is just stopping: either way there is nothing to show
  }
}

function get(address: ListenAddress): Promise<string> {
  const where = address.kind === 'socket' ? { socketPath: address.path } : { host: address.host, port: address.port };
  return new Promise((resolve, reject) => {
    const asking = request({ ...where, path: '/status', agent: false, timeout: ANSWER_MS_MAX }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > ANSWER_CHARS_MAX) asking.destroy(new Error('too long'));
      });
      response.once('end', () => resolve(text));
      response.once('error', reject);
    });
    asking.once('timeout', () => asking.destroy(new Error('too slow')));
    asking.once('error', reject);
    asking.end();
  });
}

function isAnswer(value: unknown): value is DaemonAnswer {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'status' in value &&
    typeof value.status === 'string' &&
    'working' in value &&
    (value.working === null || typeof value.working === 'string') &&
    'failure' in value &&
    (value.failure === null || isFailure(value.failure)) &&
    'jobs' in value &&
    Array.isArray(value.jobs) &&
    value.jobs.every(isJob)
  );
}

function isFailure(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'hint' in value && typeof value.hint === 'string';
}

function isJob(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return 'job' in value && typeof value.job === 'string' && 'nextAt' in value && typeof value.nextAt === 'string';
}
