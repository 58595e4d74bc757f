/**
 * Answers of the sandbox, byte for byte. The expected texts were written by hand from the specification (sections 2.2
 * to 2.5 and 2.9, origin facts 3), not produced by our own encoder.
 */
import { expect, test } from 'vitest';

import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { testClock } from '../support/clock.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { call } from './client.ts';

const TYPES = [
  'Text',
  'Phone',
  'Multiline',
  'Checkbox',
  'Numeric',
  'Date',
  'Time',
  'Timestamp',
  'Duration',
  'User',
  'EMail',
  'URL',
  'Attachment',
] as const;

const everyType: TableSpec = {
  name: 'Test',
  columns: TYPES.map((type) => ({ name: `My ${type}`, type })),
  rows: [
    {
      'My Text': 'a "b" \\ é',
      'My Phone': '+33 1',
      'My Multiline': 'one\ntwo',
      'My Checkbox': true,
      'My Numeric': 0.1,
      'My Date': '2024-02-29',
      'My Time': '23:59:58',
      'My Timestamp': '2026-07-01T12:00:00Z',
      'My Duration': 5400,
      'My User': 'Ann Lee <ann@example.com>',
      'My EMail': 'ann@example.com',
      'My URL': 'https://example.com/?a=b&c',
      'My Attachment': { name: 'logo;1.png', mediaType: 'image/png', bytes: Buffer.from('x') },
    },
    { 'My Checkbox': false, 'My Timestamp': '2026-01-15T23:30:00Z' },
  ],
};

function numbers(...values: readonly (number | bigint | string)[]): TableSpec {
  return {
    name: 'Number',
    systemColumns: false,
    columns: [{ name: 'N', type: 'Numeric' }],
    rows: values.map((value) => ({ N: value })),
  };
}

// Specification, sandbox: 2.2-1, 2.2-2, 2.2-3, 2.2-4, 2.2-5, 2.2-6, 2.2-7, 2.2-8, 4.1-1
test('describes the database', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Test', columns: [] }] });

  const { text } = await call(sandbox, 'describe.json');

  expect(text).toBe(
    '{"id":"21995","name":"Northern Furniture","description":"Served by the rowsync sandbox from sample data",' +
      '"culture":"en-US","timeZone":"Europe/Paris","tables":[{"id":115442,"recordName":"Test","recordsName":"Tests",' +
      '"alias":"t_115442","showTab":true,"color":"#0061B0"}]}',
  );
});

// Specification, sandbox: 2.3-1, 2.3-2, 2.3-3, 2.3-4, 2.3-5, 2.3-6, 2.3-7, 2.3-8, 2.3-9, 2.3-10, 2.3-11, 4.3-1
test('describes a table with its key, system columns and view', async () => {
  await using sandbox = await startTestSandbox({
    tables: [
      {
        name: 'Test',
        columns: [
          { name: 'Name', type: 'Text', width: 40, options: ['Required', 'AllowFind'], displayOptions: [] },
          { name: 'Label', type: 'Text', computed: { how: 'join', columns: ['Name'] } },
        ],
      },
    ],
  });

  const { text } = await call(sandbox, 'Test/describe.json');

  const column = (id: number, name: string, type: string, rest: string): string =>
    `{"id":${id},"name":"${name}","alias":"f_${id}","type":"${type}",${rest}}`;
  const system = (id: number, name: string, type: string, kind: string): string =>
    column(id, name, type, `"dataOptions":"","displayOptions":"","width":0,"kind":"${kind}","readOnly":true`);
  expect(text).toBe(
    '{"id":115442,"recordName":"Test","recordsName":"Tests","alias":"t_115442","showTab":true,"color":"#0061B0",' +
      '"allowAdd":true,"key":"Id","columns":[' +
      [
        column(
          2445930,
          'Id',
          'Autonumber',
          '"dataOptions":"Unique, Required","displayOptions":"ShowInViews","width":0,"kind":"Key","readOnly":false',
        ),
        column(
          2445931,
          'Name',
          'Text',
          '"dataOptions":"Required, AllowFind","displayOptions":"","width":40,"kind":"Updatable","readOnly":false',
        ),
        column(
          2445932,
          'Label',
          'Text',
          '"dataOptions":"","displayOptions":"ShowInViews","width":255,"kind":"Formula","readOnly":true',
        ),
        column(
          2445933,
          'Record Owner',
          'User',
          '"dataOptions":"","displayOptions":"ShowInViews","width":0,"kind":"RecordOwner","readOnly":false',
        ),
        system(2445934, 'Created By', 'User', 'CreatedBy'),
        system(2445935, 'Date Created', 'Timestamp', 'DateCreated'),
        system(2445936, 'Last Modified By', 'User', 'LastModifiedBy'),
        system(2445937, 'Date Modified', 'Timestamp', 'DateModified'),
      ].join(',') +
      '],"views":[{"id":730247,"type":"Table","name":"List All Tests","alias":"v_730247","showInMenu":true,' +
      '"actions":"Add, Edit, View, Delete"}]}',
  );
});

