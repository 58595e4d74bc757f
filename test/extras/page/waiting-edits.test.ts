/**
 * The page of all edits of a table that wait: what it counts, what is listed, and which forms discard them or let them
 * through.
 */
import { expect, test } from 'vitest';
import { formsOf, pageOf, readText, requestOf } from '../../support/page-request.ts';
import { pushNow } from '../../support/push.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { capture, NOTE, startTwoWay } from '../../support/two-way.ts';

function editsPage({ path }: Fixture, query = ''): string {
  return pageOf(requestOf(path, '/edits/Note', query)).body;
}

function titleOf(body: string): string {
  return readText(/<h1>(.*?)<\/h1>/.exec(body)?.[1] ?? '').replaceAll(/\s+/g, ' ');
}

/** The decisions that a page offers. */
function decisionsOf(body: string): readonly Readonly<Record<string, unknown>>[] {
  return formsOf(body).flatMap(({ action, decision }) =>
    action === '/decide' ? [JSON.parse(decision ?? '') as Record<string, unknown>] : [],
  );
}

test('where nothing waits, it says so and has no form that decides', async () => {
  await using fixture = await startTwoWay();
  await using mirror = await startFixture({ tables: [NOTE] });
  await mirror.pull();

  for (const body of [editsPage(fixture), editsPage(mirror)]) {
    expect(titleOf(body)).toBe('0 edited rows in Note ');
    expect(body).toContain('The origin has all that was edited here.');
    expect(decisionsOf(body)).toEqual([]);
  }
});

test('each row is listed with its kind and its cells, and is discarded alone or with all of them, as it was seen', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = '<mine>' WHERE _id = 1; DELETE FROM "Note" WHERE _id = 2;
    INSERT INTO "Note" ("Title") VALUES ('fresh')`);
  await capture(fixture);
  const [{ id } = { id: 0 }] = fixture.rows('SELECT min(_id) AS id FROM "Note"') as { id: number }[];

  const body = editsPage(fixture);
  const rows = body.split('<li> <p> <a').slice(1);
  const decisions = decisionsOf(body);

  expect(titleOf(body)).toBe('3 edited rows in Note ');
  expect(rows.map((row) => /\/browse\/Note\/(-?\d+)">.*<b>(\w+)<\/b>/.exec(row)?.slice(1))).toEqual([
    [String(id), 'new'],
    ['1', 'changed'],
    ['2', 'deleted'],
  ]);
  expect(rows[1]).toMatch(/<del>.*title 1.*<\/del>.*<ins>.*&lt;mine&gt;.*<\/ins>/);
  expect(body).toContain('Discard all 3 edits…');
  expect(decisions.map(({ kind, rowId }) => [kind, rowId])).toEqual([
    ['discard', null],
    ['discard', id],
    ['discard', 1],
    ['discard', 2],
  ]);
  expect(new Set(decisions.map(({ seen }) => (seen as { version: string }).version)).size).toBe(4);
  for (const form of formsOf(body)) expect(form['token']).toBe('token');
});

test('rows in conflict and refused ones are counted, and are not among those that are discarded together', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; UPDATE "Note" SET "Code" = 'c3' WHERE _id = 2`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  await pushNow(fixture, { options: { conflict: 'ask' } });
  const parked = editsPage(fixture);
  fixture.execute(`UPDATE "Note" SET "Title" = 'later' WHERE _id = 3`);
  await capture(fixture);

  const body = editsPage(fixture);

  expect(titleOf(parked)).toBe('1 row in conflict, 1 row refused or in doubt in Note ');
  expect(parked).not.toContain('<details>');
  expect(titleOf(body)).toBe('1 edited row, 1 row in conflict, 1 row refused or in doubt in Note ');
  expect(body).toContain('<summary>Discard 1 edit…</summary>');
  expect(readText(body)).toContain('The next push sends what is not refused or in conflict.');
});

test('a held push is let through by a form that names what was shown, and says what it sends', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`DELETE FROM "Note" WHERE _id > 2; UPDATE "Note" SET "Title" = 'x' WHERE _id = 1;
    INSERT INTO "Note" ("Title") VALUES ('fresh')`);
  await pushNow(fixture);
  const [{ held } = { held: '' }] = fixture.rows(`SELECT push_message AS held FROM _rowsync_tables`) as {
    held: string;
  }[];

  const body = editsPage(fixture);
  const [confirm] = decisionsOf(body);

  expect(held).not.toBe('');
  expect(readText(body)).toContain(`At the time it was held: ${held}.`);
  expect(readText(body)).toContain('This sends 4 deletes, 1 change, 1 new row of Note to the origin.');
  expect(confirm).toMatchObject({ kind: 'confirm', table: 'Note', shown: held, seen: { table: 'Note', rowId: null } });
  expect(body).toMatch(/<details><summary>Let them through…<\/summary>/);
});

test('many rows come in pages, and the last one leads no further', async () => {
  const rows = Array.from({ length: 60 }, (_, index) => ({ Title: `t${index}`, Code: `k${index}` }));
  await using fixture = await startTwoWay({ tables: [{ ...NOTE, rows }] });
  fixture.execute(`UPDATE "Note" SET "Count" = 7 WHERE _id <= 51`);
  await capture(fixture);
  const idsOf = (body: string): readonly number[] =>
    [...body.matchAll(/<a href="\/browse\/Note\/(\d+)">Row/g)].map(([, id]) => Number(id));

  const first = editsPage(fixture);
  const second = editsPage(fixture, 'after=50');
  fixture.execute(`UPDATE "Note" SET "Count" = NULL WHERE _id = 51`);
  await capture(fixture);

  expect(idsOf(first)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
  expect(first).toContain('<a href="/edits/Note?after=50">Next ›</a>');
  expect(idsOf(second)).toEqual([51]);
  expect(second).not.toContain('Next ›');
  expect(titleOf(second)).toBe('51 edited rows in Note ');
  expect(editsPage(fixture)).not.toContain('Next ›');
});

test('of a row with many edited cells some are shown, and the others counted', async () => {
  const columns = Array.from({ length: 14 }, (_, index) => ({ name: `C${index}`, type: 'Text' }));
  await using fixture = await startTwoWay({ tables: [{ name: 'Note', columns, rows: [{ C0: 'a' }] }] });
  fixture.execute(`UPDATE "Note" SET ${columns.map(({ name }) => `${name} = 'x'`).join(', ')}`);
  await capture(fixture);

  const body = editsPage(fixture);

  expect(body.match(/<dt>/g)).toHaveLength(12);
  expect(body).toContain('2 more cells');
});
