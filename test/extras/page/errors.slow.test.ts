/**
 * What goes wrong keeps the bar at the top and what was typed.
 */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Actions, DocumentRequest, Reply } from '../../../src/extras/http/actions.ts';
import { answerSignedIn } from '../../../src/extras/http/signed-in-pages.ts';
import { answerPage } from '../../../src/extras/page/routes.ts';
import { ChildFailure } from '../../../src/extras/shared/child-pool.ts';
import { startDaemon } from '../../support/daemon.ts';
import { ask } from '../../support/http.ts';
import { decisionFields, PAGE_YAML, postOf, signIn, startTroubled } from '../../support/page.ts';
import { requestOf } from '../../support/page-request.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

const NAVIGATION = '<nav aria-label="Pages">';

test('a wrong key shows the form again, with the address that was asked for and without the key', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  const { port } = await signIn(daemon);

  const wrong = postOf({ key: 'a-guess', next: '/browse/Note?Title=x' }, port);
  const { status, body } = await ask({ port }, '/sign-in', wrong);

  expect(status).toBe(403);
  expect(body).toContain('<p class="problem" role="alert">Wrong key</p>');
  expect(body).toContain('name="next" value="/browse/Note?Title=x"');
  expect(body).toContain('name="key"');
  expect(body).not.toContain('a-guess');
});

test('a page that is not there, and a form that cannot be taken, keep the navigation', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  const { port, cookie, token } = await signIn(daemon);
  const get = (path: string): ReturnType<typeof ask> =>
    ask({ port }, path, { headers: { Cookie: cookie, Accept: 'text/html' } });

  for (const path of ['/browse/Nix', '/browse/Note/999', '/ask/x', '/nonsense', '/file/7']) {
    const { status, body } = await get(path);
    expect([path, status]).toEqual([path, 404]);
    expect(body).toContain(NAVIGATION);
    expect(body).toContain('Database <bdi>');
  }
  const form = postOf({ token, kind: 'discard' }, port, { Cookie: cookie });
  const refused = await ask({ port }, '/decide', form);
  expect([refused.status, refused.body.includes(NAVIGATION)]).toEqual([400, true]);
  expect((await ask({ port }, '/nonsense', { headers: { Accept: 'text/html' } })).body).toMatch(
    /^not found; this server has/,
  );
});

test('a question that takes too long comes back as it was typed, with the names of tables, and is not asked again', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, PAGE_YAML.replace('push: true', 'push: true, history: true'));
  await daemon.idle();
  const query = new URLSearchParams({ sql: 'SELECT "<b>"', at: '2026-05-01T08:00', fresh: '' }).toString();
  const asked: DocumentRequest[] = [];
  const document = (request: DocumentRequest): Promise<Reply> => {
    asked.push(request);
    if (request.refused === undefined) return Promise.reject(new ChildFailure('late'));
    const page = requestOf(join(daemon.folder, 'replica.db'), '/ask', query);
    const { chunks, ...reply } = answerPage({ ...page, refused: request.refused });
    return Promise.resolve({ ...reply, body: [...chunks].join('') });
  };
  const actions = { document, auth: () => ({ formToken: () => 'token' }), database: () => null };

  const { status, body } = await answerSignedIn(
    new EventEmitter() as ServerResponse, // only its end is waited for
    { path: '/ask', query },
    actions as unknown as Actions, // what a page needs of them
  );

  expect(asked).toHaveLength(2);
  expect(status).toBe(503);
  expect(body).toContain(NAVIGATION);
  expect(body).toMatch(/<summary><bdi>Note<\/bdi>/);
  expect(body).toContain('SELECT &quot;&lt;b&gt;&quot;</textarea>');
  expect(body).toContain('value="2026-05-01T08:00"');
  expect(body).toContain('It took longer than 15 seconds and was stopped');
});

