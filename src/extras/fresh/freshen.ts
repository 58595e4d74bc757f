/**
 * Brings the tables that a question reads up to a bound: those that are older are read by the daemon, or by this command where none runs. Then the
 * question is answered, or refused: an older answer never is.
 */
import { asRowsyncError, RowsyncError } from '../../base/errors.ts';
import { loadNamedConfig, withSides } from '../../cli/runtime/invocation.ts';
import { askDaemonToRead } from '../../cli/runtime/daemon-client.ts';
import type { Config } from '../../config/load.ts';
import type { Invocation } from '../../extra.ts';
import { pull } from '../../pull/pull.ts';
import { finishPushes } from '../../push/push.ts';
import { isInUse } from '../../replica/lock.ts';
import type { AgedTable } from '../../reconcile/fresh.ts';
import { ageBound, requireFresh, staleTables } from '../shared/fresh-tables.ts';
import type { ReplicaReader } from '../../replica/reader.ts';

/** A question: the tables that it reads, by their names in the file, and how old they may be. */
interface FreshQuestion {
  readonly reader: ReplicaReader;
  readonly reads: () => readonly string[];
  readonly within: string;
}

/**
 * Leaves the reader in a transaction in which the tables are as young as wanted; returns them.
 * @throws RowsyncError `fresh.stale`, `usage.invalid`, `replica.query`.
 */
export async function freshen(
  invocation: Invocation,
  config: Config,
  { reader, reads, within }: FreshQuestion,
): Promise<readonly AgedTable[]> {
  const bound = ageBound(within, invocation.session.clock.nowMs());
  const stale = staleTables(reader, reads(), bound);
  const failure = stale.length === 0 ? null : await readNow(invocation, config, stale);
  return requireFresh(reader, { names: reads, bound, failure });
}

/** Reads tables now; returns why that failed, if it is known. */
async function readNow(
  invocation: Invocation,
  config: Config,
  stale: readonly AgedTable[],
): Promise<RowsyncError | null> {
  const names = stale.map(({ name }) => name);
  const { listen } = config.http;
  if (isInUse(config.replica.path)) {
    if (listen !== null && (await askDaemonToRead(listen, config.replica.path, names))) return null;
    return new RowsyncError('replica', 'replica.inUse', {
      message: 'another rowsync process works on the replica, and cannot be asked',
      hint:
        listen === null
          ? 'Set http.listen, so that the daemon can be asked.'
          : 'Wait for it to end; a daemon answers everyone who may read the replica.',
    });
  }
  try {
    const full = await loadNamedConfig(invocation, { needsCredentials: true });
    return await withSides(invocation, full, async (sides) => {
      await finishPushes(sides.push);
      const settings = { ...sides.pull.settings, compares: false };
      const report = await pull({ ...sides.pull, settings }, { tables: names, confirm: false, follow: true });
      return report.error ?? report.tables.find(({ error }) => error !== null)?.error ?? null;
    });
  } catch (thrown) {
    return asRowsyncError(thrown);
  }
}
