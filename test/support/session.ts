/**
 * A session that collects what a command prints; for tests of the command line inside this process.
 */
import { PassThrough, Readable, Writable } from 'node:stream';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { run } from '../../src/cli/program.ts';
import type { Output } from '../../src/cli/session.ts';

/** What a command did. */
export interface RunResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** An output that remembers; `width` makes it a terminal. */
export function collectingOutput(width: number | null = null): Output & { text(): string } {
  let text = '';
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      text += String(chunk);
      done();
    },
  });
  return {
    stream: Object.assign(stream, { isTTY: width !== null, columns: width ?? undefined }),
    isTerminal: width !== null,
    isClosed: false,
    width: () => width,
    write: async (written) => {
      text += written;
    },
    text: () => text,
  };
}

/** Runs the command line in this process. */
export async function runCli(
  args: readonly string[],
  world: { folder?: string; input?: string; clock?: Clock; signal?: AbortSignal; width?: number | null } = {},
): Promise<RunResult> {
  const stdout = collectingOutput(world.width);
  const stderr = collectingOutput();
  const stdin = world.input === undefined ? new PassThrough().end() : Readable.from([world.input]);
  const exitCode = await run(args, {
    stdout,
    stderr,
    stdin,
    clock: world.clock ?? systemClock,
    stopSignal: () => world.signal ?? new AbortController().signal,
    onSignal: () => undefined,
    folder: world.folder ?? process.cwd(),
  });
  return { exitCode, stdout: stdout.text(), stderr: stderr.text() };
}
