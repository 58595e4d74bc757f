/**
 * Words and numbers for people.
 */
import { assert, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import {
  ageText,
  bytesText,
  countText,
  displayWidth,
  durationText,
  plural,
  printable,
  printableJson,
  printableLines,
  truncate,
  wrap,
  wrapProse,
} from '../../src/base/text.ts';

test.each([
  ['a\u001B[31mred', String.raw`a\u001b[31mred`],
  ['bell\u0007', String.raw`bell\u0007`],
  ['c1\u009B2J', String.raw`c1\u009b2J`],
  ['del\u007F', String.raw`del\u007f`],
  ['line\r\nbreak\t', String.raw`line\r\nbreak\t`],
  ['abc\u202Etxt.exe', String.raw`abc\u202etxt.exe`],
  ['zero\u200Bwidth', String.raw`zero\u200bwidth`],
  ['isolate\u2066x\u2069', String.raw`isolate\u2066x\u2069`],
  ['mark\uFEFF', String.raw`mark\ufeff`],
  ['separator\u2028', String.raw`separator\u2028`],
  ['tag\u{E0041}', String.raw`tag\udb40\udc41`],
  ['lone\uD800', String.raw`lone\ud800`],
  ['Ünïcödé 漢字 🎉 \\', 'Ünïcödé 漢字 🎉 \\'],
])('makes %j safe to print', (text, safe) => {
  expect(printable(text)).toBe(safe);
});

test('leaves nothing that a terminal would act on', () => {
  assert(
    property(string({ unit: 'binary' }), (text) => {
      expect(printable(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
    { examples: [['\u001B]0;title\u0007']] },
  );
});

test('keeps the line breaks of our own messages', () => {
  expect(printableLines('one\ntwo\u001B')).toBe('one\ntwo\\u001b');
});

test('escapes JSON without changing what it means', () => {
  assert(
    property(string({ unit: 'binary' }), (text) => {
      expect(JSON.parse(printableJson(JSON.stringify(text)))).toBe(text);
    }),
  );
});

test.each([
  ['abc', 3],
  ['漢字', 4],
  ['e\u0301', 1],
  ['🎉', 2],
  ['ｆ', 2],
])('%j takes %i columns', (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

test.each([
  ['abcdef', 6, 'abcdef'],
  ['abcdef', 4, 'abc…'],
  ['漢字漢字', 5, '漢字…'],
  ['漢字漢字', 4, '漢…'],
])('cuts %j to %i columns', (text, width, cut) => {
  expect(truncate(text, width)).toBe(cut);
});

test.each([
  [0, '0.0 s'],
  [340, '0.3 s'],
  [9_940, '9.9 s'],
  [9_960, '10 s'],
  [59_400, '59 s'],
  [59_600, '1 min'],
  [185_000, '3 min 5 s'],
  [7_440_000, '2 h 4 min'],
  [86_400_000 * 5 + 3_600_000 * 3, '5 d 3 h'],
])('%i ms is %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test.each([
  [null, 'never'],
  ['2026-11-21T12:00:00Z', 'just now'],
  ['2026-11-21T11:59:53Z', '10 s ago'],
  ['2026-11-21T11:55:00Z', '5 min ago'],
  ['2026-11-21T09:30:00Z', '2 h ago'],
  ['2026-11-18T09:30:00Z', '3 d ago'],
  ['2026-11-21T13:00:00Z', 'in the future'],
  ['soon', 'unknown'],
])('at noon, %s was %s', (stamp, text) => {
  expect(ageText(stamp, Date.parse('2026-11-21T12:00:02Z'))).toBe(text);
});

test('writes counts and sizes as people do', () => {
  expect(countText(1_234_567)).toBe('1,234,567');
  expect(plural(1, 'row')).toBe('1 row');
  expect(plural(0, 'row')).toBe('0 rows');
  expect([0, 1023, 1024, 1_048_575, 5 * 1024 ** 3].map(bytesText)).toEqual([
    '0 B',
    '1023 B',
    '1.0 KiB',
    '1.0 MiB',
    '5.0 GiB',
  ]);
});

test('a letter of Latin, Greek or Cyrillic is one column, and never part of the character before it', () => {
  const range = (from: number, to: number): string =>
    String.fromCharCode(...Array.from({ length: to - from + 1 }, (_, index) => from + index));
  const letters = range(0xa0, 0x2ff) + range(0x370, 0x482);
  const characters = [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(letters)];

  expect(characters.map(({ segment }) => segment)).toEqual(letters.split(''));
  expect(displayWidth(letters)).toBe(letters.length);
  expect(displayWidth('e\u0301')).toBe(1);
  expect([0, 1, 4].map((width) => truncate('Réclamation', width))).toEqual(['…', '…', 'Réc…']);
});

test('a long value is cut behind a blank where it has one, and loses nothing', () => {
  expect(wrap('Customer names Employee', 12)).toEqual(['Customer ', 'names ', 'Employee']);
  expect(wrap('abcdefgh', 3)).toEqual(['abc', 'def', 'gh']);
  expect(wrap(' aa漢', 3)).toEqual([' ', 'aa', '漢']);
  expect(wrap('a漢', 1)).toEqual(['a', '漢']);
  assert(
    property(string({ unit: 'grapheme' }), (text) => {
      expect(wrap(text, 7).join('')).toBe(text);
    }),
  );
});

test('prose keeps its words whole, and what follows is below its first word', () => {
  const text =
    'error: no such table\n  what to do: choose another of the tables\nuser      alice.martin@example.com, Administrator\n';

  expect(wrapProse(text, null)).toBe(text);
  expect(wrapProse(text, 24).split('\n')).toEqual([
    'error: no such table',
    '  what to do: choose',
    '  another of the tables',
    'user      alice.martin@e',
    '          xample.com,',
    '          Administrator',
    '',
  ]);
  expect(wrapProse('│ a table, which fits │', 10)).toBe('│ a table, which fits │');
});
