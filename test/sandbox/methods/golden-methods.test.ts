/**
 * Requests and answers of the sandbox as bytes: addresses by alias, both formats of every method, and the headers that
 * decide what is kept. All of them were written by hand from the specification, and nothing here goes through src/wire.
 */
import { describe, expect, test } from 'vitest';

import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { testClock } from '../../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { call, exchange, post } from '../client.ts';

/** Aliases from `f_2445930` for Id. */
const note: TableSpec = {
  name: 'Note',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'First File', type: 'Attachment' },
  ],
  rows: [
    { Title: 'b', 'First File': { name: 'a.txt', mediaType: 'text/plain', bytes: Buffer.from('abc') } },
    { Title: 'c' },
    { Title: 'a' },
  ],
};

const OPEN = '<?xml version="1.0" encoding="utf-8"?><Response xmlns:i="http://www.w3.org/2001/XMLSchema-instance">';
const OWNER = 'Alice Martin <alice.martin@example.com>';

/** A sandbox at 2026-01-01T00:00:00Z, whose user is in Paris. */
function start(): Promise<TestSandbox> {
  return startTestSandbox({ tables: [note], clock: testClock() });
}

function titles(sandbox: TestSandbox): readonly unknown[] {
  return sandbox.store.rows('Note').map(({ values }) => values['Title']);
}

