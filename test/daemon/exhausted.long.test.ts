/**
 * A service that has no memory left, as under MemoryMax of its unit: a control group of the kernel bounds the daemon
 * and the processes that make its pages. Skipped where this process cannot make one.
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

/** What a small page may still need, which is less than the sort does. */
const BYTES_LEFT = 24 * 1024 * 1024;
/** Sorts for some 40 MB of memory. */
const SORT = `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 200000)
  SELECT sum(length(v)) FROM (SELECT hex(randomblob(50)) AS v FROM c ORDER BY v)`;

const [PARENT, LIMIT, USAGE] = existsSync('/sys/fs/cgroup/memory/cgroup.procs')
  ? ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes', 'memory.usage_in_bytes']
  : ['/sys/fs/cgroup', 'memory.max', 'memory.current'];

/** A control group whose memory can be bounded; null where none can be made. */
function makeGroup(name: string): string | null {
  const folder = join(PARENT, name);
  try {
    mkdirSync(folder);
  } catch {
    return null;
  }
  if (existsSync(join(folder, LIMIT))) return folder;
  rmdirSync(folder);
  return null;
}

/** Bounds a group to what it uses and a little more. */
function boundGroup(folder: string): void {
  const bytes = Number(readFileSync(join(folder, USAGE), 'utf8'));
  writeFileSync(join(folder, LIMIT), String(bytes + BYTES_LEFT));
}

const group = makeGroup(`rowsync-test-${process.pid}`);

test.skipIf(group === null)('pages that need more memory than there is are ended, and the daemon goes on', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  using workspace = makeWorkspace(sandbox, 'http: { listen: "127.0.0.1:0" }\n');
  // From its start, or the kernel would count memory of the daemon that the bound leaves out, and end it for that.
  const through = ['sh', '-c', `echo $$ > ${join(group ?? '', 'cgroup.procs')} && exec "$@"`, 'sh'];
  const daemon = startDaemonProcess(workspace.folder, { through });
  let port = 0;
  await daemon.logged('http.listening', 1, ({ path }) => (port = Number(String(path).split(':').at(-1))) > 0);
  await daemon.logged('work.finished');
  const key = readFileSync(join(workspace.folder, 'replica.db.page-key'), 'utf8').trim();
  const { headers } = await ask({ port }, '/sign-in', postOf({ key }, port));
  const Cookie = (headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
  const get = async (path: string): Promise<number> => (await ask({ port }, path, { headers: { Cookie } })).status;
  const sort = `/ask?${new URLSearchParams({ sql: SORT }).toString()}`;

  const before = await get('/browse');
  boundGroup(group ?? '');
  const sorted = await Promise.all([get(sort), get(sort)]);
  const after = [await get('/browse'), await get('/livez'), daemon.process.exitCode];
  daemon.process.kill('SIGTERM');
  const end = await daemon.ended;
  await vi.waitFor(() => rmdirSync(group ?? '')); // the page process ends with its channel

  expect(before).toBe(200);
  expect(sorted).toContain(503);
  expect([after, end]).toEqual([[200, 200, null], 0]);
});
