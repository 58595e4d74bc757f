/** How the results of `rowsync check` are written on a terminal and in a pipe. */
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { warn, ok } from '../../../src/extras/shared/linked-extra.ts';
import { accountResult, resultText } from '../../../src/extras/check/command.ts';
import { collectingOutput } from '../../support/session.ts';

const LONG = 'one two three four five six seven eight nine';

test('lines that follow begin below the text, whatever the colour of the first word', () => {
  const terminal = collectingOutput(45);
  const good = stripVTControlCharacters(resultText(ok('columns', LONG), terminal));
  const bad = stripVTControlCharacters(resultText(warn('push', LONG, LONG), terminal));

  const indent = ' '.repeat(18);
  expect(good).toBe(`ok    columns     one two three four five \n${indent}six seven eight nine\n`);
  expect(bad).toBe(
    `warn  push        one two three four five \n${indent}six seven eight nine\n` +
      `${indent}what to do: one two three \n${indent}four five six seven eight \n${indent}nine\n`,
  );
});

test('in a pipe a result is one line', () => {
  expect(resultText(ok('columns', LONG), collectingOutput())).toBe(`ok    columns     ${LONG}\n`);
});

test('what is worth knowing, and not wrong, is neither ok nor a warning', () => {
  const facts = { table: null, count: 1, since: null, sentence: 'There is no replica yet', hint: 'Run rowsync pull.' };

  expect(accountResult({ code: 'replica.unpulled', severity: 'late', ...facts }).outcome).toBe('note');
  expect(accountResult({ code: 'replica.putBack', severity: 'notice', ...facts }).outcome).toBe('note');
  expect(accountResult({ code: 'run.failed', severity: 'person', ...facts }).outcome).toBe('warn');
});
