/** The rules of every column type, value by value. */
import { expect, test } from 'vitest';
import { ExactNumber } from '../../src/wire/exact-json.ts';
import { emailOfUser, isTextType, TYPE_RULES, type Given } from '../../src/wire/column-types.ts';
import { COLUMN_TYPES, type ColumnType, type Value } from '../../src/wire/schema.ts';

test.each<[ColumnType, Value, Value, boolean]>([
  ['Text', '', null, true],
  ['Text', '', 'a', false],
  ['Text', 'a', null, false],
  ['User', '', null, true],
  ['User', 'a', null, false],
  ['User', null, 'a@b.example', false],
  ['User', 'Ann <a@b.example>', 'A@B.example', true],
  ['User', 'Ann <a@b.example>', 'Ann <c@b.example>', false],
  ['Checkbox', null, false, true],
  ['Checkbox', null, null, false],
  ['Checkbox', null, true, false],
  ['Checkbox', true, false, false],
  ['Numeric', 0.1234567, 0.123457, true],
  ['Numeric', 0.1234567, 0.123459, false],
  ['Numeric', null, 0, false],
  ['Numeric', 0.1234567, null, false],
  ['Duration', 0.1234567, 0.123457, true],
  ['Timestamp', '2026-07-01T10:00:00.5Z', '2026-07-01T10:00:00Z', true],
  ['Timestamp', '2026-07-01T10:00:00.25Z', '2026-07-01T10:00:00Z', true],
  ['Timestamp', '2026-07-01T10:00:01.5Z', '2026-07-01T10:00:00Z', false],
  ['Timestamp', 5, '5', false],
  ['Timestamp', null, null, false],
  ['Date', '', null, true],
])('of a %s, the origin may make of %o the value %o: %s', (type, sent, there, expected) => {
  expect(TYPE_RULES[type].isTakenAs(sent, there)).toBe(expected);
});

test.each<[ColumnType, Given, Given, boolean]>([
  ['Numeric', 1, '1.0', true],
  ['Numeric', 1.5, '1.50', true],
  ['Numeric', 10n ** 20n, '1e20', true],
  ['Numeric', 1, '2', false],
  ['Numeric', 'one', 'two', false],
  ['Text', 'a', 'A', false],
  ['Text', '1', '1.0', false],
  ['Checkbox', true, false, false],
])('two values of a %s are one: %o and %o: %s', (type, one, other, expected) => {
  expect(TYPE_RULES[type].isSame(one, other)).toBe(expected);
});

test.each<[ColumnType, unknown, string | null]>([
  ['Text', 'a', null],
  ['Text', 5, 'the value is not a text'],
  ['Text', 'half \ud83d', 'the text has half a character in it'],
  ['Checkbox', false, null],
  ['Checkbox', 0, 'a checkbox is true or false (in SQL, 1 or 0)'],
  ['Numeric', 0, null],
  ['Numeric', 10n, null],
  ['Numeric', '1.5', null],
  ['Numeric', Number.NaN, 'the value is not a number'],
  ['Numeric', 'x', 'the value is not a number'],
  ['Numeric', true, 'the value is not a number'],
  ['Duration', 90, null],
  ['Date', '2026-02-28', null],
  ['Date', '2026-02-30', 'a date is written YYYY-MM-DD'],
  ['Date', 20260228, 'a date is written YYYY-MM-DD'],
  ['Time', '23:59:59', null],
  ['Time', '24:00:00', 'a time is written hh:mm:ss'],
  ['Time', 235959, 'a time is written hh:mm:ss'],
  ['Timestamp', '2026-11-21T10:22:15Z', null],
  ['Timestamp', '2026-11-21T10:22:15.25Z', null],
  ['Timestamp', '2026-11-21T10:22:15+00:00', 'a timestamp is written YYYY-MM-DDThh:mm:ssZ, in UTC'],
  ['Timestamp', '2026-02-30T10:22:15Z', 'a timestamp is written YYYY-MM-DDThh:mm:ssZ, in UTC'],
  ['Timestamp', 5, 'a timestamp is written YYYY-MM-DDThh:mm:ssZ, in UTC'],
  ['Attachment', 'file:a', null],
  ['Attachment', 'file:', 'a file is attached by file: and its name'],
  ['Attachment', 'a', 'a file is attached by file: and its name'],
  ['Attachment', 5, 'a file is attached by file: and its name'],
])('a %s %o is sent, or says why not: %s', (type, value, reason) => {
  expect(TYPE_RULES[type].sendProblem(value as Given)).toBe(reason);
});

test.each<[Given, boolean]>([
  ['cid:1', true],
  ['CID:1', true],
  ['a cid:1', false],
  ['cid:\ud83d', false],
  [5, false],
])('a body carries a file as %o: %s', (value, isFit) => {
  expect(TYPE_RULES.Attachment.inputProblem?.(value)).toBe(
    isFit ? null : 'an attachment is cid: and the content id of a file that is sent with it',
  );
});

