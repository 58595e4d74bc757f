/**
 * Asks the running daemon over HTTP: what it says of itself, and to carry out decisions. Null without a timely answer.
 */
import { existsSync } from 'node:fs';
import * as z from 'zod';
import type { PersonDecision } from '../../capture/person-decision.ts';
import type { Config } from '../../config/load.ts';
import { problemsOf, type DaemonFacts } from '../../daemon/account-facts.ts';
import type { PushAccount } from '../../reconcile/account/push-account.ts';
import type { WorkProgress } from './work-log.ts';
import type { FoundComplaint } from '../../reconcile/account/facts.ts';
import { ERROR_CODES, EXIT_BY_KIND, RowsyncError } from '../../base/errors.ts';
import { isAtWork } from '../../cli/runtime/daemon-client.ts';
import type { DecisionAnswer, Extra } from '../../extra.ts';
import { readShortText } from '../../base/file-system.ts';
import { durationText } from '../../base/text.ts';
import type { LinkedExtra } from './linked-extra.ts';
import { httpOf } from './http-settings.ts';

const words = z.string();

const endedWork = z.record(
  words,
  z.looseObject({
    outcome: words,
    exitCode: z.int().optional(),
    durationMs: z.number(),
    account: z.custom<PushAccount | undefined>().optional(),
  }),
);

/** What is optional is not there in the answer of a daemon of an earlier version. */
const daemonAnswer = z.looseObject({
  /** One line. */
  status: words,
  working: words.nullable(),
  /** Lines of extras. */
  notes: z.array(words).optional(),
  failure: z
    .looseObject({
      message: words,
      hint: words,
      number: z.number().optional(),
      count: z.number().optional(),
      retryInMs: z.number().optional(),
    })
    .nullable(),
  /** How far the work is, and how each kind ended last. */
  progress: z.custom<WorkProgress | null>().optional(),
  last: endedWork.optional(),
  /** The same of work that a person asked for, which left out no table. */
  lastAsked: endedWork.optional(),
  jobs: z.array(z.looseObject({ job: words, nextAt: words })),
  /** What the account has from the daemon alone. */
  complaints: z
    .array(
      z.looseObject({
        about: z.custom<FoundComplaint['about']>((value) => typeof value === 'string'),
        subject: words.nullable(),
        code: words,
        message: words,
        hint: words,
        since: words.nullable(),
      }),
    )
    .optional(),
});
export type DaemonAnswer = z.infer<typeof daemonAnswer>;

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

/** What the daemon of a replica says of itself; less of it to who may not read the key of the page. */
const STATUS: DaemonPath = { path: '/status', msMax: ANSWER_MS_MAX };

/** What is known of the daemon of a configuration: its answer, or what the system says of the service. */
export async function hearDaemon(
  config: Config,
  extras: readonly Extra[],
): Promise<{ readonly answer: DaemonAnswer | null; readonly facts: DaemonFacts }> {
  const { replica } = config;
  const { listen } = httpOf(config);
  const said = await askJson(config, STATUS);
  const answer = daemonAnswer.safeParse(said).data ?? wordOfStranger(said);
  const added = problemsOf(extras);
  if (answer !== null) return { answer, facts: { keeper: 'daemon', complaints: answer.complaints ?? [], added } };
  // A daemon that listens makes the key when it starts. Without a key, none ever ran here, so none is missing.
  const services = await Promise.all(extras.flatMap(({ findService }: LinkedExtra) => findService?.(config) ?? []));
  const [isWanted, isUp] = [services.some((found) => found?.isWanted), services.some((found) => found?.isUp)];
  const keeper = isUp
    ? 'service'
    : isWanted || (listen !== null && existsSync(pageKeyPath(replica.path)))
      ? 'silent'
      : isAtWork(replica.path)
        ? 'service'
        : 'nobody';
  return { answer, facts: { keeper, complaints: [], added } };
}

/** Hands a decision to the daemon of a replica. Null without an answer, or for who may not read the replica. */
export async function askDaemonTo(config: Config, decision: PersonDecision): Promise<DecisionAnswer | null> {
  const answer = await askJson(config, { path: '/decide', msMax: DECISION_MS_MAX }, decision);
  return isDecisionAnswer(answer) ? answer : null;
}

