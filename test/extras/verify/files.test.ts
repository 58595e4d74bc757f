/** Proving that files are whole: damage is found and mended, what is gone at the origin is marked. */
import { rmSync, writeFileSync, chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifyFiles } from '../../../src/extras/verify/files.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { fileOf, startFilesFixture, storeProblems, type FilesFixture } from '../../support/files.ts';

const columns = [{ name: 'Cover', type: 'Attachment', options: ['AllowSeeRevisionHistory'] }];
const ALBUM: TableSpec = {
  name: 'Album',
  columns,
  rows: ['one', 'two', 'two'].map((text) => ({ Cover: fileOf(`${text}.png`, text) })),
};
const OTHER: TableSpec = { name: 'Other', columns, rows: [{ Cover: fileOf('three.png', 'three') }] };

async function pulled(): Promise<FilesFixture> {
  const fixture = await startFilesFixture({ tables: [ALBUM, OTHER] });
  await fixture.pull();
  await fixture.pullFiles();
  fixture.sandbox.requests.clear();
  return fixture;
}

function damage(fixture: FilesFixture, index: number, text: string | null): void {
  const path = fixture.files()[index]?.path ?? '';
  chmodSync(path, 0o600);
  if (text === null) rmSync(path);
  else writeFileSync(path, text);
}

test('what is whole is proven without a download', async () => {
  await using fixture = await pulled();

  const report = await verifyFiles(fixture.filesContext(), { tables: [] });

  expect(report).toMatchObject({
    contentCount: 3,
    contentBytes: 11,
    damagedCount: 0,
    askedCount: 4,
    requestCount: 4,
    lostCount: 0,
    differentCount: 0,
    vanishedCount: 0,
    mending: null,
    error: null,
  });
  expect(fixture.sandbox.requests.all.map(({ verb }) => verb)).toEqual(['HEAD', 'HEAD', 'HEAD', 'HEAD']);
});

test.each([
  ['damaged by hand', 'oNe'],
  ['cut short', 'on'],
  ['removed', null],
])('content that was %s is found, and mended by a download', async (_what, text) => {
  await using fixture = await pulled();
  damage(fixture, 0, text);
  const problems = fixture.problems();

  const report = await verifyFiles(fixture.filesContext(), { tables: [] });

  expect(problems).not.toEqual([]);
  expect(report).toMatchObject({ damagedCount: 1, lostCount: 0, mending: { downloadedCount: 1 }, error: null });
  expect(fixture.problems()).toEqual([]);
});

test('one content in several places is read once, fetched once and mended everywhere', async () => {
  await using fixture = await pulled();
  damage(fixture, 1, 'TWO');

  const report = await verifyFiles(fixture.filesContext(), { tables: [] });

  expect(report).toMatchObject({ damagedCount: 2, lostCount: 0 });
  expect(fixture.problems()).toEqual([]);
});

test('content that another table shares is mended there too', async () => {
  await using fixture = await pulled();
  fixture.sandbox.store.update('Other', 1, { Cover: fileOf('three.png', 'one') });
  await fixture.pull();
  await fixture.pullFiles();
  damage(fixture, 0, 'oNe');

  const report = await verifyFiles(fixture.filesContext(), { tables: ['Album'] });

  expect(report).toMatchObject({ damagedCount: 2, lostCount: 0, error: null });
  expect(fixture.files().every(({ state }) => state === 'here')).toBe(true);
});

test('what cannot be mended is named, and its row says so', async () => {
  await using fixture = await pulled();
  fixture.sandbox.store.delete('Album', 1);
  await fixture.pull();
  await fixture.pullFiles();
  damage(fixture, 0, 'oNe');

  const report = await verifyFiles(fixture.filesContext(), { tables: [] });

  expect(report).toMatchObject({
    damagedCount: 1,
    lostCount: 1,
    lost: ['Album.Cover of row 1, revision 1'],
    error: null,
  });
  expect(fixture.files()[0]).toMatchObject({
    state: 'missing',
    reason: 'the content here was lost or damaged',
    vanished: expect.stringMatching(/Z$/) as unknown,
    path: null,
  });
});

