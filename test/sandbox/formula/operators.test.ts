import { describe, expect, test } from 'vitest';
import { matches } from '../../support/formula.ts';

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
