/**
 * Files attached by SQL against a real sandbox. What the origin has afterwards, what the store has without a download,
 * and what waits where a file cannot be sent.
 */
import { createHash } from 'node:crypto';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { FaultName } from '../../src/sandbox/server/faults.ts';
import { at, revisionsAt, startAlbum } from '../support/album.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import type { FilesFixture } from '../support/files.ts';
import { changesSent, codesOf, countsOf, previewNow, setFaults } from '../support/push.ts';
import { captured } from '../support/two-way.ts';

function failures(fixture: FilesFixture): readonly unknown[] {
  return fixture.rows('SELECT row_id, "column", reason FROM sync_failures ORDER BY row_id');
}

describe.each(['json', 'xml'] as const)('over %s', (format) => {
  test('several rows and files travel in one request and stand in the store without a download', async () => {
    await using fixture = await startAlbum({ format });
    fixture.put('Grüße ☕.txt', 'one');
    const second = fixture.put('two.png', Buffer.from([0, 1, 2, 255]));
    fixture.execute(`UPDATE "Album" SET "Photo" = 'file:Grüße ☕.txt' WHERE _id = 1;
      UPDATE "Album" SET "Photo" = 'file:${second}', "Title" = 'both' WHERE _id = 2`);

    expect(countsOf(await fixture.upload())).toEqual({ updated: 2 });

    expect(changesSent(fixture)).toEqual(['update']);
    expect(revisionsAt(fixture, 1)).toEqual(['Grüße ☕.txt 1 one']);
    expect(
      fixture
        .files()
        .map(({ row_id, name, revision, type, bytes, state }) => [row_id, name, revision, type, bytes, state]),
    ).toEqual([
      [1, 'Grüße ☕.txt', 1, 'text/plain', 3, 'here'],
      [2, 'two.png', 1, 'image/png', 4, 'here'],
    ]);
    expect(fixture.problems()).toEqual([]);
    const again = await fixture.pullFiles();
    expect(again.downloadedCount + again.listedCount).toBe(0);
    expect(fixture.sandbox.requests.count({ method: 'attachment' })).toBe(0);
    expect(await captured(fixture, 'Album')).toEqual([]);
    await fixture.pull();
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  });
});

test('a file comes with a new row, of an upsert too', async () => {
  await using fixture = await startAlbum({ match: 'Code' });
  fixture.put('a.txt', 'new');
  fixture.execute(`INSERT INTO "Album" ("Title", "Code", "Photo") VALUES ('x', 'n1', 'file:a.txt')`);

  expect(countsOf(await fixture.upload())).toEqual({ inserted: 1 });

  expect(revisionsAt(fixture, 4)).toEqual(['a.txt 1 new']);
  expect(fixture.files().map(({ row_id, state }) => [row_id, state])).toEqual([[4, 'here']]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('a file whose own name begins as a wish to attach one is known as what was sent', async () => {
  await using fixture = await startAlbum({ match: 'Code' });
  fixture.put('file:a.txt', 'one');
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:file:a.txt' WHERE _id = 1`);

  expect(countsOf(await fixture.upload())).toEqual({ updated: 1 });

  expect(revisionsAt(fixture, 1)).toEqual(['file:a.txt 1 one']);
  expect(fixture.files().map(({ state }) => state)).toEqual(['here']);
  expect(fixture.sandbox.requests.count({ method: 'attachment' })).toBe(0);
  expect(fixture.rows('SELECT "Photo" FROM "Album" WHERE _id = 1')).toEqual([
    { Photo: expect.stringMatching(/^file%3Aa\.txt;1;/) as unknown },
  ]);
  expect(await captured(fixture, 'Album')).toEqual([]);
});

test('another file is the next revision, and NULL takes the file away; both revisions stay', async () => {
  await using fixture = await startAlbum();
  for (const content of ['one', 'two']) {
    fixture.put('a.txt', content);
    fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
    await fixture.upload();
  }
  expect(fixture.files().map(({ revision, state }) => [revision, state])).toEqual([
    [1, 'here'],
    [2, 'here'],
  ]);
  fixture.execute(`UPDATE "Album" SET "Photo" = NULL WHERE _id = 1`);

  expect(countsOf(await fixture.upload())).toEqual({ updated: 1 });

  expect(revisionsAt(fixture, 1)).toEqual(['a.txt 2 two', 'a.txt 1 one']);
  expect(fixture.rows('SELECT "Photo" FROM "Album" WHERE _id = 1')).toEqual([{ Photo: null }]);
  expect(fixture.problems()).toEqual([]);
});

test.each([
  ['another text', `UPDATE "Album" SET "Photo" = 'a.txt'`],
  ['a file of the origin', `UPDATE "Album" SET "Photo" = 'a.txt;1;b0a2c9a0-0000-4000-8000-000000000001'`],
  ['no name', `UPDATE "Album" SET "Photo" = 'file:'`],
  ['another text in a new row', `INSERT INTO "Album" ("Photo") VALUES ('a.txt')`],
])('an edit to %s is refused at once', async (_what, statement) => {
  await using fixture = await startAlbum();

  expect(() => fixture.execute(statement)).toThrow(/"Photo" of Album takes file: and the name of a file to attach/);
});

test('setting the value back that the origin has is no edit', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'one');
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
  await fixture.upload();
  const [row] = fixture.rows('SELECT "Photo" FROM "Album" WHERE _id = 1') as { Photo: string }[];
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:other.txt' WHERE _id = 1`);
  fixture.execute(`UPDATE "Album" SET "Photo" = '${row?.Photo}' WHERE _id = 1`);

  expect(await captured(fixture, 'Album')).toEqual([]);
});

test('REPLACE without a file keeps it', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'one');
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
  await fixture.upload();

  fixture.execute(`REPLACE INTO "Album" (_id, "Title", "Code") VALUES (1, 'x', 'c1')`);

  expect(await captured(fixture, 'Album')).toEqual(['update 1 Title']);
});

