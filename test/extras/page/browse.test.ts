/**
 * What the page of a table says beside its rows: mistakes in its address, how many rows match, and facets.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answerPage } from '../../../src/extras/page/routes.ts';
import { startDaemon, type TestDaemon } from '../../support/daemon.ts';
import { requestOf } from '../../support/page-request.ts';
import { startTestSandbox } from '../../support/sandbox.ts';

const VISITS = {
  name: 'Visit',
  columns: [
    { name: 'Person', type: 'Text' },
    { name: 'Cost', type: 'Numeric' },
    { name: 'Stay', type: 'Duration' },
  ],
  rows: Array.from({ length: 30 }, (_, index) => ({
    Person: index % 3 === 0 ? 'ana <b>' : index % 3 === 1 ? 'bo' : null,
    Cost: index,
    Stay: index === 4 ? 72 : null,
  })),
};

async function startVisits(): Promise<TestDaemon & { readonly page: (query: string) => string }> {
  const sandbox = await startTestSandbox({ tables: [VISITS] });
  const daemon = startDaemon(sandbox, '');
  await daemon.idle();
  const path = join(daemon.folder, 'replica.db');
  return {
    ...daemon,
    page: (query) => [...answerPage(requestOf(path, '/browse/Visit', query)).chunks].join('').replaceAll(/\s+/g, ' '),
    [Symbol.asyncDispose]: async () => {
      await daemon[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

test('a filter of no column, and a value that is no number, are said', async () => {
  await using visits = await startVisits();
  const mistakes = (query: string): readonly string[] =>
    [...visits.page(query).matchAll(/<p class="problem">([^<]*)</g)].map(([, words = '']) => words);

  expect(mistakes('Colour=red')).toEqual(['No column is called “Colour”.']);
  expect(mistakes('Cost=>many')).toEqual(['“Cost” has numbers, and “many” is none.']);
  expect(mistakes('_id=first&_sort=-Nix&_col=Nix')).toEqual([
    '“_id” has numbers, and “first” is none.',
    'No column is called “Nix”.',
  ]);
  expect(mistakes('Cost=>=1.5e2&Cost=~x&Cost==&Person=many&_sort=-Cost&_col=Person&_after=3&_q=x')).toEqual([]);
});

test('a time is found as the page shows it in any zone, and a day alone is one of UTC', async () => {
  await using visits = await startVisits();
  const at = String(Object.values(visits.rows('SELECT "Date Modified" FROM Visit WHERE _id = 1')[0] ?? {})[0]);
  const day = at.slice(0, 10);
  const inTokyo = new Date(Date.parse(at) + 9 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ');
  const isFound = (filter: string): boolean =>
    visits.page(`_id=1&Date Modified=${encodeURIComponent(filter)}`).includes('1 row of 30');

  const same = [at, `${inTokyo} +09:00`, `${inTokyo.replace(' ', 'T')}+09:00`, at.replace('T', ' ').replace('Z', '')];
  expect(same.map(isFound)).toEqual([true, true, true, true]);
  expect([...same, day].map((text) => isFound(`>${text}`))).toEqual([false, false, false, false, false]);
  expect([...same, day].map((text) => isFound(`<=${text}`))).toEqual([true, true, true, true, true]);
  expect([day, `>=${day}`, `!=${day}`, `<${day}`].map(isFound)).toEqual([true, true, false, false]);
  expect(visits.page('Date Modified=>soon')).toContain('“Date Modified” has times, and “soon” is none.');
  expect(visits.page('Date Modified=>2020')).toContain('30 rows of 30');
  expect(visits.page('Date Modified=>2020-01')).not.toContain('has times');
  expect(visits.page(`Date Modified=${inTokyo}`)).toContain('A time without an offset, such as +09:00, is one of UTC.');
  expect(visits.page('Date Modified=2020-01-01 09:00:00Z')).not.toContain('such as +09:00, is one of UTC');
});

test('rows that match are counted', async () => {
  await using visits = await startVisits();

  expect(visits.page('Person=bo')).toContain('10 rows of 30');
  expect(visits.page('Cost=>25&_q=bo')).toContain('1 row of 30');
  expect(visits.page('')).not.toContain('rows of 30');
});

test('a duration is shown in minutes and seconds', async () => {
  await using visits = await startVisits();

  expect(visits.page('Cost=4')).toContain('<span title="72 seconds">1 min 12 s</span>');
  expect(visits.page('Stay=72')).toContain('1 row of 30');
});

test('a facet counts the values of the rows that match, and each leads to its rows', async () => {
  await using visits = await startVisits();
  const facet = /aria-label="Values of Person".*?<\/section>/.exec(visits.page('Cost=>2&_facet=Person'))?.[0] ?? '';
  const values = [...facet.matchAll(/<li> ?<a href="([^"]+)" ?><bdi>([^<]*)<\/bdi><\/a ?> <small>(\d+)</g)];

  expect(values.map(([, , value, count]) => [value, count])).toEqual([
    ['no value', '9'],
    ['ana &lt;b&gt;', '9'],
    ['bo', '9'],
  ]);
  const [, , [, link = ''] = []] = values;
  expect(link.replaceAll('&amp;', '&')).toBe('/browse/Visit?Cost=%3E2&Person=bo&_facet=Person');
  expect(visits.page('_facet=Nix')).toContain('No column is called “Nix”.');
});

test('in a small table, the list of facets names the values of a column that has few', async () => {
  await using visits = await startVisits();
  const list = /<summary>Facets<\/summary>.*?<\/ul>/.exec(visits.page('Cost=>20'))?.[0] ?? '';
  const lines = [...list.matchAll(/<li>(.*?)<\/li>/g)].map(([, line = '']) =>
    line
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );

  expect(lines).toContain('Person no value 3 ana &lt;b&gt; 3 bo 3');
  expect(lines).toContain('Cost');
  expect(list).toContain('/browse/Visit?Cost=%3E20&amp;Person=bo"');
});
