/** Decisions about attached files: what a cell says, which revisions are fetched, skipped, gone, and what came. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  columnMode,
  downloadProblem,
  fileFromCell,
  judgeFile,
  planCell,
  REVISIONS_MAX,
  settleCell,
  type FileRule,
  type WantedFile,
  acceptedRevision,
  isBeyondComparing,
  lostFileFate,
  uploadName,
  valuePutBack,
  type SentFile,
} from '../../src/reconcile/files.ts';
import type { AttachmentInfo } from '../../src/wire/schema.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import type { ErrorCode, ErrorKind } from '../../src/base/errors.ts';

function guidOf(number: number): string {
  return `6f9619ff-8b86-d011-b42d-${number.toString(16).padStart(12, '0')}`;
}

function listed(revision: number): AttachmentInfo {
  const createdAt = '2026-01-02T03:04:05.678Z';
  return { name: 'x.png', revision, type: 'image/png', size: 5, guid: guidOf(revision), author: 'Z <z@x>', createdAt };
}

const known = (...revisions: readonly number[]): { guid: string; revision: number }[] =>
  revisions.map((revision) => ({ revision, guid: guidOf(revision) }));

/** What could be taken for the end of a name, and what names are made of. */
const NAME_PART = fc.constantFrom(';', '1', 'a', 'é', '€', '\n', '-', `;7;${guidOf(7)}`, '\ud83d');

describe('the value of a cell', () => {
  test.each([
    [`logo.png;3;${guidOf(1)}`, { name: 'logo.png', revision: 3, guid: guidOf(1) }],
    [`a;1;b;2;${guidOf(1).toUpperCase()}`, { name: 'a;1;b', revision: 2, guid: guidOf(1).toUpperCase() }],
    [`;0;${guidOf(1)}`, { name: '', revision: 0, guid: guidOf(1) }],
    [`two\nlines;7;${guidOf(1)}`, { name: 'two\nlines', revision: 7, guid: guidOf(1) }],
    ['logo.png', null],
    ['', null],
    [`logo.png;x;${guidOf(1)}`, null],
    [`logo.png;3;${guidOf(1)}z`, null],
    [`logo.png;12345678901;${guidOf(1)}`, null],
    ['logo.png;3;6f9619ff', null],
  ])('%j is read as %j', (value, file) => {
    expect(fileFromCell(value)).toEqual(file);
  });

  test('is split from the right, whatever the name', () => {
    fc.assert(
      fc.property(fc.string({ unit: NAME_PART, maxLength: 20 }), fc.nat(999_999), fc.uuid(), (name, revision, guid) => {
        expect(fileFromCell(`${name};${revision};${guid}`)).toEqual({ name, revision, guid });
      }),
      fuzzRuns(200),
    );
  });
});

describe('what is asked for', () => {
  // Specification, client: 4.8-4
  test.each([
    ['all', ['Required', 'AllowSeeRevisionHistory'], 'all'],
    ['all', ['Allow See Revision History'], 'all'],
    ['all', ['Required'], 'latest'],
    ['latest', ['AllowSeeRevisionHistory'], 'latest'],
    ['none', ['AllowSeeRevisionHistory'], 'none'],
    ['none', ['Required'], 'none'],
    ['all', ['DisallowSeeRevisionHistory'], 'latest'],
    ['all', ['AllowSeeRevisionHistoryOfOthers'], 'latest'],
  ] as const)('by %s from a column with %j is %s', (mode, options, wanted) => {
    expect(columnMode(mode, options)).toBe(wanted);
  });

  const file = { name: 'a', revision: 3, guid: guidOf(3) };
  const value = `a;3;${guidOf(3)}`;

  test('of a cell whose file was taken away is its history, where that is wanted', () => {
    expect(planCell(null, 'all', 1)).toEqual({ kind: 'list', revisions: 2, file: null });
    expect(planCell('', 'all', 7)).toEqual({ kind: 'list', revisions: 7, file: null });
    expect(planCell(null, 'latest', 7)).toEqual({ kind: 'empty' });
  });

  test.each([
    ['no file', null, 'all', { kind: 'empty' }],
    ['an empty text', '', 'latest', { kind: 'empty' }],
    ['a file of which the latest revision is wanted', value, 'latest', { kind: 'value', file }],
    ['a file of which all revisions are wanted', value, 'all', { kind: 'list', revisions: 3, file }],
    ['its first file', `a;1;${guidOf(3)}`, 'all', { kind: 'list', revisions: 1, file: { ...file, revision: 1 } }],
    ['another form', 'a', 'latest', { kind: 'list', revisions: 1, file: null }],
    ['another form, with history', 'a', 'all', { kind: 'list', revisions: REVISIONS_MAX, file: null }],
    [
      'more revisions than are listed',
      `a;99999;${guidOf(3)}`,
      'all',
      { kind: 'list', revisions: REVISIONS_MAX, file: { ...file, revision: 99_999 } },
    ],
  ] as const)('of a cell with %s', (_what, cell, mode, plan) => {
    expect(planCell(cell, mode, 0)).toEqual(plan);
  });
});

