/**
 * What can be sent to the page's server: who may decide, what is refused, and that nothing else changes anything.
 */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../../support/daemon.ts';
import { ask, portOf, type Asked } from '../../support/http.ts';
import {
  decisionFields,
  keyOf,
  PAGE_YAML,
  postOf,
  seenIn,
  signIn,
  startTroubled,
  type SignedIn,
} from '../../support/page.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

function open(daemon: TestDaemon): unknown {
  return daemon.rows(`SELECT (SELECT count(*) FROM sync_conflicts WHERE state = 'open') AS conflicts,
    (SELECT count(*) FROM sync_failures) AS failures`);
}

const TROUBLED = [{ conflicts: 1, failures: 1 }];

/** Sends a form as who has signed in. */
function send(
  { port, cookie, token }: SignedIn,
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Asked> {
  return ask({ port }, path, postOf({ token, ...fields }, port, { Cookie: cookie, ...headers }));
}

/** Decides as who has signed in: the first conflict, unless something else is given. */
function decide(
  person: SignedIn,
  decision: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Asked> {
  const { token = person.token, ...others } = decision;
  return send({ ...person, token: String(token) }, '/decide', decisionFields(person, others), headers);
}

test('the key signs in, with a cookie that no script and no other site gets', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const port = portOf(daemon);

  const { status, headers } = await ask({ port }, '/sign-in', postOf({ key: `${keyOf(daemon)}\n` }, port));
  const [cookie = ''] = headers['set-cookie'] ?? [];

  expect(status).toBe(303);
  expect(headers.location).toBe('/');
  expect(cookie).toMatch(
    new RegExp(`^rowsync_page_${port}=[\\w-]{43}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict$`),
  );
  expect(cookie).not.toContain(keyOf(daemon));
  expect(statSync(join(daemon.folder, 'replica.db.page-key')).mode & 0o777).toBe(0o600);
});

test('without the key nobody sees a value', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const { port, cookie } = await signIn(daemon);
  const [name = ''] = cookie.split('=');
  const seen = async (headers: Record<string, string>): Promise<string> =>
    (await ask({ port }, '/', { headers: { Host: `127.0.0.1:${port}`, ...headers } })).body;

  expect(await seen({ Cookie: `a=b; ${cookie}` })).toContain('theirs');
  for (const headers of [{}, { Cookie: `${name}=x` }, { Cookie: `${name}=` }, { Cookie: cookie.replace('=', '2=') }]) {
    expect(await seen(headers)).not.toMatch(/theirs|mine|duplicate/);
  }
  expect((await ask({ port }, '/sign-in', postOf({ key: 'guess' }, port))).status).toBe(403);
});

test('a decision by button is carried out and pushed within seconds', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);

  const { status, headers } = await decide(person);

  expect([status, headers.location]).toEqual([303, '/?said=resolve']);
  const { body } = await ask({ port: person.port }, '/?said=resolve', { headers: { Cookie: person.cookie } });
  expect(body).toContain('The conflict is decided.');
  await daemon.seconds(8);
  expect(daemon.events('person.decided')).toMatchObject([{ reason: 'resolve' }]);
  expect(sandbox.store.rows('Note')[0]?.values['Title']).toBe('mine');
  expect(open(daemon)).toEqual([{ conflicts: 0, failures: 1 }]);
});

