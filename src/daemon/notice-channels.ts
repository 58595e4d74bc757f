/**
 * Sends notices as one JSON object: to a command on its standard input, and to a webhook by POST, each in order. One that fails is tried again, at
 * growing intervals; reasons never name the address, which may be a secret.
 */
import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { stampFromMs, type Clock } from '../base/clock.ts';
import type { LogEvent } from '../base/log-events.ts';
import { BACKOFFS, spreadBackoffMs } from '../base/retries.ts';
import { printable } from '../base/text.ts';
import { loggerOf, silentLogger, type LogFacts, type Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import type { Problem } from '../reconcile/account/account.ts';
import { judgeNotices, noticeOfEvent, NO_NOTICES_SENT, type Notice, type SentNotices } from './notices.ts';

/** Mail servers may be slow; a longer command hangs, and is killed. */
const COMMAND_MS_MAX = 60_000;

/** Chat services answer within a second. */
const WEBHOOK_MS_MAX = 30_000;

/** Notices that wait for one way; the oldest are given up. */
const WAITING_MAX = 50;

/** A way to a person: an option under `notify`. */
type NoticeChannel = 'command' | 'webhook';

/** A way by which notices do not get through at present. */
export interface BlockedChannel {
  readonly way: NoticeChannel;
  readonly reason: string;
  readonly since: string;
  readonly waitingCount: number;
}

/** The notices of one way, the oldest first, and how the last attempt went. */
interface NoticeLine {
  notices: readonly Notice[];
  sending: Promise<void> | null;
  failureCount: number;
  retryAtMs: number;
  blocked: Pick<BlockedChannel, 'reason' | 'since'> | null;
}

/** Watches a log and sends its notices. */
export class NotificationSender {
  readonly #clock: Clock;
  #told: SentNotices = NO_NOTICES_SENT;
  #repeatMs = 0;
  /** How each way is gone, by the present configuration. */
  #sendBy: Readonly<Record<NoticeChannel, ((notice: Notice) => Promise<string | null>) | null>> = {
    command: null,
    webhook: null,
  };
  readonly #lines: Readonly<Record<NoticeChannel, NoticeLine>> = { command: newLine(), webhook: newLine() };
  #log: Logger = silentLogger;
  #onFailed: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  tell(problems: readonly Problem[]): void {
    const options = { nowMs: this.#clock.monotonicMs(), repeatMs: this.#repeatMs };
    const { notices, told } = judgeNotices(problems, this.#told, options);
    this.#told = told;
    for (const notice of notices) this.#add(notice);
    this.send();
  }

  #add(notice: Notice): void {
    for (const line of this.#inUse()) line.notices = [...line.notices, notice].slice(-WAITING_MAX);
  }

  /** Takes over a configuration; returns a log that writes to `log`, and of whose events some are told as they happen. */
  listen(log: Logger, { notify }: Pick<Config, 'notify'>): Logger {
    const { command, webhook, repeatMinutes } = notify;
    this.#log = log;
    this.#repeatMs = repeatMinutes * 60_000;
    this.#sendBy = {
      command: command === null ? null : (notice) => run(command, `${JSON.stringify(notice)}\n`),
      webhook: webhook === null ? null : (notice) => post(webhook, notice),
    };
    const look = (event: LogEvent, facts: LogFacts = {}): void => {
      const notice = noticeOfEvent(event, facts);
      if (notice !== null) this.#add(notice);
      this.send();
    };
    return loggerOf((level) => (event, facts) => {
      log[level](event, facts);
      if (command !== null || webhook !== null) look(event, facts);
    });
  }

  /** Calls when an attempt failed, so that the next one is waited for. */
  onFailed(listener: () => void): void {
    this.#onFailed = listener;
  }

  /** Sends what waits and may be tried now. */
  send(): void {
    for (const way of CHANNELS) {
      const line = this.#lines[way];
      if (this.#sendBy[way] === null) Object.assign(line, newLine());
      if (line.sending !== null || line.notices.length === 0 || this.#clock.monotonicMs() < line.retryAtMs) continue;
      line.sending = this.#sendLine(way).finally(() => (line.sending = null));
    }
  }

  /** How long until something is tried again; infinite if nothing waits. */
  waitMs(): number {
    const waiting = this.#inUse().filter(({ notices, sending }) => notices.length > 0 && sending === null);
    return Math.min(...waiting.map(({ retryAtMs }) => Math.max(0, retryAtMs - this.#clock.monotonicMs())), Infinity);
  }

  blocked(): readonly BlockedChannel[] {
    return CHANNELS.flatMap((way) => {
      const { blocked, notices } = this.#lines[way];
      return blocked === null ? [] : [{ way, ...blocked, waitingCount: notices.length }];
    });
  }

  async flush(): Promise<void> {
    await this.#sent();
    for (const line of this.#inUse()) line.retryAtMs = 0;
    this.send();
    await this.#sent();
  }

  async #sent(): Promise<void> {
    for (const { sending } of this.#inUse()) await sending;
  }

  #inUse(): readonly NoticeLine[] {
    return CHANNELS.filter((way) => this.#sendBy[way] !== null).map((way) => this.#lines[way]);
  }

  async #sendLine(way: NoticeChannel): Promise<void> {
    const line = this.#lines[way];
    for (let [notice] = line.notices; notice !== undefined; [notice] = line.notices) {
      const sent = notice;
      const reason = (await this.#sendBy[way]?.(sent)) ?? null;
      if (reason !== null) return this.#noteFailure(way, reason);
      // While it was sent, the line may have lost it for being too long.
      line.notices = line.notices.filter((waiting) => waiting !== sent);
      Object.assign(line, { failureCount: 0, retryAtMs: 0, blocked: null });
      this.#log.info('notice.sent', { reason: sent.kind, way });
    }
  }

  #noteFailure(way: NoticeChannel, reason: string): void {
    const line = this.#lines[way];
    line.failureCount += 1;
    const waitMs = spreadBackoffMs(BACKOFFS.notice, line.failureCount, this.#clock.random());
    line.retryAtMs = this.#clock.monotonicMs() + waitMs;
    line.blocked = { reason, since: line.blocked?.since ?? stampFromMs(this.#clock.nowMs()) };
    this.#log.error('notice.failed', { reason, way, attempt: line.failureCount, waitMs });
    this.#onFailed();
  }
}

const CHANNELS: readonly NoticeChannel[] = ['command', 'webhook'];

function newLine(): NoticeLine {
  return { notices: [], sending: null, failureCount: 0, retryAtMs: 0, blocked: null };
}

/** Runs the command with a text on its standard input; why it failed, or null. */
function run([program = '', ...given]: readonly string[], input: string): Promise<string | null> {
  return new Promise((resolve) => {
    try {
      const child = spawn(program, given, {
        stdio: ['pipe', 'ignore', 'ignore'],
        timeout: COMMAND_MS_MAX,
        killSignal: 'SIGKILL',
      });
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(code === 0 ? null : `ended with ${String(code ?? signal)}`));
      const stdin: Writable | undefined = child.stdin; // none where no descriptor is left
      stdin?.on('error', () => undefined); // it may not want to read; its exit code says how it went
      stdin?.end(input);
    } catch (thrown) {
      // Node reports some failures as an event, and throws others, such as ENOTDIR.
      resolve(thrown instanceof Error ? thrown.message : String(thrown));
    }
  });
}

/** Posts a notice, with a line of text for services that show nothing else; why it failed, or null. */
async function post(address: string, notice: Notice): Promise<string | null> {
  const { kind, subject, message, hint } = notice;
  const who = subject === 'everything' ? 'rowsync' : `rowsync: ${subject}`;
  const text = [`${who} ${WORDS[kind]}`, message, hint].filter((part) => part !== '').join('. ');
  try {
    const { url, authorization } = withoutCredentials(address);
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...authorization },
      body: JSON.stringify({ ...notice, text: printable(text) }),
      redirect: 'manual', // the address may be a secret
      signal: AbortSignal.timeout(WEBHOOK_MS_MAX),
    });
    await answer.body?.cancel();
    return answer.ok ? null : `the webhook answered ${answer.status}`;
  } catch (thrown) {
    return `the webhook did not answer: ${reasonOf(thrown)}`;
  }
}

/** An address may name a user and a password, which `fetch` takes only as Basic authorization (RFC 7617). */
function withoutCredentials(address: string): { readonly url: URL; readonly authorization: Record<string, string> } {
  const url = new URL(address);
  const { username, password } = url;
  if (username === '' && password === '') return { url, authorization: {} };
  url.username = '';
  url.password = '';
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { url, authorization: { Authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
}

const WORDS: Readonly<Record<Notice['kind'], string>> = {
  needsPerson: 'needs a person',
  failing: 'fails',
  toKnow: 'has news',
  recovered: 'works again',
  changed: 'changed at the origin',
};

/** The system's code of a failed request, such as ECONNREFUSED; its message may name the address. */
function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : null;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.name : 'no reason';
}
