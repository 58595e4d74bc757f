/** Every document of the specification in both formats, against bytes written by hand from it. */
import { describe, expect, test } from 'vitest';
import { FORMATS } from '../support/formats.ts';
import * as golden from '../fixtures/wire/documents.ts';

const { json, xml } = FORMATS;

describe('XML descriptors', () => {
  test('a database is written and read', () => {
    expect(xml.writeDatabase(golden.DATABASE)).toBe(golden.DATABASE_XML);
    expect(xml.readDatabase(golden.DATABASE_XML, 'describe')).toEqual(golden.DATABASE);
  });

  test('a table is written and read, lists and numbers and switches in their types', () => {
    expect(xml.writeTable(golden.TABLE)).toBe(golden.TABLE_XML);
    expect(xml.readTable(golden.TABLE_XML, 'describe')).toEqual(golden.TABLE);
  });

  test('a user is written and read', () => {
    expect(xml.writeUser(golden.USER)).toBe(golden.USER_XML);
    expect(xml.readUser(golden.USER_XML, 'user')).toEqual(golden.USER);
  });

  test('a database without tables has an empty list', () => {
    const text = '<Response><id>007</id><name>x</name><tables/></Response>';

    expect(xml.readDatabase(text, 'describe')).toMatchObject({ id: '007', tables: [] });
  });

  test('fields that nobody knows are kept: a null, a nested object, a list of values', () => {
    const text =
      '<Response xmlns:x="http://www.w3.org/2001/XMLSchema-instance"><id>1</id><tables/>' +
      '<logo x:nil="true"/><plan><name>a</name></plan><flags><flag>b</flag><flag>c</flag></flags></Response>';

    const database = xml.readDatabase(text, 'describe');

    expect(database.other).toEqual({ logo: null, plan: { name: 'a' }, flags: ['b', 'c'] });
    expect(xml.readDatabase(xml.writeDatabase(database), 'describe')).toEqual(database);
  });
});

describe('rows', () => {
  test('every form of a value is written', () => {
    expect(xml.rowsWriter(golden.ROW_COLUMNS, golden.ROW_ZONE)(golden.ROWS)).toBe(golden.ROWS_XML);
    expect(json.rowsWriter(golden.ROW_COLUMNS, golden.ROW_ZONE)(golden.ROWS)).toBe(golden.ROWS_JSON);
  });

  test('both formats read as the same page', () => {
    const page = { rows: golden.ROWS, unreadable: [], ids: [1, 2] };

    expect(xml.readRows(golden.ROWS_XML, golden.ROW_COLUMNS, 'select')).toEqual(page);
    expect(json.readRows(golden.ROWS_JSON, golden.ROW_COLUMNS, 'select')).toEqual(page);
  });

  test('columns are found whatever their order, and rows of totals are left out', () => {
    const text =
      '<Response><row id="1" allow=""><B>2</B><extra>x</extra><A>1</A></row><row type="Grand"><B>9</B></row></Response>';
    const columns = [
      { name: 'A', type: 'Text' },
      { name: 'B', type: 'Numeric' },
    ] as const;

    expect(xml.readRows(text, columns, 'select').rows).toEqual([{ id: 1, allow: '', values: ['1', 2] }]);
  });

  test('columns with the names of JavaScript keep their values', () => {
    const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '#text', ':@'];
    const columns = names.map((name) => ({ name, type: 'Text' }) as const);
    const rows = [{ id: 1, allow: null, values: names.map((_, index) => `v${index}`) }];

    const text = xml.rowsWriter(columns, 'UTC')(rows);

    expect(xml.readRows(text, columns, 'select').rows).toEqual(rows);
  });

  test('text columns keep what looks like something else', () => {
    const values = ['00123', '1e5', 'true', ' x ', '  ', '0x1F', '&amp;', '<![CDATA[x]]>', 'a\rb', 'a\r\nb', '\t'];
    const columns = values.map((_, index) => ({ name: `c${index}`, type: 'Text' }) as const);
    const rows = [{ id: 1, allow: null, values }];

    expect(xml.readRows(xml.rowsWriter(columns, 'UTC')(rows), columns, 'select').rows).toEqual(rows);
  });

  test('a CDATA section, references, comments and instructions make up one text', () => {
    const text =
      "<Response><row id='1'><A>a<!-- b -->&#99;<?pi it's ?><![CDATA[&amp;<d>]]>&#x1F600;</A></row></Response>";

    const page = xml.readRows(text, [{ name: 'A', type: 'Text' }], 'select');

    expect(page.rows[0]?.values).toEqual(['ac&amp;<d>😀']);
  });

  test.each([
    ['Numeric', 'abc'],
    ['Checkbox', 'yes'],
    ['Date', '2024-02-30'],
    ['Time', '25:00:00'],
    ['Timestamp', '2024-01-01T00:00:00'],
    ['Duration', 'PT1H'],
    ['Numeric', '<b>1</b>'],
  ] as const)('a %s column that holds %j makes the row unreadable, not the page', (type, content) => {
    const text = `<Response><row id="3"><A>${content}</A></row><row id="4"><A i:nil="true"/></row></Response>`;

    const page = xml.readRows(text, [{ name: 'A', type }], 'select');

    expect(page.ids).toEqual([3, 4]);
    expect(page.rows).toEqual([{ id: 4, allow: null, values: [null] }]);
    expect(page.unreadable).toMatchObject([{ id: 3, column: 'A' }]);
    expect(JSON.stringify(page.unreadable)).not.toContain(content);
  });

  test.each([
    ['another root', '<html><body/></html>'],
    ['an error', golden.ERROR_XML],
    ['an element that is no row', '<Response><record id="1"/></Response>'],
    ['a row without an id', '<Response><row><A>1</A></row></Response>'],
    ['a row without a column', '<Response><row id="1"><B>1</B></row></Response>'],
  ])('%s is not an answer of select', (_, text) => {
    expect(() => xml.readRows(text, [{ name: 'A', type: 'Text' }], 'select')).toThrow(
      expect.objectContaining({ code: 'origin.unexpected' }),
    );
  });

  test('a page that is cut anywhere is refused', () => {
    for (let length = 0; length < golden.ROWS_XML.length; length += 1) {
      expect(() => xml.readRows(golden.ROWS_XML.slice(0, length), golden.ROW_COLUMNS, 'select')).toThrow(
        expect.objectContaining({ code: 'origin.truncated' }),
      );
    }
  });

  test('a control character that XML cannot hold leaves the sandbox as U+FFFD', () => {
    const columns = [{ name: 'A', type: 'Text' }] as const;

    expect(xml.rowsWriter(columns, 'UTC')([{ id: 1, allow: null, values: ['a\u0001\ud800b'] }])).toContain(
      '<A>a��b</A>',
    );
  });
});

