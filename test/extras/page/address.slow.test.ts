/**
 * Addresses on the pages: they lead to the origin where that is configured, carry no secret, and a query that never
 * ends keeps nothing from being answered.
 */
import { expect, test } from 'vitest';
import { startDaemon } from '../../support/daemon.ts';
import { ask, type Asked } from '../../support/http.ts';
import { PAGE_YAML, postOf, signIn, startTroubled, type SignedIn } from '../../support/page.ts';
import { IS_PACKED } from '../../support/program.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

const ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';

function get({ port, cookie }: SignedIn, path: string): Promise<Asked> {
  return ask({ port }, path, { headers: { Host: `127.0.0.1:${port}`, Cookie: cookie } });
}

test('a row leads to its page at the origin where its address is configured', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ ...NOTE, name: 'Note & more' }] });
  const url = 'https://desk.example/db/1/preview.aspx?t={tableId}&name={table}&id={id}';
  await using daemon = startDaemon(sandbox, PAGE_YAML.replace('http: {', `http: { recordUrl: "${url}",`));
  await daemon.idle();
  const person = await signIn(daemon);
  const [{ id } = { id: 0 }] = daemon.rows('SELECT id FROM _rowsync_tables') as { id: number }[];
  daemon.execute(`INSERT INTO "Note & more" ("Title", "Code") VALUES ('here', 'new')`);

  const { body } = await get(person, '/browse/Note%20%26%20more/2');
  const led = await get(person, '/origin/Note%20%26%20more/2');
  const unsent = await get(person, '/browse/Note%20%26%20more/-2');
  const stranger = await get({ ...person, cookie: '' }, '/origin/Note%20%26%20more/2');

  expect(body).toContain('href="/origin/Note%20%26%20more/2"');
  expect([led.status, led.headers.location]).toEqual([
    303,
    `https://desk.example/db/1/preview.aspx?t=${id}&name=Note%20%26%20more&id=2`,
  ]);
  expect(unsent.body).toContain('New row, not at the origin yet');
  expect(unsent.body).not.toContain('Open at the origin');
  expect(stranger.status).toBe(401);
});

test('what is behind a second question mark belongs to the query, as a browser sends it', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ ...NOTE, rows: [{ Title: 'why?' }, { Title: 'why' }] }] });
  await using daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  const person = await signIn(daemon);

  const { body } = await get(person, '/browse/Note?Title=why?');

  expect(body).toContain('1 row of 2');
  expect(body).toContain('href="/browse/Note/1"');
  expect(body).not.toContain('href="/browse/Note/2"');
});

test('without that address no row leads there', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  const person = await signIn(daemon);

  const { body } = await get(person, '/browse/Note/2');
  const led = await get(person, '/origin/Note/2');

  expect(body).not.toContain('Open at the origin');
  expect(led.status).toBe(404);
});

test('no address has the key, the session or the token of the forms in it', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = await startTroubled(sandbox, PAGE_YAML.replace('push: true', 'push: true, history: true'));
  const person = await signIn(daemon);
  const session = person.cookie.split('=')[1] ?? '';
  const secrets = [person.key, session, person.token];
  const seen = new Set<string>();
  const waiting = ['/', '/browse', '/ask', '/work', '/edit/Note/new'];

  // Every page that is led to, once for each kind of address.
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const kind = path.replaceAll(/\d+/g, '0').replace(/\?.*$/, '');
    if (seen.has(kind)) continue;
    seen.add(kind);
    const { body, headers } = await get(person, path);
    const addresses = [...body.matchAll(/(?:href|src|action)="([^"]*)"/g)].map((match) => match[1] ?? '');
    const all = [...addresses, headers.location ?? ''].map((text) => text.replaceAll('&amp;', '&'));
    expect(all.filter((text) => secrets.some((secret) => text.includes(secret)))).toEqual([]);
    const getForms = body.match(/<form method="get"[^]*?<\/form>/g) ?? [];
    expect(getForms.filter((form) => form.includes('name="token"'))).toEqual([]);
    waiting.push(...all.filter((text) => /^\/(?:browse|edit|ask|work)/.test(text)));
  }
  const form = postOf({ token: person.token, work: 'pull' }, person.port, { Cookie: person.cookie });
  const { headers } = await ask({ port: person.port }, '/cycle', form);

  expect(seen.size).toBeGreaterThan(8);
  expect(secrets.every((secret) => secret.length > 15)).toBe(true);
  expect(headers.location).toBe('/work?_said=work');
});

// The dates are those of this process's clock.
test.skipIf(IS_PACKED)('a question with a date in its address is answered as it was then', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, PAGE_YAML.replace('push: true', 'push: true, history: true'));
  await daemon.elapse(20);
  sandbox.store.update('Note', 2, { Title: 'changed since' });
  await daemon.elapse(20);
  const person = await signIn(daemon);
  const query = (at: string): string =>
    new URLSearchParams({ sql: 'SELECT "Title" FROM "Note" WHERE _id = 2', at }).toString();

  const now = await get(person, `/ask?${query('')}`);
  const then = await get(person, `/ask?${query('2026-06-01T12:10:00Z')}`);
  const saved = await get(person, `/export/csv?${query('2026-06-01T12:10:00Z')}`);
  const wrong = await get(person, `/ask?${query('yesterday')}`);

  expect(now.body).toContain('changed since');
  expect([then.status, then.body.includes('changed since')]).toEqual([200, false]);
  expect(saved.body).toBe('Title\ntitle 2\n');
  expect(linksOf(then)).toContain(`/export/csv?${query('2026-06-01T12:10:00Z')}`);
  expect([wrong.status, wrong.body.includes('as a time')]).toEqual([400, true]);
});

function linksOf({ body }: Asked): readonly string[] {
  return [...body.matchAll(/href="([^"]*)"/g)].map((match) => (match[1] ?? '').replaceAll('&amp;', '&'));
}

test('while a query runs that never ends, the daemon answers and works', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  const person = await signIn(daemon);

  const gone = new AbortController();
  const query = new URLSearchParams({ sql: ENDLESS }).toString();
  const running = fetch(`http://127.0.0.1:${person.port}/ask?${query}`, {
    headers: { Cookie: person.cookie },
    signal: gone.signal,
  });
  running.catch(() => undefined); // aborted below
  const alive = await get(person, '/livez');
  const page = await get(person, '/browse/Note/1');
  sandbox.store.update('Note', 2, { Title: 'theirs' });
  await daemon.elapse(15);
  gone.abort();

  expect([alive.status, page.status]).toEqual([200, 200]);
  expect(daemon.rows('SELECT "Title" FROM "Note" WHERE _id = 2')).toEqual([{ Title: 'theirs' }]);
  await expect(running).rejects.toMatchObject({ name: 'AbortError' });
});
