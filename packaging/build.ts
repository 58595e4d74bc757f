/**
 * `npm run build`: what the package holds in dist/. The program is one bundle with every JavaScript package in it; only better-sqlite3, which
 * has machine code, is installed beside it. The library is a second bundle, with the types that it exports.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram, TOP } from './paths.ts';
import { bundle, writeLicenses } from './bundle.ts';

rmSync(join(TOP, 'dist'), { recursive: true, force: true });
const bundled = await bundle(join(TOP, 'dist'));
writeLicenses(join(TOP, 'dist/licenses.txt'), bundled);
runProgram(join(TOP, 'node_modules/.bin/tsc'), ['-p', 'src']);