// Specification, sandbox: 2.9-1, 2.9-2, 2.9-3, 4.2-1
test('describes the calling user', async () => {
  await using sandbox = await startTestSandbox({ tables: [] });

  const { text } = await call(sandbox, 'user.json');

  expect(text).toBe(
    '{"id":1,"email":"alice.martin@example.com","firstName":"Alice","lastName":"Martin","role":"Administrator",' +
      '"culture":"en-US","timezone":"Europe/Paris","admin":"CustomizeApplication, ManageUsers, ManageData"}',
  );
});

// Specification, sandbox: 2.4-25, 2.4-26, 2.4-27, 2.4-28, 2.4-29, 2.4-30, 2.4-31, 2.4-32, 2.4-33, 2.4-34, 2.4-35
// Specification, sandbox: 2.4-36, 2.5-1, 2.5-3, 4.4-15
test('sends a value of every type, timestamps in the zone of the user', async () => {
  await using sandbox = await startTestSandbox({ tables: [everyType], clock: testClock() });

  const { text } = await call(sandbox, 'Test/select.json');

  const guid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(text)?.[0] ?? 'no guid';
  expect(text).toBe(
    '[{"@row.id":1,"@row.allow":"Edit, Delete","Id":"1","My Text":"a \\"b\\" \\\\ é","My Phone":"+33 1",' +
      '"My Multiline":"one\\r\\ntwo","My Checkbox":true,"My Numeric":0.1,"My Date":"2024-02-29T00:00:00+00:00",' +
      '"My Time":"0001-01-01T23:59:58+00:00","My Timestamp":"2026-07-01T14:00:00+02:00","My Duration":5400,' +
      '"My User":"Ann Lee <ann@example.com>","My EMail":"ann@example.com","My URL":"https://example.com/?a=b&c",' +
      `"My Attachment":"logo;1.png;1;${guid}","Record Owner":"Alice Martin <alice.martin@example.com>"},` +
      '{"@row.id":2,"@row.allow":"Edit, Delete","Id":"2","My Text":null,"My Phone":null,"My Multiline":null,' +
      '"My Checkbox":false,"My Numeric":null,"My Date":null,"My Time":null,' +
      '"My Timestamp":"2026-01-16T00:30:00+01:00","My Duration":null,"My User":null,"My EMail":null,"My URL":null,' +
      '"My Attachment":null,"Record Owner":"Alice Martin <alice.martin@example.com>"}]',
  );
});

test('sends every digit of a number, and never an exponent', async () => {
  const values = [0, -0, 5, -1.5, 1e-7, 1e21, 9007199254740993n, -9223372036854775808n, '1234567890.123456789'];
  await using sandbox = await startTestSandbox({ tables: [numbers(...values, '36893488147419103232', '0.30')] });

  const { text } = await call(sandbox, 'Number/select.json?column=N');

  expect(text.match(/"N":[^}]*/g)).toEqual([
    '"N":0',
    '"N":0',
    '"N":5',
    '"N":-1.5',
    '"N":0.0000001',
    '"N":1000000000000000000000',
    '"N":9007199254740993',
    '"N":-9223372036854775808',
    '"N":1234567890.123456789',
    '"N":36893488147419103232',
    '"N":0.3',
  ]);
});

