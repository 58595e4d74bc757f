/**
 * Finds the configuration file, from the name on the command line and the folder where the search starts.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { RowsyncError } from '../base/errors.ts';

/** Where a configuration is looked for if none is named; the first that exists is taken. */
export const CONFIG_PATHS = ['rowsync.yaml', '/etc/rowsync/rowsync.yaml'] as const;

/**
 * The absolute path of the configuration file: the named one, else the first of CONFIG_PATHS that exists. @throws RowsyncError `config.missing` for
 * none.
 */
export function findConfig(named: string | undefined, folder: string): string {
  if (named !== undefined) return resolve(folder, named);
  const candidates = CONFIG_PATHS.map((path) => resolve(folder, path));
  const found = candidates.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new RowsyncError('config', 'config.missing', {
    message: `No configuration was found; looked for ${candidates.join(' and ')}`,
    hint: 'Run rowsync init to write one, or name it with --config FILE.',
  });
}
