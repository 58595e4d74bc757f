/** What comes with the program: its version, and files below the top of the checkout. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isCheckout, readShipped, ROWSYNC, versionOf } from '../../../src/cli/runtime/installation.ts';

test('the version is that of the package', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

  expect(versionOf()).toBe(version);
});

test('a file that comes with the program is read from the top of the checkout, wherever the command is run', () => {
  const here = process.cwd();
  const expected = readFileSync('systemd/rowsync@.service', 'utf8');
  process.chdir('/');
  try {
    expect(readShipped('systemd/rowsync@.service')).toBe(expected);
  } finally {
    process.chdir(here);
  }
});

test('what a person types in a checkout goes through npm, since no rowsync is on the path', () => {
  expect([isCheckout, ROWSYNC]).toEqual([true, 'npm run -s rowsync --']);
});
