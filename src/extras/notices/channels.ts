/**
 * Sends notices as one JSON object: to a command on its standard input, and to a webhook by POST, each in order. One
 * that fails is tried again, at growing intervals; reasons never name the address, which may be a secret.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Writable } from 'node:stream';
import { stampFromMs, type Clock } from '../../base/clock.ts';
import type { LogEvent } from '../../base/log-events.ts';
import type { LogFacts, Logger } from '../../base/log.ts';
import { BACKOFFS, spreadBackoffMs } from '../../base/retries.ts';
import { plural, printable } from '../../base/text.ts';
import { processEnvironment } from '../../config/secrets.ts';
import type { DaemonPart } from '../../daemon/context.ts';
import type { Problem } from '../../reconcile/account/account.ts';
import type { FoundComplaint } from '../../reconcile/account/facts.ts';
import { basicHeader } from '../../wire/headers.ts';
import { fail, ok, type CheckResult } from '../shared/linked-extra.ts';
import { judgeNotices, noticeOfEvent, NO_NOTICES_SENT, type Notice, type SentNotices } from './notices.ts';
import type { NotifySettings } from './options.ts';

/** Mail servers may be slow; a longer command hangs, and is killed. */
const COMMAND_MS_MAX = 60_000;

/** Chat services answer within a second. */
const WEBHOOK_MS_MAX = 30_000;

/** What still runs this long after the daemon began to end is cut off: a command must not outlive it. */
const CLOSE_MS_MAX = 4_000;

/** Notices that wait for one channel; the oldest are given up. */
const WAITING_MAX = 50;

/** Sends a notice until it is cut off; why it failed, or null. */
type Send = (notice: Notice, cutOff: AbortSignal) => Promise<string | null>;

/** The ways to a person, by their options under `notify`; null where the configuration does not want one. */
const CHANNELS: Readonly<Record<'command' | 'webhook', (settings: Partial<NotifySettings>) => Send | null>> = {
  command: ({ command }) =>
    command === undefined ? null : (notice, cutOff) => run(command, `${JSON.stringify(notice)}\n`, cutOff),
  webhook: ({ webhook }) => (webhook === undefined ? null : (notice, cutOff) => post(webhook, notice, cutOff)),
};

interface SenderParts {
  readonly clock: Clock;
  readonly log: () => Logger;
  /** Of the present configuration. */
  readonly settings: () => NotifySettings | undefined;
}

/** How the end of the daemon reaches the channels: what waits is tried once more, then what runs is cut off. */
interface Ending {
  readonly closing: AbortSignal;
  readonly cutOff: AbortSignal;
}

/** Joins a daemon, and sends the notices of its account and of its log. */
export class NoticeSender implements DaemonPart {
  readonly #parts: SenderParts;
  readonly #closing = new AbortController();
  readonly #cutOff = new AbortController();
  readonly #channels: readonly NoticeChannel[];
  #sent: SentNotices = NO_NOTICES_SENT;

  constructor(parts: SenderParts) {
    this.#parts = parts;
    const ending = { closing: this.#closing.signal, cutOff: this.#cutOff.signal };
    this.#channels = Object.entries(CHANNELS).map(
      ([name, senderOf]) => new NoticeChannel(name, () => senderOf(parts.settings() ?? {}), { ...parts, ...ending }),
    );
  }

