import { describe, expect, test } from 'vitest';
import { FORMULA_LENGTH_MAX, ARGUMENTS_MAX, DEPTH_MAX } from '../../../src/sandbox/formula/parser.ts';
import { faultAt, matches, parse } from '../../support/formula.ts';

describe('a literal is read as it is written', () => {
  test.each([
    `'a' = "a"`,
    `"it's" = 'it\\'s'`,
    `'say "hi"' = "say \\"hi\\""`,
    `Len("a\\\\b") = 3`,
    `Len("a\\nb\\r\\t") = 5`,
    `[Notes] = "first\\nsecond"`,
    `[Notes] = "first\nsecond"`,
    `[Name] = "Åsa \\"Slash\\\\\\" O'Neil"`,
    `Len("") = 0`,
    'true',
    'not false',
    'TRUE and Not FALSE',
    '007 = 7',
    '1.50 = 1.5',
    '9007199254740993 > 9007199254740992',
    '#2026-01-31# = [Start Date]',
    '#07:30# = [Alarm]',
    '#07:30:00# = [Alarm]',
    '#2026-02-01 03:30# < [Date Modified]',
    '#2026-02-01 03:30:01# > [Date Modified]',
    '#2024-02-29# < #2024-03-01#',
    '90m = [Worked]',
    '1.5h = [Worked]',
    '5400s = [Worked]',
    '2w = 14d',
    '0.25d = 6H',
    '  \t\r\n true  ',
  ])('%s', (text) => expect(matches(text)).toBe(true));
});

describe('a name finds its column, variable or property', () => {
  test.each([
    '[status] = "Active"',
    '[START DATE] = #2026-01-31#',
    '[f_101] = "Active"',
    '[F_101] = "Active"',
    '[A\\]B\\\\C] = "odd name"',
    'Var[Rate] = "12.5"',
    'var[rate] = "12.5"',
    'ToNumber(Var[Rate]) = [Price]',
    'User[Email] = "ada@example.org"',
    'User[Name] = "Ada Lovelace"',
    'User[Role] = "Administrator"',
    'User[Time Zone] = "America/New_York"',
    'CONTAINS([Status], "act")',
    'isnull([No Text])',
  ])('%s', (text) => expect(matches(text)).toBe(true));

  test('the exact case before another, a name before an alias', async () => {
    const { parseFormula, scopeFromColumns } = await import('../../../src/sandbox/formula/formula.ts');
    const scope = scopeFromColumns([
      { name: 'Size', alias: 'f_1', type: 'Text' },
      { name: 'size', alias: 'f_2', type: 'Text' },
      { name: 'f_1', alias: 'f_3', type: 'Text' },
    ]);
    const columnOf = (text: string): unknown => {
      const formula = parseFormula(text, scope);
      return formula.kind === 'formula' ? [...formula.columns] : formula;
    };

    expect(columnOf('[Size] = ""')).toEqual([0]);
    expect(columnOf('[size] = ""')).toEqual([1]);
    expect(columnOf('[SIZE] = ""')).toEqual([0]);
    expect(columnOf('[f_1] = ""')).toEqual([2]);
    expect(columnOf('[F_2] = ""')).toEqual([1]);
    expect(columnOf('[F_3] = "" or [Size] = ""')).toEqual([2, 0]);
  });
});

describe('operators bind in the published order', () => {
  test.each([
    '2 + 3 * 4 = 14',
    '(2 + 3) * 4 = 20',
    '2 * 3 ^ 2 = 18',
    '2 ^ 3 ^ 2 = 64',
    '10 - 4 - 3 = 3',
    '100 / 10 / 5 = 2',
    '-2 ^ 2 = 4',
    '2 ^ -1 = 0.5',
    '2 - -3 = 5',
    '- - 5 = 5',
    '1 + 1 = 4 - 2',
    '"a" & "b" = "ab"',
    'true or false and false',
    'not ((true or false) and false)',
    'not false and true',
    'not not true',
    'not [Open] = [Done]',
    'not ([Open] = [Done])',
    '1 < 2 = true',
    'false = (1 > 2) and true',
  ])('%s', (text) => expect(matches(text)).toBe(true));

  test('not is tighter than a comparison, so it needs parentheses before one', () => {
    expect(faultAt('not [Price] = 1')).toBe('1:5 type [[Price]]');
    expect(matches('not ([Price] = 1)')).toBe(true);
  });
});

