/** The last result of a drill: kept beside the backups, and said in a line. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Config } from '../../../src/config/load.ts';
import { drillText, lastDrill, storeDrill, type Drill } from '../../../src/extras/backup/drill-result.ts';
import { temporaryFolder } from '../../support/replica.ts';

const DRILL: Drill = {
  at: '2026-06-07T04:30:00Z',
  path: '/backups/rowsync-21995-20260607T020000Z.db',
  tableCount: 1,
  rowCount: 1_200,
  newRowCount: 0,
  deletedRowCount: 0,
  tracedCount: 0,
  fileCount: 0,
  readFileCount: 0,
  notHereCount: 0,
  problem: null,
};

function configOf(folder: string | null, replica = '/data/replica.db'): Config {
  const backup = { folder, keep: 7 };
  return { replica: { path: replica }, origin: { database: '21995' }, extras: { backup } } as unknown as Config;
}

test.each<[Partial<Drill>, string]>([
  [{}, 'is whole: 1 table, 1,200 rows, no files'],
  [
    { tableCount: 2, tracedCount: 1 },
    'is whole: 2 tables, 1,200 rows (1 table checked against the history since), no files',
  ],
  [{ newRowCount: 1 }, 'is whole: 1 table, 1,200 rows (including 1 row added here, not pushed yet), no files'],
  [
    { newRowCount: 2, deletedRowCount: 1 },
    'is whole: 1 table, 1,200 rows (including 2 rows added here and without 1 row deleted here, not pushed yet), no files',
  ],
  [{ fileCount: 3, readFileCount: 2 }, 'is whole: 1 table, 1,200 rows, 2 of 3 files read'],
  [{ fileCount: 1, readFileCount: 1, notHereCount: 1 }, '1 of 1 file read, 1 file was not here when it was made'],
  [{ notHereCount: 2 }, 'no files, 2 files were not here when it was made'],
])('%j is said so: %s', (given, expected) => {
  expect(drillText({ ...DRILL, ...given })).toContain(expected);
  expect(drillText({ ...DRILL, ...given })).toMatch(
    /^2026-06-07T04:30:00Z rowsync-21995-20260607T020000Z\.db is whole: /,
  );
});

test('what is wrong is said alone', () => {
  expect(drillText({ ...DRILL, problem: 'a page is damaged' })).toBe(
    '2026-06-07T04:30:00Z failed: rowsync-21995-20260607T020000Z.db: a page is damaged',
  );
});

test('the last result is kept in one private file of the folder, for each replica its own', () => {
  using folder = temporaryFolder();
  const [one, other] = [configOf(folder.path), configOf(folder.path, '/data/other.db')];
  const none = lastDrill(one);

  storeDrill(one, { ...DRILL, problem: 'bad' });
  storeDrill(one, DRILL);

  const files = readdirSync(folder.path);
  expect(none).toBeNull();
  expect(files).toEqual([expect.stringMatching(/drill\.json$/)]);
  expect(statSync(join(folder.path, files[0] ?? '')).mode & 0o777).toBe(0o600);
  expect([lastDrill(one), lastDrill(other)]).toEqual([DRILL, null]);
});

test('a file that is no result counts as none, and the next result replaces it', () => {
  using folder = temporaryFolder();
  const config = configOf(folder.path);
  storeDrill(config, DRILL);
  const file = join(folder.path, readdirSync(folder.path)[0] ?? '');

  for (const text of ['', 'null', '{}', '[]', '{"problem', '7']) {
    writeFileSync(file, text);
    expect(lastDrill(config)).toBeNull();
  }
  storeDrill(config, DRILL);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(DRILL);
});

test('without a folder of backups nothing is kept', () => {
  const config = configOf(null);

  storeDrill(config, DRILL);

  expect(lastDrill(config)).toBeNull();
});