/** Has the daemon of a replica read tables now, by their names at the origin; false where it could not be asked. */
export async function askDaemonToRead(config: Config, tables: readonly string[]): Promise<boolean> {
  return isTaken(await askJson(config, { path: '/read', msMax: READ_MS_MAX }, { tables }));
}

export interface DaemonWork {
  readonly isScheduled: boolean;
  readonly isUnderWay: boolean;
  readonly progress: WorkProgress | null;
  /** How the newest ended that a person asked for. */
  readonly last: z.infer<typeof endedWork>[string] | null;
  /** Another one for each end. */
  readonly lastKey: string;
  readonly failure: DaemonAnswer['failure'];
}

/** Asks for it; null where the daemon does not answer, or not to this user. */
export async function hearDaemonWork(config: Config, work: string): Promise<DaemonWork | null> {
  const answer = daemonAnswer.safeParse(await askJson(config, STATUS)).data;
  if (answer === undefined) return null;
  const { progress = null, last, lastAsked = last, failure } = answer;
  const ended = lastAsked?.[work] ?? null;
  return {
    isScheduled: answer.jobs.some(({ job }) => job === work || job.startsWith(`${work} `)),
    isUnderWay: answer.working === work,
    progress,
    last: ended,
    lastKey: JSON.stringify(ended),
    failure,
  };
}

/** The daemon's failure as our own, with its exit code. A daemon of another version may know more kinds of failures. */
export function failureOf(failure: NonNullable<DaemonWork['failure']>): RowsyncError {
  const { kind, code, message, hint, retryInMs = 0 } = failure;
  const again = retryInMs === 0 ? '' : ` It tries again in ${durationText(retryInMs)}.`;
  const texts = { message: `The daemon says: ${message}`, hint: `${hint}${again}` };
  const isKnown = isKey(EXIT_BY_KIND, kind) && isKey(ERROR_CODES, code);
  return isKnown ? new RowsyncError(kind, code, texts) : new RowsyncError('originDown', 'origin.unexpected', texts);
}

function isKey<K extends string>(record: Readonly<Record<K, unknown>>, key: unknown): key is K {
  return typeof key === 'string' && Object.hasOwn(record, key);
}

/** Makes one kind of work of the daemon due now; false where it could not be asked. */
export async function askDaemonForWork(config: Config, work: string): Promise<boolean> {
  return isTaken(await askJson(config, { path: '/cycle', msMax: DECISION_MS_MAX }, { work }));
}

/** A path of the daemon, and how long its answer may take. */
interface DaemonPath {
  readonly path: string;
  readonly msMax: number;
}

/** Asks with the key beside the replica; a body needs the key. Null without an answer, or without a daemon. */
async function askJson(config: Config, { path, msMax }: DaemonPath, body?: object): Promise<unknown> {
  const { listen } = httpOf(config);
  const key = readPageKey(config.replica.path);
  if (listen === null || (key === null && body !== undefined)) return null;
  const where = listen.kind === 'socket' ? { socketPath: listen.path } : { host: listen.host, port: listen.port };
  const [method, type] = body === undefined ? ['GET', {}] : ['POST', { 'Content-Type': 'application/json' }];
  const headers = { Authorization: `Bearer ${key ?? ''}`, ...type };
  const { request } = await import('node:http');
  const asking = request({ ...where, path, method, headers, agent: false, signal: AbortSignal.timeout(msMax) });
  asking.on('error', () => undefined); // said by what waits for it
  try {
    const response: AsyncIterable<string> = await new Promise((resolve, reject) => {
      asking
        .once('error', reject)
        .once('response', (answer) => resolve(answer.setEncoding('utf8')))
        .end(JSON.stringify(body));
    });
    let text = '';
    for await (const chunk of response) {
      text += chunk;
      if (text.length > ANSWER_CHARS_MAX) return null;
    }
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What the daemon says to a user who may not read the key of the page. */
function wordOfStranger(value: unknown): DaemonAnswer | null {
  if (typeof value !== 'object' || value === null || !('state' in value)) return null;
  return { status: `answers: ${String(value.state)}`, working: null, failure: null, jobs: [] };
}

function isDecisionAnswer(value: unknown): value is DecisionAnswer {
  return typeof value === 'object' && value !== null && 'words' in value && typeof value.words === 'string';
}

/** Whether a request was taken, which is answered with nothing. */
function isTaken(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && Object.keys(answer).length === 0;
}