test.each<[string, FaultName | null, readonly string[]]>([
  ['with an answer', null, ['b.txt 2 new', 'a.txt 1 old']],
  ['without an answer', 'resetAfter', ['b.txt 2 new', 'a.txt 1 old']],
  ['that never arrived', 'resetBefore', ['a.txt 1 old']],
])('REPLACE without a file keeps what the origin has by then, in an upload %s', async (_what, fault, expected) => {
  await using fixture = await startAlbum({ match: 'Code' });
  for (const [name, content] of [
    ['a.txt', 'old'],
    ['b.txt', 'new'],
  ] as const)
    fixture.put(name, content);
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
  await fixture.upload();
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:b.txt' WHERE _id = 1`);
  if (fault !== null) setFaults(fixture, [{ fault, method: 'update', nth: 1 }]);
  const replace = [`REPLACE INTO "Album" (_id, "Title", "Code") VALUES (1, 'x', 'c1')`];

  await fixture.upload({
    before: at('store', () => replace.splice(0).forEach((statement) => fixture.execute(statement))),
  });
  await fixture.upload();

  expect(failures(fixture)).toEqual([]);
  expect(revisionsAt(fixture, 1)).toEqual(expected);
  expect(fixture.rows(`SELECT "Title", "Photo" FROM "Album" WHERE _id = 1`)).toEqual([
    { Title: 'x', Photo: expect.stringContaining(expected[0]?.slice(0, 7).replace(' ', ';') ?? '') as string },
  ]);
  expect(await captured(fixture, 'Album')).toEqual([]);
});

