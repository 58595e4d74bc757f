/**
 * A daemon in this process, on a clock that the test moves, between a sandbox and a replica in a temporary folder.
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
import { silentNotifier, type Notifier } from '../../src/daemon/systemd.ts';
import { SECTIONS } from './sections.ts';
import { makeWorkspace } from './child.ts';
import { testClock, type TestClock } from './clock.ts';
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

/** Starts a daemon; `yaml` is what stands in its configuration beside origin and replica, `prepare` is called before it starts. */
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
  const clock = extra.clock ?? testClock({ sleepsAdvance: false, startMs: extra.startMs ?? STARTED_MS });
  const lines: LoggedEvent[] = [];
  const stop = new AbortController();
  const listeners = { reload: () => {}, cycle: () => {} };
  const file = join(folder, 'rowsync.yaml');
  const load = () => loadConfig(file, { needsCredentials: true, sections: SECTIONS }).config;
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as LoggedEvent) };
  const ended = runDaemon(load(), {
    clock,
    notifier: extra.notifier ?? silentNotifier,
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
      const origin = `origin: { url: "${sandbox.url}", database: "${sandbox.database}", tokenFile: token }\n`;
      if (text !== undefined) writeFileSync(file, `${origin}replica: { path: replica.db }\n${text}`);
      listeners.reload();
    },
    cycle: () => listeners.cycle(),
    stop: () => {
      stop.abort();
      return ended;
    },
    rows: (query) => {
      const db = new Database(join(folder, 'replica.db'), { readonly: true });
      try {
        return db.prepare(query).all();
      } finally {
        db.close();
      }
    },
    execute: (statements) => {
      const db = new Database(join(folder, 'replica.db'));
      try {
        db.exec(statements);
      } finally {
        db.close();
      }
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await ended;
      workspace[Symbol.dispose]();
    },
  };
  return daemon;
}
