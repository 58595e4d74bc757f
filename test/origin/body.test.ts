import { deflateSync, gzipSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import { textFromBody } from '../../src/origin/answers.ts';

const TEXT = '[{"@row.id":1,"Name":"Zoë 中"}]';
const PLAIN = Buffer.from(TEXT);
const GZIP = gzipSync(PLAIN);
const MANY = 1_024 * 1_024;

/** A gzip body whose last four bytes announce another size than it has. */
function announcing(bytes: number): Buffer {
  const body = Buffer.from(GZIP);
  body.writeUInt32LE(bytes, body.length - 4);
  return body;
}

describe('textFromBody', () => {
  test.each([
    ['plain', PLAIN, undefined],
    ['identity', PLAIN, 'identity'],
    ['an empty encoding', PLAIN, ''],
    ['gzip', GZIP, 'gzip'],
    ['gzip in capitals', GZIP, ' GZIP '],
    ['x-gzip', GZIP, 'x-gzip'],
    ['gzip in two members', Buffer.concat([gzipSync(PLAIN.subarray(0, 7)), gzipSync(PLAIN.subarray(7))]), 'gzip'],
    ['a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), PLAIN]), undefined],
  ])('reads %s', (_title, body, encoding) => {
    expect(textFromBody(body, encoding, MANY)).toEqual({ kind: 'text', text: TEXT });
  });

  test.each([
    ['an empty body', Buffer.alloc(0)],
    ['an empty gzip body', gzipSync('')],
  ])('reads %s as an empty text', (_title, body) => {
    const encoding = body.length === 0 ? undefined : 'gzip';

    expect(textFromBody(body, encoding, MANY)).toEqual({ kind: 'text', text: '' });
  });

  test.each([
    ['deflate', deflateSync(PLAIN), 'deflate'],
    ['br', PLAIN, 'br'],
    ['gzip twice', gzipSync(GZIP), 'gzip, gzip'],
    ['gzip and another', GZIP, 'gzip, br'],
    ['two headers', GZIP, ['gzip', 'gzip']],
    ['one header of many names', GZIP, 'gzip,gzip,gzip,gzip,gzip'],
  ])('refuses %s', (_title, body, encoding) => {
    expect(textFromBody(body, encoding, MANY)).toEqual({ kind: 'unknownEncoding' });
  });

  test('takes a body of exactly the bound, compressed or not', () => {
    expect(textFromBody(PLAIN, undefined, PLAIN.length).kind).toBe('text');
    expect(textFromBody(GZIP, 'gzip', PLAIN.length).kind).toBe('text');
  });

  test('refuses a body of one byte more, compressed or not', () => {
    expect(textFromBody(PLAIN, undefined, PLAIN.length - 1)).toEqual({ kind: 'tooLarge' });
    expect(textFromBody(GZIP, 'gzip', PLAIN.length - 1)).toEqual({ kind: 'tooLarge' });
  });

  test('refuses a bomb of 200 members of 1 MB each', () => {
    const bomb = Buffer.concat(Array.from<Buffer>({ length: 200 }).fill(gzipSync(Buffer.alloc(1_000_000))));

    expect(bomb.length).toBeLessThan(250_000);
    expect(textFromBody(bomb, 'gzip', MANY)).toEqual({ kind: 'tooLarge' });
  });

  test.each([
    ['cut in the middle', GZIP.subarray(0, GZIP.length - 12)],
    ['cut by one byte', GZIP.subarray(0, GZIP.length - 1)],
    ['shorter than gzip can be', GZIP.subarray(0, 10)],
    ['empty', Buffer.alloc(0)],
    ['not gzip at all', PLAIN],
    ['that announces one byte less', announcing(PLAIN.length - 1)],
    ['that announces 4 GB', announcing(0xffff_ffff)],
  ])('finds a gzip body damaged: %s', (_title, body) => {
    expect(textFromBody(body, 'gzip', MANY)).toEqual({ kind: 'damaged' });
  });

  test('refuses bytes that are not UTF-8 rather than replacing them', () => {
    const latin1 = Buffer.from(TEXT, 'latin1');

    expect(textFromBody(latin1, undefined, MANY)).toEqual({ kind: 'notUtf8' });
    expect(textFromBody(gzipSync(latin1), 'gzip', MANY)).toEqual({ kind: 'notUtf8' });
  });
});
