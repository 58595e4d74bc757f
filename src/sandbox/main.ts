/**
 * Starts and stops the sandbox: a server on the loopback interface that speaks the Records API over a SQLite file of its
 * own. Input: options, already parsed from the command line but checked here. Output: a handle with the address, the
 * credentials, and direct access to the store for tests and the demo. Owns the life of the server, of the store's file
 * and of the simulated colleagues.
 */
import type { Clock } from '../base/clock.ts';
import type { ActivityCounts } from './activity.ts';
import type { RequestLog } from './requests.ts';
import type { Intercept } from './server.ts';
import type { TableSpec } from './store/spec.ts';
import type { Store } from './store/store.ts';

/** What a sandbox is started with; everything but the clock may be left out. */
export interface SandboxOptions {
  /** 127.0.0.1 unless given. */
  readonly host?: string | undefined;
  /** 0, the default, takes any free port. */
  readonly port?: number | undefined;
  /** SQLite file to serve; read once, never written. */
  readonly dataPath?: string | undefined;
  /** Where the sandbox keeps its own database; a file that it made before is continued. A temporary file unless given. */
  readonly storePath?: string | undefined;
  /** Database id, "21995" unless given. */
  readonly database?: string | undefined;
  /** 32 hexadecimal digits; made up unless given. */
  readonly token?: string | undefined;
  /** Added to every request. */
  readonly latencyMs?: number | undefined;
  /** Edits, inserts and deletes per second by simulated colleagues. */
  readonly activityPerSecond?: number | undefined;
  /** Decides the sample data and what colleagues do. */
  readonly seed?: number | undefined;
  readonly clock: Clock;
  /** Tables to serve in place of the sample data. */
  readonly tables?: readonly TableSpec[] | undefined;
  /** Asked before each request is answered; may change the store, or answer by itself. */
  readonly intercept?: Intercept | undefined;
}

/** A running sandbox. */
export interface Sandbox {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly database: string;
  readonly token: string;
  /** For HTTP Basic. */
  readonly user: { readonly email: string; readonly password: string };
  readonly store: Store;
  readonly requests: RequestLog;
  /** Plays `count` edits, inserts and deletes at once; which ones depends on the seed alone. */
  playActivity(count: number): ActivityCounts;
  /** Ends the server and the colleagues, and removes the store if it is a temporary file. May be called twice. */
  stop(): Promise<void>;
}
