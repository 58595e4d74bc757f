import { describe, expect, test } from 'vitest';

import { isVolatile } from '../../../src/sandbox/formula/formula.ts';
import { faultAt, matches, parse } from '../../support/formula.ts';

describe('filters seen in real code work', () => {
  test.each([
    ['[Status]="Active"', true],
    ['not IsNull([Start Date])', true],
    ['not IsNull([No Date])', false],
    ['not IsBlank([Start Date])', true],
    ['not IsBlank([No Date])', false],
    ['Begins([File],"logo.png;")', true],
    ['Begins([File],"logo.pn;")', false],
    ['Contains([Status],"CTI")', true],
    ["Any([Status],'.com') and not IsBlank([Phone])", false],
    ["Any([Status],'.com,active') and not IsBlank([Phone])", true],
    ['[Record Owner] = User()', true],
    ['[Reader] = User()', false],
    ['[Start Date] = Today()', true],
    ['[Price] <> 1', true],
    ['[No Number] <> 1', false],
    ["[Id]='42'", true],
    ["[Id]='…'", false],
    ['[Start Date] >= #2026-01-01# and [Start Date] < #2026-02-01#', true],
    ['[Start Date] >= #2026-02-01# and [Start Date] < #2026-03-01#', false],
    ['[Date Modified] >= #2026-02-01 03:30:00#', true],
    ['[Date Modified] >= #2026-02-01 03:30:01#', false],
    ['ToNumber(RecordId()) > 814', true],
    ['[Status]="closed" or [Status]="ACTIVE"', true],
    ['[Status]="closed" or [Status]="active "', false],
    ['[Status]="closed" or [Id]="42"', true],
    ['[Status]="closed" or [Status]<>"closed"', true],
    ['[No Text]="" or [No Text]="closed"', false],
  ])('%s is %s', (text, expected) => expect(matches(text)).toBe(expected));
});

describe('a comparison follows the type', () => {
  test.each([
    '[Status] = "ACTIVE"',
    '"b" > "A" and "B" > "a"',
    '"10" < "9"',
    '"resume" <> "résumé"',
    '"É" = "é"',
    '[Big] = 9007199254740993',
    '[Big] <> 9007199254740992',
    '[Big] > 9007199254740992',
    '[Long] = 0.1234567890123456789',
    '[Long] > 0.1234567890123456788',
    '0.1 + 0.2 = 0.3',
    '[Done] = true and [Open] <> true',
    '[Alarm] > #07:29:59# and [Alarm] <= #07:30#',
    '[Worked] >= 1h and [Worked] < 2h',
    '[Record Owner] = ToUser("ada@EXAMPLE.org")',
    '[Record Owner] <> [Reader]',
    'ToLocation("1.50,2") = ToLocation(1.5, 2.0)',
    '[Odd] = "{\\"a\\":1}"',
    '[E-mail] = "x@example.org" and [Site] = "https://example.org/"',
  ])('%s', (text) => expect(matches(text)).toBe(true));
});

describe('null matches nothing and counts as nothing', () => {
  const nullCells = ['No Text', 'No Number', 'No Date', 'No Time', 'No Timestamp', 'No Duration', 'No User'];
  test.each(nullCells)('[%s] is equal to nothing, not even to itself', (name) => {
    expect(matches(`[${name}] = [${name}]`)).toBe(false);
    expect(matches(`[${name}] <> [${name}]`)).toBe(false);
    expect(matches(`[${name}] = null`)).toBe(false);
    expect(matches(`null <> [${name}]`)).toBe(false);
    expect(matches(`not ([${name}] = [${name}])`)).toBe(true);
    expect(matches(`IsNull([${name}])`)).toBe(true);
  });

  test.each(nullCells.filter((name) => name !== 'No User'))('[%s] is neither less nor more', (name) => {
    for (const operator of ['<', '<=', '>', '>=']) expect(matches(`[${name}] ${operator} [${name}]`)).toBe(false);
  });

  test.each([
    'null + 1 = 1',
    '[No Number] + 1 = 1',
    '5 - [No Number] = 5',
    '[No Number] * 3 = 0',
    '[No Number] / 2 = 0',
    '-[No Number] = 0',
    '[No Duration] + 1h = 60m',
    '[Start Date] + [No Duration] = [Start Date]',
    '[Start Date] + null = [Start Date]',
    'IsNull([No Date] + 1d)',
    'IsNull([No Date] - [Start Date])',
    'IsNull([No Time] + 1h)',
    'IsNull([No Timestamp] - 1h)',
    'IsNull([No Text] & "a")',
    'IsNull("a" + [No Text])',
    '[No Checkbox] = false',
    'not [No Checkbox]',
    'not IsNull([No Checkbox])',
    'not IsNull(If([Open], true))',
    'not null',
    'not (true and null)',
    'null or true',
    'IsNull(Abs([No Number]))',
    'not Contains([No Text], "a")',
    'not Contains("a", null)',
    'not Between([No Number], 0, 1)',
    'not Between(1, null, 2)',
    'not In([No Text], "a", null)',
    'IsBlank([Empty]) and not IsNull([Empty])',
    'IsBlank([No Text]) and IsNull([No Text])',
  ])('%s', (text) => expect(matches(text)).toBe(true));
});