describe('a fault names its place and quotes it', () => {
  test.each([
    ['', '1:1 syntax []'],
    ['   ', '1:4 syntax []'],
    ['true and', '1:9 syntax []'],
    ['true true', '1:6 syntax [true]'],
    ["[Status] = 'a''b'", "1:15 syntax ['b']"],
    ['(true', '1:1 syntax [(]'],
    ['true)', '1:5 syntax [)]'],
    ['Contains("a", "b"', '1:9 syntax [(]'],
    ['Contains("a" "b")', '1:14 syntax ["b"]'],
    ['Contains("a",)', '1:14 syntax [)]'],
    ['Contains(,)', '1:10 syntax [,]'],
    ['"open', '1:1 syntax ["open]'],
    ['"C:\\temp\\x" = ""', '1:9 syntax [\\x]'],
    ['"a\\', '1:3 syntax [\\]'],
    ['[Name', '1:1 syntax [[Name]'],
    ['[a\\b]', '1:3 syntax [\\b]'],
    ['[] = 1', '1:1 syntax [[]]'],
    ['[*] = 1', '1:1 syntax [[*]]'],
    ['1e5 > 0', '1:1 syntax [1e]'],
    ['1.2.3 > 0', '1:1 syntax [1.2.]'],
    ['5. > 0', '1:1 syntax [5.]'],
    ['.5 > 0', '1:1 syntax [.]'],
    ['1 000 > 0', '1:3 syntax [000]'],
    ['5x > 0', '1:1 syntax [5x]'],
    ['5days > 0', '1:1 syntax [5d]'],
    ['#2026-02-30# = null', '1:1 syntax [#2026-02-30#]'],
    ['#24:00# = null', '1:1 syntax [#24:00#]'],
    ['#2026-02-01T10:00# = null', '1:1 syntax [#2026-02-01T10:00#]'],
    ['#2026-02-0110:00# = null', '1:1 syntax [#2026-02-0110:00#]'],
    ['##', '1:1 syntax [##]'],
    ['#2026-02-01 # = null', '1:1 syntax [#2026-02-01 #]'],
    ['# 10:00# = null', '1:1 syntax [# 10:00#]'],
    ['#0000-01-01# = null', '1:1 syntax [#0000-01-01#]'],
    ['#2026-02-01', '1:1 syntax [#2026-02-01]'],
    ['[Price] != 1', '1:9 syntax [!]'],
    ['[Price] == 1', '1:10 syntax [=]'],
    ['[Price] => 1', '1:10 syntax [>]'],
    ['true // a comment', '1:7 syntax [/]'],
    ['“a” = "a"', '1:1 syntax [“]'],
    ['😀', '1:1 syntax [😀]'],
    ['Status = "Active"', '1:1 syntax [Status]'],
    ['and true', '1:1 syntax [and]'],
    ['true and or true', '1:10 syntax [or]'],
    ['[Price] = 1\n  and\n  [Nope] = 2', '3:3 unknownColumn [[Nope]]'],
    ['[?State] = "CA"', '1:1 unknownColumn [[?State]]'],
    ['Var[Nope] = ""', '1:1 unknownName [Var[Nope]]'],
    ['User[Shoe Size] = ""', '1:1 unknownName [User[Shoe Size]]'],
    ['Related[Name] = ""', '1:1 unknownName [Related[Name]]'],
    ['Foo[Name] = ""', '1:1 syntax [Foo[Name]]'],
    ['Nope(1)', '1:1 unknownName [Nope]'],
    ['constructor(1)', '1:1 unknownName [constructor]'],
    ['User[constructor] = ""', '1:1 unknownName [User[constructor]]'],
    ['[__proto__] = 1', '1:1 unknownColumn [[__proto__]]'],
    ['true and Ask([Price] = 1)', '1:10 unknownName [Ask([Price] = 1)]'],
    ['Exists([Status])', '1:1 unknownName [Exists([Status])]'],
    ['Parameter([Status]) = ""', '1:1 unknownName [Parameter([Status])]'],
  ])('%j at %s', (text, expected) => expect(faultAt(text)).toBe(expected));

  test('an unknown column is named for the error descriptor', () => {
    const fault = parse('Contains([Nope \\] A], "x")');

    expect(fault).toMatchObject({ kind: 'fault', unknownColumn: 'Nope ] A', offset: 9, line: 1, column: 10 });
  });

  test('the quoted text has an end', () => {
    const fault = parse(`"${'x'.repeat(500)}`);

    expect(fault.kind === 'fault' && fault.text.length).toBe(60);
  });
});

describe('sizes are bounded', () => {
  test.each([
    ['length', ' '.repeat(FORMULA_LENGTH_MAX - 4) + 'true', ' '.repeat(FORMULA_LENGTH_MAX - 3) + 'true'],
    ['depth of parentheses', nested('(', ')', DEPTH_MAX), nested('(', ')', DEPTH_MAX + 1)],
    ['depth of calls', nested('Nz(', ',true)', DEPTH_MAX), nested('Nz(', ',true)', DEPTH_MAX + 1)],
    ['arguments', call(ARGUMENTS_MAX), call(ARGUMENTS_MAX + 1)],
    ['digits', `0 < ${'9'.repeat(1_100)}`, `0 < ${'9'.repeat(1_101)}`],
    ['digits of a duration', `0s < ${'9'.repeat(1_100)}s`, `0s < ${'9'.repeat(1_100)}w`],
  ])('%s', (_what, largest, tooLarge) => {
    expect(matches(largest)).toBe(true);
    expect(faultAt(tooLarge)).toContain(' limit [');
  });

  test.each([
    ['or', 'true', ' or false'],
    ['and', 'true', ' and true'],
    ['+', '0 = 0', '+0'],
    ['^', '1 = 1', '^1'],
    ['not', '', 'not not '],
    ['-', '0 = 0', '--'],
  ])('a run of %s as long as a formula can be is no depth', (operator, start, piece) => {
    const count = Math.floor((FORMULA_LENGTH_MAX - 10) / piece.length);
    const run = piece.repeat(count);
    const text = operator === 'not' ? `${run}true` : operator === '-' ? `0 = ${run}0` : start + run;

    expect(matches(text)).toBe(true);
  });
});

function nested(open: string, close: string, depth: number): string {
  return open.repeat(depth) + 'true' + close.repeat(depth);
}

function call(count: number): string {
  return `In(${'1,'.repeat(count - 1)}1)`;
}
