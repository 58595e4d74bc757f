/** On plain sockets: resets at every phase, silence, drips, floods, half-closed connections, answers too many. */
import type { Socket } from 'node:net';

import { describe, expect, test } from 'vitest';

import { silentLogger } from '../../src/base/log.ts';
import { openOrigin, type Origin } from '../../src/origin/client.ts';
import { testClock } from '../support/clock.ts';
import { http, json, startFaultServer, type FaultAnswer } from '../support/fault-server.ts';
import { checkCases, ENDINGS, wireCase } from '../support/network.ts';

const ROWS = [{ '@row.id': 1, Title: 'a', status: 200, id: 1 }];
const BODY = JSON.stringify(ROWS);
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const WHOLE = json(ROWS);
const calls = ['select', 'upsert'] as const;
const { closed, truncated, timeout, notApi } = ENDINGS;
/** One attempt, and no wait that a test would notice. */
const limits = {
  headersTimeoutMs: 150,
  bodyGapTimeoutMs: 150,
  deadlineMs: 400,
  retry: { attemptsMax: 2, baseWaitMs: 1, waitMsMax: 1, totalMs: 60_000 },
};

const reset = (bytes: string | Uint8Array): FaultAnswer => ({ bytes: Buffer.from(bytes), ending: 'reset' });
const hang = (bytes: string | Uint8Array): FaultAnswer => ({ bytes: Buffer.from(bytes), ending: 'hang' });

/** Sends something first and then a piece every few milliseconds, until the other side has had enough. */
function drip(first: string, piece: string | ((nth: number) => string), everyMs = 10): FaultAnswer {
  return (socket) => {
    let nth = 0;
    socket.write(first);
    const timer = setInterval(() => socket.write(typeof piece === 'string' ? piece : piece((nth += 1))), everyMs);
    socket.on('close', () => clearInterval(timer));
  };
}

/** Sends the same as fast as the other side reads. */
function flood(first: string, piece: string): FaultAnswer {
  const block = piece.repeat(Math.ceil(65_536 / piece.length));
  return (socket) => {
    const more = (): void => {
      while (socket.writable && socket.write(block));
    };
    socket.write(first);
    socket.on('drain', more);
    more();
  };
}

describe('resets', () => {
  checkCases([
    wireCase('before a byte', 'reset', closed, { calls }),
    wireCase('in the status line', reset('HTTP/1.1 2'), closed, { calls }),
    wireCase('behind the status line', reset('HTTP/1.1 200 OK\r\n'), closed, { calls }),
    wireCase('in a header', reset(`${HEAD}Content-Le`), closed, { calls }),
    wireCase('behind the headers', reset(`${HEAD}Content-Length: ${BODY.length}\r\n\r\n`), truncated, { calls }),
    wireCase('within the body', reset(WHOLE.subarray(0, -9)), truncated, { calls }),
    wireCase('before the last byte', reset(WHOLE.subarray(0, -1)), truncated, { calls }),
    wireCase('behind the last byte', reset(WHOLE), 'done', { calls }),
    wireCase('behind an interim answer', reset('HTTP/1.1 103 Early Hints\r\n\r\n'), { ...truncated }, { calls }),
  ]);

  test('a read whose first connection is reset is answered by the second', async () => {
    await using server = await startFaultServer((nth) => (nth === 1 ? 'reset' : WHOLE));
    await using origin = open(server.url);

    const answer = await origin.select(PAGE);

    expect(answer).toMatchObject({ kind: 'ok', value: { ids: [1] } });
    expect(server.requests).toHaveLength(2);
  });
});

describe('half of a connection', () => {
  checkCases([
    wireCase('closed before an answer', { bytes: Buffer.alloc(0), ending: 'end' }, closed, { calls }),
    wireCase(
      'closed behind the headers',
      { bytes: Buffer.from(`${HEAD}Content-Length: 9\r\n\r\n`), ending: 'end' },
      truncated,
      { calls },
    ),
    wireCase('closed behind the whole answer', { bytes: WHOLE, ending: 'end' }, 'done', { calls }),
    wireCase(
      'closed behind an answer that says it stays',
      { bytes: json(ROWS, { Connection: 'keep-alive' }), ending: 'end' },
      'done',
      { calls },
    ),
  ]);
});

