/**
 * Configuration files of a temporary folder, with secrets beside them.
 *
 *    const { folder, file, load, problemsOf } = configFolder();        // removed at the end of the test
 *    load(`${GOOD}\nlimits: { concurrency: 2 }`).config.limits
 *    problemsOf('replica: {}', { HOME: '/x' })                          // the message, without the path of the folder
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { loadConfig, type LoadedConfig } from '../../src/config/load.ts';
import type { Environment } from '../../src/config/secrets.ts';

/** The token of the file `token`. */
export const TOKEN = '0123456789abcdef0123456789abcdef';

/** A configuration with nothing but what it needs. */
export const GOOD = `
origin: { url: "https://example.net", database: "21995", tokenFile: token }
replica: { path: data/replica.db }
`;

/** What a call throws. */
export function failure(attempt: () => unknown): RowsyncError {
  try {
    attempt();
  } catch (thrown) {
    if (thrown instanceof RowsyncError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

/** A folder for configurations. */
export interface ConfigFolder {
  readonly folder: string;
  /** The configuration file. */
  readonly file: string;
  /** Writes a file with a secret, and returns its path. */
  readonly secretFile: (name: string, content: string, mode?: number) => string;
  /** Writes the configuration, and loads it. */
  readonly load: (yaml: string, environment?: Environment, needsCredentials?: boolean) => LoadedConfig;
  /** What is wrong with a configuration, without the path of the folder. */
  readonly problemsOf: (yaml: string, environment?: Environment) => string;
}

/** Makes one, with a token in it; it is removed at the end of the test. */
export function configFolder(): ConfigFolder {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'rowsync.yaml');
  const made: ConfigFolder = {
    folder,
    file,
    secretFile: (name, content, mode = 0o600) => {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content, { mode });
      chmodSync(path, mode);
      return path;
    },
    load: (yaml, environment = {}, needsCredentials = true) => {
      writeFileSync(file, yaml);
      return loadConfig(file, { environment, needsCredentials });
    },
    problemsOf: (yaml, environment = {}) => failure(() => made.load(yaml, environment)).message.replaceAll(folder, ''),
  };
  made.secretFile('token', `${TOKEN}\n`);
  return made;
}
