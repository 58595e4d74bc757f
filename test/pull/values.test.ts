import { expect, test } from 'vitest';

import { startFixture } from '../support/replica.ts';

test('stores every column type as the documentation says', async () => {
  await using fixture = await startFixture({
    tables: [
      {
        name: 'All',
        systemColumns: false,
        columns: [
          { name: 'Text', type: 'Text' },
          { name: 'Phone', type: 'Phone' },
          { name: 'EMail', type: 'EMail' },
          { name: 'URL', type: 'URL' },
          { name: 'User', type: 'User' },
          { name: 'Multiline', type: 'Multiline' },
          { name: 'Checkbox', type: 'Checkbox' },
          { name: 'Numeric', type: 'Numeric' },
          { name: 'Date', type: 'Date' },
          { name: 'Time', type: 'Time' },
          { name: 'Timestamp', type: 'Timestamp' },
          { name: 'Duration', type: 'Duration' },
          { name: 'Location', type: 'Location' },
        ],
        rows: [
          {
            Text: '00123',
            Phone: '+33 1 23',
            EMail: 'a@b.example',
            URL: 'https://a.example/',
            User: 'Ann <ann@a.example>',
            Multiline: 'one\ntwo',
            Checkbox: true,
            Numeric: 12.5,
            Date: '2026-02-28',
            Time: '23:59:58',
            Timestamp: '2026-07-01T10:00:00Z',
            Duration: 5400,
            Location: '48.8,2.3',
          },
          { Checkbox: false },
        ],
      },
    ],
  });

  const report = await fixture.pull();

  expect(report.tables[0]).toMatchObject({ error: null, unreadableCount: 0 });
  const [full, empty] = fixture.rows('SELECT * FROM "All" ORDER BY _id') as Record<string, unknown>[];
  expect(full).toMatchObject({
    Id: '1',
    Text: '00123',
    Phone: '+33 1 23',
    EMail: 'a@b.example',
    URL: 'https://a.example/',
    User: 'Ann <ann@a.example>',
    Multiline: 'one\ntwo',
    Checkbox: 1,
    Numeric: 12.5,
    Date: '2026-02-28',
    Time: '23:59:58',
    Timestamp: '2026-07-01T10:00:00Z',
    Duration: 5400,
    Location: '48.8,2.3',
  });
  expect(empty).toMatchObject({ Text: null, Multiline: null, Checkbox: 0, Numeric: null, Date: null, Timestamp: null });
  expect(
    fixture.rows(
      'SELECT typeof("Duration") AS d, typeof("Numeric") AS n, typeof("Checkbox") AS c FROM "All" WHERE "Id" = \'1\'',
    ),
  ).toEqual([{ d: 'integer', n: 'real', c: 'integer' }]);
});

test.each([
  ['5', 'integer', '5'],
  ['-0', 'integer', '0'],
  ['5.0', 'integer', '5'],
  ['3000000000', 'integer', '3000000000'],
  ['9007199254740993', 'integer', '9007199254740993'],
  ['9223372036854775807', 'integer', '9223372036854775807'],
  ['-9223372036854775808', 'integer', '-9223372036854775808'],
  ['9223372036854775808', 'text', '9223372036854775808'],
  ['1e19', 'text', '10000000000000000000'],
  ['1.5E+25', 'text', '15000000000000000000000000'],
  ['0.1', 'real', '0.1'],
  ['1e-7', 'real', '1.0e-07'],
  ['123456789.0123456789', 'text', '123456789.0123456789'],
  ['1234567890.123456789', 'text', '1234567890.123456789'],
  ['1e400', 'text', `1${'0'.repeat(400)}`],
])('keeps every digit of %s', async (sent, storedAs, text) => {
  await using fixture = await startFixture({
    tables: [{ name: 'N', columns: [{ name: 'V', type: 'Numeric' }], rows: [{ V: 1 }], systemColumns: false }],
  });
  const [id] = fixture.sandbox.store.ids('N');
  const body = `[{"@row.id":${id},"@row.allow":"Edit","Id":"1","V":${sent}}]`;
  fixture.sandbox.answerInstead(
    1,
    { status: 200, headers: { 'Content-Type': 'application/json', ETag: '"x"' }, body },
    { method: 'select' },
  );

  const report = await fixture.pull();

  expect(report.tables[0]?.error).toBeNull();
  expect(fixture.rows('SELECT typeof("V") AS kind, CAST("V" AS TEXT) AS text FROM "N"')).toEqual([
    { kind: storedAs, text },
  ]);
});
