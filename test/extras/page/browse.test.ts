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
    { name: 'On', type: 'Date' },
    { name: 'Paid', type: 'Checkbox' },
    { name: 'Starts', type: 'Time' },
  ],
  rows: Array.from({ length: 30 }, (_, index) => ({
    Person: index % 3 === 0 ? 'ana <b>' : index % 3 === 1 ? 'bo' : null,
    Cost: index,
    Stay: index === 4 ? 72 : null,
    On: index < 10 ? '2026-01-31' : '2026-02-01',
    Paid: index < 20,
    Starts: index < 5 ? '08:30:00' : '17:00:00',
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
  expect(mistakes('Cost=>many')).toEqual(['“Cost” has numbers, and “many” is not one.']);
  expect(mistakes('_id=first&_sort=-Nix&_col=Nix')).toEqual([
    '“_id” has numbers, and “first” is not one.',
    'No column is called “Nix”.',
  ]);
  expect(mistakes('Person=>')).toEqual(['The filter of “Person” needs a value after &gt;, such as &gt;1000.']);
  expect(mistakes('On=>soon')).toEqual(['“On” has days such as 2026-01-31, and “soon” is not one.']);
  expect(mistakes('Starts=8:30')).toEqual(['“Starts” has times of day such as 09:30:00, and “8:30” is not one.']);
  expect(mistakes('On=>2026-01&On=2026&Date Modified=2026-01')).toEqual([]);
  expect(mistakes('Cost=>=1.5e2&Cost=~x&Cost==&Person=many&_sort=-Cost&_col=Person&_after=3&_q=x')).toEqual([]);
});

test.each([
  ['On=2026-01', 10],
  ['On=2026', 30],
  ['On=!=2026-01', 20],
  ['On=>2026-01', 20],
  ['On=<=2026-01', 10],
  ['On=<2026-02', 10],
  ['On=>=2026-02', 20],
  ['On=2026-01-31', 10],
  ['On=2025-01', 0],
  ['Starts=08:30', 5],
  ['Starts=>08', 25],
])('the filter %s means a month or a year of days, or an hour of times of day', async (query, count) => {
  await using visits = await startVisits();

  expect(visits.page(query)).toContain(`${count === 1 ? '1 row' : `${count} rows`} of 30`);
});

test('a month or a year of times is found, too', async () => {
  await using visits = await startVisits();
  const at = String(Object.values(visits.rows('SELECT "Date Modified" FROM Visit WHERE _id = 1')[0] ?? {})[0]);
  const isFound = (filter: string): boolean =>
    visits.page(`_id=1&Date Modified=${encodeURIComponent(filter)}`).includes('1 row of 30');

  expect([at.slice(0, 7), at.slice(0, 4), `<=${at.slice(0, 7)}`, `>=${at.slice(0, 4)}`].map(isFound)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect([`>${at.slice(0, 7)}`, `<${at.slice(0, 4)}`, `!=${at.slice(0, 7)}`].map(isFound)).toEqual([
    false,
    false,
    false,
  ]);
});

test('facets name what a checkbox has as the table does', async () => {
  await using visits = await startVisits();

  const page = visits.page('_facet=Paid');

  expect(page).toMatch(/Paid=1&amp;_facet=Paid"><bdi>yes<\/bdi><\/a> <small>20</);
  expect(page).toMatch(/<bdi>no<\/bdi><\/a> <small>10</);
  expect(page).not.toContain('<bdi>1</bdi></a>');
  expect(page).toContain('<bdi><span title="72 seconds">1 min 12 s</span></bdi></a> 1');
});

test('a misspelt table or question is answered with the one that may be meant', async () => {
  await using visits = await startVisits();
  visits.execute('CREATE VIEW "Open visits" AS SELECT * FROM Visit');
  const page = (path: string): string =>
    [...answerPage(requestOf(join(visits.folder, 'replica.db'), path)).chunks].join('');

  expect(page('/browse/Visti')).toMatch(/There is no table “Visti”[^]*Did you mean <a href="\/browse\/Visit"/);
  expect(page('/edit/Visti/1')).toContain('Did you mean');
  expect(page('/ask/Open%20visit')).toMatch(/no question “Open visit”[^]*Did you mean <a href="\/ask\/Open%20visits"/);
  expect(page('/ask/zzz')).not.toContain('Did you mean');
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
  expect(visits.page('Date Modified=>soon')).toContain('“Date Modified” has times, and “soon” is not one.');
  expect(visits.page('Date Modified=>2020')).toContain('30 rows of 30');
  expect(visits.page('Date Modified=>2020-01')).not.toContain('has times');
  expect(visits.page(`Date Modified=${inTokyo}`)).toContain('A time without an offset such as +09:00 is in UTC.');
  expect(visits.page('Date Modified=2020-01-01 09:00:00Z')).not.toContain('such as +09:00 is in UTC');
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

  expect(lines).toContain('Person no value 3, ana &lt;b&gt; 3, bo 3');
  expect(lines).toContain('Cost');
  expect(list).toContain('/browse/Visit?Cost=%3E20&amp;Person=bo"');
});
