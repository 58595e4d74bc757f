/**
 * A replica that the first release left amid a push is upgraded, and its edits reach the origin exactly once.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica } from '../../src/replica/database.ts';
import { startFilesFixture, type FilesFixture } from '../support/files.ts';
import { atOrigin, codesOf, here, pushNow } from '../support/push.ts';
import {
  changeAsReleased,
  makeReleased,
  makeReleasedContent,
  RELEASED_SETTINGS,
  RELEASED_TABLES,
} from '../support/released.ts';
import { temporaryFolder } from '../support/replica.ts';
import { startTestSandbox } from '../support/sandbox.ts';

/** Every row of every view that the release had, with the columns that it had. */
function viewsOf(path: string, columns: Readonly<Record<string, readonly string[]>> | null = null): ViewRows {
  const db = new Database(path, { readonly: true });
  try {
    const views = db
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name`)
      .pluck()
      .all() as string[];
    const named =
      columns ??
      Object.fromEntries(
        views.map((view) => [
          view,
          db
            .prepare(`SELECT * FROM ${view}`)
            .columns()
            .map(({ name }) => name),
        ]),
      );
    const rows = Object.entries(named).map(([view, names]) => {
      const list = names.map((name) => `"${name}"`).join();
      return [view, db.prepare(`SELECT ${list} FROM ${view} ORDER BY ${list}`).raw().all()];
    });
    return { columns: named, rows: Object.fromEntries(rows) as ViewRows['rows'] };
  } finally {
    db.close();
  }
}

interface ViewRows {
  readonly columns: Readonly<Record<string, readonly string[]>>;
  readonly rows: Readonly<Record<string, readonly unknown[]>>;
}

/**
 * Of an autonumber, `sync_columns` says since then that no edit may change it; a row whose answer got lost is `sending`
 * until it is settled.
 */
function asNow({ columns, rows }: ViewRows): ViewRows['rows'] {
  const [type = -1, writable = -1] = ['type', 'writable'].map((name) => (columns['sync_columns'] ?? []).indexOf(name));
  const lines = (rows['sync_columns'] ?? []) as readonly (readonly unknown[])[]; // as viewsOf reads them
  const state = (columns['sync_changes'] ?? []).indexOf('state');
  const changes = (rows['sync_changes'] ?? []) as readonly (readonly unknown[])[];
  return {
    ...rows,
    sync_columns: lines.map((line) => (line[type] === 'Autonumber' ? line.with(writable, 0) : line)),
    sync_changes: changes.map((line) => (line[state] === 'unknown' ? line.with(state, 'sending') : line)),
  };
}

test('every view says the same before and after, but of autonumbers and lost answers', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  makeReleased(path);
  const before = viewsOf(path);

  openReplica(path, { clock: systemClock }).close();

  const { rows } = viewsOf(path, before.columns);
  expect(rows).toEqual(asNow(before));
  expect(Object.keys(rows)).toEqual([
    'sync_changes',
    'sync_columns',
    'sync_conflicts',
    'sync_deleted',
    'sync_failures',
    'sync_files',
    'sync_freshness',
    'sync_runs',
    'sync_status',
  ]);
  expect(rows).toMatchObject({ sync_conflicts: [{ length: 14 }], sync_failures: [{ length: 11 }] });
});

const NOTE_COLUMNS = ['Title', 'Code', 'Body', 'Count'];

/** Today's program on the file of the release, beside the origin as it was then. */
async function startReleased(folder: string): Promise<FilesFixture> {
  const [path, store] = [join(folder, 'replica.db'), join(folder, 'files')];
  return startFilesFixture(
    { tables: RELEASED_TABLES },
    {
      settings: RELEASED_SETTINGS,
      folder,
      start: async (options) => {
        const sandbox = await startTestSandbox(options);
        changeAsReleased(sandbox);
        makeReleased(path, { url: sandbox.url, store });
        makeReleasedContent(path, store);
        return sandbox;
      },
    },
  );
}

test('edits, new rows and what was on its way arrive exactly once, and what waits for a person waits', async () => {
  using folder = temporaryFolder();
  await using fixture = await startReleased(folder.path);

  const report = await pushNow(fixture, { options: { conflict: 'ask' } });
  await fixture.pull();
  const again = await pushNow(fixture, { options: { conflict: 'ask' } });

  expect([codesOf(report), codesOf(again)]).toEqual([[], []]);
  const sums = (field: 'insertedCount' | 'updatedCount' | 'deletedCount'): readonly number[] =>
    [report, again].map(({ tables }) => tables.reduce((sum, table) => sum + table[field], 0));
  expect([sums('insertedCount'), sums('updatedCount'), sums('deletedCount')]).toEqual([
    [4, 0],
    [3, 0],
    [1, 0],
  ]);
  const notes = [
    [1, 'title 1', 'c1', null, 1],
    [2, 'title 2', 'c2', null, 2],
    [3, 'theirs 3', 'c3', null, 3],
    [4, 'mine 4', 'c4', null, 4.25],
    [6, 'title 6', 'c6', null, 6],
    [7, 'title 7', 'taken', null, 7],
    [8, 'title 8', 'c8', null, 8],
    [9, 'title 9', 'c9', null, 9],
    [10, 'sent and arrived', 'n1', null, null],
    [11, 'sent and lost', 'n2', 'edited on its way', null],
    [12, 'new here', 'n3', null, null],
  ];
  expect(atOrigin(fixture, NOTE_COLUMNS)).toEqual(notes);
  // Rows 3 and 6 keep their edits: one waits for a decision, the other was refused.
  const waiting = new Map<unknown, unknown>([
    [3, [3, 'mine 3', 'c3', null, 3]],
    [6, [6, 'title 6', 'taken', 'kept', 6]],
  ]);
  expect(here(fixture, NOTE_COLUMNS)).toEqual(notes.map((row) => waiting.get(row[0]) ?? row));
  expect(here(fixture, ['Name', 'Due'], 'Task')).toEqual([
    [1, 'task 1', '2026-11-21'],
    [2, 'sent 2', '2026-11-21'],
    [3, 'task 3', '2026-12-24'],
    [4, 'task 4', '2026-11-21'],
    [5, 'task 5', '2026-11-21'],
    [6, 'task 6', '2026-11-21'],
    [7, 'in flight', null],
  ]);
  expect(atOrigin(fixture, ['Name', 'Due'], 'Task')).toEqual(here(fixture, ['Name', 'Due'], 'Task'));
  expect(fixture.rows('SELECT row_id, state FROM _rowsync_rows')).toEqual([
    { row_id: 3, state: 'conflicted' },
    { row_id: 6, state: 'refused' },
  ]);
  expect(fixture.rows('SELECT * FROM _rowsync_batches')).toEqual([]);
  expect(fixture.problems()).toEqual([]);
});

test('files that were brought here stay, and are not brought again', async () => {
  using folder = temporaryFolder();
  await using fixture = await startReleased(folder.path);

  await fixture.pull();
  const report = await fixture.pullFiles();

  expect(report).toMatchObject({ downloadedCount: 0, failedCount: 0, vanishedCount: 0, error: null });
  expect(fixture.files().map(({ name, state }) => [name, state])).toEqual([
    ['one.txt', 'here'],
    ['two.bin', 'here'],
  ]);
  expect(fixture.problems()).toEqual([]);
});
