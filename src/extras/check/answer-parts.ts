/**
 * What the checks of the origin's answers share.
 */
import type { Clock } from '../../base/clock.ts';
import type { Config } from '../../config/load.ts';
import type { Address } from '../../origin/address.ts';
import type { Origin } from '../../origin/client.ts';
import type { ReplicaReader } from '../../replica/reader.ts';
import type { TableDescriptor } from '../../wire/schema.ts';

/** What the checks work with. */
export interface AnswerParts {
  readonly origin: Origin;
  readonly config: Config;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Null before the first pull. */
  readonly reader: ReplicaReader | null;
}

/** How a table is addressed, with the filter that the configuration has for its rows. */
export function addressOf({ config }: Pick<AnswerParts, 'config'>, table: TableDescriptor): Address {
  const { recordName: name, alias } = table;
  return { name, alias, rows: config.tables.find(name)?.options.rows };
}
