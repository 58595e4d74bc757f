/**
 * What the executable and the Debian package for ARM64 run on: tests of values, the replica, capture and pushes in the
 * Node that is shipped for that platform, under emulation. vitest itself runs on this machine; the processes that it
 * starts for the tests do not.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { ARM64, nodeOf } from '../../packaging/platforms.ts';

vi.setConfig({ testTimeout: 900_000 });

const TOP = fileURLToPath(new URL('../../', import.meta.url));
/** Where Debian's cross packages put the C library of the platform. */
const LIBRARIES = '/usr/aarch64-linux-gnu';
const EMULATOR = 'qemu-aarch64';
const isHere = spawnSync(EMULATOR, ['-version']).status === 0 && existsSync(LIBRARIES);

/** Tests that start no process and take seconds each; under emulation everything takes about ten times as long. */
const SUITES = [
  'test/wire/exact-json.test.ts',
  'test/wire/json.test.ts',
  'test/wire/values.test.ts',
  'test/replica/lock.test.ts',
  'test/replica/schema-objects.test.ts',
  'test/capture/writer/store-origin-rows.test.ts',
  'test/capture/changes-view.test.ts',
  'test/push/send.test.ts',
];

const folder = mkdtempSync(join(tmpdir(), 'rowsync-arm64-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.skipIf(!isHere)('values, the replica, capture and pushes work on ARM64', () => {
  const [node, starts, hook] = [join(folder, 'node'), join(folder, 'starts'), join(folder, 'hook.mjs')];
  const shipped = nodeOf(ARM64, folder);
  const emulated = `${EMULATOR} -L ${LIBRARIES} "${shipped}"`;
  const script = `#!/bin/sh\n${emulated} -p process.arch >> "${starts}"\nexec ${emulated} "$@"\n`;
  writeFileSync(node, script, { mode: 0o755 });
  // vitest starts its processes with what it believes to be its own program.
  writeFileSync(hook, `process.execPath = ${JSON.stringify(node)};\n`);
  const vitest = join(TOP, 'node_modules/vitest/vitest.mjs');
  const args = ['--import', hook, vitest, 'run', '--pool=forks', '--maxWorkers=1', '--testTimeout=120000', ...SUITES];

  const output = execFileSync(process.execPath, args, { cwd: TOP, encoding: 'utf8' });

  expect(output).toContain(`${SUITES.length} passed`);
  expect(readFileSync(starts, 'utf8')).toMatch(/^(?:arm64\n)+$/);
});
