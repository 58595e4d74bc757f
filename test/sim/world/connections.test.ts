/**
 * One world after another is written into the same file, under connections that stay open: none may see rows of an
 * earlier one.
 */
import { writeFileSync } from 'node:fs';

import Database from 'better-sqlite3';
import { expect, test } from 'vitest';

import { USER_OPTIONS } from './connections.ts';
import { Disk, type Start } from './disk.ts';

/** What a world begins with: one row, which says which world it is. */
function startOf(disk: Disk, world: number): Omit<Start, 'files'> {
  disk.begin(null);
  const db = disk.connections.connect(disk.path, USER_OPTIONS);
  db.exec(`CREATE TABLE thing (world INTEGER); INSERT INTO thing VALUES (${world})`);
  db.close();
  return disk.keep();
}

test('a connection that only read sees the rows of the next world', () => {
  using disk = new Disk((path) => {
    const db = new Database(path);
    db.pragma('journal_mode = WAL');
    db.close();
    writeFileSync(`${path}.sent`, '');
  });
  const starts = [1, 2, 3, 4].map((world) => startOf(disk, world));
  const read = (db: Database.Database): unknown => db.prepare('SELECT world FROM thing').pluck().get();

  const open = (): Database.Database => disk.connections.connect(disk.path, USER_OPTIONS);

  const seen = starts.map((start, index) => {
    disk.begin(start);
    const both = [open(), open()];
    const worlds = both.map((db) => read(db));
    for (const db of both.toReversed()) db.close();
    // Once, one of them begins the log anew, as keeping a replica does.
    if (index === 0) disk.keep();
    return worlds;
  });

  expect(seen).toEqual([1, 2, 3, 4].map((world) => [world, world]));
});
