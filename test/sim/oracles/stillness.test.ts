/** Which failing files a world at rest may have: not more than those that no pull can bring up to date. */
import { expect, test } from 'vitest';
import type { LocalRow } from '../world/books.ts';
import { isOutdated } from './stillness.ts';

const SHOWN = 'a0000000-0000-4000-8000-000000000003';
const EARLIER = 'a0000000-0000-4000-8000-000000000002';

function row(File: string | null): LocalRow {
  return { id: 5, tag: 't-5', cells: { File } };
}

const REPLACED = row(`new.txt;3;${SHOWN}`);

test.each([
  ['was replaced outside of the filter, where its row waits', {}, true],
  ['was cleared outside of the filter, where its row waits', { there: [row(null)] }, true],
  ['is the one that the origin shows', { guid: SHOWN }, false],
  ['belongs to a row that comes here', { selected: [REPLACED] }, false],
  ['belongs to a row with nothing that waits', { parked: new Set<number>() }, false],
  ['belongs to a row that the origin does not have', { there: [] }, false],
])('a file that fails in each cycle may do so or not where it %s', (_what, other, isExcused) => {
  const { guid, ...sides } = { guid: EARLIER, there: [REPLACED], selected: [], parked: new Set([5]), ...other };

  expect(isOutdated({ rowId: 5, guid }, sides)).toBe(isExcused);
});
