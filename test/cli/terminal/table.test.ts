/**
 * Answers as a table, JSON and CSV.
 */
import { describe, expect, test } from 'vitest';
import {
  answerAsCsv,
  answerAsJson,
  answerAsJsonLines,
  answerAsMarkdown,
  answerAsTsv,
  type ResultTable,
} from '../../../src/base/result-formats.ts';
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

test('an answer between tabs is whole, a line a row, with a line of names', () => {
  const rows = [
    ['a\tb\nc', null, 12345678901234567890n],
    ['', 'x'.repeat(20_000), new Uint8Array([1])],
    ...Array.from({ length: TABLE_ROWS_MAX }, () => [1, 2, 3]),
  ];
  const given = { columns: ['one', 'two', 'three'], rows };

  const lines = join(answerAsTsv(given)).trimEnd().split('\n');

  expect(lines.slice(0, 2)).toEqual(['one\ttwo\tthree', String.raw`a\tb\nc` + '\t\t12345678901234567890']);
  expect(lines[2]).toBe(`\t${'x'.repeat(20_000)}\tx'01'`);
  expect(lines).toHaveLength(TABLE_ROWS_MAX + 3);
});

test('JSON Lines have an object a row, and JSON the same in an array', () => {
  const rows = Array.from({ length: 600 }, (_, index) => [index, 'a\nb', null]);
  const given = { columns: ['n', 'n', 'x'], rows };

  const lines = join(answerAsJsonLines(given)).trimEnd().split('\n');

  expect(lines[1]).toBe(String.raw`{"n":1,"n:2":"a\nb","x":null}`);
  expect(lines).toHaveLength(600);
  expect(JSON.parse(join(answerAsJson(given)))).toEqual(lines.map((line) => JSON.parse(line) as unknown));
  expect(join(answerAsJsonLines({ columns: ['n'], rows: [] }))).toBe('');
});

test('in Markdown a value is shown as it is, on one line', () => {
  const text = join(
    answerAsMarkdown({
      columns: ['a|b', 'n'],
      rows: [
        ['<b>*x*</b>\ny', 1],
        [null, 12345678901234567890n],
      ],
    }),
  );

  expect(text).toBe(
    String.raw`| a\|b | n |
| --- | --- |
| \<b>\*x\*\</b>\\ny | 1 |
|  | 12345678901234567890 |
`,
  );
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

test('writes JSON that keeps every digit and every column', () => {
  const text = join(
    answerAsJson({
      columns: ['a', 'a', 'a:2', '__proto__'],
      rows: [
        [9007199254740993n, 1.5, null, 'x'],
        [new Uint8Array([0, 255]), Infinity, -Infinity, '\u001B"\u202E'],
      ],
    }),
  );

  expect(text).toBe(
    '[{"a":9007199254740993,"a:2":1.5,"a:2:2":null,"__proto__":"x"},\n' +
      String.raw`{"a":"x'00ff'","a:2":9e999,"a:2:2":-9e999,"__proto__":"\u001b\"\u202e"}]` +
      '\n',
  );
});

test('writes an empty JSON array for no rows', () => {
  expect(join(answerAsJson({ columns: ['a'], rows: [] }))).toBe('[]\n');
});

test('writes more JSON rows than one chunk holds', () => {
  const rows = Array.from({ length: 1_234 }, (_, index) => [index]);

  const parsed: unknown = JSON.parse(join(answerAsJson({ columns: ['n'], rows })));

  expect(parsed).toEqual(rows.map(([n]) => ({ n })));
});

const csv = { escapeFormulas: false, forTerminal: false };

test('writes CSV that tells NULL from empty text and keeps every digit', () => {
  expect(join(answerAsCsv(answer, csv))).toBe('name,count\nAna,1\n,12345678901234567890\n"",0.5\n');
});

test('CSV of one column has no blank line, which many readers skip', () => {
  const rows = [['a'], [null], [''], [1]];

  expect(join(answerAsCsv({ columns: ['x'], rows }, csv))).toBe('x\na\n""\n""\n1\n');
});

test('quotes what CSV gives a meaning', () => {
  const rows = [['a,b'], ['say "hi"'], ['two\nlines'], ['return\r'], ['=1+1']];

  expect(join(answerAsCsv({ columns: ['x'], rows }, csv))).toBe(
    'x\n"a,b"\n"say ""hi"""\n"two\nlines"\n"return\r"\n=1+1\n',
  );
});

test('keeps a spreadsheet from running text as a formula, and leaves negative numbers alone', () => {
  const rows = [['=1+1'], ['-cmd'], ['@x'], ['+1'], [-5], [-5n], ['plain']];

  const text = join(answerAsCsv({ columns: ['x'], rows }, { ...csv, escapeFormulas: true }));

  expect(text).toBe("x\n'=1+1\n'-cmd\n'@x\n'+1\n-5\n-5\nplain\n");
});

test('neutralises escapes in CSV that goes to a terminal, and only there', () => {
  const rows = [['\u001B[2J']];

  expect(join(answerAsCsv({ columns: ['x'], rows }, { ...csv, forTerminal: true }))).toBe('x\n\\u001b[2J\n');
  expect(join(answerAsCsv({ columns: ['x'], rows }, csv))).toBe('x\n\u001B[2J\n');
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
