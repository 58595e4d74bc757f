/**
 * Lost rows, put back at the origin with the rows that refer to them. An ordinary push does it, of a small replica
 * beside the replica, which holds only these rows.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { LinkedExtra } from '../shared/linked-extra.ts';

export const PUTBACK: LinkedExtra = {
  name: 'putback',
  commands: [
    { group: 'Look back', names: ['putback'], load: async () => (await import('./command.ts')).addPutbackCommand },
  ],
  putBack: async (...rows) => (await import('./deleted-rows.ts')).putBackDeleted(...rows),
  referringCells: async (...rows) => (await import('./deleted-rows.ts')).referringCells(...rows),
  forget: async ({ replica }, row) => {
    const path = `${replica.path}.putback`;
    const has = existsSync(path) && (await import('./putback-records.ts')).hasRecordOf(path, row);
    const folder = dirname(resolve(path));
    const copied = readdirSync(folder).filter(
      (name) => name.startsWith(`${basename(path)}-`) && !/-(wal|shm)$/.test(name),
    );
    const left = [
      ...(has ? [`still has it: ${path}`] : []),
      ...copied.map((name) => `may still have it, as rows of another database: ${join(folder, name)}`),
    ];
    return { removed: [], left, json: { putback: has } };
  },
};
