/**
 * Makes the pictures of the documents from real runs: `npm run docs:images`. Input: the demo and a daemon, each a process of its own, and the
 * Chromium of this machine. Output: docs/images/. The picture of the flow is written by hand.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import type { Page } from 'playwright-core';
import { CHROMIUM, startBrowser } from '../support/browser.ts';
import { makeWorkspace, runRowsync } from '../support/child.ts';
import { startDaemonProcess } from '../support/daemon-process.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { terminalSvg } from './terminal.ts';

const IMAGES = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const SHOWN_TITLE = 'The demo edits rows in SQL, plans and pushes them, with a conflict and a refused row';
const TABLES = 'tables: { "*": {}, Customer: { push: true, conflict: ask }, Employee: { push: true } }\n';
const WATCHED = 'push: { delay: 1 }\nhttp: { listen: "127.0.0.1:0" }\n';

/** The part of the demo in which rows are edited and pushed. */
async function pictureTerminal(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-images-'));
  try {
    const { stdout } = await runRowsync(['demo'], { folder });
    const [, edits = ''] = stdout.split(/^(?=7\. )/m);
    const [shown = ''] = edits.split(/^ +\.\.\. who decides/m, 1);
    writeFileSync(join(IMAGES, 'terminal.svg'), terminalSvg(shown.trimEnd().split('\n'), SHOWN_TITLE));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The status page of a daemon with an open conflict and a refused row, light and dark. */
async function pictureStatusPage(): Promise<void> {
  await using sandbox = await startTestSandbox();
  using workspace = makeWorkspace(sandbox, TABLES + WATCHED);
  const { folder } = workspace;
  await runRowsync(['pull'], { folder });
  edit(join(folder, 'replica.db'));
  sandbox.store.update('Customer', 2, { Phone: '+44 20 7946 0018' });
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
      await page.screenshot({ path: join(IMAGES, `status-page-${colorScheme}.png`) });
    }
  } finally {
    daemon.process.kill('SIGTERM');
    await daemon.ended;
  }
}

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

await pictureTerminal();
if (CHROMIUM === null) process.stderr.write('No Chromium here: the status page was not pictured.\n');
else await pictureStatusPage();