test.each<[ColumnType, Given, string | null]>([
  ['Text', 'a"b', '"a\\"b"'],
  ['Text', 5, '"5"'],
  ['User', 'a@b.example', null],
  ['Checkbox', true, null],
  ['Attachment', 'a', null],
  ['Unknown', 'a', null],
  ['Numeric', 1.5, '1.5'],
  ['Numeric', 0.123456, '0.123456'],
  ['Numeric', 0.1234567, null],
  ['Numeric', 'x', null],
  ['Numeric', true, null],
  ['Duration', 0, '0s'],
  ['Duration', 90, '90s'],
  ['Duration', -1, null],
  ['Duration', '90', null],
  ['Duration', Number.POSITIVE_INFINITY, null],
  ['Date', '2026-02-28', '#2026-02-28#'],
  ['Date', '2026-02-30', null],
  ['Date', 5, null],
  ['Time', '23:59:59', '#23:59:59#'],
  ['Time', '24:00:00', null],
  ['Time', 5, null],
  ['Timestamp', '2026-11-21T10:22:15Z', '#2026-11-21 10:22:15#'],
  ['Timestamp', '2026-11-21T10:22:15.5Z', null],
  ['Timestamp', 'yesterday', null],
])('a filter says a %s %o as %s', (type, value, literal) => {
  expect(TYPE_RULES[type].filterLiteral(value)).toBe(literal);
});

test.each<[ColumnType, string, Value]>([
  ['Text', ' a\r\n', ' a\r\n'],
  ['Multiline', 'a\r\nb\rc', 'a\nb\rc'],
  ['Numeric', '1.50', 1.5],
  ['Numeric', 'x', 'x'],
  ['Timestamp', '2026-11-21T10:22:15.50Z', '2026-11-21T10:22:15.5Z'],
  ['Timestamp', '2026-11-21T10:22:15Z', '2026-11-21T10:22:15Z'],
  ['Timestamp', '2026-11-21T10:22:15.50+01:00', '2026-11-21T10:22:15.50+01:00'],
  ['Timestamp', 'a.Z', 'a.Z'],
])('a stored %s %o is the value %o', (type, stored, value) => {
  expect(TYPE_RULES[type].valueFromText(stored)).toBe(value);
});

test.each<[ColumnType, unknown, Value | undefined]>([
  ['Numeric', Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ['Numeric', 1e19, 10n ** 19n],
  ['Numeric', -1e19, -(10n ** 19n)],
  ['Numeric', -0, 0],
  ['Numeric', 'x', undefined],
  ['Numeric', true, undefined],
  ['Text', 5, undefined],
  ['Autonumber', 42, '42'],
  ['Autonumber', '42', '42'],
  ['Autonumber', new ExactNumber('12345678901234567890'), '12345678901234567890'],
  ['Autonumber', true, undefined],
  ['Unknown', 1e-7, '0.0000001'],
  ['Unknown', new ExactNumber('1.10'), '1.10'],
  ['Unknown', [1], '[1]'],
  ['Unknown', '\ud83d', undefined],
  ['Multiline', 'a\udc00', undefined],
  ['Checkbox', 'true', undefined],
  ['Checkbox', null, null],
  ['Time', '08:30:00', '08:30:00'],
  ['Time', '1899-12-30T08:30:00', '08:30:00'],
  ['Time', '0001-01-01T08:30:00+00:00x', undefined],
  ['Time', 'x0001-01-01T08:30:00Z', undefined],
  ['Date', '2026-02-28', '2026-02-28'],
  ['Attachment', null, null],
  ['Attachment', 5, undefined],
])('a %s reads %o as %o', (type, raw, value) => {
  expect(TYPE_RULES[type].readOutput(raw)).toBe(value);
});

test.each<[ColumnType, string, Value | undefined]>([
  ['Duration', 'PT90S', 90],
  ['Duration', '-PT1.5S', -1.5],
  ['Duration', 'PT-1.5S', -1.5],
  ['Duration', '-PT-1S', undefined],
  ['Duration', 'xPT90S', undefined],
  ['Duration', 'PT90Sx', undefined],
  ['Duration', '90', 90],
  ['Checkbox', 'true', true],
  ['Checkbox', 'false', false],
  ['Checkbox', 'yes', undefined],
])('in XML, a %s %o is read as %o', (type, text, value) => {
  expect(TYPE_RULES[type].readXmlText?.(text)).toBe(value);
});

test.each([
  ['Ann <a@b.example>', 'a@b.example'],
  ['Ann <x> < a@b.example >', 'a@b.example'],
  ['<a@b.example>', 'a@b.example'],
  ['  a@b.example ', 'a@b.example'],
  ['a@b.example>', 'a@b.example>'],
  ['Ann <a', 'Ann <a'],
])('the e-mail of the user %o is %s', (user, email) => {
  expect(emailOfUser(user)).toBe(email);
});

test('texts are text in every form', () => {
  expect(COLUMN_TYPES.filter(isTextType)).toEqual([
    'Text',
    'Phone',
    'EMail',
    'URL',
    'User',
    'Autonumber',
    'Multiline',
    'Unknown',
  ]);
});
