import { connect } from 'node:net';

import { describe, expect, test } from 'vitest';

import type { TestSandbox } from '../../support/sandbox.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { exchange, post } from '../client.ts';
import { people, startPeople } from '../people.ts';

const JSON_BODY = '[{"Name":"x","Score":1},{"Id":"1","Name":"y"}]';
const XML_BODY = '<rows><r><Name>x</Name><Score>1</Score></r><r id="1"><Name>y</Name></r></rows>';
const MULTIPART_BODY =
  `--b\r\nContent-Type: application/json\r\n\r\n[{"Name":"x","Photo":"cid:f"}]\r\n` +
  `--b\r\nContent-Disposition: attachment;filename*=UTF-8''a.txt\r\nContent-ID: f\r\nContent-Type: text/plain\r\n\r\nabc\r\n--b--`;

function contents(sandbox: TestSandbox): string {
  return JSON.stringify(sandbox.store.rows('Person'));
}

describe('a body that was cut at any byte is answered 400 and changes nothing', () => {
  test.each([
    ['JSON', JSON_BODY, 'application/json'],
    ['XML', XML_BODY, 'text/xml'],
    ['multipart', MULTIPART_BODY, 'multipart/related;boundary=b'],
  ])('%s', async (_format, body, type) => {
    await using sandbox = await startPeople();
    const before = contents(sandbox);
    const wrong: unknown[] = [];

    for (let length = 0; length < body.length; length += 1) {
      const answer = await post(sandbox, 'Person/upsert.json', body.slice(0, length), { type });
      const error = answer.status === 400 ? (JSON.parse(answer.text) as { readonly error: number }).error : 0;
      if (error !== 400) wrong.push([length, answer.status, answer.text]);
    }

    expect(wrong).toEqual([]);
    expect(contents(sandbox)).toBe(before);
    expect((await post(sandbox, 'Person/upsert.json', body, { type })).status).toBe(200);
    expect(contents(sandbox)).not.toBe(before);
  });
});

const part = (headers: string, data: string): string => `--b\r\n${headers}\r\n\r\n${data}\r\n`;
const rowsPart = part('Content-Type: application/json', '[{"Name":"x","Photo":"cid:f"}]');
const filePart = part('Content-Disposition: attachment; filename="a.txt"\r\nContent-ID: <f>', 'abc');
const MULTIPART = 'multipart/related; boundary=b';

test.each<[string, string | Uint8Array, string, number, object]>([
  ['no body', '', 'application/json', 400, { code: 2300 }],
  ['a number', '1', 'application/json', 400, { code: 2300 }],
  ['rows that are no objects', '[[]]', 'application/json', 400, { code: 2300 }],
  ['null for a row', '[null]', 'application/json', 400, { code: 2300 }],
  ['an id that is no number', '[{"@row.id":"a"}]', 'application/json', 400, { source: '@row.id' }],
  ['bytes that are not UTF-8', Buffer.from('[{"Name":"\xff"}]', 'latin1'), 'application/json', 400, { code: 2300 }],
  ['bytes that are not UTF-8', Buffer.from('<a><r><Name>\xff</Name></r></a>', 'latin1'), 'text/xml', 400, {}],
  ['JSON that nests deeply', '['.repeat(100_000), 'application/json', 400, { code: 2300 }],
  ['a cell that nests deeply', `[{"Name":${'['.repeat(5000)}${']'.repeat(5000)}}]`, 'application/json', 400, {}],
  ['XML with entities', '<!DOCTYPE a [<!ENTITY e "x">]><a><r><Name>&e;</Name></r></a>', 'text/xml', 400, {}],
  ['a form', 'Name=x', 'application/x-www-form-urlencoded', 400, { source: 'Content-Type' }],
  ['text', 'x', 'text/plain', 415, { error: 415, source: 'Content-Type' }],
  ['another charset', '[]', 'application/json;charset=iso-8859-1', 415, { error: 415 }],
  ['multipart without a boundary', rowsPart, 'multipart/related', 400, { source: 'Content-Type' }],
  ['another multipart', rowsPart, 'multipart/form-data; boundary=b', 415, {}],
  [
    'a file without a Content-ID',
    `${rowsPart}${part('Content-Disposition: attachment; filename=a', 'x')}--b--`,
    MULTIPART,
    400,
    {},
  ],
  ['two files with one Content-ID', `${rowsPart}${filePart}${filePart}--b--`, MULTIPART, 400, {}],
  ['two parts of rows', `${rowsPart}${rowsPart}--b--`, MULTIPART, 400, {}],
  ['no part of rows', `${filePart}--b--`, MULTIPART, 400, {}],
  // RFC 2046, 5.1.1: lines end with CR LF. A file would otherwise be stored with the next part behind it, or cut at a
  // line of its own.
  ['multipart with LF alone', `${rowsPart}${filePart}--b--`.replaceAll('\r\n', '\n'), MULTIPART, 400, { code: 2300 }],
  [
    'multipart with one boundary behind LF alone',
    `${rowsPart}${filePart.replace('abc\r\n', 'abc\n')}${filePart.replaceAll('f>', 'g>')}--b--`,
    MULTIPART,
    400,
    { code: 2300 },
  ],
])('answers %s with a descriptor and changes nothing', async (_what, body, type, status, error) => {
  await using sandbox = await startPeople();
  const before = contents(sandbox);

  const answer = await post(sandbox, 'Person/upsert.json', body, { type });

  expect(answer.status).toBe(status);
  expect(JSON.parse(answer.text)).toMatchObject({ error: status, ...error });
  expect(answer.text).not.toMatch(/ at |node:/);
  expect(contents(sandbox)).toBe(before);
});

