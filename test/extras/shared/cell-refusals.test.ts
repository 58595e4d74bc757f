/** Values of cells, judged before they are written. */
import { expect, test } from 'vitest';
import { reasonRefused } from '../../../src/extras/shared/cell-refusals.ts';
import { findBrowsedTable } from '../../../src/extras/shared/rows-page.ts';
import { must } from '../../../src/base/assert.ts';
import { startTwoWay } from '../../support/two-way.ts';

test('a cell of attached files is judged as the triggers do', async () => {
  await using fixture = await startTwoWay();
  const table = must(findBrowsedTable(fixture.replica, 'Note'), 'it was pulled');

  const reasons = ['a file', 'file:/tmp/a.jpg', null].map((value) =>
    reasonRefused(fixture.replica, table, { column: 'Photo', value, action: 'insert' }),
  );

  expect(reasons).toEqual([expect.stringContaining('takes file: and the name of a file to attach'), null, null]);
});
