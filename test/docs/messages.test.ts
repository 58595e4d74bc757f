/** The list of all messages is true, and finds what it should. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { messagesOf, messagesText } from './messages.ts';

test('the list of messages is what npm run docs makes', () => {
  const stored = readFileSync(new URL('messages.txt', import.meta.url), 'utf8');

  expect(messagesText()).toBe(stored);
});

test('sentences are found wherever they are, and neither SQL nor names', () => {
  const source = [
    'fail(`table ${name} is held`, "see rowsync status");',
    'const q = sql`SELECT this FROM that`; db.exec("DELETE FROM that");',
    'const page = html`<p class="a b">No rows match</p><p>${n} rows are edited</p>`;',
    "const word = 'held';",
  ].join('\n');

  expect(messagesOf('a.ts', source)).toEqual([
    'table … is held',
    'see rowsync status',
    'No rows match',
    '… rows are edited',
  ]);
});
