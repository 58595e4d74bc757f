/**
 * What npm's command starts, run as users of another Node run it.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleStart } from '../../packaging/bundle.ts';
import { EXIT } from '../../src/base/errors.ts';

const PACKAGE = fileURLToPath(new URL('../../package.json', import.meta.url));

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowsync-start-'));
  await bundleStart(join(folder, 'main.cjs'));
});
afterAll(() => rm(folder, { recursive: true }));

test('a Node that is too old is named in one line, and nothing is loaded', () => {
  const older = "data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'20.19.2'}})";

  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', older, join(folder, 'main.cjs'), 'status'],
    {
      encoding: 'utf8',
    },
  );

  expect(status).toBe(EXIT.usage);
  expect(stdout).toBe('');
  expect(stderr).toBe(
    `error: rowsync needs Node 24 or newer, and ${process.execPath} is Node 20.19.2; get one from https://nodejs.org, ` +
      'or use the Debian package or the executable, which need none\n',
  );
});

test('the oldest Node that it takes is the one that the package asks for', () => {
  const { engines } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { engines: { node: string } };
  const [, min = ''] = /needs Node \$\{(\w+)\}/.exec(readFileSync(join(folder, 'main.cjs'), 'utf8')) ?? [];

  expect(readFileSync(join(folder, 'main.cjs'), 'utf8')).toContain(`${min}=${engines.node.replace('>=', '')};`);
});
