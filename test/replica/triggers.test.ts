/**
 * Guards refuse every edit of a mirror, whoever makes it. Triggers are made and dropped only where they differ, and
 * those of other programs stop a table only if they can do harm.
 */
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { asRowsyncError } from '../../src/base/errors.ts';
import {
  dropTriggers,
  ensureTriggers,
  guardsOf,
  hasTriggers,
  requireHarmlessTriggers,
} from '../../src/replica/triggers.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { quoted, readReplica } from '../support/compare.ts';
import { described, openBare, type Bare } from '../support/bare.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { SHELLS } from '../support/shells.ts';

/** Names that must be quoted in SQL and in the sentence alike. */
const NAMES = ['Note', `It's a "table"; -- ]`, 'Größe\nzwei'] as const;

function table(name: string): TableSpec {
  const columns = [
    { name: 'Title', type: 'Text' },
    { name: 'Count', type: 'Numeric' },
  ];
  const rows = Array.from({ length: 12 }, (_, index) => ({ Title: `title ${index}`, Count: index }));
  return { name, columns, rows, createdFromMs: Date.UTC(2026, 0, 1) };
}

/** Every way to write, with `T` for the table and row 1 in it. */
const EDITS = [
  `INSERT INTO T (_id, "Title") VALUES (99, 'new')`,
  `INSERT INTO T DEFAULT VALUES`,
  `INSERT INTO T (_id, "Title") SELECT _id + 100, "Title" FROM T`,
  `INSERT OR REPLACE INTO T (_id, "Title") VALUES (1, 'x')`,
  `INSERT OR IGNORE INTO T (_id, "Title") VALUES (99, 'x')`,
  `INSERT OR FAIL INTO T (_id, "Title") VALUES (99, 'x')`,
  `INSERT OR ROLLBACK INTO T (_id, "Title") VALUES (99, 'x')`,
  `REPLACE INTO T (_id, "Title") VALUES (1, 'x')`,
  `INSERT INTO T (_id, "Title") VALUES (1, 'x') ON CONFLICT (_id) DO UPDATE SET "Title" = excluded."Title"`,
  `INSERT INTO T (_id, "Title") VALUES (99, 'x') ON CONFLICT DO NOTHING`,
  `UPDATE T SET "Title" = 'x' WHERE _id = 1`,
  `UPDATE T SET "Title" = "Title"`,
  `UPDATE OR REPLACE T SET _id = 2 WHERE _id = 1`,
  `UPDATE OR IGNORE T SET "Count" = 5`,
  `UPDATE T SET "Title" = o."Title" FROM T o WHERE o._id = 2`,
  `WITH one (id) AS (VALUES (1)) UPDATE T SET "Title" = 'x' WHERE _id IN (SELECT id FROM one)`,
  `DELETE FROM T WHERE _id = 1`,
  `DELETE FROM T`,
] as const;

/** Ways to write that meet a row which is there already and would leave it alone anyway. */
const HARMLESS = [
  `INSERT OR IGNORE INTO T (_id, "Title") VALUES (1, 'x')`,
  `INSERT INTO T (_id, "Title") VALUES (1, 'x') ON CONFLICT DO NOTHING`,
  `UPDATE T SET "Title" = 'x' WHERE 0`,
  `DELETE FROM T WHERE 0`,
] as const;

function sentence(name: string): string {
  return `${name} is a read-only mirror: change it at the origin, and the next sync brings it here`;
}

async function startMirror(names: readonly string[]): Promise<Fixture> {
  const fixture = await startFixture({ tables: names.map(table) }, { settings: { pageRows: 5 } });
  await fixture.pull();
  return fixture;
}

test.each(NAMES)('refuses every statement that would change the table %j, and says the way out', async (name) => {
  await using fixture = await startMirror([name]);
  const before = readReplica(fixture.path);
  const here = quoted(
    fixture.rows('SELECT "table" FROM sync_status').map((row) => (row as { table: string }).table)[0] ?? '',
  );
  const refusals = EDITS.map((edit) => refusalOf(fixture, edit.replaceAll(/\bT\b/g, here)));

  expect(refusals).toEqual(EDITS.map(() => sentence(name)));
  for (const edit of HARMLESS) refusalOf(fixture, edit.replaceAll(/\bT\b/g, here));
  expect(readReplica(fixture.path)).toEqual(before);
});

test('refuses them where the client turned recursive triggers on, or foreign keys, or defensive mode', async () => {
  await using fixture = await startMirror(['Note']);
  const before = readReplica(fixture.path);
  const pragmas = [
    'recursive_triggers = ON',
    'foreign_keys = ON',
    'ignore_check_constraints = ON',
    'trusted_schema = OFF',
  ];

  const refusals = pragmas.map((pragma) => refusalOf(fixture, 'REPLACE INTO "Note" (_id) VALUES (1)', pragma));

  expect(refusals).toEqual(pragmas.map(() => sentence('Note')));
  expect(readReplica(fixture.path)).toEqual(before);
});