test('an edit that lost is taken back by its button, or put away as seen', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox, PAGE_YAML.replace('ask', 'origin'));
  const person = await signIn(daemon);
  const page = async (): Promise<string> =>
    (await ask({ port: person.port }, '/', { headers: { Cookie: person.cookie } })).body;
  const [, shown = ''] = (await page()).split('1 edit lost to a change at the origin</h2>');
  const seen = seenIn(shown);
  expect((await decide(person, { seen })).status).toBe(409); // it is decided already

  const { status, headers } = await decide(person, { isAgain: true, seen });
  expect([status, headers.location]).toEqual([303, '/?said=resolve']);
  expect(await page()).not.toContain('lost to a change');
  await daemon.seconds(8);
  expect(sandbox.store.rows('Note')[0]?.values['Title']).toBe('mine');

  daemon.execute(`UPDATE "Note" SET "Title" = 'mine again' WHERE _id = 1`);
  sandbox.store.update('Note', 1, { Title: 'theirs again' });
  await daemon.elapse(5);
  expect(await page()).toContain('1 edit lost to a change at the origin</h2>');
  const [{ id }] = daemon.rows('SELECT max(id) AS id FROM sync_conflicts') as [{ id: number }];
  expect((await decide(person, { kind: 'seen', upToId: id })).headers.location).toBe('/?said=seen');
  expect(await page()).not.toContain('lost to a change');
});

test('the later of two people who decide one conflict is told, and changes nothing', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const [first, second] = [await signIn(daemon), await signIn(daemon)];

  await decide(first);
  await daemon.seconds(8);
  const late = await decide(second, { take: 'remote' });

  expect(late.status).toBe(409);
  expect(late.body).toContain('was decided by a person (local)');
  await daemon.seconds(8);
  expect(sandbox.store.rows('Note')[0]?.values['Title']).toBe('mine');
});

test('a page from before the origin changed its value decides nothing', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);
  sandbox.store.update('Note', 1, { Title: 'theirs, later' });
  await daemon.elapse(5);

  const late = await decide(person, { take: 'remote' });

  expect(late.status).toBe(409);
  expect(late.body).toContain('changed since the page was made');
  expect(open(daemon)).toEqual(TROUBLED);
});

test('a form counts once, and a second click gets the answer to the first', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);

  const clicks = await Promise.all([1, 2, 3].map(() => decide(person)));
  await daemon.seconds(8);

  expect(clicks.map(({ status }) => status)).toEqual([303, 303, 303]);
  expect(daemon.events('person.decided')).toHaveLength(1);
});

test.each<[string, Record<string, string>, string]>([
  ['remote', { take: 'remote' }, 'theirs'],
  ['base', { take: 'base' }, 'title 1'],
  ['a value of its own', { take: 'value', value: 'local' }, 'local'],
])('a conflict takes %s', async (_what, fields, title) => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);

  const { status } = await decide(await signIn(daemon), { ...fields });

  expect(status).toBe(303);
  expect(daemon.rows('SELECT "Title" FROM "Note" WHERE _id = 1')).toEqual([{ Title: title }]);
});

test('what cannot be taken is said, and changes nothing', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);

  const empty = await decide(person, { take: 'null' });
  const gone = await decide(person, { id: 99 });

  expect([empty.status, gone.status]).toEqual([409, 409]);
  expect(empty.body).toContain('must have a value');
  expect(gone.body).toContain('there is no conflict 99');
  expect(open(daemon)).toEqual(TROUBLED);
});

test('a refused row is sent again, or put back', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);

  const again = await send(person, '/decide', await formOf(person, "{'kind':'retry'"));
  await daemon.seconds(8);
  expect(again.headers.location).toBe('/?said=retry');
  expect(open(daemon)).toEqual(TROUBLED);
  const discarded = await send(person, '/decide', await formOf(person, "{'kind':'discard'"));
  expect(discarded.headers.location).toBe('/?said=discard');

  expect(daemon.rows('SELECT "Code" FROM "Note" WHERE _id = 2')).toEqual([{ Code: 'c2' }]);
  expect(open(daemon)).toEqual([{ conflicts: 1, failures: 0 }]);
});

test.each(['discard', 'retry'])(
  'an older page of two people does not %s what the other one corrected',
  async (kind) => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = await startTroubled(sandbox);
    const person = await signIn(daemon);
    const older = await formOf(person, `{'kind':'${kind}'`);
    daemon.execute(`UPDATE "Note" SET "Code" = 'corrected' WHERE _id = 2`);

    const answer = await send(person, '/decide', older);

    expect(answer).toMatchObject({
      status: 409,
      body: expect.stringContaining('changed since the page was made') as string,
    });
    expect(daemon.rows('SELECT "Code" FROM "Note" WHERE _id = 2')).toEqual([{ Code: 'corrected' }]);
  },
);

