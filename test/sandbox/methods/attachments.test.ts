import { describe, expect, test } from 'vitest';

import type { StoreColumn } from '../../../src/sandbox/store/catalog.ts';
import type { FileSpec, TableSpec } from '../../../src/sandbox/store/spec.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call, exchange, post, type RawAnswer } from '../client.ts';

function file(name: string, text: string, mediaType = 'text/plain'): FileSpec {
  return { name, mediaType, bytes: Buffer.from(text) };
}

const documents: TableSpec = {
  name: 'Document',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Scan', type: 'Attachment' },
    { name: 'Photo / Big', type: 'Attachment', options: ['AllowSeeRevisionHistory'] },
    { name: 'Logo', type: 'Attachment', options: ['PublicAttachment'] },
  ],
  rows: [
    {
      Title: 'a',
      Scan: file('a;b.txt', 'scan'),
      'Photo / Big': file('één "1".png', 'first', 'image/png'),
      Logo: file('l.svg', '<svg/>'),
    },
    { Title: 'b', Scan: file('other.txt', 'other') },
    { Title: 'c' },
  ],
};
const PHOTO = 'Document/Photo%20%252F%20Big';

/** A sandbox whose first row has a second scan and a second photo, a minute later. */
async function start(): Promise<TestSandbox> {
  const clock = testClock();
  const sandbox = await startTestSandbox({ tables: [documents], clock });
  clock.advance(60_250);
  sandbox.store.update('Document', 1, {
    Scan: file('a2.txt', 'scan 2'),
    'Photo / Big': file('two.png', 'second', 'image/png'),
  });
  return sandbox;
}

function guidOf(sandbox: TestSandbox, column: string, row = 1): string {
  return String(sandbox.store.rows('Document')[row - 1]?.values[column]).slice(-36);
}

function errorOf({ status, text }: RawAnswer): unknown {
  const { code, source } = JSON.parse(text) as { readonly code: number; readonly source?: string };
  return [status, code, source];
}

describe('the list', () => {
  // Specification, sandbox: 2.8-1, 2.8-2, 2.8-3, 2.8-4, 4.8-1, 4.8-5
  // Specification, sandbox: 4.8-3
  test('has the bytes of the specification in JSON', async () => {
    await using sandbox = await start();
    const guid = guidOf(sandbox, 'Photo / Big');

    const answer = await call(sandbox, `${PHOTO}/attachments.json?id=1`);

    expect(answer.text).toBe(
      `[{"name":"two.png","revision":2,"type":"image/png","size":6,"guid":"${guid}",` +
        `"author":"Alice Martin <alice.martin@example.com>","created":"2026-01-01T01:01:00.250+01:00"}]`,
    );
  });

  // Specification, sandbox: 2.8-1, 2.8-2, 2.8-3, 2.8-4, 4.8-6
  test('has the bytes of the specification in XML', async () => {
    await using sandbox = await start();
    const guid = guidOf(sandbox, 'Photo / Big');

    const answer = await call(sandbox, `${PHOTO}/attachments.xml?key=1`);

    expect(answer.text.replace(/^<\?xml [^>]*\?><Response[^>]*>/, '<Response>')).toBe(
      `<Response><attachment><name>two.png</name><revision>2</revision><type>image/png</type><size>6</size><guid>${guid}</guid>` +
        '<author>Alice Martin &lt;alice.martin@example.com&gt;</author><created>2026-01-01T01:01:00.250+01:00</created>' +
        '</attachment></Response>',
    );
  });

  // Specification, sandbox: 4.8-3
  test('shows as many revisions as are asked for, the newest first', async () => {
    await using sandbox = await start();
    const revisions = async (query: string): Promise<readonly number[]> => {
      const answer = await call(sandbox, `${PHOTO}/attachments.json?${query}`);
      return (JSON.parse(answer.text) as { readonly revision: number }[]).map(({ revision }) => revision);
    };

    expect(await revisions('id=1&revisions=1')).toEqual([2]);
    expect(await revisions('id=1&revisions=9')).toEqual([2, 1]);
    expect(await revisions('id=3&revisions=9')).toEqual([]);
  });

  test('can be asked for again by its ETag, until the file changes', async () => {
    await using sandbox = await start();
    const { etag = '', 'cache-control': policy } = (await call(sandbox, 'Document/Scan/attachments.json?id=1')).headers;
    const headers = { 'If-None-Match': etag };

    const same = await call(sandbox, 'Document/Scan/attachments.json?id=1', { headers });
    sandbox.store.update('Document', 1, { Scan: file('a3.txt', 'scan 3') });
    const changed = await call(sandbox, 'Document/Scan/attachments.json?id=1', { headers });

    expect(policy).toBe('private, must-revalidate, max-age=0');
    expect([same.status, changed.status]).toEqual([304, 200]);
  });

  // Specification, sandbox: 4.8-2, 4.8-4
  test.each([
    ['no record', '', [400, 2100, 'key']],
    ['a key and an id', 'id=1&key=1', [400, 2100, 'id']],
    ['two records', 'id=1&id=2', [400, 2100, 'id']],
    ['a record that does not exist', 'id=99', [403, 4000, 'id']],
    ['a key that does not exist', 'key=99', [403, 4000, 'key']],
    ['no revisions', 'id=1&revisions=0', [400, 2100, 'revisions']],
    ['a history that is not to be seen', 'id=1&revisions=2', [403, 4201, 'revisions']],
  ])('is refused for %s', async (_what, query, expected) => {
    await using sandbox = await start();

    expect(errorOf(await call(sandbox, `Document/Scan/attachments.json?${query}`))).toEqual(expected);
  });
});

