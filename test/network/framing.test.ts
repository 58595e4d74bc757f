/** Where an answer ends. Lengths that lie, chunks that break, headers that are none, bytes that nobody asked for. */
import { describe } from 'vitest';

import type { FaultAnswer } from '../support/fault-server.ts';
import { http } from '../support/fault-server.ts';
import { checkCases, ENDINGS, wireCase } from '../support/network.ts';

/** An answer that every method takes: a page, a description, a list, a status, as long as it is whole. */
const SELECT = ['select', 'upsert'] as const;
const ROWS = '[{"@row.id":1,"Title":"a","status":200,"id":1}]';
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

/** The bytes of an answer: these lines of headers, an empty line, this body. */
function raw(headers: string, body = ROWS, ending?: 'end' | 'reset'): FaultAnswer {
  const bytes = Buffer.from(`${HEAD}${headers === '' ? '' : `${headers}\r\n`}\r\n${body}`, 'latin1');
  return ending === undefined ? bytes : { bytes, ending };
}

const ends = (bytes: string | Uint8Array): FaultAnswer => ({
  bytes: typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes,
  ending: 'end',
});
const chunked = (body: string, ending?: 'end' | 'reset'): FaultAnswer =>
  raw('Transfer-Encoding: chunked', body, ending);
const sized = (length: string | number, ending?: 'end' | 'reset'): FaultAnswer =>
  raw(`Content-Length: ${length}`, ROWS, ending);
const CHUNK = `${ROWS.length.toString(16)}\r\n${ROWS}\r\n`;

describe('lengths', () => {
  const calls = SELECT;
  const { truncated, notApi, closed } = ENDINGS;
  checkCases([
    wireCase('too short by one', sized(ROWS.length - 1), truncated, { calls }),
    wireCase('too short by half', sized(ROWS.length >> 1), truncated, { calls }),
    wireCase('too short, and the connection ends', sized(9, 'end'), truncated, { calls }),
    wireCase('zero before a body', sized(0), truncated, { calls }),
    wireCase('too long, and the connection ends', sized(500, 'end'), truncated, { calls }),
    wireCase('too long, and the connection is reset', sized(500, 'reset'), truncated, { calls }),
    wireCase('none, and the connection ends behind the document', raw('', ROWS, 'end'), 'done', { calls }),
    wireCase('none, and the connection ends within it', raw('', ROWS.slice(0, 20), 'end'), truncated, { calls }),
    wireCase('none, and the connection is reset within it', raw('', ROWS.slice(0, 20), 'reset'), truncated, { calls }),
    wireCase('two that differ', raw(`Content-Length: ${ROWS.length}\r\nContent-Length: 3`), truncated, { calls }),
    wireCase('two that agree', raw(`Content-Length: ${ROWS.length}\r\nContent-Length: ${ROWS.length}`), truncated, {
      calls,
    }),
    wireCase('a list', sized(`${ROWS.length}, ${ROWS.length}`), truncated, { calls }),
    wireCase('below zero', sized(-5), notApi, { calls }),
    wireCase('with a plus', sized(`+${ROWS.length}`), notApi, { calls }),
    wireCase('in words', sized('all'), notApi, { calls }),
    wireCase('in hexadecimal', sized(`0x${ROWS.length.toString(16)}`), notApi, { calls }),
    wireCase('empty', sized(''), notApi, { calls }),
    wireCase('beyond every number', sized('99999999999999999999999'), truncated, { calls }),
    wireCase('beyond the bound', sized(9_000_000), ENDINGS.tooLarge, { calls }),
    wireCase('beside chunks', raw(`Content-Length: 5\r\nTransfer-Encoding: chunked`, `${CHUNK}0\r\n\r\n`), truncated, {
      calls,
    }),
    wireCase('of an answer without a message more', ends(`${HEAD}Content-Length: 5\r\n\r\n`), truncated, { calls }),
    wireCase('and no answer at all', ends(''), closed, { calls }),
  ]);
});

