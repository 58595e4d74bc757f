import { expect, test } from 'vitest';

import { PageCursor } from '../../src/pull/cursor.ts';
import { REPEATED_PAGES_MAX } from '../../src/reconcile/pages.ts';

/** Everything that the cursor hands out now, without an answer in between. */
function drain(cursor: PageCursor): readonly number[] {
  const pages: number[] = [];
  for (let page = cursor.next(); page !== null; page = cursor.next()) pages.push(page);
  return pages;
}

function startCursor(known: readonly number[] = [], firstFresh = 0): PageCursor {
  return new PageCursor({ known, firstFresh, pageRows: 5, ahead: 3 });
}

test('asks for the first page alone, then as far ahead as allowed', () => {
  const cursor = startCursor();

  const first = drain(cursor);
  cursor.answered(0, 5);
  const second = drain(cursor);
  cursor.answered(2, 5);
  const third = drain(cursor);

  expect([first, second, third]).toEqual([[0], [1, 2, 3], [4, 5]]);
});

test('asks for nothing behind a page that is not full', () => {
  const cursor = startCursor();
  drain(cursor);

  cursor.answered(0, 4);

  expect(drain(cursor)).toEqual([]);
});

test('asks for all known pages at once and not behind them while the last one is not full', () => {
  const cursor = startCursor([0, 1, 2], 3);

  const known = drain(cursor);
  cursor.answered(0, 5);
  cursor.answered(1, 5);
  const behind = drain(cursor);
  cursor.answered(2, 5);
  const grown = drain(cursor);

  expect([known, behind, grown]).toEqual([[0, 1, 2], [], [3, 4, 5]]);
});

test('leaves out the known pages behind a new end', () => {
  const cursor = startCursor([0, 1, 2, 3, 4], 5);
  const first = [cursor.next(), cursor.next()];

  cursor.answered(1, 2);

  expect(first).toEqual([0, 1]);
  expect(drain(cursor)).toEqual([]);
});

test('asks for known pages behind the end where the page map is to be repaired', () => {
  const cursor = new PageCursor({ known: [1, 2, 3], firstFresh: 4, pageRows: 5, ahead: 3, asksBehindEnd: true });
  const first = cursor.next();
  cursor.answered(1, 2);

  const rest = drain(cursor);

  expect([first, rest]).toEqual([1, [2, 3]]);
});

test('asks for nothing more once page after page begins with the same row, but for some', () => {
  const cursor = startCursor();
  let asked = 0;
  for (let page = cursor.next(); page !== null && page < 1_000; page = cursor.next()) {
    asked += 1;
    cursor.answered(page, 5, 7);
  }
  const moving = startCursor();
  for (let page = moving.next(); page !== null && page < 1_000; page = moving.next())
    moving.answered(page, 5, page < 16 ? 7 : page);

  expect(asked).toBe(REPEATED_PAGES_MAX + 2);
  expect([cursor.isRepeating, moving.isRepeating]).toEqual([true, false]);
});
