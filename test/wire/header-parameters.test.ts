/** Headers with parameters and file names, against the examples of the RFCs and what clients send. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  fileNameFromDisposition,
  fileNameParameter,
  isHeaderText,
  readHeaderValue,
} from '../../src/wire/header-parameters.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { downloadDisposition } from '../../src/sandbox/wire/query.ts';

describe('parameters', () => {
  test.each([
    [undefined, '', {}],
    ['', '', {}],
    ['application/json', 'application/json', {}],
    ['Application/JSON;charset=UTF-8', 'application/json', { charset: 'UTF-8' }],
    ['text/xml ; Charset = "utf-8" ', 'text/xml', { charset: 'utf-8' }],
    ['multipart/related;boundary=part-5f2a.12345678', 'multipart/related', { boundary: 'part-5f2a.12345678' }],
    [
      'multipart/related; type="text/xml"; boundary="a b;\\"c\\\\"',
      'multipart/related',
      { type: 'text/xml', boundary: 'a b;"c\\' },
    ],
    ['a/b; boundary==_x=?; x', 'a/b', { boundary: '=_x=?' }],
    ['a/b; c=1 ; d=2', 'a/b', { c: '1', d: '2' }],
    ['a/b; c=1; C=2', 'a/b', { c: '1' }],
    ['a/b; __proto__=1', 'a/b', { ['__proto__']: '1' }],
    ['a/b; c="open', 'a/b', { c: '' }],
  ])('%s', (header, value, parameters) => {
    const read = readHeaderValue(header);

    expect(read.value).toBe(value);
    expect([...read.parameters]).toEqual(Object.entries(parameters));
  });
});

describe('file names', () => {
  test.each([
    [undefined, null],
    ['attachment', null],
    ['form-data; name="a"', null],
    ['attachment; filename="a b.png"', 'a b.png'],
    ['attachment;filename=a.png', 'a.png'],
    ["attachment;filename*=UTF-8''%E2%82%AC%20rates.png", '€ rates.png'],
    ["attachment; filename*=utf-8'en'a%20b", 'a b'],
    ["attachment; filename*=iso-8859-1'en'%A3%20rates", '£ rates'],
    ['attachment; filename="fallback"; filename*=UTF-8\'\'%C3%A9', 'é'],
    ['attachment; filename="fallback"; filename*=UTF-8\'\'%E9', 'fallback'],
    ['attachment; filename=""', ''],
    ['attachment; filename="../../etc/passwd"', '../../etc/passwd'],
    ["attachment; filename*=UTF-8''%E9", undefined],
    ["attachment; filename*=koi8-r''%E9", undefined],
    ["attachment; filename*=UTF-8''a%0D%0ASet-Cookie:%20b", undefined],
    ['attachment; filename="a\u0000b"', undefined],
    ['attachment; filename="a\ud83d"', undefined],
    ["attachment; filename*=.UTF-8''a", undefined],
  ])('%s names %j', (header, name) => {
    expect(fileNameFromDisposition(header)).toBe(name);
  });

  test.each([
    ['photo 1.png', 'filename="photo 1.png"'],
    ['a"b.png', "filename*=UTF-8''a%22b.png"],
    ['a;b.png', "filename*=UTF-8''a%3Bb.png"],
    ["it's (1)*.png", "filename*=UTF-8''it%27s%20%281%29%2A.png"],
    ['€.png', "filename*=UTF-8''%E2%82%AC.png"],
    ['a\r\nb', "filename*=UTF-8''a%0D%0Ab"],
  ])('%j is written as %s', (name, parameter) => {
    expect(fileNameParameter(name)).toBe(parameter);
  });

  test('a download carries both forms (specification 4.9)', () => {
    expect(downloadDisposition('naïve 😀.png')).toBe(
      `attachment; filename="na_ve _.png"; filename*=UTF-8''na%C3%AFve%20%F0%9F%98%80.png`,
    );
  });

  test('every name without control characters is read back, from either form', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }).filter(isHeaderText), (name) => {
        expect(fileNameFromDisposition(`attachment; ${fileNameParameter(name)}`)).toBe(name);
        expect(fileNameFromDisposition(downloadDisposition(name))).toBe(name);
        expect(isHeaderText(downloadDisposition(name))).toBe(true);
      }),
      fuzzRuns(1_000),
    );
  });
});
