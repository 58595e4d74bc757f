/**
 * Sends notices as one JSON object: to a command on its standard input, and to a webhook by POST. Input: the events of the log. Output: processes and
 * requests, one at a time, each with a deadline. A failure is logged without the address, which may be a secret, and never retried: the next notice
 * is the next try.
 */
import { spawn } from 'node:child_process';
import type { Clock } from '../base/clock.ts';
import type { LogEvent } from '../base/log-events.ts';
import { printable } from '../base/text.ts';
import type { LogFacts, Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import { judgeNotice, NOTHING_TOLD, type Notice, type Told } from './notices.ts';

/** Mail servers may be slow; a longer command hangs. */
const COMMAND_MS_MAX = 60_000;

/** Chat services answer within a second. */
const WEBHOOK_MS_MAX = 30_000;

/** The ways to a person, from the configuration. */
type Ways = Pick<Config['notify'], 'command' | 'webhook'>;

/** Watches a log and sends its notices. */
export class NotificationSender {
  readonly #clock: Clock;
  #told: Told = NOTHING_TOLD;
  #sending: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A log that writes to `log`, and whose events are judged under a configuration. */
  listen(log: Logger, { notify }: Config): Logger {
    const { command, webhook, repeatMinutes } = notify;
    if (command === null && webhook === null) return log;
    const look = (event: LogEvent, facts: LogFacts = {}): void => {
      const options = { nowMs: this.#clock.monotonicMs(), repeatMs: repeatMinutes * 60_000 };
      const judged = judgeNotice(event, facts, this.#told, options);
      if (judged === null) return;
      this.#told = judged.told;
      this.#sending = this.#sendAfter(this.#sending, { command, webhook, notice: judged.notice, log });
    };
    const writer =
      (level: keyof Logger): Logger['info'] =>
      (event, facts) => {
        log[level](event, facts);
        look(event, facts);
      };
    return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') };
  }

  /** Resolves when all notices are sent. */
  flush(): Promise<void> {
    return this.#sending;
  }

  async #sendAfter(
    before: Promise<void>,
    { command, webhook, notice, log }: Ways & { readonly notice: Notice; readonly log: Logger },
  ): Promise<void> {
    await before;
    const failures = [
      command === null ? null : await run(command, `${JSON.stringify(notice)}\n`),
      webhook === null ? null : await post(webhook, notice),
    ].filter((reason) => reason !== null);
    for (const reason of failures) log.error('notice.failed', { reason });
    if (failures.length === 0) log.info('notice.sent', { reason: notice.kind });
  }
}

/** Runs the command with a text on its standard input; why it failed, or null. */
function run([program = '', ...given]: readonly string[], input: string): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn(program, given, { stdio: ['pipe', 'ignore', 'ignore'], timeout: COMMAND_MS_MAX });
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(code === 0 ? null : `ended with ${String(code ?? signal)}`));
    child.stdin.on('error', () => undefined); // it may not want to read; its exit code says how it went
    child.stdin.end(input);
  });
}

/** Posts a notice, with a line of text for services that show nothing else; why it failed, or null. */
async function post(address: string, notice: Notice): Promise<string | null> {
  const { kind, subject, message, hint } = notice;
  const text = [`rowsync: ${subject} ${WORDS[kind]}`, message, hint].filter((part) => part !== '').join('. ');
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
  recovered: 'is well again',
};

/** The system's code of a failed request, such as ECONNREFUSED; its message may name the address. */
function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : null;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.name : 'no reason';
}
