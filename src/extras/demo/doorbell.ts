/**
 * The part of the demo with a daemon: a colleague edits a row, the sandbox rings, and the row is here. The daemon and `rowsync doorbell` are the real
 * commands, run in this process with their output caught.
 */
import { createServer } from 'node:net';
import { Writable } from 'node:stream';
import { RowsyncError } from '../../base/errors.ts';
import { run } from '../../cli/program.ts';
import { openReader } from '../../replica/reader.ts';
import { outputTo, type Session } from '../../cli/terminal/session.ts';
import type { Invocation } from '../../extra.ts';
import type { RunningSandbox } from '../shared/sandbox.ts';

/** What the colleague edits: a row of a table that is large enough to be followed. */
const [TABLE, ROW, COLUMN, VALUE] = ['Order', 7, 'Comment', 'rings'] as const;

/** How long the row may take, and how often it is looked for. */
const ARRIVAL_MS_MAX = 20_000;
const LOOK_MS = 20;

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

/** Lets the row come; returns what happened, in a line. @throws RowsyncError where it does not come. */
export async function letItRing(
  { session, extras, configPath = '' }: Invocation,
  sandbox: RunningSandbox,
  path: string,
): Promise<string> {
  const { clock } = session;
  const stop = new AbortController();
  const signal = AbortSignal.any([session.stopSignal(), stop.signal]);
  const quiet: Session = { ...session, stopSignal: () => signal, onSignal: () => undefined };
  let shown = '';
  const forAddress = outputTo(catcher((text) => (shown += text)));
  await run(['doorbell', 'show', TABLE, '--config', configPath], { ...quiet, stdout: forAddress }, extras);
  const [url = ''] = /http:\S+\/ring\/\S+/.exec(shown) ?? [];
  const listening = Promise.withResolvers<void>();
  const forLog = outputTo(catcher((line) => line.includes('"http.listening"') && listening.resolve()));
  const ended = run(['daemon', '--config', configPath], { ...quiet, stdout: forLog }, extras);
  try {
    const exitCode = await Promise.race([listening.promise, ended]);
    if (typeof exitCode === 'number') throw endedError(exitCode);
    sandbox.ringAt(url);
    const startedMs = clock.monotonicMs();
    sandbox.store.update(TABLE, ROW, { [COLUMN]: VALUE });
    while (!isHere(path)) {
      if (clock.monotonicMs() - startedMs > ARRIVAL_MS_MAX) throw lateError();
      await clock.sleep(LOOK_MS);
    }
    const seconds = ((clock.monotonicMs() - startedMs) / 1_000).toFixed(1);
    return `${TABLE} ${ROW} was here ${seconds} s after the edit\n`;
  } finally {
    stop.abort();
    await ended;
  }
}

function isHere(path: string): boolean {
  using reader = openReader(path);
  const { rows } = reader.query(`SELECT 1 FROM "${TABLE}" WHERE _id = ${ROW} AND "${COLUMN}" = '${VALUE}'`);
  return [...rows].length > 0;
}

function endedError(exitCode: number): RowsyncError {
  return new RowsyncError('originDown', 'origin.timeout', {
    message: `The daemon of the demo ended with the exit code ${exitCode}`,
    hint: 'What it said above tells why.',
  });
}

function lateError(): RowsyncError {
  return new RowsyncError('originDown', 'origin.timeout', {
    message: `The daemon of the demo did not bring ${TABLE} ${ROW} within ${ARRIVAL_MS_MAX / 1_000} seconds`,
    hint: 'The machine may be very busy: try again.',
  });
}

/** A stream that hands over what is written. */
function catcher(onText: (text: string) => void): Writable {
  return new Writable({
    write: (chunk, _encoding, done) => {
      onText(String(chunk));
      done();
    },
  });
}
