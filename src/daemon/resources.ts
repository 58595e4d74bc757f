/**
 * Opens the origin and the replica of the daemon, and exchanges them when the configuration changes. An unchanged
 * replica stays open, because its lock must be held all the time.
 */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import { originSettings } from '../config/settings.ts';
import { withBoundNames } from '../config/table-patterns.ts';
import { removeUnnamed } from '../files/open-store.ts';
import { openOrigin, type Origin } from '../origin/client.ts';
import { openReplica, type Replica } from '../replica/database.ts';
import { boundNameOf } from '../replica/bookkeeping/described-tables.ts';
import type { RowsyncError } from '../base/errors.ts';
import { checkIntegrity } from '../replica/integrity-check.ts';

interface ResourceParts {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Begins work beside the daemon; `stop` ends it. */
export type StartBeside = (
  config: Config,
  parts: ResourceParts & { readonly replica: Replica },
) => { readonly stop: () => Promise<void> };

export interface Resources {
  readonly config: Config;
  readonly origin: Origin;
  readonly replica: Replica;
  readonly log: Logger;
  readonly damage: DamageWatch;
  /** Removes content of attached files that no row names any more. */
  readonly removeContents: (hashes: readonly string[]) => Promise<unknown>;
  /** Opens what the new configuration names, then closes the rest; throws with everything left as it was. */
  changeTo(config: Config, parts: ResourceParts): Promise<Resources>;
  close(): Promise<void>;
}

/** Opens the origin and the replica. @throws RowsyncError of the configuration or of the replica. */
export function openResources(
  config: Config,
  // Work beside the daemon has its own clock: its waits are no sign of life of the daemon.
  parts: ResourceParts & { readonly besideClock: Clock; readonly starts: readonly StartBeside[] },
): Resources {
  const origin = openOrigin(originSettings(config), parts);
  const replica = openReplicaOf(config, parts);
  return resourcesOf(
    config,
    { origin, replica, log: parts.log, damage: new DamageWatch(replica.path) },
    { starts: parts.starts, clock: parts.besideClock },
  );
}

function resourcesOf(
  config: Config,
  open: Pick<Resources, 'origin' | 'replica' | 'log' | 'damage'>,
  beside: { readonly starts: readonly StartBeside[]; readonly clock: Clock },
): Resources {
  const parts = { replica: open.replica, clock: beside.clock, log: open.log };
  const running = beside.starts.map((start) => start(config, parts));
  const stop = (): Promise<unknown> => Promise.all(running.map((work) => work.stop()));
  return {
    config: withBoundNames(config, (name) => boundNameOf(open.replica, name)),
    origin: open.origin,
    replica: open.replica,
    log: open.log,
    damage: open.damage,
    removeContents: (hashes) => removeUnnamed(open.replica, config.replica.files, hashes),
    changeTo: async (next, changed) => {
      const origin = openOrigin(originSettings(next), { ...changed, before: open.origin });
      const isSameFile = next.replica.path === config.replica.path;
      const replica = isSameFile ? open.replica : openReplicaOf(next, changed);
      await stop();
      await open.origin.close();
      if (!isSameFile) open.replica.close();
      const damage = isSameFile ? open.damage : new DamageWatch(replica.path);
      return resourcesOf(next, { origin, replica, log: changed.log, damage }, beside);
    },
    close: async () => {
      await stop();
      await open.origin.close();
      open.replica.close();
    },
  };
}

function openReplicaOf({ replica: { path, shared } }: Config, { clock, log }: ResourceParts): Replica {
  const replica = openReplica(path, { clock, shared });
  if (replica.upgrade !== null) log.info('replica.upgraded', { path: replica.upgrade.copyPath });
  return replica;
}

/** Between two checks of an undamaged file. */
const LOOK_EVERY_MS = 24 * 60 * 60_000;

export class DamageWatch {
  readonly #path: string;
  #lookedAtMs: number | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** Checks the file if it is time. @throws RowsyncError `replica.damaged`. */
  async look(nowMs: number): Promise<void> {
    if (this.#lookedAtMs !== null && nowMs - this.#lookedAtMs < LOOK_EVERY_MS) return;
    await checkIntegrity(this.#path);
    this.#lookedAtMs = nowMs;
  }

  /** After damage, the next check is due at once. */
  note(error: RowsyncError): void {
    if (error.code === 'replica.damaged') this.#lookedAtMs = null;
  }
}