/** The fields of the first form on a page whose decision has this in its JSON. */
async function formOf({ port, cookie }: SignedIn, part: string, path = '/'): Promise<Record<string, string>> {
  const { body } = await ask({ port }, path, { headers: { Cookie: cookie } });
  const forms = body.split('</form>').map((text) => text.replaceAll('&quot;', "'"));
  const form = forms.find((text) => text.includes(part)) ?? '';
  const fields = form.matchAll(/name="([^"]+)"\s+value="([^"]*)"/g);
  return Object.fromEntries([...fields].map(([, name = '', value = '']) => [name, value.replaceAll("'", '"')]));
}

/** What a form lets through. */
function shownIn({ decision = '{}' }: Record<string, string>): { readonly shown?: string } {
  return JSON.parse(decision) as { readonly shown?: string };
}

test('what a guard holds is let through by button, but only what was shown', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  daemon.execute('DELETE FROM "Note" WHERE _id > 2');
  await daemon.elapse(5);
  const person = await signIn(daemon);
  const older = await formOf(person, "{'kind':'confirm'", '/edits/Note');
  daemon.execute('DELETE FROM "Note" WHERE _id = 2');
  const form = await formOf(person, "{'kind':'confirm'", '/edits/Note');

  const { body } = await ask({ port: person.port }, '/edits/Note', { headers: { Cookie: person.cookie } });
  const other = await decide(person, { ...shownIn(form), shown: 'what was shown yesterday' });
  const late = await send(person, '/decide', older);
  const answer = await send(person, '/decide', form);
  await daemon.elapse(6);

  expect(shownIn(form).shown).toContain('4 of 6 rows would be deleted');
  expect(body).toMatch(
    /<summary>Let them through…<\/summary>[^]*This sends 5 deletes of Note to the origin[^]*>Send 5 deletes</,
  );
  expect([other.status, late.status]).toEqual([409, 409]);
  expect(answer.headers.location).toBe('/?said=confirm');
  expect(sandbox.store.rows('Note')).toHaveLength(1);
});

test('a held push lists its edits row by row, and each or all can be discarded', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, `${PAGE_YAML}safety: { maxPushRows: 1 }\n`);
  await daemon.idle();
  daemon.execute(`UPDATE "Note" SET "Title" = 'mine <' || _id WHERE _id IN (1, 2, 3)`);
  await daemon.elapse(5);
  const person = await signIn(daemon);
  const edited = (): unknown => daemon.rows('SELECT DISTINCT row_id AS id FROM sync_changes');

  const { body: today } = await ask({ port: person.port }, '/', { headers: { Cookie: person.cookie } });
  const { body } = await ask({ port: person.port }, '/edits/Note', { headers: { Cookie: person.cookie } });
  const row = await ask({ port: person.port }, '/browse/Note/3', { headers: { Cookie: person.cookie } });
  const all = await formOf(person, "'kind':'discard','table':'Note','rowId':null", '/edits/Note');
  const one = await send(
    person,
    '/decide',
    await formOf(person, "'kind':'discard','table':'Note','rowId':1", '/edits/Note'),
  );
  const left = edited();
  const late = await send(person, '/decide', all);
  const kept = edited();
  const rest = await send(
    person,
    '/decide',
    await formOf(person, "'kind':'discard','table':'Note','rowId':null", '/edits/Note'),
  );

  expect(today).toContain('href="/edits/Note"');
  expect(today).not.toMatch(/Let it through|rowsync (?:plan|push|discard)/);
  expect(body).toMatch(/<details>\s*<summary>Let them through…<\/summary>[^]*<button class="main">Send 3 changes</);
  expect(body).toMatch(/<details>\s*<summary>Discard all 3 edits…<\/summary>[^]*<button class="main">Discard 3 edits</);
  for (const value of ['mine &lt;1', 'mine &lt;2', 'mine &lt;3'])
    expect(body).toContain(`<bdi class="value">${value}</bdi>`);
  expect(body).not.toMatch(/rowsync (?:plan|push|discard)/);
  expect(row.body).toContain('3 rows would be changed at the origin');
  expect(row.body).not.toContain('The next push sends this.');
  expect(one.headers.location).toBe('/edits/Note?_said=discard');
  expect(left).toEqual([{ id: 2 }, { id: 3 }]);
  expect(late.status).toBe(409);
  expect(kept).toEqual(left);
  expect(rest.headers.location).toBe('/?said=discard');
  expect(edited()).toEqual([]);
  expect(sandbox.store.rows('Note').some(({ values }) => String(values['Title']).startsWith('mine'))).toBe(false);
});

