/**
 * The forms of a line of the log.
 */
import { expect, test } from 'vitest';
import { createLogger, withFacts, type LogLevel } from '../../src/base/log.ts';
import type { LogForm } from '../../src/base/log-format.ts';

function logged(form: LogForm, level: Exclude<LogLevel, 'silent'> = 'info'): string {
  let text = '';
  const destination = { write: (line: string) => void (text += line) };
  const log = withFacts(createLogger({ level: 'debug', destination, secrets: ['s3cret-token'], form }), { runId: 7 });
  log[level]('work.finished', { table: 'Order \u001b[2J', message: 'a s3cret-token b', durationMs: 12, code: null });
  return text;
}

test('is JSON with the facts that every event of a run has', () => {
  const { time, ...rest } = JSON.parse(logged('json')) as Record<string, unknown>;

  expect(typeof time).toBe('string');
  expect(rest).toEqual({
    level: 'info',
    event: 'work.finished',
    runId: 7,
    table: 'Order \u001b[2J',
    message: 'a [secret] b',
    durationMs: 12,
    code: null,
  });
});

test.each([
  ['error', '<3>{'],
  ['warn', '<4>{'],
  ['info', '<6>{'],
  ['debug', '<7>{'],
] as const)('for journald, a line of level %s begins with %s', (level, start) => {
  expect(logged('journal', level).slice(0, start.length)).toBe(start);
  expect(logged('journal', level)).toContain('[secret]');
});

test('is written at a terminal where a secret is a number', () => {
  let text = '';
  const destination = { write: (line: string) => void (text += line) };
  createLogger({ level: 'info', destination, secrets: ['12'], form: 'terminal' }).info('work.finished', { page: 12 });

  expect(text.slice(9)).toBe('info  work.finished page=12\n');
});

test('is one short line at a terminal, in which nothing moves the cursor', () => {
  expect(logged('terminal').slice(9)).toBe(
    'info  work.finished runId=7 table="Order  u001b[2J" message="a [secret] b" durationMs=12 code=null\n'.replace(
      ' u001b',
      '\\u001b',
    ),
  );
});