describe('what has no value is null', () => {
  test.each([
    'IsNull(1 / 0)',
    'IsNull(1 / NullIf([No Number], 0))',
    'IsNull(0 ^ -1)',
    'IsNull(9 ^ (9 ^ 9))',
    'IsNull(10 ^ 1100)',
    'IsNull((-2) ^ 0.5)',
    'IsNull(Sqrt(-1))',
    'IsNull(Mod(1, 0))',
    'IsNull(#9999-12-31# + 1d)',
    'IsNull(#0001-01-01# - 1d)',
    'IsNull(#9999-12-31 23:59:59# + 1s)',
    'IsNull(#2026-01-01# + 99999999999999999999d)',
    'IsNull(Replace(PadLeft("", 1000000, "a"), "a", "aa"))',
    'IsNull(PadLeft("", 600000) & PadLeft("", 600000))',
    `IsNull(Concat(${Array.from({ length: 700 }, () => 'PadLeft("",1000000)').join(',')}))`,
  ])('%s', (text) => expect(matches(text)).toBe(true));
});

describe('arithmetic is exact and typed', () => {
  test.each([
    '0.1 * 3 = 0.3',
    '1 / 8 = 0.125',
    '1 / 3 = 0.33333333333333333333',
    '2 / 3 = 0.66666666666666666667',
    '-2 / 3 = -0.66666666666666666667',
    '9007199254740992 + 1 = [Big]',
    '[Big] * [Big] = 81129638414606699710187514626049',
    '[Big] - 9007199254740992 = 1',
    '[Long] + [Long] = 0.2469135780246913578',
    '2 ^ 100 = 1267650600228229401496703205376',
    '1.5 ^ 3 = 3.375',
    '10 ^ -3 = 0.001',
    '9 ^ 0.5 = 3',
    '0 ^ 0 = 1',
    '(-1) ^ 3 = -1',
    '[Start Date] + 1d = #2026-02-01#',
    '1d + [Start Date] = #2026-02-01#',
    '[Start Date] - 1w = #2026-01-24#',
    '[Start Date] + 6h = [Start Date]',
    '[Start Date] - 6h = #2026-01-30#',
    '#2026-03-01# - #2026-02-01# = 28d',
    '#23:30# + 1h = #00:30#',
    '#00:30# - 1h = #23:30#',
    '1h + #07:00# = #08:00#',
    '#07:30# - #09:00# = -90m',
    '[Date Modified] + 0.875s = #2026-02-01 03:30:01#',
    '0.875s + [Date Modified] = #2026-02-01 03:30:01#',
    '[Date Modified] - 0.125s = #2026-02-01 03:30:00#',
    '[Date Modified] - #2026-02-01 03:30:00# = 0.125s',
    '2 * 3h = 6h and 3h * 2 = 6h',
    '3h / 2 = 90m and 3h / 2h = 1.5',
    '1h - 90m = -30m',
    '"a" + "b" & "c" = "abc"',
  ])('%s', (text) => expect(matches(text)).toBe(true));
});