describe('a file that cannot be sent parks its row, and no other', () => {
  test.each<[string, string, RegExp, boolean]>([
    ['is missing', 'file:lost.txt', /^there is no file of this name/, true],
    ['is a folder', 'file:/tmp', /^what is to be attached is not a file/, true],
    ['has no bytes', 'file:empty.txt', /^the file to attach is empty$/, true],
    ['is of the system', 'file:/proc/self/environ', /^the file to attach is empty$/, true],
    ['lies outside', 'file:../replica.db', /must not have \.\. in it$/, true],
    ['is outside behind a link', 'file:link/replica.db', /must not lead out of files\.uploadDir$/, true],
    ['is relative to no folder', 'file:good.txt', /takes files\.uploadDir in the configuration/, false],
    ['is too large', 'file:large.bin', /may have 19500000 bytes/, true],
    ['has a line break in its name', 'file:a\nb.txt', /line break or control character/, true],
  ])('because it %s', async (_what, value, reason, hasFolder) => {
    await using fixture = await startAlbum();
    fixture.put('good.txt', 'good');
    fixture.put('empty.txt', '');
    fixture.put('large.bin', Buffer.alloc(19_600_000));
    symlinkSync(fixture.folder, join(fixture.uploads, 'link'));
    fixture.execute(
      `UPDATE "Album" SET "Photo" = '${value}' WHERE _id = 1; UPDATE "Album" SET "Title" = 'x' WHERE _id = 2`,
    );

    const report = await fixture.upload(
      hasFolder ? {} : { settings: { uploadDir: null, maxPushRows: 500, maxDeletePercent: 50 } },
    );

    expect(countsOf(report)).toEqual({ updated: 1, refused: 1, parked: 1 });
    expect(failures(fixture)).toEqual([
      { row_id: 1, column: 'Photo', reason: expect.stringMatching(reason) as string },
    ]);
    expect(JSON.stringify(failures(fixture))).not.toContain(value.slice('file:'.length));
  });

  test('until it is edited again', async () => {
    await using fixture = await startAlbum();
    fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
    await fixture.upload();
    fixture.put('a.txt', 'late');
    expect(countsOf(await fixture.upload())).toEqual({ parked: 1 });
    fixture.execute(`UPDATE "Album" SET "Photo" = 'file:${fixture.uploads}/a.txt' WHERE _id = 1`);

    expect(countsOf(await fixture.upload())).toEqual({ updated: 1 });

    expect(revisionsAt(fixture, 1)).toEqual(['a.txt 1 late']);
    expect(failures(fixture)).toEqual([]);
  });

  test('although it was there when the push was planned', async () => {
    await using fixture = await startAlbum();
    const path = fixture.put('a.txt', 'gone');
    fixture.execute(
      `UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1; UPDATE "Album" SET "Title" = 'x' WHERE _id = 2`,
    );

    const report = await fixture.upload({ before: at('reread', () => rmSync(path, { force: true })) });

    expect(countsOf(report)).toEqual({ updated: 1, refused: 1, parked: 1 });
    expect(failures(fixture)).toMatchObject([{ row_id: 1, reason: 'there is no file of this name to attach' }]);
  });
});

test('files are spread over as many requests as their bytes need', async () => {
  await using fixture = await startAlbum();
  for (const number of [1, 2, 3]) fixture.put(`${number}.bin`, Buffer.alloc(40_000, number));
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:' || _id || '.bin'`);
  const batchLimits = { rowsMax: 500, bytesMax: 10_000, requestBytesMax: 100_000 };

  expect(countsOf(await fixture.upload({ settings: { batchLimits } }))).toEqual({ updated: 3 });

  expect(changesSent(fixture)).toEqual(['update', 'update']);
});

test('a file that just fits into a request is sent whole', async () => {
  await using fixture = await startAlbum();
  const content = Buffer.alloc(19_400_000, 'large ');
  fixture.put('large.bin', content);
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:large.bin' WHERE _id = 1`);

  expect(countsOf(await fixture.upload())).toEqual({ updated: 1 });

  const sha256 = createHash('sha256').update(content).digest('hex');
  expect(fixture.files()).toMatchObject([{ state: 'here', bytes: content.length, sha256 }]);
});

test('a file that changed on the disk while it was sent is fetched from the origin', async () => {
  await using fixture = await startAlbum();
  const path = fixture.put('a.txt', 'sent');
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);

  await fixture.upload({ before: at('store', () => writeFileSync(path, 'late')) });
  await fixture.pullFiles();

  const sha256 = createHash('sha256').update('sent').digest('hex');
  expect(fixture.files()).toMatchObject([{ state: 'here', sha256 }]);
  expect(fixture.sandbox.requests.count({ method: 'attachment' })).toBe(1);
  expect(fixture.problems()).toEqual([]);
});

test('a file that changes between its hash and its sending is not taken, and is sent a minute later as it stands by then', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'before');
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
  let changes = 1;
  const before = at('send', () => {
    if (changes > 0) fixture.put('a.txt', 'after!'); // as long as before
    changes -= 1;
  });

  const first = await fixture.upload({ before });
  const parked = failures(fixture);
  const second = await fixture.upload({ clock: { ...systemClock, nowMs: () => systemClock.nowMs() + 61_000 } });

  expect([...codesOf(first), ...codesOf(second)]).toEqual([]);
  expect(parked).toMatchObject([{ row_id: 1, reason: 'the file to attach changed while it was sent' }]);
  expect(revisionsAt(fixture, 1)).toEqual(['a.txt 1 after!']);
  expect(await captured(fixture, 'Album')).toEqual([]);
});

