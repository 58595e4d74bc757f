/**
 * What a command asks of a running daemon. The extra with the daemon's server carries the requests; without it, a
 * command knows only whether a process works on the replica.
 */
import { problemsOf } from '../../daemon/account-facts.ts';
import type { DaemonClient, Invocation } from '../../extra.ts';
import { isInUse } from '../../replica/lock.ts';

const WITHOUT_SERVER: DaemonClient = {
  hear: ({ replica }, { extras }) => {
    const keeper = isAtWork(replica.path) ? 'service' : 'nobody';
    return Promise.resolve({ keeper, complaints: [], added: problemsOf(extras), lines: [], json: {} });
  },
  decide: (_config, _decision, cause) => Promise.reject(cause),
  handOver: (_invocation, cause) => Promise.reject(cause),
};

export async function daemonClient({ extras }: Pick<Invocation, 'extras'>): Promise<DaemonClient> {
  const [load] = extras.flatMap(({ loadDaemonClient }) => loadDaemonClient ?? []);
  return load === undefined ? WITHOUT_SERVER : load();
}

/** Whether a process holds the lock of a replica, as a daemon does that listens nowhere. */
export function isAtWork(path: string): boolean {
  try {
    return isInUse(path);
  } catch {
    return false; // the account says what is wrong with the replica
  }
}
