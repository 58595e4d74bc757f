/**
 * Guards refuse every edit of a mirror, whoever makes it. Triggers are made and dropped only where they differ, and those of other programs
 * stop a table only if they can do harm.
 */
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { quoted, readReplica } from '../support/compare.ts';
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
