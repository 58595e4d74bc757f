/** `npm run dist`: makes everything that is handed to users, in release/. Needs Linux on x64, git, dpkg-deb, and strip for both platforms. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOP } from './paths.ts';
import { makeRelease } from './release.ts';

const release = join(TOP, 'release');
await makeRelease(release);
process.stdout.write(readFileSync(join(release, 'SHA256SUMS'), 'utf8'));
