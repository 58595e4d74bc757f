/** Proving that files are whole: damage is found and mended, what is gone at the origin is marked. */
import { rmSync, writeFileSync, chmodSync } from 'node:fs';
import { expect, test } from 'vitest';
import { verifyFiles } from '../../../src/extras/verify/files.ts';
import type { TableSpec } from '../../../src/sandbox/store/spec.ts';
import { fileOf, startFilesFixture, type FilesFixture } from '../../support/files.ts';

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

test('a file that the origin no longer has is marked and stays', async () => {
  await using fixture = await pulled();
  const notFound = { status: 404, body: '', headers: { 'Content-Type': 'application/json' } };
  fixture.sandbox.answerInstead(1, notFound, { method: 'attachment' });

  const report = await verifyFiles(fixture.filesContext(), { tables: ['album'] });

  expect(report).toMatchObject({ askedCount: 3, vanishedCount: 1, lostCount: 0, error: null });
  expect(fixture.files().filter(({ vanished }) => vanished !== null)).toMatchObject([{ state: 'here' }]);
  expect(fixture.problems()).toEqual([]);
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