for (const { name, isUsable, run } of SHELLS) {
  test.skipIf(!isUsable)(`refuses edits from ${name}`, async () => {
    await using fixture = await startMirror([NAMES[1]]);
    const before = readReplica(fixture.path);
    const edits = [EDITS[0], EDITS[3], EDITS[8], EDITS[10], EDITS[17]];

    const answers = edits.map((edit) => run(fixture.path, edit.replaceAll(/\bT\b/g, quoted(NAMES[1]))));

    expect(answers.map(({ stderr }) => stderr.includes(sentence(NAMES[1])))).toEqual(edits.map(() => true));
    expect(answers.filter(({ status }) => status === 0)).toEqual([]);
    expect(readReplica(fixture.path)).toEqual(before);
  });
}

/** What SQLite answers to another client that writes; null where it does not refuse. */
function refusalOf(fixture: Fixture, edit: string, pragma?: string): string | null {
  const db = new Database(fixture.path);
  try {
    if (pragma !== undefined) db.pragma(pragma);
    db.exec(edit);
    return null;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  } finally {
    db.close();
  }
}

const NOTE = { id: 1, localName: 'Note' };

describe('the triggers of a table', () => {
  const named = (bare: Bare): unknown[] =>
    bare.lines(`SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '_rowsync_guard*' ORDER BY 1`);

  test('are made once, replaced where their text differs, and dropped without those of other tables', async () => {
    await using bare = await openBare();
    await bare.makeTable(2, 'Task', []);
    const ensure = (words: string): Promise<boolean> =>
      bare.write((tx) => ensureTriggers(tx, 1, guardsOf(NOTE, words)));
    await bare.write((tx) => ensureTriggers(tx, 2, guardsOf({ id: 2, localName: 'Task' }, 'no')));

    expect([await ensure('no'), await ensure('no'), await ensure('never')]).toEqual([true, false, true]);
    expect(() => bare.execute('DELETE FROM "Note"; INSERT INTO "Note" (_id) VALUES (1)')).toThrow('never');
    expect(named(bare)).toHaveLength(6);

    await bare.write((tx) => dropTriggers(tx, 1));

    expect(named(bare)).toEqual([
      ['_rowsync_guard_delete_2'],
      ['_rowsync_guard_insert_2'],
      ['_rowsync_guard_update_2'],
    ]);
  });

  test('are complete only while each has the text that it was made with', async () => {
    await using bare = await openBare();
    const wanted = guardsOf(NOTE, 'no');
    const are = (): boolean => hasTriggers(bare.replica, 1, wanted);
    expect(are()).toBe(false);
    await bare.write((tx) => ensureTriggers(tx, 1, wanted));
    expect(are()).toBe(true);

    bare.execute(
      `DROP TRIGGER _rowsync_guard_update_1; CREATE TRIGGER _rowsync_guard_update_1 AFTER UPDATE ON "Note" BEGIN SELECT 1; END`,
    );

    expect(are()).toBe(false);
    expect(await bare.write((tx) => ensureTriggers(tx, 1, wanted))).toBe(true);
    expect(are()).toBe(true);
  });
});

/** Writes that a trigger of another program may do, and what is said of it. */
const HARMS: readonly (readonly [string, string])[] = [
  [
    `AFTER UPDATE ON "Note" BEGIN UPDATE "Note" SET "Title" = 'x'; END`,
    '"mine" of another program writes to a synced table',
  ],
  [`AFTER INSERT ON note BEGIN DELETE FROM "Task"; END`, '"mine" of another program writes to a synced table'],
  ['AFTER DELETE ON "Note" BEGIN DELETE FROM _rowsync_rows; END', '"mine" of another program writes to a synced table'],
  [
    `BEFORE DELETE ON _rowsync_base_1 BEGIN DELETE FROM "Note"; END`,
    '"mine" of another program writes to a synced table',
  ],
  ['BEFORE INSERT ON "Note" BEGIN SELECT RAISE(IGNORE); END', '"mine" of another program can refuse or drop a row'],
  [`AFTER UPDATE ON "Note" BEGIN SELECT RAISE(FAIL, 'no'); END`, '"mine" of another program can refuse or drop a row'],
  ['AFTER UPDATE ON "Note" BEGIN INSERT INTO log VALUES (NEW._id); END', 'nothing'],
  [
    `AFTER UPDATE ON "Note" WHEN NOT EXISTS (SELECT 1 FROM _rowsync_writer) BEGIN UPDATE "Note" SET "Title" = 'x'; END`,
    'nothing',
  ],
  [`AFTER UPDATE ON "Task" BEGIN UPDATE "Note" SET "Title" = 'x'; END`, 'nothing'],
];

test.each(HARMS)('a trigger %s: what stops the table Note is %s', async (trigger, harm) => {
  await using bare = await openBare([described('Title')], { isTwoWay: true });
  await bare.makeTable(2, 'Task', [described('Title')]);
  bare.execute('CREATE TABLE log (id)');
  const problem = (): string | null => {
    try {
      requireHarmlessTriggers(bare.replica, NOTE);
      return null;
    } catch (thrown) {
      return asRowsyncError(thrown).message;
    }
  };
  expect(problem()).toBeNull();

  bare.execute(`CREATE TRIGGER mine ${trigger}`);

  expect(problem() ?? 'nothing').toContain(harm);
  bare.execute('DROP TRIGGER mine');
  expect(problem()).toBeNull();
});
