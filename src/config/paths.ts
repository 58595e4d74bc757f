/**
 * Finds the configuration file, from the name on the command line and the folder where the search starts.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { RowsyncError, usageError } from '../base/errors.ts';

/** Where services have their configurations, a file for each. */
const SERVICES_FOLDER = '/etc/rowsync';

/** Names that a service may have: part of paths, and without characters that mean something to systemd. */
export const SERVICE_NAME = /^[a-z0-9][a-z0-9_-]{0,30}$/;

/** Where a configuration is looked for if none is named; the first that exists is taken. */
export const CONFIG_PATHS = ['rowsync.yaml', `${SERVICES_FOLDER}/rowsync.yaml`, `${SERVICES_FOLDER}/*.yaml`] as const;

/** The named configuration, else the first of CONFIG_PATHS. @throws RowsyncError `config.missing`, also for several. */
export function findConfig(named: string | undefined, folder: string): string {
  const found = findConfigs(named, folder);
  const [first] = found;
  if (first !== undefined && found.length === 1) return first;
  if (first === undefined) {
    const where = named === undefined ? CONFIG_PATHS.map((path) => resolve(folder, path)) : [resolve(folder, named)];
    throw new RowsyncError('config', 'config.missing', {
      message: `No configuration was found; looked for ${where.join(' and ')}`,
      hint: 'Run rowsync init to write one, or name it with --config FILE.',
    });
  }
  throw new RowsyncError('config', 'config.missing', {
    message: `There are ${found.length} configurations: ${found.join(', ')}`,
    hint: `Name one with --config FILE, or a service with --service NAME, such as --service ${serviceName(first)}. rowsync status shows all of them.`,
  });
}

/** The configurations that are meant: one, or all of a folder, by name. */
export function findConfigs(named: string | undefined, folder: string): readonly string[] {
  if (named !== undefined) return configsIn(resolve(folder, named)) ?? [resolve(folder, named)];
  const one = [resolve(folder, CONFIG_PATHS[0]), CONFIG_PATHS[1]].find((path) => existsSync(path));
  return one === undefined ? (configsIn(SERVICES_FOLDER) ?? []) : [one];
}

/** The name of the service with this configuration. */
export function serviceName(path: string): string {
  return basename(path, '.yaml');
}

/** The configuration of a service, by its name. @throws RowsyncError `usage.invalid`. */
export function serviceConfig(name: string): string {
  if (SERVICE_NAME.test(name)) return join(SERVICES_FOLDER, `${name}.yaml`);
  throw usageError(
    `--service is not the name of a service: ${name}`,
    `Give the name of a file in ${SERVICES_FOLDER} without .yaml, such as --service main.`,
  );
}

/** The configurations in a folder; null where there is no such folder, or it cannot be listed. */
function configsIn(folder: string): readonly string[] | null {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
    return names.toSorted().map((name) => join(folder, name));
  } catch {
    return null;
  }
}
