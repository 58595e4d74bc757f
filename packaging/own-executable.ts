/**
 * `npm run executable`: release/rowsync, the executable for this machine alone. Needs Linux, and no program beside
 * Node.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildExecutable } from './executable.ts';
import { TOP } from './paths.ts';
import { OWN } from './platforms.ts';

const release = join(TOP, 'release');
mkdirSync(release, { recursive: true });
await buildExecutable(join(release, 'rowsync'), OWN);