describe('a file', () => {
  // Specification, sandbox: 4.9-1, 4.9-9, 4.9-10, 4.9-11, 4.9-12, 4.9-13, 4.9-14, 4.9-15
  test('comes with the headers of the specification', async () => {
    await using sandbox = await start();
    const guid = guidOf(sandbox, 'Photo / Big');

    const answer = await call(sandbox, `${PHOTO}/attachment?id=1`);

    expect(answer).toMatchObject({ status: 200, text: 'second' });
    expect(answer.headers).toMatchObject({
      'content-disposition': `attachment; filename="two.png"; filename*=UTF-8''two.png`,
      'x-revision': '2',
      'content-type': 'image/png',
      'content-length': '6',
      'last-modified': 'Thu, 01 Jan 2026 00:01:00 GMT',
      'x-author': 'Alice Martin <alice.martin@example.com>',
      'cache-control': 'private, must-revalidate, max-age=0',
      etag: `"${guid}"`,
    });
    for (const name of ['Content-Disposition', 'X-Revision', 'Content-Type', 'Last-Modified', 'X-Author', 'ETag']) {
      expect(answer.headerNames).toContain(name);
    }
  });

  // Specification, sandbox: 4.9-5, 4.9-10
  test('keeps its name, whatever that is', async () => {
    await using sandbox = await start();

    const answer = await call(sandbox, `${PHOTO}/attachment?id=1&revision=1`);

    expect(answer).toMatchObject({ status: 200, text: 'first' });
    expect(answer.headers['content-disposition']).toBe(
      `attachment; filename="__n _1_.png"; filename*=UTF-8''%C3%A9%C3%A9n%20%221%22.png`,
    );
  });

  // Specification, sandbox: 4.9-5, 4.9-7, 4.9-8
  test('is found by key, revision, guid parameter and guid in the path alike', async () => {
    await using sandbox = await start();
    const guid = guidOf(sandbox, 'Photo / Big');

    const texts = await Promise.all(
      ['?key=1', '?id=1&revision=2', `?id=1&guid=${guid}`, `/${guid}?id=1`, `/${guid.toUpperCase()}?key=1`].map(
        async (rest) => (await call(sandbox, `${PHOTO}/attachment${rest}`)).text,
      ),
    );

    expect(texts).toEqual(['second', 'second', 'second', 'second', 'second']);
  });

  test('is not sent again to a client that has it', async () => {
    await using sandbox = await start();
    const { etag = '' } = (await call(sandbox, 'Document/Scan/attachment?id=1')).headers;
    const headers = { 'If-None-Match': etag };

    const same = await call(sandbox, 'Document/Scan/attachment?id=1', { headers });
    sandbox.store.update('Document', 1, { Scan: file('a3.txt', 'scan 3') });
    const changed = await call(sandbox, 'Document/Scan/attachment?id=1', { headers });

    expect(same).toMatchObject({ status: 304, text: '', headers: { etag } });
    expect(changed).toMatchObject({ status: 200, text: 'scan 3' });
  });

  // Specification, sandbox: 4.9-2, 4.9-16
  test('shows its headers alone to HEAD, which is never kept', async () => {
    await using sandbox = await start();
    const guid = guidOf(sandbox, 'Scan');

    const answer = await call(sandbox, `Document/Scan/attachment/${guid}?id=1`, {
      verb: 'HEAD',
      headers: { 'If-None-Match': `"${guid}"` },
    });

    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(answer.headers).toMatchObject({ 'content-length': '6', 'x-revision': '2', 'cache-control': 'no-cache' });
    expect(answer.headers['etag']).toBeUndefined();
  });

  // Specification, sandbox: 4.9-4
  test('of a public column needs no record beside its guid', async () => {
    await using sandbox = await start();
    const guid = guidOf(sandbox, 'Logo');

    expect(await call(sandbox, `Document/Logo/attachment/${guid}`)).toMatchObject({ status: 200, text: '<svg/>' });
    expect(await call(sandbox, `Document/Logo/attachment?guid=${guid}`, { authorization: null })).toMatchObject({
      status: 401,
    });
    sandbox.store.delete('Document', 1);
    expect(errorOf(await call(sandbox, `Document/Logo/attachment/${guid}`))).toEqual([404, 4202, 'guid']);
  });

  // Specification, sandbox: 4-3, 4.9-3, 4.9-6
  test.each([
    ['no record', 'Document/Scan/attachment', [400, 2100, 'key']],
    ['a guid without a record', 'Document/Scan/attachment?guid=CURRENT', [400, 2100, 'key']],
    ['a public column without record and guid', 'Document/Logo/attachment', [400, 2100, 'key']],
    ['a key and an id', 'Document/Scan/attachment?id=1&key=1', [400, 2100, 'id']],
    ['a record that does not exist', 'Document/Scan/attachment?id=99', [403, 4000, 'id']],
    ['an empty cell', 'Document/Scan/attachment?id=3', [404, 4202, 'Scan']],
    ['a revision of a column without history', 'Document/Scan/attachment?id=1&revision=2', [403, 4201, 'revision']],
    ['an old guid of a column without history', 'Document/Scan/attachment?id=1&guid=OLD', [403, 4201, 'guid']],
    ['a revision that does not exist', `${PHOTO}/attachment?id=1&revision=3`, [404, 4202, 'revision']],
    ['a guid of another row', 'Document/Scan/attachment?id=2&guid=CURRENT', [404, 4202, 'guid']],
    ['a guid of another column', `${PHOTO}/attachment/CURRENT?id=1`, [404, 4202, 'guid']],
    ['a guid that is none', 'Document/Logo/attachment/..%2F..%2Fx', [404, 4202, 'guid']],
    ['two guids', 'Document/Scan/attachment/CURRENT?id=1&guid=x', [400, 2100, 'guid']],
    ['a guid and a revision', `${PHOTO}/attachment?id=1&guid=x&revision=1`, [400, 2100, 'revision']],
    ['a column that holds no files', 'Document/Title/attachment?id=1', [400, 4200, 'Title']],
    ['a column that does not exist', 'Document/Nope/attachment?id=1', [400, 3100, 'Nope']],
    ['a table that does not exist', 'Nope/Scan/attachment?id=1', [403, 3000, 'Nope']],
    ['an extension', 'Document/Scan/attachment.xml?id=1', [405, 2000, 'attachment.xml']],
    ['a list without an extension', 'Document/Scan/attachments?id=1', [405, 2000, 'attachments']],
  ])('is refused for %s', async (_what, path, expected) => {
    await using sandbox = await start();
    const current = guidOf(sandbox, 'Scan');
    const [, old] = sandbox.store.fileRevisions(columnNamed(sandbox, 'Scan'), 1);

    const answer = await call(sandbox, path.replace('CURRENT', current).replace('OLD', old?.guid ?? ''));

    expect(errorOf(answer)).toEqual(expected);
    expect(answer.headers['content-type']).toBe('application/json;charset=utf-8');
  });

  test('of a column that the role may not see is refused', async () => {
    await using sandbox = await start();
    const hiddenColumns = [['Document', 'Scan']] as const;
    sandbox.store.setRole({ name: 'Half', canWrite: true, hiddenTables: [], hiddenColumns });
    sandbox.store.changeUser({ role: 'Half' });

    expect(errorOf(await call(sandbox, 'Document/Scan/attachment?id=1'))).toEqual([403, 3101, 'Scan']);
    expect(errorOf(await call(sandbox, 'Document/Scan/attachments.json?id=1'))).toEqual([403, 3101, 'Scan']);
  });

  // Specification, sandbox: 9-2
  test.each(['POST', 'PUT', 'DELETE'])('is not taken by %s', async (verb) => {
    await using sandbox = await start();

    expect(await call(sandbox, 'Document/Scan/attachment?id=1', { verb })).toMatchObject({ status: 405 });
  });

  test('names its author in UTF-8, and a type that is none as bytes', async () => {
    await using sandbox = await start();
    sandbox.store.changeUser({ firstName: 'Łukasz\r\nX-Evil:', lastName: '王' });
    sandbox.store.update('Document', 1, { Scan: file('x', 'y', 'text/ł') });

    const answer = await exchange(
      sandbox,
      `HEAD /secure/api/v2/21995/Document/Scan/attachment?id=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
        `Authorization: Bearer ${sandbox.token}\r\n\r\n`,
    );

    expect(answer).toContain('\r\nX-Author: Łukasz  X-Evil: 王 <alice.martin@example.com>\r\n');
    expect(answer).toContain('\r\nContent-Type: application/octet-stream\r\n');
  });
});

function columnNamed(sandbox: TestSandbox, name: string): StoreColumn {
  const [column] = sandbox.store.table('Document').columns.filter((candidate) => candidate.name === name);
  if (column === undefined) throw new Error(`there is no column ${name}`);
  return column;
}

describe('files that come with rows', () => {
  /** As the vendor's own client writes it: no quotes, no plain file name, a bare id, no line break at the end. */
  const body = (rows: string, ...ids: readonly string[]): string =>
    [
      ...ids.map(
        (id) =>
          `--part-1f.2\r\nContent-Disposition: attachment;filename*=UTF-8''%C3%A9%20${id}.txt\r\nContent-ID: ${id}\r\n` +
          `Content-Type: text/plain\r\n\r\nbytes of ${id}\r\n`,
      ),
      `--part-1f.2\r\nContent-Type: application/json;charset=utf-8\r\n\r\n${rows}\r\n`,
      '--part-1f.2--',
    ].join('');
  const send = async (sandbox: TestSandbox, rows: unknown, ...ids: readonly string[]): Promise<unknown> => {
    const type = 'multipart/related;boundary=part-1f.2';
    const answer = await post(sandbox, 'Document/upsert.json', body(JSON.stringify(rows), ...ids), { type });
    return JSON.parse(answer.text);
  };

  // Specification, sandbox: 2.4-23, 4.6-9, 4.6-33, 4.6-34, 4.6-35, 4.6-36, 4.6-37, 4.6-38, 4.6-39, 4.6-40, 9-2
  test('are stored as new revisions, for several rows at once', async () => {
    await using sandbox = await start();

    const result = await send(
      sandbox,
      [
        { Title: 'new', Scan: 'cid:f1', Logo: 'cid:f2' },
        { Id: '1', Scan: 'cid:f1' },
      ],
      'f1',
      'f2',
      'unused',
    );

    expect(result).toEqual([
      { status: 201, id: 4, key: '4' },
      { status: 200, id: 1, key: '1' },
    ]);
    expect(sandbox.store.rows('Document')[3]?.values).toMatchObject({
      Scan: expect.stringMatching(/^é f1\.txt;1;[0-9a-f-]{36}$/) as unknown,
      Logo: expect.stringMatching(/^é f2\.txt;1;[0-9a-f-]{36}$/) as unknown,
    });
    expect(await call(sandbox, 'Document/Scan/attachment?id=1')).toMatchObject({
      text: 'bytes of f1',
      headers: { 'x-revision': '3', 'content-type': 'text/plain' },
    });
  });

  test('that did not come fail their row alone', async () => {
    await using sandbox = await start();

    expect(
      await send(
        sandbox,
        [
          { Id: '2', Scan: 'cid:nope' },
          { Id: '3', Scan: 'cid:f1' },
        ],
        'f1',
      ),
    ).toMatchObject([
      { status: 400, key: '2', errors: [{ code: 4103, source: 'Scan' }] },
      { status: 200, id: 3 },
    ]);
  });

  test('of a row that fails leave nothing behind', async () => {
    await using sandbox = await start();

    await send(sandbox, [{ Id: '1', Scan: 'cid:f1', Nope: 1 }], 'f1');

    expect(sandbox.store.fileRevisions(columnNamed(sandbox, 'Scan'), 1)).toHaveLength(2);
  });

  test('are taken away by null, and their history stays', async () => {
    await using sandbox = await start();

    expect(await send(sandbox, [{ Id: '1', 'Photo / Big': null }])).toMatchObject([{ status: 200 }]);

    expect(await call(sandbox, `${PHOTO}/attachments.json?id=1`)).toMatchObject({ text: '[]' });
    expect(await call(sandbox, `${PHOTO}/attachment?id=1`)).toMatchObject({ status: 404 });
    expect(await call(sandbox, `${PHOTO}/attachment?id=1&revision=2`)).toMatchObject({ text: 'second' });
  });

  // Specification, sandbox: 2.4-24, 4.6-36, 4.6-37, 4.6-38
  test('come with rows in XML too', async () => {
    await using sandbox = await start();
    const type = 'Multipart/Related; boundary="x y"';
    const xml =
      `--x y\r\nContent-Type: text/xml\r\n\r\n<a><r id="3"><Scan>cid:f</Scan></r></a>\r\n` +
      `--x y\r\nContent-Disposition: attachment; filename="f.bin"\r\nContent-ID: <f>\r\n\r\n\x01\r\n--x y--\r\n`;

    const answer = await post(sandbox, 'Document/update.xml', xml, { type });

    expect(answer.text).toMatch(/<row><status>200<\/status><id>3<\/id><key>3<\/key><\/row>/);
    expect(await call(sandbox, 'Document/Scan/attachment?id=3')).toMatchObject({
      text: '\x01',
      headers: { 'content-type': 'application/octet-stream' },
    });
  });
});
