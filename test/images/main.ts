/**
 * Makes the pictures of the documents from real runs: `npm run docs:images`. Needs Chromium and Datasette
 * on the PATH. `npm run docs` makes the picture of the demo; the picture of the flow is written by hand.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import type { Page } from 'playwright-core';
import { CHROMIUM, startBrowser } from '../support/browser.ts';
import { makeWorkspace, runRowsync } from '../support/child.ts';
import { startDaemonProcess } from '../support/daemon-process.ts';
import { startTestSandbox } from '../support/sandbox.ts';

const IMAGES = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const TABLES =
  'tables: { "*": { history: true }, Customer: { push: true, conflict: ask, history: true }, Employee: { push: true, history: true } }\n';
const WATCHED = 'push: { delay: 1 }\nhttp: { listen: "127.0.0.1:0" }\n';

/** Pages of a daemon with an open conflict, a refused row and edits of colleagues, light and dark. */
async function picturePages(): Promise<void> {
  await using sandbox = await startTestSandbox();
  using workspace = makeWorkspace(sandbox, TABLES + WATCHED);
  const { folder } = workspace;
  await runRowsync(['pull'], { folder });
  edit(join(folder, 'replica.db'));
  sandbox.store.update('Customer', 2, { Phone: '+44 20 7946 0018' });
  for (let id = 10; id < 60; id += 3) sandbox.store.update('Order', id, { Status: 'Shipped' });
  for (let id = 1; id < 9; id += 1) sandbox.store.update('Product', id, { 'List Price': 10 * id });
  const daemon = startDaemonProcess(folder);
  try {
    await daemon.logged('work.finished', 1, ({ work }) => work === 'push');
    const listening = daemon.lines.find((line) => line.includes('"http.listening"')) ?? '{}';
    const address = `http://${String((JSON.parse(listening) as { path?: string }).path)}`;
    const key = readFileSync(join(folder, 'replica.db.page-key'), 'utf8').trim();
    for (const colorScheme of ['light', 'dark'] as const) {
      await using browser = await startBrowser();
      const { page } = await browser.open(address, { colorScheme, viewport: { width: 1080, height: 900 } });
      await signIn(page, address, key);
      for (const [name, path, height] of PAGES) {
        await page.setViewportSize({ width: 1080, height });
        await page.goto(`${address}${path}`);
        await page.screenshot({ path: join(IMAGES, `page-${name}-${colorScheme}.png`) });
      }
    }
    await pictureDatasette(join(folder, 'replica.db'));
  } finally {
    daemon.process.kill('SIGTERM');
    await daemon.ended;
  }
}

/** The same replica in Datasette, with the file that comes for it. */
async function pictureDatasette(path: string): Promise<void> {
  const metadata = fileURLToPath(new URL('../../config/rowsync.datasette.yaml', import.meta.url));
  const datasette = spawn('datasette', ['serve', path, '-m', metadata, '--port', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const failed = once(datasette, 'error').then(() => null);
  try {
    const address = await Promise.race([failed, addressOf(createInterface({ input: datasette.stderr }))]);
    if (address === null) {
      process.stderr.write('No Datasette here: it was not pictured.\n');
      return;
    }
    await using browser = await startBrowser();
    const { page } = await browser.open(address, { viewport: { width: 1080, height: 720 } });
    for (const [name, place] of DATASETTE_PAGES) {
      await page.goto(`${address}/replica${place}`);
      await page.screenshot({ path: join(IMAGES, `datasette-${name}.png`) });
    }
  } finally {
    datasette.kill('SIGTERM');
  }
}

async function addressOf(lines: AsyncIterable<string>): Promise<string | null> {
  for await (const line of lines) {
    const found = /running on (http:\/\/\S+)/.exec(line)?.[1];
    if (found !== undefined) return found;
  }
  return null;
}

const DATASETTE_PAGES = [
  ['queries', ''],
  ['facets', '/Customer'],
] as const;

const QUESTION = `SELECT "Status", count(*) AS orders, round(sum("Shipping Fee"), 2) AS shipping
FROM "Order" WHERE "Ordered At" > '2024-01-01' GROUP BY 1 ORDER BY 2 DESC`;

/** Name, address and height of each picture. */
const PAGES = [
  ['today', '/', 1800],
  ['browse', '/browse/Order?Status=Shipped&Shipping+Fee=%3E40&_sort=-Shipping+Fee', 720],
  ['row', '/browse/Customer/2', 1400],
  ['ask', `/ask?sql=${encodeURIComponent(QUESTION)}`, 720],
  ['work', '/work', 1200],
] as const;

async function signIn(page: Page, address: string, key: string): Promise<void> {
  await page.goto(address);
  await page.getByLabel('Key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

function edit(path: string): void {
  const db = new Database(path);
  try {
    db.exec(`
      UPDATE "Customer" SET "Phone" = '+33 1 23 45 67 89' WHERE _id IN (1, 2);
      UPDATE "Employee" SET "E-Mail" = (SELECT "E-Mail" FROM "Employee" WHERE _id = 3) WHERE _id = 2`);
  } finally {
    db.close();
  }
}

if (CHROMIUM === null) process.stderr.write('No Chromium here: the pages were not pictured.\n');
else await picturePages();
