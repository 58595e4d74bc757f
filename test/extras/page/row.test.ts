/**
 * The page of one row: its cells, the edit that waits, its conflicts and failures, its files, its history.
 */
import { expect, test } from 'vitest';
import type { PageRequest } from '../../../src/extras/page/request.ts';
import { fileOf, startFilesFixture } from '../../support/files.ts';
import { formsOf, pageOf, readText, requestOf, type MadePage } from '../../support/page-request.ts';
import { pushNow } from '../../support/push.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { capture, NOTE, startTwoWay } from '../../support/two-way.ts';

/** The page of a row of a fixture. */
function rowPage({ path }: Fixture, place: string | number, changes: Partial<PageRequest> = {}): MadePage {
  const address = typeof place === 'number' ? `/browse/Note/${place}` : place;
  return pageOf({ ...requestOf(path, address), ...changes });
}

/** The cells of its part "Cells", as a person reads them. */
function cellsOf(body: string): Readonly<Record<string, string>> {
  const part = /<h2 id="cells">.*?<\/section>/.exec(body)?.[0] ?? '';
  const cells = [...part.matchAll(/<dt[^>]*><bdi>(.*?)<\/bdi><\/dt> <dd>(.*?)<\/dd>/g)];
  return Object.fromEntries(cells.map(([, name = '', value = '']) => [name, readText(value).trim()]));
}

test('shows every cell as text, whatever is in it, with links to the rows beside it', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = '<script>alert(1)</script>', "Code" = '' WHERE _id = 2`);

  const { status, body } = rowPage(fixture, 2);

  expect(status).toBe(200);
  expect(body).not.toContain('<script>alert');
  expect(cellsOf(body)).toMatchObject({
    Title: 'title 2',
    Code: 'empty text',
    Body: '<script>alert(1)</script>',
    Count: '2',
    Done: 'no',
    Starts: 'no value',
  });
  expect(body).toContain('<a href="/browse/Note/1">‹ Row 1</a>');
  expect(body).toContain('<a href="/browse/Note/3">Row 3 ›</a>');
  expect(rowPage(fixture, 1).body).not.toContain('‹ Row');
  expect(rowPage(fixture, 6).body).not.toContain(' ›</a>');
});

test('leads to the form of the row in a two-way table alone, and to the origin where an address is known', async () => {
  await using edited = await startTwoWay();
  await using mirror = await startFixture({ tables: [NOTE] });
  await mirror.pull();

  expect(rowPage(edited, 2).body).toContain('<a class="button" href="/edit/Note/2">Edit</a>');
  expect(rowPage(mirror, 2).body).not.toContain('/edit/Note');
  expect(rowPage(edited, 2).body).not.toContain('href="/origin/');
  expect(rowPage(edited, 2, { recordUrl: 'https://example.net/{id}' }).body).toContain('href="/origin/Note/2"');
});

test('a cell that is too long is cut, and leads to all of it', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Body" = printf('%.5000c', 'x') WHERE _id = 1`);

  const { body } = rowPage(fixture, 1);

  expect(cellsOf(body)['Body']).toMatch(/^x{4000}… all 4.9 KiB as a text file$/);
  expect(body).toContain('<a href="/browse/Note/1/Body" download');
});

test('an edit that waits shows both values, and is undone by a form that proves itself and what was seen', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine <b>', "Due" = NULL WHERE _id = 1`);
  await capture(fixture);

  const { body } = rowPage(fixture, 1);
  const forms = formsOf(body).filter(({ action }) => action === '/decide');

  expect(body).toContain('Edited here, not at the origin yet');
  expect(readText(body)).toContain('The next push sends this.');
  expect(body).toMatch(
    /<del><bdi class="value">title 1<\/bdi><\/del>.*<ins><bdi class="value">mine &lt;b&gt;<\/bdi><\/ins>/,
  );
  expect(body).toMatch(/<dt><bdi>Due<\/bdi><\/dt> <dd> <del>.*2026-11-21.*<ins><em class="none">no value<\/em><\/ins>/);
  expect(forms).toMatchObject([{ token: 'token', next: '/browse/Note/1' }]);
  expect(JSON.parse(forms[0]?.['decision'] ?? '')).toEqual({
    kind: 'discard',
    table: 'Note',
    rowId: 1,
    seen: { table: 'Note', rowId: 1, version: expect.stringMatching(/^[\w-]{22}$/) as string },
  });
});

