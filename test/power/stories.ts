/**
 * What rowsync does while the power may fail: pulls, pushes with files, backups, exports, a restore, and the upgrade of
 * a replica of 0.1.0.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { changeAsReleased, makeReleased, makeReleasedContent, RELEASED_TABLES } from '../support/released.ts';
import { fileOf } from '../support/files.ts';
import { quoted, withDatabase } from '../support/compare.ts';
import { recordStory, type Program, type Recording, type Story } from './rig.ts';

/** The stories by name. */
export const STORIES: Readonly<Record<string, (program: Program) => Promise<Recording>>> = {
  work: (program) => recordStory(program, work),
  upgrade: (program) =>
    recordStory(program, upgrade, {
      tables: RELEASED_TABLES,
      prepare: (folder, sandbox) => {
        changeAsReleased(sandbox);
        const [path, store] = [join(folder, 'replica.db'), join(folder, 'replica.db.files')];
        makeReleased(path, { url: sandbox.url, store });
        makeReleasedContent(path, store);
        // As its last client left it: one that syncs.
        new Database(path).close();
      },
    }),
};

async function work(story: Story): Promise<void> {
  const { sandbox, folder, rowsync, client, acknowledge } = story;
  const path = join(folder, 'replica.db');
  await rowsync('pull');
  acknowledge({ runCount: countRuns(path) });

  await client(
    `UPDATE "Album" SET "Title" = 'edited 1' WHERE _id = 1`,
    `INSERT INTO "Album" ("Title", "Code") VALUES ('new 1', 'n1'), ('new 2', 'n2')`,
    `UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 8`,
    `DELETE FROM "Album" WHERE _id = 3`,
  );
  acknowledge({ titles: ['edited 1', 'new 1', 'new 2'] });
  await rowsync('push');
  acknowledge({ runCount: countRuns(path) });

  const backup = join(folder, 'backups/one.db');
  await rowsync('backup', 'backups/one.db');
  acknowledge({ backup: { path: backup, rowCount: countRows(backup, 'Album') } });

  sandbox.store.update('Album', 2, { Title: 'theirs 2', Photo: fileOf('second.bin', 9000) });
  sandbox.store.insert('Album', { Title: 'theirs new', Code: 't1', Photo: fileOf('third.bin', 5000) });
  await client(`INSERT INTO "Album" ("Title", "Code") VALUES ('new 3', 'n3')`);
  acknowledge({ titles: ['new 3'] });
  await rowsync('sync');
  acknowledge({ runCount: countRuns(path) });

  await rowsync('export', 'out', '--format', 'csv');
  acknowledge({ exported: hashesIn(join(folder, 'out')) });

  acknowledge({ restores: true });
  await rowsync('restore', 'backups/one.db');
  await rowsync('sync');
}

async function upgrade({ rowsync, client, acknowledge }: Story): Promise<void> {
  await rowsync('pull');
  await client(`INSERT INTO "Note" ("Title", "Code") VALUES ('after the upgrade', 'u1')`);
  acknowledge({ titles: ['after the upgrade'] });
  await rowsync('push');
}

/** Runs that ended. */
export function countRuns(path: string): number {
  return withDatabase(path, (db) =>
    Number(db.prepare('SELECT count(*) FROM sync_runs WHERE outcome IS NOT NULL').pluck().get()),
  );
}

/** Rows of a table. */
export function countRows(path: string, table: string): number {
  return withDatabase(path, (db) =>
    Number(
      db
        .prepare(`SELECT count(*) FROM ${quoted(table)}`)
        .pluck()
        .get(),
    ),
  );
}

/** Each file of a folder, and what is in it. */
function hashesIn(folder: string): ReadonlyMap<string, string> {
  return new Map(
    readdirSync(folder).map((name) => [
      join(folder, name),
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  );
}
