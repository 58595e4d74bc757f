/**
 * Random formulas: whatever the text, there is an answer or a fault with its place; and values survive being written.
 */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { evaluate, parseFormula, scopeFromColumns } from '../../../src/sandbox/formula/formula.ts';
import { columnReference, textLiteral } from '../../../src/wire/formula.ts';
import { COLUMN_NAMES, matches, parse, SESSION } from '../../support/formula.ts';
import { fuzzRuns } from '../../support/fuzz.ts';

/** For the longer runs that are asked for by hand. */
const LONG_MS = 600_000;

const SEEDS: readonly string[] = [
  '[Status]="Active"',
  'not IsNull([Start Date])',
  'Begins([File],"logo.png;") or Any([Status],\'.com\') and not IsBlank([Phone])',
  '[Record Owner] = User() and [Start Date] = Today()',
  '[Start Date] >= #2026-02-01# and [Start Date] < #2026-03-01#',
  'If([Price] * 2 ^ 3 > 1.5, Contains([Name], "x\\"y"), [Worked] / 2 < 90m)',
  'Case([Status], "a", 1, "b", 2, 3) = Max([Price], -[Big], Round([Long], 0.01))',
  'Replace(PadLeft([Notes], 20, "-"), "-", Concat("a", [No Text])) & Var[Rate] <> Format([Date Modified], "G")',
  'ToTimestamp([Start Date], #09:00#, "Europe/Paris") - [Date Modified] > -Hours(Mod([Price], 7))',
];

const SIGNS: readonly string[] = ['(', ')', ',', ' and ', ' or ', 'not ', '-', '^', '*', '"', '[', '#', '\\'];

const VALUES: readonly string[] = ['null', 'true', '9999999999', '0', '1d', '""', '#9999-12-31#'];

const CALLS: readonly string[] = [
  'Nz(',
  'Min(',
  'Sum(',
  'Count(',
  'Part(',
  'Date(',
  'ToDate(',
  'ToText(',
  'Exp(',
  'In(',
];

