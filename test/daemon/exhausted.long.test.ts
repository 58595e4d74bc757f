/**
 * A service that has no memory left, as under MemoryMax of its unit: a control group of the kernel bounds the daemon and the processes that make its
 * pages. Skipped where this process cannot make one.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { makeWorkspace } from '../support/child.ts';
import { startDaemonProcess } from '../support/daemon-process.ts';
import { ask } from '../support/http.ts';
import { postOf } from '../support/page.ts';
import { startTestSandbox } from '../support/sandbox.ts';
import { NOTE } from '../support/two-way.ts';

vi.setConfig({ testTimeout: 120_000 });

/** Enough for the daemon and a small page, but not for two large queries. */
const BYTES_MAX = 110 * 1024 * 1024;
/** Sorts for some 40 MB of memory. */
const SORT = `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 200000)
  SELECT sum(length(v)) FROM (SELECT hex(randomblob(50)) AS v FROM c ORDER BY v)`;

/** A control group with a bound of memory; null where none can be made. */
function makeGroup(name: string): string | null {
  const [parent, limit] = existsSync('/sys/fs/cgroup/memory/cgroup.procs')
    ? ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes']
    : ['/sys/fs/cgroup', 'memory.max'];
  const group = join(parent, name);
  try {
    mkdirSync(group);
  } catch {
    return null;
  }
  try {
    writeFileSync(join(group, limit), String(BYTES_MAX));
    return group;
  } catch {
    rmdirSync(group);
    return null;
  }
}

const group = makeGroup(`rowsync-test-${process.pid}`);

test.skipIf(group === null)('pages that need more memory than there is are ended, and the daemon goes on', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  const daemon = startDaemonProcess(workspace.folder);
  let port = 0;
  await daemon.logged('http.listening', 1, ({ path }) => (port = Number(String(path).split(':').at(-1))) > 0);
  await daemon.logged('work.finished');
  writeFileSync(join(group ?? '', 'cgroup.procs'), String(daemon.process.pid));
  const key = readFileSync(join(workspace.folder, 'replica.db.page-key'), 'utf8').trim();
  const { headers } = await ask({ port }, '/sign-in', postOf({ key }, port));
  const Cookie = (headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
  const get = async (path: string): Promise<number> => (await ask({ port }, path, { headers: { Cookie } })).status;
  const sort = `/ask?${new URLSearchParams({ sql: SORT }).toString()}`;

  const before = await get('/browse');
  const sorted = await Promise.all([get(sort), get(sort)]);
  const after = [await get('/browse'), await get('/livez'), daemon.process.exitCode];
  daemon.process.kill('SIGTERM');
  const end = await daemon.ended;
  await vi.waitFor(() => rmdirSync(group ?? '')); // the page process ends with its channel

  expect(before).toBe(200);
  expect(sorted).toContain(503);
  expect([after, end]).toEqual([[200, 200, null], 0]);
});
