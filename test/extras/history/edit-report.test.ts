/**
 * The edits of an undo or a proposal as a plan shows them: with every digit, and safe on a terminal.
 */
import { expect, test } from 'vitest';
import { planText } from '../../../src/cli/report/push-report.ts';
import { editJson, previewOf, refusalLines } from '../../../src/extras/history/edit-report.ts';
import type { InverseEdit } from '../../../src/extras/history/undo-plan.ts';

const EDIT: InverseEdit = {
  rowId: 3,
  kind: 'update',
  cells: [
    { column: 'Count', today: 12345678901234567890n, edited: null },
    { column: 'Body', today: { raw: 'ff41' }, edited: Buffer.from('00ff', 'hex') },
  ],
};

test('bytes are their digits, and numbers keep theirs', () => {
  expect(JSON.parse(JSON.stringify(editJson(EDIT)))).toMatchObject({
    rowId: 3,
    kind: 'update',
    cells: [
      { column: 'Count', base: '12345678901234567890', local: null },
      { column: 'Body', base: 'ff41', local: '00ff' },
    ],
  });
  expect(planText([previewOf({ table: 'Note', edits: [EDIT] })], null)).toContain('Count: 12345678901234567890 -> ');
});

test('what is not taken back is named with its row, its column and the reason', () => {
  const lines = refusalLines([
    { table: 'Note', refusals: [{ rowId: 3, column: 'Title', why: 'changed since' }] },
    { table: 'A\u001b', refusals: [{ rowId: 0, column: null, why: 'no row' }] },
    { table: 'Other', refusals: [] },
  ]);

  expect(lines).toEqual(['  Note 3 Title: changed since\n', '  A\\u001b new row: no row\n']);
});
