/**
 * Which page an address gets, and what is refused. Files and long cells come so that no browser runs what is in them.
 */
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { pictureType } from '../../../src/extras/page/routes.ts';
import type { PageRequest } from '../../../src/extras/page/request.ts';
import { fileOf, startFilesFixture, type FilesFixture } from '../../support/files.ts';
import { pageOf, requestOf, type MadePage } from '../../support/page-request.ts';
import { startFixture, temporaryFolder, type Fixture } from '../../support/replica.ts';
import { NOTE, startTwoWay } from '../../support/two-way.ts';

async function pulled(): Promise<Fixture> {
  const rows = [{ Title: '=1+1', Code: 'c1', Body: '<script>' }];
  const fixture = await startFixture({
    tables: [
      { ...NOTE, rows },
      { ...NOTE, name: 'A/b "c"', rows: [] },
    ],
  });
  await fixture.pull();
  return fixture;
}

function get({ path }: Fixture, address: string, changes: Partial<PageRequest> = {}): MadePage {
  const [place = '', query = ''] = address.split('?');
  return pageOf({ ...requestOf(path, place, query), ...changes });
}

describe('an address', () => {
  test('of each page is answered, whatever its table is called', async () => {
    await using fixture = await startTwoWay({ tables: [NOTE, { ...NOTE, name: 'A/b "c"', rows: [] }] });

    const places = [
      ['/', 'Freshness'],
      ['/browse', 'A/b &quot;c&quot;'],
      ['/browse/A%2Fb%20%22c%22', '<bdi>A/b &quot;c&quot;</bdi>'],
      ['/browse/Note/1', 'row 1'],
      ['/edit/Note/1', 'title 1'],
      ['/edits/Note', 'edited row'],
      ['/ask', 'SQL'],
      ['/work', 'Recent work'],
    ] as const;
    for (const [place, words] of places) {
      const { status, type, body } = get(fixture, place);
      expect([place, status, type]).toEqual([place, 200, 'text/html; charset=utf-8']);
      expect(body).toContain(words);
    }
  });

  test('that leads nowhere is answered with 404 and the navigation', async () => {
    await using fixture = await pulled();

    for (const place of [
      '/nowhere',
      '/browse/Nix',
      '/browse/%E0%A4%A',
      '/browse/Note/x',
      '/browse/Note/99',
      '/browse/Note/1/Nix',
      '/browse/Note/1/Title/more',
      '/edit/Note/1/more',
      '/edits/Note/1',
      '/origin/Note/1/more',
      '/origin/Note/1',
      '/ask/one/two',
      '/export/xml',
      '/export/csv/more',
      '/file/1',
      '/file/x',
    ]) {
      const { status, body } = get(fixture, place);
      expect([place, status]).toEqual([place, 404]);
      expect(body).toContain('<nav aria-label="Pages">');
    }
  });

  test('of a form that was not filled in everywhere becomes one without the empty fields', async () => {
    await using fixture = await pulled();

    const { status, headers } = get(fixture, '/browse/Note?Title=a&Code=&_q=&_sort=-Code');

    expect([status, headers['Location']]).toEqual([303, '/browse/Note?Title=a&_sort=-Code']);
  });
});

test('a replica that is not there, or no replica, is a page that says so', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  const missing = pageOf(requestOf(path, '/'));
  writeFileSync(path, 'no database at all, but long enough to be looked at as one');
  const other = pageOf(requestOf(path, '/browse'));

  expect([missing.status, other.status]).toEqual([503, 503]);
  for (const { body } of [missing, other]) expect(body).toContain('<h1>');
});

describe('a cell', () => {
  test('comes whole as a file that no browser runs, under the name of its column', async () => {
    await using fixture = await startTwoWay();
    fixture.execute(
      `UPDATE "Note" SET "Body" = '<script>' || printf('%.9000c', 'x'), "Count" = 9007199254740993, "Due" = NULL`,
    );

    const { status, type, headers, body } = get(fixture, '/browse/Note/1/Body');

    expect([status, type]).toEqual([200, 'application/octet-stream']);
    expect(headers['Content-Disposition']).toMatch(/^attachment; filename="Body.txt"/);
    expect(body).toBe(`<script>${'x'.repeat(9_000)}`);
    expect(get(fixture, '/browse/Note/1/Count').body).toBe('9007199254740993');
    expect(get(fixture, '/browse/Note/1/Due').body).toBe('');
  });

  test('of a row that is not here, or under a name of no column, is none', async () => {
    await using fixture = await pulled();

    for (const place of ['/browse/Note/2/Body', '/browse/Note/1/_id', '/browse/Note/1/rowid']) {
      expect([place, get(fixture, place).status]).toEqual([place, 404]);
    }
  });
});

