/**
 * The pages that show rows, by the requests of a browser: who may see them, what is shown, exported and edited, and
 * that no GET changes anything. test/extras/page/pages.long.test.ts opens them in a real browser.
 */
import { copyFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../../support/daemon.ts';
import { ask, type Asked } from '../../support/http.ts';
import { decisionFields, PAGE_YAML, postOf, signIn, startTroubled, type SignedIn } from '../../support/page.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

const PEOPLE = {
  name: 'Person',
  key: 'Code',
  columns: [
    { name: 'Code', type: 'Text', options: ['Required'] },
    { name: 'Name', type: 'Text' },
  ],
  rows: [
    { Code: 'ana', Name: '=1+1' },
    { Code: 'bo', Name: null },
  ],
};
const VISITS = {
  name: 'Visit / 2',
  columns: [
    { name: 'Person', type: 'Text' },
    { name: 'Cost', type: 'Numeric' },
  ],
  rows: Array.from({ length: 250 }, (_, index) => ({
    Person: index % 3 === 0 ? 'ana' : 'nobody',
    Cost: index % 10 === 0 ? null : index % 7,
  })),
};

function get({ port, cookie }: SignedIn, path: string, headers: Record<string, string> = {}): Promise<Asked> {
  return ask({ port }, path, { headers: { Host: `127.0.0.1:${port}`, Cookie: cookie, ...headers } });
}

function post(person: SignedIn, fields: Record<string, string>): Promise<Asked> {
  const form = postOf({ token: person.token, ...fields }, person.port, { Cookie: person.cookie });
  return ask({ port: person.port }, '/edit', form);
}

/** Ids of the rows that a page lists, in their order. */
function idsOf({ body }: Asked): readonly number[] {
  return [...body.matchAll(/<th scope="row"><a href="[^"]+\/(-?\d+)">/g)].map((match) => Number(match[1]));
}

/** Where a link with these words leads. */
function linkOf({ body }: Asked, words: string): string {
  const found = new RegExp(`href="([^"]+)"[^>]*>\\s*${words}`).exec(body)?.[1] ?? '';
  return found.replaceAll('&amp;', '&');
}

async function startVisits(): Promise<{
  readonly daemon: TestDaemon;
  readonly person: SignedIn;
  [Symbol.asyncDispose](): Promise<void>;
}> {
  const sandbox = await startTestSandbox({ tables: [PEOPLE, VISITS] });
  const daemon = startDaemon(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  await daemon.idle();
  return {
    daemon,
    person: await signIn(daemon),
    [Symbol.asyncDispose]: async () => {
      await daemon[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

test('who has not signed in sees no row, and comes back to the page after signing in', async () => {
  await using visits = await startVisits();
  const { port, key } = visits.person;

  const paths = ['/browse', '/browse/Person', '/browse/Person/1', '/ask?sql=SELECT+1', '/work', '/export/csv'];
  const answers = await Promise.all(paths.map((path) => ask({ port }, path)));
  const next = '/browse/Person?Name=x';
  const back = await ask({ port }, '/sign-in', postOf({ key, next }, port));
  const away = await ask({ port }, '/sign-in', postOf({ key, next: '//evil.example/browse' }, port));

  expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 401));
  expect(answers.map(({ body }) => body).join('')).not.toContain('ana');
  expect([back.status, back.headers.location]).toEqual([303, next]);
  expect(away.headers.location).toBe('/');
});

test('a table is shown page by page, forwards and backwards, also in the order of a column with gaps and ties', async () => {
  await using visits = await startVisits();
  const { person, daemon } = visits;

  for (const [query, order] of [
    ['', '_id'],
    ['?_sort=Cost', '"Cost", _id'],
    ['?_sort=-Cost', '"Cost" DESC, _id DESC'],
  ] as const) {
    const expected = daemon
      .rows(`SELECT _id AS id FROM "Visit / 2" ORDER BY ${order}`)
      .map((row) => (row as { id: number }).id);
    const first = await get(person, `/browse/Visit%20%2F%202${query}`);
    const second = await get(person, linkOf(first, 'Next'));
    const third = await get(person, linkOf(second, 'Next'));
    const back = await get(person, linkOf(third, '‹ Previous'));

    expect([...idsOf(first), ...idsOf(second), ...idsOf(third)]).toEqual(expected);
    expect(idsOf(back)).toEqual(idsOf(second));
    expect(linkOf(third, 'Next')).toBe('');
  }
});

test.each([
  ['Person=ana&Cost=>5', '"Person" = \'ana\' AND "Cost" > 5'],
  ['Cost=!=3', '"Cost" <> 3'],
  ['Cost==', '"Cost" IS NULL'],
  ['Cost=!=', '"Cost" IS NOT NULL'],
  ['Person=~BOD', '"Person" LIKE \'%bod%\''],
  ['_q=an', '"Person" LIKE \'%an%\' OR "Cost" LIKE \'%an%\''],
  ['_id=<=4', '_id <= 4'],
  ["Person=' OR 1=1 --", '0'],
])('the filter %s means %s', async (query, where) => {
  await using visits = await startVisits();
  const { person, daemon } = visits;

  const answer = await get(person, `/browse/Visit%20%2F%202?${new URLSearchParams(query).toString()}`);

  const rows = daemon.rows(`SELECT _id AS id FROM "Visit / 2" WHERE ${where} ORDER BY _id LIMIT 100`);
  expect(answer.status).toBe(200);
  expect(idsOf(answer)).toEqual(rows.map((row) => (row as { id: number }).id));
});

test('the SQL that a page shows gives the rows that it lists', async () => {
  await using visits = await startVisits();
  const { person, daemon } = visits;

  const answer = await get(person, '/browse/Visit%20%2F%202?Person=ana&Cost=%3E4&_sort=-Cost&_col=Cost');
  const sql = /<pre class="sql"><code>([^<]+)</
    .exec(answer.body)?.[1]
    ?.replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&gt;', '>');

  expect(sql).toBe(
    `SELECT _id, "Cost" FROM "Visit / 2" WHERE ("Person" = 'ana' AND CAST("Cost" AS NUMERIC) > 4) ORDER BY "Cost" DESC, _id DESC`,
  );
  expect(
    daemon
      .rows(sql ?? '')
      .map((row) => (row as { _id: number })._id)
      .slice(0, 100),
  ).toEqual(idsOf(answer));
});

test('empty fields of a form leave the address, and a value that is the key of a row leads there', async () => {
  await using visits = await startVisits();
  const { person } = visits;

  const cleaned = await get(person, '/browse/Visit%20%2F%202?Person=ana&Cost=&_q=');
  const whole = await get(person, '/browse/Visit%20%2F%202');
  const shown = { ...whole, body: whole.body.slice(whole.body.indexOf('<tbody')) }; // without the facets, which lead to filters

  expect([cleaned.status, cleaned.headers.location]).toEqual([303, '/browse/Visit%20%2F%202?Person=ana']);
  expect(linkOf(shown, '<bdi>ana')).toBe('/browse/Person/1');
  expect(linkOf(shown, '<bdi>nobody')).toBe('');
});

test('an export has the rows of the page and those behind them, with formulas made harmless', async () => {
  await using visits = await startVisits();
  const { person } = visits;

  const exported = async (path: string, words: string) => get(person, linkOf(await get(person, path), words));
  const csv = await exported('/browse/Person?_col=Code&_col=Name', 'CSV');
  const json = await exported('/browse/Visit%20%2F%202?Person=ana', 'JSON');
  const answer = await get(person, `/export/csv?sql=${encodeURIComponent(`SELECT '@x' AS a, 1 AS b`)}`);

  expect(csv.body).toBe("_id,Code,Name\n1,ana,'=1+1\n2,bo,\n");
  expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8');
  expect(csv.headers['content-disposition']).toContain('attachment; filename="Person.csv"');
  expect(JSON.parse(json.body)).toHaveLength(84);
  expect(answer.body).toBe("a,b\n'@x,1\n");
});

test('an export whose filter names no column, or no value of its column, is offered by no page', async () => {
  await using visits = await startVisits();
  const { person } = visits;

  const stale = await get(person, `/export/csv?sql=${encodeURIComponent('SELECT "Nmae" FROM "Person"')}`);
  const page = await get(person, '/browse/Person?Nmae=bo');

  expect([stale.status, page.status]).toEqual([400, 200]);
  expect(stale.body).toContain('Nmae');
  expect(page.body).toContain('No column is called “Nmae”');
  expect(page.body).not.toContain('/export/');
  expect((await get(person, '/browse/Person?Name=bo')).body).toContain('/export/csv?sql=');
});

test.each([
  ['DELETE FROM "Person"', 400, 'returns no rows or would write'],
  ['SELECT 1; SELECT 2', 400, 'more than one statement'],
  [`ATTACH '/tmp/x' AS y`, 400, 'returns no rows or would write'],
  ['SELECT Nowhere', 400, 'no such column: Nowhere'],
  ['SELECT randomblob(900000000)', 400, 'more memory'],
  ['SELECT count(*) AS many FROM "Visit / 2"', 200, '250'],
])('the query %s is answered with %i', async (sql, status, words) => {
  await using visits = await startVisits();

  const answer = await get(visits.person, `/ask?${new URLSearchParams({ sql }).toString()}`);

  expect(answer.status).toBe(status);
  expect(answer.body).toContain(words);
  expect(visits.daemon.rows('SELECT count(*) AS n FROM "Person"')).toEqual([{ n: 2 }]);
});

test('an answer that is too long is cut on the page', async () => {
  await using visits = await startVisits();
  const sql = 'SELECT value FROM json_each(json_array(1)), "Visit / 2" a, "Visit / 2" b';

  const { body } = await get(visits.person, `/ask?${new URLSearchParams({ sql }).toString()}`);

  expect(body).toContain('The first 1,000 rows');
  expect(body.match(/<td/g)).toHaveLength(1000);
});

test('an edit by form is the edit of any SQL client, and goes to the origin', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);
  const form = await get(person, '/edit/Note/3');
  const was = (column: string): string =>
    new RegExp(`name="w:${column}" value="([^"]+)"`).exec(form.body)?.[1] ?? 'missing';
  const fields = { kind: 'update', table: 'Note', row: '3' };

  const saved = await post(person, {
    ...fields,
    'v:Title': 'by form',
    'w:Title': was('Title'),
    'v:Count': '3',
    'w:Count': was('Count'),
  });
  const row = await get(person, saved.headers.location ?? '');

  expect([saved.status, saved.headers.location]).toEqual([303, '/browse/Note/3?_said=update']);
  expect(row.body).toContain('Saved here.');
  expect(row.body).toContain('The next push sends this.');
  expect(daemon.rows(`SELECT "column", base, local FROM sync_changes WHERE row_id = 3`)).toEqual([
    { column: 'Title', base: 'title 3', local: 'by form' },
  ]);
  await daemon.seconds(8);
  expect(sandbox.store.rows('Note')[2]?.values['Title']).toBe('by form');
});

test('an edit that a trigger refuses comes back with its words and with what was typed', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);
  const long = 'far too long for a column of twenty characters';
  const form = await get(person, '/edit/Note/3');
  const was = /name="w:Title" value="([^"]+)"/.exec(form.body)?.[1] ?? '';

  const answer = await post(person, { kind: 'update', table: 'Note', row: '3', 'v:Title': long, 'w:Title': was });

  expect(answer.status).toBe(409);
  expect(answer.body).toContain('&quot;Title&quot; of Note takes at most 20 characters');
  expect(answer.body).toContain(`value="${long}"`);
  expect(daemon.rows('SELECT "Title" FROM "Note" WHERE _id = 3')).toEqual([{ Title: 'title 3' }]);
});

