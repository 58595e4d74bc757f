import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import { Faults, readFaultPlan, type FaultRule } from '../../../src/sandbox/server/faults.ts';
import type { SeenRequest } from '../../../src/sandbox/server/requests.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call } from '../client.ts';

const tables: readonly TableSpec[] = [
  { name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }, { Title: 'b' }] },
];

interface Exchange {
  readonly text: string;
  /** What the system said when the connection ended; null for an orderly end. */
  readonly errorCode: string | null;
}

/** Sends one request as bytes, and returns what came back until the connection ended. */
function exchange(
  sandbox: TestSandbox,
  path: string,
  { headers = '', verb = 'GET', body = '' }: { headers?: string; verb?: string; body?: string } = {},
): Promise<Exchange> {
  const { hostname, port } = new URL(sandbox.url);
  const bytes =
    `${verb} /secure/api/v2/${sandbox.database}/${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
    `Authorization: Bearer ${sandbox.token}\r\n${headers}\r\n${body}`;
  return new Promise((resolve) => {
    let text = '';
    let errorCode: string | null = null;
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => (text += chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => (errorCode = error.code ?? error.message));
    socket.on('close', () => resolve({ text, errorCode }));
  });
}

function spoiled(fault: FaultRule, clock = testClock()): Promise<TestSandbox> {
  return startTestSandbox({ tables, clock, faults: { faults: [fault] } });
}

function bodyOf({ text }: Exchange): string {
  return text.slice(text.indexOf('\r\n\r\n') + 4);
}

const CREATE = {
  verb: 'POST',
  headers: 'Content-Type: application/json\r\nContent-Length: 15\r\n',
  body: '[{"Title":"x"}]',
};

describe('on the wire', () => {
  test('delay waits and then answers', async () => {
    const clock = testClock();
    await using sandbox = await spoiled({ fault: 'delay', ms: 1234 }, clock);

    const answer = await exchange(sandbox, 'user.json');

    expect(answer.text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(clock.waits).toEqual([1234]);
  });

  test.each([
    ['tooMany', 429, 7],
    ['unavailable', 503, 0],
  ] as const)('%s answers %i with Retry-After and a descriptor', async (fault, status, retryAfter) => {
    await using sandbox = await spoiled({ fault, retryAfter });

    const answer = await exchange(sandbox, 'Note/select.json');

    expect(answer.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^\\r]+\\r\\n`));
    expect(answer.text).toContain(`\r\nRetry-After: ${retryAfter}\r\n`);
    expect(JSON.parse(bodyOf(answer))).toMatchObject({ error: status, code: 9001 });
  });

  test('failure answers 500, in XML where XML was asked for, and the method does not run', async () => {
    await using sandbox = await spoiled({ fault: 'failure' });

    const answer = await exchange(sandbox, 'Note/create.xml', CREATE);

    expect(answer.text).toMatch(/^HTTP\/1\.1 500 /);
    expect(bodyOf(answer)).toMatch(/<Error><error>500<\/error><code>9001<\/code>/);
    expect(sandbox.store.count('Note')).toBe(2);
  });

  test('resetBefore resets the connection without a byte, and nothing is done', async () => {
    await using sandbox = await spoiled({ fault: 'resetBefore', method: 'create' });

    expect(await exchange(sandbox, 'Note/create.json', CREATE)).toEqual({ text: '', errorCode: 'ECONNRESET' });
    expect(sandbox.store.count('Note')).toBe(2);
  });

  test('resetAfter resets the connection without a byte when the work is done', async () => {
    await using sandbox = await spoiled({ fault: 'resetAfter', method: 'create' });

    expect(await exchange(sandbox, 'Note/create.json', CREATE)).toEqual({ text: '', errorCode: 'ECONNRESET' });
    expect(sandbox.store.count('Note')).toBe(3);
    expect(sandbox.requests.all).toMatchObject([{ method: 'create', status: 0, fault: 'resetAfter' }]);
  });

  test('truncated sends half of the body under its whole length, and an orderly end', async () => {
    await using sandbox = await spoiled({ fault: 'truncated', count: 1 });

    const cutOff = await exchange(sandbox, 'Note/select.json');
    const whole = await exchange(sandbox, 'Note/select.json');

    expect(cutOff.errorCode).toBeNull();
    expect(cutOff.text).toContain(`\r\nContent-Length: ${bodyOf(whole).length}\r\n`);
    expect(bodyOf(cutOff)).toBe(bodyOf(whole).slice(0, Math.floor(bodyOf(whole).length / 2)));
  });

  test('wrongLength announces fewer bytes than it sends, and closes', async () => {
    await using sandbox = await spoiled({ fault: 'wrongLength', bytes: 5 });

    const answer = await exchange(sandbox, 'Note/select.json');

    const body = bodyOf(answer);
    expect(JSON.parse(body)).toHaveLength(2);
    expect(answer.text).toContain(`\r\nContent-Length: ${body.length - 5}\r\n`);
    expect(answer.text).toContain('\r\nConnection: close\r\n');
  });

  test('html answers 200 with a page', async () => {
    await using sandbox = await spoiled({ fault: 'html' });

    const answer = await exchange(sandbox, 'Note/select.json');

    expect(answer.text).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:Date: [^\r]*\r\n)?Content-Type: text\/html/);
    expect(bodyOf(answer)).toMatch(/<!DOCTYPE html>/);
  });

  test('notModified answers 304 to a conditional request although the content changed, and to no other', async () => {
    await using sandbox = await spoiled({ fault: 'notModified' });
    const first = await call(sandbox, 'Note/select.json');
    sandbox.store.update('Note', 1, { Title: 'new' });

    const headers = `If-None-Match: ${first.headers['etag']}\r\n`;
    const answer = await exchange(sandbox, 'Note/select.json', { headers });

    expect(first.status).toBe(200);
    expect(answer.text).toMatch(/^HTTP\/1\.1 304 /);
    expect(answer.text).toContain(`\r\nETag: ${first.headers['etag']}\r\n`);
    expect(bodyOf(answer)).toBe('');
  });

  test('staleEtag sends the content that changed under the ETag that the client had', async () => {
    await using sandbox = await spoiled({ fault: 'staleEtag' });
    const first = await call(sandbox, 'Note/select.json');
    const headers = `If-None-Match: ${first.headers['etag']}\r\n`;

    expect((await exchange(sandbox, 'Note/select.json', { headers })).text).toMatch(/^HTTP\/1\.1 304 /);
    sandbox.store.update('Note', 1, { Title: 'new' });
    const answer = await exchange(sandbox, 'Note/select.json', { headers });

    expect(answer.text).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer.text.match(/\r\nETag: [^\r]+/g)).toEqual([`\r\nETag: ${first.headers['etag']}`]);
    expect(bodyOf(answer)).toContain('"Title":"new"');
  });

  test('drip sends the body in pieces, with a wait between two', async () => {
    const clock = testClock();
    await using sandbox = await spoiled({ fault: 'drip', bytes: 100, ms: 9, method: 'select' }, clock);

    const answer = await exchange(sandbox, 'Note/select.json');

    const pieceCount = Math.ceil(bodyOf(answer).length / 100);
    expect(JSON.parse(bodyOf(answer))).toHaveLength(2);
    expect(pieceCount).toBeGreaterThan(2);
    expect(clock.waits).toEqual(Array.from({ length: pieceCount - 1 }, () => 9));
  });

  test('gzipBomb sends JSON that grows a thousand times', async () => {
    await using sandbox = await spoiled({ fault: 'gzipBomb', megabytes: 20 });

    const { body, headers } = await call(sandbox, 'Note/select.json');

    expect(headers).toMatchObject({ 'content-encoding': 'gzip', 'content-type': 'application/json;charset=utf-8' });
    const unpacked = gunzipSync(body);
    expect(unpacked.length).toBe(20 * 1024 * 1024 + 2);
    expect(body.length).toBeLessThan(unpacked.length / 500);
    expect(JSON.parse(unpacked.toString('latin1'))).toEqual([]);
  });

  test('gzipBomb ends when the client leaves', async () => {
    await using sandbox = await spoiled({ fault: 'gzipBomb', megabytes: 100_000, count: 1 });
    const { hostname, port } = new URL(sandbox.url);

    await new Promise<void>((resolve) => {
      const sent = httpRequest({ hostname, port, path: '/secure/api/v2/1/user.json' }, (response) => {
        response.once('data', () => {
          sent.destroy();
          resolve();
        });
      });
      sent.on('error', () => undefined);
      sent.end();
    });

    await expect.poll(() => sandbox.requests.count({ status: 200 })).toBe(1);
    expect(await call(sandbox, 'user.json')).toMatchObject({ status: 200 });
  });

  test('a connection that was spoiled in place of a method serves the next request', async () => {
    await using sandbox = await spoiled({ fault: 'unavailable', method: 'create' });
    const { hostname, port } = new URL(sandbox.url);
    const root = `/secure/api/v2/${sandbox.database}`;
    const common = `Host: x\r\nAuthorization: Bearer ${sandbox.token}\r\n`;

    const text = await new Promise<string>((resolve) => {
      let received = '';
      const socket = connect(Number(port), hostname, () => {
        socket.write(`POST ${root}/Note/create.json HTTP/1.1\r\n${common}${CREATE.headers}\r\n${CREATE.body}`);
        socket.write(`GET ${root}/user.json HTTP/1.1\r\n${common}Connection: close\r\n\r\n`);
      });
      socket.on('data', (chunk) => (received += chunk.toString('latin1')));
      socket.on('close', () => resolve(received));
    });

    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 503', 'HTTP/1.1 200']);
  });
});