test('an edit of a number keeps every digit of both values', async () => {
  await using fixture = await startTwoWay();
  fixture.sandbox.store.update('Note', 1, { Count: '9007199254740993' });
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Count" = 9007199254740995 WHERE _id = 1`);
  await capture(fixture);

  const { body } = rowPage(fixture, 1);

  expect(body).toContain('<del><bdi class="value">9007199254740993</bdi></del>');
  expect(body).toContain('<ins><bdi class="value">9007199254740995</bdi></ins>');
  expect(cellsOf(body)['Count']).toBe('9007199254740995');
});

test('a new row leads back to its table once it is undone, and a deleted one shows what the origin has', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('fresh'); DELETE FROM "Note" WHERE _id = 2`);
  await capture(fixture);
  const [{ id } = { id: 0 }] = fixture.rows('SELECT min(_id) AS id FROM "Note"') as { id: number }[];

  const made = rowPage(fixture, id);
  const deleted = rowPage(fixture, 2);

  expect([made.status, deleted.status]).toEqual([200, 200]);
  expect(made.body).toContain('New row, not at the origin yet');
  expect(formsOf(made.body).find(({ action }) => action === '/decide')?.['next']).toBe('/browse/Note');
  expect(made.body).not.toContain('href="/origin/');
  expect(deleted.body).toContain('Deleted here, not at the origin yet');
  expect(readText(deleted.body)).toMatch(/As the origin has it .* title 2 /);
  expect(deleted.body).not.toContain('id="cells"');
});

test('an edit that a guard holds says so, and leads to all of them', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`DELETE FROM "Note" WHERE _id > 1`);
  await pushNow(fixture);

  const { body } = rowPage(fixture, 2);

  expect(body).toContain('<a href="/edits/Note">See the edits</a>');
  expect(body).not.toContain('The next push sends this.');
});

test('a row in conflict, and one that the origin refused, can be decided on their pages, each for itself', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; UPDATE "Note" SET "Code" = 'c3' WHERE _id = 2`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  await pushNow(fixture, { options: { conflict: 'ask' } });

  const inConflict = rowPage(fixture, 1).body;
  const refused = rowPage(fixture, 2).body;

  expect(readText(inConflict)).toContain('It waits for your decision; see below.');
  for (const version of ['title 1', 'mine', 'theirs']) expect(readText(inConflict)).toContain(version);
  expect(inConflict.match(/id="conflict-\d+"/g)).toHaveLength(1);
  expect(readText(refused)).toContain('The origin refused it, or it cannot be sent; see below.');
  expect(refused.match(/<article /g)).toHaveLength(1);
  for (const { action, ...fields } of [...formsOf(inConflict), ...formsOf(refused)]) {
    expect(action).toMatch(/^\/(?:decide|sign-out)$/);
    expect(fields['token']).toBe('token');
  }
});

