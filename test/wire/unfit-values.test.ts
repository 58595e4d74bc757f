/** A value that does not fit the type of its column reaches no body, in whichever format and whoever calls. */
import { expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { WIRE_FORMATS } from '../../src/wire/format.ts';
import { dateLiteral, numberLiteral, timeLiteral, timestampLiteral } from '../../src/wire/formula.ts';
import type { ColumnType, Value } from '../../src/wire/schema.ts';

/** What callers without types may pass. */
const UNFIT: readonly (readonly [type: ColumnType, value: unknown])[] = [
  ['Numeric', '1,"Text":"x"}, {"Text":"second row","Number":2'],
  ['Numeric', '</Number><Text>x</Text><Number>'],
  ['Numeric', ''],
  ['Numeric', Number.NaN],
  ['Numeric', Number.POSITIVE_INFINITY],
  ['Numeric', true],
  ['Duration', '1,"Text":"x"'],
  ['Duration', Number.NaN],
  ['Checkbox', 'true'],
  ['Checkbox', 1],
  ['Checkbox', 1n],
  ['Date', '2026-02-30'],
  ['Date', '2026-11-21","Text":"x'],
  ['Time', '24:00:00'],
  ['Time', '10:00:00","Text":"x'],
  ['Timestamp', '2026-11-21T10:22:15+02:00'],
  ['Timestamp', '2026-11-21T10:22:15'],
  ['Timestamp', 'yesterday'],
  ['Timestamp', 5],
  ['Text', undefined],
  ['Text', 5],
  ['Text', 'half \ud83d'],
  ['Multiline', 'half \udc00'],
  ['User', {}],
  ['Autonumber', Number.NaN],
  ['Attachment', 'photo.jpg'],
  ['Attachment', 'file:/tmp/photo.jpg'],
  ['Unknown', []],
];

for (const extension of ['json', 'xml'] as const) {
  test.each(UNFIT)(`in ${extension}, a %s column does not take %o`, (type, value) => {
    const fit = { id: 1, cells: [{ name: 'Other', type: 'Text' as const, value: 'fits' }] };
    const unfit = { id: 2, cells: [{ name: 'Column', type, value: value as Value }] };

    const write = (): string => WIRE_FORMATS[extension].writeInputRows([fit, unfit], 'Europe/Paris');

    expect(write).toThrow(RowsyncError);
    expect(write).toThrow(/^row 2, column "Column" \(\w+\): /);
  });

  test(`in ${extension}, a row id is a whole number`, () => {
    const id = '1,"Text":"x"' as unknown as number;
    const write = (): string => WIRE_FORMATS[extension].writeInputRows([{ id, cells: [] }], 'UTC');

    expect(write).toThrow(/^row 1: its id is not a whole number/);
  });
}

test('a message names row, column and type, and never the value', () => {
  const cells = [{ name: 'Salary', type: 'Numeric' as const, value: 'secret-9000' }];

  expect(() => WIRE_FORMATS.json.writeInputRows([{ id: null, cells }], 'UTC')).toThrow(
    'row 1, column "Salary" (Numeric): the value is not a number',
  );
});

test('a literal of a filter is one token, or an error', () => {
  expect(() => numberLiteral('1 or true')).toThrow(RowsyncError);
  expect(() => numberLiteral(Number.NaN)).toThrow(RowsyncError);
  expect(() => dateLiteral('2026-11-21# or #')).toThrow(RowsyncError);
  expect(() => timeLiteral('10:00:00# or #')).toThrow(RowsyncError);
  expect(() => timestampLiteral('2026-11-21#or true or#')).toThrow(RowsyncError);
  expect(numberLiteral('-12.50')).toBe('(-12.5)');
});
