/** Writes the pages of reference and the picture of the demo: `npm run docs`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { demoPicture } from './demo.ts';
import { referencePages } from './reference.ts';

const FOLDER = fileURLToPath(new URL('../../docs/reference/', import.meta.url));

mkdirSync(FOLDER, { recursive: true });
for (const [name, text] of await referencePages()) writeFileSync(join(FOLDER, name), text);
writeFileSync(join(FOLDER, '../images/terminal.svg'), await demoPicture());
