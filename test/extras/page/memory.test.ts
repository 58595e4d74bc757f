/**
 * The memory that the daemon and its page processes take together, against what the systemd unit allows.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SQLITE_BYTES_MAX } from '../../../src/extras/page/ask.ts';
import { HEAP_MIB_MAX } from '../../../src/extras/shared/child-pool.ts';
import { PROCESSES_MAX } from '../../../src/extras/http/endpoints.ts';
import { PROCESS_MIB_MAX } from '../../../src/extras/shared/child-process.ts';
import { temporaryFolder } from '../../support/replica.ts';

const MIB = 1024 * 1024;

test('all page processes at their bounds and the daemon at work fit into the unit', () => {
  const unit = readFileSync('systemd/rowsync@.service', 'utf8');
  const unitMiB = 1024 * Number(/^MemoryMax=(\d+)G$/m.exec(unit)?.[1]);
  const nodeMiB = 45;
  // As docs/performance.md has it: the peak of a first pull.
  const daemonMiB = 165;
  const processCount = PROCESSES_MAX.pages + PROCESSES_MAX.streams;

  expect(nodeMiB + HEAP_MIB_MAX + SQLITE_BYTES_MAX / MIB).toBeLessThan(PROCESS_MIB_MAX);
  expect(daemonMiB + processCount * PROCESS_MIB_MAX).toBeLessThan(0.8 * unitMiB);
  expect(unit).toMatch(/^OOMPolicy=continue$/m);
});

/**
 * A page process with the heap of the daemon, as the single executable has it, whose answer keeps more and more. It
 * takes five seconds to the end of that heap, where V8 aborts: on a busy machine the thread that looks out may not run
 * for one of them.
 */
const GREEDY = `
const { serveQuestions } = await import(process.argv[2]);
const pause = new Int32Array(new SharedArrayBuffer(4));
serveQuestions(() => {
  for (const kept = []; ; Atomics.wait(pause, 0, 0, 2)) kept.push(new Array(50_000).fill(0.5));
});
`;

test('a page process with a large heap is ended at its bound', async () => {
  using folder = temporaryFolder();
  const greedy = join(folder.path, 'greedy.mjs');
  writeFileSync(greedy, GREEDY);
  const program = new URL('../../../src/extras/shared/child-process.ts', import.meta.url).href;
  const child = spawn(process.execPath, ['--max-old-space-size=1024', greedy, program], {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  child.send({ kind: 'ask', request: null });

  expect(await ended).toEqual([null, 'SIGKILL']);
});
