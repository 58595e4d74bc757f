/** Answers with status 200 that are none: pages, portals, errors in disguise, documents of another shape, nothing. */
import { gzipSync } from 'node:zlib';

import { describe } from 'vitest';

import { http } from '../support/fault-server.ts';
import { CHANGES, checkCases, ENDINGS, PAGES, READS, wireCase } from '../support/network.ts';

const JSON_TYPE = 'application/json';
const PAGE = '<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in</body></html>';
const ROWS = '[{"@row.id":1,"Title":"a"}]';
const DESCRIBE = ['describeDatabase', 'describeTable', 'user'] as const;

function typed(type: string | readonly string[] | null, body: string | Uint8Array, headers: object = {}): Buffer {
  return http(200, { 'Content-Type': type, ...headers }, body);
}

const json = (body: string): Buffer => typed(JSON_TYPE, body);

describe('pages in place of a document', () => {
  const { notApi } = ENDINGS;
  const portal =
    '<html><head><meta http-equiv="refresh" content="0; url=http://10.0.0.1/login"></head><body></body></html>';
  checkCases([
    wireCase('a page of HTML', typed('text/html', PAGE), notApi),
    wireCase('a page with a character set', typed('text/HTML; charset=iso-8859-1', PAGE), notApi),
    wireCase('a page whose type acts on a terminal', typed('text/html\x9B31m\x85', PAGE), notApi),
    wireCase('a page whose type is longer than any', typed(`text/html${'x'.repeat(9_000)}`, PAGE), notApi),
    wireCase('a page of XHTML', typed('application/xhtml+xml', `<?xml version="1.0"?>${PAGE}`), notApi),
    wireCase('a compressed page', typed('text/html', gzipSync(PAGE), { 'Content-Encoding': 'gzip' }), notApi),
    wireCase('a captive portal with a refresh', typed('text/html', portal, { 'Set-Cookie': 'portal=1' }), notApi),
    wireCase('a portal that goes on by script', typed('text/html', '<script>location="/login"</script>'), notApi),
    wireCase('a page that calls itself JSON', json(PAGE), notApi),
    wireCase('such a page behind blank lines', json(`\r\n\t ${PAGE}`), notApi),
    wireCase('such a page behind a byte order mark', json(`\uFEFF${PAGE}`), notApi),
    wireCase('such a page in capitals', json('<HTML><BODY>Blocked</BODY></HTML>'), notApi),
    wireCase('such a page that begins with a comment', json(`<!-- gateway 7 -->${PAGE}`), notApi),
    wireCase('such a page, compressed', typed(JSON_TYPE, gzipSync(PAGE), { 'Content-Encoding': 'gzip' }), notApi),
    wireCase('a document of XML', typed('text/xml', '<Response><status>200</status></Response>'), notApi),
    wireCase('a word of text', typed('text/plain', 'OK'), notApi),
    wireCase('a script with a call around the rows', typed('text/javascript', `callback(${ROWS})`), notApi),
    wireCase('a picture', typed('image/gif', Buffer.from('GIF89a\u0001\u0000\u0001\u0000;', 'latin1')), notApi),
    wireCase('rows that call themselves text', typed('text/plain; charset=utf-8', ROWS), notApi),
    wireCase('rows that call themselves bytes', typed('application/octet-stream', ROWS), notApi),
    wireCase('rows without a type', typed(null, ROWS), notApi),
    wireCase('rows of two types', typed([JSON_TYPE, 'text/html'], ROWS), notApi),
    wireCase('rows of a list of types', typed('application/json, text/html', ROWS), notApi),
    wireCase('nothing, without a type', typed(null, ''), notApi),
  ]);
});

describe('pages in place of a file', () => {
  const calls = ['attachment'] as const;
  const { notApi } = ENDINGS;
  checkCases([
    wireCase('a page of HTML', typed('text/html', PAGE), notApi, { calls }),
    wireCase('an error in JSON', json('{"error":403,"code":1001,"message":"No"}'), notApi, { calls }),
    wireCase('nothing', typed(null, ''), notApi, { calls }),
    wireCase('a page to look at', typed('text/html', PAGE, { 'Content-Disposition': 'inline' }), notApi, { calls }),
    wireCase(
      'a file in an encoding that was not asked for',
      typed('image/png', gzipSync('x'), { 'X-Revision': '1', 'Content-Encoding': 'gzip' }),
      notApi,
      { calls },
    ),
  ]);
});

