/** What an agent may propose, and what a file of a proposal may hold. */
import { expect, test } from 'vitest';
import {
  EDITS_MAX,
  proposalName,
  proposalNote,
  proposedEdits,
  storedProposal,
} from '../../../src/extras/mcp/proposal.ts';

const EDIT = { table: 'Note', action: 'update', row_id: 1, values: { Title: 'x', Count: 1.5, Done: true, Body: null } };
const STORED = {
  name: 'one',
  note: '',
  proposedAt: '2026-06-01T12:00:00Z',
  edits: [{ table: 'Note', kind: 'update', rowId: 1, cells: [{ column: 'Title', was: '"a"', value: null }] }],
};

test('edits in plain values are taken, as many as a person reads', () => {
  expect(proposedEdits.parse([EDIT])).toEqual([EDIT]);
  expect(proposedEdits.safeParse(Array.from({ length: EDITS_MAX }, () => EDIT)).success).toBe(true);
});

test.each<[string, unknown]>([
  ['none', []],
  ['too many', Array.from({ length: EDITS_MAX + 1 }, () => EDIT)],
  ['SQL', [{ ...EDIT, sql: 'DELETE FROM Note' }]],
  ['another action', [{ ...EDIT, action: 'drop' }]],
  ['no table', [{ ...EDIT, table: '' }]],
  ['a part of a row', [{ ...EDIT, row_id: 1.5 }]],
  ['a value with parts', [{ ...EDIT, values: { Title: { raw: 'ff' } } }]],
  ['a long value', [{ ...EDIT, values: { Title: 'x'.repeat(20_001) } }]],
  ['a long name', [{ ...EDIT, values: { ['x'.repeat(301)]: 1 } }]],
])('of edits, %s is refused', (_what, edits) => {
  expect(proposedEdits.safeParse(edits).success).toBe(false);
});

test('a name is one word that is safe as the name of a file', () => {
  const fit = ['a', 'fix-phones', '2026', 'x'.repeat(60)];
  const unfit = ['', '-a', 'A', 'a b', 'a.b', '../a', 'a/b', 'a\n', 'ä', 'x'.repeat(61)];

  expect([...fit, ...unfit].filter((name) => proposalName.safeParse(name).success)).toEqual(fit);
  expect(proposalNote.safeParse('x'.repeat(2_001)).success).toBe(false);
});

test('a stored proposal is what was stored, and nothing else', () => {
  expect(storedProposal.parse(STORED)).toEqual(STORED);
  const others = [
    { ...STORED, edits: [] },
    { ...STORED, name: '../one' },
    { ...STORED, more: 1 },
    { ...STORED, edits: [{ ...STORED.edits[0], cells: [{ column: 'Title', was: 1, value: null }] }] },
    { ...STORED, edits: [{ ...STORED.edits[0], rowId: '1' }] },
  ];
  expect(others.filter((other) => storedProposal.safeParse(other).success)).toEqual([]);
});
