import { expect, test } from 'vitest';
import { acceptedRevision, isOvertaken, type SentFile } from '../../src/reconcile/uploads.ts';

const GUID = '01234567-89ab-cdef-0123-456789abcdef';
const BEFORE = `old.txt;3;${GUID}`;

function sent(before: string | null): SentFile {
  return { path: '/uploads/a.txt', name: 'a.txt', type: 'text/plain', bytes: 3, sha256: '00', before };
}

const AT_ONCE = { isNew: false, isAtOnce: true };

test.each([
  ['the next revision of the cell', BEFORE, 4, AT_ONCE],
  ['the first one of a cell without any', null, 1, AT_ONCE],
  ['the first one of a new row, whatever the former row had', BEFORE, 1, { isNew: true, isAtOnce: true }],
])('what was sent is %s', (_what, before, revision, how) => {
  expect(acceptedRevision(sent(before), `a.txt;${revision};${GUID}`, how)).toEqual({
    name: 'a.txt',
    revision,
    guid: GUID,
  });
});

test.each([
  ['a later one', BEFORE, `a.txt;5;${GUID}`, AT_ONCE],
  ['the one before', BEFORE, `a.txt;3;${GUID}`, AT_ONCE],
  ['one with its number and another name', BEFORE, `b.txt;4;${GUID}`, AT_ONCE],
  ['one with its number that was not read at once', BEFORE, `a.txt;4;${GUID}`, { isNew: false, isAtOnce: false }],
  ['one behind a value that says no revision', 'a.txt', `a.txt;4;${GUID}`, AT_ONCE],
  ['a value that says none', BEFORE, 'a.txt', AT_ONCE],
  ['an empty cell', BEFORE, null, AT_ONCE],
])('it is not %s', (_what, before, shown, how) => {
  expect(acceptedRevision(sent(before), shown, how)).toBeNull();
});

test.each([
  ['shows a later one', BEFORE, `a.txt;5;${GUID}`, false, true],
  ['shows another of its number', BEFORE, `b.txt;4;${GUID}`, false, true],
  ['is empty', BEFORE, null, false, true],
  ['shows it', BEFORE, `a.txt;4;${GUID}`, false, false],
  ['shows the first one of a new row', BEFORE, `a.txt;1;${GUID}`, true, false],
  ['says no revision', BEFORE, 'a.txt', false, false],
  ['said no revision before', 'a.txt', `a.txt;4;${GUID}`, false, false],
])('whether a cell was overtaken that %s', (_what, before, shown, isNew, isIt) => {
  expect(isOvertaken(sent(before), shown, isNew)).toBe(isIt);
});
