/** The option `backup`, and what `schedule.backup` needs of it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { SECTIONS } from '../../support/sections.ts';

const folder = mkdtempSync(join(tmpdir(), 'rowsync-backup-'));
afterAll(() => rmSync(folder, { recursive: true }));

function load(yaml: string) {
  const file = join(folder, 'rowsync.yaml');
  const origin = 'origin: { url: "https://example.net", database: 21995, tokenFile: token }\n';
  writeFileSync(file, `${origin}replica: { path: replica.db }\n${yaml}`);
  return loadConfig(file, { needsCredentials: false, sections: SECTIONS }).config;
}

test('by default there is no folder, seven are kept, and nothing is scheduled', () => {
  const { extras, schedule } = load('');

  expect(extras.backup).toEqual({ folder: null, keep: 7 });
  expect(schedule.added).toMatchObject({ backup: false });
});

test('a folder is one beside the configuration, or a whole path', () => {
  expect(load('backup: { folder: backups, keep: 1 }\n').extras.backup).toEqual({
    folder: join(folder, 'backups'),
    keep: 1,
  });
  expect(load('backup: { folder: /srv/backups }\n').extras.backup).toEqual({ folder: '/srv/backups', keep: 7 });
});

test('where backups are scheduled the newest one is proven each Sunday, or when the configuration says', () => {
  const usual = load('backup: { folder: backups }\nschedule: { backup: "0 2 * * *" }\n');
  const { schedule } = load('backup: { folder: backups }\nschedule: { backup: "0 2 * * *", drill: "0 5 * * 1" }\n');

  expect(schedule.added).toMatchObject({ backup: '0 2 * * *', drill: '0 5 * * 1' });
  expect(usual.schedule.added).toMatchObject({ backup: '0 2 * * *', drill: '30 4 * * 0' });
});

test.each([
  ['schedule: { backup: "0 2 * * *" }\n', 'backup.folder must be set where schedule.backup is'],
  ['backup: { keep: 0 }\n', 'backup.keep'],
  ['backup: { keep: 1001 }\n', 'backup.keep'],
  ['backup: { folder: 7 }\n', 'backup.folder must be the path of a folder'],
  ['backup: { fodler: x }\n', 'fodler'],
])('%j is refused', (yaml, message) => {
  expect(() => load(yaml)).toThrow(message);
});