const PIECES: readonly string[] = [
  ...COLUMN_NAMES.map(columnReference),
  ...SEEDS.flatMap((seed) => seed.match(/\w+\(|#[^#]*#|"[^"]*"|<>|<=|>=|\S/g) ?? []),
  ...SIGNS,
  ...VALUES,
  ...CALLS,
];

/**
 * What is wrong with the answer to a text; undefined where it is an answer, or a fault whose place is inside the text.
 */
function complaintAbout(text: string): unknown {
  const formula = parse(text);
  if (formula.kind === 'formula') return typeof matches(text) === 'boolean' ? undefined : matches(text);
  const { offset, line, column } = formula;
  const lines = text.slice(0, offset).split('\n');
  const isInside = offset >= 0 && offset <= text.length && text.startsWith(formula.text, offset);
  const isPlace = line === lines.length && column === (lines.at(-1) ?? '').length + 1;
  return isInside && isPlace && formula.message.endsWith('.') ? undefined : formula;
}

function expectAnswer(text: string): void {
  expect(complaintAbout(text)).toBeUndefined();
}

const { boolean: typedFormula } = fc.letrec<Record<'boolean' | 'number' | 'text' | 'date' | 'duration', string>>(
  (tie) => {
    const call = (name: string, ...args: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
      fc.tuple(...args).map((texts) => `${name}(${texts.join(', ')})`);
    const joined = (left: string, operators: readonly string[], right = left): fc.Arbitrary<string> =>
      fc
        .tuple(tie(left as 'text'), fc.constantFrom(...operators), tie(right as 'text'))
        .map(([a, operator, b]) => `(${a} ${operator} ${b})`);
    const comparisons = ['=', '<>', '<', '<=', '>', '>='];
    const limits = { depthSize: 'small', maxDepth: 5 } as const;
    return {
      boolean: fc.oneof(
        limits,
        fc.constantFrom('true', '[Done]', '(null = 1)', '[No Checkbox]'),
        joined('number', comparisons),
        joined('text', comparisons),
        joined('date', comparisons),
        joined('duration', comparisons),
        joined('boolean', ['and', 'or', '=', '<>']),
        tie('boolean').map((text) => `not (${text})`),
        call('Contains', tie('text'), tie('text')),
        call('In', tie('number'), tie('number'), tie('number')),
        call('Between', tie('date'), tie('date'), tie('date')),
      ),
      number: fc.oneof(
        limits,
        fc.constantFrom('[Price]', '[Big]', '[Long]', '[No Number]', '0', '1.5', '(-3)', '(null + 1)'),
        joined('number', ['+', '-', '*', '/', '^']),
        joined('duration', ['/']),
        tie('number').map((text) => `-(${text})`),
        call('Len', tie('text')),
        call('Round', tie('number'), tie('number')),
        call('Mod', tie('number'), tie('number')),
        call('Exp', tie('number')),
        call('If', tie('boolean'), tie('number'), tie('number')),
        call('Year', tie('date')),
      ),
      text: fc.oneof(
        limits,
        fc.constantFrom('[Name]', '[No Text]', '""', '"a,b"', 'Role()'),
        joined('text', ['&', '+']),
        call('ToText', tie('number')),
        call('Format', tie('date'), fc.constantFrom('"D"', '"yyyy-MM"')),
        call('PadLeft', tie('text'), tie('number'), tie('text')),
        call('Replace', tie('text'), tie('text'), tie('text')),
        call('Part', tie('text'), tie('number'), tie('text')),
        call('Mid', tie('text'), tie('number'), tie('number')),
      ),
      date: fc.oneof(
        limits,
        fc.constantFrom('[Start Date]', '[No Date]', '#9999-12-31#', '#0001-01-01#', 'Today()'),
        joined('date', ['+', '-'], 'duration'),
        call('AdjustMonth', tie('date'), tie('number')),
        call('LastDayOfQuarter', tie('date')),
        call('FirstDayOfPeriod', tie('date'), tie('duration'), tie('date')),
        call('Date', tie('number'), tie('number'), tie('number')),
      ),
      duration: fc.oneof(
        limits,
        fc.constantFrom('[Worked]', '[No Duration]', '1d', '0.5s'),
        joined('date', ['-']),
        joined('duration', ['+', '-']),
        joined('number', ['*'], 'duration'),
        call('Hours', tie('number')),
      ),
    };
  },
);

describe('any text gives an answer, or a fault inside of it', () => {
  test('random characters', { timeout: LONG_MS }, () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 60 }), expectAnswer), fuzzRuns(500));
  });

  test('random pieces of formulas', { timeout: LONG_MS }, () => {
    const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 25 }).map((pieces) => pieces.join(''));

    fc.assert(fc.property(text, expectAnswer), fuzzRuns(3_000));
  });

  test('real formulas with a piece cut, doubled or replaced', { timeout: LONG_MS }, () => {
    const change = fc.record({ at: fc.nat(200), length: fc.nat(12), insert: fc.constantFrom('', ...PIECES) });
    const mutated = fc
      .tuple(fc.constantFrom(...SEEDS), fc.array(change, { minLength: 1, maxLength: 4 }))
      .map(([seed, changes]) =>
        changes.reduce((text, { at, length, insert }) => {
          const start = at % (text.length + 1);
          return text.slice(0, start) + insert + text.slice(start + length);
        }, seed),
      );

    fc.assert(fc.property(mutated, expectAnswer), fuzzRuns(3_000));
  });

  test('well-typed formulas of every operator and many functions', { timeout: LONG_MS }, () => {
    fc.assert(
      fc.property(typedFormula, (text) => {
        expect(typeof matches(text)).toBe('boolean');
      }),
      fuzzRuns(1_000),
    );
  });
});

describe('what the emitter writes, the parser reads back', () => {
  test('any text', { timeout: LONG_MS }, () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const scope = scopeFromColumns([{ name: 'A', alias: 'f_1', type: 'Text' }]);
        const formula = parseFormula(`[A] = ${textLiteral(text)} and Len([A]) = Len(${textLiteral(text)})`, scope);

        expect(formula.kind === 'formula' && evaluate(formula, SESSION, { id: 1, values: [text] })).toBe(true);
      }),
      fuzzRuns(1_000),
    );
  });

  test('any column name', { timeout: LONG_MS }, () => {
    const name = fc.string({ unit: 'binary', minLength: 1 }).filter((text) => text.trim() !== '' && text !== '*');
    fc.assert(
      fc.property(name, (column) => {
        const scope = scopeFromColumns([{ name: column, alias: 'f_1', type: 'Checkbox' }]);

        expect(parseFormula(columnReference(column), scope)).toMatchObject({ kind: 'formula', columns: new Set([0]) });
      }),
      fuzzRuns(1_000),
    );
  });
});