const HEADERS = { 'Content-Type': 'application/json' };
const NOT_FOUND = { status: 404, body: '', headers: HEADERS };

test('a file that the origin no longer has, and does not list, is marked and stays', async () => {
  await using fixture = await pulled();
  fixture.sandbox.answerInstead(1, NOT_FOUND, { method: 'attachment' });
  fixture.sandbox.answerInstead(1, { status: 200, body: '[]', headers: HEADERS }, { method: 'attachments' });

  const report = await verifyFiles(fixture.filesContext(), { tables: ['album'] });

  expect(report).toMatchObject({ askedCount: 3, unaskedCount: 0, vanishedCount: 1, lostCount: 0, error: null });
  expect(fixture.files().filter(({ vanished }) => vanished !== null)).toMatchObject([{ state: 'here' }]);
  expect(fixture.problems()).toEqual([]);
});

test('a file that is not found although its cell lists it is not gone, but not checked', async () => {
  await using fixture = await pulled();
  fixture.sandbox.answerInstead(1, NOT_FOUND, { method: 'attachment' });

  const report = await verifyFiles(fixture.filesContext(), { tables: ['album'] });

  expect(report).toMatchObject({
    askedCount: 2,
    unaskedCount: 1,
    vanishedCount: 0,
    error: { code: 'origin.refused', refusal: { status: 404 } },
  });
});

/** Makes the token of the client a wrong one. */
function revokeToken({ sandbox }: FilesFixture): void {
  sandbox.store.revokeToken(sandbox.token);
}

test('a wrong token is an error, and proves no file gone', async () => {
  await using fixture = await pulled();
  revokeToken(fixture);

  const report = await verifyFiles(fixture.filesContext(), { tables: [] });

  expect(report).toMatchObject({
    askedCount: 0,
    unaskedCount: 4,
    refusedCount: 0,
    vanishedCount: 0,
    error: { kind: 'auth', code: 'origin.forbidden' },
  });
  expect(fixture.files().every(({ vanished }) => vanished === null)).toBe(true);
});

test.each([
  ['a page of a proxy', 404, { 'Content-Type': 'text/html' }, 'origin.notApi'],
  ['a server error', 500, HEADERS, 'origin.busy'],
  ['an outage', 503, HEADERS, 'origin.busy'],
  ['missing credentials', 401, HEADERS, 'origin.unauthorized'],
])(
  '%s in the middle proves no file gone, and the files without an answer are counted',
  async (_what, status, headers, code) => {
    await using fixture = await pulled();
    const { origin, ...context } = fixture.filesContext();
    let askedCount = 0;
    const breaking: typeof origin = {
      ...origin,
      attachmentHeaders: (...given) => {
        askedCount += 1;
        if (askedCount > 2) {
          const answer = { status, body: '', headers };
          for (let nth = 1; nth <= 20; nth += 1) fixture.sandbox.answerInstead(nth, answer);
        }
        return origin.attachmentHeaders(...given);
      },
    };
    const settings = { ...context.settings, concurrency: 1 };

    const report = await verifyFiles({ ...context, settings, origin: breaking }, { tables: [] });

    expect(report).toMatchObject({
      askedCount: 2,
      unaskedCount: 2,
      refusedCount: 0,
      vanishedCount: 0,
      error: { code },
    });
  },
);

