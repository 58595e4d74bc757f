import { describe, expect, test, vi } from 'vitest';
import {
  basicHeader,
  clockAheadMs,
  etagFor,
  isCacheable,
  keptEtag,
  mediaType,
  readEtag,
  readRetryAfterMs,
} from '../../src/wire/headers.ts';

describe('readEtag', () => {
  test.each([
    ['a strong tag', '"0123456789"', '"0123456789"'],
    ['a tag with a point', '"43210.98765"', '"43210.98765"'],
    ['a weak tag', 'W/"abc"', 'W/"abc"'],
    ['a tag between spaces', '  "abc" ', '"abc"'],
    ['an empty tag', '""', '""'],
    [
      'a tag with punctuation',
      String.raw`"!#$%&'()*+,-./:;<=>?@[\]^_{|}~"`,
      String.raw`"!#$%&'()*+,-./:;<=>?@[\]^_{|}~"`,
    ],
    ['no header', undefined, null],
    ['an empty header', '', null],
    ['a tag without quotes', 'abc', null],
    ['a tag without its end', '"abc', null],
    ['two tags', '"a", "b"', null],
    ['a quote inside', '"a"b"', null],
    ['a space inside', '"a b"', null],
    ['a line break inside', '"a\r\nX-Header: 1"', null],
    ['a character outside of Latin 1', '"€"', null],
    ['a weak mark in a small letter', 'w/"abc"', null],
  ])('reads %s', (_title, header, etag) => {
    expect(readEtag(header)).toBe(etag);
  });
});

describe('isCacheable', () => {
  test.each([
    ['no header', undefined, true],
    ['what the specification prescribes', 'private, must-revalidate, max-age=0', true],
    ['no-cache', 'no-cache', false],
    ['no-cache among others, in capitals', 'private, No-Cache, max-age=0', false],
    ['no-cache for one field', 'no-cache="Set-Cookie"', false],
    ['no-store', 'private,no-store', false],
    ['a longer word', 'x-no-cache-hint', true],
    ['no-cache inside of a longer word', 'no-cached', true],
  ])('%s', (_title, header, cacheable) => {
    expect(isCacheable(header)).toBe(cacheable);
  });
});

describe('readRetryAfterMs', () => {
  const nowMs = Date.UTC(1994, 10, 6, 8, 49, 0);

  test.each([
    ['seconds', '120', 120_000],
    ['zero', '0', 0],
    ['seconds between spaces', ' 7 ', 7_000],
    ['an HTTP date', 'Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
    ['a date with a two-digit year', 'Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
    ['a date as C prints it, which is GMT too', 'Sun Nov  6 08:49:37 1994', 37_000],
    ['a date in the past', 'Sat, 05 Nov 1994 08:49:37 GMT', 0],
    ['a date far away', 'Mon, 06 Nov 2094 08:49:00 GMT', Date.UTC(2094, 10, 6) - Date.UTC(1994, 10, 6)],
    ['no header', undefined, null],
    ['an empty header', '', null],
    ['a negative number', '-5', null],
    ['a fraction', '1.5', 2_000],
    ['more digits than any wait', '99999999999999999999', Number.MAX_SAFE_INTEGER],
    ['several headers, the longest of them', ['5', 'soon', '9'], 9_000],
    ['a list, as proxies make of several headers', '5, 9', 9_000],
    ['several headers without sense', ['soon', ''], null],
    ['words', 'soon', null],
    ['a date without a day', '1994-11-06T08:49:37Z', null],
    ['a date behind a word', 'x Sun, 06 Nov 1994 08:49:37 GMT', null],
    ['a date that does not exist', 'Sun, 99 Nov 1994 08:49:37 GMT', null],
  ])('reads %s', (_title, header, ms) => {
    expect(readRetryAfterMs(header, nowMs)).toBe(ms);
  });
});

test('a date without a zone is GMT on every machine', () => {
  vi.stubEnv('TZ', 'America/New_York');

  expect(readRetryAfterMs('Sun Nov  6 08:49:37 1994', Date.UTC(1994, 10, 6, 8, 49, 0))).toBe(37_000);
});

test.each([
  ['application/json', 'application/json'],
  ['application/json;charset=utf-8', 'application/json'],
  [' Text/HTML ; charset="x;y"', 'text/html'],
  ['', ''],
  [undefined, ''],
])('mediaType of %s is %s', (header, type) => {
  expect(mediaType(header)).toBe(type);
});

// The two examples of RFC 7617, sections 2 and 2.1.
test.each([
  ['Aladdin', 'open sesame', 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=='],
  ['test', '123£', 'Basic dGVzdDoxMjPCow=='],
])('a Basic header of %s is what RFC 7617 says', (user, password, header) => {
  expect(basicHeader(user, password)).toBe(header);
});

test.each<[string, Record<string, string>, number | null]>([
  ['a date', { date: 'Thu, 26 Nov 2026 12:00:00 GMT' }, 60_000],
  ['an answer that a cache kept', { date: 'Thu, 26 Nov 2026 11:00:00 GMT', age: '3600' }, 60_000],
  ['an age that is none', { date: 'Thu, 26 Nov 2026 12:00:00 GMT', age: 'x5' }, 60_000],
  ['an age with a unit', { date: 'Thu, 26 Nov 2026 12:00:00 GMT', age: '5s' }, 60_000],
  ['no date', {}, null],
  ['what is no date', { date: 'soon' }, null],
])('%s says by how much a clock is ahead', (_what, headers, expected) => {
  expect(clockAheadMs(headers, Date.UTC(2026, 10, 26, 12, 1))).toBe(expected);
});

test('a kept ETag comes back for its own URL only, and without one where there was none', () => {
  const kept = keptEtag('https://a.example/x/attachments.json?id=1', 'W/"a"');

  expect(etagFor('https://a.example/x/attachments.json?id=1', kept)).toBe('W/"a"');
  expect(etagFor('https://a.example/x/attachments.xml?id=1', kept)).toBeNull();
  expect(etagFor('https://a.example/x/attachments.json?id=1&revisions=2', kept)).toBeNull();
  expect(etagFor('https://a.example/x/attachments.json?id=1', '"of an earlier version"')).toBeNull();
  expect(keptEtag('https://a.example/x', null)).toBeNull();
  expect(etagFor('https://a.example/x', undefined)).toBeNull();
});