test('a pull that is held as a whole is let through by button, but only as it was shown', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, PAGE_YAML.replace('"*"', 'Nota: false, "*"'));
  await daemon.elapse(5);
  const person = await signIn(daemon);
  const form = await formOf(person, "{'kind':'confirm'");

  const other = await decide(person, { ...shownIn(form), shown: 'what was shown yesterday' });
  const answer = await send(person, '/decide', form);
  await daemon.elapse(20);

  expect(shownIn(form).shown).toContain('No table matches Nota');
  expect(other.status).toBe(409);
  expect(answer.headers.location).toBe('/?said=confirm');
  expect(daemon.rows('SELECT count(*) AS n FROM "Note"')).toEqual([{ n: 6 }]);
});

test('a cycle is started by button', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const before = daemon.events('work.finished').length;

  expect((await send(await signIn(daemon), '/cycle', {})).status).toBe(303);

  const finished = (): number => daemon.events('work.finished').length;
  await expect.poll(finished, { timeout: 20_000 }).toBeGreaterThan(before);
});

test('signing out takes the cookie away', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);

  const { headers } = await send(await signIn(daemon), '/sign-out', {});

  expect(headers['set-cookie']?.[0]).toContain('=; Path=/; Max-Age=0;');
});

describe('refused, with nothing changed, is a form', () => {
  let sandbox: TestSandbox;
  let daemon: TestDaemon;
  beforeAll(async () => {
    sandbox = await startTestSandbox({ tables: [NOTE] });
    daemon = await startTroubled(sandbox);
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
    await sandbox[Symbol.asyncDispose]();
  });

  type Change = (person: SignedIn) => { fields?: Record<string, string>; headers?: Record<string, string> };
  test.each<[string, Change, number]>([
    ['without a token', () => ({ fields: { token: '' } }), 403],
    ['with another token', ({ token }) => ({ fields: { token: token.toUpperCase() } }), 403],
    ['without the cookie', () => ({ headers: { Cookie: '' } }), 403],
    ['from another origin', () => ({ headers: { Origin: 'https://evil.example' } }), 403],
    ['from an opaque origin', () => ({ headers: { Origin: 'null' } }), 403],
    ['from another port of this machine', () => ({ headers: { Origin: 'http://127.0.0.1:9' } }), 403],
    ['for another host', () => ({ headers: { Host: 'evil.example' } }), 421],
    ['from a page of another site', () => ({ headers: { 'Sec-Fetch-Site': 'cross-site' } }), 403],
    ['from a page on another port', () => ({ headers: { 'Sec-Fetch-Site': 'same-site' } }), 403],
    ['as plain text', () => ({ headers: { 'Content-Type': 'text/plain' } }), 415],
    ['in parts', () => ({ headers: { 'Content-Type': 'multipart/form-data; boundary=x' } }), 415],
    ['without a type', () => ({ headers: { 'Content-Type': '' } }), 415],
    ['that is too long', () => ({ fields: { value: 'x'.repeat(300_000) } }), 413],
    ['that takes what there is not', () => ({ fields: { take: 'all' } }), 400],
    ['with a number that is none', () => ({ fields: { id: '1; DROP TABLE "Note"' } }), 400],
    ['of an unknown kind', () => ({ fields: { kind: 'constructor' } }), 400],
  ])('%s', async (_what, changeFor, status) => {
    const person = await signIn(daemon);
    const { fields, headers } = changeFor(person);

    const answer = await decide(person, fields, headers);

    expect(answer.status).toBe(status);
    expect(open(daemon)).toEqual(TROUBLED);
    expect(daemon.events('person.decided')).toEqual([]);
  });
});

