/**
 * The section `http` of the configuration: what it takes, what each form means, and what it refuses.
 */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { must } from '../../../src/base/assert.ts';
import type { SectionResult } from '../../../src/config/options.ts';
import type { SecretSources } from '../../../src/config/secrets.ts';
import { HTTP_OPTIONS } from '../../../src/extras/http/options.ts';
import type { HttpSettings } from '../../../src/extras/shared/http-settings.ts';

const SCHEMA = must(HTTP_OPTIONS.schema, 'the section has options');

/** What the daemon makes of valid options. */
function resultOf(options: unknown): SectionResult {
  const reading = must(HTTP_OPTIONS.read, 'they become settings');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- there is no secret among them
  const sources = {} as SecretSources;
  return reading(options, { schedule: {}, folder: '/', sources, needsSecrets: false });
}

/** The settings of a section; the paths of what is refused in it. */
function read(options: unknown): HttpSettings | readonly string[] {
  const parsed = z.safeParse(SCHEMA, options);
  if (!parsed.success) return [...new Set(parsed.error.issues.map(({ path }) => path.join('.')))];
  return resultOf(parsed.data).settings as HttpSettings;
}

const NOWHERE: HttpSettings = { listen: null, doorbell: null, recordUrl: null };
const tcp = (host: string, port: number) => ({ kind: 'tcp', host, port });
const socket = (path: string) => ({ kind: 'socket', path });

test('without it, a daemon listens nowhere', () => {
  expect(read(undefined)).toEqual(NOWHERE);
  expect(read({ listen: false, doorbell: false })).toEqual(NOWHERE);
});

test.each([
  ['127.0.0.1:8787', tcp('127.0.0.1', 8787)],
  ['127.8.9.1:0', tcp('127.8.9.1', 0)],
  ['localhost:65535', tcp('localhost', 65_535)],
  ['[::1]:8787', tcp('::1', 8787)],
  ['/run/rowsync/page.sock', socket('/run/rowsync/page.sock')],
])('listen: %s is taken', (listen, address) => {
  expect(read({ listen })).toEqual({ ...NOWHERE, listen: address });
});

test.each([
  '0.0.0.0:8787',
  '10.0.0.5:8787',
  '[::]:8787',
  'example.net:80',
  '8787',
  '127.0.0.1',
  '127.0.0.1:65536',
  'a.sock',
  '/a\nb',
  '',
  true,
])('listen: %j is refused: row values are for this machine alone', (listen) => {
  expect(read({ listen })).toEqual(['listen']);
});

test.each([
  ['on the address of the page', { listen: '127.0.0.1:1', doorbell: true }, tcp('127.0.0.1', 1)],
  ['on one of its own, of another machine, too', { doorbell: { listen: '10.0.0.5:8788' } }, tcp('10.0.0.5', 8788)],
  ['by a name', { doorbell: { listen: 'bell.example:80' } }, tcp('bell.example', 80)],
  ['for all addresses', { doorbell: { listen: '[::]:8788' } }, tcp('::', 8788)],
  ['on a socket', { doorbell: { listen: '/run/bell' } }, socket('/run/bell')],
])('the doorbell may be %s', (_where, options, doorbell) => {
  expect(read(options)).toMatchObject({ doorbell });
  expect(resultOf(z.parse(SCHEMA, options))).toMatchObject({ isRung: true });
});

test.each([
  [{ doorbell: true }, 'doorbell'],
  [{ listen: false, doorbell: true }, 'doorbell'],
  [{ doorbell: { listen: '10.0.0.5' } }, 'doorbell'],
  [{ doorbell: { listen: '10.0.0.5:99999' } }, 'doorbell'],
  [{ doorbell: {} }, 'doorbell'],
])('the doorbell %j is refused', (options, path) => {
  expect((read(options) as readonly string[])[0]?.startsWith(path)).toBe(true);
});

test('the address of a record has {id} in it, and is one that a browser can open', () => {
  const recordUrl = 'https://www.teamdesk.net/secure/db/21995/preview.aspx?t={tableId}&id={id}';

  expect(read({ recordUrl })).toMatchObject({ recordUrl });
  for (const wrong of [
    'https://a.example/record',
    'javascript:alert({id})',
    'https://{id} .example',
    '{id}',
    'https://:{id}',
  ]) {
    expect([wrong, read({ recordUrl: wrong })]).toEqual([wrong, ['recordUrl']]);
  }
});

test('an option of no meaning is refused', () => {
  expect(read({ listens: '127.0.0.1:1' })).not.toHaveProperty('listen');
});
