import { expect, test } from 'vitest';
import { PageCursor } from '../../src/pull/page-cursor.ts';
import { REPEATED_PAGES_MAX } from '../../src/reconcile/windows.ts';

/** Everything that the cursor hands out now, without an answer in between. */
function drain(cursor: PageCursor): readonly number[] {
  const pages: number[] = [];
  for (let page = cursor.next(); page !== null; page = cursor.next()) pages.push(page);
  return pages;
}

function startCursor(known: readonly number[] = [], firstFresh = 0): PageCursor {
  return new PageCursor({ known, firstFresh, ahead: 3 });
}

test('asks for the first page alone, then as far ahead as allowed', () => {
  const cursor = startCursor();

  const first = drain(cursor);
  cursor.answered(0, false);
  const second = drain(cursor);
  cursor.answered(2, false);
  const third = drain(cursor);

  expect([first, second, third]).toEqual([[0], [1, 2, 3], [4, 5]]);
});

test('asks for nothing behind a page that is not full', () => {
  const cursor = startCursor();
  drain(cursor);

  cursor.answered(0, true);

  expect(drain(cursor)).toEqual([]);
});

test('asks for all known pages at once and not behind them while the last one is not full', () => {
  const cursor = startCursor([0, 1, 2], 3);

  const known = drain(cursor);
  cursor.answered(0, false);
  cursor.answered(1, false);
  const behind = drain(cursor);
  cursor.answered(2, false);
  const grown = drain(cursor);

  expect([known, behind, grown]).toEqual([[0, 1, 2], [], [3, 4, 5]]);
});

test('leaves out the known pages behind a new end', () => {
  const cursor = startCursor([0, 1, 2, 3, 4], 5);
  const first = [cursor.next(), cursor.next()];

  cursor.answered(1, true);

  expect(first).toEqual([0, 1]);
  expect(drain(cursor)).toEqual([]);
});

test('asks for known pages behind the end where the page map is to be repaired', () => {
  const cursor = new PageCursor({ known: [1, 2, 3], firstFresh: 4, ahead: 3, asksBehindEnd: true });
  const first = cursor.next();
  cursor.answered(1, true);

  const rest = drain(cursor);

  expect([first, rest]).toEqual([1, [2, 3]]);
});

test('asks for nothing more once page after page begins with the same row, but for some', () => {
  const cursor = startCursor();
  let asked = 0;
  for (let page = cursor.next(); page !== null && page < 1_000; page = cursor.next()) {
    asked += 1;
    cursor.answered(page, false, 7);
  }
  const moving = startCursor();
  for (let page = moving.next(); page !== null && page < 1_000; page = moving.next())
    moving.answered(page, false, page < 16 ? 7 : page);

  expect(asked).toBe(REPEATED_PAGES_MAX + 2);
  expect([cursor.isRepeating, moving.isRepeating]).toEqual([true, false]);
});

test('asks for nothing ahead behind the last page of a window, and for that one first where it is told to', () => {
  const cursor = new PageCursor({ known: [], firstFresh: 0, ahead: 3, windowPages: 6, asksLastFirst: true });

  const first = drain(cursor);
  cursor.answered(5, false);
  cursor.cutBehind(5);

  expect([first, drain(cursor)]).toEqual([
    [0, 5],
    [1, 2, 3, 4],
  ]);
  expect([cursor.isCutBefore(5), cursor.isCutBefore(6)]).toEqual([false, true]);
});

test('a window that was cut before its first pages were read gets them, and none behind the cut', () => {
  const cursor = new PageCursor({ known: [0, 1, 2, 4], firstFresh: 5, ahead: 3, windowPages: 4 });
  cursor.answered(3, true);
  cursor.cutBehind(3);

  expect(drain(cursor)).toEqual([0, 1, 2]);
});

test('reads on behind a window that is not cut, page by page', () => {
  const cursor = new PageCursor({ known: [], firstFresh: 0, ahead: 3, windowPages: 2 });
  drain(cursor);
  cursor.answered(0, false);
  const second = drain(cursor);
  cursor.answered(1, false);
  const third = drain(cursor);
  cursor.answered(2, false);

  expect([second, third, drain(cursor)]).toEqual([[1], [2], [3]]);
});
