/**
 * The manual page: nothing is missing, and roff accepts it.
 */
import { SECTIONS } from '../../support/sections.ts';
import { spawnSync } from 'node:child_process';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { LOG_EVENTS } from '../../../src/base/log-events.ts';
import { manOptions, manPage } from '../../../src/extras/manual/man-command.ts';
import { optionsJsonSchema } from '../../../src/config/options.ts';
import { runCli } from '../../support/session.ts';

/** The page as text, without what roff needs. */
async function page(): Promise<string> {
  const { stdout } = await runCli(['man']);
  return stdout
    .replaceAll(String.raw`\-`, '-')
    .replaceAll(String.raw`\e`, '\\')
    .replaceAll(String.raw`\&`, '');
}

test('names every command with all its options', async () => {
  const text = await page();
  const { stdout: script } = await runCli(['completion', 'bash']);
  const words = [...script.matchAll(/^ {4}'([^']*)'\) words='([^']*)'/gm)];

  const titles = words.flatMap(([, path = '']) => (path === '' ? [] : [`^\\.SS rowsync ${path}( |$)`]));
  const flags = words.flatMap(([, , list = '']) => list.split(' ').filter((word) => word.startsWith('--')));
  const wanted = [...titles, ...flags.map((flag) => `^\\.B .*${flag}( |$)`)];

  expect(titles.length).toBeGreaterThan(25);
  expect(wanted.filter((pattern) => !new RegExp(pattern, 'm').test(text))).toEqual([]);
});

test('names every option of the configuration, with its default, and every event', async () => {
  const text = await page();
  const options = manOptions(optionsJsonSchema(SECTIONS));

  expect(options.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['origin.tokenFile', 'tables.PATTERN.match', 'tables.PATTERN.schedule.sync', 'push.delay']),
  );
  expect(options.filter(({ description }) => description === '')).toEqual([]);
  expect(options.filter(({ path }) => !text.includes(`.B ${path}\n`))).toEqual([]);
  expect(text).toContain('Unit: rows. Default: 500.');
  for (const event of Object.keys(LOG_EVENTS)) expect(text).toContain(`.B ${event}\n`);
});

test('has the examples of a command as they stand in its help', async () => {
  const text = await page();

  expect(text).toMatch(/^\.EX\nrowsync check\nrowsync check --json \| jq /m);
  expect(text.split('\n.EX\n').length).toBe(text.split('\n.EE\n').length);
  expect(text).toMatch(/^\.SH EXIT STATUS\n(?:.*\n)*?75 {2}the origin/m);
});

test('lets no text become a command of roff', () => {
  const program = new Command('rowsync');
  program.command('odd').description('.so /etc/passwd \\n').addHelpText('after', "'x\n.y");

  const text = manPage(program, []);

  expect(text.split('\n').filter((line) => /^\.so|^'x|^\.y/.test(line))).toEqual([]);
  expect(text).toContain(String.raw`\&.so /etc/passwd \en`);
});

const hasGroff = spawnSync('groff', ['--version']).status === 0;

test.skipIf(!hasGroff)('groff renders it without a warning (needs groff)', async () => {
  const { stdout } = await runCli(['man']);

  const { stderr, status } = spawnSync('groff', ['-man', '-Tutf8', '-ww'], { input: stdout, encoding: 'utf8' });

  expect(stderr).toBe('');
  expect(status).toBe(0);
});
