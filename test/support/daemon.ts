/**
 * A daemon in this process, on a clock that the test moves, between a sandbox and a replica in a temporary folder.
 * Where ROWSYNC_PROGRAM names a program it is that one's: its time passes by itself, and to let minutes or seconds pass
 * is to let it pull and push once.
 *
 *    await using daemon = await startDaemon(sandbox, 'schedule: { pull: "0 * * * *" }');
 *    await daemon.idle();                    // it waits for the clock
 *    await daemon.elapse(90);                // minutes, one at a time
 *    daemon.events('work.finished');         // what it has logged so far
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createLogger } from '../../src/base/log.ts';
import { loadConfig } from '../../src/config/load.ts';
import { runDaemon } from '../../src/daemon/daemon.ts';
import { EXTRAS } from '../../src/extras.ts';
import type { Notifier } from '../../src/daemon/process-health.ts';
import { SECTIONS } from './sections.ts';
import { assert } from '../../src/base/assert.ts';
import { makeWorkspace } from './child.ts';
import { testClock, type TestClock } from './clock.ts';
import { runCycle, startDaemonProcess } from './daemon-process.ts';
import { IS_PACKED } from './program.ts';
import type { TestSandbox } from './sandbox.ts';

/** One line of the log. */
export interface LoggedEvent {
  readonly event: string;
  readonly level: string;
  readonly [field: string]: unknown;
}

/** A running daemon and its surroundings. */
export interface TestDaemon {
  readonly clock: TestClock;
  readonly folder: string;
  /** Resolves when it waits for the clock. */
  idle(): Promise<void>;
  /** Lets minutes pass, with all that happens in them. */
  elapse(minutes: number): Promise<void>;
  /** The same with seconds. */
  seconds(count: number): Promise<void>;
  /** Everything logged so far, or what has this name. */
  events(name?: string): readonly LoggedEvent[];
  reload(yaml?: string): void;
  cycle(): void;
  /** Resolves when it has ended. */
  stop(): Promise<void>;
  rows(query: string): unknown[];
  /** Runs SQL as another SQL client would. */
  execute(statements: string): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The first minute of a test. */
const STARTED_MS = Date.UTC(2026, 5, 1, 12, 1);

/**
 * Starts a daemon; `yaml` is what stands in its configuration beside origin and replica, `prepare` is called before it
 * starts.
 */
export function startDaemon(
  sandbox: TestSandbox,
  yaml = '',
  extra: {
    readonly notifier?: Notifier;
    readonly prepare?: (folder: string) => void;
    readonly startMs?: number;
    readonly clock?: TestClock;
  } = {},
): TestDaemon {
  const workspace = makeWorkspace(sandbox, yaml);
  const { folder } = workspace;
  extra.prepare?.(folder);
  const surroundings = surroundingsOf(sandbox, folder);
  if (IS_PACKED) {
    assert(
      extra.clock === undefined && extra.notifier === undefined,
      'a process has a clock and a notifier of its own',
    );
    return daemonOfProgram(workspace, surroundings);
  }
  const clock = extra.clock ?? testClock({ sleepsAdvance: false, startMs: extra.startMs ?? STARTED_MS });
  const lines: LoggedEvent[] = [];
  const stop = new AbortController();
  const listeners = { reload: () => {}, cycle: () => {} };
  const file = join(folder, 'rowsync.yaml');
  const load = () => loadConfig(file, { needsCredentials: true, sections: SECTIONS }).config;
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as LoggedEvent) };
  const ended = runDaemon(load(), {
    clock,
    notifier: extra.notifier ?? null,
    load,
    extras: EXTRAS,
    logFor: () => createLogger({ level: 'debug', destination, secrets: [] }),
    signals: {
      stop: stop.signal,
      onReload: (listener) => void (listeners.reload = listener),
      onCycle: (listener) => void (listeners.cycle = listener),
    },
  });
  const pass = async (count: number, stepMs: number): Promise<void> => {
    for (let step = 0; step < count; step += 1) {
      await daemon.idle();
      clock.advance(stepMs);
    }
    await daemon.idle();
  };
  const daemon: TestDaemon = {
    clock,
    folder,
    idle: () => Promise.race([clock.sleeper(), ended]),
    elapse: (minutes) => pass(minutes, 60_000),
    seconds: (count) => pass(count, 1_000),
    events: (name) => lines.filter(({ event }) => name === undefined || event === name),
    reload: (text) => {
      surroundings.configure(text);
      listeners.reload();
    },
    cycle: () => listeners.cycle(),
    stop: () => {
      stop.abort();
      return ended;
    },
    rows: surroundings.rows,
    execute: surroundings.execute,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await ended;
      workspace[Symbol.dispose]();
    },
  };
  return daemon;
}

/** What a test does to the files of a daemon, as people and other programs would. */
type Surroundings = Pick<TestDaemon, 'rows' | 'execute'> & {
  /** Writes the configuration, if it is given. */
  configure(yaml: string | undefined): void;
};

function surroundingsOf(sandbox: TestSandbox, folder: string): Surroundings {
  const path = join(folder, 'replica.db');
  return {
    configure: (yaml) => {
      if (yaml === undefined) return;
      const origin = `origin: { url: "${sandbox.url}", database: "${sandbox.database}", tokenFile: token }\n`;
      writeFileSync(join(folder, 'rowsync.yaml'), `${origin}replica: { path: replica.db }\n${yaml}`);
    },
    rows: (query) => {
      const db = new Database(path, { readonly: true });
      try {
        return db.prepare(query).all();
      } finally {
        db.close();
      }
    },
    execute: (statements) => {
      const db = new Database(path);
      try {
        db.exec(statements);
      } finally {
        db.close();
      }
    },
  };
}

/** The daemon of ROWSYNC_PROGRAM. Its tables are two-way, so that a push follows each pull. */
function daemonOfProgram(workspace: ReturnType<typeof makeWorkspace>, surroundings: Surroundings): TestDaemon {
  const { folder } = workspace;
  const running = startDaemonProcess(folder);
  const isPush = ({ work }: Readonly<Record<string, unknown>>): boolean => work === 'push';
  const begun = running.logged('work.finished', 1, isPush);
  const cycle = async (): Promise<void> => {
    await begun;
    await runCycle(running);
  };
  const stop = async (): Promise<void> => {
    running.process.kill('SIGTERM');
    await running.ended;
  };
  return {
    clock: testClock(),
    folder,
    idle: () => begun,
    elapse: cycle,
    seconds: cycle,
    events: (name) =>
      running.lines
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as LoggedEvent)
        .filter(({ event }) => name === undefined || event === name),
    reload: (yaml) => {
      surroundings.configure(yaml);
      running.process.kill('SIGHUP');
    },
    cycle: () => void running.process.kill('SIGUSR1'),
    stop,
    rows: surroundings.rows,
    execute: surroundings.execute,
    [Symbol.asyncDispose]: async () => {
      await stop();
      workspace[Symbol.dispose]();
    },
  };
}
