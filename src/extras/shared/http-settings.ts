/**
 * Where a daemon listens, for those who ask it. Also without the extra that gives it a server: then it listens nowhere.
 */
import type { Config } from '../../config/load.ts';
import type { ListenAddress } from './linked-extra.ts';

declare module '../../config/options.ts' {
  interface ExtraSettings {
    readonly http?: HttpSettings;
  }
}

export interface HttpSettings {
  readonly listen: ListenAddress | null;
  /** Where the doorbell is, which may be `listen`; null for nowhere. */
  readonly doorbell: ListenAddress | null;
  /** The address of a row at the origin, with {tableId}, {table} and {id} in it; null for none. */
  readonly recordUrl: string | null;
}

export function httpOf({ extras }: Pick<Config, 'extras'>): HttpSettings {
  return extras.http ?? { listen: null, doorbell: null, recordUrl: null };
}
