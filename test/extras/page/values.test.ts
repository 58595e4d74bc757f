/**
 * How single values are shown.
 */
import { expect, test } from 'vitest';
import type { BrowsedColumn } from '../../../src/extras/shared/rows-page.ts';
import { cellsHtml } from '../../../src/extras/page/history.ts';
import { markedHtml, rowHtml, spanHtml, typedHtml, valueHtml } from '../../../src/extras/page/values.ts';

test.each([
  ['72', '1 min 12 s'],
  ['28800', '8 h'],
  ['90061.5', '1 d 1 h 1 min 1.5 s'],
  ['-60', '-1 min'],
  ['0', '0 s'],
  ['0.25', '0.25 s'],
])('%s seconds are read as %s, and are in the title', (seconds, words) => {
  expect(spanHtml(seconds).toString()).toBe(`<span title="${seconds} seconds">${words}</span>`);
});

test('what is no number of seconds is shown as it is', () => {
  expect(spanHtml('PT1H').toString()).toBe('PT1H');
});

function column(name: string, type: string, kind: string | null = null): BrowsedColumn {
  const rest = { originName: name, storedAs: 'ANY', isWritable: true, isRequired: false, width: null, mask: null };
  return { name, type, kind, ...rest };
}

const COLUMNS = [column('Paid', 'Checkbox'), column('Took', 'Duration'), column('Seen', 'Timestamp', 'DateModified')];

test('a checkbox and a duration are read the same in every list, and an odd value is shown as it is', () => {
  const row = rowHtml('{"Paid":1,"Took":60,"Gone":1}', null, COLUMNS).toString();
  const change = cellsHtml(
    { kind: 'update', old: new Map([['Paid', 1]]), now: new Map([['Paid', 0]]) },
    { cellsMax: 9, columns: COLUMNS },
  );

  expect(row.match(/<dd>.*?<\/dd>/g)).toEqual([
    '<dd>yes</dd>',
    '<dd><span title="60 seconds">1 min</span></dd>',
    '<dd><bdi class="value">1</bdi></dd>',
  ]);
  expect(String(change)).toMatch(/<del>yes<\/del>[^]*<ins>no<\/ins>/);
  expect([2, '', 'a3f9', null].map((value) => typedHtml(COLUMNS[0], value))).toEqual([null, null, null, null]);
});

test('rights and stamps are left out of a change, unless nothing else changed', () => {
  const names = (cells: Readonly<Record<string, string>>): readonly string[] => {
    const now = new Map(Object.entries(cells));
    const shown = String(cellsHtml({ kind: 'insert', old: new Map(), now }, { cellsMax: 9, columns: COLUMNS }));
    return [...shown.matchAll(/<dt><bdi>(\w+)/g)].map(([, name = '']) => name);
  };

  expect(names({ _allow: 'Edit', Seen: '2026-01-01T00:00:00Z', Title: 'x' })).toEqual(['Title']);
  expect(names({ _allow: 'Edit' })).toEqual(['_allow']);
});

test('moments that differ are shown as any other, each marked whole', () => {
  const [local, remote] = ['2026-11-21T08:00:00Z', '2026-11-21T09:00:00Z'];

  expect(markedHtml(local, remote).toString()).toBe(`<mark>${valueHtml(local).toString()}</mark>`);
  expect(markedHtml(local, null).toString()).toBe(valueHtml(local).toString());
});

test('a long value is folded, opens whole, and its length is said', () => {
  const text = valueHtml('é'.repeat(10_240)).toString();
  const endless = valueHtml('é'.repeat(20_001)).toString();

  expect(text).toContain(`<summary><bdi class="value">${'é'.repeat(400)}…</bdi>`);
  expect(text).toContain('10,240 characters');
  expect(text).toContain(`<bdi class="value">${'é'.repeat(10_240)}</bdi>`);
  expect(endless.length).toBeLessThan(700);
  expect(endless).toContain('more than 20,000 characters');
  expect(valueHtml(`${'a'.repeat(399)}😀b`).toString()).not.toContain('\\ud83d');
});

test('of two versions of a row, every column that differs is shown', () => {
  const row = (value: string): string =>
    JSON.stringify(
      Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`c${index}`, index < 35 ? value : '='])),
    );

  const text = rowHtml(row('a'), row('b')).toString();

  expect(text.match(/<dt>/g)).toHaveLength(35);
  expect(text).toContain('5 equal columns');
});

test('nothing, an empty text and a broken row are told apart', () => {
  expect(valueHtml(null).toString()).toContain('no value');
  expect(valueHtml('').toString()).toContain('empty text');
  expect(rowHtml('{"a":', null).toString()).toContain('{&quot;a&quot;:');
});
