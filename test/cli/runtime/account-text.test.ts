/** The account at a terminal: what is wrong, the most severe first, what to do, and the exit code. */
import { expect, test } from 'vitest';
import { accountBeside, accountExitCode, accountText } from '../../../src/cli/runtime/account-text.ts';
import type { Problem } from '../../../src/reconcile/account/account.ts';
import { problem } from '../../support/status.ts';

test('names the tables that have the same problem in one paragraph', () => {
  const late = (name: string): Problem =>
    problem('table.late', { severity: 'late', table: name, sentence: 'no answer' });

  const text = accountText(Array.from({ length: 10 }, (_, index) => late(`T${index}`)));

  expect(text).toBe('\nlate:\n  T0, T1, T2, T3, T4, T5, T6, T7 and 2 more: no answer\n    what to do: ask\n');
});

test('a count that tables share is said to be of each', () => {
  const lost = (name: string): Problem => problem('rows.lost', { table: name, sentence: '1 edit lost' });

  const text = accountText([lost('Item'), lost('Log')]);

  expect(text).toContain('  Item, Log, each: 1 edit lost\n');
});

test.each([
  [[], 0],
  [['notice'], 0],
  [['late', 'notice'], 75],
  [['late', 'person'], 3],
  [['person', 'damaged'], 78],
] as const)('with problems of severity %j, --exit-code gives %i', (severities, code) => {
  const problems = severities.map((severity) => problem('run.late', { severity }));

  expect(accountExitCode(problems)).toBe(code);
});

test('the end of a run does not repeat what the run failed of, and says what an earlier one did', () => {
  const sentence = 'The last push, 5 min ago (run 18), failed: no connection';
  const ofRun = problem('run.failed', { sentence, words: 'no connection' });

  expect(accountBeside([ofRun], 'failed: no connection')).toBe('');
  expect(accountBeside([ofRun], 'what the run did')).toContain(sentence);
});

test('nothing wrong is nothing said', () => {
  expect(accountText([])).toBe('');
});

test('what needs a person comes before what is late and what is worth knowing', () => {
  const text = accountText([
    problem('rows.lost', { severity: 'notice', sentence: 'lost' }),
    problem('table.late', { severity: 'late', sentence: 'old' }),
    problem('table.held', { severity: 'person', sentence: 'held' }),
    problem('replica.damaged', { severity: 'damaged', sentence: 'broken' }),
  ]);

  expect(text.match(/^\S.*:$/gm)).toEqual(['needs attention:', 'late:', 'to know:']);
  expect(text).toMatch(/^\nneeds attention:\n {2}held\n.*\n {2}broken\n/);
});

test('only problems with the same words and the same help share a paragraph', () => {
  const of = (table: string, hint: string) => problem('table.failed', { table, sentence: 'no right', hint });

  const text = accountText([of('A', 'ask'), of('B', 'ask'), of('C', 'wait'), of('D', '')]);

  expect(text).toBe(
    '\nneeds attention:\n  A, B: no right\n    what to do: ask\n  C: no right\n    what to do: wait\n  D: no right\n',
  );
});

test('names and words of others cannot act on the terminal', () => {
  const text = accountText([problem('table.failed', { table: 'A\u001B[2J', sentence: 'x\u0007', hint: 'a\u202Eb' })]);

  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});
