import { describe, expect, test } from 'vitest';
import { isVolatile } from '../../../src/sandbox/formula/formula.ts';
import { matches, parse } from '../../support/formula.ts';

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
