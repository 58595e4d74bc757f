/**
 * Work that people begin and stop in a real browser: every button, progress while it goes on, with scripts and without,
 * and a query that is stopped. Skipped where no Chromium is installed.
 */
import { describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { CHROMIUM, startBrowser } from '../../support/browser.ts';
import { startDaemon, type TestDaemon } from '../../support/daemon.ts';
import { portOf } from '../../support/http.ts';
import { keyOf, PAGE_YAML, startTroubled } from '../../support/page.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

const ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
const FOLLOWED = `${PAGE_YAML}schedule: { sync: "0 * * * *", follow: "30 * * * *" }\n`;

async function open(page: Page, daemon: TestDaemon, path: string): Promise<void> {
  const origin = `http://127.0.0.1:${portOf(daemon)}`;
  await page.goto(origin);
  await page.getByLabel('Key').fill(keyOf(daemon));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await page.goto(`${origin}${path}`);
}

/** Holds the next page of rows back; returns how to let it go. */
function holdRows(sandbox: TestSandbox): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  sandbox.before(1, () => promise, { method: 'select' });
  return resolve;
}

describe.skipIf(CHROMIUM === null)('in a Chromium on the PATH', () => {
  test('each button begins its kind of work, and the list says what it did', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = await startTroubled(sandbox, FOLLOWED);
    await using browser = await startBrowser();
    const { page, complaints } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    await open(page, daemon, '/work');
    const workOf = (): readonly unknown[] => daemon.events('work.finished').map(({ work }) => work);
    const press = async (name: string): Promise<readonly unknown[]> => {
      const before = workOf().length;
      await page.getByRole('button', { name, exact: true }).click();
      await page.getByRole('status').waitFor();
      await daemon.seconds(2);
      await page.goto(page.url().replace(/\?.*$/, ''));
      return workOf().slice(before);
    };

    sandbox.store.update('Note', 4, { Title: 'from there' });
    const pulled = await press('Pull now');
    daemon.execute(`UPDATE "Note" SET "Title" = 'from here' WHERE _id = 5`);
    const pushed = await press('Push now');
    sandbox.store.update('Note', 6, { Title: 'followed' });
    const followed = await press('Follow now');
    daemon.execute(`UPDATE "Note" SET "Code" = 'c9' WHERE _id = 2`);
    await page.getByRole('button', { name: 'Send 1 refused row again' }).click();
    await page.getByRole('status').filter({ hasText: 'sent again' }).waitFor();
    await page.goto(`${new URL(page.url()).origin}/work`);
    const all = await press('Synchronise now');

    expect([pulled, pushed, followed]).toEqual([['pull'], ['push'], ['follow']]);
    expect(all).toEqual(expect.arrayContaining(['pull', 'push']));
    expect(sandbox.store.rows('Note').find(({ id }) => id === 5)?.values['Title']).toBe('from here');
    expect(sandbox.store.rows('Note').find(({ id }) => id === 2)?.values['Code']).toBe('c9');
    expect(await page.getByRole('button', { name: /refused row/ }).count()).toBe(0);
    expect(complaints).toEqual([]);
  }, 60_000);

  test('progress is told as it goes on, and its end as well', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = startDaemon(sandbox, PAGE_YAML);
    await daemon.idle();
    await using browser = await startBrowser();
    const { page, complaints } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    await open(page, daemon, '/work');
    const progress = page.locator('#progress');
    await page.evaluate('window.isSame = true');

    const release = holdRows(sandbox);
    daemon.cycle();
    await progress.filter({ hasText: 'pull, 0 of 1 table' }).waitFor();
    const bars = await progress.getByRole('progressbar').count();
    const isSame = await page.evaluate('window.isSame');
    release();
    await daemon.idle();
    await progress.filter({ hasText: 'Nothing at the moment.' }).waitFor();

    expect([bars, isSame]).toEqual([1, true]);
    expect(complaints).toEqual([]);
  }, 60_000);

  test('without scripts the page is loaded anew while work goes on', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = startDaemon(sandbox, PAGE_YAML);
    await daemon.idle();
    await using browser = await startBrowser();
    const { page } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`, { javaScriptEnabled: false });
    await open(page, daemon, '/work');

    const release = holdRows(sandbox);
    daemon.cycle();
    await page.goto(page.url());
    await page.getByRole('progressbar').waitFor();
    release();
    await daemon.idle();
    await page.getByText('Nothing at the moment.').waitFor();

    expect(await page.locator('#progress').innerText()).toBe('Nothing at the moment.');
  }, 60_000);

  test('a query is stopped by button, and the next one is answered', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = startDaemon(sandbox, PAGE_YAML);
    await daemon.idle();
    await using browser = await startBrowser();
    const { page, complaints } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    await open(page, daemon, '/ask');

    // More often than there are processes: each has to end.
    for (let round = 0; round < 3; round += 1) {
      await page.getByLabel('One query').fill(ENDLESS);
      // In one go: what a test does next waits until a page that was asked for is there, which it never is.
      const wasShown = await page.evaluate(`(async () => {
        document.querySelector('form.ask').requestSubmit();
        await fetch('/livez');
        const stop = document.querySelector('#stop');
        const wasShown = stop.checkVisibility();
        stop.click();
        return wasShown;
      })()`);
      expect(wasShown).toBe(true);
    }
    await page.getByLabel('One query').fill('SELECT 40 + 2 AS answer');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('cell', { name: '42' }).waitFor();

    expect(complaints).toEqual([]);
  }, 60_000);
});
