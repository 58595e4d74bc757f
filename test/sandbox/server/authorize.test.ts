import { expect, test } from 'vitest';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { call, callPath } from '../client.ts';

const TOKEN = '0123456789abcdef0123456789ABCDEF';

const OTHER_TOKEN = 'f'.repeat(32);

const notes: TableSpec = {
  name: 'Note',
  columns: [{ name: 'Title', type: 'Text' }],
  rows: Array.from({ length: 40 }, (_, index) => ({ Title: `a title that is long enough ${index}` })),
};

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

const note: TableSpec = { name: 'Note', columns: [{ name: 'Title', type: 'Text' }] };

const tables: readonly TableSpec[] = [note];

// Specification, sandbox: 5-2
test('accepts a bearer token, in any case', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes], token: TOKEN });

  expect(await call(sandbox, 'user.json', { authorization: `bearer ${TOKEN.toLowerCase()}` })).toMatchObject({
    status: 200,
  });
  expect(await call(sandbox, 'user.json', { authorization: `Bearer ${TOKEN.toUpperCase()}` })).toMatchObject({
    status: 200,
  });
});

// Specification, sandbox: 5-4
test('accepts a user name and a password', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });
  const { email, password } = sandbox.user;

  const answer = await call(sandbox, 'user.json', { authorization: basic(email, password) });

  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toMatchObject({ email });
});

// Specification, sandbox: 5-3
test('accepts a token behind the database id, and keeps it out of the request log', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes], token: TOKEN });
  const root = `/secure/api/v2/${sandbox.database}`;

  const answer = await callPath(sandbox, `${root}/${TOKEN}/Note/select.json?top=1`, { authorization: null });

  expect(answer.status).toBe(200);
  expect(sandbox.requests.all.map(({ path }) => path)).toEqual([`${root}/Note/select.json?top=1`]);
});

test('accepts a header behind a minus sign', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  expect(await call(sandbox, '-/user.json')).toMatchObject({ status: 200 });
  expect(await call(sandbox, '-/user.json', { authorization: null })).toMatchObject({ status: 401 });
});

// Specification, sandbox: 5-1
test('asks for credentials where there are none: 401, a Basic challenge, no body', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  const answer = await call(sandbox, 'Note/select.json', { authorization: null });

  expect(answer.status).toBe(401);
  expect(answer.headers['www-authenticate']).toMatch(/^Basic realm="[^"]+"/);
  expect(answer.headers['content-length']).toBe('0');
  expect(answer.text).toBe('');
});

test.each([
  ['an unknown token', `Bearer ${OTHER_TOKEN}`, 1001],
  ['no token at all', 'Bearer', 1001],
  ['an unknown user', basic('nobody@example.com', 'x'), 1000],
  ['a password without a user', `Basic ${Buffer.from('nothing').toString('base64')}`, 1000],
  ['another scheme', 'Digest username="x"', 1000],
])('refuses %s: 403 with a descriptor', async (_what, authorization, code) => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  const answer = await call(sandbox, 'Note/select.json', { authorization });

  expect(answer.status).toBe(403);
  expect(answer.headers['content-type']).toMatch(/^application\/json(?:;|$)/);
  expect(JSON.parse(answer.text)).toMatchObject({ error: 403, code, message: expect.any(String) as string });
  expect(answer.text).not.toContain(OTHER_TOKEN);
});

test('refuses a wrong password of a known user', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  const answer = await call(sandbox, 'user.json', { authorization: basic(sandbox.user.email, 'wrong') });

  expect(answer.status).toBe(403);
});

test('refuses a user and a password in the path', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes] });

  expect(await call(sandbox, 'user:secret/Note/select.json', { authorization: null })).toMatchObject({ status: 403 });
});

// Specification, sandbox: 5-7
test('refuses good credentials for another database', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes], token: TOKEN });
  const { email, password } = sandbox.user;

  for (const authorization of [`Bearer ${TOKEN}`, basic(email, password)]) {
    const answer = await callPath(sandbox, '/secure/api/v2/4711/user.json', { authorization });
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 1002 });
  }
  expect(await callPath(sandbox, `/secure/api/v2/4711/${TOKEN}/user.json`, { authorization: null })).toMatchObject({
    status: 403,
  });
});

// Specification, sandbox: 5-8
test('refuses a token that was revoked, and only that one', async () => {
  await using sandbox = await startTestSandbox({ tables: [notes], token: TOKEN });
  sandbox.store.addToken(OTHER_TOKEN);

  sandbox.store.revokeToken(TOKEN);

  expect(await call(sandbox, 'user.json', { authorization: `Bearer ${TOKEN}` })).toMatchObject({ status: 403 });
  expect(await call(sandbox, 'user.json', { authorization: `Bearer ${OTHER_TOKEN}` })).toMatchObject({ status: 200 });
});

// Specification, sandbox: 5-5
test('accepts the session cookie behind a minus sign, among other cookies', async () => {
  await using sandbox = await startTestSandbox({ tables });
  const headers = { Cookie: `a=b; ${sandbox.session}; c` };

  const answer = await call(sandbox, '-/user.json', { authorization: null, headers });

  expect(sandbox.session).toMatch(/^rowsync_session=[0-9a-f]{32}$/);
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toMatchObject({ email: sandbox.user.email });
});

test('takes the session cookie for nothing without the minus sign', async () => {
  await using sandbox = await startTestSandbox({ tables });

  const answer = await call(sandbox, 'user.json', { authorization: null, headers: { Cookie: sandbox.session } });

  expect(answer).toMatchObject({ status: 401, text: '' });
});

