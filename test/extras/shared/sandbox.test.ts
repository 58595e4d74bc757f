/**
 * What a rehearsal says of its limits, and that a sandbox is loaded and started from here.
 */
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { limitsText, startSandbox, titledText } from '../../../src/extras/shared/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

test('a title has its lines below it, safe on a terminal; without lines there is none', () => {
  expect(titledText('Title:', ['one', 'two \u001B[2J'])).toBe('\nTitle:\n  one\n  two \\u001b[2J\n');
  expect(titledText('Title:', [])).toBe('');
});

test('what is never known comes first, then what is not known of this replica, and rules where some were seen', () => {
  const text = limitsText({ unknown: ['the key of Order'], rules: [] });

  expect(text).toMatch(/^\nNot known here.*:\n {2}defaults, .*\n {2}the key of Order\n$/);
  expect(limitsText({ unknown: [], rules: ['no spaces'] })).toMatch(/\nRefusals that were seen:\n {2}no spaces\n$/);
});

test('a sandbox is started with its tables, and a port that is taken is said', async () => {
  const sandbox = await startSandbox({ clock: systemClock, tables: [NOTE] });
  const ids = sandbox.store.rows('Note').map(({ id }) => id);
  const taken = startSandbox({ clock: systemClock, tables: [NOTE], port: Number(new URL(sandbox.url).port) });

  expect(ids).toEqual([1, 2, 3, 4, 5, 6]);
  await expect(taken).rejects.toThrow('EADDRINUSE');
  await sandbox.stop();
});
