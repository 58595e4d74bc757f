/**
 * What npm's command starts, and the libraries of the package, run as users of another Node run them.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleLibraries, bundleStart } from '../../packaging/bundle.ts';
import { EXIT } from '../../src/base/errors.ts';

const PACKAGE = fileURLToPath(new URL('../../package.json', import.meta.url));

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowsync-start-'));
  await bundleStart(join(folder, 'main.cjs'));
  await bundleLibraries(folder);
  await symlink(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'node_modules'));
});
afterAll(() => rm(folder, { recursive: true }));

const OLDER = "data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'20.19.2'}})";

test('a Node that is too old is named in one line, and nothing is loaded', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', OLDER, join(folder, 'main.cjs'), 'status'],
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

const LIBRARIES = { client: 'extras/library/library.js', sandbox: 'sandbox/library.js' };

test.each(Object.values(LIBRARIES))('%s names the Node that it needs, in a short line', (path) => {
  const { stderr } = spawnSync(process.execPath, ['--import', OLDER, join(folder, path)], { encoding: 'utf8' });

  expect(stderr).toContain(
    `Error: rowsync needs Node 24 or newer, and ${process.execPath} is Node 20.19.2; get one from https://nodejs.org\n`,
  );
  expect(stderr.length).toBeLessThan(1000);
});

test.each(Object.values(LIBRARIES))('%s is read by an older Node as far as its check', (path) => {
  const text = readFileSync(join(folder, path), 'utf8');

  // Syntax that it cannot read, and imports by name of what it lacks, fail before any line runs.
  expect([...text.matchAll(/\bimport\b[^;"]*\bfrom ?["'](node:[a-z/]+)["']/gu)].map(([, name]) => name)).toEqual([
    'node:module',
  ]);
  expect(text).not.toMatch(/[;{}]\s*(?:await )?using [a-z]\w*=/iu);
});

test.each([
  ['client', ['RowsyncError', 'openDatabase', 'openOrigin']],
  ['sandbox', ['startSandbox']],
] as const)('the %s is loaded by import and by require', (library, names) => {
  const path = JSON.stringify(join(folder, LIBRARIES[library]));
  const program = `const same = require(${path}); import(${path}).then((names) => console.log(Object.keys(names).join()))`;
  const { stdout } = spawnSync(process.execPath, ['--eval', program], { encoding: 'utf8' });

  expect(stdout.trim().split(',')).toEqual(expect.arrayContaining([...names]));
});
