/**
 * What XML can do to whoever reads it. Nothing is expanded, fetched or guessed, within bounded time, and no row comes
 * of it.
 */
import { expect, test } from 'vitest';

import { RowsyncError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin } from '../../src/origin/client.ts';
import { testClock } from '../support/clock.ts';
import { http, startFaultServer } from '../support/fault-server.ts';

const REQUEST = {
  table: { name: 'Note', alias: 't_7' },
  columns: [{ name: 'Title', type: 'Text' }],
  query: { columns: ['Title'], sort: [] },
} as const;

/** A page of one row with this title. */
const page = (title: string, before = ''): string =>
  `<?xml version="1.0"?>${before}<Response xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><row id="1"><Title>${title}</Title></row></Response>`;

/** Selects from an origin that answers so; gives the title that came, or the code of the error. */
async function titleOf(xml: string): Promise<string> {
  await using server = await startFaultServer(() => http(200, { 'Content-Type': 'text/xml' }, xml));
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const limits = { retry: { attemptsMax: 1, baseWaitMs: 1, waitMsMax: 1, totalMs: 1 } };
  const settings = { url: server.url, database: '1', credentials, format: 'xml', limits } as const;
  const origin = openOrigin(settings, { clock: testClock(), log: silentLogger });
  try {
    const answer = await origin.select(REQUEST);
    return answer.kind === 'ok' ? `title ${String(answer.value.rows[0]?.values[0])}` : answer.kind;
  } catch (error) {
    if (!(error instanceof RowsyncError)) throw error;
    return error.code;
  } finally {
    await origin.close();
  }
}

const laughs = Array.from({ length: 10 }, (_, nth) => `<!ENTITY l${nth + 1} "${`&l${nth};`.repeat(10)}">`).join('');
const REFUSED = /^origin\.(?:truncated|unexpected|notApi|tooLarge)$/;

test.each<[string, string]>([
  ['a document type', page('a', '<!DOCTYPE Response>')],
  ['a billion laughs', page('&l10;', `<!DOCTYPE r [<!ENTITY l0 "ha">${laughs}]>`)],
  ['one long entity, often', page('&a;'.repeat(1_000), `<!DOCTYPE r [<!ENTITY a "${'x'.repeat(100_000)}">]>`)],
  ['a file as an entity', page('&f;', '<!DOCTYPE r [<!ENTITY f SYSTEM "file:///etc/passwd">]>')],
  ['an address as an entity', page('&f;', '<!DOCTYPE r [<!ENTITY f SYSTEM "http://127.0.0.1:9/">]>')],
  ['a parameter entity', page('a', '<!DOCTYPE r [<!ENTITY % p SYSTEM "http://127.0.0.1:9/"> %p;]>')],
  ['an entity that nobody defined', page('&who;')],
  ['a reference to NUL', page('a&#0;b')],
  ['a reference to half a character', page('&#xD800;')],
  ['a reference beyond Unicode', page('&#x110000;')],
  ['a reference beyond every number', page(`&#${'9'.repeat(1_000)};`)],
  ['a control character', page('a\u0001b')],
  ['an element that is not closed', page('a').slice(0, -11)],
  ['elements that cross', page('<b><i></b></i>')],
  ['text behind the end', `${page('a')}more`],
  ['two documents', page('a') + page('b')],
  ['a hundred thousand elements in each other', page(`${'<a>'.repeat(1e5)}${'</a>'.repeat(1e5)}`)],
  ['a million and a half references', page('&#65;'.repeat(1_500_000))],
  ['an attribute twice', page('a').replace('id="1"', 'id="1" id="2"')],
  ['a tag of a megabyte', page('a').replace('<row ', `<row ${'a'.repeat(1_000_000)}="" `)],
  ['a row without an id', page('a').replace(' id="1"', '')],
  ['a row whose id is a word', page('a').replace('id="1"', 'id="one"')],
  ['a row whose id is below 1', page('a').replace('id="1"', 'id="-1"')],
  ['UTF-16 that calls itself UTF-8', Buffer.from(page('a'), 'utf16le').toString('latin1')],
])('%s is refused, soon', async (_title, xml) => {
  const startedAt = performance.now();

  expect(await titleOf(xml)).toMatch(REFUSED);

  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

test.each([
  ['&lt;b&gt;&amp;&quot;&apos;', `<b>&"'`],
  ['&#65;&#x42;', 'AB'],
  ['<![CDATA[<!DOCTYPE x [&a;]>]]>', '<!DOCTYPE x [&a;]>'],
  ['00123', '00123'],
  ['1e5', '1e5'],
  [' a ', ' a '],
  ['__proto__', '__proto__'],
])('the text %s arrives as %s', async (xml, text) => {
  expect(await titleOf(page(xml))).toBe(`title ${text}`);
});
