/**
 * The pages that show rows, in a real browser: what names and values say is only text, no rule of accessibility is
 * broken, everything can be done by keyboard and without scripts, wide and narrow, in the light and in the dark.
 * Skipped where no Chromium is installed.
 */
import { readFileSync } from 'node:fs';
import axe from 'axe-core';
import { describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { CHROMIUM, startBrowser } from '../../support/browser.ts';
import { startDaemon, type TestDaemon } from '../../support/daemon.ts';
import { portOf } from '../../support/http.ts';
import { keyOf, PAGE_YAML, startTroubled } from '../../support/page.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

async function signIn(page: Page, daemon: TestDaemon): Promise<string> {
  const origin = `http://127.0.0.1:${portOf(daemon)}`;
  await page.goto(origin);
  await page.getByLabel('Key').fill(keyOf(daemon));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return origin;
}

/** Rules that the page breaks, each with the first element that does. */
async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  return page.evaluate<string[]>(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes[0].html.slice(0, 200)))`,
  );
}

function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}

const PLACES = [
  '/',
  '/browse',
  '/browse/Note',
  '/browse/Note?Title=nothing&_sort=-Count',
  '/browse/Note?Count=many&Nix=1&_facet=Title&_facet=Done',
  '/browse/Note/1',
  '/browse/Note/2',
  '/edits/Note',
  '/edit/Note/3',
  '/edit/Note/new',
  '/ask',
  '/ask?sql=SELECT+*+FROM+sync_status',
  '/ask?sql=SELECT+"Title","Count"+FROM+"Note"',
  '/work',
] as const;

const EVIL = `</td><script>alert(1)</script><img src=x onerror=alert(1)> "' \u202E \u05E9\u05DC\u05D5\u05DD`;

