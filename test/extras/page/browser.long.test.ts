/**
 * The page in a real browser: values and names that try to break out of it, a conflict decided by a click, a narrow
 * screen, light and dark. Skipped where no Chromium is installed.
 */
import { describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { CHROMIUM, startBrowser } from '../../support/browser.ts';
import { startDaemon, type TestDaemon } from '../../support/daemon.ts';
import { portOf } from '../../support/http.ts';
import { keyOf, PAGE_YAML, startTroubled } from '../../support/page.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

const PAYLOADS = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<svg/onload=alert(1)>',
  '"><svg onload=alert(1)>',
  `' onmouseover='alert(1)`,
  '" autofocus onfocus="alert(1)',
  '</textarea></dd><script>alert(1)</script>',
  '</title><script>alert(1)</script>',
  'javascript:alert(1)',
  '<a href="javascript:alert(1)">x</a>',
  '${alert(1)} {{constructor.constructor("alert(1)")()}} <%= 1 %>',
  '<style>body{display:none}</style>',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  '<base href="https://evil.example/">',
  '<iframe src="https://evil.example/"></iframe>',
  '<form action="https://evil.example/"><button>x</button></form>',
  '<link rel="stylesheet" href="https://evil.example/x.css">',
  '--><script>alert(1)</script>',
  '&#60;script&#62;alert(1)&#60;/script&#62;',
  '\u202Etxt.exe\u202C \u2066x\u2069 \u200B',
  'W'.repeat(10_240),
];

/** Signs in, and waits until the page's script has run: it listens to keys, and shows which. */
async function signedIn(page: Page, daemon: TestDaemon): Promise<string> {
  const origin = `http://127.0.0.1:${portOf(daemon)}`;
  await page.goto(origin);
  await page.getByLabel('Key').fill(keyOf(daemon));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await page.waitForLoadState('load');
  return origin;
}

/** Whether the page itself can be moved sideways; parts of it may. */
function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}