test('a rule names a table by name or alias, however requests address it', async () => {
  await using sandbox = await startTestSandbox({
    tables,
    faults: { faults: [{ fault: 'unavailable', method: 'select', table: 'note' }] },
  });
  const { alias } = sandbox.store.table('Note');

  const answers = await Promise.all(
    ['Note', alias].map((table) => exchange(sandbox, `${table}/select.json?column=Title`)),
  );

  expect(answers.map(({ text }) => text.slice(0, 12))).toEqual(['HTTP/1.1 503', 'HTTP/1.1 503']);
});

describe('which requests are spoiled', () => {
  const seen = (number: number, method = 'select', table: string | null = 'Note'): SeenRequest => {
    return { number, verb: 'GET', method, table, path: '/' };
  };
  const fired = (rules: readonly FaultRule[], seed: number, requests: readonly SeenRequest[]): readonly string[] => {
    const faults = new Faults({ seed, faults: rules });
    return requests.map((request) => {
      const { fault, delayMs } = faults.next(request, true);
      return (fault?.name ?? '-') + (delayMs > 0 ? `+${delayMs}` : '');
    });
  };
  const many = Array.from({ length: 400 }, (_, index) => seen(index + 1));

  test('is the same for the same seed, and not for another one', () => {
    const rules: readonly FaultRule[] = [
      { fault: 'failure', probability: 0.3 },
      { fault: 'tooMany', probability: 0.2 },
    ];

    expect(fired(rules, 7, many)).toEqual(fired(rules, 7, many));
    expect(fired(rules, 7, many)).not.toEqual(fired(rules, 8, many));
    const count = fired(rules, 7, many).filter((name) => name === 'failure').length;
    expect(count).toBeGreaterThan(80);
    expect(count).toBeLessThan(160);
  });

  test('does not change where a rule is added behind', () => {
    const one: readonly FaultRule[] = [{ fault: 'failure', probability: 0.3 }];

    const alone = fired(one, 7, many);
    const both = fired([...one, { fault: 'tooMany' }], 7, many);

    expect(both.map((name) => (name === 'tooMany' ? '-' : name))).toEqual(alone);
  });

  test('is counted by method and table, in any case', () => {
    const requests = [seen(1), seen(2, 'describe'), seen(3, 'select', 'Other'), seen(4, 'select', 'note'), seen(5)];

    expect(fired([{ fault: 'failure', method: 'SELECT', table: 'NOTE', nth: 2 }], 1, requests)).toEqual([
      '-',
      '-',
      '-',
      'failure',
      '-',
    ]);
    expect(fired([{ fault: 'failure', method: 'select', count: 2 }], 1, requests)).toEqual([
      'failure',
      '-',
      'failure',
      '-',
      '-',
    ]);
    expect(fired([{ fault: 'failure', probability: 0 }], 1, requests)).toEqual(['-', '-', '-', '-', '-']);
  });

  test('is decided by the first rule that fires; delays add up', () => {
    const rules: readonly FaultRule[] = [
      { fault: 'delay', ms: 5 },
      { fault: 'failure', count: 1 },
      { fault: 'html', count: 1 },
      { fault: 'delay', ms: 7 },
    ];

    expect(fired(rules, 1, many.slice(0, 3))).toEqual(['failure+12', 'html+12', '-+12']);
  });
});