describe.each([
  ['json', golden.STATUSES_JSON, golden.DELETES_JSON, golden.ATTACHMENTS_JSON, golden.ERROR_JSON],
  ['xml', golden.STATUSES_XML, golden.DELETES_XML, golden.ATTACHMENTS_XML, golden.ERROR_XML],
] as const)('answers in %s', (extension, statuses, deletes, attachments, error) => {
  const format = FORMATS[extension];

  test('statuses of a write', () => {
    expect(format.writeStatuses(golden.STATUSES)).toBe(statuses);
    expect(format.readStatuses(statuses, 4, 'upsert')).toEqual(golden.STATUSES);
  });

  test('statuses of a delete', () => {
    expect(format.writeDeleteStatuses(golden.DELETES)).toBe(deletes);
    expect(format.readStatuses(deletes, 3, 'delete')).toEqual(golden.DELETES);
  });

  test('a number of statuses other than that of the rows sent is refused', () => {
    expect(() => format.readStatuses(statuses, 5, 'upsert')).toThrow(
      expect.objectContaining({
        code: 'origin.unexpected',
        message: expect.stringContaining('5 rows were sent, 4') as string,
      }),
    );
  });

  test('revisions of an attachment', () => {
    expect(format.writeAttachments(golden.ATTACHMENTS, golden.ROW_ZONE)).toBe(attachments);
    expect(format.readAttachments(attachments, 'attachments')).toEqual(golden.ATTACHMENTS);
  });

  test('an error of the whole request', () => {
    expect(format.writeError(golden.ERROR)).toBe(error);
    expect(format.readError(error)).toEqual(golden.ERROR);
  });

  test('what is no error reads as none', () => {
    for (const text of ['', '<html>', '<p>no</p>', '[1]', '{"a":1}', 'null', statuses]) {
      expect(format.readError(text)).toBeUndefined();
    }
  });
});

test('each format has its type, and JSON says every value', () => {
  expect([json, xml].map(({ contentType }) => contentType)).toEqual([
    'application/json;charset=utf-8',
    'text/xml;charset=utf-8',
  ]);
  expect(json.carriesInput([])).toBe(true);
});

test.each([
  ['no status', [{ id: 1 }]],
  ['a status out of range', [{ status: 0 }]],
  ['a status that is no number', [{ status: 'ok' }]],
  ['an item that is no object', [7]],
])('an answer with %s is refused', (_, answer) => {
  expect(() => json.readStatuses(JSON.stringify(answer), 1, 'upsert')).toThrow(
    expect.objectContaining({ code: 'origin.unexpected' }),
  );
});

test('errors of a failed row are read whatever is missing in them', () => {
  const answer = '[{"status":400,"errors":[{"status":409,"message":"m"},"x"]},{"status":404}]';

  expect(json.readStatuses(answer, 2, 'update')).toEqual([
    {
      status: 400,
      id: null,
      key: null,
      errors: [
        { error: 409, code: null, message: 'm', source: null },
        { error: 400, code: null, message: '', source: null },
      ],
    },
    { status: 404, id: null, key: null, errors: [] },
  ]);
});

test.each([
  ['no list', '{}'],
  ['no size', '[{"name":"a","revision":1,"guid":"g","created":"2024-01-01T00:00:00Z"}]'],
  ['a time without an offset', '[{"name":"a","revision":1,"size":1,"guid":"g","created":"2024-01-01T00:00:00"}]'],
])('revisions with %s are refused', (_, text) => {
  expect(() => json.readAttachments('{}', 'attachments')).toThrow('an array of revisions was expected');
  expect(() => json.readAttachments(text, 'attachments')).toThrow(
    expect.objectContaining({ code: 'origin.unexpected' }),
  );
});

test('a revision that is refused is named by its number', () => {
  const first = '{"name":"a","revision":1,"size":1,"guid":"g","created":"2024-01-01T00:00:00Z"}';

  expect(() => json.readAttachments(`[${first},{}]`, 'attachments')).toThrow(/attachments, revision 2/);
});

test.each([
  [json, '[{"@row.id":1,"@row.allow":"Edit","A b":null,"__proto__":1},{"@row.id":2,"C":1}]', '[]'],
  [
    xml,
    '<Response xmlns:i="x"><row id="1" allow="Edit"><A_x0020_b i:nil="true"/><__proto__>1</__proto__></row></Response>',
    '<Response/>',
  ],
])('the names of the columns of a row are read without its values', (format, text, empty) => {
  expect(format.readColumnNames(text, 'select')).toEqual(new Set(['A b', '__proto__']));
  expect(format.readColumnNames(empty, 'select')).toBeNull();
});