test('sends a column named __proto__ as a column', async () => {
  await using sandbox = await startTestSandbox({
    tables: [
      {
        name: 'T',
        systemColumns: false,
        columns: [
          { name: '__proto__', type: 'Text' },
          { name: 'constructor', type: 'Text' },
        ],
        rows: [{ ['__proto__']: 'x', constructor: 'y' }],
      },
    ],
  });

  const { text } = await call(sandbox, 'T/select.json');

  expect(text).toBe('[{"@row.id":1,"@row.allow":"Edit, Delete","Id":"1","__proto__":"x","constructor":"y"}]');
});

test('sends no rows as an empty array', async () => {
  await using sandbox = await startTestSandbox({ tables: [{ name: 'T', columns: [] }] });

  expect((await call(sandbox, 'T/select.json')).text).toBe('[]');
  expect((await call(sandbox, 'T/retrieve.json?id=7')).text).toBe('[]');
});

// Specification, sandbox: 7-2
test.each([
  ['GET', 'Nope/select.json', 403, '{"error":403,"code":3000,"message":"Table does not exist","source":"Nope"}'],
  [
    'GET',
    'Test/select.json?column=Nope',
    400,
    '{"error":400,"code":3100,"message":"Column does not exist","source":"Nope"}',
  ],
  [
    'GET',
    'Test/select.csv',
    405,
    '{"error":405,"code":2000,"message":"The sandbox does not serve .csv; it answers in .json and .xml","source":"select.csv"}',
  ],
  [
    'GET',
    'Test/1/document.json',
    405,
    '{"error":405,"code":2000,"message":"The sandbox does not serve document","source":"document.json"}',
  ],
  [
    'GET',
    'setup/user.json?email=a@example.org',
    405,
    '{"error":405,"code":2000,"message":"The sandbox does not serve setup/user","source":"user.json"}',
  ],
  ['GET', 'Test/tables.json', 405, '{"error":405,"code":2000,"message":"Invalid method name"}'],
])('answers %s %s with a descriptor', async (verb, path, status, body) => {
  await using sandbox = await startTestSandbox({ tables: [{ name: 'Test', columns: [] }] });

  const answer = await call(sandbox, path, { verb });

  expect(answer).toMatchObject({ status, text: body });
});

// Specification, sandbox: 2.4-39, 2.4-41, 2.4-42, 2.4-43, 2.4-44, 2.4-45, 2.4-46
test('writes every type in XML as the specification shows them', async () => {
  await using sandbox = await startTestSandbox({ tables: [everyType], clock: testClock() });
  sandbox.store.changeUser({ timezone: 'Europe/Paris' });
  const guid = sandbox.store.rows('Test')[0]?.values['My Attachment'];

  const answer = await call(sandbox, 'Test/select.xml?top=1');

  expect(answer.headers['content-type']).toBe('text/xml;charset=utf-8');
  expect(answer.text.slice(answer.text.indexOf('<row '), answer.text.indexOf('<Record_x0020_Owner>'))).toBe(
    [
      '<row id="1" allow="Edit Delete"><Id>1</Id>',
      '<My_x0020_Text>a "b" \\ é</My_x0020_Text>',
      '<My_x0020_Phone>+33 1</My_x0020_Phone>',
      '<My_x0020_Multiline>one&#xD;\ntwo</My_x0020_Multiline>',
      '<My_x0020_Checkbox>true</My_x0020_Checkbox>',
      '<My_x0020_Numeric>0.100000</My_x0020_Numeric>',
      '<My_x0020_Date>2024-02-29</My_x0020_Date>',
      '<My_x0020_Time>23:59:58</My_x0020_Time>',
      '<My_x0020_Timestamp>2026-07-01T14:00:00+02:00</My_x0020_Timestamp>',
      '<My_x0020_Duration>PT5400S</My_x0020_Duration>',
      '<My_x0020_User>Ann Lee &lt;ann@example.com&gt;</My_x0020_User>',
      '<My_x0020_EMail>ann@example.com</My_x0020_EMail>',
      '<My_x0020_URL>https://example.com/?a=b&amp;c</My_x0020_URL>',
      `<My_x0020_Attachment>${String(guid)}</My_x0020_Attachment>`,
    ].join(''),
  );
});

