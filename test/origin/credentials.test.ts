/** How each kind of credentials is sent, which texts are secret then, and what cannot be a secret. */
import { expect, test } from 'vitest';
import { authorizationOf, type Credentials } from '../../src/origin/credentials.ts';

test('a token goes into a header, and is secret', () => {
  expect(authorizationOf({ kind: 'bearer', token: 'abc' })).toEqual({
    headers: ['authorization', 'Bearer abc'],
    pathSuffix: '',
    secrets: ['abc'],
  });
});

test('a token that has to go into the path is in no header', () => {
  expect(authorizationOf({ kind: 'urlToken', token: 'a_b-1' })).toEqual({
    headers: [],
    pathSuffix: '/a_b-1',
    secrets: ['a_b-1'],
  });
});

test('a user and a password are sent as UTF-8; the password is secret, with colons in it, and the user is not', () => {
  const { headers, secrets } = authorizationOf({ kind: 'basic', user: 'zoë', password: 'p:w' });

  expect(headers).toEqual(['authorization', `Basic ${Buffer.from('zoë:p:w').toString('base64')}`]);
  expect(secrets).toEqual(['p:w']);
});

test('a session has a minus in the path, and values of its cookies are secret unless they are ordinary words', () => {
  expect(authorizationOf({ kind: 'session', cookie: 'sid=0123456789; lang=en; t=a=b12345' })).toEqual({
    headers: ['cookie', 'sid=0123456789; lang=en; t=a=b12345'],
    pathSuffix: '/-',
    secrets: ['sid=0123456789; lang=en; t=a=b12345', '0123456789', 'a=b12345'],
  });
});

test.each<[string, Credentials]>([
  ['an empty token', { kind: 'bearer', token: '' }],
  ['a token with a blank', { kind: 'bearer', token: 'canary one' }],
  ['a token with a line break', { kind: 'bearer', token: 'canary\r\nX-A: 1' }],
  ['a token outside of ASCII', { kind: 'bearer', token: 'canaryé' }],
  ['a token in the path that would leave it', { kind: 'urlToken', token: '../canary' }],
  ['a token in the path that means a session', { kind: 'urlToken', token: '-canary' }],
  ['a token in the path with an escape', { kind: 'urlToken', token: 'canary%2F' }],
  ['a user with a colon', { kind: 'basic', user: 'canary:b', password: 'p' }],
  ['a cookie without a name', { kind: 'session', cookie: 'canary' }],
  ['a cookie with a line break', { kind: 'session', cookie: 'a=canary\nX-A: 1' }],
])('refuses %s, and does not repeat it', (_what, credentials) => {
  expect(() => authorizationOf(credentials)).toThrow(expect.objectContaining({ code: 'config.secret' }) as Error);
  expect(() => authorizationOf(credentials)).toThrow(/^(?!.*canary)/s);
});
