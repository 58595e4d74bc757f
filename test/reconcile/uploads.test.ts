import { expect, test } from 'vitest';
import type { ErrorCode, ErrorKind } from '../../src/base/errors.ts';
import {
  acceptedRevision,
  isBeyondComparing,
  lostFileFate,
  uploadName,
  valuePutBack,
  type SentFile,
} from '../../src/reconcile/files.ts';

const GUID = '01234567-89ab-cdef-0123-456789abcdef';
const BEFORE = `old.txt;3;${GUID}`;

function sent(before: string | null): SentFile {
  return { path: '/uploads/a.txt', name: 'a.txt', type: 'text/plain', bytes: 3, sha256: '00', before };
}

test.each([
  ['the next revision of the cell', BEFORE, 4, false],
  ['the first one of a cell without any', null, 1, false],
  ['the first one of a new row, whatever the former row had', BEFORE, 1, true],
])('what was sent is %s', (_what, before, revision, isNew) => {
  expect(acceptedRevision(sent(before), `a.txt;${revision};${GUID}`, isNew)).toEqual({
    name: 'a.txt',
    revision,
    guid: GUID,
  });
});

test.each([
  ['a later one', BEFORE, `a.txt;5;${GUID}`, false],
  ['the one before', BEFORE, `a.txt;3;${GUID}`, false],
  ['one with its number and another name', BEFORE, `b.txt;4;${GUID}`, false],
  ['one behind a value that says no revision', 'a.txt', `a.txt;4;${GUID}`, false],
  ['a value that says none', BEFORE, 'a.txt', false],
  ['an empty cell', BEFORE, null, false],
])('it is not %s', (_what, before, shown, isNew) => {
  expect(acceptedRevision(sent(before), shown, isNew)).toBeNull();
});

interface Failure {
  readonly kind: ErrorKind;
  readonly code: ErrorCode;
  readonly status?: number;
}

test.each<readonly [string, Failure, isBeyond: boolean]>([
  ['refuses it', { kind: 'originRefused', code: 'origin.refused' }, true],
  ['leads elsewhere', { kind: 'originRefused', code: 'origin.redirect' }, false],
  ['has a certificate of somebody else', { kind: 'originRefused', code: 'origin.tls' }, false],
  ['fails over it', { kind: 'originDown', code: 'origin.busy', status: 500 }, true],
  ['is busy', { kind: 'originDown', code: 'origin.busy', status: 503 }, false],
  ['asks for patience', { kind: 'originDown', code: 'origin.busy', status: 429 }, false],
  ['takes too long', { kind: 'originDown', code: 'origin.timeout' }, true],
  ['is not there', { kind: 'originDown', code: 'origin.unreachable' }, false],
  ['sends something else', { kind: 'wireFormat', code: 'origin.truncated' }, true],
])('whether a file is beyond comparing where the origin %s', (_what, { status, ...error }, isBeyond) => {
  const refusal = status === undefined ? null : { status, code: null, words: '', source: null };
  expect(isBeyondComparing({ ...error, refusal })).toBe(isBeyond);
});

test.each([
  ['is as it was before', BEFORE, BEFORE, 'absent'],
  ['is empty, as it was before', null, null, 'absent'],
  ['shows a file', BEFORE, `a.txt;4;${GUID}`, 'compare'],
  ['shows a file where it had none', null, `a.txt;1;${GUID}`, 'compare'],
  ['is empty, and was not before', BEFORE, null, 'unclear'],
  ['says what is no file', BEFORE, 'a.txt', 'unclear'],
] as const)('the fate of a file whose answer was lost, in a cell that %s', (_what, before, remote, fate) => {
  expect(lostFileFate(sent(before), remote)).toBe(fate);
});

test.each([
  ['a wish to attach a file', 'Attachment', 'file:/a b.txt', '/a b.txt', 'file:/a b.txt'],
  ['a file of the origin', 'Attachment', BEFORE, null, null],
  ['the same text in another column', 'Text', 'file:/a.txt', null, 'file:/a.txt'],
  ['an empty cell', 'Attachment', null, null, null],
] as const)('%s names an upload or none, and only an upload can be put back', (_what, type, value, name, putBack) => {
  expect(uploadName(type, value)).toBe(name);
  expect(valuePutBack(type, value)).toBe(putBack);
});