  takeAccount(problems: readonly Problem[]): void {
    const { clock, settings } = this.#parts;
    const repeatMs = (settings()?.repeatMinutes ?? 0) * 60_000;
    const { notices, sent } = judgeNotices(problems, this.#sent, { nowMs: clock.monotonicMs(), repeatMs });
    this.#sent = sent;
    for (const notice of notices) this.#add(notice);
  }

  takeEvent(event: LogEvent, facts: LogFacts): void {
    const notice = noticeOfEvent(event, facts);
    if (notice !== null) this.#add(notice);
  }

  word(): { readonly complaints: readonly FoundComplaint[] } {
    return { complaints: this.#channels.flatMap((channel) => channel.complaint() ?? []) };
  }

  /** What waits is tried once more. */
  async close(): Promise<void> {
    this.#closing.abort();
    const ended = new AbortController();
    const cutOffLate = async (): Promise<void> => {
      await this.#parts.clock.sleep(CLOSE_MS_MAX, ended.signal);
      if (!ended.signal.aborted) this.#cutOff.abort();
    };
    const late = cutOffLate();
    await Promise.all(this.#channels.map((channel) => channel.sent()));
    ended.abort();
    await late;
  }

  #add(notice: Notice): void {
    for (const channel of this.#channels) channel.add(notice);
  }
}

/** One way to a person, with the notices that wait for it, the oldest first. */
class NoticeChannel {
  readonly #name: string;
  readonly #senderNow: () => Send | null;
  readonly #parts: SenderParts & Ending;
  #waiting: readonly Notice[] = [];
  #sending: Promise<void> | null = null;
  #blocked: { readonly reason: string; readonly since: string } | null = null;

  constructor(name: string, senderNow: () => Send | null, parts: SenderParts & Ending) {
    this.#name = name;
    this.#senderNow = senderNow;
    this.#parts = parts;
  }

  add(notice: Notice): void {
    if (this.#senderNow() === null) return;
    this.#waiting = [...this.#waiting, notice].slice(-WAITING_MAX);
    this.#sending ??= this.#sendWaiting();
  }

  /** Resolves when nothing is being sent. */
  async sent(): Promise<void> {
    await this.#sending;
  }

  complaint(): FoundComplaint | null {
    if (this.#blocked === null || this.#senderNow() === null) return null;
    const { reason, since } = this.#blocked;
    const waiting = plural(this.#waiting.length, 'notice');
    const message = `Notices by notify.${this.#name} do not get through: ${reason}; ${waiting} waiting`;
    const hint =
      'Correct notify in the configuration, or what it names; then systemctl reload, or SIGHUP to the daemon.';
    return { about: 'notices.failed', subject: null, code: 'notices.failed', message, hint, since };
  }

  async #sendWaiting(): Promise<void> {
    const { clock, log, closing, cutOff } = this.#parts;
    const channel = this.#name;
    let failureCount = 0;
    try {
      for (let [notice] = this.#waiting; notice !== undefined; [notice] = this.#waiting) {
        const sent = notice;
        const isLast = closing.aborted;
        const send = this.#senderNow();
        if (send === null) break; // the configuration does not want it any more
        const reason = await send(sent, cutOff);
        if (reason === null) {
          // While it was sent, the channel may have dropped it for having too many.
          this.#waiting = this.#waiting.filter((waiting) => waiting !== sent);
          failureCount = 0;
          this.#blocked = null;
          log().info('notice.sent', { reason: sent.kind, way: channel });
          continue;
        }
        failureCount += 1;
        const waitMs = spreadBackoffMs(BACKOFFS.notice, failureCount, clock.random());
        this.#blocked = { reason, since: this.#blocked?.since ?? stampFromMs(clock.nowMs()) };
        log().error('notice.failed', { reason, way: channel, attempt: failureCount, waitMs });
        if (isLast || cutOff.aborted) return;
        await clock.sleep(waitMs, closing);
      }
      this.#waiting = [];
      this.#blocked = null;
    } finally {
      // In the same step in which nothing waits any more: what is added next must begin anew.
      this.#sending = null;
    }
  }
}

/** Runs the command with a text on its standard input; why it failed, or null. */
function run([program = '', ...given]: readonly string[], input: string, signal: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    try {
      const child = spawn(program, given, {
        stdio: ['pipe', 'ignore', 'ignore'],
        timeout: COMMAND_MS_MAX,
        killSignal: 'SIGKILL',
        signal,
      });
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, by) => resolve(code === 0 ? null : `ended with ${String(code ?? by)}`));
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
async function post(address: string, notice: Notice, cutOff: AbortSignal): Promise<string | null> {
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
      signal: AbortSignal.any([AbortSignal.timeout(WEBHOOK_MS_MAX), cutOff]),
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
  return {
    url,
    authorization: { Authorization: basicHeader(decodeURIComponent(username), decodeURIComponent(password)) },
  };
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

/** Checks whether `notify.command` can be run, without running it, since that would send a message. */
export function checkNotices({ command }: NotifySettings): readonly CheckResult[] {
  const [program] = command ?? [];
  if (program === undefined) return [];
  const places = program.includes('/')
    ? [program]
    : (processEnvironment()['PATH'] ?? '').split(delimiter).map((folder) => join(folder, program));
  if (places.some(isProgram)) return [ok('notices', `${program} can be run`)];
  return [
    fail(
      'notices',
      `notify.command: ${program} cannot be run, so nobody would be told`,
      'Write the whole path of a program that the user of the daemon may run.',
    ),
  ];
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