test('an edit of a cell that was changed meanwhile overwrites nothing', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);
  const form = await get(person, '/edit/Note/3');
  const was = /name="w:Title" value="([^"]+)"/.exec(form.body)?.[1] ?? '';
  daemon.execute(`UPDATE "Note" SET "Title" = 'meanwhile' WHERE _id = 3`);

  const answer = await post(person, { kind: 'update', table: 'Note', row: '3', 'v:Title': 'mine', 'w:Title': was });
  const same = await post(person, { kind: 'update', table: 'Note', row: '3', 'v:Title': 'title 3', 'w:Title': was });

  expect(answer.status).toBe(409);
  expect(answer.body).toContain('“Title” changed to “meanwhile” meanwhile. What you typed is below.');
  expect(same.headers.location).toBe('/browse/Note/3?_said=same');
  expect(daemon.rows('SELECT "Title" FROM "Note" WHERE _id = 3')).toEqual([{ Title: 'meanwhile' }]);
});

test('rows are added and deleted by form', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);

  const added = await post(person, {
    kind: 'insert',
    table: 'Note',
    'v:Title': 'new one',
    'v:Count': '1.50',
    'v:Done': '1',
  });
  const shown = await get(person, added.headers.location ?? '');
  const deleted = await post(person, { kind: 'delete', table: 'Note', row: '4' });

  expect(added.headers.location).toMatch(/^\/browse\/Note\/-\d+\?_said=insert$/);
  expect(shown.body).toContain('New row, not at the origin yet');
  expect(deleted.headers.location).toBe('/browse/Note/4?_said=delete');
  const gone = await get(person, '/browse/Note/4');
  expect(gone.body).toMatch(/Deleted here, not at the origin yet[^]*As the origin has it[^]*title 4[^]*Undo the edit/);
  expect(gone.body).not.toContain('There is no such row');
  expect(gone.body).toContain('name="next" value="/browse/Note/4"'); // undone, the row is shown
  await daemon.seconds(8);
  const titles = sandbox.store.rows('Note').map(({ values }) => [values['Title'], values['Count']]);
  expect(titles).toContainEqual(['new one', 1.5]);
  expect(titles.map(([title]) => title)).not.toContain('title 4');
});

