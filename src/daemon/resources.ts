/**
 * Opens the origin and the replica of the daemon, and replaces them when the configuration changes. An unchanged
 * replica stays open, because its lock must be held all the time.
 */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Config } from '../config/load.ts';
import { boundTo, originSettings } from '../config/settings.ts';
import { openOrigin, type Origin } from '../origin/client.ts';
import { openReplica, type Replica } from '../replica/database.ts';
import type { RowsyncError } from '../base/errors.ts';
import { checkIntegrity } from '../replica/integrity-check.ts';

export interface Resources {
  readonly config: Config;
  readonly origin: Origin;
  readonly replica: Replica;
  readonly log: Logger;
  readonly damage: DamageWatch;
  close(): Promise<void>;
}

/**
 * Opens what a configuration names, then closes what only another one needed.
 * @throws RowsyncError of the configuration or of the replica; everything is left as it was.
 */
export async function openResources(
  config: Config,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  before: Resources | null,
): Promise<Resources> {
  const origin = openOrigin(originSettings(config), { clock, log, before: before?.origin });
  const { path, shared } = config.replica;
  const kept = before?.config.replica.path === path ? before : null;
  const replica = kept?.replica ?? openReplica(path, { clock, shared });
  if (kept === null && replica.upgrade !== null) log.info('replica.upgraded', { path: replica.upgrade.copyPath });
  await before?.origin.close();
  if (kept === null) before?.replica.close();
  return {
    config: boundTo(replica, config),
    origin,
    replica,
    log,
    damage: kept?.damage ?? new DamageWatch(replica.path),
    close: async () => {
      await origin.close();
      replica.close();
    },
  };
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