test.each([
  ['a session that is not ours', { Cookie: `rowsync_session=${OTHER_TOKEN}` }, 403],
  ['an empty session', { Cookie: 'rowsync_session=' }, 403],
  ['cookies of others alone', { Cookie: 'a=b' }, 401],
  ['no cookie', {}, 401],
])('refuses %s behind a minus sign', async (_what, headers, status) => {
  await using sandbox = await startTestSandbox({ tables });

  const answer = await call(sandbox, '-/user.json', { authorization: null, headers });

  expect(answer.status).toBe(status);
  expect(answer.headers['www-authenticate'] === undefined).toBe(status === 403);
});

test('refuses the session for another database', async () => {
  await using sandbox = await startTestSandbox({ tables });

  const answer = await callPath(sandbox, '/secure/api/v2/4711/-/user.json', {
    authorization: null,
    headers: { Cookie: sandbox.session },
  });

  expect(answer.status).toBe(403);
  expect(JSON.parse(answer.text)).toMatchObject({ code: 1002 });
});

test('with tokens alone, refuses users and lets tokens and sessions in', async () => {
  await using sandbox = await startTestSandbox({ tables, login: 'tokens' });
  const session = { authorization: null, headers: { Cookie: sandbox.session } };

  const refused = await call(sandbox, 'user.json', { authorization: basic(sandbox.user.email, sandbox.user.password) });

  expect(refused.status).toBe(403);
  expect(JSON.parse(refused.text)).toMatchObject({ code: 1004 });
  expect(await call(sandbox, 'user.json')).toMatchObject({ status: 200 });
  expect(await call(sandbox, '-/user.json', session)).toMatchObject({ status: 200 });
});

test('where the API is disabled, refuses everybody in the same words', async () => {
  await using sandbox = await startTestSandbox({ tables, login: 'disabled' });

  for (const authorization of [
    null,
    `Bearer ${sandbox.token}`,
    basic(sandbox.user.email, sandbox.user.password),
    `Bearer ${OTHER_TOKEN}`,
  ]) {
    const answer = await call(sandbox, 'user.json', { authorization });
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 1003 });
  }
});

test.each([
  ['a good call', `/secure/api/v2/21995/${TOKEN}/Note/select.json`],
  ['a revoked token', `/secure/api/v2/21995/${OTHER_TOKEN}/Note/select.json`],
  ['nothing behind the token', `/secure/api/v2/21995/${TOKEN}`],
  ['an empty path behind the token', `/secure/api/v2/21995/${TOKEN}/`],
  ['another database', `/secure/api/v2/1/${TOKEN}/Note/select.json`],
  ['an unknown table', `/secure/api/v2/21995/${TOKEN}/Nope/select.json`],
  ['a wrong method', `/secure/api/v2/21995/${TOKEN}/Note/select.html`],
  ['an escaped token', `/secure/api/v2/21995/%30${TOKEN.slice(1)}/Note/select.json`],
  ['an older version of the API', `/secure/api/v1/21995/${TOKEN}/Note/select.json`],
  ['a token in the place of the database', `/secure/api/v2/${TOKEN}/Note/select.json`],
  ['a token as a parameter', `/secure/api/v2/21995/Note/select.json?token=${TOKEN}&top=1`],
  ['something in front of the token', `/secure/api/v2/21995/%20${TOKEN}/Note/select.json`],
  ['a token behind the method', `/secure/api/v2/21995/Note/select.json/${TOKEN}`],
])('keeps a token in the address out of the log and of the answer: %s', async (_what, path) => {
  await using sandbox = await startTestSandbox({ tables, token: TOKEN });

  const answer = await callPath(sandbox, path, { authorization: null });

  const kept = JSON.stringify(sandbox.requests.all) + answer.text + JSON.stringify(answer.headers);
  expect(kept).not.toContain(TOKEN.slice(1));
  expect(kept).not.toContain(OTHER_TOKEN);
  expect(answer.text).not.toContain('<');
});

test.each([
  ['as it is', 'zo%C3%AB@example.org:hunter2/Note/select.json'],
  ['percent-encoded', 'zo%C3%AB%40example.org%3Ahunter2/Note/select.json'],
  ['without a method', 'zo%C3%AB@example.org:hunter2'],
])('refuses a user and password in the address, %s, and keeps neither', async (_what, path) => {
  await using sandbox = await startTestSandbox({ tables });

  const answer = await call(sandbox, path, { authorization: null });

  expect(answer.status).toBe(403);
  expect(JSON.parse(answer.text)).toMatchObject({ code: 1000 });
  const kept = JSON.stringify(sandbox.requests.all) + answer.text + JSON.stringify(answer.headers);
  expect(kept).not.toMatch(/hunter2|zo/);
  expect(sandbox.requests.all[0]?.path).toBe(`/secure/api/v2/21995/***${path.replace(/^[^/]*/, '')}`);
});

test('keeps a password out of the log where the rest of the address is wrong too', async () => {
  await using sandbox = await startTestSandbox({ tables });

  await callPath(sandbox, '/secure/api/v1/21995/zo%C3%AB:hunter2/Note/select.json', { authorization: null });

  expect(sandbox.requests.all[0]?.path).toBe('/secure/api/v1/21995/***/Note/select.json');
});

test('takes the name of a table with a colon for no password', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ ...note, name: 'Phase 2: Build' }] });

  const path = 'Phase%202:%20Build/select.json';

  expect(await call(sandbox, path, { authorization: null })).toMatchObject({ status: 401, text: '' });
  expect(await call(sandbox, path)).toMatchObject({ status: 200, text: '[]' });
  expect(sandbox.requests.find({ table: 'Phase 2: Build' }).map((seen) => seen.path)).toEqual(
    Array.from({ length: 2 }, () => `/secure/api/v2/21995/${path}`),
  );
});