/** Adds a row by form and pushes it: the page of its first number, and the number that it has now. */
async function addedRow(person: SignedIn, daemon: TestDaemon): Promise<{ readonly path: string; readonly id: number }> {
  const added = await post(person, { kind: 'insert', table: 'Note', 'v:Title': 'new one' });
  await daemon.seconds(8);
  const [row] = daemon.rows(`SELECT _id AS id FROM "Note" WHERE "Title" = 'new one'`) as { id: number }[];
  return { path: added.headers.location?.replace('?_said=insert', '') ?? '', id: row?.id ?? 0 };
}

test('the page and the form of a new row lead to the row that it became', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, PAGE_YAML.replace('push: true', 'push: true, history: true'));
  await daemon.idle();
  const person = await signIn(daemon);
  const { path, id } = await addedRow(person, daemon);
  const row = path.replace('/browse/Note/', '');

  const page = await get(person, path);
  const shown = await get(person, page.headers.location ?? '');
  const form = await get(person, `/edit/Note/${row}`);
  const saved = await post(person, { kind: 'update', table: 'Note', row, 'v:Title': 'newer', 'w:Title': '' });
  const unknown = await get(person, '/browse/Note/-999');

  expect(Number(row)).toBeLessThan(0);
  expect(id).toBeGreaterThan(0);
  expect([page.status, page.headers.location]).toEqual([303, `/browse/Note/${id}?_said=numbered`]);
  expect(shown.body).toContain('The origin took this new row');
  expect(form.headers.location).toBe(`/edit/Note/${id}`);
  expect(saved.status).toBe(409);
  expect(saved.body).toMatch(
    new RegExp(`the row has the number ${id} now[^]*name="row" value="${id}"[^]*value="newer"`),
  );
  expect(unknown.status).toBe(404);
  expect(unknown.body).not.toMatch(/delete/i);
});

