/**
 * `rowsync daemon` as a process whose log is followed: every event is counted, the last lines are kept for messages,
 * and all of it can go into a file.
 *
 *    const daemon = startDaemonProcess(folder);
 *    await daemon.logged('work.finished', 2, (line) => line.work === 'pull');
 *    daemon.process.kill('SIGKILL');  await daemon.ended;
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { PROGRAM } from './program.ts';

const LINES_KEPT = 200;

/** One line of the log. */
export interface LogLine {
  readonly event: string;
  readonly [field: string]: unknown;
}

/** A running daemon. */
export interface DaemonProcess {
  readonly process: ChildProcess;
  /** How often each event was logged, by name; pieces of work also as `work.finished pull done`. */
  readonly counts: ReadonlyMap<string, number>;
  /** The last lines of its log and of its standard error. */
  readonly lines: readonly string[];
  /** Resolves when so many more lines match; rejects when the daemon ends before. */
  logged(event: string, count?: number, matches?: (line: LogLine) => boolean): Promise<void>;
  /** Resolves with its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

/**
 * An environment in which a daemon judges every ten seconds whether its work advances, which `/livez` then tells: a
 * watchdog that reads no messages.
 */
export const WATCHED = { NOTIFY_SOCKET: '/nowhere/notify', WATCHDOG_USEC: '20000000' } as const;

/** What a person at a monitor would call no answer; a busy machine makes every process late. */
const ANSWER_MS_MAX = 20_000;

/** The status that a daemon answers with on its unix socket, or 0 where no answer comes in time. */
export function askDaemon(socketPath: string, path: string): Promise<number> {
  return new Promise((resolve) => {
    const options = { socketPath, path, headers: { Host: 'localhost' }, signal: AbortSignal.timeout(ANSWER_MS_MAX) };
    const asked = request(options, (response) => {
      response.resume().once('close', () => resolve(response.statusCode ?? 0));
    });
    asked.once('error', () => resolve(0)).end();
  });
}

/** Waits before requests are sent again go up to minutes, and work under way has to end first. */
const CYCLE_MS_MAX = 180_000;

/**
 * A pull and then a push that begin from now on, and end; `heldUpMs` is for how long someone keeps them from it.
 * @throws Error with the last lines of the log when they do not.
 */
export async function runCycle(daemon: DaemonProcess, heldUpMs = 0): Promise<void> {
  const time = AbortSignal.timeout(CYCLE_MS_MAX + heldUpMs);
  const late = new Promise<never>((_resolve, reject) => {
    const message = (): string => `A cycle did not end:\n${daemon.lines.slice(-20).join('\n')}`;
    time.addEventListener('abort', () => reject(new Error(message())), { once: true });
  });
  const begun = daemon.logged('work.started', 1, ({ work }) => work === 'pull');
  daemon.process.kill('SIGUSR1');
  await Promise.race([begun, late]);
  const pushed = daemon.logged('work.finished', 1, ({ work }) => work === 'push');
  await Promise.race([daemon.logged('work.finished', 1, ({ work }) => work === 'pull'), late]);
  await Promise.race([pushed, late]);
}

/**
 * Starts a daemon in a folder with a `rowsync.yaml`; `through` is a command that runs the command behind it in its own
 * place.
 */
export function startDaemonProcess(
  folder: string,
  options: {
    readonly logPath?: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly through?: readonly string[];
  } = {},
): DaemonProcess {
  const [command, ...rest] = [...(options.through ?? []), ...PROGRAM, 'daemon'];
  const child = spawn(command, rest, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  const file = options.logPath === undefined ? null : createWriteStream(options.logPath, { flags: 'a' });
  const counts = new Map<string, number>();
  const lines: string[] = [];
  const listeners = new Set<(line: LogLine) => void>();
  const keep = (text: string): void => {
    file?.write(`${text}\n`);
    lines.push(text);
    if (lines.length > LINES_KEPT) lines.shift();
  };
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  createInterface({ input: child.stderr }).on('line', keep);
  createInterface({ input: child.stdout }).on('line', (text) => {
    keep(text);
    if (!text.startsWith('{') || !text.endsWith('}')) return; // cut off by a kill
    const line = JSON.parse(text) as LogLine;
    count(line.event);
    if (line.event === 'work.finished') count(`work.finished ${String(line['work'])} ${String(line['outcome'])}`);
    for (const listener of listeners) listener(line);
  });
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('close', (code, signal) => {
      file?.end();
      resolve(code ?? signal ?? 0);
    });
  });
  const logged: DaemonProcess['logged'] = (event, wanted = 1, matches = () => true) =>
    new Promise((resolve, reject) => {
      let left = wanted;
      const listener = (line: LogLine): void => {
        if (line.event !== event || !matches(line)) return;
        left -= 1;
        if (left > 0) return;
        listeners.delete(listener);
        resolve();
      };
      listeners.add(listener);
      void ended.then((end) => reject(new Error(`The daemon ended (${end}) before ${event}:\n${lines.join('\n')}`)));
    });
  return { process: child, counts, lines, logged, ended };
}