describe('aliases', () => {
  // Specification, sandbox: 2.1-2, 2.1-4, 4.4-8
  test.each([
    ['sort=f_2445931', '[{"@row.id":3,"@row.allow":"Edit, Delete","Title":"a"},'],
    ['sort=f_2445931//ASC', '[{"@row.id":3,"@row.allow":"Edit, Delete","Title":"a"},'],
    ['sort=f_2445931//DESC', '[{"@row.id":2,"@row.allow":"Edit, Delete","Title":"c"},'],
    ['sort=f_2445931%2F%2FDESC&sort=f_2445930', '[{"@row.id":2,"@row.allow":"Edit, Delete","Title":"c"},'],
  ])('%s sorts by the column of that alias', async (sort, first) => {
    await using sandbox = await start();

    const { text } = await call(sandbox, `t_115442/select.json?column=f_2445931&${sort}`);

    expect(text.slice(0, first.length)).toBe(first);
  });

  // Specification, sandbox: 2.1-4, 4.8-1, 4.9-1
  test('an attachment column stands in the path under its alias', async () => {
    await using sandbox = await start();

    const list = await call(sandbox, 't_115442/f_2445932/attachments.json?id=1');
    const file = await call(sandbox, 't_115442/f_2445932/attachment?id=1');

    expect(list.text).toMatch(/^\[\{"name":"a\.txt","revision":1,"type":"text\/plain","size":3,/);
    expect(file).toMatchObject({ status: 200, text: 'abc' });
  });

  // Specification, sandbox: 4.6-13, 4.6-15
  test('elements of an XML body are called by alias', async () => {
    await using sandbox = await start();
    const body = '<any><thing id="1"><f_2445931>x</f_2445931></thing><thing><f_2445931>y</f_2445931></thing></any>';

    const answer = await post(sandbox, 't_115442/upsert.json', body, { type: 'text/xml' });

    expect(answer.text).toBe('[{"status":200,"id":1,"key":"1"},{"status":201,"id":4,"key":"4"}]');
    expect(titles(sandbox)).toEqual(['x', 'c', 'a', 'y']);
  });
});

describe('bodies', () => {
  // Specification, sandbox: 2.4-2, 2.4-4, 2.4-6, 2.4-8, 2.4-10, 2.4-12, 2.4-15, 2.4-18, 2.4-20, 2.4-22, 2.5-7
  test('every form of a value is taken from XML', async () => {
    const types = [
      'Text',
      'Multiline',
      'Checkbox',
      'Numeric',
      'Date',
      'Time',
      'Timestamp',
      'Duration',
      'User',
      'Phone',
    ];
    await using sandbox = await startTestSandbox({
      tables: [{ name: 'T', columns: types.map((type) => ({ name: type, type })), rows: [{ Phone: '1' }] }],
    });
    const body =
      '<rows><row id="1"><Text> a &amp; b</Text><Multiline>one\ntwo</Multiline><Checkbox>true</Checkbox>' +
      '<Numeric>-12.50</Numeric><Date>2024-02-29</Date><Time>23:59:58</Time><Timestamp>2026-07-01T14:00:00</Timestamp>' +
      '<Duration>5400</Duration><User>Ann &lt;ann@example.com&gt;</User><Phone/></row></rows>';

    const answer = await post(sandbox, 'T/update.json', body, { type: 'text/xml' });

    expect(answer.text).toBe('[{"status":200,"id":1,"key":"1"}]');
    expect((await call(sandbox, 'T/select.json?column=*')).text).toBe(
      '[{"@row.id":1,"@row.allow":"Edit, Delete","Id":"1","Text":" a & b","Multiline":"one\\r\\ntwo","Checkbox":true,' +
        '"Numeric":-12.5,"Date":"2024-02-29T00:00:00+00:00","Time":"0001-01-01T23:59:58+00:00",' +
        '"Timestamp":"2026-07-01T14:00:00+02:00","Duration":5400,"User":"Ann <ann@example.com>","Phone":null,' +
        `"Record Owner":"${OWNER}"}]`,
    );
  });
});

describe('documents', () => {
  // Specification, sandbox: 4.4-4, 4.5-1, 4.5-7
  test('retrieve combines `*` with another column', async () => {
    await using sandbox = await start();

    const { text } = await call(sandbox, 'Note/retrieve.json?column=*&column=Date%20Modified&id=3');

    expect(text).toBe(
      `[{"@row.id":3,"@row.allow":"Edit, Delete","Id":"3","Title":"a","First File":null,"Record Owner":"${OWNER}",` +
        '"Date Modified":"2026-01-01T01:00:00+01:00"}]',
    );
  });

  // Specification, sandbox: 2.4-38, 2.4-39, 2.4-40, 4-2, 4.5-7
  test('retrieve.xml', async () => {
    await using sandbox = await start();

    const answer = await call(sandbox, 'Note/retrieve.xml?id=3&column=Title&column=First%20File');

    expect(answer.headers['content-type']).toBe('text/xml;charset=utf-8');
    expect(answer.text).toBe(
      `${OPEN}<row id="3" allow="Edit Delete"><Title>a</Title><First_x0020_File i:nil="true"/></row></Response>`,
    );
  });

  // Specification, sandbox: 1-1, 2.9-1, 2.9-2, 2.9-3, 4-2, 4.2-1
  test('user.xml', async () => {
    await using sandbox = await start();

    const answer = await call(sandbox, 'user.xml');

    expect(answer.headers['content-type']).toBe('text/xml;charset=utf-8');
    expect(answer.text).toBe(
      `${OPEN}<id>1</id><email>alice.martin@example.com</email><firstName>Alice</firstName><lastName>Martin</lastName>` +
        '<role>Administrator</role><culture>en-US</culture><timezone>Europe/Paris</timezone>' +
        '<admin>CustomizeApplication, ManageUsers, ManageData</admin></Response>',
    );
  });

  // Specification, sandbox: 2.2-1, 2.2-2, 2.2-3, 2.2-4, 2.2-5, 2.2-6, 2.2-7, 2.2-8, 4-2, 4.1-1
  test('describe.xml of the database', async () => {
    await using sandbox = await start();

    const answer = await call(sandbox, 'describe.xml');

    expect(answer.headers['content-type']).toBe('text/xml;charset=utf-8');
    expect(answer.text).toBe(
      `${OPEN}<id>21995</id><name>Northern Furniture</name><description>Served by the rowsync sandbox from sample data` +
        '</description><culture>en-US</culture><timeZone>Europe/Paris</timeZone><tables><table><id>115442</id>' +
        '<recordName>Note</recordName><recordsName>Notes</recordsName><alias>t_115442</alias><showTab>true</showTab>' +
        '<color>#0061B0</color></table></tables></Response>',
    );
  });

  // Specification, sandbox: 2.3-1, 2.3-2, 2.3-3, 2.3-4, 2.3-5, 2.3-6, 2.3-7, 2.3-8, 2.3-9, 2.3-10, 2.3-11, 4-2, 4.3-1
  test('describe.xml of a table', async () => {
    await using sandbox = await startTestSandbox({
      tables: [{ name: 'Tag', systemColumns: false, columns: [{ name: 'Name', type: 'Text', width: 40 }] }],
    });

    const { text } = await call(sandbox, 'Tag/describe.xml');

    expect(text).toBe(
      `${OPEN}<id>115442</id><recordName>Tag</recordName><recordsName>Tags</recordsName><alias>t_115442</alias>` +
        '<showTab>true</showTab><color>#0061B0</color><allowAdd>true</allowAdd><key>Id</key><columns>' +
        '<column><id>2445930</id><name>Id</name><alias>f_2445930</alias><type>Autonumber</type>' +
        '<dataOptions>Unique, Required</dataOptions><displayOptions>ShowInViews</displayOptions><width>0</width>' +
        '<kind>Key</kind><readOnly>false</readOnly></column>' +
        '<column><id>2445931</id><name>Name</name><alias>f_2445931</alias><type>Text</type><dataOptions></dataOptions>' +
        '<displayOptions>ShowInViews</displayOptions><width>40</width><kind>Updatable</kind><readOnly>false</readOnly>' +
        '</column></columns><views><view><id>730247</id><type>Table</type><name>List All Tags</name>' +
        '<alias>v_730247</alias><showInMenu>true</showInMenu><actions>Add, Edit, View, Delete</actions></view></views>' +
        '</Response>',
    );
  });
});

describe('what may be kept', () => {
  // Specification, sandbox: 4.10-1, 4.10-4, 4.10-5
  test.each([
    'describe.xml',
    'user.xml',
    'Note/describe.xml',
    'Note/select.xml?top=2',
    'Note/retrieve.xml?key=1',
    'Note/First%20File/attachments.xml?id=1',
  ])('%s is not sent again to a client that has it', async (path) => {
    await using sandbox = await start();

    const first = await call(sandbox, path);
    const again = await call(sandbox, path, { headers: { 'If-None-Match': first.headers['etag'] ?? '' } });
    const other = await call(sandbox, path, { headers: { 'If-None-Match': '"other"' } });

    expect(first.status).toBe(200);
    expect(first.headers['cache-control']).toBe('private, must-revalidate, max-age=0');
    expect(first.headers['etag']).toMatch(/^"[^"]+"$/);
    expect(again).toMatchObject({ status: 304, text: '', headers: { etag: first.headers['etag'] } });
    expect(other).toMatchObject({ status: 200, text: first.text });
  });

  // Specification, sandbox: 4.10-6
  test('a page of XML is sent again once it changed', async () => {
    await using sandbox = await start();
    const first = await call(sandbox, 'Note/select.xml?top=1&column=Title');

    sandbox.store.update('Note', 1, { Title: 'new' });
    const again = await call(sandbox, 'Note/select.xml?top=1&column=Title', {
      headers: { 'If-None-Match': first.headers['etag'] ?? '' },
    });

    expect(again.text).toBe(`${OPEN}<row id="1" allow="Edit Delete"><Title>new</Title></row></Response>`);
    expect(again.headers['etag']).not.toBe(first.headers['etag']);
  });

  // Specification, sandbox: 4.9-15
  test('a GET of a file by key has an ETag, by which it is not sent again', async () => {
    await using sandbox = await start();

    const first = await call(sandbox, 'Note/First%20File/attachment?key=1');
    const again = await call(sandbox, 'Note/First%20File/attachment?key=1', {
      headers: { 'If-None-Match': first.headers['etag'] ?? '' },
    });

    expect(first).toMatchObject({ status: 200, text: 'abc' });
    expect(first.headers['cache-control']).toBe('private, must-revalidate, max-age=0');
    expect(first.headers['etag']).toMatch(/^"[^"]+"$/);
    expect(again).toMatchObject({ status: 304, text: '' });
  });

  // Specification, sandbox: 4.9-2, 4.10-2
  test('a HEAD of a file by id has no ETag', async () => {
    await using sandbox = await start();

    const answer = await exchange(
      sandbox,
      `HEAD /secure/api/v2/21995/Note/First%20File/attachment?id=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
        `Authorization: Bearer ${sandbox.token}\r\n\r\n`,
    );

    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toMatch(/\r\nContent-Length: 3\r\n/);
    expect(answer).toMatch(/\r\nX-Revision: 1\r\n/);
    expect(answer).not.toMatch(/\r\nETag:/i);
    expect(answer.endsWith('\r\n\r\n')).toBe(true);
  });
});

describe('who may', () => {
  // Specification, sandbox: 5-2, 5-6
  test('a token stands for its user', async () => {
    await using sandbox = await start();
    const callers = sandbox.users.slice(0, 2);

    const texts = await Promise.all(
      callers.map(async ({ token }) => (await call(sandbox, 'user.json', { authorization: `Bearer ${token}` })).text),
    );

    expect(texts.map((text) => /"email":"([^"]+)"/.exec(text)?.[1])).toEqual(callers.map(({ email }) => email));
    expect(new Set(callers.map(({ email }) => email)).size).toBe(2);
  });

  // Specification, sandbox: 4.6-3
  test.each(['create', 'update', 'upsert'])(
    '%s with workflow=0 fails as a whole without ManageData, and writes nothing',
    async (method) => {
      await using sandbox = await start();
      sandbox.store.changeUser({ admin: ['CustomizeApplication', 'ManageUsers'] });

      const answer = await post(sandbox, `Note/${method}.json?workflow=0`, '[{"Id":"1","Title":"x"},{"Title":"y"}]');

      expect(answer.status).toBe(403);
      expect(answer.text).toBe(
        '{"error":403,"code":2400,"message":"Suppressing workflow rules takes the permission ManageData","source":"workflow"}',
      );
      expect(titles(sandbox)).toEqual(['b', 'c', 'a']);
    },
  );

  // Specification, sandbox: 5-4
  test.each([
    ['the whole of it', 'YW5uQGV4YW1wbGUuY29tOnA6YTpzczo=', 200], // ann@example.com:p:a:ss:
    ['what is before its last colon', 'YW5uQGV4YW1wbGUuY29tOnA6YTpzcw==', 403], // ann@example.com:p:a:ss
  ])('a password has colons: %s', async (_what, encoded, status) => {
    await using sandbox = await start();
    sandbox.store.addUsers({
      email: 'ann@example.com',
      password: 'p:a:ss:',
      firstName: 'Ann',
      lastName: 'Lee',
      role: 'Administrator',
      culture: 'en-US',
      timezone: 'UTC',
      admin: [],
    });

    const answer = await call(sandbox, 'user.json', { authorization: `Basic ${encoded}` });

    expect(answer.status).toBe(status);
  });
});

describe('an id and a key in one row', () => {
  // Specification, sandbox: 4.6-22
  test('the id finds the row, and the key is a value like others', async () => {
    await using sandbox = await start();

    const answer = await post(sandbox, 'Note/update.json', '[{"@row.id":1,"Id":"77","Title":"x"}]');

    expect(answer.text).toBe('[{"status":200,"id":1,"key":"77"}]');
    expect(titles(sandbox)).toEqual(['x', 'c', 'a']);
  });

  // Specification, sandbox: 4.6-22, 7-1
  test.each(['update', 'upsert'])('%s with the key of another row leaves that row alone', async (method) => {
    await using sandbox = await start();

    const answer = await post(sandbox, `Note/${method}.json`, '[{"@row.id":1,"Id":"2","Title":"x"}]');

    expect(answer.text).toBe(
      '[{"status":400,"id":1,"key":"2","errors":[{"error":409,"code":4100,' +
        '"message":"Cannot insert duplicate value \\"2\\" into column \\"Id\\"","source":"Id"}]}]',
    );
    expect(titles(sandbox)).toEqual(['b', 'c', 'a']);
  });
});