test('a file that never stays as it is holds up its own row, and no other one of the request', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'file 100');
  fixture.execute(
    `UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1; UPDATE "Album" SET "Title" = 'mine' WHERE _id > 1`,
  );
  let changes = 100;
  const before = at('send', () => {
    changes += 1;
    fixture.put('a.txt', `file ${changes}`); // as long as before
  });

  const report = await fixture.upload({ before });

  expect(codesOf(report)).toEqual([]);
  expect(countsOf(report)).toMatchObject({ updated: 2 });
  expect(revisionsAt(fixture, 1)).toEqual([]);
  expect(await captured(fixture, 'Album')).toEqual(['update 1 Photo']);
  expect(failures(fixture)).toEqual([
    { row_id: 1, column: null, reason: 'the file to attach changed while it was sent' },
  ]);

  const later = { ...systemClock, nowMs: () => systemClock.nowMs() + 3_600_000 };
  expect(countsOf(await fixture.upload({ clock: later }))).toEqual({ updated: 1 });

  expect(failures(fixture)).toEqual([]);
  expect(revisionsAt(fixture, 1)).toEqual([expect.stringMatching(/^a\.txt 1 file/)]);
});

test('new rows that nothing identifies are not in doubt where a file of theirs changes before its sending, and go with the next round', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'before');
  fixture.execute(`INSERT INTO "Album" ("Title", "Photo") VALUES ('x', 'file:a.txt'), ('y', NULL)`);
  let changes = 1;
  const before = at('send', () => {
    if (changes > 0) fixture.put('a.txt', 'after!'); // as long as before
    changes -= 1;
  });

  expect(countsOf(await fixture.upload({ before }))).toEqual({ inserted: 2 });

  // The other one did not wait for it.
  expect(revisionsAt(fixture, 5)).toEqual(['a.txt 1 after!']);
  expect(failures(fixture)).toEqual([]);
  expect(await captured(fixture, 'Album')).toEqual([]);
});

test('content is never kept under a revision that a colleague added meanwhile', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'mine');
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
  const theirs = { name: 'a.txt', mediaType: 'text/plain', bytes: Buffer.from('others') };

  await fixture.upload({
    before: at('readBack', () => void fixture.sandbox.store.update('Album', 1, { Photo: theirs })),
  });
  await fixture.pullFiles({ rule: { mode: 'all' } });

  expect(fixture.files().map(({ revision, bytes, state }) => [revision, bytes, state])).toEqual([
    [1, 4, 'here'],
    [2, 6, 'here'],
  ]);
  expect(fixture.problems()).toEqual([]);
});

