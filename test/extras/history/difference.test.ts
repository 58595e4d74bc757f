/**
 * The net effect of entries on a row: one change with what was first and what is last, or none.
 */
import { expect, test } from 'vitest';
import { cellsOf, differencesOf, netOf } from '../../../src/extras/history/difference.ts';
import type { HistoryEntry } from '../../../src/extras/history/entries.ts';

/** An entry with the values before and after as JSON. */
function entry(rowId: number, kind: string, before: string | null, after: string | null): HistoryEntry {
  const none = { wasRowId: null, notBefore: null, notAfter: null, originAt: null, originBy: null, stamped: null };
  return { ...none, id: 0, table: 'Note', rowId, kind, at: '', cause: 'pull', runId: null, before, after, note: null };
}

test('every digit of a value stays, and a cell that one side leaves out is null there', () => {
  const cells = cellsOf({ before: '{"A":1.50,"B":"x"}', after: '{"A":12345678901234567890,"C":null}' });

  expect(cells).toEqual([
    { column: 'A', before: '1.50', after: '12345678901234567890' },
    { column: 'B', before: '"x"', after: 'null' },
    { column: 'C', before: 'null', after: 'null' },
  ]);
  expect(cellsOf({ before: null, after: null })).toEqual([]);
});

test('rows come one after the other, each with what is left of its changes', () => {
  const differences = differencesOf([
    entry(1, 'update', '{"A":1,"B":1}', '{"A":2,"B":2}'),
    entry(1, 'update', '{"A":2}', '{"A":3}'),
    entry(1, 'update', '{"B":2}', '{"B":1}'),
    entry(2, 'update', '{"A":1}', '{"A":2}'),
    entry(2, 'update', '{"A":2}', '{"A":1}'),
    entry(3, 'insert', null, '{"A":1}'),
    entry(3, 'update', '{"A":1}', '{"A":2}'),
    entry(4, 'insert', null, '{"A":1}'),
    entry(4, 'delete', '{"A":1}', null),
    entry(5, 'update', '{"A":1}', '{"A":2}'),
    entry(5, 'delete', '{"A":2,"B":7}', null),
  ]);

  expect([...differences]).toEqual([
    { rowId: 1, kind: 'update', cells: [{ column: 'A', before: '1', after: '3' }] },
    { rowId: 3, kind: 'insert', cells: [{ column: 'A', before: 'null', after: '2' }] },
    {
      rowId: 5,
      kind: 'delete',
      cells: [
        { column: 'A', before: '1', after: 'null' },
        { column: 'B', before: '7', after: 'null' },
      ],
    },
  ]);
  expect([...differencesOf([])]).toEqual([]);
});

test.each([
  ['a row that was deleted and came back as it was', ['delete', 'insert'], null],
  ['a row that was deleted and came back otherwise', ['delete', 'insert'], 'update'],
  ['a row that came', ['insert', 'update'], 'insert'],
  ['a row that came and went', ['insert', 'update', 'delete'], null],
  ['a row that went', ['update', 'delete'], 'delete'],
  ['nothing', [], null],
] as const)('%s', (what, kinds, net) => {
  const last = what.endsWith('otherwise') ? 'z' : 'a';
  const entries = kinds.map((kind, index) => ({
    kind,
    cells: [{ key: 1, before: index === 0 ? 'a' : 'b', after: index === kinds.length - 1 ? last : 'b' }],
  }));

  const found = netOf(entries, {
    cellsOf: ({ cells }) => cells,
    keyOf: ({ key }) => key,
    differs: ({ before, after }) => before !== after,
  });

  expect(found?.kind ?? null).toBe(net);
});