describe('what was found', () => {
  const file = { name: 'x.png', revision: 3, guid: guidOf(3) };
  const all = { kind: 'list', revisions: 3, file } as const;

  test('is the list, with what the list says of each revision', () => {
    const { present, vanished } = settleCell([], all, [listed(3), listed(2)]);

    expect(vanished).toEqual([]);
    expect(present).toMatchObject([
      { revision: 3, guid: guidOf(3), type: 'image/png', bytes: 5 },
      { revision: 2, author: 'Z <z@x>', createdAt: '2026-01-02T03:04:05.678Z' },
    ]);
  });

  test('has the file of the value also where the list leaves it out', () => {
    const { present } = settleCell([], all, [listed(2)]);

    expect(present.map(({ revision, bytes }) => [revision, bytes])).toEqual([
      [3, null],
      [2, 5],
    ]);
  });

  test('is the latest first, whatever the order of the list, and has no type where the list says none', () => {
    const { present } = settleCell([], all, [{ ...listed(2), type: '' }, listed(3)]);

    expect(present.map(({ revision, type }) => [revision, type])).toEqual([
      [3, 'image/png'],
      [2, null],
    ]);
  });

  test('marks as gone what another file replaced under its number, also at the end of a cut list', () => {
    const before = [{ revision: 2, guid: guidOf(99) }];

    expect(settleCell(before, { ...all, revisions: 2 }, [listed(3), listed(2)]).vanished).toEqual([guidOf(99)]);
  });

  test.each([
    ['a whole list leaves it out', known(1, 2, 3), all, [listed(3), listed(2)], [1]],
    ['the list may go on below', known(1, 2, 3), all, [listed(5), listed(4), listed(3)], []],
    ['a backup took away again', known(1, 2), { ...all, revisions: 1 }, [listed(3), listed(1)], [2]],
    ['the list may come to show yet', known(1, 2), all, [listed(1)], []],
    ['a later revision is the latest one', known(1, 2), { kind: 'value', file }, [], []],
    ['a cell shows no file any more', known(1, 2), { kind: 'empty' }, [], [1, 2]],
    ['one of another form has none any more', known(1), { kind: 'list', revisions: 1, file: null }, [], [1]],
    ['one of another form was replaced', known(1), { kind: 'list', revisions: 1, file: null }, [listed(2)], []],
  ] as const)('marks as gone what %s: %#', (_what, before, plan, list, gone) => {
    expect(settleCell(before, plan, list).vanished).toEqual(gone.map(guidOf));
  });
});

