/** The pages of reference say what the program says now. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { referencePages } from './reference.ts';

const FOLDER = 'docs/reference';

test('the pages of reference are what npm run docs makes', async () => {
  const pages = await referencePages();
  const stored = new Map(readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')]));

  expect([...stored.keys()].toSorted()).toEqual([...pages.keys()].toSorted());
  for (const [name, text] of pages) expect(stored.get(name), `${name}: run npm run docs`).toBe(text);
});

test('they have every kind of item', async () => {
  const pages = await referencePages();
  const count = (name: string, pattern: RegExp): number => pages.get(name)?.match(pattern)?.length ?? 0;

  expect(count('commands.md', /^## rowsync/gm)).toBeGreaterThan(30);
  expect(count('configuration.md', /^\| `/gm)).toBeGreaterThan(50);
  expect(count('metrics.md', /^\| `rowsync_/gm)).toBeGreaterThan(25);
  expect(count('views.md', /^## sync_/gm)).toBe(12);
});
