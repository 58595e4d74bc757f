/**
 * The model against the letter of the specification: its examples, rules and limits, one by one. What is here was
 * written from the specification and the public facts, not from the sandbox; each test names the section.
 */
import { describe, expect, test } from 'vitest';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { DELETES_JSON, OUTGOING_JSON, ROWS, ROWS_JSON, ROW_COLUMNS } from '../../fixtures/wire/documents.ts';
import { MODEL_TOKEN, OriginModel, type ModelAnswer } from './origin.ts';

const GUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const AT = Date.UTC(2024, 6, 1, 10, 0, 0, 250);

const TEST: TableSpec = {
  name: 'Test',
  key: 'Id',
  systemColumns: false,
  columns: ROW_COLUMNS.map((column) => ({
    ...column,
    options: column.name === 'Photo' ? ['AllowSeeRevisionHistory'] : [],
  })),
};

interface Asked {
  readonly verb?: 'GET' | 'HEAD' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

function startModel(tables: readonly TableSpec[] = [TEST]) {
  const model = new OriginModel({ tables, nowMs: () => AT });
  const ask = (path: string, { verb = 'GET', headers = {}, body }: Asked = {}): ModelAnswer =>
    model.answer({
      method: verb,
      path: path.startsWith('/') ? path : `/secure/api/v2/21995/${path}`,
      headers: { authorization: `Bearer ${MODEL_TOKEN}`, ...headers },
      body: body === undefined ? null : Buffer.from(body),
    });
  const write = (path: string, body: string, type = 'application/json'): ModelAnswer =>
    ask(path, { verb: 'POST', body, headers: { 'content-type': type } });
  return { model, ask, write };
}

function textOf({ body }: ModelAnswer): string {
  return Buffer.from(body).toString();
}

test('2.4, 2.5: every form of a value on output', () => {
  const { model, ask } = startModel();
  for (const { values } of ROWS) {
    const cells = ROW_COLUMNS.map(({ name, type }, index) => {
      const isFile = type === 'Attachment' && values[index] !== null;
      const file = { name: 'a;b.png', mediaType: 'image/png', bytes: Buffer.from('x') };
      return [name, isFile ? file : (values[index] ?? null)] as const;
    });
    model.insert('Test', Object.fromEntries(cells));
  }
  const again = (revision: number) => ({ name: 'a;b.png', mediaType: 'image/png', bytes: Buffer.from(`x${revision}`) });
  model.update('Test', 1, { Photo: again(2) });
  model.update('Test', 1, { Photo: again(3) });

  const text = textOf(ask('Test/select.json?column=*'));

  const withAllow = ROWS_JSON.replace('{"@row.id":2,', '{"@row.id":2,"@row.allow":"Edit, Delete",').replace(
    '"Edit,Delete"',
    '"Edit, Delete"',
  );
  expect(text.replace(GUID, 'guid')).toBe(withAllow.replace(GUID, 'guid'));
});

test('2.4, 4.6: every form of a value on input, with a file beside it', () => {
  const { model, write } = startModel();
  for (const id of ['1', '2', '3', '4', '5']) model.insert('Test', { Id: id });
  // As the vendor's own client writes a body: unquoted boundary, `filename*` alone, no line break at the end.
  const body =
    '--part-1\r\nContent-Type: application/json\r\n\r\n' +
    `${OUTGOING_JSON}\r\n--part-1\r\nContent-Type: image/png\r\n` +
    "Content-Disposition: attachment;filename*=UTF-8''d%C3%A9j%C3%A0%3B.png\r\nContent-ID: f1\r\n\r\n" +
    '\r\nbytes\r\n\r\n--part-1--';

  const answer = write('Test/upsert.json', body, 'multipart/related;boundary=part-1');

  expect(textOf(answer)).toBe('[{"status":200,"id":5,"key":"5"},{"status":201,"id":6,"key":"6"}]');
  const { Photo: photo, ...values } = model.rows('Test')[4]?.values ?? {};
  expect(values).toEqual({
    Id: '5',
    'Full Name': ' 00123 ',
    Notes: 'a\nb',
    'Active?': false,
    Balance: 1e-7,
    Born: '1999-12-31',
    Starts: '08:05:00',
    Seen: '2024-07-01T10:00:00Z',
    Length: 90,
    Owner: null,
  });
  const [, name, guid = ''] = /^(.*);1;(.*)$/.exec(String(photo)) ?? [];
  expect(name).toBe('déjà;.png');
  expect(Buffer.from(model.fileBytes(guid) ?? []).toString()).toBe('\r\nbytes\r\n');
});

describe('4.6: rules of writes', () => {
  const KEYED: TableSpec = {
    name: 'Part',
    key: 'Id',
    systemColumns: false,
    columns: [
      { name: 'Id', type: 'Text' },
      { name: 'Size', type: 'Numeric', defaultValue: 1 },
      { name: 'Name', type: 'Text' },
    ],
    rows: [{ Id: 'X', Name: 'x' }],
  };

  test('1: a create whose key exists fails, with the documented words', () => {
    const { write } = startModel([KEYED]);

    expect(textOf(write('Part/create.json', '[{"Id":"X"}]'))).toBe(
      '[{"status":400,"key":"X","errors":[{"error":409,"code":4100,' +
        '"message":"Cannot insert duplicate value \\"X\\" into column \\"Id\\"","source":"Id"}]}]',
    );
  });

  test('1: columns without a value get their default, null is a value', () => {
    const { model, write } = startModel([KEYED]);

    write('Part/create.json', '[{"Id":"A"},{"Id":"B","Size":null}]');

    expect(model.rows('Part').map(({ values }) => values['Size'])).toEqual([1, 1, null]);
  });

  test('2: an update needs an id or a key of a row that exists, and the id comes before the key', () => {
    const { model, write } = startModel([KEYED]);
    model.insert('Part', { Id: 'Y' });

    const rows = '[{"Id":"X","Name":"by key"},{"@row.id":2,"Id":"Z"},{"Id":"none"},{"Name":"no key"},{"@row.id":9}]';
    const statuses = JSON.parse(textOf(write('Part/update.json', rows))) as readonly { status: number; id?: number }[];

    expect(statuses.map(({ status, id }) => [status, id])).toEqual([
      [200, 1],
      [200, 2],
      [404, undefined],
      [400, undefined],
      [404, 9],
    ]);
    expect(model.rows('Part').map(({ values }) => values['Id'])).toEqual(['X', 'Z']);
  });

  test('3, 5: an upsert updates, creates, or changes nothing, in the order of the rows', () => {
    const { write } = startModel([KEYED]);

    expect(textOf(write('Part/upsert.json', '[{"Id":"N"},{"Id":"X","Name":"y"},{"Id":"X","Name":"y"}]'))).toBe(
      '[{"status":201,"id":2,"key":"N"},{"status":200,"id":1,"key":"X"},{"status":304,"id":1,"key":"X"}]',
    );
  });

  test('a match column must be unique; workflow=0 takes ManageData', () => {
    const { model, write } = startModel([KEYED]);

    expect(JSON.parse(textOf(write('Part/upsert.json?match=Name', '[{}]')))).toMatchObject({ error: 400, code: 3106 });
    expect(write('Part/update.json?workflow=0', '[]').status).toBe(200);
    model.changeUser({ admin: [] });
    expect(write('Part/update.json?workflow=0', '[]').status).toBe(403);
  });

  test('the key of a status is a text, also of a number', () => {
    const spec = { name: 'N', key: 'Number', systemColumns: false, columns: [{ name: 'Number', type: 'Numeric' }] };
    const { write } = startModel([spec]);

    expect(textOf(write('N/create.json', '{"Number":7.50}'))).toBe('[{"status":201,"id":1,"key":"7.5"}]');
  });
});

test('4.7: deletes by id and by key, and a row that is not there', () => {
  const { model, ask } = startModel([{ name: 'Test', key: 'Code', columns: [{ name: 'Code', type: 'Text' }] }]);
  for (const code of ['1', '2', '3', '4', '5', '6', 'B-7', 'B-8']) model.insert('Test', { Code: code });

  const byId = textOf(ask('Test/delete.json?id=7&id=9'));
  const byKey = textOf(ask('Test/delete.json?key=B-8'));

  expect(`${byId.slice(0, -1)},${byKey.slice(1)}`).toBe(
    `${DELETES_JSON.replace(',{"key":"B-8","status":200}', '').slice(0, -1)},{"key":"B-8","status":200}]`,
  );
  expect(ask('Test/delete.json?id=1&key=2').status).toBe(400);
  expect(model.ids('Test')).toEqual([1, 2, 3, 4, 5, 6]);
});

test('4.8, 4.9: revisions, a file by its record, its headers alone by guid', () => {
  const { model, ask } = startModel();
  const file = (name: string, text: string) => ({ name, mediaType: 'image/png', bytes: Buffer.from(text) });
  model.insert('Test', { Photo: file('a.png', 'one') });
  model.update('Test', 1, { Photo: file('a;b & c.png', 'four') });

  const list = textOf(ask('Test/Photo/attachments.json?id=1'));
  const guid = list.match(GUID)?.[0] ?? '';
  const content = ask('Test/Photo/attachment?id=1');
  const first = ask('Test/Photo/attachment?key=1&revision=1');
  const head = ask(`Test/Photo/attachment/${guid}?id=1`, { verb: 'HEAD' });

  expect(list).toBe(
    `[{"name":"a;b & c.png","revision":2,"type":"image/png","size":4,"guid":"${guid}",` +
      '"author":"Alice Martin <alice.martin@example.com>","created":"2024-07-01T12:00:00.250+02:00"}]',
  );
  expect(JSON.parse(textOf(ask('Test/Photo/attachments.json?id=1&revisions=5')))).toHaveLength(2);
  expect(textOf(content)).toBe('four');
  expect(content.headers).toMatchObject({
    'cache-control': 'private, must-revalidate, max-age=0',
    etag: expect.stringMatching(/^"[^"]+"$/) as string,
    'x-revision': '2',
    'content-type': 'image/png',
    'content-length': '4',
    'last-modified': 'Mon, 01 Jul 2024 10:00:00 GMT',
    'x-author': 'Alice Martin <alice.martin@example.com>',
    'content-disposition': `attachment; filename="a_b & c.png"; filename*=UTF-8''a%3Bb%20%26%20c.png`,
  });
  expect(textOf(first)).toBe('one');
  expect([head.status, head.body.length, head.headers['cache-control']]).toEqual([200, 0, 'no-cache']);
});

test('4.10: an answer is asked for again by its ETag until its content changes', () => {
  const { model, ask } = startModel();
  model.insert('Test', {});
  const first = ask('Test/select.json');
  const headers = { 'if-none-match': first.headers['etag'] ?? '' };

  const same = ask('Test/select.json', { headers });
  model.update('Test', 1, { Balance: 2 });
  const changed = ask('Test/select.json', { headers });

  expect(first.headers['cache-control']).toBe('private, must-revalidate, max-age=0');
  expect([same.status, same.body.length, same.headers['etag']]).toEqual([304, 0, first.headers['etag']]);
  expect(changed.status).toBe(200);
  expect(changed.headers['etag']).not.toBe(first.headers['etag']);
});

test('5: a token in a header or in the path, none, a wrong one, one for another database', () => {
  const { model, ask } = startModel();
  const none = { headers: { authorization: '' } };

  expect(ask('user.json').status).toBe(200);
  expect(ask(`/secure/api/v2/21995/${MODEL_TOKEN}/user.json`, none).status).toBe(200);
  expect(ask('user.json', none)).toMatchObject({ status: 401, body: new Uint8Array() });
  expect(ask('user.json', { headers: { authorization: `Bearer ${'a'.repeat(32)}` } }).status).toBe(403);
  expect(ask('/secure/api/v2/5/user.json').status).toBe(403);
  model.revokeToken();
  expect(ask('user.json').status).toBe(403);
  model.restoreToken();
  expect(ask('user.json').status).toBe(200);
});

const ids = (count: number): string => Array.from({ length: count }, (_, id) => `id=${id}`).join('&');

test.each([
  ['a page of 501 rows', 'Test/select.json?top=501', 400],
  ['a page of no rows', 'Test/select.json?top=0', 400],
  ['a page of 500 rows', 'Test/select.json?top=500', 200],
  ['501 ids', `Test/retrieve.json?${ids(501)}`, 400],
  ['500 ids', `Test/retrieve.json?${ids(500)}`, 200],
  ['ids and keys mixed', 'Test/retrieve.json?id=1&key=1', 400],
  ['neither ids nor keys', 'Test/retrieve.json', 400],
  ['an unknown column', 'Test/select.json?column=Nope', 400],
  ['an unknown table', 'Nope/select.json', 403],
  ['an unknown method', 'Test/selected.json', 405],
])('4, 8: asked for %s, answers as it must', (_what, path, status) => {
  expect(startModel().ask(path).status).toBe(status);
});
