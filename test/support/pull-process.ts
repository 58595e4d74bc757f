/**
 * Starts `pull-child.ts` and talks to it.
 *
 *    const child = startPull(job);  await child.said('ready');
 *    child.go();                    await child.said('open');
 *    child.kill();                  await child.ended;       // the outcome, or null where it was killed
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What a child does, and with what. */
export interface ChildJob {
  readonly path: string;
  readonly url: string;
  readonly database: string;
  readonly token: string;
  readonly pageRows: number;
  readonly concurrency: number;
  /** The file store; without it, files are left alone. */
  readonly filesFolder?: string;
  /** Only open the replica and keep it open. */
  readonly hold: boolean;
}

/** How a child ended that was not killed: the codes of all errors and guards. */
export interface ChildOutcome {
  readonly codes: readonly string[];
  readonly exitCode: number;
}

/** A running child. */
export interface PullProcess {
  /** Resolves once it has printed this line; rejects, with what it printed, if it ends without. */
  said(line: string): Promise<void>;
  /** Lets it begin, at a moment (of `Date.now()`) if one is given, or, with `hold`, end. */
  go(atMs?: number): void;
  /** SIGKILL. */
  kill(): void;
  /** Its outcome, or null where it was killed before it had one; rejects where it failed in an unforeseen way. */
  readonly ended: Promise<ChildOutcome | null>;
}

const CHILD = fileURLToPath(new URL('./pull-child.ts', import.meta.url));

/** Starts a child that waits to be told to go. Children that share a `cacheFolder` compile the program once. */
export function startPull(job: ChildJob, cacheFolder?: string): PullProcess {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(job)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...(cacheFolder === undefined ? {} : { NODE_COMPILE_CACHE: cacheFolder }) },
  });
  const watchers = new Map<string, { resolve: () => void; reject: (reason: Error) => void }>();
  let [out, errors] = ['', ''];
  child.stdin.on('error', () => undefined); // it may be dead by the time it is told to go
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    for (const [line, { resolve }] of watchers) if (out.split('\n').includes(line)) resolve();
  });
  const ended = new Promise<ChildOutcome | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (_code, signal) => {
      const failure = new Error(`The child ended. It printed: ${out}${errors}`);
      for (const { reject: rejectLine } of watchers.values()) rejectLine(failure);
      const outcome = /^\{.*\}$/m.exec(out)?.[0];
      if (outcome !== undefined) resolve(JSON.parse(outcome) as ChildOutcome);
      else if (signal === 'SIGKILL') resolve(null);
      else reject(failure);
    });
  });
  ended.catch(() => undefined); // whoever waits for it is told; nobody else has to
  return {
    ended,
    said: (line) =>
      new Promise((resolve, reject) => {
        if (out.split('\n').includes(line)) return resolve();
        if (child.exitCode !== null || child.signalCode !== null) return reject(new Error(`Ended: ${out}${errors}`));
        watchers.set(line, { resolve, reject });
      }),
    go: (atMs = 0) => void child.stdin.write(`${atMs}\n`),
    kill: () => void child.kill('SIGKILL'),
  };
}
