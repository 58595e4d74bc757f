#!/usr/bin/env node
/**
 * The process: connects the command line to the real terminal, clock and signals, and ends with its exit code. The only
 * place that may end the process.
 */
import { flushCompileCache } from 'node:module';
import { isatty } from 'node:tty';
import { systemClock } from '../base/clock.ts';
import { EXIT } from '../base/errors.ts';
import { keepDebuggerShut } from '../base/node-flags.ts';
import { EXTRAS } from '../extras.ts';
import { keepMemorySmall, optimiseCode } from './runtime/memory.ts';
import { outputTo } from './terminal/session.ts';

/** What a shell reports for a program that a second Ctrl-C ended (128 + SIGINT). */
const EXIT_INTERRUPTED = 130;

keepDebuggerShut();
keepMemorySmall();

const stderr = outputTo(process.stderr);
let stopping: AbortController | undefined;

function stopSignal(): AbortSignal {
  if (stopping !== undefined) return stopping.signal;
  const controller = new AbortController();
  stopping = controller;
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(EXIT_INTERRUPTED);
      // Only to a person: among the lines of a daemon's log it would be the one that is no JSON.
      if (name === 'SIGINT') void stderr.write('Stopping; press Ctrl-C again to quit now\n');
      controller.abort();
    });
  }
  return controller.signal;
}

/** Nothing is left to wait for, but the work has not ended: a defect, which must not look like success. */
function endedEarly(): void {
  process.exitCode = EXIT.failed;
  void stderr.write('error: rowsync ended in the middle of its work, and what it did is not known\n');
}

async function main(): Promise<void> {
  // Extras start the program once more for what must not hold up, or crash, the process that asks.
  const [loadProcess] = EXTRAS.flatMap(({ processes }) => processes?.[process.argv[2] ?? ''] ?? []);
  if (loadProcess !== undefined) {
    const serve = await loadProcess();
    flushCompileCache(); // its parent kills it, and Node writes at the end
    optimiseCode();
    return serve();
  }
  const { run } = await import('./program.ts');
  process.once('beforeExit', endedEarly);
  const exitCode = await run(
    process.argv.slice(2),
    {
      stdout: outputTo(process.stdout),
      stderr,
      // Opened when it is asked for: most commands read nothing.
      get stdin() {
        return process.stdin;
      },
      clock: systemClock,
      stopSignal,
      hasTerminal: () => isatty(0),
      onSignal: (name, listener) => void process.on(name, listener),
      folder: process.cwd(),
    },
    EXTRAS,
  );
  // Everything is closed and flushed by now; a handle forgotten somewhere must not keep a finished command alive.
  process.exit(exitCode);
}

// The bundle is CommonJS, which awaits in functions only.
void main();
