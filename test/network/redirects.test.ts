/** No answer ever sends a request, a token or a row to another address, or to the same host in the clear. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { http, json, startFaultServer, type FaultServer } from '../support/fault-server.ts';
import { CALLS, endingOf, ENDINGS, expectedEnding, type CallName, type Ending } from '../support/network.ts';

const { redirect } = ENDINGS;
/** What servers answer when the work is done and its result stands elsewhere. */
const done: Ending = { ...redirect, change: 'unknown' };

let other: FaultServer;
beforeAll(async () => {
  other = await startFaultServer(() => json([{ '@row.id': 1, Title: 'a', status: 200, id: 1 }]));
});
afterAll(() => other.stop());

const STATUSES: readonly (readonly [number, Ending])[] = [
  [300, done],
  [301, redirect],
  [302, done],
  [303, done],
  [305, done],
  [306, done],
  [307, redirect],
  [308, redirect],
  [399, done],
];

/** Where it points to, as a header. */
const TARGETS: readonly (readonly [string, (here: string) => string | readonly string[] | null])[] = [
  ['another host', () => `${other.url}/secure/api/v2/21995/x.json`],
  ['another host without a scheme', () => `//${other.host}/secure/x`],
  ['another host with a name and password', () => other.url.replace('://', '://a:b@')],
  ['another host behind an at sign', (here) => `http://${here}@${other.host}/`],
  ['two hosts', () => [`${other.url}/a`, `${other.url}/b`]],
  ['another path of the same host', () => '/login'],
  ['a path beside it', () => 'login?next=%2F'],
  ['itself', (here) => `http://${here}/`],
  ['a script', () => 'javascript:alert(1)'],
  ['a file', () => 'file:///etc/passwd'],
  ['a socket', () => 'unix:/run/rowsync.sock'],
  ['what is no URL', () => 'http://['],
  ['ten thousand letters', () => 'x'.repeat(10_000)],
  ['a host of ten thousand letters', () => `http://${'x'.repeat(10_000)}/`],
  ['a host that acts on a terminal', () => 'x://a\x9B2J\x85/'],
  ['nowhere', () => null],
];

const ALL = Object.keys(CALLS) as readonly CallName[];

describe.each(STATUSES)('a redirect with %i', (status, ending) => {
  test.each(TARGETS)('to %s is not followed, whatever was asked', async (_title, target) => {
    const before = other.connectionCount;
    const entries = await Promise.all(
      ALL.map(async (call) => {
        await using server = await startFaultServer((_nth, request) =>
          http(status, { Location: target(request.headers['host'] ?? '') }),
        );
        return [call, `${await endingOf(server.url, call, {}, ending.hint)} x${server.requests.length}`] as const;
      }),
    );

    expect(Object.fromEntries(entries)).toEqual(
      Object.fromEntries(ALL.map((call) => [call, expectedEnding(ending, call, {})])),
    );
    expect(other.connectionCount).toBe(before);
  });
});
