/**
 * Asks the running daemon over its HTTP server: what it says of itself, and to carry out a person's decision. Null without an answer in time.
 */
import type { RequestOptions } from 'node:http';
import type { PersonDecision } from '../../capture/decide.ts';
import type { Config, ListenAddress } from '../../config/load.ts';
import type { DaemonWord } from '../../daemon/account.ts';
import type { WorkProgress } from '../../daemon/work-log.ts';
import type { DecisionAnswer } from '../../daemon/decision-queue.ts';
import { isInUse } from '../../replica/lock.ts';
import type { Extra } from '../../extra.ts';
import { readShortText } from '../../base/file-system.ts';

export interface DaemonAnswer {
  /** One line. */
  readonly status: string;
  readonly working: string | null;
  /** Lines of extras; none from a daemon of an earlier version. */
  readonly notes?: readonly string[];
  readonly failure: {
    readonly kind?: unknown;
    readonly code?: unknown;
    readonly message: string;
    readonly hint: string;
    /** Of a daemon of an earlier version, the first one is missing. */
    readonly number?: number;
    readonly count?: number;
    readonly retryInMs?: number;
  } | null;
  /** How far the work is, and how each kind ended last; not from a daemon of an earlier version. */
  readonly progress?: WorkProgress | null;
  readonly last?: Readonly<Record<string, { readonly outcome: string; readonly durationMs: number }>>;
  readonly jobs: readonly { readonly job: string; readonly nextAt: string }[];
  /** What the account has from the daemon alone; none from a daemon of an earlier version. */
  readonly complaints?: DaemonWord['complaints'];
}

/** A daemon that is there answers in milliseconds; a command that hangs because of it would be worse than none. */
const ANSWER_MS_MAX = 1_000;
/** It waits a while for the work under way before it says that it is busy. */
const DECISION_MS_MAX = 15_000;
/** Tables are read after the work under way. */
const READ_MS_MAX = 60_000;
const ANSWER_CHARS_MAX = 4 * 1024 * 1024;

/** The file beside a replica that lets whoever may read it ask the daemon. */
export function pageKeyPath(replicaPath: string): string {
  return `${replicaPath}.page-key`;
}

const KEY_FILE_BYTES_MAX = 1_000;

/** Its text; null if it is missing or may not be read. */
export function readPageKey(replicaPath: string): string | null {
  try {
    return readShortText(pageKeyPath(replicaPath), KEY_FILE_BYTES_MAX).trim();
  } catch {
    return null;
  }
}

/** Asks for what the daemon of a replica says of itself; null where none answers. Less of it is for who may not read the key of the page. */
function askStatus(address: ListenAddress, replicaPath: string): Promise<unknown> {
  return askJson(address, readPageKey(replicaPath) ?? '', { path: '/status', timeout: ANSWER_MS_MAX });
}

/** What is known of the daemon of a configuration: its answer, or what the system says of the service. */
export async function hearDaemon(
  config: Config,
  extras: readonly Extra[],
): Promise<{ readonly answer: DaemonAnswer | null; readonly word: DaemonWord }> {
  const {
    http: { listen },
    replica,
  } = config;
  const said = listen === null ? null : await askStatus(listen, replica.path);
  const answer = isAnswer(said) ? said : wordOfStranger(said);
  if (answer !== null) return { answer, word: { keeper: 'daemon', complaints: answer.complaints ?? [] } };
  const services = await Promise.all(extras.flatMap(({ findService }) => findService?.(config) ?? []));
  const [isWanted, isUp] = [services.some((found) => found?.isWanted), services.some((found) => found?.isUp)];
  const keeper = isUp
    ? 'service'
    : isWanted || listen !== null
      ? 'silent'
      : isAtWork(replica.path)
        ? 'service'
        : 'nobody';
  return { answer, word: { keeper, complaints: [] } };
}

/** Whether a process holds the lock of a replica, as a daemon does that listens nowhere. */
function isAtWork(path: string): boolean {
  try {
    return isInUse(path);
  } catch {
    return false; // the account says what is wrong with the replica
  }
}