describe('chunks', () => {
  const calls = SELECT;
  const { truncated } = ENDINGS;
  const piecewise = ROWS.split('')
    .map((each) => `1\r\n${each}\r\n`)
    .join('');
  checkCases([
    wireCase('whole', chunked(`${CHUNK}0\r\n\r\n`), 'done', { calls }),
    wireCase('of one byte', chunked(`${piecewise}0\r\n\r\n`), 'done', { calls }),
    wireCase('with an extension', chunked(`${ROWS.length.toString(16)};a=b\r\n${ROWS}\r\n0\r\n\r\n`), 'done', {
      calls,
    }),
    wireCase('with fields behind them', chunked(`${CHUNK}0\r\nETag: "late"\r\n\r\n`), 'done', { calls }),
    wireCase('without the last', chunked(CHUNK, 'end'), truncated, { calls }),
    wireCase('cut in the middle of one', chunked(CHUNK.slice(0, 20), 'end'), truncated, { calls }),
    wireCase('cut in the middle of a size', chunked('2', 'end'), truncated, { calls }),
    wireCase('reset in the middle of one', chunked(CHUNK.slice(0, 20), 'reset'), truncated, { calls }),
    wireCase('without a size', chunked(`\r\n${ROWS}\r\n0\r\n\r\n`), truncated, { calls }),
    wireCase('with a size that is none', chunked(`zz\r\n${ROWS}\r\n0\r\n\r\n`), truncated, { calls }),
    wireCase('with a size below zero', chunked(`-5\r\n${ROWS}\r\n0\r\n\r\n`), truncated, { calls }),
    wireCase('with a size beyond every number', chunked(`FFFFFFFFFFFFFFFFF\r\n${ROWS}`), truncated, { calls }),
    wireCase('with a size that is too small', chunked(`5\r\n${ROWS}\r\n0\r\n\r\n`), truncated, { calls }),
    wireCase('with a size that is too large', chunked(`ff\r\n${ROWS}\r\n0\r\n\r\n`, 'end'), truncated, { calls }),
    wireCase('without the line break behind one', chunked(`${CHUNK.slice(0, -2)}0\r\n\r\n`), truncated, { calls }),
    wireCase('with an end in the middle of the document', chunked(`5\r\n[{"@r\r\n0\r\n\r\n`), truncated, { calls }),
    wireCase('in two layers', raw('Transfer-Encoding: chunked, chunked', `${CHUNK}0\r\n\r\n`, 'end'), 'done', {
      calls,
    }),
    wireCase(
      'that say they are compressed, and are not',
      raw('Transfer-Encoding: gzip, chunked', `${CHUNK}0\r\n\r\n`),
      'done',
      { calls },
    ),
    wireCase('named so without being chunks', raw('Transfer-Encoding: chunked', ROWS), truncated, { calls }),
    wireCase('in an encoding that is none', raw('Transfer-Encoding: cow', ROWS, 'end'), 'done', { calls }),
  ]);
});

describe('what is not HTTP', () => {
  const calls = [...SELECT, 'attachment'] as const;
  const { notApi, closed } = ENDINGS;
  checkCases([
    wireCase('the banner of a mail server', ends('220 mail.example.org ESMTP\r\n'), notApi, { calls }),
    wireCase('the banner of a shell', ends('SSH-2.0-OpenSSH_9.9\r\n'), notApi, { calls }),
    wireCase('a document without headers', ends(ROWS), notApi, { calls }),
    wireCase('a page without headers', ends('<html><body>Blocked</body></html>'), notApi, { calls }),
    wireCase('HTTP/2', ends(Buffer.from('000012040000000000000300000064', 'hex')), notApi, { calls }),
    wireCase('an alert of TLS', ends(Buffer.from('15030300020228', 'hex')), notApi, { calls }),
    wireCase('zeros', ends(Buffer.alloc(4_096)), notApi, { calls }),
    wireCase('another version', ends(`HTTP/3.7 200 OK\r\n\r\n`), notApi, { calls }),
    wireCase('a status of two digits', ends('HTTP/1.1 20 OK\r\n\r\n'), notApi, { calls }),
    wireCase('a status in words', ends('HTTP/1.1 fine\r\n\r\n'), notApi, { calls }),
    wireCase('a header without a colon', ends(`${HEAD}broken\r\n\r\n${ROWS}`), notApi, { calls }),
    wireCase('a header with a NUL', ends(`${HEAD}X-A: a\u0000b\r\n\r\n${ROWS}`), notApi, { calls }),
    wireCase('a header with a space in its name', ends(`${HEAD}X A: b\r\n\r\n${ROWS}`), notApi, { calls }),
    wireCase('a bare line feed', ends(`${HEAD}X-A: b\r\n\n${ROWS}`.replaceAll('\r\n', '\n')), notApi, { calls }),
    wireCase('half a status line', ends('HTTP/1.'), closed, { calls }),
    wireCase('half a header', ends(`${HEAD}Content-Le`), closed, { calls }),
  ]);
});

