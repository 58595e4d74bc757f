/** Edits of an agent before they are proposed: completed with today's values, or everything that is wrong with them. */
import { expect, test } from 'vitest';
import { lookAtEdits, reasonNotEdited, reasonNotWritten, writableOf } from '../../../src/extras/mcp/check-edits.ts';
import type { ProposedEdit } from '../../../src/extras/mcp/proposal.ts';
import { findBrowsedTable } from '../../../src/extras/shared/rows-page.ts';
import { must } from '../../../src/base/assert.ts';
import { openReader } from '../../../src/replica/reader.ts';
import type { Fixture } from '../../support/replica.ts';
import { startTwoWay, NOTE, twoWaySettings } from '../../support/two-way.ts';
import { startFixture } from '../../support/replica.ts';

const update = (row_id: number, values: ProposedEdit['values'] = {}): ProposedEdit => ({
  table: 'Note',
  action: 'update',
  row_id,
  values,
});

function look(fixture: Fixture, ...edits: readonly ProposedEdit[]) {
  using reader = openReader(fixture.path);
  return lookAtEdits(reader, edits);
}

/** The one complaint about an edit. */
function complaintOf(fixture: Fixture, edit: ProposedEdit): string | undefined {
  const { edits, complaints } = look(fixture, edit);
  expect([edits.length, complaints.length]).toEqual([0, 1]);
  return complaints[0];
}

test('an update has the former value of each cell that changes, with every digit, and no other cell', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Count" = 9007199254740993 WHERE _id = 1`);

  const { edits, complaints } = look(
    fixture,
    update(1, { Title: 'new', Count: 12.5, Done: 'true', Due: null, Body: '' }),
    update(2, { Done: true }),
  );

  expect(complaints).toEqual([]);
  expect(edits).toEqual([
    {
      table: 'Note',
      kind: 'update',
      rowId: 1,
      cells: [
        { column: 'Title', was: '"title 1"', value: '"new"' },
        { column: 'Count', was: '9007199254740993', value: '12.5' },
        { column: 'Due', was: '"2026-11-21"', value: 'null' },
      ],
    },
    { table: 'Note', kind: 'update', rowId: 2, cells: [{ column: 'Done', was: '0', value: '1' }] },
  ]);
});

test('a delete has the values of all columns whose later change would make it invalid; a new row those that it gets', async () => {
  await using fixture = await startTwoWay();

  const { edits, complaints } = look(
    fixture,
    { table: 'Note', action: 'delete', row_id: 3 },
    { table: 'Note', action: 'insert', values: { Title: 'new', Body: null, Count: 1 } },
  );

  expect(complaints).toEqual([]);
  const [gone, added] = edits;
  expect(gone).toMatchObject({ kind: 'delete', rowId: 3 });
  expect(gone?.cells).toContainEqual({ column: 'Code', was: '"c3"', value: null });
  expect(gone?.cells.map(({ column }) => column)).not.toContain('Total');
  expect(added).toEqual({
    table: 'Note',
    kind: 'insert',
    rowId: null,
    cells: [
      { column: 'Title', was: null, value: '"new"' },
      { column: 'Count', was: null, value: '1' },
    ],
  });
});

test.each<[ProposedEdit, string]>([
  [{ table: 'Nope', action: 'delete', row_id: 1 }, 'edit 1, row 1: there is no such table'],
  [{ table: 'Note', action: 'insert', row_id: 1 }, 'edit 1, row 1: an insert has no row_id'],
  [{ table: 'Note', action: 'update', values: { Title: 'x' } }, 'edit 1: an update needs a row_id'],
  [{ table: 'Note', action: 'delete' }, 'edit 1: a delete needs a row_id'],
  [{ table: 'Note', action: 'delete', row_id: 1, values: { Title: 'x' } }, 'edit 1, row 1: a delete has no values'],
  [update(1, { Nope: 1 }), 'edit 1, row 1: Nope: there is no such column'],
  [update(1, { Total: 1 }), 'edit 1, row 1: Total: the column cannot be written'],
  [update(1, { Photo: '/etc/passwd' }), 'edit 1, row 1: Photo: files are attached by people'],
  [update(1, { _id: 7 }), 'edit 1, row 1: _id: there is no such column'],
  [update(99, { Title: 'x' }), 'edit 1, row 99: there is no such row'],
  [update(1, { Title: 'title 1' }), 'edit 1, row 1: it changes nothing'],
  [update(1), 'edit 1, row 1: it changes nothing'],
  [{ table: 'Note', action: 'insert', values: { Body: 'x' } }, 'edit 1: these must have a value: Title'],
])('refuses %j', async (edit, complaint) => {
  await using fixture = await startTwoWay();

  expect(complaintOf(fixture, edit)).toBe(complaint);
});

test('what the triggers would refuse is refused before, in their words', async () => {
  await using fixture = await startTwoWay();

  expect(complaintOf(fixture, update(1, { Title: 'x'.repeat(21) }))).toContain('at most 20 characters');
  expect(complaintOf(fixture, update(1, { Count: 'many' }))).toContain('takes a number');
  expect(complaintOf(fixture, update(1, { Title: '' }))).toMatch(/^edit 1, row 1: .*Title/);
});

test('a row has one edit; what is wrong with each of several is said', async () => {
  await using fixture = await startTwoWay();

  const { edits, complaints } = look(
    fixture,
    update(1, { Title: 'a' }),
    update(1, { Body: 'b' }),
    update(2, { Nope: 1 }),
    update(3, { Title: 'c' }),
  );

  expect(complaints).toEqual([
    'edit 2, row 1: the row has an edit already',
    'edit 3, row 2: Nope: there is no such column',
  ]);
  expect(edits.map(({ rowId }) => rowId)).toContain(3);
});

test('tables and columns that take no proposal say why', async () => {
  const mirror = { ...NOTE, name: 'Mirror' };
  const { tableOptions } = twoWaySettings();
  await using fixture = await startFixture(
    { tables: [{ ...NOTE, allowAdd: false }, mirror] },
    { settings: { tableOptions: (name) => (name === 'Mirror' ? { sort: null } : tableOptions(name)) } },
  );
  await fixture.pull();
  using reader = openReader(fixture.path);
  const [note, other] = ['Note', 'Mirror'].map((name) => must(findBrowsedTable(reader, name), name));
  if (note === undefined || other === undefined) throw new Error('both were pulled');
  const title = note.columns.find(({ name }) => name === 'Title');

  expect(reasonNotEdited(other, 'update')).toBe('the table is a read-only mirror here');
  expect(reasonNotEdited(note, 'insert')).toMatch(/add/);
  expect([reasonNotEdited(note, 'update'), reasonNotEdited(note, 'delete')]).toEqual([null, null]);
  expect(reasonNotWritten(title)).toBeNull();
  expect(reasonNotWritten(title && { ...title, mask: 'hash' })).toBe('its values are masked here');
  expect(reasonNotWritten(undefined)).toBe('there is no such column');
  expect(writableOf(note)).toEqual(expect.arrayContaining(['Title', 'Code', 'Photo']));
  expect(writableOf(note)).not.toContain('Total');
});