test('where no history tells what became of a new row, its page leads to the newest rows', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  const person = await signIn(daemon);
  const { path, id } = await addedRow(person, daemon);

  const page = await get(person, path);
  const newest = await get(person, linkOf(page, 'see the newest rows'));

  expect(page.status).toBe(404);
  expect(page.body).toContain('A new row gets another number once the origin has taken it');
  expect(page.body).not.toMatch(/delete/i);
  expect(idsOf(newest)[0]).toBe(id);
});

test('two clicks on a slow line add one row, and the form of another page adds another', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);
  const row = { kind: 'insert', table: 'Note', 'v:Title': 'new one' };

  const clicks = await Promise.all([post(person, row), post(person, row)]);
  const later = await post(person, row);
  const other = await post(await signIn(daemon), row);

  const [address, ...rest] = [...clicks, later].map(({ headers }) => headers.location);
  expect(rest).toEqual([address, address]);
  expect(other.headers.location).not.toBe(address);
  expect(daemon.rows(`SELECT count(*) AS n FROM "Note" WHERE "Title" = 'new one'`)).toEqual([{ n: 2 }]);
});

test('a form that was refused counts once it is sent again and can be carried out', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);
  const row = { kind: 'insert', table: 'Note', 'v:Title': 'new one' };
  daemon.execute(`CREATE TRIGGER no BEFORE INSERT ON "Note" BEGIN SELECT RAISE(ABORT, 'not now'); END`);

  const refused = await post(person, row);
  daemon.execute('DROP TRIGGER no');
  const added = await post(person, row);

  expect([refused.status, added.status]).toEqual([409, 303]);
});

