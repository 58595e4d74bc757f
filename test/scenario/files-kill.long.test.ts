/**
 * `kill -9` in the middle of downloads, while colleagues attach more. Each child continues with what its predecessor
 * left. Whatever moment the kill hits, a file that the database names is whole, and no half file stands under a final
 * name. In the end every revision is here.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Random } from '../../src/sandbox/data/random.ts';
import type { TableSpec } from '../../src/sandbox/store/spec.ts';
import { integrity, withDatabase } from '../support/compare.ts';
import { fileOf, storeProblems, type SyncFile } from '../support/files.ts';
import { startPull, type PullProcess } from '../support/pull-process.ts';
import { temporaryFolder } from '../support/replica.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { newSeed } from '../support/seeds.ts';

const KILLS = 30;
const ROWS = 40;
/** Requests for files after which a child is killed at the latest. */
const KILL_REQUESTS_MAX = 12;
/** A kill comes while bytes arrive, are synced, renamed and noted. */
const KILL_DELAY_MS_MAX = 12;
const RUN_MS_MAX = 180_000;

const seed = newSeed();
const random = new Random(seed);

/** A file with content of its own, now and then one that takes a while to write. */
function anyFile(name: string): ReturnType<typeof fileOf> {
  return fileOf(`${name}.bin`, random.chance(0.2) ? random.integer(300_000, 900_000) : random.integer(0, 20_000));
}

test(
  `ends with every revision here, and never names a half file, over ${KILLS} kills (seed ${seed})`,
  async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, 'replica.db');
    const store = join(folder.path, 'files');
    const columns = [{ name: 'Cover', type: 'Attachment', options: ['AllowSeeRevisionHistory'] }];
    const rows = Array.from({ length: ROWS }, (_, index) => ({ Cover: anyFile(`${index}`) }));
    const album: TableSpec = { name: 'Album', columns, rows, createdFromMs: Date.UTC(2026, 0, 1) };
    let left = Number.POSITIVE_INFINITY;
    let reached: () => void = () => undefined;
    await using sandbox = await startTestSandbox({
      tables: [album],
      latencyMs: 1,
      intercept: ({ method }) => {
        if (method === 'attachment' && (left -= 1) <= 0) reached();
        return false;
      },
    });
    const files = (): readonly SyncFile[] =>
      withDatabase(path, (db) => db.prepare<[], SyncFile>('SELECT * FROM sync_files').all());
    const start = (): PullProcess => {
      const { url, database, token } = sandbox;
      const job = { path, url, database, token, pageRows: 500, concurrency: 3, hold: false, filesFolder: store };
      return startPull(job, join(folder.path, 'cache'));
    };
    const problems: string[] = [];
    let next = start();
    for (let killed = 0; killed < KILLS;) {
      const child = next;
      next = start(); // loading the program takes longer than what is killed
      await child.said('ready');
      const requested = new Promise<void>((resolve) => {
        left = random.integer(1, KILL_REQUESTS_MAX);
        reached = resolve;
      });
      child.go();
      await Promise.race([requested, child.ended]);
      await wait(random.integer(0, KILL_DELAY_MS_MAX));
      child.kill();
      const outcome = await child.ended;
      if (outcome === null) killed += 1;
      problems.push(...(outcome?.codes ?? []), ...(existsSync(path) ? storeProblems(files(), store) : []));
      for (let count = 0; count < 4; count += 1) {
        const id = random.integer(1, ROWS);
        sandbox.store.update('Album', id, { Cover: anyFile(`${id}-${killed}-${count}`) });
      }
    }
    await next.said('ready');
    next.go();
    const last = await next.ended;

    expect(problems).toEqual([]);
    expect(last?.codes).toEqual([]);
    expect(integrity(path)).toBe('ok');
    expect(files().filter(({ state }) => state !== 'here')).toEqual([]);
    expect(files()).toHaveLength(sandbox.store.ids('Album').length + revisionsBeyondTheFirst(files()));
    expect(storeProblems(files(), store)).toEqual([]);
  },
  RUN_MS_MAX,
);

/** How many revisions there must be beside the first of each row: numbers count up without a gap. */
function revisionsBeyondTheFirst(files: readonly SyncFile[]): number {
  const highest = new Map<number, number>();
  for (const { row_id: row, revision } of files) highest.set(row, Math.max(highest.get(row) ?? 1, revision ?? 1));
  return [...highest.values()].reduce((sum, revision) => sum + revision - 1, 0);
}