describe('what is no document', () => {
  const { truncated } = ENDINGS;
  checkCases([
    wireCase('nothing', json(''), truncated),
    wireCase('blank lines', json(' \r\n\r\n'), truncated),
    wireCase('a byte order mark alone', json('\uFEFF'), truncated),
    wireCase('a call around the rows', json(`callback(${ROWS})`), truncated),
    wireCase('a guard against scripts in front', json(`)]}',\n${ROWS}`), truncated),
    wireCase('two documents', json(`${ROWS}${ROWS}`), truncated),
    wireCase('a document on each line', json('{"@row.id":1}\n{"@row.id":2}\n'), truncated),
    wireCase('a comma behind the last row', json('[{"@row.id":1,"Title":"a"},]'), truncated),
    wireCase('a comment', json(`/* rows */ ${ROWS}`), truncated),
    wireCase('single quotes', json(`[{'@row.id':1,'Title':'a'}]`), truncated),
    wireCase('a number that is none', json('[{"@row.id":NaN,"Title":"a"}]'), truncated),
    wireCase('UTF-16', typed(`${JSON_TYPE}; charset=utf-16`, Buffer.from(ROWS, 'utf16le')), truncated),
    wireCase('ISO 8859-1', typed(JSON_TYPE, Buffer.from('[{"@row.id":1,"Title":"é"}]', 'latin1')), truncated),
    wireCase('a control character in a text', json('[{"@row.id":1,"Title":"a\nb"}]'), truncated),
    wireCase('a megabyte of NUL', typed(JSON_TYPE, Buffer.alloc(1_000_000)), truncated, {
      calls: ['select', 'upsert'],
    }),
  ]);
});

describe('documents of another shape', () => {
  const { unexpected } = ENDINGS;
  checkCases([
    wireCase('an error in a word', json('{"error":"invalid_token"}'), unexpected),
    wireCase('an error with a descriptor', json('{"error":403,"code":1001,"message":"Invalid token"}'), unexpected),
    wireCase('an error that calls itself a problem', typed('application/problem+json', '{"title":"No"}'), unexpected),
    wireCase('an empty object', json('{}'), unexpected),
    wireCase('null', json('null'), unexpected),
    wireCase('true', json('true'), unexpected),
    wireCase('a number', json('42'), unexpected),
    wireCase('a text', json('"login"'), unexpected),
    wireCase('rows in an envelope', json(`{"rows":${ROWS},"total":1}`), unexpected),
    wireCase('an array of null', json('[null]'), unexpected),
    wireCase('an array of numbers', json('[1]'), unexpected),
    wireCase('an array of arrays', json('[[]]'), unexpected),
    wireCase(
      'a hundred thousand arrays in each other',
      json(`${'['.repeat(1e5)}${']'.repeat(1e5)}`),
      ENDINGS.tooCostly,
    ),
    wireCase('rows in place of a description', json(ROWS), unexpected, { calls: DESCRIBE }),
    wireCase('no rows in place of a description', json('[]'), unexpected, { calls: DESCRIBE }),
    wireCase('a description without its parts', json('{"id":1,"name":"x"}'), unexpected, {
      calls: READS.filter((call) => call !== 'user'),
    }),
  ]);
});

describe('rows that cannot be', () => {
  const calls = PAGES;
  const { unexpected } = ENDINGS;
  const row = (id: string): Buffer => json(`[{"@row.id":${id},"Title":"a"}]`);
  checkCases([
    wireCase('without an id', json('[{"Title":"a"}]'), unexpected, { calls }),
    wireCase('with the id null', row('null'), unexpected, { calls }),
    wireCase('with an id that is a text', row('"1"'), unexpected, { calls }),
    wireCase('with a part of an id', row('1.5'), unexpected, { calls }),
    wireCase('with an id beyond what a number holds', row('9007199254740993'), unexpected, { calls }),
    wireCase('with an id beyond every number', row('1e999'), unexpected, { calls }),
    wireCase('with the id 0', row('0'), unexpected, { calls }),
    wireCase('with the id -1, which is that of new rows here', row('-1'), unexpected, { calls }),
    wireCase(
      'with an id that only their prototype has',
      json('[{"__proto__":{"@row.id":1},"Title":"a"}]'),
      unexpected,
      {
        calls,
      },
    ),
    wireCase(
      'with a column that only their prototype has',
      json('[{"@row.id":1,"__proto__":{"Title":"a"}}]'),
      unexpected,
      {
        calls,
      },
    ),
    wireCase('of another table', json('[{"@row.id":1,"Name":"a"}]'), unexpected, { calls }),
    wireCase('that are there twice', json('[{"@row.id":1,"Title":"a"},{"@row.id":1,"Title":"b"}]'), unexpected, {
      calls,
    }),
    wireCase(
      'of which there are more than were asked for',
      json('[{"@row.id":1,"Title":"a"},{"@row.id":2,"Title":"b"},{"@row.id":3,"Title":"c"}]'),
      unexpected,
      { calls },
    ),
    wireCase('that were not asked for by id', json('[{"@row.id":7,"Title":"a"}]'), unexpected, { calls: ['retrieve'] }),
  ]);
});

describe('statuses that cannot be', () => {
  const calls = CHANGES;
  const { unexpected } = ENDINGS;
  checkCases([
    wireCase('none', json('[]'), unexpected, { calls }),
    wireCase('more than rows', json('[{"status":200,"id":1},{"status":200,"id":2}]'), unexpected, { calls }),
    wireCase('without a status', json('[{"id":1}]'), unexpected, { calls }),
    wireCase('with a status in words', json('[{"status":"ok","id":1}]'), unexpected, { calls }),
    wireCase('with a status that is none', json('[{"status":7,"id":1}]'), unexpected, { calls }),
    wireCase('of another row', json('[{"status":200,"id":9}]'), unexpected, { calls: ['update', 'upsert', 'delete'] }),
    wireCase('of a row that has no id', json('[{"status":201,"id":-1}]'), unexpected, { calls: ['create'] }),
  ]);
});