test('a row that changed since the page was made is not deleted', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);
  const form = await get(person, '/edit/Note/3');
  const was = /name="w:Title" value="([^"]+)"/.exec(form.body)?.[1] ?? '';
  daemon.execute(`UPDATE "Note" SET "Title" = 'meanwhile' WHERE _id = 3`);

  const answer = await post(person, { kind: 'delete', table: 'Note', row: '3', 'w:Title': was });

  expect(form.body.match(/name="w:Title"/g)).toHaveLength(2);
  expect(answer.status).toBe(409);
  expect(answer.body).toContain('changed meanwhile. The row is shown below as it is now');
  expect(daemon.rows('SELECT "Title" FROM "Note" WHERE _id = 3')).toEqual([{ Title: 'meanwhile' }]);
});

test('no edit comes from another site, without the token, or into a mirror', async () => {
  await using visits = await startVisits();
  const { person, daemon } = visits;
  const fields = { kind: 'update', table: 'Person', row: '1', 'v:Name': 'x', 'w:Name': '' };

  const forged = await post({ ...person, token: 'x' }, fields);
  const stranger = await post({ ...person, cookie: '' }, fields);
  const mirror = await post(person, fields);
  const form = await get(person, '/edit/Person/1');

  expect([forged.status, stranger.status, mirror.status, form.status]).toEqual([403, 403, 403, 403]);
  expect(mirror.body).toContain('This table is a read-only mirror');
  expect(daemon.rows('SELECT "Name" FROM "Person" WHERE _id = 1')).toEqual([{ Name: '=1+1' }]);
});

test('one kind of work begins by button, and the page says what each did to which table', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  const person = await signIn(daemon);
  sandbox.store.update('Note', 2, { Title: 'theirs' });
  const form = postOf({ token: person.token, work: 'pull' }, person.port, { Cookie: person.cookie });

  const begun = await ask({ port: person.port }, '/cycle', form);
  await daemon.idle();
  const { body } = await get(person, '/work');

  expect(begun.headers.location).toBe('/work?_said=work');
  expect(daemon.events('work.finished').map(({ work }) => work)).toEqual(['pull', 'push', 'pull']);
  expect(body).toMatch(/<b>pull<\/b> \d+,/);
  expect(body).toContain('1 changed');
});

test('what was done and how each table fared is still known after the daemon was started anew', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using before = startDaemon(sandbox, PAGE_YAML);
  await before.idle();
  sandbox.store.update('Note', 2, { Title: 'theirs' });
  await before.elapse(60);
  await before.stop();
  await using daemon = startDaemon(sandbox, PAGE_YAML, {
    startMs: before.clock.nowMs() + 7_200_000,
    prepare: (folder) => copyFileSync(join(before.folder, 'replica.db'), join(folder, 'replica.db')),
  });
  await daemon.idle();
  const person = await signIn(daemon);

  const work = await get(person, '/work');
  const today = await get(person, '/');

  expect(work.body).toMatch(/6 new[^]*<\/li>/);
  expect(work.body).toContain('1 changed');
  expect(/aria-label="(Quarters[^"]+)"/.exec(today.body)?.[1]).toMatch(
    /not known \d+ of 96, read whole 6 of 96, late 7 of 96/,
  );
});

test('events tell how far the work under way is, and only to who has signed in', async () => {
  await using visits = await startVisits();
  const { person } = visits;

  const stranger = await ask({ port: person.port }, '/events');
  const { request } = await import('node:http');
  const first = await new Promise<string>((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port: person.port, path: '/events', headers: { Cookie: person.cookie } },
      (answer) => {
        answer.once('data', (chunk: Buffer) => {
          resolve([answer.headers['x-frame-options'], chunk.toString()].join(' '));
          asked.destroy();
        });
      },
    );
    asked.on('error', reject).end();
  });

  expect(stranger.status).toBe(404);
  expect(first).toBe('DENY data: null\n\n');
});

