/**
 * The file as other SQL clients read and edit it: every view works, and every edit is marked, with SQLite 3.37 and
 * newer.
 */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { HISTORY } from '../support/history.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { capture, changesOf, NOTE, twoWaySettings } from '../support/two-way.ts';

const SETTINGS = {
  tableOptions: () => ({ ...twoWaySettings({ match: 'Code' }).tableOptions(''), sort: null, history: HISTORY }),
};

/** Syntax and functions that SQLite 3.37 does not have. */
const NEWER =
  /->|\bjsonb|\bIS (NOT )?DISTINCT\b|\b(FULL|RIGHT) (OUTER )?JOIN\b|\b(unixepoch|format|unhex|concat|concat_ws|octet_length|string_agg|timediff|json_error_position|json_pretty)\(/i;

/** A two-way table with an entry of each kind in its journal, an edit and a masked column. */
async function startLived(): Promise<Fixture> {
  const fixture = await startFixture({ tables: [NOTE] }, { settings: SETTINGS });
  await fixture.pull();
  fixture.sandbox.store.update('Note', 1, { Title: 'ch\u00e4nged "so"', Count: 12.5 });
  fixture.sandbox.store.delete('Note', 2);
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Body" = 'edited' WHERE _id = 3`);
  await capture(fixture);
  return fixture;
}

function schemaOf(fixture: Fixture): readonly { readonly name: string; readonly type: string; readonly sql: string }[] {
  const text = 'SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL';
  return fixture.rows(text) as { name: string; type: string; sql: string }[];
}

test('no table, view, index or trigger of the file needs more than SQLite 3.37', async () => {
  await using fixture = await startLived();

  const newer = schemaOf(fixture).flatMap(({ name, sql }) => (NEWER.test(sql) ? [`${name}: ${sql}`] : []));

  expect(newer).toEqual([]);
  // Only SQLite 3.45 and newer reads JSONB.
  const forms = 'SELECT DISTINCT typeof(cells) AS form FROM _rowsync_history WHERE cells IS NOT NULL';
  expect(fixture.rows(forms)).toEqual([{ form: 'text' }]);
});

const PYTHON = `import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(json.dumps([db.execute(text).fetchall() for text in sys.argv[2:]]))
db.commit()`;

const hasPython =
  spawnSync('python3', ['-c', 'import sqlite3; assert sqlite3.sqlite_version_info >= (3, 37)']).status === 0;

test.skipIf(!hasPython)("every view is read, and an edit is marked, by Python's SQLite", async () => {
  await using fixture = await startLived();
  const views = schemaOf(fixture).filter(({ type, name }) => type === 'view' && name.startsWith('sync_'));
  const texts = views.map(({ name }) => `SELECT * FROM ${name} ORDER BY 1, 2, 3`);

  const edit = `UPDATE "Note" SET "Body" = 'by Python' WHERE _id = 4`;
  const { stdout, stderr } = spawnSync('python3', ['-c', PYTHON, fixture.path, ...texts, edit], { encoding: 'utf8' });
  await capture(fixture);

  expect(stderr).toBe('');
  const ours = texts.map((text) => fixture.rows(text).map((row) => Object.values(row as Record<string, unknown>)));
  const theirs = (JSON.parse(stdout) as unknown[][][]).slice(0, -1);
  const own = views.findIndex(({ name }) => name === 'sync_history');
  expect(theirs[own]?.length).toBeGreaterThan(3);
  expect(theirs[own]).toEqual(ours[own]?.slice(0, theirs[own]?.length));
  expect(theirs.map((rows) => rows.length).every((count, index) => count <= (ours[index]?.length ?? 0))).toBe(true);
  expect(changesOf(fixture)).toHaveLength(2);
});
