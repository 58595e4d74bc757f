/** The planted bugs fit the source as it is; that a seed finds each of them is shown by `npm run mutants`. */
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MUTANT_PAIRS, MUTANTS } from './list.ts';
import { FOUND_IN } from './found.ts';
import { edited } from './mutant.ts';
import { SCENARIOS } from '../stories/scenarios.ts';

const SOURCE = join(import.meta.dirname, '../../../src');

test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('%s can be planted', (_name, mutant) => {
  const texts = new Map<string, string>();
  for (const edit of mutant.edits) {
    const text = texts.get(edit.file) ?? readFileSync(join(SOURCE, edit.file), 'utf8');
    const changed = edited(text, edit, mutant.name);
    expect(changed).not.toBe(text);
    expect(() => stripTypeScriptTypes(changed)).not.toThrow();
    texts.set(edit.file, changed);
  }
});

test('no two planted bugs have one name, and pairs are made of them', () => {
  const names = MUTANTS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toEqual(expect.arrayContaining(MUTANT_PAIRS.flatMap((pair) => pair.names)));
});

test('each of them was found in some world or by a test, or it is said why none can', () => {
  const pairs = MUTANT_PAIRS.map(({ names }) => names.join('+'));
  const wanted = MUTANTS.flatMap(({ name, equivalent }) => (equivalent === undefined ? [name] : []));
  const stories = Object.values(FOUND_IN).flatMap((hint) => ('story' in hint ? [hint.story] : []));
  const tests = Object.values(FOUND_IN).flatMap((hint) => ('test' in hint ? [hint.test] : []));

  expect(Object.keys(FOUND_IN).toSorted()).toEqual([...wanted, ...pairs].toSorted());
  expect(SCENARIOS.map(({ name }) => name)).toEqual(expect.arrayContaining(stories));
  expect(tests.filter((path) => !existsSync(join(SOURCE, '..', path)))).toEqual([]);
});
