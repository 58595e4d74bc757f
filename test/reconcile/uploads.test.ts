import { expect, test } from 'vitest';
import type { ErrorCode, ErrorKind } from '../../src/base/errors.ts';
import {
  acceptedRevision,
  isBeyondComparing,
  isOvertaken,
  likelyRevisions,
  losesFile,
  type SentFile,
} from '../../src/reconcile/uploads.ts';
import type { Row, Value } from '../../src/wire/schema.ts';

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

const [KNOWN, NEW] = ['11111111-89ab-cdef-0123-456789abcdef', '22222222-89ab-cdef-0123-456789abcdef'] as const;
const LAST = { revision: 3, size: 3, name: 'old.txt', guid: GUID };

test.each([
  ['a newer one', [LAST], { revision: 4, size: 3, name: 'b.txt', guid: NEW }, true],
  ['a newer one of another size', [LAST], { revision: 4, size: 2, name: 'a.txt', guid: NEW }, false],
  ['an earlier one', [LAST], { revision: 2, size: 3, name: 'a.txt', guid: NEW }, false],
  ['one with a number that was given again', [], { revision: 3, size: 3, name: 'a.txt', guid: NEW }, true],
  ['one with a lower number that was given again', [], { revision: 1, size: 3, name: 'a.txt', guid: NEW }, true],
  ['one of another name, with such a number', [], { revision: 3, size: 3, name: 'b.txt', guid: NEW }, false],
  ['one of another size, with such a number', [], { revision: 3, size: 2, name: 'a.txt', guid: NEW }, false],
  ['one that is known here, with such a number', [], { revision: 1, size: 3, name: 'a.txt', guid: KNOWN }, false],
])('whether %s may be what was sent', (_what, others, listed, isIt) => {
  const likely = likelyRevisions(sent(BEFORE), [listed, ...others], new Set([KNOWN]));
  expect(likely.includes(listed)).toBe(isIt);
});

interface Failure {
  readonly kind: ErrorKind;
  readonly code: ErrorCode;
  readonly status?: number;
}

test.each<readonly [string, Failure, atOnce: boolean, afterLong: boolean]>([
  ['refuses it', { kind: 'originRefused', code: 'origin.refused' }, true, true],
  ['leads elsewhere', { kind: 'originRefused', code: 'origin.redirect' }, false, false],
  ['has a certificate of somebody else', { kind: 'originRefused', code: 'origin.tls' }, false, false],
  ['fails over it', { kind: 'originDown', code: 'origin.busy', status: 500 }, false, true],
  ['is busy', { kind: 'originDown', code: 'origin.busy', status: 503 }, false, false],
  ['asks for patience', { kind: 'originDown', code: 'origin.busy', status: 429 }, false, false],
  ['takes too long', { kind: 'originDown', code: 'origin.timeout' }, false, true],
  ['is not there', { kind: 'originDown', code: 'origin.unreachable' }, false, false],
  ['sends something else', { kind: 'wireFormat', code: 'origin.truncated' }, false, true],
])('a file is not compared any more where the origin %s', (_what, { status, ...error }, atOnce, afterLong) => {
  const refusal = status === undefined ? null : { status, code: null, words: '', source: null };
  expect(isBeyondComparing({ ...error, refusal }, false)).toBe(atOnce);
  expect(isBeyondComparing({ ...error, refusal }, true)).toBe(afterLong);
});

function row(...values: readonly Value[]): Row {
  return { id: 7, allow: null, values };
}

const FORMER = row('a', BEFORE);

test.each<[string, Row | null, Row | null, Row | null, boolean]>([
  ['what asks for no upload', row('b', 'a.txt'), null, FORMER, true],
  ['the file that it had, which is nobody’s edit', row('b', BEFORE), null, FORMER, false],
  ['no upload', row('b', 'file:a.txt'), null, FORMER, false],
  ['nothing where it stands there still', row('b', 'a.txt'), FORMER, FORMER, false],
  ['nothing where it was new before', row('b', 'a.txt'), null, null, false],
  ['nothing where it goes here too', null, null, FORMER, false],
])('a row that its origin does not have any more loses %s', (_what, local, base, before, expected) => {
  expect(losesFile({ local, base, before }, [{ type: 'Text' }, { type: 'Attachment' }])).toBe(expected);
});
