/** The documents for users, and the code that they show. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const pages = readdirSync('docs').filter((name) => name.endsWith('.md'));
export const documents = ['README.md', 'llms.txt', ...pages.map((name) => join('docs', name))].map((path) => ({
  path,
  text: readFileSync(path, 'utf8'),
}));

/** What stands in code blocks of a language. */
export function blocks(language: string): readonly { readonly path: string; readonly code: string }[] {
  const fence = new RegExp(String.raw`^ *\`\`\`${language}\n(.*?)^ *\`\`\``, 'gms');
  return documents.flatMap(({ path, text }) =>
    [...text.matchAll(fence)].map((match) => ({ path, code: match[1] ?? '' })),
  );
}
