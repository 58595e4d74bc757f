/**
 * Tells the service manager (sd_notify(3)) that the daemon started, its status, that it is alive, and that it stops.
 * Does nothing outside of systemd.
 *
 * Node cannot write to a unix datagram socket, and its foreign function interface is experimental. So each message is
 * sent by the program `systemd-notify`, which waits until the manager has taken it; the unit needs `NotifyAccess=all`.
 * Messages go one after the other, and never keep the daemon waiting.
 */
import { spawn } from 'node:child_process';
import type { Logger } from '../../base/log.ts';
import type { Environment } from '../../config/secrets.ts';
import type { Notifier } from '../../daemon/process-health.ts';

/** How much longer than configured a start may take: the upgrade of a replica of many gigabytes. */
const START_EXTENSION_MS = 600_000;
/** A message is given up after this time. */
const SEND_MS_MAX = 5_000;
/** Messages waiting to be sent; more means that the manager does not read. */
const QUEUE_MAX = 16;

/** A notifier for the manager that the environment names; null for none. */
export function openNotifier(environment: Environment, log: Logger): Notifier | null {
  if ((environment['NOTIFY_SOCKET'] ?? '') === '') return null;
  const watchdogMs = watchdogMsOf(environment);
  let queue: Promise<void> = Promise.resolve();
  let waitingCount = 0;
  let hasFailed = false;
  const say = (...assignments: readonly string[]): void => {
    if (waitingCount >= QUEUE_MAX) return;
    waitingCount += 1;
    queue = sendAfter(queue, assignments);
  };
  const sendAfter = async (before: Promise<void>, assignments: readonly string[]): Promise<void> => {
    await before;
    const reason = await send(assignments);
    waitingCount -= 1;
    if (reason === null || hasFailed) return;
    hasFailed = true; // once says it all
    log.error('notify.failed', { reason });
  };
  return {
    starting: () => say(`EXTEND_TIMEOUT_USEC=${START_EXTENSION_MS * 1000}`, 'STATUS=opening the replica'),
    ready: () => say('READY=1'),
    status: (line) => say(`STATUS=${line.replaceAll(/\p{Cc}/gu, ' ')}`),
    watch: async (clock, signal, hasAdvanced) => {
      if (watchdogMs === null) return;
      while (!signal.aborted) {
        if (hasAdvanced()) say('WATCHDOG=1');
        await clock.sleep(watchdogMs, signal);
      }
    },
    stopping: () => say('STOPPING=1', 'STATUS=stopping'),
    flush: () => queue,
  };
}

/** Half of the time after which the manager takes the process for dead; it is meant for this process or for any. */
function watchdogMsOf(environment: Environment): number | null {
  const [pid, microseconds] = [environment['WATCHDOG_PID'], Number(environment['WATCHDOG_USEC'])];
  if (pid !== undefined && pid !== String(process.pid)) return null;
  return Number.isInteger(microseconds) && microseconds > 0 ? microseconds / 2000 : null;
}

/** Sends one message; why it could not be sent, or null. */
function send(assignments: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn('systemd-notify', assignments, { stdio: 'ignore', timeout: SEND_MS_MAX });
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code) => resolve(code === 0 ? null : `systemd-notify ended with ${String(code)}`));
  });
}