test('a row whose sending had no answer says that nothing is sent twice', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'sent' WHERE _id = 1; UPDATE _rowsync_rows SET state = 'sending'`);

  expect(readText(rowPage(fixture, 1).body)).toContain('it is looked up before anything is sent again');
});

test('what is no row is said with 404: a number of none, one below 0, and what is no number', async () => {
  await using fixture = await startTwoWay();

  const none = rowPage(fixture, 99);
  const below = rowPage(fixture, -99);

  expect([none.status, below.status, rowPage(fixture, '/browse/Note/1e3').status]).toEqual([404, 404, 404]);
  expect(none.body).toContain('There is no such row here.');
  expect(readText(below.body)).toContain('There is no row -99 here. A new row gets another number');
  expect(below.body).toContain('<a href="/browse/Note?_sort=-_id">see the newest rows</a>');
  expect(none.body).not.toContain('/decide');
});

test('a row that the origin deleted is shown with its last values and why it left, at its address', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.sandbox.store.delete('Note', 2, { purge: true });
  await fixture.pull();

  const { status, body } = rowPage(fixture, 2);

  expect(status).toBe(200);
  expect(body).toContain('Removed here ');
  expect(readText(body)).toContain('Its last values:');
  expect(body).toContain('<bdi class="value">title 2</bdi>');
  expect(body).not.toContain('id="cells"');
});

test('a value that is the key of a row leads there, and the same text in another column does not', async () => {
  const people = { name: 'Person', columns: [{ name: 'Name', type: 'Text' }], rows: [{ Name: 'ana' }, { Name: 'bo' }] };
  const visits = {
    name: 'Visit',
    columns: [
      { name: 'Person', type: 'Numeric' },
      { name: 'Cost', type: 'Numeric' },
    ],
    rows: [{ Person: 2, Cost: 2 }],
  };
  await using fixture = await startFixture({ tables: [people, visits] });
  await fixture.pull();

  const { body } = rowPage(fixture, '/browse/Visit/1');

  expect(body.match(/<a href="\/browse\/Person\/2"><bdi>2<\/bdi><\/a>/g)).toHaveLength(1);
});

test('files are shown with what each is: a picture by its type, others to download, and why one is not here', async () => {
  const album = {
    name: 'Album',
    columns: [
      { name: 'Photo', type: 'Attachment' },
      { name: 'Scan', type: 'Attachment' },
      { name: 'Rest', type: 'Attachment' },
    ],
    rows: [
      {
        Photo: fileOf('a <b>.png', 'picture', 'image/png'),
        Scan: fileOf('run.svg', 'drawing', 'image/svg+xml'),
        Rest: fileOf('big.bin', 1_000),
      },
    ],
  };
  await using fixture = await startFilesFixture({ tables: [album] });
  await fixture.pull();
  await fixture.pullFiles({ rule: { maxFileBytes: 100 } });

  const { body } = rowPage(fixture, '/browse/Album/1');
  const part = /<h2 id="files">.*?<\/section>/.exec(body)?.[0] ?? '';
  const shown = part.split('<li class="card">').slice(1);
  const ofFile = (name: string): string => shown.find((text) => text.includes(name)) ?? '';

  expect(shown).toHaveLength(3);
  expect(ofFile('a &lt;b&gt;.png')).toMatch(/<img src="\/file\/\d+" alt="a &lt;b&gt;.png" loading="lazy" \/>/);
  expect(ofFile('run.svg')).not.toContain('<img');
  expect(ofFile('run.svg')).toMatch(/<a href="\/file\/\d+\/save" download>Download<\/a>/);
  expect(ofFile('big.bin')).not.toContain('href=');
  expect(ofFile('big.bin')).toContain('<p class="reason">skipped');
});

test('a row whose history is kept shows its changes, the newest first', async () => {
  const settings = { tableOptions: () => ({ sort: null, history: { keepDays: 400, bytesMax: 1_000_000 } }) };
  await using fixture = await startFixture({ tables: [NOTE] }, { settings });
  await fixture.pull();
  for (const title of ['second', 'third']) {
    fixture.sandbox.store.update('Note', 1, { Title: title });
    await fixture.pull();
  }

  const { body } = rowPage(fixture, 1);
  const life = readText(/<h2 id="life">.*?<\/section>/.exec(body)?.[0] ?? '');

  expect(life.indexOf('second → third')).toBeGreaterThan(-1);
  expect(life.indexOf('title 1 → second')).toBeGreaterThan(life.indexOf('second → third'));
  expect(rowPage(fixture, 2).body).not.toContain('id="life"');
});
