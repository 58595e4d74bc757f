/** Files that arrive broken, late or not at all: nothing is lost, nothing half, and `sync_files` says so. */
import { expect, test, describe } from 'vitest';
import { statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin } from '../../src/origin/client.ts';
import { ORIGIN_LIMITS } from '../../src/origin/limits.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { testClock } from '../support/clock.ts';
import { http, startFaultServer, type FaultAnswer, type FaultRequest } from '../support/fault-server.ts';
import { contentsOf, fileOf, startFilesFixture, type FilesFixture } from '../support/files.ts';
import { canMount, mountTmpfs } from '../support/tmpfs.ts';

const SIZE = 1_000;
const ALBUM: TableSpec = {
  name: 'Album',
  columns: [{ name: 'Cover', type: 'Attachment' }],
  rows: ['a', 'b', 'c'].map((name) => ({ Cover: fileOf(`${name}.png`, SIZE, 'image/png') })),
};
const WHOLE = Buffer.from('x'.repeat(SIZE));
const HEADERS = {
  'Content-Type': 'image/png',
  'Content-Disposition': 'attachment; filename="x.png"',
  'X-Revision': '1',
};

/** Pulls the rows, then the files from a server that answers for the second file (row 2) as the script says. */
async function pullFrom(
  fixture: FilesFixture,
  script: (nthOfSecond: number) => FaultAnswer,
  options: { attemptsMax?: number } = {},
): Promise<{ requestCount: number; report: Awaited<ReturnType<FilesFixture['pullFiles']>> }> {
  let nth = 0;
  const answer = (_nth: number, request: FaultRequest): FaultAnswer =>
    request.path.includes('id=2') ? script((nth += 1)) : http(200, HEADERS, WHOLE);
  await using server = await startFaultServer(answer);
  const retry = { ...ORIGIN_LIMITS.retry, attemptsMax: options.attemptsMax ?? 3 };
  const clock = testClock();
  const origin = openOrigin(
    {
      url: server.url,
      database: fixture.sandbox.database,
      credentials: { kind: 'bearer', token: 'a-token' },
      limits: { retry },
    },
    { clock, log: silentLogger },
  );
  try {
    const report = await fixture.pullFiles({ context: { origin }, retryNow: true });
    return { requestCount: nth, report };
  } finally {
    await origin.close();
  }
}

const descriptor = (status: number, code: number): Buffer =>
  http(
    status,
    { 'Content-Type': 'application/json' },
    JSON.stringify({ error: status, code, message: 'No such file' }),
  );

describe('a file that', () => {
  const broken: readonly [string, () => FaultAnswer, number, string | null][] = [
    ['is 404', () => descriptor(404, 0), 1, 'the origin answered 404: No such file'],
    ['is 403', () => descriptor(403, 4000), 1, 'the origin answered 403 (code 4000): No such file'],
    ['is refused like wrong credentials', () => descriptor(403, 0), 1, '403'],
    [
      'is a proxy’s page',
      () => http(200, { 'Content-Type': 'text/html' }, '<!doctype html>'),
      1,
      'without the headers of a file',
    ],
    [
      'is a page that calls itself a file',
      () => http(200, { ...HEADERS, 'Content-Type': 'text/html' }, '<p>'),
      1,
      'a page of HTML',
    ],
    ['is another revision', () => http(200, { ...HEADERS, 'X-Revision': '9' }, WHOLE), 1, 'revision 9 came where 1'],
    [
      'is shorter than announced',
      () => ({ bytes: http(200, { ...HEADERS, 'Content-Length': '2000' }, WHOLE), ending: 'end' }),
      3,
      'broke off after 1000 bytes',
    ],
    ['is longer than announced', () => http(200, { ...HEADERS, 'Content-Length': '500' }, WHOLE), 1, null],
    [
      'is compressed, though nobody asked',
      () => http(200, { ...HEADERS, 'Content-Encoding': 'gzip' }, WHOLE),
      1,
      '200',
    ],
    ['is 503 each time', () => http(503, {}, ''), 3, '503'],
    ['is met by a reset', () => 'reset', 3, 'closed by the other side'],
  ];

  test.each(broken)('%s holds up no other, and is visible', async (_what, script, requestCount, reason) => {
    await using fixture = await startFilesFixture({ tables: [ALBUM] });
    await fixture.pull();

    const { report, ...seen } = await pullFrom(fixture, script);

    const second = fixture.files()[1];
    expect(report).toMatchObject({ error: null });
    expect(seen.requestCount).toBe(requestCount);
    expect(fixture.files().filter(({ state }) => state === 'here').length).toBe(reason === null ? 3 : 2);
    expect(second?.state).toBe(reason === null ? 'here' : 'failed');
    expect(String(second?.reason)).toContain(reason ?? 'null');
    expect(fixture.problems()).toEqual([]);
  });

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])('is cut after %i tenths is begun again, and never half', async (tenths) => {
    await using fixture = await startFilesFixture({ tables: [ALBUM] });
    await fixture.pull();
    const bytes = http(200, HEADERS, WHOLE);
    const cut = bytes.subarray(0, bytes.length - SIZE + (SIZE * tenths) / 10);

    const { report, requestCount } = await pullFrom(fixture, (nth) =>
      nth === 1 ? { bytes: cut, ending: tenths % 2 === 0 ? 'end' : 'reset' } : http(200, HEADERS, WHOLE),
    );

    expect(report).toMatchObject({ downloadedCount: 3, failedCount: 0 });
    expect(requestCount).toBe(2);
    expect(fixture.problems()).toEqual([]);
    // The three files have equal content here.
    expect(contentsOf(fixture.store)).toHaveLength(1);
  });

  test('failed is left alone for a while by later pulls, and then tried again', async () => {
    const clock = testClock();
    await using fixture = await startFilesFixture({ tables: [ALBUM] }, { clock });
    await fixture.pull();
    fixture.sandbox.answerInstead(
      1,
      { status: 404, body: '{}', headers: { 'Content-Type': 'application/json' } },
      { method: 'attachment' },
    );
    await fixture.pullFiles();

    const soon = await fixture.pullFiles();
    clock.advance(61_000);
    const later = await fixture.pullFiles();

    expect(soon.requestCount).toBe(0);
    expect(later).toMatchObject({ downloadedCount: 1, requestCount: 1 });
    expect(fixture.files().every(({ state, reason }) => state === 'here' && reason === null)).toBe(true);
  });
});

