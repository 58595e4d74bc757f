/**
 * Sends notices by the command that the configuration names: the notice is on its standard input, as one JSON object. Input:
 * the events of the log. Output: processes, one at a time, each with a deadline. A command that fails is logged,
 * and never tried again: the next notice is the next try.
 */
import { spawn } from 'node:child_process';
import type { Clock } from '../base/clock.ts';
import type { LogEvent } from '../base/log-events.ts';
import type { LogFacts, Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import { judgeNotice, NOTHING_TOLD, type Notice, type Told } from './notices.ts';

/** Mail servers think for a while; whatever takes longer hangs. */
const COMMAND_MS_MAX = 60_000;

/** Watches a log and sends what a person should hear of. */
export class Messenger {
  readonly #clock: Clock;
  #told: Told = NOTHING_TOLD;
  #sending: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A log that writes to `log`, and whose events are judged under a configuration. */
  listen(log: Logger, { notify }: Config): Logger {
    const { command, repeatMinutes } = notify;
    if (command === null) return log;
    const look = (event: LogEvent, facts: LogFacts = {}): void => {
      const options = { nowMs: this.#clock.nowMs(), repeatMs: repeatMinutes * 60_000 };
      const judged = judgeNotice(event, facts, this.#told, options);
      if (judged === null) return;
      this.#told = judged.told;
      this.#sending = this.#sendAfter(this.#sending, { command, notice: judged.notice, log });
    };
    const writer =
      (level: keyof Logger): Logger['info'] =>
      (event, facts) => {
        log[level](event, facts);
        look(event, facts);
      };
    return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') };
  }

  /** Resolves when everything that was worth telling is told. */
  flush(): Promise<void> {
    return this.#sending;
  }

  async #sendAfter(
    before: Promise<void>,
    what: { readonly command: readonly string[]; readonly notice: Notice; readonly log: Logger },
  ): Promise<void> {
    await before;
    const reason = await run(what.command, `${JSON.stringify(what.notice)}\n`);
    if (reason === null) what.log.info('notice.sent', { reason: what.notice.kind });
    else what.log.error('notice.failed', { reason });
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