describe('a plan', () => {
  test('is refused with all of its problems at once', () => {
    const plan = {
      seed: -1,
      extra: true,
      faults: [
        { fault: 'nonsense' },
        { fault: 'delay', ms: 'x', bytes: 5 },
        { fault: 'drip', probability: 2, nth: 0, count: 1.5, method: 5 },
        'x',
      ],
    };

    expect(readFaultPlan(plan)).toEqual([
      'extra: is not known; seed and faults are',
      'seed: must be a whole number from 0 to 4294967295',
      expect.stringMatching(/^faults\[0\]\.fault: must be one of delay, tooMany, /) as string,
      'faults[1].ms: must be a whole number up to 600000',
      'faults[1].bytes: is not known for delay; fault, method, table, probability, nth, count, ms are',
      'faults[2].probability: must be a number from 0 to 1',
      'faults[2].nth: must be a whole number from 1',
      'faults[2].count: must be a whole number from 1',
      'faults[2].method: must be a name',
      'faults[3]: must be an object',
    ]);
    expect(readFaultPlan(null)).toHaveLength(1);
    expect(readFaultPlan({})).toEqual(['faults: must be a list']);
    expect(readFaultPlan({ faults: Array.from({ length: 1001 }, () => ({ fault: 'html' })) })).toHaveLength(1);
  });

  test('that is wrong keeps a sandbox from starting', async () => {
    await expect(startTestSandbox({ tables, faults: { faults: [{ fault: 'delay', ms: -1 }] } })).rejects.toMatchObject({
      code: 'sandbox.option',
      message: expect.stringContaining('faults[0].ms') as string,
    });
  });
});

