/**
 * The facts of the account, as they are read from a replica.
 */
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readAccount } from '../../src/daemon/account-facts.ts';
import { disownFile } from '../../src/replica/older-copy.ts';
import { openReader } from '../../src/replica/reader.ts';
import { startFilesFixture, fileOf } from '../support/files.ts';
import { NOTHING_KEPT } from '../support/kept.ts';
import { startFixture } from '../support/replica.ts';
import { pushNow } from '../support/push.ts';
import { NOTE, startTwoWay } from '../support/two-way.ts';

const AROUND = {
  keeper: 'nobody' as const,
  complaints: [],
  nowMs: Date.now(),
  ...NOTHING_KEPT,
};

test('a first pull that ended once it knew who is calling has pulled nothing', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.execute('DELETE FROM _rowsync_tables');
  const reader = openReader(fixture.path);

  const problems = readAccount(reader, AROUND);
  reader.close();

  expect(problems.map(({ code }) => code)).toEqual(['replica.unpulled']);
});

const ALBUM = {
  name: 'Album',
  columns: [{ name: 'Cover', type: 'Attachment' }],
  rows: [{ Cover: fileOf('a.png', 10) }],
} as const;

function codesOf(path: string, around = AROUND): readonly string[] {
  const reader = openReader(path);
  const problems = readAccount(reader, around);
  reader.close();
  return problems.map(({ code, table, count }) => `${code} ${table} ${count}`);
}

test('a file that could not be fetched is late, then for a person, then here', async () => {
  await using fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();
  const seen: (readonly string[])[] = [];

  for (let count = 0; count < 3; count += 1) {
    fixture.sandbox.faults.replace({ faults: [{ fault: 'html', method: 'attachment' }] });
    await fixture.pullFiles({ retryNow: true });
    seen.push(codesOf(fixture.path));
  }
  const unwanted = codesOf(fixture.path, { ...AROUND, withoutFiles: new Set(['Album']) });
  fixture.sandbox.faults.replace({ faults: [] });
  await fixture.pullFiles({ retryNow: true });

  expect(seen).toEqual([['files.late Album 1'], ['files.late Album 1'], ['files.failed Album 1']]);
  expect(unwanted).toEqual([]);
  expect(codesOf(fixture.path)).toEqual([]);
});

test('a folder of files that cannot be used is a problem until it can', async () => {
  await using fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();
  writeFileSync(fixture.store, 'a file in the place of the folder');

  await fixture.pullFiles();
  const before = codesOf(fixture.path);
  rmSync(fixture.store);
  await fixture.pullFiles();

  expect(before).toEqual(['files.failed null 1']);
  expect(codesOf(fixture.path)).toEqual([]);
});

test.each([
  { how: 'by hand is told for seven days', isOrdered: false },
  { how: 'by a restore is told until every table was read anew', isOrdered: true },
])('an older copy that was put back $how', async ({ isOrdered }) => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  const copy = `${fixture.path}.copy`;
  fixture.execute(`VACUUM INTO '${copy}'`);
  fixture.replica.close();
  copyFileSync(copy, fixture.path);
  if (isOrdered) disownFile(fixture.path);
  else rmSync(`${fixture.path}.sent`);
  fixture.restart();

  expect(codesOf(fixture.path)).toContain('replica.putBack null 1');
  await fixture.pull();
  expect(codesOf(fixture.path)).toEqual(isOrdered ? [] : ['replica.putBack null 1']);
  expect(codesOf(fixture.path, { ...AROUND, nowMs: AROUND.nowMs + 8 * 86_400_000 })).toEqual([]);
});

test('a restored copy is told of before anything has opened it', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.replica.close();
  disownFile(fixture.path);

  const before = codesOf(fixture.path);
  const reader = openReader(fixture.path);
  const [problem] = readAccount(reader, { ...AROUND, nowMs: Date.now() });
  reader.close();
  fixture.restart();

  expect(before).toEqual(['replica.putBack null 1']);
  expect(problem?.sentence).toContain('put in its place just now, and not compared with the origin since');
});

test('edits of a table that is left out now are said, whether or not a push stored that, until none waits', async () => {
  await using fixture = await startTwoWay();
  const leftOut = { ...AROUND, leftOut: new Set(['Note']) };
  fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);

  expect(codesOf(fixture.path, leftOut)).toEqual(['table.kept Note 1']);
  await pushNow(fixture, { settings: { tableOptions: () => null } });

  expect(codesOf(fixture.path, leftOut)).toEqual(['table.kept Note 1']);
  fixture.execute('DELETE FROM _rowsync_rows');
  expect(codesOf(fixture.path, leftOut)).toEqual([]);
});
