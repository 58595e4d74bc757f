/**
 * What a failed request means: its code, its words, what the operator does next, and whether another attempt may help.
 * Complete answers are in answers.test.ts.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ProxyFault } from '../../src/origin/proxy.ts';
import {
  descriptorText,
  faultFailure,
  outsideWords,
  statusFailure,
  tooMuchFailure,
  unexpectedFailure,
  unknownOutcomeFailure,
  type Attempted,
  type OddAnswer,
} from '../../src/origin/request-errors.ts';
import type { TransportFault } from '../../src/origin/transport.ts';
import { testClock, type TestClock } from '../support/clock.ts';
import { http, json, startFaultServer } from '../support/fault-server.ts';
import { ROWS, selectAt, selectFrom } from '../support/select-page.ts';

/** The secret that no message may show. */
const SECRET = 'hunter2';
const ATTEMPTED: Attempted = {
  what: 'select of "Note"',
  host: 'db.example:443',
  isChange: false,
  scrub: (text) => text.replaceAll(SECRET, '***'),
};
const FAULT: TransportFault = {
  kind: 'fault',
  reason: 'failed',
  cause: null,
  isSent: true,
  isAnswered: false,
  receivedBytes: 0,
};
const PLAIN: OddAnswer = {
  status: 500,
  contentType: undefined,
  location: undefined,
  retryAfterMs: null,
  descriptor: undefined,
  pageText: null,
  isHead: false,
};

test('something that is not HTTP is no answer of the API', async () => {
  const { error, counters } = await selectFrom(Buffer.from('220 mail.example.org ESMTP\r\n'));

  expect(error).toMatchObject({ kind: 'wireFormat', code: 'origin.notApi' });
  expect(error?.message).toMatch(/^select of "Customer": .*not HTTP/);
  expect(counters).toMatchObject({ requestCount: 1, retryCount: 0 });
});

describe('redirects', () => {
  test.each([301, 302, 303, 307, 308])('with %i are never followed: the other server sees nothing', async (status) => {
    await using other = await startFaultServer(() => json(ROWS));
    await using server = await startFaultServer(() => http(status, { Location: `${other.url}/secure/x?token=abc` }));

    const { error, counters } = await selectAt(server.url);

    expect(error).toMatchObject({ kind: 'originRefused', code: 'origin.redirect' });
    expect(error?.message).toContain(`a redirect to ${other.host}`);
    expect(error?.message).not.toContain('abc');
    expect(counters.requestCount).toBe(1);
    expect(other.connectionCount).toBe(0);
  });

  test.each([
    ['the same host', '/login'],
    ['nowhere', null],
    ['what is no URL', 'http://['],
  ])('to %s are errors too', async (_title, location) => {
    const { error } = await selectFrom(http(302, { Location: location }));

    expect(error).toMatchObject({ code: 'origin.redirect' });
    expect(error?.message).toContain('another of its own addresses');
  });
});

describe('no connection', () => {
  test('for want of a descriptor asks for more of them, and does not blame the address', () => {
    const cause = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' });

    const { error, isTransient } = faultFailure(ATTEMPTED, { ...FAULT, cause });

    expect(error).toMatchObject({
      code: 'origin.unreachable',
      hint: expect.stringContaining('LimitNOFILE=') as string,
    });
    expect(isTransient).toBe(true);
  });

  test('a port where nothing listens is tried six times and named', async () => {
    const server = await startFaultServer(() => 'hang');
    await server.stop();

    const { error, counters } = await selectAt(server.url);

    expect(error).toMatchObject({ kind: 'originDown', code: 'origin.unreachable', exitCode: 75 });
    expect(error?.message).toBe(
      `select of "Customer": no connection to ${server.host} (refused: nothing listens there) (after 6 attempts)`,
    );
    expect(error?.hint).toContain(server.host);
    expect(counters.requestCount).toBe(6);
  });

  test('a server that comes back is found again', async () => {
    const first = await startFaultServer(() => json(ROWS));
    const clock = testClock();
    const port = Number(new URL(first.url).port);
    await first.stop();
    let second: Awaited<ReturnType<typeof startFaultServer>> | undefined;
    const waking: TestClock = {
      ...clock,
      sleep: async (ms, signal) => {
        second ??= await startFaultServer(() => json(ROWS), { port });
        await clock.sleep(ms, signal);
      },
    };

    const { error, counters } = await selectAt(first.url, { clock: waking });
    await second?.stop();

    expect(error).toBeUndefined();
    expect(counters.retryCount).toBe(1);
  });

  // The name is reserved for this (RFC 6761): no resolver may know it.
  test('a host name that does not exist is not tried again, and named', async () => {
    const { error } = await selectAt('http://rowsync.invalid', { limits: { connectTimeoutMs: 3_000 } });

    expect(error).toMatchObject({ kind: 'originDown', code: 'origin.unreachable' });
    expect(error?.message).toContain('rowsync.invalid');
  });
});