test('a file that could not be mended is missing until it is here again', async () => {
  await using fixture = await pulled();
  damage(fixture, 0, 'oNe');
  revokeToken(fixture);
  const first = await verifyFiles(fixture.filesContext(), { tables: [] });
  const second = await verifyFiles(fixture.filesContext(), { tables: ['Album'] });
  const elsewhere = await verifyFiles(fixture.filesContext(), { tables: ['Other'] });
  fixture.sandbox.store.addToken(fixture.sandbox.token);

  const mended = await verifyFiles(fixture.filesContext(), { tables: [] });
  const last = await verifyFiles(fixture.filesContext(), { tables: [] });

  const lost = ['Album.Cover of row 1, revision 1'];
  expect(first).toMatchObject({ damagedCount: 1, missingCount: 0, lostCount: 1, lost });
  expect(second).toMatchObject({ damagedCount: 0, missingCount: 1, lostCount: 1, lost });
  expect(elsewhere).toMatchObject({ missingCount: 0, lostCount: 0 });
  expect(mended).toMatchObject({ missingCount: 1, lostCount: 0, mending: { downloadedCount: 1 }, error: null });
  expect(last).toMatchObject({ missingCount: 0, lostCount: 0, askedCount: 4, mending: null, error: null });
});

test('a missing file is not waited for once the origin says that it is gone', async () => {
  await using fixture = await pulled();
  damage(fixture, 0, 'oNe');
  revokeToken(fixture);
  await verifyFiles(fixture.filesContext(), { tables: [] });
  fixture.sandbox.store.addToken(fixture.sandbox.token);
  fixture.sandbox.store.delete('Album', 1);
  await fixture.pull();

  const report = await verifyFiles(fixture.filesContext(), { tables: [] });

  expect(report).toMatchObject({ missingCount: 1, lostCount: 0, error: null });
});

test('a file of which the origin says another size is named', async () => {
  await using fixture = await pulled();
  const headers = { 'Content-Length': '99', 'Content-Disposition': 'attachment', 'X-Revision': '1' };
  fixture.sandbox.answerInstead(1, { status: 200, body: '', headers }, { method: 'attachment' });

  const report = await verifyFiles(fixture.filesContext(), { tables: ['Other'] });

  expect(report).toMatchObject({ differentCount: 1, different: ['Other.Cover of row 1, revision 1'] });
});

test('an earlier revision that may not be seen says nothing', async () => {
  await using fixture = await pulled();
  fixture.sandbox.store.update('Other', 1, { Cover: fileOf('four.png', 'four') });
  await fixture.pull();
  await fixture.pullFiles();
  fixture.sandbox.store.changeColumn('Other', 'Cover', { options: [] });

  const report = await verifyFiles(fixture.filesContext(), { tables: ['Other'] });

  expect(report).toMatchObject({ askedCount: 2, refusedCount: 1, vanishedCount: 0, differentCount: 0, error: null });
});

test('a table that is not there is a slip of the pen', async () => {
  await using fixture = await pulled();

  await expect(verifyFiles(fixture.filesContext(), { tables: ['Nope'] })).rejects.toMatchObject({
    code: 'usage.invalid',
  });
});

test('a file larger than any page comes where a rule asks for its size first, and is proven whole', async () => {
  const rows = [{ Cover: fileOf('large.png', 9_000_000) }];
  await using fixture = await startFilesFixture({ tables: [{ ...ALBUM, rows }] });
  await fixture.pull();

  const report = await fixture.pullFiles({ rule: { maxFileBytes: 10_000_000 } });
  const verified = await verifyFiles(fixture.filesContext(), { tables: [] });

  expect(report).toMatchObject({ downloadedCount: 1, failedCount: 0, error: null });
  expect(verified).toMatchObject({ askedCount: 1, damagedCount: 0, differentCount: 0, error: null });
  expect(fixture.sandbox.requests.all.filter(({ verb }) => verb === 'HEAD')).toHaveLength(2);
});

test('a verification in another folder finds no content lost that is in the former one', async () => {
  await using fixture = await pulled();
  const { settings, ...context } = fixture.filesContext();
  const folder = join(fixture.folder, 'elsewhere');

  const report = await verifyFiles({ ...context, settings: { ...settings, folder } }, { tables: [] });

  expect(report).toMatchObject({ damagedCount: 0, mending: null, error: null });
  expect(storeProblems(fixture.files(), folder)).toEqual([]);
});
