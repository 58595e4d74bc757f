/** Failures of SQLite whose own words would mislead. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { asRowsyncError } from '../../src/base/errors.ts';
import { replicaError } from '../../src/replica/sqlite-errors.ts';
import { temporaryFolder } from '../support/replica.ts';

const DATABASE = fileURLToPath(new URL('../../src/replica/database.ts', import.meta.url));
const CLOCK = fileURLToPath(new URL('../../src/base/clock.ts', import.meta.url));
const READER = fileURLToPath(new URL('../../src/replica/reader.ts', import.meta.url));

/** Opens a replica with so many descriptors left, and prints what it is told. */
const PROGRAM = `
import { closeSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
const [, reader, path, left] = process.argv;
const { openReader } = await import(reader);
new (createRequire(reader)('better-sqlite3'))(':memory:').close();
const held = [];
try { for (;;) held.push(openSync('/dev/null')); } catch {}
for (const file of held.splice(0, Number(left))) closeSync(file);
let said;
try { openReader(path); } catch ({ code, hint }) { said = { code, hint }; }
for (const file of held) closeSync(file);
console.log(JSON.stringify(said));
`;

test.each([0, 1])('a replica that cannot be opened with %i descriptors left asks for more of them', (left) => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.exec('CREATE TABLE _rowsync_writer (flag)');

  const args = ['--input-type=module', '-e', PROGRAM, READER, path, String(left)];
  const { stdout } = spawnSync('sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, ...args], {
    encoding: 'utf8',
  });
  db.close();

  expect(JSON.parse(stdout)).toEqual({
    code: 'system.descriptors',
    hint: expect.stringContaining('LimitNOFILE=') as string,
  });
});

/** Makes a new replica with each number of descriptors left, and prints every other error than the lack of them. */
const MAKING = `
import { closeSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
const [, database, folder, clock] = process.argv;
const { openReplica } = await import(database);
const { systemClock } = await import(clock);
new (createRequire(database)('better-sqlite3'))(':memory:').close();
const said = [];
for (let left = 0; left < 16; left += 1) {
  const held = [];
  try { for (;;) held.push(openSync('/dev/null')); } catch {}
  for (const file of held.splice(0, left)) closeSync(file);
  try { openReplica(folder + '/' + left, { clock: systemClock }).close(); said.push('opened'); }
  catch ({ code }) { said.push(code); }
  for (const file of held) closeSync(file);
}
console.log(JSON.stringify(said));
`;

test('a replica is made, or asks for more descriptors, however few are left', () => {
  using folder = temporaryFolder();

  const args = ['--input-type=module', '-e', MAKING, DATABASE, folder.path, CLOCK];
  const { stdout } = spawnSync('sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, ...args], {
    encoding: 'utf8',
  });

  const said = JSON.parse(stdout) as string[];
  expect(said.at(-1)).toBe('opened');
  expect(new Set(said)).toEqual(new Set(['system.descriptors', 'opened']));
});

test('a part of rowsync that may not be read is no failure of the replica', async () => {
  const missing: unknown = await import(`${DATABASE}.missing`).catch((thrown: unknown) => thrown);

  expect(() => replicaError(missing, 'Exporting to /x')).toThrow(missing);
  expect(asRowsyncError(missing)).toMatchObject({ code: 'system.installation' });
});
