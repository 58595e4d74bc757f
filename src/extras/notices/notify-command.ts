/**
 * Checks whether `notify.command` can be run, without running it, since that would send a message.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fail, ok, type CheckResult } from '../shared/linked-extra.ts';
import { processEnvironment } from '../../config/secrets.ts';
import type { NotifySettings } from './options.ts';

export function checkNotices({ command }: NotifySettings): readonly CheckResult[] {
  const [program] = command ?? [];
  if (program === undefined) return [];
  const places = program.includes('/')
    ? [program]
    : (processEnvironment()['PATH'] ?? '').split(delimiter).map((folder) => join(folder, program));
  if (places.some(isProgram)) return [ok('notices', `${program} can be run`)];
  return [
    fail(
      'notices',
      `notify.command: ${program} cannot be run, so nobody would be told`,
      'Write the whole path of a program that the user of the daemon may run.',
    ),
  ];
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
