/**
 * Requests and answers of the sandbox as bytes: addresses by alias, both formats of every method, and the headers that decide what is kept. All of
 * them were written by hand from the specification, and nothing here goes through src/wire.
 */
import { describe, expect, test } from 'vitest';

import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { testClock } from '../support/clock.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { call, exchange, post } from './client.ts';

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

  test('an attachment column stands in the path under its alias', async () => {
    await using sandbox = await start();

    const list = await call(sandbox, 't_115442/f_2445932/attachments.json?id=1');
    const file = await call(sandbox, 't_115442/f_2445932/attachment?id=1');

    expect(list.text).toMatch(/^\[\{"name":"a\.txt","revision":1,"type":"text\/plain","size":3,/);
    expect(file).toMatchObject({ status: 200, text: 'abc' });
  });

  test('elements of an XML body are called by alias', async () => {
    await using sandbox = await start();
    const body = '<any><thing id="1"><f_2445931>x</f_2445931></thing><thing><f_2445931>y</f_2445931></thing></any>';

    const answer = await post(sandbox, 't_115442/upsert.json', body, { type: 'text/xml' });

    expect(answer.text).toBe('[{"status":200,"id":1,"key":"1"},{"status":201,"id":4,"key":"4"}]');
    expect(titles(sandbox)).toEqual(['x', 'c', 'a', 'y']);
  });
});

describe('documents', () => {
  test('retrieve combines `*` with another column', async () => {
    await using sandbox = await start();

    const { text } = await call(sandbox, 'Note/retrieve.json?column=*&column=Date%20Modified&id=3');

    expect(text).toBe(
      `[{"@row.id":3,"@row.allow":"Edit, Delete","Id":"3","Title":"a","First File":null,"Record Owner":"${OWNER}",` +
        '"Date Modified":"2026-01-01T01:00:00+01:00"}]',
    );
  });

  test('retrieve.xml', async () => {
    await using sandbox = await start();

    const answer = await call(sandbox, 'Note/retrieve.xml?id=3&column=Title&column=First%20File');

    expect(answer.headers['content-type']).toBe('text/xml;charset=utf-8');
    expect(answer.text).toBe(
      `${OPEN}<row id="3" allow="Edit Delete"><Title>a</Title><First_x0020_File i:nil="true"/></row></Response>`,
    );
  });

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

  test.each([
    ['the whole of it', 'YW5uQGV4YW1wbGUuY29tOnA6YTpzczo=', 200], // ann@example.com:p:a:ss:
    ['what is before its last colon', 'YW5uQGV4YW1wbGUuY29tOnA6YTpzcw==', 403], // ann@example.com:p:a:ss
  ])('a password has colons: %s', async (_what, encoded, status) => {
    await using sandbox = await start();
    sandbox.store.addUser({
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
  test('the id finds the row, and the key is a value like others', async () => {
    await using sandbox = await start();

    const answer = await post(sandbox, 'Note/update.json', '[{"@row.id":1,"Id":"77","Title":"x"}]');

    expect(answer.text).toBe('[{"status":200,"id":1,"key":"77"}]');
    expect(titles(sandbox)).toEqual(['x', 'c', 'a']);
  });

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
