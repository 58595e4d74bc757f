import { expect, test } from 'vitest';

import { PageCursor } from '../../src/pull/cursor.ts';

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
