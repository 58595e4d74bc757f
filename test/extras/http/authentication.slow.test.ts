/**
 * Who may send what to the page's server: each path against each proof that is missing or wrong.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestDaemon } from '../../support/daemon.ts';
import { ask, type Asked } from '../../support/http.ts';
import { postOf, signIn, startTroubled, type SignedIn } from '../../support/page.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

let sandbox: TestSandbox;
let daemon: TestDaemon;
let person: SignedIn;
beforeAll(async () => {
  sandbox = await startTestSandbox({ tables: [NOTE] });
  daemon = await startTroubled(sandbox);
  person = await signIn(daemon);
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
});

interface Sent {
  readonly form?: Record<string, string>;
  readonly headers?: Record<string, string>;
}

/** Sends a form, or as a program does if there is none, with a body that no path can carry out. */
function send(path: string, { form, headers = {} }: Sent): Promise<Asked> {
  const { port } = person;
  const posted = postOf(form ?? {}, port, headers);
  if (form !== undefined) return ask({ port }, path, posted);
  const json = { ...posted.headers, 'Content-Type': 'application/json', 'Content-Length': '2', ...headers };
  return ask({ port }, path, { method: 'POST', body: '{}', headers: json });
}

const PATHS = ['/sign-in', '/sign-out', '/decide', '/cycle', '/edit', '/read'] as const;

function bearer(key: string): Record<string, string> {
  return { Authorization: `Bearer ${key}` };
}

/** A form with all proofs that there are, except a header with the key. */
function whole({ cookie, token, key }: SignedIn): Required<Sent> {
  return { form: { token, key }, headers: { Cookie: cookie } };
}

/** The same of a program. */
function program({ cookie, key }: SignedIn): Sent {
  return { headers: { Cookie: cookie, ...bearer(key) } };
}

// The answers of the paths, in their order.
const WRONG_TYPE = 415;
const NO_FORM_HERE = [403, 403, 403, 403, 403, WRONG_TYPE] as const;
const NO_PROGRAM_HERE = [WRONG_TYPE, WRONG_TYPE, 403, 403, WRONG_TYPE, 403] as const;
const WITH_A_HEADER = [403, 403, WRONG_TYPE, WRONG_TYPE, 403, WRONG_TYPE] as const;
const NEVER = [403, 403, 403, 403, 403, 403] as const;

test.each<[string, (one: SignedIn) => Sent, readonly number[]]>([
  ['a form without key, cookie and token', () => ({ form: {} }), NO_FORM_HERE],
  ['a form with a wrong key', () => ({ form: { key: 'guess' } }), NO_FORM_HERE],
  ['a form with an empty key', () => ({ form: { key: '' } }), NO_FORM_HERE],
  [
    'a form with a wrong cookie',
    ({ cookie, token }) => ({ form: { token }, headers: { Cookie: `${cookie}x` } }),
    NO_FORM_HERE,
  ],
  ['a form with the token, and no cookie', ({ token }) => ({ form: { token } }), NO_FORM_HERE],
  ['a form with the cookie, and no token', ({ cookie }) => ({ form: {}, headers: { Cookie: cookie } }), NO_FORM_HERE],
  ['a form with an empty token', ({ cookie }) => ({ form: { token: '' }, headers: { Cookie: cookie } }), NO_FORM_HERE],
  [
    'a form with the key for its token',
    ({ cookie, key }) => ({ form: { token: key }, headers: { Cookie: cookie } }),
    NO_FORM_HERE,
  ],
  ['a form with a wrong key in a header', () => ({ form: {}, headers: bearer('guess') }), WITH_A_HEADER],
  ['a form with the key in a header', ({ key }) => ({ form: {}, headers: bearer(key) }), WITH_A_HEADER],
  ['a program without key', () => ({}), [415, 415, 415, 415, 415, 403]],
  [
    'a program with the cookie for a key',
    ({ cookie }) => ({ headers: { Cookie: cookie } }),
    [415, 415, 415, 415, 415, 403],
  ],
  ['a program with a wrong key', () => ({ headers: bearer('guess') }), NO_PROGRAM_HERE],
  ['a program with an empty key', () => ({ headers: bearer('') }), NO_PROGRAM_HERE],
  [
    'a program with the key in another scheme',
    ({ key }) => ({ headers: { Authorization: `Basic ${key}` } }),
    NO_PROGRAM_HERE,
  ],
  [
    'a program with the token for a key',
    ({ cookie, token }) => ({ headers: { Cookie: cookie, ...bearer(token) } }),
    NO_PROGRAM_HERE,
  ],
  ['a whole form from another origin', (one) => from(whole(one), { Origin: 'https://evil.example' }), NEVER],
  ['a whole form from a page of another site', (one) => from(whole(one), { 'Sec-Fetch-Site': 'cross-site' }), NEVER],
  ['a whole form from another port', (one) => from(whole(one), { 'Sec-Fetch-Site': 'same-site' }), NEVER],
  ['a program with the key, from another origin', (one) => from(program(one), { Origin: 'null' }), NEVER],
  [
    'a program with the key, from a page of another site',
    (one) => from(program(one), { 'Sec-Fetch-Site': 'cross-site' }),
    NEVER,
  ],
])('%s opens no path', async (_what, sentBy, expected) => {
  const before = daemon.rows('SELECT * FROM _rowsync_conflicts, _rowsync_rows');
  const work = daemon.events('work.started').length;

  const answers = [];
  for (const path of PATHS) answers.push(await send(path, sentBy(person)));
  await daemon.idle();

  expect(answers.map(({ status }) => status)).toEqual(expected);
  expect(answers.map(({ headers }) => headers['set-cookie'])).toEqual(PATHS.map(() => undefined));
  expect(daemon.rows('SELECT * FROM _rowsync_conflicts, _rowsync_rows')).toEqual(before);
  expect(daemon.events('work.started')).toHaveLength(work);
});

function from({ form, headers = {} }: Sent, others: Record<string, string>): Sent {
  return { ...(form === undefined ? {} : { form }), headers: { ...headers, ...others } };
}

test('a whole form opens the paths of forms, and a program with the key those of programs', async () => {
  const forms = [];
  for (const path of ['/sign-in', '/decide', '/cycle', '/edit', '/read']) {
    forms.push((await send(path, whole(person))).status);
  }
  const programs = [];
  for (const path of PATHS) programs.push((await send(path, program(person))).status);

  // What was sent is no decision, no edit and no kind of work.
  expect(forms).toEqual([303, 400, 303, expect.any(Number), 415]);
  expect(forms[3]).not.toBe(403);
  expect(programs).toEqual([415, 415, 400, 400, 415, 400]);
});

test('after signing out, the same form opens nothing', async () => {
  const leaving = await signIn(daemon);
  expect((await send('/sign-out', whole(leaving))).status).toBe(303);

  for (const path of ['/sign-out', '/decide', '/cycle', '/edit']) {
    expect((await send(path, whole(leaving))).status).toBe(403);
  }
});

test.each(['/', '/status', '/browse/Note', '/changes', '/nowhere'])(
  'nothing is sent to %s, with any proof',
  async (path) => {
    expect((await send(path, whole(person))).status).toBe(405);
    expect((await send(path, program(person))).status).toBe(405);
  },
);
