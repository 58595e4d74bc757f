#!/usr/bin/env node
/**
 * The process: connects the command line to the real terminal, clock and signals, and ends with its exit code. The only
 * place that may end the process.
 */
import { isatty } from 'node:tty';
import { systemClock } from '../base/clock.ts';
import { keepDebuggerShut } from '../base/node-flags.ts';
import { PAGE_PROCESS } from '../extras/page/request.ts';
import { TOOL_PROCESS } from '../extras/mcp/request.ts';
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
      void stderr.write('Stopping; press Ctrl-C again to quit now\n');
      controller.abort();
    });
  }
  return controller.signal;
}

async function main(): Promise<void> {
  // The daemon starts itself once more for its page; that process ends with its channel to the daemon.
  if (process.argv[2] === PAGE_PROCESS) {
    const [{ serveQuestions }, { answerPage }] = await Promise.all([
      import('../base/child-process.ts'),
      import('../extras/page/routes.ts'),
    ]);
    optimiseCode();
    return serveQuestions(answerPage);
  }
  // So does the server for agents, for what they ask.
  if (process.argv[2] === TOOL_PROCESS) {
    const { serveTools } = await import('../extras/mcp/tool-process.ts');
    optimiseCode();
    return serveTools();
  }
  const { run } = await import('./program.ts');
  const exitCode = await run(process.argv.slice(2), {
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
  });
  // Everything is closed and flushed by now; a handle forgotten somewhere must not keep a finished command alive.
  process.exit(exitCode);
}

// The bundle is CommonJS, which awaits in functions only.
void main();
