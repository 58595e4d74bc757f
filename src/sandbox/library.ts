/**
 * The sandbox as a library: what `import … from 'rowsync/sandbox'` gives to the tests of other programs. All names here are public: changing one is a
 * change for users.
 */
import { systemClock } from '../base/clock.ts';
import type { FaultPlan } from './server/faults.ts';
import type { AnsweredRequest } from './server/requests.ts';
import type { Cells, SandboxUser, TableSpec } from './store/spec.ts';
import { startSandbox as start } from './main.ts';

/** What to serve, and how; everything has a default. */
export interface TestSandboxOptions {
  /** Tables with their rows; sample data unless given. A JSON file of them does as well: parse it. */
  readonly tables?: readonly TableSpec[] | undefined;
  /** Instead of `tables`, a SQLite file to serve; it is read once, never written. */
  readonly data?: string | undefined;
  /** On 127.0.0.1; any free port unless given. */
  readonly port?: number | undefined;
  /** "21995" unless given. */
  readonly database?: string | undefined;
  /** 32 hexadecimal digits; made up unless given. */
  readonly token?: string | undefined;
  /** Milliseconds added to every request. */
  readonly latencyMs?: number | undefined;
  /** Requests that are to be answered badly; docs/sandbox.md lists the faults. */
  readonly faults?: FaultPlan | undefined;
  /** False leaves out what no specification has: Updated, Deleted and Select on a view. */
  readonly extensions?: boolean | undefined;
  /** Takes dates as Unix seconds and with slashes, too. */
  readonly lenientDates?: boolean | undefined;
}

/** A running sandbox. Stop it at the end, or declare it with `await using`. */
export interface TestSandbox extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly database: string;
  /** Of the first user, who may do everything. */
  readonly token: string;
  /** Everybody who may sign in, by token or with e-mail and password; roles have different rights. */
  readonly users: readonly SandboxUser[];
  /** The requests answered so far, the last 10,000 of them, oldest first. */
  readonly requests: readonly AnsweredRequest[];
  /** The rows of a table as they are now, by its singular name. */
  rows(table: string): readonly { readonly id: number; readonly values: Cells }[];
  /** Puts other faults in force; an empty list ends them. */
  setFaults(plan: FaultPlan): void;
  /** Ends the server and removes what it kept. May be called twice. */
  stop(): Promise<void>;
}

/**
 * Starts a sandbox in this process.
 * @throws RowsyncError `sandbox.option`, `sandbox.data` or `sandbox.listen`.
 */
export async function startSandbox({ data, ...options }: TestSandboxOptions = {}): Promise<TestSandbox> {
  const sandbox = await start({ ...options, dataPath: data, clock: systemClock });
  const { url, database, token, users, requests, store, faults } = sandbox;
  const stop = (): Promise<void> => sandbox.stop();
  return {
    url,
    database,
    token,
    users,
    get requests() {
      return requests.all;
    },
    rows: (table) => store.rows(table),
    setFaults: (plan) => faults.replace(plan),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

export type { AnsweredRequest, Cells, FaultPlan, SandboxUser, TableSpec };
