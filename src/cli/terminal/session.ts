/**
 * What a command gets from outside: two outputs, an input, a clock, signals. Commands use only this, so that a test
 * can replace the terminal.
 */
import { fstatSync, writeSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { wrapProse } from '../../base/text.ts';
import { processEnvironment } from '../../config/secrets.ts';

/** One of the two streams that a command writes to. */
export interface Output {
  readonly isTerminal: boolean;
  /** Whether journald reads it, which takes a priority from the start of a line. */
  readonly isSystemdStream: boolean;
  /** True once the reader is gone (`rowsync sql … | head`): what is written is lost, so a long answer may stop. */
  readonly isClosed: boolean;
  /** Why text could not be written, such as a full disk; null while all is well, and when only the reader is gone. */
  readonly failure: Error | null;
  /** Columns of the terminal; null if the output is not a terminal, so nothing has to fit. */
  width(): number | null;
  /** Resolves when the stream takes more. */
  write(text: string): Promise<void>;
  /** Writes a line of a log; one that fails is lost, and the next is tried, since a full disk gets room again. */
  log(line: string): void;
  /** Why the last line of the log could not be written; null if it was. */
  readonly logFailure: string | null;
  /** For the progress bar, which moves the cursor itself. */
  readonly stream: Writable;
}

export interface Session {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: Readable & { readonly isTTY?: boolean | undefined };
  readonly clock: Clock;
  /**
   * Aborts when the user or the system asks the process to end. Asking for it takes over Ctrl-C from then on, so a
   * command asks only if it has something to finish. The others end at once, as any reader of a file may.
   */
  stopSignal(): AbortSignal;
  /** Calls the listener for every such signal, which would end the process otherwise (or start Node's debugger). */
  onSignal(name: 'SIGHUP' | 'SIGUSR1', listener: () => void): void;
  /** Whether its input is a terminal that is still there. */
  hasTerminal(): boolean;
  readonly folder: string;
}

/** Columns assumed for a terminal that does not say. */
const WIDTH_DEFAULT = 80;
const WIDTH_MIN = 40;

/** An output over a Node stream. After a failure it writes nothing more. */
export function outputTo(
  stream: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly fd?: number },
): Output {
  let isClosed = false;
  let failure: Error | null = null;
  let logFailure: string | null = null;
  const fail = (error: Error): void => {
    isClosed = true;
    failure ??= stream.isTTY === true || isReaderGone(error) ? null : error;
  };
  // Without a listener, a reader that goes away would end the process in the middle of a pull.
  stream.on('error', fail);
  const file = stream.fd !== undefined && fstatSync(stream.fd).isFile() ? stream.fd : null;
  return {
    stream,
    isTerminal: stream.isTTY === true,
    isSystemdStream: isSystemdStream(stream.fd),
    get isClosed() {
      return isClosed;
    },
    get failure() {
      return failure;
    },
    get logFailure() {
      return logFailure;
    },
    log: (line) => {
      // After a failure half a line may be in the file.
      const text = logFailure === null ? line : `\n${line}`;
      const note = (thrown: Error | null): void => void (logFailure = thrown?.message ?? null);
      if (file !== null) note(writeCompletely(file, text));
      else stream.write(text, (error) => note(error ?? null));
    },
    width: () => (stream.isTTY === true ? Math.max(WIDTH_MIN, stream.columns ?? WIDTH_DEFAULT) : null),
    write: async (text) => {
      if (isClosed || text === '') return;
      const thrown = await (file === null ? writeTo(stream, text) : writeCompletely(file, text));
      if (thrown !== null) fail(thrown);
    },
  };
}

export async function writeAll(output: Output, pieces: Iterable<string>): Promise<void> {
  for (const piece of pieces) {
    if (output.isClosed) return;
    await output.write(piece);
  }
}

export async function writeProse(output: Output, text: string): Promise<void> {
  await output.write(wrapProse(text, output.width()));
}

function writeTo(stream: Writable, text: string): Promise<Error | null> {
  return new Promise((resolve) => void stream.write(text, (error) => resolve(error ?? null)));
}

/** Node's stream over a file ignores that a disk took only a part of a text, so the rest is written here. */
function writeCompletely(file: number, text: string): Error | null {
  try {
    for (let bytes = Buffer.from(text); bytes.length > 0;) bytes = bytes.subarray(writeSync(file, bytes));
    return null;
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}

function isReaderGone(error: Error): boolean {
  return 'code' in error && (error.code === 'EPIPE' || error.code === 'ECONNRESET');
}

/** Whether a descriptor is the one that systemd connected to journald (systemd.exec(5), JOURNAL_STREAM). */
function isSystemdStream(fd: number | undefined): boolean {
  const named = processEnvironment()['JOURNAL_STREAM'] ?? '';
  if (fd === undefined || named === '') return false;
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return named === `${dev}:${ino}`;
}

/** Reads an input to its end. @returns null when it is longer than `charsMax`. */
export async function readAll(input: Readable, charsMax: number): Promise<string | null> {
  input.setEncoding('utf8');
  let text = '';
  for await (const chunk of input) {
    text += String(chunk);
    if (text.length > charsMax) return null;
  }
  return text;
}
