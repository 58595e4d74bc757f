/**
 * What a running daemon says of itself, and what it makes of a person's decision, asked over its HTTP server. Input: the address that the
 * configuration names. Output: the part of `/status` that the command line shows, or the daemon's answer; null without an answer in time.
 */
import type { RequestOptions } from 'node:http';
import type { PersonDecision } from '../capture/decide.ts';
import type { ListenAddress } from '../config/load.ts';
import type { DecisionAnswer } from '../daemon/decision-queue.ts';

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
/** It waits a while for the work under way before it says that it is busy. */
const DECISION_MS_MAX = 15_000;
const ANSWER_CHARS_MAX = 4 * 1024 * 1024;

/** Asks the daemon; null where none answers. */
export async function askDaemon(address: ListenAddress): Promise<DaemonAnswer | null> {
  try {
    const answer: unknown = JSON.parse(await ask(address, { path: '/status', timeout: ANSWER_MS_MAX }));
    return isAnswer(answer) ? answer : null;
  } catch {
    return null; // no daemon, or one that is just stopping: either way there is nothing to show
  }
}

/**
 * Hands a decision to the daemon of a replica and returns what it made of it. Null without an answer, or without access: the key beside the replica
 * is for users who may read the replica.
 */
export async function askDaemonTo(
  address: ListenAddress,
  replicaPath: string,
  decision: PersonDecision,
): Promise<DecisionAnswer | null> {
  const { readPageKey } = await import('../daemon/page/key.ts');
  const key = readPageKey(replicaPath);
  if (key === null) return null;
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const options = { method: 'POST', path: '/decide', headers, timeout: DECISION_MS_MAX };
  try {
    const answer: unknown = JSON.parse(await ask(address, options, JSON.stringify(decision)));
    return isDecisionAnswer(answer) ? answer : null;
  } catch {
    return null;
  }
}

async function ask(address: ListenAddress, options: RequestOptions, body = ''): Promise<string> {
  const { request } = await import('node:http');
  const where = address.kind === 'socket' ? { socketPath: address.path } : { host: address.host, port: address.port };
  return new Promise((resolve, reject) => {
    const asking = request({ ...where, ...options, agent: false }, (response) => {
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
    asking.end(body);
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

const ANSWER_KINDS: readonly unknown[] = ['done', 'problem', 'busy', 'failed'];

function isDecisionAnswer(value: unknown): value is DecisionAnswer {
  if (typeof value !== 'object' || value === null || !('kind' in value) || !('words' in value)) return false;
  if (!ANSWER_KINDS.includes(value.kind) || typeof value.words !== 'string') return false;
  if ('hint' in value && typeof value.hint !== 'string') return false;
  return value.kind !== 'done' || ('rowCount' in value && typeof value.rowCount === 'number');
}