test('with a journal the first page tells who changed what, and a row tells its life', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  const yaml = 'http: { listen: "127.0.0.1:0" }\ntables: { "*": { push: true, history: true } }\n';
  await using daemon = startDaemon(sandbox, yaml);
  await daemon.idle();
  sandbox.store.update('Note', 2, { Title: 'theirs <b>' });
  sandbox.store.delete('Note', 5);
  daemon.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 3; INSERT INTO "Note" ("Title") VALUES ('new')`);
  await daemon.elapse(6);
  const person = await signIn(daemon);

  const today = await get(person, '/');
  const row = await get(person, '/browse/Note/2');
  const gone = await get(person, '/browse/Note/5');
  const edited = await get(person, '/browse/Note/3');

  const askAt = (at: string) => {
    const sql = `SELECT "Title" FROM "Note" WHERE _id = 2`;
    return get(person, `/ask?${new URLSearchParams({ sql, at }).toString()}`);
  };
  const [then, now, wrong] = [await askAt('2026-06-01T12:01:00Z'), await askAt(''), await askAt('then')];

  expect(then.body).toContain('title 2');
  expect(now.body).toContain('theirs &lt;b&gt;');
  expect([wrong.status, wrong.body]).toEqual([400, expect.stringContaining('as a time')]);
  expect(today.body).toContain('From the history');
  expect(today.body).toContain('Last changes');
  expect(today.body).toContain('1 deleted'); // the new row that got its number is none
  expect(row.body).toMatch(/<del>.*title 2.*<\/del>[^]*<ins>.*theirs &lt;b&gt;.*<\/ins>/);
  expect(row.body).toContain('found at the origin');
  expect(gone.body).toMatch(/Removed here [^:]+: the origin does not return the row\. Its last values:/);
  expect(gone.body).toContain('<bdi class="value"><time class="at"');
  expect(gone.body).toMatch(/<a class="button" href="\/browse\/\w+\/\d+\?_putback=1#putback">Put back…<\/a>/);
  expect(gone.body).toContain('<b>deleted</b>');
  expect(edited.body).toContain('edited here');
});

test('without a journal the first page counts what the origin stamps, by table and person', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, PAGE_YAML, { startMs: Date.now() });
  await daemon.idle();
  sandbox.store.update('Note', 2, { Title: 'theirs' });
  await daemon.elapse(6);

  const { body } = await get(await signIn(daemon), '/');

  expect(body).toContain('From the stamps of the origin');
  expect(body).toMatch(/Alice Martin<\/bdi>\s*<b>\d<\/b>/);
  expect(body).not.toContain('Last changes');
});

test('all refused rows are sent again by one button, where there are several', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  daemon.execute(`UPDATE "Note" SET "Code" = 'c3' WHERE _id IN (4, 5)`);
  await daemon.elapse(5);
  const person = await signIn(daemon);
  const before = await get(person, '/');
  sandbox.store.update('Note', 3, { Code: 'free' });
  daemon.execute(`UPDATE "Note" SET "Code" = 'c' || _id WHERE _id IN (2, 5)`);
  await daemon.elapse(1);
  const form = postOf({ token: person.token, ...decisionFields(person, { kind: 'retry', ids: [] }) }, person.port, {
    Cookie: person.cookie,
  });

  const answer = await ask({ port: person.port }, '/decide', form);
  await daemon.elapse(5);

  expect(before.body).toContain('Send all refused rows again');
  expect(answer.headers.location).toBe('/?said=retry');
  expect(daemon.rows('SELECT * FROM sync_failures')).toEqual([]);
  expect(sandbox.store.rows('Note')[3]?.values['Code']).toBe('c3');
});

test('while the origin is down, tables that are due have failed', async () => {
  let isDown = false;
  const intercept = (_request: unknown, response: ServerResponse): boolean => {
    if (isDown) response.destroy();
    return isDown;
  };
  await using sandbox = await startTestSandbox({ tables: [NOTE], intercept });
  await using daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  isDown = true;
  await daemon.elapse(120);

  const { body } = await get(await signIn(daemon), '/');

  expect(/aria-label="Quarters of an hour: ([^"]+)"/.exec(body)?.[1]).toMatch(
    /^not known \d+ of 96, read whole 1 of 96, failed or held \d of 96$/,
  );
}, 60_000);
