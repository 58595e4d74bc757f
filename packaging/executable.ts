/**
 * One executable for Linux: the Node that the project pins without its symbols, the program, and what comes with it as
 * assets. V8's compiled code is left out: it differs from build to build.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE_FLAGS } from '../src/base/node-flags.ts';
import { UNIT_FILES } from '../src/extras/service/service-plan.ts';
import { bundleExecutable, type BundledPackage } from './bundle.ts';
import { runProgram, TOP } from './paths.ts';
import { addonOf, NODE, nodeOf, type ExecutablePlatform } from './platforms.ts';

const ADDON_NAME = 'better_sqlite3.node';

/** An executable has its flags in itself, and takes none from the command line. */
export const EXECUTABLE_FLAGS = {
  execArgv: NODE_FLAGS,
  execArgvExtension: 'none',
  disableExperimentalSEAWarning: true,
} as const;

/** Builds the executable for a platform; returns the packages in it. */
export async function buildExecutable(
  output: string,
  platform: ExecutablePlatform,
): Promise<readonly BundledPackage[]> {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-executable-'));
  try {
    const packages = await bundleExecutable(join(folder, 'program.cjs'));
    copyFileSync(nodeOf(platform, folder), join(folder, 'node'));
    if (platform.strip !== null) runProgram(platform.strip, ['--strip-unneeded', 'node'], { cwd: folder });
    const { version } = JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8')) as { version: string };
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'rowsync', version }));
    const units = UNIT_FILES.map((file) => [`systemd/${file}`, join(TOP, 'systemd', file)] as const);
    const assets = { 'package.json': 'package.json', [ADDON_NAME]: addonOf(platform), ...Object.fromEntries(units) };
    // Relative, since the path of the program becomes part of the executable.
    const config = { main: 'program.cjs', executable: 'node', output, assets, ...EXECUTABLE_FLAGS };
    writeFileSync(join(folder, 'sea.json'), JSON.stringify(config));
    runProgram(NODE, ['--build-sea', 'sea.json'], { cwd: folder });
    return packages;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
