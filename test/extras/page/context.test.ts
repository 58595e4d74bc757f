/**
 * What pages share: errors that keep the way on, the result of the last decision, links of columns, and names of saved
 * files.
 */
import { expect, test } from 'vitest';
import { framed, meantHtml, problem, readReferences, saveAs, unknownTable } from '../../../src/extras/page/context.ts';
import { html } from '../../../src/extras/page/html.ts';
import { findBrowsedTable } from '../../../src/extras/shared/rows-page.ts';
import { openReader } from '../../../src/replica/reader.ts';
import { must } from '../../../src/base/assert.ts';
import { requestOf } from '../../support/page-request.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { NOTE } from '../../support/two-way.ts';

async function pulled(): Promise<Fixture> {
  const order = { name: 'Order', columns: [{ name: 'Note Id', type: 'Numeric' }], rows: [{ 'Note Id': 2 }] };
  const fixture = await startFixture({ tables: [NOTE, order] });
  await fixture.pull();
  return fixture;
}

const textOf = ({ chunks }: { readonly chunks: Iterable<string | Uint8Array> }): string => [...chunks].join('');

test('a page about an error works without a replica, and says its words as text', () => {
  const request = requestOf('/nowhere/replica.db', '/');

  const { status, chunks } = problem({ request, reader: null }, 503, 'The <file> is gone', 'Look there');

  expect(status).toBe(503);
  expect(textOf({ chunks })).toContain('<h1>The &lt;file&gt; is gone</h1>');
  expect(textOf({ chunks })).toContain('<p>Look there</p>');
  expect(textOf({ chunks })).toContain('name="token" value="token"');
});

test('a name of no table leads to the table that is meant, and to all tables', async () => {
  await using fixture = await pulled();
  using reader = openReader(fixture.path);
  const page = { request: requestOf(fixture.path, '/'), reader, query: new URLSearchParams() };

  const near = textOf(unknownTable(page, 'note'));
  const far = textOf(unknownTable(page, '<Zebra>'));

  expect(unknownTable(page, 'note').status).toBe(404);
  expect(near).toMatch(/Did you mean <a href="\/browse\/Note"><bdi>Note<\/bdi><\/a>\?/);
  expect(far).toContain('There is no table “&lt;Zebra&gt;”');
  expect(far).not.toContain('Did you mean');
  for (const text of [near, far]) expect(text).toContain('<a href="/browse">all tables</a>');
});

test('the result of a decision is shown once, and what was refused is not loaded again', async () => {
  await using fixture = await pulled();
  using reader = openReader(fixture.path);
  const options = { title: 'T', place: 'Today', liveSeconds: 15, refreshSeconds: 60 } as const;
  const pageWith = (changes: Partial<ReturnType<typeof requestOf>>, status?: number) => {
    const request = { ...requestOf(fixture.path, '/'), ...changes };
    return framed({ request, reader, query: new URLSearchParams() }, options, html`<p>body</p>`, status);
  };
  const refused = { words: 'It <changed>', conflictId: null, value: null };

  const said = textOf(pageWith({ said: 'Saved <here>' }));
  const not = textOf(pageWith({ refused }));

  expect(said).toContain('<p class="said" role="status">Saved &lt;here&gt;</p>');
  expect(said).toContain('data-live="15"');
  expect(said).toContain('http-equiv="refresh"');
  expect(not).toContain('<p class="problem" role="alert">It &lt;changed&gt;</p>');
  expect(not).toContain('data-live="0"');
  expect(not).not.toContain('http-equiv="refresh"');
  expect([pageWith({}).status, pageWith({}, 404).status]).toEqual([200, 404]);
});

test('values of a column lead to the rows whose keys they are, by the name of the column', async () => {
  await using fixture = await pulled();
  using reader = openReader(fixture.path);
  const order = must(findBrowsedTable(reader, 'Order'), 'it was pulled');
  const columns = order.columns.map(({ name }) => name);

  const found = readReferences(reader, order, columns, () => [2, 99]);

  expect([...found.keys()]).toEqual(['Note Id']);
  expect(found.get('Note Id')?.table.name).toBe('Note');
  expect([...(found.get('Note Id')?.idByKey ?? [])]).toEqual([['2', 2]]);
});

test('a name that is near is asked for, any other is not', () => {
  const link = (near: string) => html`<b>${near}</b>`;

  expect(meantHtml('Custmer', ['Order', 'Customer'], link)?.toString()).toBe('Did you mean <b>Customer</b>? ');
  expect(meantHtml('Zebra', ['Order', 'Customer'], link)).toBe(null);
});

test.each([
  ['plain.txt', 'plain.txt', 'plain.txt'],
  ['Größe (1).txt', 'Gr__e__1_.txt', 'Gr%C3%B6%C3%9Fe%20%281%29.txt'],
  ['../../etc/passwd', '.._.._etc_passwd', '.._.._etc_passwd'],
  [String.raw`C:\x.txt`, 'C__x.txt', 'C%3A_x.txt'],
  ['a"b\r\nSet-Cookie: x', 'a_b__Set-Cookie__x', 'a%22b__Set-Cookie%3A%20x'],
  ["it's*", 'it_s_', 'it%27s%2A'],
  ['\uD800.txt', '_.txt', '_.txt'],
  ['', 'file', 'file'],
  [`${'a'.repeat(199)}😀.txt`, `${'a'.repeat(199)}_`, `${'a'.repeat(199)}_`],
])('%j is saved under a name without a path, in one line', (name, plain, encoded) => {
  expect(saveAs(name)).toEqual({
    'Content-Disposition': `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`,
  });
});
