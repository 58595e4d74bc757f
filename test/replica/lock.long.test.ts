/** Who works on a replica where several begin in the same moment (I14). */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openReplica } from '../../src/replica/database.ts';
import { startPull } from '../support/pull-process.ts';
import { temporaryFolder } from '../support/replica.ts';

/** Opens the replica and keeps it open. */
const JOB = { url: 'http://127.0.0.1:9', database: '1', token: 'x', pageRows: 5, concurrency: 1, hold: true };

test('of ten processes that begin at once one works; the others are told to come back later, and the next gets in at once when it was killed', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'replica.db');
  const children = Array.from({ length: 10 }, () => startPull({ ...JOB, path }));
  await Promise.all(children.map((child) => child.said('ready')));
  const beginMs = Date.now() + 500;
  for (const child of children) child.go(beginMs);

  const opened = await Promise.allSettled(children.map((child) => child.said('open')));
  const [workers, others] = [true, false].map((isOpen) =>
    children.filter((_, index) => (opened[index]?.status === 'fulfilled') === isOpen),
  );
  const outcomes = await Promise.all((others ?? []).map(({ ended }) => ended));
  for (const worker of workers ?? []) worker.kill();
  await Promise.all((workers ?? []).map(({ ended }) => ended));
  const startedMs = performance.now();
  openReplica(path, { clock: systemClock }).close();
  const openingMs = performance.now() - startedMs;

  expect(outcomes).toEqual(Array.from({ length: 9 }, () => ({ codes: ['replica.inUse'], exitCode: 75 })));
  expect(workers).toHaveLength(1);
  expect(openingMs).toBeLessThan(1_000);
}, 120_000);
