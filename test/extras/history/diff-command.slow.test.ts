/**
 * `rowsync diff`: what differs between two moments, and nothing else.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { startHistory } from '../../support/history-workspace.ts';

test('diff lists what differs between two moments, and nothing that was changed back', async () => {
  await using history = await startHistory();

  const whole = await history.run(['diff', '--from', '2026-11-25T08:00:00Z', '--json']);
  const back = await history.run(['diff', '--from', '2026-11-25T08:10:00Z', '--to', '2026-11-25T08:30:00Z', 'Note']);
  const none = await history.run(['diff', '--from', '2026-11-25T08:30:00Z']);

  const { rows } = JSON.parse(whole.stdout) as { rows: { rowId: number; kind: string; cells: unknown[] }[] };
  expect(rows.map(({ rowId, kind }) => `${rowId} ${kind}`)).toEqual(['1 update', '2 delete', '7 insert']);
  expect(rows[0]?.cells).toContainEqual({ column: 'Title', before: 'title 1', after: 'one' });
  expect(JSON.stringify(rows[0]?.cells)).not.toContain('Body');
  expect(back.stdout).toContain('Note 2: deleted\n');
  expect(back.stdout).toContain('3 rows of 1 table differ\n');
  expect(none.stdout).toBe('No differences in 1 table\n');
});

test('diff says that no history is kept, and not that nothing differs', async () => {
  await using history = await startHistory(`tables: { '*': {} }\n`);

  expect(await history.run(['diff', '--from', '5m', '--json'])).toMatchObject({ exitCode: 2, stdout: '' });
  expect((await history.run(['diff', '--from', '5m'])).stderr).toContain('No history is kept of any table');
});

test('diff refuses the gap before a restore', async () => {
  await using history = await startHistory();
  const db = new Database(join(history.folder, 'replica.db'));
  db.exec(`INSERT INTO _rowsync_history (kind, at, cause, cells)
    VALUES ('restored', unixepoch('2026-11-25T08:38:00Z'), 'restore', json_object('knownUntil', '2026-11-25T08:30:00Z'))`);
  db.close();

  const inside = await history.run(['diff', '--from', '2026-11-25T08:33:00Z']);
  const before = await history.run(['diff', '--from', '2026-11-25T08:30:00Z']);

  expect(inside.stderr).toContain('Choose a time up to 2026-11-25T08:30:00Z, or from 2026-11-25T08:38:00Z on.');
  expect(before.exitCode).toBe(0);
});

test('diff refuses what was pruned, and says since when it knows', async () => {
  await using history = await startHistory();
  const db = new Database(join(history.folder, 'replica.db'));
  db.exec(`DELETE FROM _rowsync_history WHERE seq <= 2;
    INSERT INTO _rowsync_history (table_id, kind, at, cause, cells)
    SELECT table_id, 'pruned', unixepoch('2026-11-25T08:30:00Z'), 'pull', json_object('until', '2026-11-25T08:10:00Z', 'entries', 2)
    FROM _rowsync_history LIMIT 1`);
  db.close();

  const pruned = await history.run(['diff', '--from', '2026-11-25T08:09:59Z']);
  const kept = await history.run(['diff', '--from', '2026-11-25T08:10:00Z']);

  expect(pruned.stderr).toContain('Its history begins at 2026-11-25T08:10:00Z');
  expect(kept.stdout).toContain('3 rows of 1 table differ\n');
});