describe('TLS', () => {
  let folder = '';
  let tls = { key: '', cert: '' };

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'rowsync-tls-'));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...subject], { stdio: 'pipe' });
    tls = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('a certificate that nobody signed is refused before anything is sent, and not tried again', async () => {
    await using server = await startFaultServer(() => json(ROWS), { tls });

    const { error, counters } = await selectAt(server.url);

    expect(error).toMatchObject({ kind: 'originRefused', code: 'origin.tls', exitCode: 1 });
    expect(error?.message).toMatch(/TLS handshake with 127\.0\.0\.1:\d+ failed \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/);
    expect(error?.hint).toContain('origin.caFile');
    expect(counters.requestCount).toBe(1);
    expect(server.requests).toHaveLength(0);
  });

  test('https to a port that speaks http is a failed handshake with a hint at the scheme', async () => {
    await using server = await startFaultServer(() => json(ROWS), { answersAnything: true });

    const { error } = await selectAt(server.url.replace('http:', 'https:'));

    expect(error).toMatchObject({ code: 'origin.tls' });
    expect(error?.hint).toContain('http://');
  });

  test('http to a port that speaks TLS is no answer', async () => {
    await using server = await startFaultServer(() => json(ROWS), { tls });

    const { error } = await selectAt(server.url.replace('https:', 'http:'));

    expect(error?.code).toMatch(/^origin\.(?:notApi|unreachable)$/);
    expect(server.requests).toHaveLength(0);
  });
});

/** An error as Node and undici report it. */
const causeOf = (code: string): Error => Object.assign(new Error(`it says ${SECRET}`), { code });

