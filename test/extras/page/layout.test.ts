/**
 * The layout of all pages: what surrounds them for whom, and that every form proves that it is of this daemon.
 */
import { describe, expect, test } from 'vitest';
import { html } from '../../../src/extras/page/html.ts';
import {
  confirmForm,
  cycleForm,
  decideForm,
  framedHtml,
  jsonField,
  sentenceHtml,
  tableHtml,
  topHtml,
  type PageLayout,
} from '../../../src/extras/page/layout.ts';
import { formsOf } from '../../support/page-request.ts';

const IDENTITY = { database: '21995', url: 'https://www.example.com' };

function page(changes: Partial<PageLayout> = {}): string {
  const layout = { title: 'T', place: null, identity: IDENTITY, formToken: 'token', ...changes };
  return framedHtml(layout, html`<p>body</p>`).replaceAll(/\s+/g, ' ');
}

describe('the bar at the top', () => {
  test('leads to all pages, says which one this is, and signs out by a form', () => {
    const bar = topHtml({ identity: IDENTITY, formToken: 'token', place: 'Ask' }).toString();

    expect([...bar.matchAll(/href="([^"]*)" aria-current="([^"]*)"/g)].map(([, ...link]) => link)).toEqual([
      ['/', 'false'],
      ['/browse', 'false'],
      ['/ask', 'page'],
      ['/work', 'false'],
    ]);
    expect(bar).toContain('<bdi>21995</bdi> at <bdi>www.example.com</bdi>');
    expect(formsOf(bar)).toEqual([{ action: '/sign-out', token: 'token' }]);
  });

  test('leads nowhere and has no form for who has not signed in', () => {
    const bar = topHtml({ identity: null, formToken: null, place: null }).toString();

    expect(bar).not.toMatch(/href=|<form/);
  });
});

describe('a page', () => {
  test('has its title as text, and takes scripts and styles from this server alone', () => {
    const text = page({ title: '</title><script>x</script>' });

    expect(text).toContain('<title>&lt;/title&gt;&lt;script&gt;');
    expect([...text.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="([^"]*)"/g)].map(([, from]) => from)).toEqual([
      '/icon.svg',
      '/page.css',
      '/page.js',
    ]);
  });

  test.each([
    [{}, null],
    [{ refreshSeconds: null }, null],
    [{ refreshSeconds: 5 }, '5'],
    [{ refreshSeconds: 60 }, '60'],
  ] as const)('with %o is loaded again without scripts after %s seconds', (changes, seconds) => {
    expect(/<noscript><meta http-equiv="refresh" content="(\d+)"/.exec(page(changes))?.[1] ?? null).toBe(seconds);
  });

  test('is renewed by the script only where it says so, and is wide only where rows need it', () => {
    expect(page()).toContain('class="narrow" data-live="0"');
    expect(page({ liveSeconds: 15, isWide: true })).toContain('class="whole" data-live="15"');
  });

  test('with one sentence leads to the sign-in, but for who has signed in', () => {
    const signedOut = sentenceHtml({ identity: null, formToken: null }, 'You are <not> signed in', 'Do it');

    expect(signedOut).toContain('<h1>You are &lt;not&gt; signed in</h1>');
    expect(signedOut).toContain('<p>Do it</p>');
    expect(signedOut).toContain('<a href="/">Sign in</a>');
    expect(signedOut).toContain('role="alert"');
    expect(sentenceHtml({ identity: null, formToken: 'token' }, 'No')).not.toContain('Sign in<');
  });
});

describe('a form', () => {
  const seen = { table: 'No\u200Bte "x"', rowId: -3, version: 'v' };
  const discard = { kind: 'discard', ...seen, seen } as const;

  test('carries its decision to the letter, where it leads, and the token', () => {
    const text = decideForm('to"ken', discard, ['Discard <it>'], '/browse/A%20B').toString();
    const [form] = formsOf(text);

    expect(form).toMatchObject({ action: '/decide', token: 'to"ken', next: '/browse/A%20B' });
    expect(JSON.parse(form?.['decision'] ?? '')).toEqual(discard);
    expect(text).toContain('>Discard &lt;it&gt;</button>');
    expect(formsOf(decideForm('t', discard, ['x']).toString())[0]?.['next']).toBe('/');
  });

  test('of a decision has no character that a page would write out', () => {
    expect(jsonField({ a: '\u202Eä😀\n' })).toMatch(/^[\x20-\x7E]+$/);
    expect(JSON.parse(jsonField({ a: '\u202Eä😀\n\uD800' }))).toEqual({ a: '\u202Eä😀\n\uD800' });
  });

  test('that begins work names the kind of work, or none for a cycle', () => {
    expect(formsOf(cycleForm('t', { work: 'pull' }, ['Pull now']).toString())).toEqual([
      { action: '/cycle', token: 't', work: 'pull' },
    ]);
    expect(formsOf(cycleForm('t', {}, ['Now']).toString())).toEqual([{ action: '/cycle', token: 't' }]);
  });

  test('that asks once more is folded, behind what it does', () => {
    const text = confirmForm('Discard…', 'All of them.', ['t', discard, ['Discard']]).toString();

    expect(text).toMatch(/<details><summary>Discard…<\/summary>\s*<p>All of them.<\/p>\s*<form/);
  });
});

test('a table names its columns and rows, and has the titles beside the cells for narrow windows', () => {
  const text = tableHtml('tables', 'What there is', {
    rows: [
      { name: '<a>', count: 1 },
      { name: 'b', count: 0 },
    ],
    columns: [
      { title: 'Name', cell: ({ name }) => name },
      { title: 'Rows', isNumber: true, look: ({ count }) => (count === 0 ? 'zero' : ''), cell: ({ count }) => count },
    ],
  })
    .toString()
    .replaceAll(/\s+/g, ' ');

  expect(text).toMatch(/<caption class="unseen"> What there is <\/caption>/);
  expect(text).toContain('<th scope="col" class="number">Rows</th>');
  expect([...text.matchAll(/<th scope="row">(.*?)<\/th>/g)].map(([, name]) => name)).toEqual(['&lt;a&gt;', 'b']);
  expect([...text.matchAll(/<td class="(.*?)" data-label="(.*?)"> (.*?) <\/td>/g)].map(([, ...cell]) => cell)).toEqual([
    ['number ', 'Rows', '1'],
    ['number zero', 'Rows', '0'],
  ]);
});
