/**
 * `rowsync daemon`: runs on schedule until it is told to stop. Its log goes to stdout: JSON lines, with priorities
 * where journald reads them, or short lines on a terminal.
 */
import type { Command } from 'commander';
import { EXIT } from '../../base/errors.ts';
import { createLogger, type Logger } from '../../base/log.ts';
import type { Config } from '../../config/load.ts';
import { findConfig } from '../../config/paths.ts';
import { originSecrets } from '../../config/settings.ts';
import { processEnvironment } from '../../config/secrets.ts';
import { memoryKeeper } from '../../daemon/process-health.ts';
import { loadNamedConfig, loadSections } from '../runtime/invocation.ts';
import type { Invocation, Runner } from '../../extra.ts';

const HELP = `
The configuration has the schedule. The daemon also pulls once when it starts. One daemon works on a replica;
status, sql and other readers work beside it.

Signals:
  SIGTERM, SIGINT   end within 20 seconds; the file is consistent whenever the process ends
  SIGHUP            read the configuration again, unless it has problems; from a terminal that is closed: end
  SIGUSR1           start a cycle now, also for what waits after a failure

Examples:
  rowsync daemon
  rowsync daemon --config /etc/rowsync/rowsync.yaml --verbose
  kill -USR1 "$(pgrep -f 'rowsync daemon')"`;

export function addDaemonCommand(program: Command, runner: Runner): void {
  program
    .command('daemon')
    .description('keep the replica up to date, on schedule')
    .addHelpText('after', HELP)
    .action(runner(runUntilStopped));
}

async function runUntilStopped(invocation: Invocation): Promise<number> {
  const { session } = invocation;
  const [{ loadConfig }, { runDaemon }] = await Promise.all([
    import('../../config/load.ts'),
    import('../../daemon/daemon.ts'),
  ]);
  const hadTerminal = session.hasTerminal();
  const hungUp = new AbortController();
  const stop = AbortSignal.any([session.stopSignal(), hungUp.signal]);
  const config = await loadNamedConfig(invocation, { needsCredentials: true });
  // Found once: a daemon must not change over to a file that turns up in its folder later.
  const path = findConfig(invocation.configPath, session.folder);
  const sections = await loadSections(invocation);
  const logFor = (of: Config): Logger =>
    createLogger({
      level: invocation.isVerbose ? 'debug' : 'info',
      destination: { write: (line) => session.stdout.log(line) },
      secrets: [...originSecrets(of), ...invocation.extras.flatMap(({ secrets }) => secrets?.(of) ?? [])],
      form: session.stdout.isTerminal ? 'terminal' : session.stdout.isSystemdStream ? 'journal' : 'json',
    });
  const [openNotifier] = invocation.extras.flatMap((extra) => extra.openNotifier ?? []);
  await runDaemon(config, {
    clock: session.clock,
    signals: {
      stop,
      // A terminal that is closed sends the same signal; nobody could see or stop the daemon any more.
      onReload: (listener) =>
        session.onSignal('SIGHUP', () => {
          if (hadTerminal && !session.hasTerminal()) hungUp.abort();
          else listener();
        }),
      onCycle: (listener) => session.onSignal('SIGUSR1', listener),
    },
    notifier: (await openNotifier?.(processEnvironment(), logFor(config))) ?? null,
    atRest: memoryKeeper(),
    load: () => loadConfig(path, { needsCredentials: true, sections }).config,
    logFor,
    extras: invocation.extras,
    logFailure: () => session.stdout.logFailure,
  });
  return EXIT.done;
}
