/**
 * The option `notify`: what it may be, and that no problem shows the address of a webhook.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { SECTIONS } from '../../support/sections.ts';

const folder = mkdtempSync(join(tmpdir(), 'rowsync-notify-'));
afterAll(() => rmSync(folder, { recursive: true }));

function load(notify: string) {
  const file = join(folder, 'rowsync.yaml');
  const origin = 'origin: { url: "https://example.net", database: 21995, tokenFile: token }\n';
  writeFileSync(file, `${origin}replica: { path: replica.db }\n${notify}`);
  return loadConfig(file, { needsCredentials: false, sections: SECTIONS }).config.extras.notify;
}

test('by default nobody is told, and nothing is repeated within six hours', () => {
  expect(load('')).toEqual({ repeatMinutes: 360 });
});

test('a command, a webhook and a time', () => {
  const notify = { command: ['tell', '--now'], webhook: 'https://chat.example/hooks/1', repeatMinutes: 5 };

  expect(load(`notify: ${JSON.stringify(notify)}\n`)).toEqual(notify);
});

test('a problem never shows the address of a webhook, which may be a secret', () => {
  const wrong = () => load('notify: { webhook: "ftp://chat.example/hooks/hush-hush" }\n');

  expect(wrong).toThrow('notify.webhook must be the http or https address');
  expect(wrong).not.toThrow('hush');
});
