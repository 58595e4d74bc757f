/** The picture of the demo in the README is what the demo prints now. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { demoPicture } from './demo.ts';

test('the picture of the demo is what npm run docs makes', { timeout: 120_000 }, async () => {
  const picture = readFileSync(new URL('../../docs/images/terminal.svg', import.meta.url), 'utf8');

  expect(await demoPicture()).toBe(picture);
  expect(picture.match(/<text/g)?.length).toBeGreaterThan(20);
});