test('another value of a conflict that its column does not take comes back with the conflict and what was typed', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);
  const value = 'far too long for <twenty> characters';
  const fields = { token: person.token, ...decisionFields(person, { take: 'value', value }) };

  const form = postOf(fields, person.port, { Cookie: person.cookie });
  const answer = await ask({ port: person.port }, '/decide', form);

  expect(answer.status).toBe(409);
  expect(answer.body).toMatch(
    /role="alert">\s*Nothing was changed: &quot;Title&quot; of Note takes at most 20 characters/,
  );
  expect(answer.body).toContain('1 conflict to decide');
  expect(answer.body).toMatch(/<details open>\s*<summary>Another value/);
  expect(answer.body).toContain('far too long for &lt;twenty&gt; characters</textarea>');
  expect(answer.body).toContain('data-live="0"');
  expect(daemon.rows('SELECT state FROM sync_conflicts')).toEqual([{ state: 'open' }]);
});

test('every field that cannot be saved is marked, with its reason, also in a new row', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);
  const form = await ask({ port: person.port }, '/edit/Note/3', { headers: { Cookie: person.cookie } });
  const was = (column: string): string => new RegExp(`name="w:${column}" value="([^"]+)"`).exec(form.body)?.[1] ?? '';
  const typed = { 'v:Title': '', 'v:Count': 'many', 'v:Due': 'soon', 'v:Seen': 'noon', 'v:Body': 'good' };
  const seen = Object.fromEntries(
    ['Title', 'Count', 'Due', 'Seen', 'Body'].map((column) => [`w:${column}`, was(column)]),
  );

  const post = (fields: Record<string, string>): ReturnType<typeof ask> =>
    ask(
      { port: person.port },
      '/edit',
      postOf({ token: person.token, ...fields }, person.port, { Cookie: person.cookie }),
    );

  const changed = await post({ kind: 'update', table: 'Note', row: '3', ...typed, ...seen });
  const added = await post({ kind: 'insert', table: 'Note', ...typed });

  for (const { status, body } of [changed, added]) {
    expect(status).toBe(409);
    expect(body.match(/aria-invalid="true"\s+aria-describedby="field-\d+-why"/g)).toHaveLength(4);
    expect(
      [...body.matchAll(/id="field-\d+-why">&quot;(\w+)&quot; of Note (\w+)/g)].map(([, ...words]) => words),
    ).toEqual([
      ['Title', 'must'],
      ['Count', 'takes'],
      ['Due', 'takes'],
      ['Seen', 'takes'],
    ]);
    expect(body).toContain('“Title”, “Count”, “Due”, “Seen” cannot be saved like this; the reason is beside each');
    // Who fills in a form writes no SQL.
    expect(body).toContain('takes an instant in UTC such as 2026-11-21T17:05:00Z</small>');
    expect(body).toContain('<bdi>Seen</bdi> <small>in UTC, or with an offset such as +02:00</small>');
    expect(body).toContain('>\ngood</textarea>');
  }
});

test('the page of a table calls rows to push only those that a push sends', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const person = await signIn(daemon);
  const about = async (): Promise<string> =>
    (await ask({ port: person.port }, '/browse/Note', { headers: { Cookie: person.cookie } })).body;

  const parked = await about();
  daemon.execute(`UPDATE "Note" SET "Body" = 'mine' WHERE _id = 4`);

  expect(parked).toContain('<a href="/edits/Note">edited rows: 2 parked</a>');
  expect(await about()).toContain('<a href="/edits/Note">edited rows: 1 to push, 2 parked</a>');
});

test('the page of edits counts rows in conflict and refused rows, and says so of each', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox);
  const { port, cookie } = await signIn(daemon);

  const { body } = await ask({ port }, '/edits/Note', { headers: { Cookie: cookie } });

  expect(body).toContain('<h1>1 row in conflict, 1 row refused or in doubt in <bdi>Note</bdi></h1>');
  expect(body).toContain('<b>changed</b>, in conflict');
  expect(body).toContain('<b>changed</b>, refused');
});