describe('an exchange without an answer', () => {
  test.each<[string, Partial<TransportFault>, string, boolean]>([
    ['was stopped', { reason: 'stopped' }, 'origin.stopped', false],
    ['was left alone', { reason: 'leftAlone' }, 'origin.busy', false],
    ['took too long', { reason: 'deadline' }, 'origin.timeout', true],
    ['was too large', { reason: 'tooLarge' }, 'origin.tooLarge', false],
    ['had a receiver that failed', { reason: 'receiver', cause: causeOf('ENOSPC') }, 'origin.stopped', false],
    ['could not be read to send it', { reason: 'cutShort', cause: causeOf('ENOENT') }, 'origin.cutShort', false],
    ['had no answer in time', { cause: causeOf('UND_ERR_HEADERS_TIMEOUT') }, 'origin.timeout', true],
    ['had a gap', { cause: causeOf('UND_ERR_BODY_TIMEOUT'), isAnswered: true }, 'origin.timeout', true],
    ['ended with the client', { cause: causeOf('UND_ERR_DESTROYED') }, 'origin.stopped', false],
    ['broke off', { cause: causeOf('ECONNRESET'), isAnswered: true }, 'origin.truncated', true],
    ['had a false length', { cause: causeOf('UND_ERR_RES_CONTENT_LENGTH_MISMATCH') }, 'origin.truncated', true],
    ['had headers without end', { cause: causeOf('UND_ERR_HEADERS_OVERFLOW') }, 'origin.notApi', false],
    ['has an unknown host', { cause: causeOf('ENOTFOUND') }, 'origin.unreachable', false],
    ['met a resolver that is down', { cause: causeOf('EAI_AGAIN') }, 'origin.unreachable', true],
    ['was refused', { cause: causeOf('ECONNREFUSED') }, 'origin.unreachable', true],
    ['has a cause without a code', { cause: new Error('odd') }, 'origin.unreachable', true],
    ['has a certificate that has expired', { cause: causeOf('CERT_HAS_EXPIRED') }, 'origin.tls', false],
  ])('%s', (_what, changes, code, isTransient) => {
    const failure = faultFailure(ATTEMPTED, { ...FAULT, ...changes });

    expect(failure).toMatchObject({ kind: 'failed', isTransient, error: { code } });
    expect(failure.error.message.startsWith('select of "Note": ')).toBe(true);
    expect(failure.error.message).not.toContain(SECRET);
    expect(failure.error.hint).not.toBe('');
  });

  test.each([
    ['of a cause', new Error('no way', { cause: causeOf('ECONNREFUSED') })],
    ['of the first of several addresses', new AggregateError([causeOf('ECONNREFUSED'), causeOf('ENOTFOUND')], 'all')],
  ])('is judged by the code %s', (_which, cause) => {
    expect(faultFailure(ATTEMPTED, { ...FAULT, cause }).error.message).toContain('refused: nothing listens there');
  });

  test.each([
    [407, 'auth', false, 'passwordFile under origin.proxy'],
    [403, 'originDown', false, 'allow CONNECT to db.example:443'],
    [503, 'originDown', true, 'cannot reach db.example:443 now'],
  ] as const)('is no failure of the origin where the proxy answers %i', (status, kind, isTransient, hint) => {
    const failure = faultFailure(ATTEMPTED, { ...FAULT, cause: new ProxyFault('proxy.example:3128', status) });

    expect(failure).toMatchObject({ isTransient, error: { kind, code: 'origin.proxy' } });
    expect(failure.error.message).toContain(`the proxy proxy.example:3128 answered ${status}`);
    expect(failure.error.hint).toContain(hint);
  });

  test('names the proxy that cannot be reached, or whose certificate is not trusted', () => {
    const ofProxy = (code: string) =>
      faultFailure(ATTEMPTED, { ...FAULT, cause: new ProxyFault('proxy.example:3128', null, causeOf(code)) });

    expect(ofProxy('ECONNREFUSED')).toMatchObject({ isTransient: true, error: { code: 'origin.proxy' } });
    expect(ofProxy('ERR_TLS_CERT_ALTNAME_INVALID')).toMatchObject({
      isTransient: false,
      error: { code: 'origin.tls' },
    });
    expect(ofProxy('ERR_TLS_CERT_ALTNAME_INVALID').error.hint).toBe(
      'The certificate is for another name than proxy.example:3128; check origin.proxy.',
    );
  });
});