test('no GET changes anything, whatever it carries', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const { port, cookie, token, seen } = await signIn(daemon);
  const before = daemon.rows('SELECT * FROM _rowsync_conflicts, _rowsync_rows');
  const work = daemon.events('work.finished').length;
  const fields = new URLSearchParams({ token, ...decisionFields({ seen }), key: keyOf(daemon) }).toString();

  for (const path of ['/', '/decide', '/cycle', '/sign-in', '/sign-out', '/status', '/metrics']) {
    const { headers } = await ask({ port }, `${path}?${fields}`, {
      headers: { Host: `127.0.0.1:${port}`, Cookie: cookie, 'X-Http-Method-Override': 'POST' },
    });
    expect(headers['set-cookie']).toBeUndefined();
  }
  await daemon.idle();

  expect(daemon.rows('SELECT * FROM _rowsync_conflicts, _rowsync_rows')).toEqual(before);
  expect(daemon.events('work.finished')).toHaveLength(work);
});

test('every answer forbids frames, scripts from elsewhere and being kept', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const port = portOf(daemon);

  for (const path of ['/', '/page.css', '/page.js', '/icon.svg', '/status', '/nowhere']) {
    const { headers } = await ask({ port }, path);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'self'; script-src 'self';/);
    expect(headers['content-security-policy']).toContain("form-action 'self'; frame-ancestors 'none'; base-uri 'none'");
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
    });
  }
});

test('who has signed in stays so when the configuration is read again', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);
  const key = keyOf(daemon);
  daemon.reload(PAGE_YAML);
  await daemon.elapse(1);

  expect(keyOf(daemon)).toBe(key);
  expect((await decide(person)).status).toBe(303);
});

test('a program decides with the key itself, without cookie and token', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const port = portOf(daemon);
  const post = (key: string, decision: unknown, type = 'application/json'): Promise<Asked> => {
    const body = typeof decision === 'string' ? decision : JSON.stringify(decision);
    const headers = { Host: `127.0.0.1:${port}`, Authorization: `Bearer ${key}`, 'Content-Type': type };
    return ask({ port }, '/decide', { method: 'POST', body, headers });
  };
  const decision = { kind: 'resolve', id: 1, take: 'remote', value: null };

  expect((await post('guess', decision)).status).toBe(403);
  expect((await post(keyOf(daemon), decision, 'application/x-www-form-urlencoded')).status).toBe(415);
  for (const broken of [
    '{',
    '[]',
    'null',
    { ...decision, id: 1.5 },
    { kind: 'retry', ids: ['1'] },
    { kind: 'discard' },
    { kind: 'confirm', table: 'Note', shown: 'what is held' },
  ]) {
    expect((await post(keyOf(daemon), broken)).status).toBe(400);
  }
  expect(open(daemon)).toEqual(TROUBLED);
  expect(JSON.parse((await post(keyOf(daemon), decision)).body)).toEqual({
    kind: 'done',
    words: 'Resolved conflict 1: Note row 1, Title, the version of the origin: "theirs"',
    rowCount: 1,
    decided: [{ table: 'Note', rowId: 1, column: 'Title', value: 'theirs', conflict: 1, state: null }],
  });
});

test('a key that could be guessed is refused', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  writeFileSync(join(daemon.folder, 'replica.db.page-key'), 'secret\n');

  daemon.reload('http: { listen: "localhost:0" }\n');
  await daemon.elapse(1);

  expect(daemon.events('config.refused')).toMatchObject([{ code: 'replica.path' }]);
});