describe('types that do not go together are a fault with its place', () => {
  test.each([
    ['1', '1:1 type [1]'],
    ['[Status]', '1:1 type [[Status]]'],
    ['null', '1:1 type [null]'],
    ['[Price] + 1', '1:1 type [[Price] + 1]'],
    ['[Price] = "1"', '1:1 type [[Price] = "1"]'],
    ['true and [Id] = 42', '1:10 type [[Id] = 42]'],
    ['[Date Modified] >= #2026-02-01#', '1:1 type [[Date Modified] >= #2026-02-01#]'],
    ['[Record Owner] = "ada@example.org"', '1:1 type [[Record Owner] = "ada@example.org"]'],
    ['[Record Owner] < User()', '1:1 type [[Record Owner] < User()]'],
    ['[Done] > false', '1:1 type [[Done] > false]'],
    ['[Start Date] - 1 = null', '1:1 type [[Start Date] - 1]'],
    ['"a" & 1 = ""', '1:1 type ["a" & 1]'],
    ['"a" * "b" = ""', '1:1 type ["a" * "b"]'],
    ['1 + 2 + "a" = 3', '1:1 type [1 + 2 + "a"]'],
    ['-"a" = 1', '1:2 type ["a"]'],
    ['not -1', '1:6 type [1]'],
    ['- not true = 1', '1:7 type [true]'],
    ['not 1', '1:5 type [1]'],
    ['true and 1', '1:10 type [1]'],
    ['"x" or true', '1:1 type ["x"]'],
    ['Contains([Price], "1")', '1:10 type [[Price]]'],
    ['Contains("1", [Price])', '1:15 type [[Price]]'],
    ['Contains("1")', '1:1 type [Contains("1")]'],
    ['Contains("1", "2", "3")', '1:1 type [Contains("1", "2", "3")]'],
    ['Today(1) = null', '1:1 type [Today(1)]'],
    ['If(1, true)', '1:4 type [1]'],
    ['If(true) = true', '1:1 type [If(true)]'],
    ['If(true, 1, "a") = 1', '1:13 type ["a"]'],
    ['Case([Price], "a", true)', '1:15 type ["a"]'],
    ['In([Price], 1, "a")', '1:16 type ["a"]'],
    ['In([Price])', '1:1 type [In([Price])]'],
    ['Between([Done], false, true)', '1:9 type [[Done]]'],
    ['Between(1, 2)', '1:1 type [Between(1, 2)]'],
    ['Max(1, "a") = 1', '1:8 type ["a"]'],
    ['Max(User()) = User()', '1:5 type [User()]'],
    ['Max() = 1', '1:1 type [Max()]'],
    ['Nz(1) = 1', '1:1 type [Nz(1)]'],
    ['Nz() = 1', '1:1 type [Nz()]'],
    ['NullIf(1) = 1', '1:1 type [NullIf(1)]'],
    ['IsNull()', '1:1 type [IsNull()]'],
    ['Count() = 0', '1:1 type [Count()]'],
    ['Var[Rate] = 12.5', '1:1 type [Var[Rate] = 12.5]'],
  ])('%s at %s', (text, expected) => expect(faultAt(text)).toBe(expected));

  test('the message lists what a function takes', () => {
    const fault = parse('Left(1, 2) = ""');

    expect(fault).toMatchObject({ message: 'Left takes (text, number) or (text, text), not (number, number).' });
  });
});

describe('a formula says what it depends on', () => {
  test.each([
    ['[Price] > 1 and RecordId() = "1" and AppId() = "1"', []],
    ['[Start Date] = Today()', ['time', 'user']],
    ['[Date Modified] < Now()', ['time']],
    ['[Record Owner] = User()', ['user']],
    ['User[Email] = ""', ['user']],
    ['User[Role] = ""', ['role']],
    ['If(Role() = "A", true)', ['role']],
    ['ToDate([Date Modified]) = #2026-02-01#', ['user']],
    ['ToDate([Date Modified], "UTC") = #2026-02-01#', []],
    ['IsUserEmail([E-mail])', ['user']],
    ['Format([Date Modified]) = ""', ['user']],
  ])('%s on %j', (text, expected) => {
    const formula = parse(text);

    expect(formula).toMatchObject({ kind: 'formula' });
    if (formula.kind !== 'formula') return;
    expect([...formula.uses].toSorted()).toEqual(expected);
    expect(isVolatile(formula)).toBe(expected.length > 0);
  });
});
