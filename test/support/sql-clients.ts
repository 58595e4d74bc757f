/**
 * Other SQL clients, each a process: the `sqlite3` shell, started anew for every transaction, and Python, which keeps
 * its connection. Where one is missing, better-sqlite3 in a process of its own stands in, and the name says so.
 *
 *    await using client = openClient('shell', path);
 *    await client.run({ begin: 'BEGIN IMMEDIATE', statements: ['UPDATE …'], holdMs: 0, end: 'COMMIT' });   // null if
 *                                                                                                          committed
 */
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** One transaction. */
export interface Transaction {
  readonly begin: 'BEGIN IMMEDIATE' | 'BEGIN';
  readonly statements: readonly string[];
  /** How long it stays open behind its last statement. */
  readonly holdMs: number;
  readonly end: 'COMMIT' | 'ROLLBACK';
}

/** A client; transactions of one client come one after the other. */
export interface SqlClient {
  readonly name: string;
  /**
   * Null once it is committed (or rolled back, where that was asked for), else what SQLite said. Where it is held open,
   * `onHeld` is called once its statements ran; the shell cannot tell.
   */
  run(transaction: Transaction, onHeld?: () => void): Promise<string | null>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** How long the shell waits for another client's lock. */
const WAIT_MS = 20_000;

const PYTHON = fileURLToPath(new URL('./sql-client.py', import.meta.url));
const CHILD = fileURLToPath(new URL('./sql-client-child.ts', import.meta.url));

/** Opens a client of a kind on a SQLite file. */
export function openClient(kind: 'shell' | 'python', path: string): SqlClient {
  if (kind === 'shell' && hasProgram('sqlite3', ['-version'])) return new Shell(path);
  if (kind === 'python' && hasProgram('python3', ['-c', 'import sqlite3'])) {
    return new Lines('Python', spawn('python3', [PYTHON, path]));
  }
  const missing = kind === 'shell' ? 'sqlite3' : 'python3';
  return new Lines(`better-sqlite3 (no ${missing})`, spawn(process.execPath, [CHILD, path]));
}

function hasProgram(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

class Shell implements SqlClient {
  readonly name = 'sqlite3 shell';
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async run({ begin, statements, holdMs, end }: Transaction): Promise<string | null> {
    const child = spawn('sqlite3', ['-batch', '-bail', this.#path]);
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    child.stdout.resume();
    const hold = holdMs > 0 ? [`.system sleep ${holdMs / 1000}`] : [];
    const lines = [`.timeout ${WAIT_MS}`, `${begin};`, ...statements.map((text) => `${text};`), ...hold, `${end};`];
    child.stdin.on('error', () => undefined).end(`${lines.join('\n')}\n`);
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0 && errors === '' ? null : errors.trim() || `ended with ${String(code)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Every transaction had a process of its own.
  }
}

/** A process that takes a JSON line for every transaction, and gives one; two where it is held open. */
class Lines implements SqlClient {
  readonly name: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #answers: AsyncIterator<string>;
  #errors = '';

  constructor(name: string, child: ChildProcessWithoutNullStreams) {
    this.name = name;
    this.#child = child;
    child.stdin.on('error', () => undefined);
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#errors += text));
    this.#answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  async run(transaction: Transaction, onHeld?: () => void): Promise<string | null> {
    this.#child.stdin.write(`${JSON.stringify(transaction)}\n`);
    for (;;) {
      const line = await this.#answers.next();
      if (line.done === true) return `the client ended: ${this.#errors}`;
      const answer = JSON.parse(line.value) as { readonly held: true } | { readonly error: string | null };
      if ('error' in answer) return answer.error;
      onHeld?.();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'close');
    this.#child.stdin.end();
    await ended;
  }
}
