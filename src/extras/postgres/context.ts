/**
 * Input and output of the work on a sink. Types only.
 */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { TableRules } from '../../config/table-patterns.ts';
import type { Replica } from '../../replica/database.ts';

/** How the connection is secured, as libpq understands `sslmode`. */
export type SslMode = 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';

export interface PgAddress {
  /** A host, or the folder of a unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** Null if the server requires none, or a client certificate replaces it. */
  readonly password: string | null;
  readonly sslMode: SslMode;
  /** Paths of certificates; `system` as the root is what the system trusts. Null for none. */
  readonly sslRoot: string | null;
  readonly sslCert: string | null;
  readonly sslKey: string | null;
}

export interface SinkSettings {
  readonly name: string;
  readonly address: PgAddress;
  readonly schema: string;
  readonly tables: TableRules;
  /** What happens to deleted rows: they are removed too, or stay with the time in `_deleted_at`. */
  readonly deletes: 'remove' | 'keep';
}

export interface SinkContext {
  readonly replica: Replica;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: SinkSettings;
  readonly signal?: AbortSignal | undefined;
  /** Called before and after every statement, as places where tests may kill the process. */
  readonly onStep?: ((step: string) => void) | undefined;
}
