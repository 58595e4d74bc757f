/**
 * What the daemon serves beside its pages: nothing of it comes from elsewhere, and the script makes no HTML of texts.
 * The browser runs it in test/extras/page/browser.long.test.ts.
 */
import { Script } from 'node:vm';
import { expect, test } from 'vitest';
import { PAGE_CSS, PAGE_ICON, PAGE_JS } from '../../../src/extras/page/assets.ts';

test('the script is one that a browser can read, and the icon a picture', () => {
  expect(() => new Script(PAGE_JS)).not.toThrow();
  expect(PAGE_ICON).toMatch(/^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
});

test.each([
  ['the styles', PAGE_CSS],
  ['the script', PAGE_JS],
  ['the icon', PAGE_ICON.replace('xmlns="http://www.w3.org/2000/svg"', '')],
])('%s loads nothing from another address', (_what, text) => {
  expect(text).not.toMatch(/https?:|\/\/[a-z0-9-]+\.|url\(|@import/);
});

test('the script makes no code of a text, and keeps nothing in the browser', () => {
  expect(PAGE_JS).not.toMatch(/\beval\b|new Function|document\.write|localStorage|indexedDB|document\.cookie/);
  expect(PAGE_JS).not.toMatch(/insertAdjacentHTML|outerHTML\s*=|innerHTML\s*=/);
});

test('every color has a value in the light and in the dark', () => {
  const names = (text: string): readonly string[] => [...text.matchAll(/(--[\w-]+):/g)].map(([, name = '']) => name);
  const [light = '', dark = ''] = [...PAGE_CSS.matchAll(/:root \{(.*?)\}/gs)].map(([, rules = '']) => rules);
  const used = new Set([...PAGE_CSS.matchAll(/var\((--[\w-]+)\)/g)].map(([, name = '']) => name));
  const defined = new Set(names(PAGE_CSS));

  expect(names(dark).toSorted()).toEqual(names(light).toSorted());
  expect([...used].filter((name) => !defined.has(name))).toEqual([]);
});