/** Tables, columns and rows that are all named and filled by someone who means harm. */
async function startHostile(): Promise<{
  readonly daemon: TestDaemon;
  readonly values: readonly string[];
  [Symbol.asyncDispose](): Promise<void>;
}> {
  const name = `x"><img src=x onerror=alert(1)> ' \u202E`;
  const column = '</textarea><script>alert(2)</script>';
  const spec = {
    name,
    columns: [{ name: column, type: 'Multiline' }],
    rows: PAYLOADS.map((_payload, index) => ({ [column]: `row ${index}` })),
  };
  const sandbox = await startTestSandbox({ tables: [spec] });
  const daemon = startDaemon(sandbox, PAGE_YAML);
  await daemon.idle();
  const [{ local } = { local: '' }] = daemon.rows('SELECT "table" AS local FROM sync_status') as { local: string }[];
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const values = PAYLOADS.map((payload, index) => `${payload} ${index}`);
  for (const [index, value] of values.entries()) {
    const text = `'${value.replaceAll("'", "''")}'`;
    daemon.execute(`UPDATE ${quoted(local)} SET ${quoted(column)} = ${text} WHERE _id = ${index + 1}`);
    sandbox.store.update(name, index + 1, { [column]: `${value} there` });
  }
  await daemon.elapse(5);
  return {
    daemon,
    values,
    [Symbol.asyncDispose]: async () => {
      await daemon[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

describe.skipIf(CHROMIUM === null)('in a Chromium on the PATH', () => {
  test('what rows and names say is only ever text', async () => {
    await using hostile = await startHostile();
    await using browser = await startBrowser();
    const { daemon, values } = hostile;
    const { page, complaints } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    const origin = await signedIn(page, daemon);

    const shown = await page.locator('.value').allTextContents();
    const elements = await page
      .locator('main img, main svg svg, main iframe, main script, main style, main a[href*=":"]')
      .count();
    // Everything that can be opened or pointed at, in case something listens.
    await page.evaluate(`for (const details of document.querySelectorAll('details')) details.open = true;
    for (const element of document.querySelectorAll('main *')) element.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))`);

    expect(shown.filter((text) => text.includes('script'))).not.toEqual([]);
    for (const value of values.filter((text) => text.length < 400 && /^[\x20-\x7E]*$/.test(text))) {
      expect(shown).toContain(value);
    }
    expect(shown).toContain(String.raw`\u202etxt.exe\u202c \u2066x\u2069 \u200b 19`);
    // A long value is folded, and opens whole.
    const folded = await page.locator('summary .value').allTextContents();
    expect(new Set(folded)).toEqual(new Set([`${'W'.repeat(400)}…`]));
    const long = values.filter((value) => value.length > 400).flatMap((value) => [value, `${value} there`]);
    expect(shown.filter((text) => text.length > 401).toSorted()).toEqual(long.toSorted());
    expect(elements).toBe(0);
    expect(await isTooWide(page)).toBe(false);
    expect(page.url()).toBe(`${origin}/`);
    expect(complaints).toEqual([]);
  });

  test('a conflict is decided by a click, and a row put back by another', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = await startTroubled(sandbox);
    await using browser = await startBrowser();
    const { page, complaints } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    await signedIn(page, daemon);

    await page.getByRole('heading', { name: '1 table needs attention' }).waitFor();
    await page.getByText('Another value').click();
    await page.getByLabel('Value for Title').fill('both');
    await page.getByRole('button', { name: 'Take this value' }).click();
    await page.getByRole('status').filter({ hasText: 'The conflict is decided.' }).waitFor();
    await page.getByRole('button', { name: 'Discard the edit' }).click();
    await page.getByRole('status').filter({ hasText: 'Discarded; the values are kept' }).waitFor();
    await daemon.seconds(8);
    await page.reload();

    expect(sandbox.store.rows('Note')[0]?.values['Title']).toBe('both');
    await page.getByRole('heading', { name: 'The table is up to date' }).waitFor();
    expect(await page.locator('.card').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('by keys the next conflict is reached, and a version taken', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = await startTroubled(sandbox);
    await using browser = await startBrowser();
    const { page, complaints } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    await signedIn(page, daemon);

    const keys = page.getByText('Keys:');
    expect(await keys.isVisible()).toBe(true);
    await page.setViewportSize({ width: 390, height: 900 });
    expect(await keys.isVisible()).toBe(false);
    await page.keyboard.press('t');
    const before = daemon.rows(`SELECT state FROM sync_conflicts`);
    await page.keyboard.press('n');
    await page.keyboard.press('t');
    await page.getByRole('status').filter({ hasText: 'The conflict is decided.' }).waitFor();

    expect(before).toEqual([{ state: 'open' }]);
    expect(daemon.rows('SELECT "Title" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'theirs' }]);
    expect(complaints).toEqual([]);
  });

  test('a page that stays open shows what changed, and leaves what a person types', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = await startTroubled(sandbox);
    await using browser = await startBrowser();
    const { page, complaints } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    const origin = await signedIn(page, daemon);

    const watching = page.waitForResponse(`${origin}/events`);
    await page.goto(`${origin}/browse/Note`);
    await page.evaluate('window.isSame = true');
    await watching;
    sandbox.store.update('Note', 3, { Title: 'new there' });
    daemon.cycle();
    await daemon.idle();
    await page.getByText('new there').waitFor();
    const isSame = await page.evaluate('window.isSame');
    await page.goto(origin);
    await page.getByText('Another value').click();
    await page.getByLabel('Value for Title').fill('both');
    sandbox.store.update('Note', 4, { Title: 'new again' });
    const renewed = page.waitForResponse(`${origin}/`);
    daemon.cycle();
    await daemon.idle();
    await renewed;

    expect(isSame).toBe(true);
    expect(await page.getByLabel('Value for Title').inputValue()).toBe('both');
    expect(complaints).toEqual([]);
  }, 60_000);

  test('the open page of a new row becomes that of the row at the origin', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = startDaemon(sandbox, PAGE_YAML.replace('push: true', 'push: true, history: true'));
    await daemon.idle();
    await using browser = await startBrowser();
    const { page, complaints } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    const origin = await signedIn(page, daemon);

    await page.goto(`${origin}/edit/Note/new`);
    await page.getByLabel('Title').fill('new one');
    const watching = page.waitForResponse(`${origin}/events`);
    await page.getByRole('button', { name: 'Add the row' }).click();
    await page.waitForURL(/\/browse\/Note\/-\d+$/);
    await watching;
    await daemon.seconds(8);
    await page.waitForURL(/\/browse\/Note\/\d+$/);
    await page.getByRole('status').filter({ hasText: 'The origin took this new row' }).waitFor();

    expect(await page.getByText('deleted').count()).toBe(0);
    expect(complaints).toEqual([]);
  }, 60_000);

  test('it works without scripts', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = await startTroubled(sandbox);
    await using browser = await startBrowser();
    const { page } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`, { javaScriptEnabled: false });
    await signedIn(page, daemon);

    await page.getByRole('button', { name: 'Take remote' }).click();
    await page.getByRole('status').filter({ hasText: 'The conflict is decided.' }).waitFor();

    expect(daemon.rows('SELECT "Title" FROM "Note" WHERE _id = 1')).toEqual([{ Title: 'theirs' }]);
  });

  test('another site can neither post a form nor show the page in a frame', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = await startTroubled(sandbox);
    await using browser = await startBrowser();
    const { page } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    const origin = await signedIn(page, daemon);
    // The same browser, and so the same cookies, on a page of another client's.
    await page.route('http://evil.example/', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<iframe src="${origin}/"></iframe><form method="post" action="${origin}/decide">
        <input name="decision" value='{"kind":"resolve","id":1}'><input name="take" value="local"><button>go</button></form>`,
      }),
    );
    await page.goto('http://evil.example/');
    const framed = await page.frames()[1]?.content();
    const answered = page.waitForResponse(`${origin}/decide`);
    await page.getByRole('button', { name: 'go' }).click();
    const answer = await answered;

    expect(framed ?? '').not.toContain('theirs');
    expect(answer.status()).toBe(403);
    expect(daemon.rows(`SELECT state FROM sync_conflicts`)).toEqual([{ state: 'open' }]);
  });

  test.each(['light', 'dark'] as const)('at 360 pixels, in the %s, nothing is cut off', async (colorScheme) => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = await startTroubled(sandbox);
    await using browser = await startBrowser();
    const { page, complaints } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`, {
      colorScheme,
      viewport: { width: 360, height: 740 },
    });
    await signedIn(page, daemon);
    for (const summary of await page.locator('summary').all()) await summary.click();

    const colours = await page.evaluate<number[]>(
      `[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color].map((colour) =>
      colour.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0))`,
    );
    const [behind = 0, text = 0] = colours;

    expect(await isTooWide(page)).toBe(false);
    expect(colorScheme === 'dark' ? text - behind : behind - text).toBeGreaterThan(400);
    expect(complaints).toEqual([]);
  });

  test('who reads with the ears finds names for everything', async () => {
    await using sandbox = await startTestSandbox({ tables: [NOTE] });
    await using daemon = await startTroubled(sandbox);
    await using browser = await startBrowser();
    const { page } = await browser.open(`http://127.0.0.1:${portOf(daemon)}`);
    await signedIn(page, daemon);

    const count = (selector: string): Promise<number> => page.locator(selector).count();
    expect(await count('h1')).toBe(1);
    expect(await count('table:not(:has(caption))')).toBe(0);
    expect(await count('th:not([scope])')).toBe(0);
    expect(await page.getByRole('table', { name: 'Tables with their state' }).count()).toBe(1);
    expect(await page.getByRole('article', { name: 'Note · row 1 mine · Title' }).count()).toBe(1);
    const ids = await page.evaluate<string[]>('[...document.querySelectorAll("[id]")].map(({ id }) => id)');
    expect(new Set(ids).size).toBe(ids.length);
  });
});