/** Hands a decision to the daemon of a replica. Null without an answer, or for who may not read the replica. */
export async function askDaemonTo(
  address: ListenAddress,
  replicaPath: string,
  decision: PersonDecision,
): Promise<DecisionAnswer | null> {
  const answer = await post(address, replicaPath, { path: '/decide', timeout: DECISION_MS_MAX }, decision);
  return isDecisionAnswer(answer) ? answer : null;
}

/** Has the daemon of a replica read tables now, by their names at the origin; false where it could not be asked. */
export async function askDaemonToRead(
  address: ListenAddress,
  replicaPath: string,
  tables: readonly string[],
): Promise<boolean> {
  return isTaken(await post(address, replicaPath, { path: '/read', timeout: READ_MS_MAX }, { tables }));
}

export interface DaemonWork {
  readonly isScheduled: boolean;
  readonly isUnderWay: boolean;
  readonly progress: WorkProgress | null;
  readonly last: { readonly outcome: string; readonly durationMs: number } | null;
  /** Another one for each end. */
  readonly lastKey: string;
  readonly failure: DaemonAnswer['failure'];
}

/** Asks for it; null where the daemon does not answer, or not to this user. */
export async function hearDaemonWork(
  address: ListenAddress,
  replicaPath: string,
  work: string,
): Promise<DaemonWork | null> {
  const answer = await askStatus(address, replicaPath);
  if (!isAnswer(answer)) return null;
  const { progress = null, last, failure } = answer;
  const ended = last?.[work] ?? null;
  return {
    isScheduled: answer.jobs.some(({ job }) => job === work || job.startsWith(`${work} `)),
    isUnderWay: answer.working === work,
    progress,
    last: ended,
    lastKey: JSON.stringify(ended),
    failure,
  };
}

/** Makes one kind of work of the daemon due now; false where it could not be asked. */
export async function askDaemonForWork(address: ListenAddress, replicaPath: string, work: string): Promise<boolean> {
  return isTaken(await post(address, replicaPath, { path: '/cycle', timeout: DECISION_MS_MAX }, { work }));
}

/** Posts what the key beside the replica allows; null without an answer, or for who may not read the key. */
async function post(
  address: ListenAddress,
  replicaPath: string,
  options: RequestOptions,
  body: object,
): Promise<unknown> {
  const key = readPageKey(replicaPath);
  return key === null ? null : askJson(address, key, { ...options, method: 'POST' }, JSON.stringify(body));
}

/** Null without an answer: no daemon, or one that is just stopping. */
async function askJson(address: ListenAddress, key: string, options: RequestOptions, body = ''): Promise<unknown> {
  const headers = { Authorization: `Bearer ${key}`, ...(body === '' ? {} : { 'Content-Type': 'application/json' }) };
  try {
    return JSON.parse(await ask(address, { ...options, headers }, body));
  } catch {
    return null;
  }
}

async function ask(address: ListenAddress, options: RequestOptions, body: string): Promise<string> {
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

/** What the daemon says to a user who may not read the key of the page. */
function wordOfStranger(value: unknown): DaemonAnswer | null {
  if (typeof value !== 'object' || value === null || !('state' in value)) return null;
  return { status: `answers: ${String(value.state)}`, working: null, failure: null, jobs: [] };
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
    value.jobs.every(isJob) &&
    (!('notes' in value) || (Array.isArray(value.notes) && value.notes.every((it) => typeof it === 'string'))) &&
    (!('complaints' in value) || (Array.isArray(value.complaints) && value.complaints.every(isComplaint)))
  );
}

function isFailure(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'hint' in value && typeof value.hint === 'string';
}

function isComplaint(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const texts = ['about', 'code', 'message', 'hint'].map((key): unknown => Reflect.get(value, key));
  const orNull = ['subject', 'since'].map((key): unknown => Reflect.get(value, key));
  return texts.every((it) => typeof it === 'string') && orNull.every((it) => it === null || typeof it === 'string');
}

function isJob(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return 'job' in value && typeof value.job === 'string' && 'nextAt' in value && typeof value.nextAt === 'string';
}

function isDecisionAnswer(value: unknown): value is DecisionAnswer {
  return typeof value === 'object' && value !== null && 'words' in value && typeof value.words === 'string';
}

/** Whether a request was taken, which is answered with nothing. */
function isTaken(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && Object.keys(answer).length === 0;
}
