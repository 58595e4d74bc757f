import { describe, expect, test } from 'vitest';
import { MULTIPART_LIMITS } from '../../../src/sandbox/wire/multipart.ts';
import { contentIdFrom, fileByContentId, readWriteBody } from '../../../src/sandbox/wire/write-body.ts';
import { WireFault } from '../../../src/wire/fault.ts';

const ROWS = '[{"A":"x"}]';

const XML_ROWS = '<r><r><A>x</A></r></r>';

const READ = [{ id: null, cells: new Map([['A', 'x']]) }];

const RELATED = 'multipart/related;boundary=b';

function body(...lines: readonly string[]): Buffer {
  return Buffer.from(lines.join('\r\n'));
}

const FILE = ['--b', 'Content-Disposition: attachment;filename="a.png"', 'Content-ID: f1', '', 'PNG'];

const DATA = ['--b', 'Content-Type: application/json', '', ROWS];

function faultOf(bytes: Uint8Array, contentType: string | undefined): unknown {
  const read = readWriteBody(bytes, contentType);
  return read instanceof WireFault ? [read.status, read.message] : 'no fault';
}

describe('rows alone', () => {
  test.each([
    ['application/json', ROWS, 'json'],
    ['application/json;charset=UTF-8', ROWS, 'json'],
    ['APPLICATION/JSON ; charset="utf-8"', `\ufeff${ROWS}`, 'json'],
    ['application/json', '{"A":"x"}', 'json'],
    ['text/xml', XML_ROWS, 'xml'],
    ['text/xml;charset=utf-8', `<?xml version="1.0" encoding="utf-8"?>${XML_ROWS}`, 'xml'],
    ['application/xml', XML_ROWS, 'xml'],
  ])('%s', (contentType, text, extension) => {
    const read = readWriteBody(Buffer.from(text), contentType);

    expect(read).toMatchObject({ format: { extension }, rows: READ, files: new Map() });
  });

  test.each([
    [undefined, ROWS, 400],
    ['', ROWS, 400],
    ['application/x-www-form-urlencoded', 'A=x', 400],
    ['text/plain', ROWS, 415],
    ['multipart/form-data; boundary=b', ROWS, 415],
    ['application/json; charset=utf-16', ROWS, 415],
    ['application/json', '', 400],
    ['application/json', XML_ROWS, 400],
    ['text/xml', ROWS, 400],
    ['multipart/related', ROWS, 400],
  ])('%s with %s is answered with %i', (contentType, text, status) => {
    expect(faultOf(Buffer.from(text), contentType)).toEqual([status, expect.any(String)]);
  });

  test('bytes that are no UTF-8 are a fault', () => {
    expect(faultOf(Buffer.from('[{"A":"\xe9"}]', 'latin1'), 'application/json')).toEqual([
      400,
      'The rows are not UTF-8',
    ]);
  });

  test('a body beyond the bound is answered with 413', () => {
    const read = readWriteBody(Buffer.from(ROWS), 'application/json', { ...MULTIPART_LIMITS, bytesMax: 10 });

    expect(read).toMatchObject({ status: 413 });
  });
});

describe('rows with files', () => {
  test('parts come in any order, in either format', () => {
    const xmlData = ['--b', 'Content-Type: text/xml', '', XML_ROWS];
    for (const [parts, extension] of [
      [[...DATA, ...FILE], 'json'],
      [[...FILE, ...DATA], 'json'],
      [[...FILE, ...xmlData], 'xml'],
    ] as const) {
      const read = readWriteBody(body(...parts, '--b--'), RELATED);
      if (read instanceof WireFault) throw new Error(read.message);

      expect(read).toMatchObject({ format: { extension }, rows: READ });
      expect([...read.files]).toEqual([
        ['f1', { contentId: 'f1', name: 'a.png', type: 'application/octet-stream', bytes: Buffer.from('PNG') }],
      ]);
    }
  });

  test('a Content-ID may stand in angle brackets, a type with parameters is kept', () => {
    const file = [
      '--b',
      'Content-Disposition: x; filename=a',
      'Content-Type: text/plain; charset=x',
      'content-id: <f@1>',
      '',
      '',
    ];

    const read = readWriteBody(body(...DATA, ...file, '--b--'), RELATED);

    expect(read).toMatchObject({
      files: new Map([['f@1', { contentId: 'f@1', name: 'a', type: 'text/plain; charset=x' }]]),
    });
  });

  test.each([
    [
      'a file without Content-ID',
      ['--b', 'Content-Disposition: x; filename=a', '', ''],
      400,
      'Part 2 is a file without a Content-ID',
    ],
    [
      'an empty Content-ID',
      ['--b', 'Content-Disposition: x; filename=a', 'Content-ID: <>', '', ''],
      400,
      'Part 2 is a file without a Content-ID',
    ],
    ['two files of one id', [...FILE, ...FILE], 400, 'Part 3 has the Content-ID of an earlier part'],
    ['two parts with rows', DATA, 400, 'Part 2 is a second part without a file name'],
    [
      'a name that breaks a line',
      ['--b', "Content-Disposition: x; filename*=UTF-8''a%0D%0Ab", 'Content-ID: 1', '', ''],
      400,
      'The file name in part 2 cannot be read',
    ],
    [
      'a file in base64',
      [...FILE.slice(0, 3), 'Content-Transfer-Encoding: base64', '', 'UE5H'],
      415,
      'Part 2 has a Content-Transfer-Encoding',
    ],
  ] as const)('%s is a fault', (_, parts, status, message) => {
    expect(faultOf(body(...DATA, ...parts, '--b--'), RELATED)).toEqual([status, expect.stringContaining(message)]);
  });

  test.each([
    ['no part with rows', FILE, 400, 'The body has no part with rows'],
    ['no parts', [], 400, 'The body has no part with rows'],
    ['rows without a type', ['--b', '', ROWS], 400, 'Rows come as application/json or text/xml'],
    [
      'rows of another type',
      ['--b', 'Content-Type: text/csv', '', ROWS],
      415,
      'Rows come as application/json or text/xml',
    ],
    ['rows that are no JSON', ['--b', 'Content-Type: application/json', '', '['], 400, 'The body is not complete JSON'],
  ] as const)('%s is a fault', (_, parts, status, message) => {
    expect(faultOf(body(...parts, '--b--'), RELATED)).toEqual([status, expect.stringContaining(message)]);
  });

  test('a cell refers to a file by its id, percent-encoded or not; a missing file is undefined', () => {
    const file = { contentId: 'f @1', name: 'a', type: 'b', bytes: Buffer.of() };
    const files = new Map([[file.contentId, file]]);

    expect(contentIdFrom('cid:f1')).toBe('f1');
    expect(contentIdFrom('CID:f1')).toBe('f1');
    expect(contentIdFrom('a;1;guid')).toBeNull();
    expect(fileByContentId(files, 'f @1')).toBe(file);
    expect(fileByContentId(files, 'f%20%401')).toBe(file);
    expect(fileByContentId(files, 'f%zz')).toBeUndefined();
    expect(fileByContentId(files, '')).toBeUndefined();
  });
});
