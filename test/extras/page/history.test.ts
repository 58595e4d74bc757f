/**
 * Entries of the history on the page: who, when, why, and each cell from old to new; and how many changes there were in
 * each hour.
 */
import { describe, expect, test } from 'vitest';
import type { HistoryEntry } from '../../../src/extras/history/entries.ts';
import {
  cellsHtml,
  changesHtml,
  readHistoryHours,
  readJournalled,
  shownAt,
  waitingCellsHtml,
} from '../../../src/extras/page/history.ts';
import type { BrowsedColumn } from '../../../src/extras/shared/rows-page.ts';
import { readText } from '../../support/page-request.ts';
import { pushNow } from '../../support/push.ts';
import { startFixture } from '../../support/replica.ts';
import { capture, NOTE, twoWaySettings } from '../../support/two-way.ts';

const NOW = Date.UTC(2026, 5, 1, 12);

const ENTRY: HistoryEntry = {
  id: 1,
  table: 'No/te',
  rowId: 7,
  wasRowId: null,
  kind: 'update',
  at: '2026-06-01T11:00:00Z',
  notBefore: '2026-06-01T10:00:00Z',
  notAfter: '2026-06-01T10:30:00Z',
  originAt: '2026-06-01T10:30:00Z',
  originBy: 'Bo Berg <bo@example.com>',
  stamped: 1,
  cause: 'pull',
  runId: 3,
  before: '{"Title":"<old>"}',
  after: '{"Title":"new"}',
  note: null,
};

const columns = (_table: string): readonly BrowsedColumn[] => [];

/** One entry, as it is listed. */
function line(changes: Partial<HistoryEntry>, of: 'many' | 'one' = 'many'): string {
  return changesHtml([{ ...ENTRY, ...changes }], { of, columnsOf: columns, nowMs: NOW })
    .toString()
    .replaceAll(/\s+/g, ' ');
}

describe('an entry', () => {
  test('of many rows leads to its row, and says who changed it when at the origin, and each cell', () => {
    const text = line({});

    expect(text).toContain('<a href="/browse/No%2Fte/7"><bdi>No/te</bdi> 7</a>');
    expect(text).toContain('<b>changed</b> by <bdi title="Bo Berg &lt;bo@example.com&gt;">Bo Berg</bdi>');
    expect(text).toMatch(/<time datetime="2026-06-01T10:30:00Z" title="[^"]*run 3[^"]*"/);
    expect(text).toContain('<del><bdi class="value">&lt;old&gt;</bdi></del>');
    expect(text).toContain('<ins><bdi class="value">new</bdi></ins>');
  });

  test('of one row does not name it, and says why', () => {
    const text = line({}, 'one');

    expect(text).not.toContain('/browse/');
    expect(text).toMatch(/<small>.*run 3.*<\/small>/);
  });

  test('of an edit here has no author, whom the origin would name for the change before', () => {
    expect(readText(line({ cause: 'edit' }))).toContain('changed here,');
    expect(line({ cause: 'edit' })).not.toContain('Bo Berg');
  });

  test('of an edit that the origin took says so', () => {
    const text = readText(line({ cause: 'push', isAnswer: 1 }));

    expect(text).toContain('the edit taken by the origin');
    expect(text).not.toContain('by Bo Berg');
  });

  test.each([
    ['stamped by the origin', {}, '2026-06-01T10:30:00Z'],
    ['found here', { stamped: 0 }, '2026-06-01T11:00:00Z'],
    ['without a stamp', { stamped: null, notAfter: null }, '2026-06-01T11:00:00Z'],
  ])('happened when it was %s', (_what, changes, at) => {
    expect(shownAt({ ...ENTRY, ...changes })).toBe(at);
  });

  test.each([
    ['insert', { kind: 'insert', before: null }, false, true],
    ['delete', { kind: 'delete', after: null }, true, false],
    ['update', {}, true, true],
  ])('of an %s has what was or what is: old %s, new %s', (_kind, changes, hasOld, hasNew) => {
    const text = line(changes);

    expect([text.includes('<del>'), text.includes('<ins>')]).toEqual([hasOld, hasNew]);
  });

  test('about a table, without values, has none', () => {
    expect(line({ kind: 'begin', rowId: null, before: null, after: null })).not.toContain('<dl');
  });
});

test('more cells than are shown are counted', () => {
  const now = new Map(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, 'x']));

  const text = String(cellsHtml({ kind: 'insert', old: new Map(), now }, { cellsMax: 4, columns: [] }));

  expect(text.match(/<dt>/g)).toHaveLength(4);
  expect(text).toContain('2 more cells');
});

test('an edit that waits has its values of both sides; a deleted row has none', () => {
  const waits = { rowId: 1, state: 'edited', since: '2026-06-01T10:00:00Z' };
  const shown = { cellsMax: 9, columns: [] };
  const update = { ...waits, kind: 'update', column: 'Title', base: 'a', local: null };
  const big = { ...waits, kind: 'update', column: 'Count', base: 1n, local: 9_007_199_254_740_993n };

  const text = readText(String(waitingCellsHtml([update, big], shown)));

  expect(text).toMatch(/Title\s+a\s+→\s+no value/);
  expect(text).toMatch(/Count\s+1\s+→\s+9007199254740993/);
  expect(waitingCellsHtml([{ ...waits, kind: 'delete', column: null, base: null, local: null }], shown)).toBe(null);
});

test('changes are counted by hour and person: those of colleagues, edits here, and no answer to an edit', async () => {
  const tableOptions = () => ({
    sort: null,
    ...twoWaySettings().tableOptions('Note'),
    history: { keepDays: 400, bytesMax: 1_000_000 },
  });
  await using fixture = await startFixture({ tables: [NOTE] }, { settings: { tableOptions } });
  await fixture.pull();
  fixture.sandbox.store.update('Note', 2, { Title: 'theirs' });
  fixture.sandbox.store.delete('Note', 3, { purge: true });
  await fixture.pull();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  await capture(fixture);
  await pushNow(fixture);
  fixture.execute(`UPDATE _rowsync_history SET at = unixepoch('2026-06-01T10:59:59Z')`);

  const hours = readHistoryHours(fixture.replica, '2026-06-01T10:00:00Z');
  const later = readHistoryHours(fixture.replica, '2026-06-01T11:00:00Z');

  expect([...readJournalled(fixture.replica)]).toEqual(['Note']);
  expect(hours.map(({ table, hour, kind, by, count }) => [table, hour, kind, by === 'edited here', count])).toEqual([
    ['Note', '2026-06-01T10', 'delete', false, 1],
    ['Note', '2026-06-01T10', 'update', false, 1],
    ['Note', '2026-06-01T10', 'update', true, 1],
  ]);
  expect(later).toEqual([]);
});