describe('silence', () => {
  checkCases(
    [
      wireCase('from the start', 'hang', timeout, { calls, limits }),
      wireCase('in the status line', hang('HTTP/1.1 2'), timeout, { calls, limits }),
      wireCase('in a header', hang(`${HEAD}X-A`), timeout, { calls, limits }),
      wireCase('behind an interim answer', hang('HTTP/1.1 103 Early Hints\r\n\r\n'), timeout, { calls, limits }),
      wireCase('behind a go-ahead that was not asked for', hang('HTTP/1.1 100 Continue\r\n\r\n'), closed, {
        calls,
        limits,
      }),
      wireCase('behind the headers', hang(`${HEAD}Content-Length: 9\r\n\r\n`), timeout, { calls, limits }),
      wireCase('within the body', hang(WHOLE.subarray(0, -5)), timeout, { calls, limits }),
      wireCase('within a chunk', hang(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n[{`), timeout, { calls, limits }),
      wireCase('before the last chunk', hang(`${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n`), timeout, {
        calls,
        limits,
      }),
      wireCase('where no length says the end', hang(`${HEAD}\r\n${BODY}`), timeout, { calls, limits }),
    ],
    { together: true },
  );
});

describe('drips, which no gap ends', () => {
  checkCases(
    [
      wireCase('of the status line', drip('HTTP/1.1 200 ', 'O'), timeout, { calls, limits }),
      wireCase('of one header', drip(`${HEAD}X-A: `, 'a'), timeout, { calls, limits }),
      wireCase(
        'of headers',
        drip(HEAD, (nth) => `X-${nth}: a\r\n`),
        timeout,
        { calls, limits },
      ),
      wireCase('of interim answers', drip('', 'HTTP/1.1 103 Early Hints\r\n\r\n'), timeout, { calls, limits }),
      wireCase('of a body with a length', drip(`${HEAD}Content-Length: 100000\r\n\r\n`, ' '), timeout, {
        calls,
        limits,
      }),
      wireCase('of chunks', drip(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'), timeout, {
        calls,
        limits,
      }),
      wireCase('of a size of a chunk', drip(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`, '0'), timeout, {
        calls,
        limits,
      }),
      wireCase('of an extension of a chunk', drip(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1;`, 'a'), timeout, {
        calls,
        limits,
      }),
      wireCase(
        'of fields behind the chunks',
        drip(`${HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\n`, (nth) => `X-${nth}: a\r\n`),
        timeout,
        { calls, limits },
      ),
      wireCase('of a body without a length', drip(`${HEAD}\r\n`, ' '), timeout, { calls, limits }),
      wireCase('of empty lines before an answer', drip('', '\r\n'), timeout, { calls, limits }),
    ],
    { together: true },
  );
});

describe('floods', () => {
  checkCases([
    wireCase('of one header', flood(`${HEAD}X-A: `, 'a'), notApi, { calls, limits }),
    wireCase('of headers', flood(HEAD, 'X-A: a\r\n'), notApi, { calls, limits }),
    wireCase('of cookies', flood(HEAD, 'Set-Cookie: a=b\r\n'), notApi, { calls, limits }),
    wireCase('of the status line', flood('HTTP/1.1 200 ', 'OK '), ENDINGS.timeout, { calls, limits }),
    wireCase('of interim answers', flood('', 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'), ENDINGS.timeout, {
      calls,
      limits,
    }),
    wireCase('of a body without an end', flood(`${HEAD}\r\n`, ' '), ENDINGS.tooLarge, {
      calls,
      limits: { ...limits, wireBytesMax: 1_000_000 },
    }),
    wireCase('of chunks', flood(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'), ENDINGS.tooLarge, {
      calls,
      limits: { ...limits, deadlineMs: 5_000, wireBytesMax: 100_000 },
    }),
    wireCase(
      'of fields behind the chunks',
      flood(`${HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\n`, 'X-A: a\r\n'),
      truncated,
      { calls, limits: { ...limits, deadlineMs: 5_000 } },
    ),
    wireCase('of an extension of a chunk', flood(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1;`, 'a'), timeout, {
      calls,
      limits,
    }),
    wireCase('of what is not HTTP', flood('', 'garbage '), notApi, { calls, limits }),
    wireCase('of headers of 100 kilobytes', json(ROWS, { 'X-A': 'a'.repeat(100_000) }), notApi, { calls, limits }),
    wireCase(
      'of 5,000 headers',
      http(200, Object.fromEntries(Array.from({ length: 5_000 }, (_, nth) => [`X-${nth}`, 'a']))),
      notApi,
      { calls, limits },
    ),
  ]);
});

const PAGE = {
  table: { name: 'Note', alias: 't_7' },
  columns: [{ name: 'Title', type: 'Text' }],
  query: { columns: ['Title'], sort: [] },
} as const;

function open(url: string, concurrency = 1): Origin & AsyncDisposable {
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const settings = { url, database: '1', credentials, concurrency, limits };
  const origin = openOrigin(settings, { clock: testClock(), log: silentLogger });
  return Object.assign(origin, { [Symbol.asyncDispose]: () => origin.close() });
}

describe('bytes that nobody asked for are taken for no answer', () => {
  const stray = json([{ '@row.id': 666, Title: 'stray' }]);
  const later =
    (bytes: Uint8Array) =>
    (socket: Socket): void => {
      socket.write(WHOLE, () => setImmediate(() => socket.write(bytes)));
    };

  test.each<[string, FaultAnswer]>([
    ['a second answer in the same bytes', Buffer.concat([WHOLE, stray])],
    ['half of a second answer', Buffer.concat([WHOLE, stray.subarray(0, 40)])],
    ['a second answer a moment later', later(stray)],
    ['half of a second answer a moment later', later(stray.subarray(0, 40))],
    ['line breaks', Buffer.concat([WHOLE, Buffer.from('\r\n\r\n')])],
    ['a thousand answers', Buffer.concat([WHOLE, ...Array.from({ length: 1_000 }, () => stray)])],
    ['a body longer than its length', json(ROWS, { 'Content-Length': String(BODY.length) })],
    ['an interim answer', Buffer.concat([WHOLE, Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n')])],
    ['an answer of time-out, as servers send on idle connections', later(http(408, { Connection: 'close' }))],
  ])('%s', async (_title, first) => {
    await using server = await startFaultServer((nth) => (nth === 1 ? first : WHOLE));
    await using origin = open(server.url);

    const answers = [];
    for (let nth = 0; nth < 4; nth += 1) answers.push(await origin.select(PAGE));

    expect(answers.map((answer) => answer.kind === 'ok' && answer.value.ids)).toEqual([[1], [1], [1], [1]]);
  });
});