describe('odd, but whole', () => {
  const calls = SELECT;
  const length = `Content-Length: ${ROWS.length}`;
  checkCases([
    wireCase(
      'no words behind the status',
      Buffer.from(`HTTP/1.1 200\r\n${HEAD.slice(17)}${length}\r\n\r\n${ROWS}`),
      'done',
      { calls },
    ),
    wireCase('HTTP/1.0 that ends', ends(`HTTP/1.0 200 OK\r\n${HEAD.slice(17)}\r\n${ROWS}`), 'done', { calls }),
    wireCase('names in capitals', raw(length.toUpperCase()), 'done', { calls }),
    wireCase('a reset behind the last byte', sized(ROWS.length, 'reset'), 'done', { calls }),
    wireCase(
      'a hundred interim answers',
      Buffer.concat([
        Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(100)),
        Buffer.from(`${HEAD}${length}\r\n\r\n${ROWS}`),
      ]),
      'done',
      { calls },
    ),
  ]);
});

describe('statuses that are not 200', () => {
  const calls = SELECT;
  const { unexpected, failing, closed } = ENDINGS;
  const stays = { ...failing, attempts: 1 };
  const refused = {
    kind: 'originRefused',
    code: 'origin.refused',
    hint: /\.$/,
    attempts: 1,
    change: 'refused',
  } as const;
  const type = { 'Content-Type': 'application/json' };
  checkCases([
    wireCase(
      '101, a switch of protocols',
      ends('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
      closed,
      { calls },
    ),
    wireCase('201 with the document', http(201, type, ROWS), unexpected, { calls }),
    wireCase('202', http(202, type, ROWS), unexpected, { calls }),
    wireCase('203 from a proxy that changed it', http(203, type, ROWS), unexpected, { calls }),
    wireCase('204', http(204, { 'Content-Length': null }), unexpected, { calls }),
    wireCase('206, a part that nobody asked for', http(206, type, ROWS), unexpected, { calls }),
    wireCase('304 to a question without an ETag', http(304, {}), unexpected, {
      calls: ['select', 'upsert', 'attachment'],
    }),
    wireCase('402', http(402, {}), refused, { calls }),
    wireCase('402 with a type that acts on a terminal', http(402, { 'Content-Type': 'a\x9B2J/b' }), refused, { calls }),
    wireCase('402 with a type longer than any', http(402, { 'Content-Type': 'x'.repeat(9_000) }), refused, { calls }),
    wireCase('408', http(408, {}), refused, { calls }),
    wireCase('409', http(409, {}), refused, { calls }),
    wireCase('418', http(418, {}), refused, { calls }),
    wireCase('451', http(451, {}), refused, { calls }),
    wireCase('500', http(500, {}), failing, { calls }),
    wireCase('501', http(501, {}), stays, { calls }),
    wireCase('502 with a page', http(502, { 'Content-Type': 'text/html' }, '<html>Bad gateway</html>'), failing, {
      calls,
    }),
    wireCase('503 with a page', http(503, { 'Content-Type': 'text/html' }, '<html>Sorry</html>'), failing, { calls }),
    wireCase('504', http(504, {}), failing, { calls }),
    wireCase('507', http(507, {}), stays, { calls }),
    wireCase('520, of a network for content', http(520, {}), stays, { calls }),
    wireCase('599', http(599, {}), stays, { calls }),
    wireCase('999', http(999, {}), stays, { calls }),
  ]);
});
