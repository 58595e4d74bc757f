/**
 * What is read out of files that other programs wrote: no value is lost, and none is invented.
 */
import { parquetWriteBuffer } from 'hyparquet-writer';
import { expect, test } from 'vitest';
import { readRows } from '../../../src/extras/import/read-file.ts';

const read = async (name: string, content: string | ArrayBuffer) => {
  const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(content);
  const { headers, rows, problems } = await readRows(name, bytes, undefined);
  return { headers, rows: rows.map(({ cells }) => cells), lines: rows.map(({ line }) => line), problems };
};

test.each([
  ['LF', 'a,b\n1,x\n2,y\n'],
  ['CRLF', 'a,b\r\n1,x\r\n2,y\r\n'],
  ['CR', 'a,b\r1,x\r2,y\r'],
  ['LF, then CRLF', 'a,b\n1,x\r\n2,y\r\n'],
  ['CRLF, then LF', 'a,b\r\n1,x\n2,y'],
])('lines end with %s', async (_end, text) => {
  expect(await read('a.csv', text)).toEqual({
    headers: ['a', 'b'],
    rows: [
      ['1', 'x'],
      ['2', 'y'],
    ],
    lines: [2, 3],
    problems: [],
  });
});

test('a CR inside a cell stays there, and lines in quotes count', async () => {
  const { rows, lines } = await read('a.csv', 'a,b\n1,x\ry\n2,"p\r\nq"\n3,z\n');

  expect(rows).toEqual([
    ['1', 'x\ry'],
    ['2', 'p\r\nq'],
    ['3', 'z'],
  ]);
  expect(lines).toEqual([2, 3, 5]);
});

test('a float of 32 bits has the digits that it was written with', async () => {
  const data = [0.1, 16777216, -1234.567, 3.4e38, null].map((value) => (value === null ? null : Math.fround(value)));
  const file = parquetWriteBuffer({ columnData: [{ name: 'f', data, type: 'FLOAT' }] });

  const { rows } = await read('a.parquet', file);

  expect(rows.slice(0, 3)).toEqual([[{ plain: '0.1' }], [{ plain: '16777216' }], [{ plain: '-1234.567' }]]);
  expect(rows[4]).toEqual([null]);
});

test('durations of pandas are refused, since only its own notes have their unit', async () => {
  const value = JSON.stringify({
    columns: [{ name: 'Took', field_name: 'Took', pandas_type: 'object', numpy_type: 'timedelta64[ns]' }],
  }).replaceAll(/([:,])(?=["{])/g, '$1 ');
  const file = parquetWriteBuffer({
    columnData: [{ name: 'Took', data: [3_600_000_000_000n], type: 'INT64' }],
    kvMetadata: [{ key: 'pandas', value }],
  });

  await expect(read('a.parquet', file)).rejects.toThrow('its column "Took" holds durations');
});

test('a text of a Parquet file keeps the character that is a BOM at the beginning of a file', async () => {
  const file = parquetWriteBuffer({
    columnData: [{ name: 't', data: ['\u{FEFF}x', null, '\u{FEFF}', null, '\u{FEFF}'], type: 'STRING' }],
  });

  expect((await read('a.parquet', file)).rows).toEqual([['\u{FEFF}x'], [null], ['\u{FEFF}'], [null], ['\u{FEFF}']]);
});

test('bytes of a Parquet file that are no text in UTF-8 are refused, not replaced', async () => {
  const data = [Uint8Array.of(0x4d, 0xfc), Uint8Array.of(0x78)];
  const columnData = [{ name: 't', data }];
  const schema = [
    { name: 'root', num_children: 1 },
    { name: 't', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL', converted_type: 'UTF8' },
  ] as const;

  const file = parquetWriteBuffer({ columnData, schema: [...schema] });

  await expect(read('a.parquet', file)).rejects.toMatchObject({ code: 'usage.invalid' });
});
