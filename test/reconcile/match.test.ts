import { expect, test } from 'vitest';
import { judgeHolder } from '../../src/reconcile/match.ts';
import type { Row, Value } from '../../src/wire/schema.ts';

const COLUMNS = [
  { type: 'Text', writable: true },
  { type: 'Text', writable: true },
] as const;

function row(...values: readonly Value[]): Row {
  return { id: 1, allow: null, values };
}

const KNOWN = { base: row('a', 'x'), local: row('a', 'x') };
const DELETED = { base: row('a', 'x'), local: null };
const RENAMED = { base: row('a', 'x'), local: row('b', 'x') };
const EMPTIED = { base: row('a', 'x'), local: row(null, 'x') };

test.each([
  ['nobody has', undefined, null, 'send', 'send'],
  ['an unknown row has', { id: 1 }, null, 'adopt', 'adopt'],
  ['a row has that is deleted here', { id: 1 }, DELETED, 'wait', 'soon'],
  ['a row has that has another one here', { id: 1 }, RENAMED, 'wait', 'soon'],
  ['a row has that has none here', { id: 1 }, EMPTIED, 'wait', 'soon'],
  ['a row has that has it here too', { id: 1 }, KNOWN, 'later', 'later'],
  ['the origin refuses to look for', 'refused', null, 'later', 'later'],
  ['the origin says something unclear about', 'unclear', null, 'soon', 'soon'],
] as const)('a match value that %s', (_what, holder, known, verdict, last) => {
  const judge = (isLast: boolean): string => {
    const judged = judgeHolder(holder, known, { match: 0, columns: COLUMNS, isLast });
    return typeof judged === 'string' ? judged : judged.hope;
  };

  expect([judge(false), judge(true)]).toEqual([verdict, last]);
});