describe('an answer that gets lost', () => {
  const faults: readonly FaultName[] = ['resetAfter', 'truncated', 'resetBefore', 'failure'];
  const edits: readonly (readonly [string, string | null, string, string, number])[] = [
    ['update', null, 'an update', `UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`, 1],
    ['update', 'Code', 'an update', `UPDATE "Album" SET "Photo" = 'file:a.txt', "Title" = 'x' WHERE _id = 1`, 1],
    ['upsert', 'Code', 'an insert', `INSERT INTO "Album" ("Code", "Photo") VALUES ('n', 'file:a.txt')`, 4],
  ];

  test.each(edits.flatMap((edit) => faults.map((fault) => [...edit, fault] as const)))(
    'of %s (match %s, %s) leaves exactly one revision',
    async (method, match, _what, statement, id, fault) => {
      await using fixture = await startAlbum(match === null ? {} : { match });
      fixture.put('a.txt', 'sent');
      fixture.execute(statement);
      setFaults(fixture, [{ fault, method, nth: 1 }]);

      await fixture.upload();
      expect(codesOf(await fixture.upload())).toEqual([]);

      expect(revisionsAt(fixture, id)).toEqual(['a.txt 1 sent']);
      expect(await captured(fixture, 'Album')).toEqual([]);
      expect(failures(fixture)).toEqual([]);
      expect(fixture.rows('SELECT * FROM sync_conflicts')).toEqual([]);
      expect(fixture.files()).toMatchObject([{ row_id: id, state: 'here' }]);
      expect(fixture.problems()).toEqual([]);
      expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
    },
  );

  test('is looked up where the origin says of the row that it failed, and leaves exactly one revision', async () => {
    await using fixture = await startAlbum();
    fixture.put('a.txt', 'sent');
    fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
    const { origin } = fixture;
    const errors = [{ error: 500, code: null, message: 'something went wrong', source: null }];
    fixture.origin = {
      ...origin,
      update: async (request, options) => {
        const statuses = await origin.update(request, options);
        return statuses.map((status) => ({ ...status, status: 500, errors }));
      },
    };

    expect(countsOf(await fixture.upload())).toEqual({ updated: 1 });
    await fixture.upload();

    expect(revisionsAt(fixture, 1)).toEqual(['a.txt 1 sent']);
    expect(failures(fixture)).toEqual([]);
  });

  const isLooked = { method: 'attachments' } as const;

  test('waits for a person where the origin lets no revisions be compared', async () => {
    await using fixture = await startAlbum();
    fixture.put('a.txt', 'sent');
    fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
    setFaults(fixture, [{ fault: 'resetAfter', method: 'update', nth: 1 }]);
    const refusal = JSON.stringify({ error: 403, code: 4000, message: 'no', source: null });
    const headers = { 'Content-Type': 'application/json;charset=utf-8' };
    fixture.sandbox.answerInstead(1, { status: 403, headers, body: refusal }, isLooked);

    expect(countsOf(await fixture.upload())).toEqual({ inDoubt: 1, parked: 1 });
    await fixture.upload();

    expect(changesSent(fixture)).toEqual(['update']);
    expect(revisionsAt(fixture, 1)).toHaveLength(1);
  });

  test('leaves the row to a person where a colleague deleted the file that may have been ours', async () => {
    await using fixture = await startAlbum();
    fixture.put('a.txt', 'first');
    fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
    await fixture.upload();
    fixture.put('b.txt', 'sent');
    fixture.execute(`UPDATE "Album" SET "Photo" = 'file:b.txt' WHERE _id = 1`);
    setFaults(fixture, [{ fault: 'resetAfter', method: 'update', nth: 1 }]);
    fixture.sandbox.answerInstead(
      1,
      { status: 302, headers: { Location: 'https://login.example/' }, body: '' },
      isLooked,
    );
    expect(codesOf(await fixture.upload())).toEqual(['origin.redirect']);
    fixture.sandbox.store.update('Album', 1, { Photo: null });
    expect(countsOf(await fixture.upload())).toEqual({ inDoubt: 1, parked: 1 });
    await fixture.upload();

    expect(changesSent(fixture)).toEqual(['update', 'update']);
    expect(revisionsAt(fixture, 1)).toEqual(['b.txt 2 sent', 'a.txt 1 first']);
  });

  test('is looked for again with the next push where something on the way redirects the question', async () => {
    await using fixture = await startAlbum();
    fixture.put('a.txt', 'sent');
    fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
    setFaults(fixture, [{ fault: 'resetAfter', method: 'update', nth: 1 }]);
    const headers = { Location: 'https://login.example/' };
    fixture.sandbox.answerInstead(1, { status: 302, headers, body: '' }, isLooked);

    expect(codesOf(await fixture.upload())).toEqual(['origin.redirect']);
    expect(countsOf(await fixture.upload())).toEqual({ updated: 1 });

    expect(changesSent(fixture)).toEqual(['update']);
    expect(revisionsAt(fixture, 1)).toEqual(['a.txt 1 sent']);
  });
});

test('a file here and another one there are a conflict, whose loser is kept', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'mine');
  fixture.execute(`UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1`);
  const theirs = { name: 'b.txt', mediaType: 'text/plain', bytes: Buffer.from('theirs') };
  fixture.sandbox.store.update('Album', 1, { Photo: theirs });

  await fixture.upload();

  expect(revisionsAt(fixture, 1)).toEqual(['b.txt 1 theirs']);
  expect(fixture.rows('SELECT "column", local, winner FROM sync_conflicts')).toEqual([
    { column: 'Photo', local: 'file:a.txt', winner: 'origin' },
  ]);
});

test('a plan and sync_changes show the file that is to be attached, and a plan why one cannot be', async () => {
  await using fixture = await startAlbum();
  fixture.put('a.txt', 'mine');
  fixture.execute(
    `UPDATE "Album" SET "Photo" = 'file:a.txt' WHERE _id = 1; UPDATE "Album" SET "Photo" = 'file:b' WHERE _id = 2`,
  );

  const [preview] = await previewNow(fixture, { settings: { uploadDir: fixture.uploads } });

  expect(preview?.rows).toMatchObject([
    { rowId: 1, fate: 'sent', method: 'update', cells: [{ column: 'Photo', base: null, local: 'file:a.txt' }] },
    { rowId: 2, fate: 'unsendable', reason: 'there is no file of this name to attach' },
  ]);
  expect(fixture.rows('SELECT "column", local FROM sync_changes WHERE row_id = 1')).toEqual([
    { column: 'Photo', local: 'file:a.txt' },
  ]);
});
