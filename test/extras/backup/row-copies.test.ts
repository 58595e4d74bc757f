/** Which backups and former replicas still have a row that is to be forgotten. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sql } from '../../../src/base/sql.ts';
import type { Config } from '../../../src/config/load.ts';
import { backUp, datedBackups } from '../../../src/extras/backup/replica-copy.ts';
import { copiesOf } from '../../../src/extras/backup/row-copies.ts';
import type { Fixture } from '../../support/replica.ts';
import { startTwoWay, twoWayTable } from '../../support/two-way.ts';

const NOW_MS = Date.parse('2026-11-25T08:00:00Z');
const BY_HAND = 'backups that were made by hand are not known: look there as well';

function configOf({ path, sandbox }: Fixture, folder: string | null): Config {
  return {
    replica: { path },
    origin: { database: sandbox.database },
    extras: { backup: { folder, keep: 7 } },
  } as unknown as Config;
}

/** Where copies of a row are, by the ids that it had. */
function copies(fixture: Fixture, ids: readonly number[], folder: string | null = null) {
  const row = { table: 'Note', tableId: twoWayTable(fixture).id, ids, column: null };
  return copiesOf(configOf(fixture, folder), row, NOW_MS);
}

test('copies beside the replica that have the row are named, and those that cannot be read', async () => {
  await using fixture = await startTwoWay();
  const [having, odd] = [`${fixture.path}.replaced-1`, `${fixture.path}.odd`];
  await backUp(fixture.path, having);
  writeFileSync(odd, 'no replica');

  expect(copies(fixture, [9, 3])).toEqual({
    removed: [],
    left: [`still has it: ${having}`, `could not be read: ${odd}`, BY_HAND],
    json: { copies: [having], unreadCopies: [odd] },
  });
  expect(copies(fixture, [99]).json).toEqual({ copies: [], unreadCopies: [odd] });
});

test('what is no copy of its own is not opened: keys, locks, logs, folders, and files of other names', async () => {
  await using fixture = await startTwoWay();
  for (const end of [
    '.page-key',
    '.mask-key',
    '.doorbell-secret',
    '.lock',
    '.sent',
    '.x.partial',
    '.x-wal',
    '.x-shm',
    '.x-journal',
    'x',
    '-x',
  ])
    writeFileSync(`${fixture.path}${end}`, 'no replica');
  mkdirSync(`${fixture.path}.proposals`);
  symlinkSync(join(fixture.folder, 'nowhere'), `${fixture.path}.former`);

  expect(copies(fixture, [1]).json).toEqual({ copies: [], unreadCopies: [] });
});

test('dated backups in the folder count too, and those by hand are then known to be in it', async () => {
  await using fixture = await startTwoWay();
  const folder = join(fixture.folder, 'backups');
  mkdirSync(folder);
  const { path } = datedBackups(fixture.path, { folder, database: fixture.sandbox.database, nowMs: NOW_MS });
  await backUp(fixture.path, path);

  expect(copies(fixture, [1], folder)).toMatchObject({ left: [`still has it: ${path}`] });
});

test.each<[string, string]>([
  [
    '_rowsync_deleted',
    `INSERT INTO _rowsync_deleted (table_id, table_name, row_id, deleted_at, reason, row_values) VALUES (?, 'Note', 77, '', '', '{"Title":"a"}')`,
  ],
  [
    '_rowsync_conflicts',
    `INSERT INTO _rowsync_conflicts (table_id, table_name, row_id, kind, winner, at, state) VALUES (?, 'Note', 77, 'deletedHere', 'origin', '', 'decided')`,
  ],
  [
    '_rowsync_files',
    `INSERT INTO _rowsync_files (table_id, column_id, row_id, table_name, column_name, revision, guid, name, state) VALUES (?, 1, 77, 'Note', 'Photo', 1, 'g', 'a', 'missing')`,
  ],
  [
    '_rowsync_history',
    `INSERT INTO _rowsync_history (table_id, row_id, kind, at, cause, cells) VALUES (?, 77, 'delete', 0, 'edit', '[[1,"a",null]]')`,
  ],
])('a row that is only in %s is had; one without values there is not', async (table, statement) => {
  await using fixture = await startTwoWay();
  const copy = `${fixture.path}.copy`;
  const tableId = twoWayTable(fixture).id;
  await fixture.replica.write('A trace', (tx) => tx.prepare(sql`${statement as never}`).run(tableId));
  await backUp(fixture.path, copy);
  const had = copies(fixture, [77]).json;
  await fixture.replica.write('Forgetting', (tx) => {
    const values = { _rowsync_deleted: 'row_values', _rowsync_history: 'cells' }[table];
    const text =
      values === undefined
        ? `DELETE FROM ${table}`
        : `UPDATE ${table} SET ${values} = ${table === '_rowsync_history' ? `'[]'` : `'{}'`}`;
    tx.prepare(text as never).run();
  });
  const later = `${fixture.path}.later`;
  await backUp(fixture.path, later);

  expect(had).toMatchObject({ copies: [copy] });
  expect(copies(fixture, [77]).json).toEqual({ copies: [copy], unreadCopies: [] });
});