describe('an answer with an unexpected status', () => {
  const json400 = { error: 400, code: 0, message: 'No such column', source: null };

  test.each<[string, Partial<OddAnswer>, string, string, boolean]>([
    ['204', { status: 204 }, 'wireFormat', 'origin.unexpected', false],
    ['304 that nobody asked for', { status: 304 }, 'wireFormat', 'origin.unexpected', false],
    ['302', { status: 302, location: '/login' }, 'originRefused', 'origin.redirect', false],
    ['401', { status: 401 }, 'auth', 'origin.unauthorized', false],
    ['403 without words', { status: 403 }, 'auth', 'origin.forbidden', false],
    ['403 without words to a HEAD', { status: 403, isHead: true }, 'originRefused', 'origin.forbidden', false],
    ['403 of the login', { status: 403, descriptor: { ...json400, code: 1001 } }, 'auth', 'origin.forbidden', false],
    [
      '403 of a column',
      { status: 403, descriptor: { ...json400, source: 'Salary' } },
      'originRefused',
      'origin.forbidden',
      false,
    ],
    [
      '403 of a right',
      { status: 403, descriptor: { ...json400, code: 2000 } },
      'originRefused',
      'origin.forbidden',
      false,
    ],
    ['404', { status: 404, descriptor: json400 }, 'originRefused', 'origin.refused', false],
    ['404 from a page', { status: 404, contentType: 'text/html' }, 'wireFormat', 'origin.notApi', false],
    ['429', { status: 429 }, 'originDown', 'origin.busy', true],
    ['500', { status: 500 }, 'originDown', 'origin.busy', true],
    ['501', { status: 501 }, 'originDown', 'origin.busy', false],
    ['503 from a page', { status: 503, contentType: 'text/html' }, 'originDown', 'origin.busy', true],
  ])('%s', (_what, changes, kind, code, isTransient) => {
    expect(statusFailure(ATTEMPTED, { ...PLAIN, ...changes })).toMatchObject({ isTransient, error: { kind, code } });
  });

  test('keeps what the origin refused, without a secret', () => {
    const descriptor = { error: 400, code: 7, message: `no ${SECRET}`, source: `at ${SECRET}` };

    const { error } = statusFailure(ATTEMPTED, { ...PLAIN, status: 400, descriptor });

    expect(error.message).toBe('select of "Note": the origin answered 400 (code 7), at "at ***": no ***');
    expect(error.refusal).toEqual({ status: 400, code: 7, words: 'no ***', source: 'at ***' });
  });

  test('keeps the words of a page beside the message', () => {
    const page = { status: 502, contentType: 'text/html; charset=utf-8', pageText: `Bad\n gateway ${SECRET}` };

    const { error } = statusFailure(ATTEMPTED, { ...PLAIN, ...page });

    expect(error.message).toBe('select of "Note": the origin answered 502 with text/html');
    expect(error.refusal).toMatchObject({ status: 502, words: 'Bad gateway ***' });
  });

  test('rounds the wait that is asked for up to seconds', () => {
    const { error } = statusFailure(ATTEMPTED, { ...PLAIN, status: 429, retryAfterMs: 1_001 });

    expect(error.message).toContain('; it asks to wait 2 s');
  });

  test('names the host of a redirect elsewhere, and nothing else of it', () => {
    const location = `https://login.example/?token=${SECRET}`;

    const { error } = statusFailure(ATTEMPTED, { ...PLAIN, status: 302, location });

    expect(error.message).toContain('a redirect to login.example');
    expect(error.message).not.toContain('token');
  });
});

describe('the words of the origin', () => {
  test.each([
    ['a\r\n b\tc', 'a b c'],
    ['\u202Ereversed\u0000', 'reversed'],
    ['x'.repeat(301), `${'x'.repeat(300)}…`],
    [`${'x'.repeat(298)}${SECRET}`, `${'x'.repeat(298)}**…`],
  ])('are one line, cut and scrubbed: %j', (text, expected) => {
    expect(outsideWords(ATTEMPTED.scrub, text)).toBe(expected);
  });

  test('about a change stay out, since they repeat values of rows', () => {
    const descriptor = { error: 400, code: 12, message: 'Anna is taken', source: 'Name' };

    expect(descriptorText({ ...ATTEMPTED, isChange: true }, descriptor)).toBe(' (code 12), at "Name"');
    expect(descriptorText(ATTEMPTED, descriptor)).toBe(' (code 12), at "Name": Anna is taken');
    expect(descriptorText(ATTEMPTED, { ...descriptor, code: 0, source: null })).toBe(': Anna is taken');
  });
});

test('an unknown outcome says what came in place of the answer, once, and keeps it as the cause', () => {
  const failed = faultFailure(ATTEMPTED, { ...FAULT, reason: 'deadline', receivedBytes: 3 });

  const { error, isTransient } = unknownOutcomeFailure(ATTEMPTED, failed);

  expect(isTransient).toBe(false);
  expect(error.message).toBe(
    'select of "Note": the change may or may not have happened: no complete answer from db.example:443 within the time allowed (3 bytes had come)',
  );
  expect(error.cause).toBe(failed.error);
});

test('a request that is too large is refused in the words of the origin before it leaves', () => {
  const refusal = { status: 413, code: null, words: 'the body is too long', source: null };

  expect(tooMuchFailure(ATTEMPTED, refusal).error).toMatchObject({
    code: 'origin.refused',
    message: 'select of "Note": not sent, because the origin would answer 413: the body is too long',
    refusal,
  });
});

test('what a method does not return is quoted without secrets', () => {
  expect(unexpectedFailure(ATTEMPTED, `a list, not ${SECRET}`).error.message).toBe('select of "Note": a list, not ***');
});