// Specification, sandbox: 2.4-34, 2.4-43
test.each(['json', 'xml'])(
  'shows a Timestamp in whole seconds, with whatever fraction it was sent: %s',
  async (format) => {
    await using sandbox = await startTestSandbox({
      tables: [{ name: 'T', columns: [{ name: 'Seen', type: 'Timestamp' }] }],
    });

    const sent = await call(sandbox, 'T/create.json', {
      verb: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '[{"Seen":"2026-07-01T14:00:00.75"},{"Seen":"2026-07-01T14:00:01.999+02:00"}]',
    });
    const { text } = await call(sandbox, `T/select.${format}?column=Seen`);

    expect(sent.text).toBe('[{"status":201,"id":1,"key":"1"},{"status":201,"id":2,"key":"2"}]');
    expect(text.match(/2026-[^"<]*/g)).toEqual(['2026-07-01T14:00:00+02:00', '2026-07-01T14:00:01+02:00']);
  },
);

const COLON: TableSpec = {
  name: 'T',
  systemColumns: false,
  columns: [{ name: 'Size: cm', type: 'Text' }],
  rows: [{ 'Size: cm': 'x' }],
};

// Specification, sandbox: 2.4-47
test.each([
  ['as XML 1.0 allows it', false, '<Size:_x0020_cm>x</Size:_x0020_cm>'],
  ['escaped, if told so', true, '<Size_x003a__x0020_cm>x</Size_x003a__x0020_cm>'],
])('writes a colon in the name of a column %s', async (_how, escapesColons, element) => {
  await using sandbox = await startTestSandbox({ tables: [COLON], escapesColons });

  const { text } = await call(sandbox, 'T/select.xml?column=Size:%20cm');

  expect(text).toBe(
    '<?xml version="1.0" encoding="utf-8"?><Response xmlns:i="http://www.w3.org/2001/XMLSchema-instance">' +
      `<row id="1" allow="Edit Delete">${element}</row></Response>`,
  );
});

test.each(['Size:_x0020_cm', 'Size_x003a__x0020_cm'])(
  'reads a colon in the name of a column from <%s>',
  async (tag) => {
    await using sandbox = await startTestSandbox({ tables: [COLON] });

    const answer = await call(sandbox, 'T/update.json', {
      verb: 'POST',
      headers: { 'Content-Type': 'text/xml' },
      body: `<rows><row id="1"><${tag}>y</${tag}></row></rows>`,
    });

    expect(answer.text).toBe('[{"status":200,"id":1,"key":"1"}]');
    expect(sandbox.store.rows('T')[0]?.values['Size: cm']).toBe('y');
  },
);

// Specification, sandbox: 2.3-8
test('describes a width of every column, 0 where none bounds its values, or of text alone if told so', async () => {
  const tables: readonly TableSpec[] = [
    { name: 'T', systemColumns: false, columns: [{ name: 'A', type: 'Text', width: 40 }, ...everyType.columns] },
  ];
  const widthsOf = async (widthsOfTextOnly: boolean): Promise<readonly unknown[]> => {
    await using sandbox = await startTestSandbox({ tables, widthsOfTextOnly });
    const { columns } = JSON.parse((await call(sandbox, 'T/describe.json')).text) as { columns: { width?: number }[] };
    return columns.map(({ width }) => width);
  };

  expect(await widthsOf(false)).toEqual([0, 40, 255, ...TYPES.slice(1).map(() => 0)]);
  expect(await widthsOf(true)).toEqual([undefined, 40, 255, ...TYPES.slice(1).map(() => undefined)]);
});
