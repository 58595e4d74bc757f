/**
 * `rowsync daemon`: runs on schedule until it is told to stop. Its log goes to stdout: JSON lines, with priorities where journald
 * reads them, or short lines on a terminal.
 */
import type { Command } from 'commander';
import { EXIT } from '../../base/errors.ts';
import { createLogger, type Logger } from '../../base/log.ts';
import { loadConfig, type Config } from '../../config/load.ts';
import { findConfig } from '../../config/paths.ts';
import { originSecrets } from '../../config/settings.ts';
import { processEnvironment } from '../../config/secrets.ts';
import { runDaemon } from '../../daemon/daemon.ts';
import { memoryKeeper } from '../../daemon/memory.ts';
import { openNotifier } from '../../daemon/systemd.ts';
import { sinkSecrets } from '../../config/sinks.ts';
import { loadNamedConfig, type Invocation, type Runner } from '../invocation.ts';

const HELP = `
The configuration has the schedule. The daemon also pulls once when it starts. One daemon works on a replica;
status, sql and other readers work beside it.

Signals:
  SIGTERM, SIGINT   end within 20 seconds; the file is consistent whenever the process ends
  SIGHUP            read the configuration again; one with problems is refused, and the present one stays
  SIGUSR1           start a cycle now, also for what waits after a failure

Examples:
  rowsync daemon
  rowsync daemon --config /etc/rowsync/rowsync.yaml --verbose
  kill -USR1 "$(pgrep -f 'rowsync daemon')"`;

/** Adds the command. */
export function addDaemonCommand(program: Command, runner: Runner): void {
  program
    .command('daemon')
    .description('keep the replica up to date, on schedule, until it is told to stop')
    .addHelpText('after', HELP)
    .action((_options: unknown, command: Command) => runner(command, runUntilStopped));
}

async function runUntilStopped(invocation: Invocation): Promise<number> {
  const { session } = invocation;
  const stop = session.stopSignal();
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  // Found once: a daemon must not change over to a file that turns up in its folder later.
  const path = findConfig(invocation.configPath, session.folder);
  const logFor = (of: Config): Logger =>
    createLogger({
      level: invocation.isVerbose ? 'debug' : 'info',
      destination: { write: (line) => void session.stdout.write(line) },
      secrets: [
        ...originSecrets(of),
        ...(of.notify.webhook === null ? [] : [of.notify.webhook]),
        ...sinkSecrets(of.sinks),
      ],
      form: session.stdout.isTerminal ? 'terminal' : session.stdout.isJournal ? 'journal' : 'json',
    });
  await runDaemon(config, {
    clock: session.clock,
    signals: {
      stop,
      onReload: (listener) => session.onSignal('SIGHUP', listener),
      onCycle: (listener) => session.onSignal('SIGUSR1', listener),
    },
    notifier: openNotifier(processEnvironment(), logFor(config)),
    atRest: memoryKeeper(),
    load: () => loadConfig(path).config,
    logFor,
  });
  return EXIT.done;
}