describe('the control endpoint', () => {
  async function control(
    sandbox: TestSandbox,
    verb: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = { 'Content-Type': 'application/json' },
  ): Promise<{ status: number; json: Readonly<Record<string, unknown>>; headers: Headers }> {
    const init = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body), headers };
    const response = await fetch(`${sandbox.controlUrl}${path}`, { method: verb, ...init });
    const json = (await response.json()) as Readonly<Record<string, unknown>>;
    return { status: response.status, json, headers: response.headers };
  }

  test('puts faults in force, shows how often they fired, and takes them away', async () => {
    await using sandbox = await startTestSandbox({ tables, controlPort: 0 });
    expect(await call(sandbox, 'user.json')).toMatchObject({ status: 200 });

    const put = await control(sandbox, 'PUT', '/faults', { seed: 3, faults: [{ fault: 'unavailable', nth: 2 }] });
    const statuses = [];
    for (let count = 0; count < 3; count += 1) statuses.push((await call(sandbox, 'user.json')).status);
    const shown = await control(sandbox, 'GET', '/faults');
    await control(sandbox, 'DELETE', '/faults');

    expect(put.status).toBe(200);
    expect(statuses).toEqual([200, 503, 200]);
    expect(shown.json).toEqual({
      seed: 3,
      faults: [{ rule: { fault: 'unavailable', nth: 2 }, matchedCount: 3, firedCount: 1 }],
    });
    expect(shown.headers.get('access-control-allow-origin')).toBeNull();
    expect((await control(sandbox, 'GET', '/faults')).json).toEqual({ seed: 1, faults: [] });
  });

  test('shows the requests without tokens, and forgets them', async () => {
    await using sandbox = await startTestSandbox({ tables, controlPort: 0 });
    await call(sandbox, `${sandbox.token}/Note/select.json?top=1`, { authorization: null });

    const shown = await control(sandbox, 'GET', '/requests');
    await control(sandbox, 'DELETE', '/requests');

    expect(shown.json).toMatchObject({ seenCount: 1, requests: [{ method: 'select', table: 'Note', status: 200 }] });
    expect(JSON.stringify(shown.json)).not.toContain(sandbox.token);
    expect((await control(sandbox, 'GET', '/requests')).json).toEqual({ seenCount: 1, requests: [] });
  });

  test('renames a table or a column, as a colleague would', async () => {
    await using sandbox = await startTestSandbox({ tables, controlPort: 0 });
    const put = async (body: unknown): Promise<number> => (await control(sandbox, 'PUT', '/names', body)).status;

    const done = [
      await put({ table: 'Note', column: 'Title', to: 'Heading' }),
      await put({ table: 'Note', to: 'Letter' }),
    ];
    const refused = [
      await put({ table: 'Note', to: 'Again' }),
      await put({ table: 'Letter', to: 'Letter' }),
      await put({ table: 'Letter', column: 'Title', to: 'X' }),
      await put({ table: 'Letter' }),
    ];

    expect(done).toEqual([200, 200]);
    expect(refused).toEqual([404, 409, 404, 400]);
    expect((await call(sandbox, 'Letter/select.json?top=1')).text).toContain('"Heading":"a"');
  });

  test.each([
    ['a plan with problems', '/faults', { faults: [{ fault: 'x' }, { fault: 'html', nth: 0 }] }, 400, 2],
    ['a body that is no JSON', '/faults', '{"faults":', 400, 1],
    ['a body that is too long', '/faults', ' '.repeat(1024 * 1024 + 1), 413, 1],
    ['an unknown path', '/nothing', {}, 404, 1],
  ])('refuses %s, and leaves the faults alone', async (_what, path, body, status, problemCount) => {
    await using sandbox = await startTestSandbox({ tables, controlPort: 0, faults: { faults: [{ fault: 'html' }] } });

    const answer = await control(sandbox, 'PUT', path, body);

    expect(answer.status).toBe(status);
    expect(answer.json['problems']).toHaveLength(problemCount);
    expect(sandbox.faults.states).toHaveLength(1);
  });

  test('refuses what a page in a browser could send: other types, and names that lead here', async () => {
    await using sandbox = await startTestSandbox({ tables, controlPort: 0 });
    const plan = { faults: [{ fault: 'html' }] };
    const { port } = new URL(sandbox.controlUrl ?? '');

    const simple = await control(sandbox, 'PUT', '/faults', plan, { 'Content-Type': 'text/plain' });
    const rebound = await new Promise<number>((resolve) => {
      const headers = { Host: 'evil.example' };
      httpRequest({ port, host: '127.0.0.1', path: '/requests', headers }, ({ statusCode }) =>
        resolve(statusCode ?? 0),
      ).end();
    });

    expect(simple.status).toBe(415);
    expect(rebound).toBe(403);
    expect(sandbox.faults.states).toHaveLength(0);
  });

  test('is absent unless asked for', async () => {
    await using sandbox = await startTestSandbox({ tables });

    expect(sandbox.controlUrl).toBeNull();
  });
});
