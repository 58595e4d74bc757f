/**
 * Files that are attached while the push is killed again and again at random. Afterwards the origin has every file
 * once, under the row that it was meant for, and nothing is left to do.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { PushStep } from '../../src/push/context.ts';
import { Random } from '../../src/sandbox/data/random.ts';
import { integrity, withDatabase } from '../support/compare.ts';
import { codesOf, pushNow } from '../support/push.ts';
import { pushInChild } from '../support/push-process.ts';
import { temporaryFolder } from '../support/replica.ts';
import { newSeed } from '../support/seeds.ts';
import { captured, NOTE, startTwoWay } from '../support/two-way.ts';

const KILL_COUNT = 30;
/** More than so many pushes finish, at two batches of two rows each. */
const ROW_COUNT = 150;
const STEPS: readonly PushStep[] = ['reread', 'record', 'send', 'store', 'readBack', 'settle'];
const seed = newSeed();

/** Children that share it compile the program once. */
const cache = temporaryFolder();
afterAll(() => cache[Symbol.dispose]());

test(`killed ${KILL_COUNT} times at random, every file is at the origin once (seed ${seed})`, async () => {
  const random = new Random(seed);
  const rows = Array.from({ length: ROW_COUNT }, (_, index) => ({ Title: `title ${index}`, Code: `c${index}` }));
  await using fixture = await startTwoWay({ tables: [{ ...NOTE, rows }], editing: { match: 'Code' } });
  const { url, database, token, store } = fixture.sandbox;
  const content = (id: number): Buffer => Buffer.alloc(2000, `file of row ${id} `);
  for (let id = 1; id <= ROW_COUNT; id += 1) writeFileSync(join(fixture.folder, `${id}.bin`), content(id));
  fixture.execute(`UPDATE "Note" SET "Photo" = 'file:${fixture.folder}/' || _id || '.bin'`);
  fixture.replica.close();
  let killedCount = 0;

  for (let round = 0; round < KILL_COUNT; round += 1) {
    const job = { path: fixture.path, url, database, token, step: random.pick(STEPS), nth: random.integer(1, 2) };
    if ((await pushInChild({ ...job, batchRows: 2 }, cache.path)) === 'killed') killedCount += 1;
  }
  fixture.restart();
  const codes = codesOf(await pushNow(fixture, { confirm: true }));

  expect(killedCount).toBe(KILL_COUNT);
  expect(codes).toEqual([]);
  expect(integrity(fixture.path)).toBe('ok');
  expect(await captured(fixture)).toEqual([]);
  const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
  const files = withDatabase(store.path, (db) =>
    db
      .prepare<[], [number, number, Buffer]>('SELECT row_id, revision, bytes FROM _sandbox_files ORDER BY 1, 2')
      .raw()
      .all(),
  );
  expect(files.map(([id, revision, bytes]) => [id, revision, hash(bytes)])).toEqual(
    rows.map((_, index) => [index + 1, 1, hash(content(index + 1))]),
  );
  expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
}, 240_000);
