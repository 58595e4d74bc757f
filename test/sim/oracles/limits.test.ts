/**
 * Whatever the oracle of silence lets pass stands in the documentation.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LIMITS } from './limits.ts';

const DOCUMENTED = readFileSync(new URL('../../../docs/limits.md', import.meta.url), 'utf8').replaceAll(/\s+/g, ' ');

test.each(LIMITS.map(({ words }) => [words]))('docs/limits.md says "%s"', (words) => {
  expect(DOCUMENTED).toContain(words);
});
