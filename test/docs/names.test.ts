/**
 * The rules about names and words hold, but for exceptions that were there before them: `npm run docs` removes those
 * that are gone.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { messagesText } from './messages.ts';
import { breaches, readSources, RULES, type Source } from './names.ts';

const exceptions = JSON.parse(readFileSync(new URL('exceptions.json', import.meta.url), 'utf8')) as Record<
  string,
  readonly string[]
>;
const found = breaches(readSources(), messagesText().split('\n'));

test.each(Object.keys(RULES))('no new breach: %s', (rule) => {
  const allowed = exceptions[rule] ?? [];

  expect(found[rule]?.filter((breach) => !allowed.includes(breach))).toEqual([]);
});

test.each<[string, readonly Source[], readonly string[], string]>([
  [
    'type declared twice',
    [source('a.ts', 'export interface Row {}'), source('b/c.ts', 'type Row = string;')],
    [],
    'Row',
  ],
  ['folder of more than 25 files', Array.from({ length: 26 }, (_, index) => source(`a/${index}.ts`, '')), [], 'a'],
  ['retired word in a name', [source('a/work-book.ts', '')], [], 'work-book'],
  ['retired word in a name', [source('a.ts', 'export function readWay() {}')], [], 'readWay'],
  ['retired word in a name', [source('a.ts', 'interface A { readonly wish: 1 }')], [], 'wish'],
  ['retired word in a name', [source('a.ts', 'class A { #pulse = 1 }')], [], 'pulse'],
  ['retired word in a name', [source('a.ts', 'const f = ({ a: [told] }) => 1;')], [], 'told'],
  ['retired word in a header', [source('a.ts', '/** What stands\n * here. */')], [], 'a.ts: stands'],
  ['retired word in a message', [], ['That is no number'], 'That is no number'],
  ['header names what does not exist', [source('a.ts', '/** See b/gone.ts. */')], [], 'a.ts: b/gone.ts'],
  ['header names what does not exist', [source('a.ts', '/** Calls goneRows. */')], [], 'a.ts: goneRows'],
])('a planted breach is found: %s', (rule, sources, messages, breach) => {
  expect(breaches(sources, messages)[rule]).toEqual([breach]);
});

test('words that hold a retired one, and names that exist, are fine', () => {
  const fine = source(
    'a.ts',
    '/** Always reads a.ts with readRows. */\nfunction readRows() {}\nconst always = 1;\nfunction f(isAsked) {}',
  );

  expect(Object.values(breaches([fine], ['An understandable answer'])).flat()).toEqual([]);
});

function source(path: string, text: string): Source {
  return { path, text };
}