// Specification, sandbox: 4.6-7
test('answers rows without a Content-Type with 400', async () => {
  await using sandbox = await startPeople();

  const answer = await exchange(
    sandbox,
    `POST /secure/api/v2/21995/Person/create.xml HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
      `Authorization: Bearer ${sandbox.token}\r\nContent-Length: 2\r\n\r\n[]`,
  );

  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer).toMatch(/<Error>.*<source>Content-Type<\/source><\/Error>$/);
});

test('answers XML that nests deeper than its bounds with 413, and changes nothing', async () => {
  await using sandbox = await startPeople();
  const before = contents(sandbox);

  const answer = await post(sandbox, 'Person/upsert.json', '<a>'.repeat(100_000), { type: 'text/xml' });

  expect(answer).toMatchObject({ status: 413, text: '' });
  expect(contents(sandbox)).toBe(before);
});

test('counts the last of two equal keys in a JSON row', async () => {
  await using sandbox = await startPeople();

  await post(sandbox, 'Person/update.json', '[{"Id":"1","Score":5,"Score":6}]');

  expect(sandbox.store.rows('Person')[0]?.values).toMatchObject({ Score: 6 });
});

test('takes a row whose names are those of objects for what they are', async () => {
  await using sandbox = await startPeople();

  const answer = await post(sandbox, 'Person/create.json', '[{"__proto__":1,"constructor":2}]');

  expect(JSON.parse(answer.text)).toMatchObject([{ errors: [{ source: '__proto__' }, { source: 'constructor' }] }]);
});

test('answers a compressed body, which it does not take, with 415', async () => {
  await using sandbox = await startPeople();

  const answer = await post(sandbox, 'Person/create.json', '[]', { headers: { 'Content-Encoding': 'gzip' } });

  expect(answer.status).toBe(415);
  expect(JSON.parse(answer.text)).toMatchObject({ source: 'Content-Encoding' });
});

describe('a body above 20 MB', () => {
  const mb30 = Buffer.alloc(30_000_000, ' ');

  test('is answered 413 without a body, to a client that sends all of it', async () => {
    await using sandbox = await startTestSandbox({ tables: [people] });

    expect(await post(sandbox, 'Person/create.json', mb30)).toMatchObject({ status: 413, text: '' });
  });

  test('is answered 413 where its length is not announced', async () => {
    await using sandbox = await startTestSandbox({ tables: [people] });
    const headers = { 'Transfer-Encoding': 'chunked' };

    expect(await post(sandbox, 'Person/create.json', mb30, { headers })).toMatchObject({ status: 413, text: '' });
  });

  test('is answered 413 before it is sent', async () => {
    await using sandbox = await startTestSandbox({ tables: [people] });
    const { hostname, port } = new URL(sandbox.url);

    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(
          `POST /secure/api/v2/21995/Person/create.json HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n` +
            `Authorization: Bearer ${sandbox.token}\r\nContent-Type: application/json\r\nContent-Length: 30000000\r\n\r\n`,
        ),
      );
      socket.on('data', (chunk: Buffer) => {
        resolve(chunk.toString());
        socket.destroy();
      });
      socket.on('error', reject);
    });

    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toMatch(/\r\nConnection: close\r\n/);
  });

  test('does no harm to a sandbox that refuses it for another reason', async () => {
    await using sandbox = await startTestSandbox({ tables: [people] });

    expect(await post(sandbox, 'Person/create.json', mb30, { authorization: null })).toMatchObject({ status: 401 });
    expect(await post(sandbox, 'Person/select.json', mb30)).toMatchObject({ status: 405 });
    expect(await post(sandbox, 'Person/create.json', { Name: 'x' })).toMatchObject({ status: 200 });
  });
});

test('takes a body of just 20 MB', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });
  const body = `[${' '.repeat(20_000_000 - 2)}]`;

  expect(await post(sandbox, 'Person/create.json', body)).toMatchObject({ status: 200, text: '[]' });
});

test('writes nothing for a client that leaves in the middle of a body', async () => {
  await using sandbox = await startTestSandbox({ tables: [people] });
  const { hostname, port } = new URL(sandbox.url);
  const answered = new Promise<void>((resolve) => {
    sandbox.before(1, resolve);
  });

  const socket = connect(Number(port), hostname, () =>
    socket.write(
      `POST /secure/api/v2/21995/Person/create.json HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n` +
        `Authorization: Bearer ${sandbox.token}\r\nContent-Length: 100\r\n\r\n[{"Name":"x"}]`,
    ),
  );
  await answered;
  socket.destroy();

  expect(await post(sandbox, 'Person/update.json', { Id: '1', Name: 'Ada' })).toMatchObject({ status: 200 });
  expect(sandbox.store.count('Person')).toBe(2);
});
