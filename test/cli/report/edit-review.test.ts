/** What a person sees of edits before they leave: all of it. */
import { expect, test } from 'vitest';
import { reviewText } from '../../../src/cli/report/edit-review.ts';
import type { PreviewRow, TablePreview } from '../../../src/push/plan-preview.ts';

function row(changes: Partial<PreviewRow>): PreviewRow {
  return { rowId: 1, kind: 'update', fate: 'sent', method: 'update', reason: null, cells: [], ...changes };
}

function table(...rows: readonly PreviewRow[]): TablePreview {
  return { table: 'Note', rows, writeCallCount: 0, readCallCount: 0, held: null };
}

function cell(base: string | null, local: string | null): PreviewRow {
  return row({ cells: [{ column: 'Text', base, local }] });
}

test('rows are in the order in which they leave, a delete with what is lost', () => {
  const gone = row({ rowId: 9, kind: 'delete', cells: [{ column: 'Text', base: 'kept', local: null }] });

  expect(reviewText([table(cell('a', 'b'), gone)], 80)).toBe(
    'Note: 1 update, 1 delete\n  update 1\n    Text: "a" -> "b"\n  delete 9\n    Text: "kept"\n',
  );
});

test('all rows are shown, however many', () => {
  const rows = Array.from({ length: 500 }, (_, index) => row({ rowId: index + 1 }));

  expect(reviewText([table(...rows)], 80).match(/^ {2}update \d+$/gm)).toHaveLength(500);
});

test('a long value is shown whole on lines that fit, with the words that differ', () => {
  const [before, after] = ['pay the bill ', 'pay the bill twice, to DE11 '].map(
    (words) => `${words}${'and so on '.repeat(30)}`,
  );

  const text = reviewText([table(cell(before ?? '', after ?? ''))], 60);

  const lines = text.split('\n');
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(60);
  const shown = lines.map((line) => line.slice(10)).join('');
  expect(shown).toContain(JSON.stringify(before));
  expect(shown).toContain(JSON.stringify(after));
  expect(text).toMatch(/differs: "twice, to DE11 " is new/);
});

test('texts that have no words in common are shown without a list of differences', () => {
  expect(reviewText([table(cell('a'.repeat(100), 'b'.repeat(100)))], 80)).not.toContain('differs');
});

test('control and bidirectional characters are visible', () => {
  const text = reviewText([table(cell(null, 'a\u202eb\u0007\u001b[2K\r'))], 80);

  expect(text).toContain(String.raw`\u202e`);
  expect(text).toContain(String.raw`\u001b[2K`);
  for (const hidden of ['\u202e', '\u0007', '\u001b', '\r']) expect(text).not.toContain(hidden);
});

test('a value of a megabyte is wrapped in one pass', () => {
  const text = reviewText([table(cell('x', '\u{1f600}'.repeat(250_000)))], 80);

  expect(text.match(/\u{1f600}/gu)).toHaveLength(250_000);
});