describe('the page of a row at the origin', () => {
  test('is found by the address of the configuration, into which nothing else gets', async () => {
    await using fixture = await pulled();
    const recordUrl = 'https://example.net/db/{tableId}/{table}?id={id}';
    const to = (place: string): string | undefined => get(fixture, place, { recordUrl }).headers['Location'];
    const [{ id } = { id: 0 }] = fixture.rows(`SELECT id FROM _rowsync_tables WHERE name LIKE 'A%'`) as {
      id: number;
    }[];

    expect(to('/origin/A%2Fb%20%22c%22/5')).toBe(`https://example.net/db/${id}/A%2Fb%20%22c%22?id=5`);
    for (const row of ['-5', '5x', '', '5%26a=b']) expect(to(`/origin/Note/${row}`)).toBe(undefined);
  });
});

describe('an export', () => {
  test('has the whole answer in a file of its name, with formulas made harmless for spreadsheets', async () => {
    await using fixture = await pulled();
    const query = new URLSearchParams({ sql: 'SELECT "Title", "Count" FROM "Note"', name: 'my/notes' });

    const csv = get(fixture, `/export/csv?${query.toString()}`);
    const json = get(fixture, `/export/json?${query.toString()}`);

    expect(csv.headers['Content-Disposition']).toMatch(/^attachment; filename="my_notes.csv"/);
    expect(csv.type).toBe('text/csv; charset=utf-8');
    expect(csv.body).toMatch(/^Title,Count\r?\n'=1\+1,\r?\n$/);
    expect(JSON.parse(json.body)).toEqual([{ Title: '=1+1', Count: null }]);
  });

  test('of anything but one question is refused with its reason, and changes nothing', async () => {
    await using fixture = await pulled();

    for (const sql of ['DELETE FROM "Note"', 'SELECT nix FROM "Note"', '', 'SELECT 1; SELECT 2']) {
      const { status, type, headers } = get(fixture, `/export/csv?${new URLSearchParams({ sql }).toString()}`);
      expect([sql, status, type]).toEqual([sql, 400, 'text/html; charset=utf-8']);
      expect(headers).toEqual({});
    }
    expect(fixture.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 1 }]);
  });
});

test('the tables that a question reads and that are too old are named as the origin names them', async () => {
  await using fixture = await startFixture({ tables: [NOTE, { ...NOTE, name: 'Other' }] });
  await fixture.pull();
  fixture.execute(
    `UPDATE _rowsync_tables SET local_name = 'mine' WHERE name = 'Note'; ALTER TABLE "Note" RENAME TO mine`,
  );
  const stale = (fresh: string, nowMs: number): string => {
    const query = new URLSearchParams({ sql: 'SELECT * FROM mine', fresh });
    return get(fixture, `/stale?${query.toString()}`, { nowMs }).body;
  };

  expect(stale('1h', Date.now() + 7_200_000)).toBe('["Note"]');
  expect(stale('3h', Date.now() + 7_200_000)).toBe('[]');
  expect(get(fixture, '/stale?fresh=soon').status).toBe(400);
});

test('the feed gives the events behind a number, and refuses one that the history has not reached', async () => {
  const settings = { tableOptions: () => ({ sort: null, history: { keepDays: 400, bytesMax: 1_000_000 } }) };
  await using fixture = await startFixture({ tables: [NOTE] }, { settings });
  await fixture.pull();
  fixture.sandbox.store.update('Note', 1, { Title: 'later' });
  await fixture.pull();

  const all = get(fixture, '/changes?after=0');
  const beyond = get(fixture, '/changes?after=999');

  expect([all.status, all.type]).toEqual([200, 'text/event-stream; charset=utf-8']);
  expect(all.body).toMatch(/^id: \d+\ndata: \{.*"later".*\}\n\n$/m);
  expect([beyond.status, beyond.type]).toEqual([409, 'text/plain; charset=utf-8']);
});

