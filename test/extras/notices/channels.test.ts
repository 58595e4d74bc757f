/** Whether the program that tells a person can be run, without running it. */
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { checkNotices } from '../../../src/extras/notices/channels.ts';
import { temporaryFolder } from '../../support/replica.ts';

function outcomeOf(...command: readonly string[]): string | undefined {
  const [result, ...others] = checkNotices({ command: [...command], repeatMinutes: 360 });
  expect(others).toEqual([]);
  return result?.outcome;
}

test('without a command there is nothing to check', () => {
  expect(checkNotices({ repeatMinutes: 360 })).toEqual([]);
  expect(checkNotices({ webhook: 'https://chat.example/', repeatMinutes: 360 })).toEqual([]);
  expect(checkNotices({ command: [], repeatMinutes: 360 })).toEqual([]);
});

test('a program is found by its path, or in PATH, and is not run', () => {
  using folder = temporaryFolder();
  const [out, tell] = [join(folder.path, 'out'), join(folder.path, 'tell-me')];
  writeFileSync(tell, `#!/bin/sh\ntouch ${out}\n`, { mode: 0o755 });
  symlinkSync(tell, join(folder.path, 'link'));
  vi.stubEnv('PATH', ['/nowhere', folder.path].join(delimiter));

  expect([tell, join(folder.path, 'link'), 'tell-me', 'link'].map((program) => outcomeOf(program, '--now'))).toEqual(
    Array.from({ length: 4 }, () => 'ok'),
  );
  expect(existsSync(out)).toBe(false);
});

test('a folder, a file that may not be run, and a name that is nowhere are no program', () => {
  using folder = temporaryFolder();
  const [plain, sub] = [join(folder.path, 'plain'), join(folder.path, 'sub')];
  writeFileSync(plain, 'text', { mode: 0o644 });
  mkdirSync(sub);
  vi.stubEnv('PATH', folder.path);

  for (const program of [plain, sub, 'plain', 'sub', 'missing', join(folder.path, 'missing'), `${plain}/below`])
    expect(outcomeOf(program)).toBe('fail');
  vi.stubEnv('PATH', undefined);
  expect(checkNotices({ command: ['sh'], repeatMinutes: 360 })).toEqual([
    {
      name: 'notices',
      outcome: 'fail',
      message: 'notify.command: sh cannot be run, so nobody would be told',
      hint: expect.stringContaining('whole path') as string,
    },
  ]);
});