describe.skipIf(CHROMIUM === null)('in a Chromium on the PATH', () => {
  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
    ['dark', 390],
  ] as const)(
    'in the %s at %i points no rule of accessibility is broken, and nothing is cut off',
    async (colorScheme, width) => {
      await using sandbox = await startTestSandbox({ tables: [NOTE] });
      const yaml = PAGE_YAML.replace('push: true', 'push: true, history: true');
      await using daemon = await startTroubled(sandbox, yaml);
      await using browser = await startBrowser();
      const origin = `http://127.0.0.1:${portOf(daemon)}`;
      const { page, complaints } = await browser.open(origin, { colorScheme, viewport: { width, height: 900 } });
      await page.goto(`${origin}/browse`);
      const found: string[] = (await violations(page)).map((rule) => `signing in: ${rule}`);
      complaints.length = 0; // the answer to who has not signed in is an error to the console
      await signIn(page, daemon);

      for (const path of PLACES) {
        await page.goto(`${origin}${path}`);
        found.push(...(await violations(page)).map((rule) => `${path}: ${rule}`));
        if (await isTooWide(page)) found.push(`${path}: too wide`);
      }

      expect(found).toEqual([]);
      expect(complaints).toEqual([]);
    },
    60_000,
  );

  test('names and values with markup, hundreds of columns, long cells and letters from right to left are only text', async () => {
    const columns = [
      { name: EVIL, type: 'Multiline' },
      ...Array.from({ length: 499 }, (_, index) => ({ name: `c${index} <b>`, type: 'Text' })),
    ];
    const rows = [
      { [EVIL]: EVIL },
      { [EVIL]: 'x'.repeat(5_000_000) },
      { [EVIL]: '\u05E9\u05DC\u05D5\u05DD '.repeat(200) },
    ];
    await using sandbox = await startTestSandbox({ tables: [{ name: `T ${EVIL}`, columns, rows }] });
    await using daemon = startDaemon(sandbox, PAGE_YAML);
    await daemon.idle();
    await using browser = await startBrowser();
    const { page, complaints } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    await signIn(page, daemon);

    await page.getByRole('link', { name: 'Browse' }).click();
    await page.locator('tbody th a').first().click();
    const listed = await page.locator('.grid .cut').allTextContents();
    const shownCount = await page.locator('.grid thead th').count();
    await page.getByText('Columns', { exact: true }).click();
    await page.getByRole('checkbox', { name: 'c498 <b>' }).check();
    await page.getByRole('button', { name: 'Show these' }).click();
    await page.getByRole('link', { name: 'c498 <b>' }).waitFor();
    await page.goto(`${page.url().split('?')[0]}/2`);
    const isWide = await isTooWide(page);
    const saved = page.waitForEvent('download');
    await page.getByRole('link', { name: 'as a text file' }).click();
    const download = await saved;
    const scripts = await page.locator('main script, main img, main b:has(script)').count();

    expect(listed.join('\n')).toContain('</td><script>alert(1)</script>');
    expect(listed.join('\n').length).toBeLessThan(10_000);
    expect(shownCount).toBe(25);
    expect(readFileSync(await download.path(), 'utf8')).toBe('x'.repeat(5_000_000));
    expect(download.suggestedFilename()).not.toMatch(/[/\\]/);
    expect(scripts).toBe(0);
    expect(isWide).toBe(false);
    expect(complaints).toEqual([]);
  }, 60_000);

  test('a picture is shown, and what only claims to be one is never run', async () => {
    const evil = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>';
    const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const files = [
      { name: 'photo.png', mediaType: 'image/png', bytes: Buffer.from(picture, 'base64') },
      { name: 'logo.svg', mediaType: 'image/svg+xml', bytes: Buffer.from(evil) },
      { name: 'page.html', mediaType: 'image/png', bytes: Buffer.from(`<html>${evil}</html>`) },
    ];
    const columns = [{ name: 'Scan', type: 'Attachment' }];
    await using sandbox = await startTestSandbox({
      tables: [{ name: 'Paper', columns, rows: files.map((file) => ({ Scan: file })) }],
    });
    await using daemon = startDaemon(sandbox, PAGE_YAML);
    await daemon.idle();
    await using browser = await startBrowser();
    const { page, complaints } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    const origin = await signIn(page, daemon);

    await page.goto(`${origin}/browse/Paper/1`);
    const size = await page.evaluate('document.images[0].decode().then(() => document.images[0].naturalWidth)');
    await page.goto(`${origin}/browse/Paper/2`);
    const images = await page.locator('main img').count();
    await page.getByRole('link', { name: 'View as text' }).click();
    const text = await page.locator('pre').innerText();
    await page.goto(`${origin}/browse/Paper/3`);
    complaints.length = 0; // content that is no picture is not drawn, which the console says
    const saved = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download' }).click();
    const download = await saved;

    expect([size, images]).toEqual([1, 0]);
    expect(text).toBe(evil);
    expect(download.suggestedFilename()).toBe('page.html');
    expect(complaints).toEqual([]);
  }, 60_000);

  test('by keyboard alone a row is found, edited, and seen with what is sent', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = await startTroubled(sandbox);
    await using browser = await startBrowser();
    const { page, complaints } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    const origin = await signIn(page, daemon);
    const reach = async (name: string): Promise<void> => {
      // Ends: a page has fewer stops than that.
      for (let stop = 0; stop < 120; stop += 1) {
        await page.keyboard.press('Tab');
        const here = await page.evaluate<string>(
          `document.activeElement.getAttribute('aria-label') ?? document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent`,
        );
        if (here.trim() === name) return;
      }
      throw new Error(`no stop is called ${name}`);
    };

    await page.goto(`${origin}/browse/Note`);
    await reach('Filter Title');
    await page.keyboard.type('~title 3');
    await page.keyboard.press('Enter');
    await page.waitForURL(/Title=/);
    await reach('3');
    await page.keyboard.press('Enter');
    await page.waitForURL(/Note\/3$/);
    await reach('Edit');
    await page.keyboard.press('Enter');
    await page.waitForURL(/edit/);
    await reach('Title');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('by keys');
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'Saved here' }).waitFor();

    expect(await page.getByRole('region', { name: 'Edited here' }).innerText()).toContain('by keys');
    expect(daemon.rows('SELECT "Title" FROM "Note" WHERE _id = 3')).toEqual([{ Title: 'by keys' }]);
    expect(complaints).toEqual([]);
  }, 60_000);

  test('without scripts rows are filtered, asked for in SQL, and edited', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = await startTroubled(sandbox);
    await using browser = await startBrowser();
    const { page } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`, { javaScriptEnabled: false });
    const origin = await signIn(page, daemon);

    await page.goto(`${origin}/browse/Note`);
    await page.getByLabel('Filter Count').fill('>4');
    await page.getByRole('button', { name: 'Apply' }).click();
    const address = page.url();
    const listed = await page.locator('.grid tbody th').allTextContents();
    await page.getByRole('link', { name: 'Ask' }).first().click();
    await page.getByLabel('One query').fill('SELECT 40 + 2 AS answer');
    await page.getByRole('button', { name: 'Ask' }).click();
    const answer = await page.locator('.grid td').allTextContents();
    await page.goto(`${origin}/edit/Note/5`);
    await page.getByLabel('Body').fill('two\nlines');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').filter({ hasText: 'Saved here' }).waitFor();

    expect(address).toBe(`${origin}/browse/Note?Count=%3E4`);
    expect(listed.map((text) => text.trim())).toEqual(['5', '6']);
    expect(answer).toEqual(['42']);
    expect(daemon.rows('SELECT "Body" FROM "Note" WHERE _id = 5')).toEqual([{ Body: 'two\nlines' }]);
  }, 60_000);

  test('a form that is sent back as it was shown changes nothing', async () => {
    const body = '\n first line break, \t a tab, <b> & "quotes" \u05E9\u05DC\u05D5\u05DD \u{1F469}\u200D\u{1F680}';
    await using sandbox = await startTestSandbox({
      tables: [{ ...NOTE, rows: [{ Title: ' x ', Body: body, Count: 1.5 }] }],
    });
    await using daemon = startDaemon(sandbox, PAGE_YAML);
    await daemon.idle();
    await using browser = await startBrowser();
    const { page } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    const origin = await signIn(page, daemon);

    await page.goto(`${origin}/edit/Note/1`);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/browse/);

    expect(daemon.rows('SELECT * FROM sync_changes')).toEqual([]);
    await page.getByText('Nothing was changed').waitFor();
  }, 60_000);
});
