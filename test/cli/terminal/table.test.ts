/** Answers and lists as tables for a terminal. */
import { describe, expect, test } from 'vitest';
import type { ResultTable } from '../../../src/base/result-formats.ts';
import { answerAsTable, boxTable, listTable, TABLE_ROWS_MAX } from '../../../src/cli/terminal/table.ts';
import { displayWidth } from '../../../src/base/text.ts';

const answer: ResultTable = {
  columns: ['name', 'count'],
  rows: [
    ['Ana', 1],
    [null, 12345678901234567890n],
    ['', 0.5],
  ],
};

const join = (chunks: Iterable<string>): string => [...chunks].join('');

test('draws a table with numbers to the right and NULL told from empty text', () => {
  expect(join(answerAsTable(answer, null))).toBe(
    [
      '┌──────┬──────────────────────┐',
      '│ name │                count │',
      '├──────┼──────────────────────┤',
      '│ Ana  │                    1 │',
      '│ NULL │ 12345678901234567890 │',
      '│      │                  0.5 │',
      '└──────┴──────────────────────┘',
      '3 rows',
      '',
    ].join('\n'),
  );
});

test.each([40, 60, 80, 120])('never draws a line wider than a terminal of %i columns', (width) => {
  const wide: ResultTable = {
    columns: ['id', 'a long title for a column', '漢字', 'd'],
    rows: [
      [1, 'x'.repeat(200), '漢'.repeat(90), 'short'],
      [2, 'y', null, 'z'.repeat(50)],
    ],
  };

  const lines = join(answerAsTable(wide, width)).split('\n');

  // A character of two columns that is cut off can leave one column empty.
  const widest = Math.max(...lines.map(displayWidth));
  expect([width - 1, width]).toContain(widest);
});

test('writes the columns below each other where they do not fit side by side', () => {
  const columns = Array.from({ length: 60 }, (_, index) => `column ${index}`);
  const wide: ResultTable = { columns, rows: [columns.map((_, index) => index), columns.map(() => 'x'.repeat(100))] };

  const lines = join(answerAsTable(wide, 80)).split('\n');

  expect(lines).toContain('column 7  │ 7');
  expect(lines.filter((line) => /^─+$/.test(line))).toHaveLength(2);
  expect(lines.join('').replaceAll(/ {12}/g, '')).toContain(`column 0  │ ${'x'.repeat(100)}`);
  expect(Math.max(...lines.map(displayWidth))).toBe(80);
});

test('a summary in a pipe has columns below each other, and no lines around them', () => {
  const columns = [{ title: 'table' }, { title: 'rows', align: 'right' as const }, { title: 'state' }];
  const rows = [
    ['Order', '1,000', 'steady'],
    ['漢字', '2', ''],
  ];

  expect(boxTable(columns, rows, null)).toBe('table   rows  state\nOrder  1,000  steady\n漢字       2\n');
});

test('keeps a table to one line per row whatever the values hold', () => {
  const text = boxTable([{ title: 'a' }], [['x']], 80);
  const hostile = join(answerAsTable({ columns: ['a\nb'], rows: [['\u001B[2J\n\u202E']] }, null));

  expect(text.trimEnd().split('\n')).toHaveLength(5);
  expect(hostile).toContain(String.raw`\u001b[2J\n\u202e`);
  expect(hostile.trimEnd().split('\n')).toHaveLength(6);
});

test('bounds a table, says so, and stops reading', () => {
  let readCount = 0;
  function* endless(): Generator<readonly unknown[]> {
    for (;;) yield [(readCount += 1)];
  }

  const text = join(answerAsTable({ columns: ['n'], rows: endless() }, null));

  expect(readCount).toBe(TABLE_ROWS_MAX + 1);
  expect(text).toContain('The first 1,000 rows; there are more (--format csv or json gives all)');
});

test('draws nothing for a statement without columns', () => {
  expect(join(answerAsTable({ columns: [], rows: [] }, 80))).toBe('0 rows\n');
});

describe('a list', () => {
  const titles = ['id', 'reason'];
  const reason = `Cannot insert duplicate value ${'x'.repeat(120)} into column`;

  test('is a box where it fits', () => {
    expect(listTable(titles, [['1', 'short']], 80)).toContain('│ 1  │ short  │');
  });

  test.each([80, 120])('is a record a row at %i columns, with every value whole', (width) => {
    const text = listTable(
      titles,
      [
        ['1', reason],
        ['2', 'short'],
      ],
      width,
    );

    const lines = text.split('\n');
    expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(width);
    expect(text.replaceAll(/\n {9}/g, '')).toContain(`reason │ ${reason}`);
    expect(lines).toContain('id     │ 2');
  });

  test('is separated by tabs in a pipe, and whole', () => {
    expect(
      listTable(
        titles,
        [
          ['1', reason],
          ['2', 'a\tb'],
        ],
        null,
      ),
    ).toBe(`id\treason\n1\t${reason}\n2\ta\\tb\n`);
  });
});
