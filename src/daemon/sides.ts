/**
 * The origin and the replica of the daemon, opened from one configuration, and exchanged when that changes. Input: a configuration. Output: an open
 * origin and replica. An unchanged replica stays open, because its lock must be held all the time.
 */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import { originSettings } from '../config/settings.ts';
import { withBoundNames } from '../config/tables.ts';
import { removeUnnamed } from '../files/prune.ts';
import { openOrigin, type Origin } from '../origin/client.ts';
import { openReplica, type Replica } from '../replica/database.ts';
import { boundNameOf } from '../replica/bookkeeping/described.ts';
import { startSinks, type RunningSinks } from '../extras/postgres/runner.ts';
import { WholeWatch } from './whole.ts';

/** The input for opening both sides. */
interface SideParts {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Both sides, open. */
export interface Sides {
  readonly config: Config;
  readonly origin: Origin;
  readonly replica: Replica;
  readonly log: Logger;
  readonly whole: WholeWatch;
  /** Removes content of attached files that no row names any more. */
  readonly removeContents: (hashes: readonly string[]) => Promise<unknown>;
  /** Opens what the new configuration names, then closes the rest; throws with everything left as it was. */
  changeTo(config: Config, parts: SideParts): Promise<Sides>;
  close(): Promise<void>;
}

/** Opens both sides. @throws RowsyncError of the configuration or of the replica. */
export function openSides(
  config: Config,
  // Sinks have their own clock: their waits are no sign of life of the daemon.
  parts: SideParts & { readonly sinkClock: Clock },
): Sides {
  const origin = openOrigin(originSettings(config), parts);
  const replica = openReplicaOf(config, parts);
  return sidesOf(
    config,
    {
      origin,
      replica,
      log: parts.log,
      whole: new WholeWatch(replica.path),
      sinks: startSinks(config.sinks, { replica, clock: parts.sinkClock, log: parts.log }),
    },
    parts.sinkClock,
  );
}

function sidesOf(
  config: Config,
  open: Pick<Sides, 'origin' | 'replica' | 'log' | 'whole'> & { readonly sinks: RunningSinks },
  sinkClock: Clock,
): Sides {
  return {
    config: withBoundNames(config, (name) => boundNameOf(open.replica, name)),
    origin: open.origin,
    replica: open.replica,
    log: open.log,
    whole: open.whole,
    removeContents: (hashes) => removeUnnamed(open.replica, config.replica.files, hashes),
    changeTo: async (next, parts) => {
      const origin = openOrigin(originSettings(next), parts);
      const isSameFile = next.replica.path === config.replica.path;
      const replica = isSameFile ? open.replica : openReplicaOf(next, parts);
      await open.sinks.stop();
      await open.origin.close();
      if (!isSameFile) open.replica.close();
      const whole = isSameFile ? open.whole : new WholeWatch(replica.path);
      const sinks = startSinks(next.sinks, { replica, clock: sinkClock, log: parts.log });
      return sidesOf(next, { origin, replica, log: parts.log, whole, sinks }, sinkClock);
    },
    close: async () => {
      await open.sinks.stop();
      await open.origin.close();
      open.replica.close();
    },
  };
}

function openReplicaOf({ replica: { path, shared } }: Config, { clock, log }: SideParts): Replica {
  const replica = openReplica(path, { clock, shared });
  if (replica.upgrade !== null) log.info('replica.upgraded', { path: replica.upgrade.copyPath });
  return replica;
}
