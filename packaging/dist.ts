/**
 * `npm run dist`: makes everything that is handed to users, in release/. Needs Linux on x64, git, dpkg-deb, and strip
 * for both platforms. ROWSYNC_SIGNING_KEY names an SSH key that signs the checksums; it stays outside of the checkout.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOP } from './paths.ts';
import { makeRelease } from './release.ts';

const release = join(TOP, 'release');
const signingKey = process.env['ROWSYNC_SIGNING_KEY'];
await makeRelease(release, { signingKey });
if (signingKey === undefined) process.stderr.write('The checksums are not signed: ROWSYNC_SIGNING_KEY names no key.\n');
process.stdout.write(readFileSync(join(release, 'SHA256SUMS'), 'utf8'));
