/** Query results as JSON, CSV, Markdown and fields between tabs: every row, every digit. */
import { expect, test } from 'vitest';
import {
  answerAsCsv,
  answerAsJson,
  answerAsJsonLines,
  answerAsMarkdown,
  answerAsTsv,
  type ResultTable,
} from '../../src/base/result-formats.ts';

const answer: ResultTable = {
  columns: ['name', 'count'],
  rows: [
    ['Ana', 1],
    [null, 12345678901234567890n],
    ['', 0.5],
  ],
};

const join = (chunks: Iterable<string>): string => [...chunks].join('');

test('an answer between tabs is whole, a line a row, with a line of names', () => {
  const rows = [
    ['a\tb\nc', null, 12345678901234567890n],
    ['', 'x'.repeat(20_000), new Uint8Array([1])],
    ...Array.from({ length: 1_000 }, () => [1, 2, 3]),
  ];
  const given = { columns: ['one', 'two', 'three'], rows };

  const lines = join(answerAsTsv(given)).trimEnd().split('\n');

  expect(lines.slice(0, 2)).toEqual(['one\ttwo\tthree', String.raw`a\tb\nc` + '\t\t12345678901234567890']);
  expect(lines[2]).toBe(`\t${'x'.repeat(20_000)}\tx'01'`);
  expect(lines).toHaveLength(1_003);
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
