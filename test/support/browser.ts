/**
 * A real Chromium without a window, where one is installed, and a page of it that remembers everything a browser
 * complains about.
 *
 *    test.skipIf(CHROMIUM === null)('… (needs chromium on the PATH)', async () => {
 *      await using browser = await startBrowser();
 *      const { page, complaints } = await browser.open({ viewport: { width: 360, height: 740 } });
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type BrowserContextOptions, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

/** The path of a Chromium; null where none is installed. */
export const CHROMIUM = findChromium();

function findChromium(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const paths = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return paths.find((path) => isProgram(path)) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A page, and what happened on it that should not: dialogs, errors, messages on the console, requests elsewhere. */
export interface WatchedPage {
  readonly page: Page;
  readonly complaints: string[];
}

/** A running browser. */
export interface TestBrowser {
  /** Opens a page in a context of its own; nothing but `origin` may be asked. */
  open(origin: string, options?: BrowserContextOptions): Promise<WatchedPage>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts it. */
export async function startBrowser(): Promise<TestBrowser> {
  // Inside of containers Chromium has no sandbox of its own; it sees nothing but our page.
  const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
  return {
    open: async (origin, options = {}) => {
      const context = await browser.newContext(options);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('dialog', (dialog) => {
        complaints.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
      page.on('console', (message) => complaints.push(`console: ${message.text()}`));
      page.on('request', (request) => {
        if (!request.url().startsWith(`${origin}/`)) complaints.push(`request: ${request.url()}`);
      });
      page.on('requestfailed', (request) => {
        const reason = request.failure()?.errorText ?? '';
        if (reason !== 'net::ERR_ABORTED') complaints.push(`failed: ${request.url()} ${reason}`);
      });
      await page.addInitScript(`
        document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
          console.error('policy: ' + violatedDirective + ' ' + blockedURI));`);
      return { page, complaints };
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}