describe('a file', () => {
  const PNG = '\u0089PNG\r\n\u001A\n';

  async function album(): Promise<FilesFixture & { readonly idOf: (name: string) => number }> {
    const files = [
      { name: 'real.bin', mediaType: 'application/octet-stream', bytes: Buffer.from(PNG, 'latin1') },
      fileOf('fake.png', '<script>alert(1)</script>', 'image/png'),
      fileOf('long.txt', 'ä'.repeat(100_000), 'text/plain'),
    ];
    const rows = files.map((Photo) => ({ Photo }));
    const fixture = await startFilesFixture({
      tables: [{ name: 'Album', columns: [{ name: 'Photo', type: 'Attachment' }], rows }],
    });
    await fixture.pull();
    await fixture.pullFiles();
    const ids = new Map(
      (fixture.rows('SELECT id, name FROM _rowsync_files') as { id: number; name: string }[]).map(({ id, name }) => [
        name,
        id,
      ]),
    );
    return Object.assign(fixture, { idOf: (name: string) => ids.get(name) ?? 0 });
  }

  test('is shown as a picture by its bytes alone, and saved otherwise', async () => {
    await using fixture = await album();

    const real = get(fixture, `/file/${fixture.idOf('real.bin')}`);
    const fake = get(fixture, `/file/${fixture.idOf('fake.png')}`);
    const saved = get(fixture, `/file/${fixture.idOf('real.bin')}/save`);

    expect([real.type, real.headers]).toEqual(['image/png', { 'Content-Disposition': 'inline' }]);
    expect(fake.type).toBe('application/octet-stream');
    expect(fake.headers['Content-Disposition']).toMatch(/^attachment; filename="fake.png"/);
    expect(saved.type).toBe('application/octet-stream');
    expect(saved.headers['Content-Disposition']).toMatch(/^attachment; filename="real.bin"/);
  });

  test('is text on a page, cut between two characters, and all of it to save', async () => {
    await using fixture = await album();
    const id = fixture.idOf('long.txt');

    const text = get(fixture, `/file/${id}/text`).body;
    const markup = get(fixture, `/file/${fixture.idOf('fake.png')}/text`).body;

    expect(text).toContain('The first 128.0 KiB of 195.3 KiB, as text.');
    expect(text).toMatch(/ä<\/bdi><\/pre>/);
    expect(text).not.toContain('\uFFFD');
    expect(text).toContain(`<a href="/file/${id}/save" download>`);
    expect(get(fixture, `/file/${id}/save`).body).toBe('ä'.repeat(100_000));
    expect(markup).toContain('&lt;script&gt;');
    expect(markup).not.toContain('<script>alert');
  });

  test('whose content is gone, or a link in its place, is not followed', async () => {
    await using fixture = await album();
    const id = fixture.idOf('real.bin');
    const [{ path } = { path: '' }] = fixture.files().filter(({ name }) => name === 'real.bin') as { path: string }[];
    rmSync(path);
    const gone = get(fixture, `/file/${id}`);
    const secret = join(dirname(fixture.path), 'secret');
    writeFileSync(secret, 'SECRET');
    symlinkSync(secret, path);

    const linked = get(fixture, `/file/${id}/save`);

    for (const { status, body } of [gone, linked]) {
      expect(status).toBe(404);
      expect(body).toContain('The content of this file is not in the store');
      expect(body).not.toContain('SECRET');
    }
  });
});

test.each([
  ['image/png', '\u0089PNG\r\n\u001A\nrest'],
  ['image/jpeg', '\u00FF\u00D8\u00FF\u00E0'],
  ['image/gif', 'GIF89a'],
  ['image/webp', 'RIFF\n\n\n\nWEBPVP8 '],
  [null, '<svg xmlns="http://www.w3.org/2000/svg">'],
  [null, 'GIF99a'],
  [null, 'RIFFWEBP'],
  [null, ' \u0089PNG\r\n\u001A\n'],
  [null, ''],
])('is %s by its first bytes', (type, bytes) => {
  expect(pictureType(Buffer.from(bytes, 'latin1'))).toBe(type);
});
