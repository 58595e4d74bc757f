/**
 * Revisions are listed of cells that changed, and of no others; a list that fails is listed again later, and costs no
 * file that the cell names.
 */
import { expect, test } from 'vitest';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { testClock } from '../support/clock.ts';
import { fileOf, startFilesFixture, type FilesFixture } from '../support/files.ts';

const SIZE = 1_000;
const ALBUM: TableSpec = {
  name: 'Album',
  columns: [{ name: 'Cover', type: 'Attachment' }],
  rows: ['a', 'b', 'c'].map((name) => ({ Cover: fileOf(`${name}.png`, SIZE, 'image/png') })),
};
test('a list that is refused is visible, costs no file that the value names, and is asked for again later', async () => {
  const clock = testClock();
  const columns = [{ name: 'Cover', type: 'Attachment', options: ['AllowSeeRevisionHistory'] }];
  await using fixture = await startFilesFixture({ tables: [{ ...ALBUM, columns }] }, { clock });
  fixture.sandbox.store.update('Album', 1, { Cover: fileOf('a.png', 'second') });
  await fixture.pull();
  fixture.sandbox.answerInstead(
    1,
    { status: 400, body: '{"error":400,"message":"Not now"}', headers: { 'Content-Type': 'application/json' } },
    { method: 'attachments' },
  );

  const first = await fixture.pullFiles({ rule: { mode: 'all' } });
  const failed = fixture.files().filter(({ state }) => state === 'failed');
  const soon = await fixture.pullFiles({ rule: { mode: 'all' } });
  clock.advance(61_000);
  const later = await fixture.pullFiles({ rule: { mode: 'all' } });

  expect(first).toMatchObject({ downloadedCount: 3, error: null });
  expect(failed).toMatchObject([
    { row_id: 1, column: 'Cover', name: null, reason: expect.stringContaining('Not now') as unknown },
  ]);
  expect(soon.requestCount).toBe(0);
  expect(later).toMatchObject({ downloadedCount: 1, listedCount: 1 });
  expect(fixture.files().every(({ state }) => state === 'here')).toBe(true);
});

test('being told to stop is held against no cell and no file', async () => {
  const columns = [{ name: 'Cover', type: 'Attachment', options: ['AllowSeeRevisionHistory'] }];
  await using fixture = await startFilesFixture({ tables: [{ ...ALBUM, columns }] });
  await fixture.pull();
  const stopping = new AbortController();
  fixture.sandbox.before(1, () => stopping.abort(), { method: 'attachments' });

  const listing = await fixture.pullFiles({ rule: { mode: 'all' }, context: { signal: stopping.signal } });
  const complaints = fixture.files().filter(({ reason }) => reason !== null);
  const again = await fixture.pullFiles({ rule: { mode: 'all' } });

  expect(listing.error).toMatchObject({ code: 'origin.stopped', exitCode: 75 });
  expect(complaints).toEqual([]);
  expect(again).toMatchObject({ downloadedCount: 3, listedCount: 3, error: null });
});

test('where the origin shows attachments in another form, each cell is asked for by its ETag', async () => {
  await using fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();
  fixture.execute(`DROP TRIGGER ${guardOf(fixture)}; UPDATE "Album" SET "Cover" = 'a file'`);

  const first = await fixture.pullFiles();
  fixture.sandbox.requests.clear();
  const quiet = await fixture.pullFiles();
  const statuses = fixture.sandbox.requests.all.map(({ method, status }) => [method, status]);
  fixture.sandbox.store.update('Album', 2, { Cover: fileOf('b.png', 'newer') });
  const changed = await fixture.pullFiles();

  expect(first).toMatchObject({ listedCount: 3, downloadedCount: 3 });
  expect(quiet).toMatchObject({ downloadedCount: 0 });
  expect(statuses).toEqual(Array.from({ length: 3 }, () => ['attachments', 304]));
  expect(changed.downloadedCount).toBe(1);
  expect(fixture.files().filter(({ row_id }) => row_id === 2)).toMatchObject([
    { revision: 1 },
    { revision: 2, state: 'here' },
  ]);
});

test('the ETag of a list goes with its own URL only, so not into the other format', async () => {
  await using fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();
  fixture.execute(`DROP TRIGGER ${guardOf(fixture)}; UPDATE "Album" SET "Cover" = 'a file'`);
  const sent: (string | null | undefined)[] = [];
  const listen = (): void => {
    const { origin } = fixture;
    const attachments: typeof origin.attachments = (request, options) => {
      sent.push(options?.etag);
      return origin.attachments(request, options);
    };
    fixture.origin = { ...origin, attachments };
  };
  await fixture.pullFiles();

  await fixture.useFormat('xml');
  listen();
  await fixture.pullFiles();
  await fixture.pullFiles();

  expect(sent).toHaveLength(6);
  expect(sent.slice(0, 3)).toEqual([null, null, null]);
  expect(sent.slice(3).filter((etag) => /^(?:W\/)?"/.test(etag ?? ''))).toHaveLength(3);
});

function guardOf(fixture: FilesFixture): string {
  const [row] = fixture.rows('SELECT id FROM _rowsync_tables') as { id: number }[];
  return `"_rowsync_guard_update_${row?.id}"`;
}
