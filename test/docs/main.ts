/**
 * `npm run docs`: writes the pages of reference, the JSON Schema of the configuration, the list of messages and the
 * picture of the demo, and drops exceptions that are gone.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { optionsJsonSchema } from '../../src/config/options.ts';
import { SECTIONS } from '../support/sections.ts';
import { demoPicture } from './demo.ts';
import { messagesText } from './messages.ts';
import { breaches, readSources } from './names.ts';
import { referencePages } from './reference.ts';

const FOLDER = fileURLToPath(new URL('../../docs/reference/', import.meta.url));

mkdirSync(FOLDER, { recursive: true });
for (const [name, text] of await referencePages()) writeFileSync(join(FOLDER, name), text);
const schema = JSON.stringify(optionsJsonSchema(SECTIONS), null, 2);
writeFileSync(new URL('../../config/rowsync.schema.json', import.meta.url), `${schema}\n`);
writeFileSync(new URL('messages.txt', import.meta.url), messagesText());
pruneExceptions(new URL('exceptions.json', import.meta.url));
writeFileSync(join(FOLDER, '../images/terminal.svg'), await demoPicture());

/** The list of exceptions to rules about names only gets shorter. */
function pruneExceptions(file: URL): void {
  const found = breaches(readSources(), messagesText().split('\n'));
  const exceptions = JSON.parse(readFileSync(file, 'utf8')) as Record<string, readonly string[]>;
  const kept = Object.entries(exceptions).map(([rule, allowed]) => [
    rule,
    allowed.filter((breach) => found[rule]?.includes(breach)),
  ]);
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}
