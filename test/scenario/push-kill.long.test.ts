/**
 * A push that is killed between every two of its steps, in a process of its own. Afterwards the origin has each insert
 * once, no edit and no delete is lost, and the next push brings both sides together.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { PushStep } from '../../src/push/context.ts';
import { integrity, readOrigin, readReplica, withDatabase } from '../support/compare.ts';
import { codesOf, pushNow } from '../support/push.ts';
import { temporaryFolder, type Fixture } from '../support/replica.ts';
import { pushInChild } from '../support/push-process.ts';
import { captured, startTwoWay } from '../support/two-way.ts';

/** Every step, and the batch in which it comes; there are three or more batches of two rows. */
const STEPS: readonly (readonly [PushStep, number])[] = [
  ['identify', 1],
  ['describe', 1],
  ['plan', 1],
  ['plan', 2],
  ...(['reread', 'record', 'send', 'store', 'readBack', 'settle'] as const).flatMap((step) =>
    [1, 2].map((nth) => [step, nth] as const),
  ),
  ['finish', 1],
];

const CASES = STEPS.flatMap(([step, nth]) => ['Code', null].map((match) => [step, nth, match] as const));

/** Children that share it compile the program once. */
const cache = temporaryFolder();
afterAll(() => cache[Symbol.dispose]());

const EDITS = `
  UPDATE "Note" SET "Title" = 'edited ' || _id WHERE _id IN (1, 2);
  UPDATE "Note" SET "Code" = 'moved' WHERE _id = 4;
  INSERT INTO "Note" ("Title", "Code") VALUES ('new 1', 'n1'), ('new 2', 'n2');
  DELETE FROM "Note" WHERE _id = 3;`;

async function expectFinished(fixture: Fixture): Promise<void> {
  expect(integrity(fixture.path)).toBe('ok');
  fixture.restart();
  expect(codesOf(await pushNow(fixture, { confirm: true }))).toEqual([]);
  const titles = fixture.sandbox.store.rows('Note').map(({ values }) => values['Title']);
  expect(titles.map(String).toSorted()).toEqual([
    'edited 1',
    'edited 2',
    'new 1',
    'new 2',
    'title 4',
    'title 5',
    'title 6',
  ]);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(await captured(fixture)).toEqual([]);
  for (const table of ['sync_conflicts', 'sync_failures', '_rowsync_batches']) {
    expect(fixture.rows(`SELECT * FROM ${table}`)).toEqual([]);
  }
}

test.each(CASES)('cut off before %s (time %i, match %s), it is finished by the next one', async (step, nth, match) => {
  await using fixture = await startTwoWay({ editing: { match } });
  fixture.execute(EDITS);
  let left = nth;
  const before = (at: PushStep): void => {
    if (at === step) left -= 1;
    // From then on for every step: one batch may be settled while the next one is sent, and both end with the process.
    if (left <= 0) throw new Error('cut off');
  };

  const settings = { batchLimits: { rowsMax: 2, bytesMax: 100_000 } };
  await Promise.allSettled([pushNow(fixture, { confirm: true, before, settings })]);

  expect(left).toBeLessThanOrEqual(0);
  fixture.replica.close();
  await expectFinished(fixture);
});

test.each(STEPS.filter(([, nth]) => nth === 1))(
  'killed before %s, it is finished by the next one',
  async (step, nth) => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    fixture.execute(EDITS);
    fixture.replica.close();
    const { url, database, token } = fixture.sandbox;

    const job = { path: fixture.path, url, database, token, step, nth, batchRows: 2 };
    expect(await pushInChild(job, cache.path)).toBe('killed');

    await expectFinished(fixture);
  },
  30_000,
);

test.each(STEPS.filter(([, nth]) => nth === 1))(
  'killed before %s, an upload is finished by the next one with one revision at the origin',
  async (step, nth) => {
    await using fixture = await startTwoWay({ editing: { match: 'Code' } });
    const path = join(fixture.folder, 'photo.png');
    writeFileSync(path, 'picture');
    fixture.execute(`UPDATE "Note" SET "Photo" = 'file:${path}' WHERE _id IN (1, 2);
      INSERT INTO "Note" ("Title", "Photo") VALUES ('new', 'file:${path}');`);
    fixture.replica.close();
    const { url, database, token, store } = fixture.sandbox;

    const job = { path: fixture.path, url, database, token, step, nth, batchRows: 2 };
    expect(await pushInChild(job, cache.path)).toBe('killed');

    expect(integrity(fixture.path)).toBe('ok');
    fixture.restart();
    expect(codesOf(await pushNow(fixture, { confirm: true }))).toEqual([]);
    const revisions = withDatabase(store.path, (db) =>
      db.prepare('SELECT row_id, max(revision) FROM _sandbox_files GROUP BY row_id').raw().all(),
    );
    expect(revisions).toEqual([
      [1, 1],
      [2, 1],
      [7, 1],
    ]);
    expect(await captured(fixture)).toEqual([]);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
    for (const table of ['sync_conflicts', 'sync_failures', '_rowsync_batches']) {
      expect(fixture.rows(`SELECT * FROM ${table}`)).toEqual([]);
    }
  },
  30_000,
);

test('killed again while it looks up what an earlier one sent, it is finished all the same', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(EDITS);
  fixture.replica.close();
  const { url, database, token } = fixture.sandbox;
  const job = { path: fixture.path, url, database, token, batchRows: 500, nth: 1 };

  expect(await pushInChild({ ...job, step: 'store' }, cache.path)).toBe('killed');
  expect(await pushInChild({ ...job, step: 'lookUp' }, cache.path)).toBe('killed');
  expect(await pushInChild({ ...job, step: 'settle' }, cache.path)).toBe('killed');
  expect(await pushInChild({ ...job, step: 'settle' }, cache.path)).toBe('killed');

  await expectFinished(fixture);
}, 30_000);