test('an origin that is down ends the work after a few files', async () => {
  const rows = Array.from({ length: 40 }, (_, index) => ({ Cover: fileOf(`${index}.png`, 10) }));
  await using fixture = await startFilesFixture({ tables: [{ ...ALBUM, rows }] });
  await fixture.pull();
  await using server = await startFaultServer(() => http(503, {}, ''));
  const clock = testClock();
  const limits = { retry: { ...ORIGIN_LIMITS.retry, attemptsMax: 2 } };
  const credentials = { kind: 'bearer', token: 'a-token' } as const;
  const origin = openOrigin({ url: server.url, database: '1', credentials, limits }, { clock, log: silentLogger });

  const report = await fixture.pullFiles({ context: { origin } });
  await origin.close();

  expect(report.error).toMatchObject({ code: 'origin.busy', exitCode: 75 });
  expect(server.requests.length).toBeLessThan(25);
  expect(fixture.files().filter(({ state }) => state === 'missing').length).toBeGreaterThan(20);
});

const why = canMount ? '' : ' (skipped: this user may not mount a tmpfs)';

test.skipIf(!canMount)(
  `a disk that fills up in the middle keeps what is whole, and the rest comes with space${why}`,
  async () => {
    using disk = mountTmpfs(1_024);
    const rows = Array.from({ length: 20 }, (_, index) => ({ Cover: fileOf(`${index}.png`, 100_000) }));
    await using fixture = await startFilesFixture({ tables: [{ ...ALBUM, rows }] });
    await fixture.pull();
    const { settings } = fixture.filesContext();
    const context = { settings: { ...settings, folder: join(disk.path, 'files') } };

    const full = await fixture.pullFiles({ context });
    const hereCount = fixture.files().filter(({ state }) => state === 'here').length;
    const left = statfsSync(disk.path).bavail;
    disk.remount('size=10m');
    const whole = await fixture.pullFiles({ context });

    expect(full.error).toMatchObject({ code: 'replica.full' });
    expect(hereCount).toBeGreaterThan(2);
    expect(hereCount).toBeLessThan(11);
    // What was half is gone, so another client can write.
    expect(left).toBeGreaterThan(0);
    expect(whole).toMatchObject({ error: null, downloadedCount: 20 - hereCount, failedCount: 0 });
    expect(fixture.problems()).toEqual([]);
  },
);

test('a folder that cannot be made is named, with what to do', async () => {
  await using fixture = await startFilesFixture({ tables: [ALBUM] });
  await fixture.pull();
  writeFileSync(join(fixture.folder, 'files'), 'in the way');

  const report = await fixture.pullFiles();

  expect(report.error).toMatchObject({
    code: 'files.store',
    message: expect.stringContaining(fixture.store) as unknown,
  });
  expect(report.error?.hint).toContain('replica.files');
});
