/**
 * A replica that several users of one machine share, as the systemd unit has it: a folder of rowsync's user that a
 * group may write, and a configuration and a token of root. For tests that run as root, with real users.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './replica.ts';

/** Whom the daemon runs as; the group has the same number. */
export const ROWSYNC = 65_500;
/** A member of the group. */
export const MEMBER = 65_501;

/** Whether this process may be other users. */
export const isRoot = process.geteuid?.() === 0;

/** Where things are. */
export interface SharedFolder {
  /** Of root. */
  readonly top: string;
  /** Of root, readable to the group. */
  readonly config: string;
  /** Of rowsync's user, mode 2770. */
  readonly folder: string;
  readonly replica: string;
  [Symbol.dispose](): void;
}

/** Makes the folders, the configuration and the token. */
export function makeSharedFolder(
  origin: { readonly url: string; readonly database: string; readonly token: string },
  yaml = '',
): SharedFolder {
  const temporary = temporaryFolder();
  const top = temporary.path;
  const folder = join(top, 'shared');
  const config = join(top, 'rowsync.yaml');
  chmodSync(top, 0o755);
  mkdirSync(folder);
  chownSync(folder, ROWSYNC, ROWSYNC);
  chmodSync(folder, 0o2770);
  writeFileSync(join(top, 'token'), origin.token, { mode: 0o600 });
  const { url, database } = origin;
  writeFileSync(
    config,
    `origin: { url: "${url}", database: "${database}", tokenFile: token }
replica: { path: shared/replica.db, shared: true }
${yaml}`,
  );
  const replica = join(folder, 'replica.db');
  return { top, config, folder, replica, [Symbol.dispose]: () => temporary[Symbol.dispose]() };
}

/** Runs a command as a user with the group of the replica; returns what it printed. @throws Error with its errors. */
export function runAs(uid: number, command: string, ...args: readonly string[]): string {
  const who = [`--reuid=${uid}`, `--regid=${ROWSYNC}`, '--clear-groups'];
  const { status, stdout, stderr } = spawnSync('setpriv', [...who, 'sh', '-euc', command, 'sh', ...args], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}
