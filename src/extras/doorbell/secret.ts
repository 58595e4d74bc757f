/**
 * The secret in the addresses that the origin calls: a file beside the replica, apart from the key of the page, since
 * people paste it into another system. The daemon reads it again every second, so that another one counts at once.
 */
import { rmSync } from 'node:fs';
import type { Config } from '../../config/load.ts';
import { withReplicaErrors } from '../../replica/sqlite-errors.ts';
import { makeKeyFile } from '../http/page-key.ts';

export function secretPath(replicaPath: string): string {
  return `${replicaPath}.doorbell-secret`;
}

/** The secret, made if it is missing. @throws RowsyncError `replica.path`, … */
export function makeSecret({ path, shared }: Pick<Config['replica'], 'path' | 'shared'>): string {
  return makeKeyFile(secretPath(path), { shared, what: 'the secret of the doorbell' });
}

/** Another one; rings with the former one no longer count. @throws RowsyncError `replica.path`, … */
export function renewSecret(replica: Pick<Config['replica'], 'path' | 'shared'>): string {
  const path = secretPath(replica.path);
  withReplicaErrors(`Removing the secret of the doorbell ${path}`, () => rmSync(path, { force: true }));
  return makeSecret(replica);
}
