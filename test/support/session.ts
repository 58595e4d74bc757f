/**
 * A session that collects what a command prints; for tests of the command line inside this process.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { run } from '../../src/cli/program.ts';
import { EXTRAS } from '../../src/extras.ts';
import type { Output, Session } from '../../src/cli/terminal/session.ts';
import { runRowsync } from './child.ts';
import { IS_PACKED } from './program.ts';

/** What a command did. */
export interface RunResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** An output that remembers; `width` makes it a terminal. */
export function collectingOutput(
  width: number | null = null,
  isReaderGone: (text: string) => boolean = () => false,
): Output & { text(): string; onText: (text: string) => void } {
  let text = '';
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      text += String(chunk);
      output.onText(String(chunk));
      done();
    },
  });
  const output: Output & { text(): string; onText: (text: string) => void } = {
    stream: Object.assign(stream, { isTTY: width !== null, columns: width ?? undefined }),
    isTerminal: width !== null,
    isSystemdStream: false,
    get isClosed() {
      return isReaderGone(text);
    },
    failure: null,
    logFailure: null,
    log: (line) => void output.write(line),
    width: () => width,
    write: async (written) => {
      text += written;
      output.onText(written);
    },
    text: () => text,
    onText: () => undefined,
  };
  return output;
}

function inputOf(text: string | undefined): Readable {
  return text === undefined ? new PassThrough().end() : Readable.from([text]);
}

/** A terminal at which someone answers one question after the other, and then closes the input. */
function typingPerson(answers: readonly string[], stderr: { onText: (text: string) => void }): Session['stdin'] {
  const stream = new PassThrough();
  const left = [...answers];
  stderr.onText = (text) => {
    if (!text.endsWith(': ')) return;
    const next = left.shift();
    if (next === undefined) stream.end();
    else stream.write(`${next}\n`);
  };
  return Object.assign(stream, { isTTY: true });
}

/**
 * Runs the command line in this process; `typed` are answers at a terminal. If a packed program is to be tested, it
 * runs that one, unless the world is one that only this process can make.
 */
export async function runCli(
  args: readonly string[],
  world: {
    folder?: string;
    input?: string;
    typed?: readonly string[];
    clock?: Clock;
    signal?: AbortSignal;
    width?: number | null;
    stderrWidth?: number;
    /** Whether the reader of the output has gone away, by the text so far. */
    isReaderGone?: (text: string) => boolean;
  } = {},
): Promise<RunResult> {
  const { folder = process.cwd(), input } = world;
  const isPlain = [world.typed, world.clock, world.signal, world.isReaderGone, world.width ?? world.stderrWidth].every(
    (it) => it === undefined,
  );
  if (IS_PACKED && isPlain) return await runRowsync(args, { folder, ...(input === undefined ? {} : { input }) });
  const stdout = collectingOutput(world.width, world.isReaderGone);
  const stderr = collectingOutput(world.stderrWidth);
  const stdin = world.typed === undefined ? inputOf(input) : typingPerson(world.typed, stderr);
  const { signal = new AbortController().signal, clock = systemClock } = world;
  const session = sessionIn(folder, { stdout, stderr, stdin, clock, stopSignal: () => signal });
  const exitCode = await run(args, session, EXTRAS);
  return { exitCode, stdout: stdout.text(), stderr: stderr.text() };
}

/** A session in a folder, without a terminal and without input; what it prints is remembered. */
export function sessionIn(folder: string, given: Partial<Session> = {}): Session {
  return {
    stdout: collectingOutput(),
    stderr: collectingOutput(),
    stdin: inputOf(undefined),
    clock: systemClock,
    stopSignal: () => new AbortController().signal,
    hasTerminal: () => false,
    onSignal: () => undefined,
    folder,
    ...given,
  };
}

/** Writes a configuration into the folder of a replica, for commands that ask the origin nothing. */
export function configureOffline(folder: string, yaml = ''): void {
  const origin = 'origin: { url: "http://127.0.0.1:1", database: "1", tokenFile: token }\n';
  writeFileSync(join(folder, 'token'), '', { mode: 0o600 });
  writeFileSync(join(folder, 'rowsync.yaml'), `${origin}replica: { path: replica.db }\n${yaml}`);
}