describe('a file', () => {
  const rule: FileRule = { mode: 'all', maxFileBytes: null, types: null, name: 'tables.T.files' };
  const file: WantedFile = { isLatest: true, type: 'image/png', bytes: 100 };

  test.each([
    ['without rules', {}, {}, null, { kind: 'fetch' }],
    [
      'of an earlier revision',
      { isLatest: false },
      { mode: 'latest' },
      null,
      { kind: 'skip', rule: 'tables.T.files: latest' },
    ],
    ['of the latest revision, where only that is wanted', {}, { mode: 'latest' }, null, { kind: 'fetch' }],
    ['of unknown type, where every type is wanted', { type: null }, {}, null, { kind: 'fetch' }],
    ['of one of the wanted types', {}, { types: ['image/png', 'text/*'] }, null, { kind: 'fetch' }],
    [
      'of a type that only begins like a wanted one',
      { type: 'text/xml' },
      { types: ['text/x'] },
      null,
      { kind: 'skip', rule: 'tables.T.files.types' },
    ],
    [
      'of a family that only begins like a wanted one',
      { type: 'imagery/png' },
      { types: ['image/*'] },
      null,
      { kind: 'skip', rule: 'tables.T.files.types' },
    ],
    ['of an earlier revision, where all are wanted', { isLatest: false }, {}, null, { kind: 'fetch' }],
    ['that is as large as allowed', {}, { maxFileBytes: 100 }, null, { kind: 'fetch' }],
    ['that is too large', {}, { maxFileBytes: 99 }, null, { kind: 'skip', rule: 'tables.T.files.maxFileBytes' }],
    ['of unknown size', { bytes: null }, { maxFileBytes: 99 }, null, { kind: 'look' }],
    ['of unknown size, with no bound', { bytes: null }, {}, null, { kind: 'fetch' }],
    ['of a wanted type', {}, { types: ['IMAGE/*'] }, null, { kind: 'fetch' }],
    ['of another type', {}, { types: ['image/jpeg', 'text/*'] }, null, { kind: 'skip', rule: 'tables.T.files.types' }],
    [
      'of a type with parameters',
      { type: 'text/plain; charset=x' },
      { types: ['text/plain'] },
      null,
      { kind: 'fetch' },
    ],
    ['of unknown type', { type: null }, { types: ['image/*'] }, null, { kind: 'look' }],
    ['for which there is room', {}, {}, 100, { kind: 'fetch' }],
    ['for which there is no room', {}, {}, 99, { kind: 'skip', rule: 'files.maxBytes' }],
    ['of unknown size, with a bound on all', { bytes: null }, {}, 1, { kind: 'look' }],
    ['of unknown size, without any room', { bytes: null }, {}, 0, { kind: 'skip', rule: 'files.maxBytes' }],
    ['that is empty, without any room', { bytes: 0 }, {}, 0, { kind: 'fetch' }],
  ] as const)('%s', (_what, fileChange, ruleChange, room, verdict) => {
    expect(judgeFile({ ...file, ...fileChange }, { ...rule, ...ruleChange }, room)).toEqual(verdict);
  });
});

describe('a download', () => {
  const wanted = { name: 'x.png', type: 'image/png', bytes: 5, revision: 2 };
  const came = { type: 'image/png', length: 5, revision: 2, bytes: 5 };

  test.each([
    ['is the file', {}, {}, null],
    ['is the file, though nothing is known of it', { type: null, bytes: null }, { length: null, revision: null }, null],
    ['has another type of its own', {}, { type: 'application/octet-stream' }, null],
    ['is shorter than announced', {}, { length: 6 }, '5 bytes came where 6 were announced'],
    ['is shorter than listed', { bytes: 9 }, {}, '5 bytes came where the list of revisions says 9'],
    ['is another revision', {}, { revision: 3 }, 'revision 3 came where 2 was asked for'],
    ['is a page', { type: null }, { type: 'text/html; charset=utf-8' }, 'a page of HTML came in place of the file'],
    ['is a page that should be one by its name', { name: 'a.HTM', type: null }, { type: 'text/html' }, null],
    ['is a page that should be one by its name, not by its type', { name: 'a.html' }, { type: 'text/html' }, null],
    [
      'is a page in place of an image that is named after one',
      { name: 'a.html.png', type: null },
      { type: 'text/html' },
      'a page of HTML came in place of the file',
    ],
    ['has a type that only begins like that of a page', { type: null }, { type: 'text/html5' }, null],
    ['has a type that only ends like that of a page', { type: null }, { type: 'x-text/html' }, null],
    ['is a page that should be one by its type', { type: 'text/html' }, { type: 'text/html' }, null],
  ] as const)('%s', (_what, wantedChange, cameChange, problem) => {
    expect(downloadProblem({ ...wanted, ...wantedChange }, { ...came, ...cameChange })).toBe(problem);
  });
});

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
