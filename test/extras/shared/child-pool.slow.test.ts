/**
 * The page process: work that takes too long or is no longer wanted is ended, the next request is answered, and files
 * of the store never have a type that a browser executes.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pictureType } from '../../../src/extras/page/routes.ts';
import { ChildPool } from '../../../src/extras/shared/child-pool.ts';
import { PAGE_PROCESS, type PageRequest } from '../../../src/extras/page/request.ts';
import { requestOf } from '../../support/page-request.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';

const ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';

const never = new AbortController().signal;

test('a query that never ends is interrupted at its limit, and the next question is answered', async () => {
  await using fixture = await startFixture({ tables: [] });
  const { path } = fixture.replica;
  const host = new ChildPool<PageRequest>(2, PAGE_PROCESS);
  try {
    const endless = requestOf(path, '/ask', new URLSearchParams({ sql: ENDLESS }).toString());

    await expect(host.ask(endless, { msMax: 1_500, signal: never })).rejects.toMatchObject({ reason: 'late' });
    const next = await host.ask(requestOf(path, '/browse'), { msMax: 60_000, signal: never });

    expect([next.status, (await text(next.body)).includes('No tables yet')]).toEqual([200, true]);
  } finally {
    host.close();
  }
});

test('a query that nobody waits for any more is interrupted', async () => {
  await using fixture = await startFixture({ tables: [] });
  const host = new ChildPool<PageRequest>(2, PAGE_PROCESS);
  try {
    const gone = new AbortController();
    const endless = requestOf(fixture.replica.path, '/ask', new URLSearchParams({ sql: ENDLESS }).toString());
    const asked = host.ask(endless, { msMax: 60_000, signal: gone.signal });
    gone.abort();

    await expect(asked).rejects.toMatchObject({ name: 'Error' });
  } finally {
    host.close();
  }
});

test('more questions than processes are answered one after the other', async () => {
  await using fixture = await startFixture({ tables: [] });
  const host = new ChildPool<PageRequest>(2, PAGE_PROCESS);
  try {
    const asked = Array.from({ length: 9 }, async () => {
      const { body } = await host.ask(requestOf(fixture.replica.path, '/browse'), { msMax: 60_000, signal: never });
      return (await text(body)).includes('No tables yet');
    });

    expect(await Promise.all(asked)).toEqual(Array.from({ length: 9 }, () => true));
  } finally {
    host.close();
  }
});

test('a process that answers many questions remembers none of them', async () => {
  await using fixture = await startFixture({ tables: [] });
  const host = new ChildPool<PageRequest>(1, PAGE_PROCESS);
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', note);
  try {
    for (let count = 0; count < 15; count += 1) {
      const { body } = await host.ask(requestOf(fixture.replica.path, '/browse'), { msMax: 60_000, signal: never });
      expect(await text(body)).toContain('No tables yet');
    }

    expect(warnings).toEqual([]);
  } finally {
    process.off('warning', note);
    host.close();
  }
});

test('a process that cannot be started keeps no place from the next question', async () => {
  await using fixture = await startFixture({ tables: [] });
  const host = new ChildPool<PageRequest>(1, PAGE_PROCESS);
  const { execPath } = process;
  const question = requestOf(fixture.replica.path, '/browse');
  try {
    process.execPath = '/nowhere/node';
    const failed = host.ask(question, { msMax: 60_000, signal: never });
    await expect(failed).rejects.toMatchObject({ reason: 'ended' });
    process.execPath = execPath;

    const { status, body } = await host.ask(question, { msMax: 60_000, signal: never });
    await text(body);

    expect(status).toBe(200);
  } finally {
    process.execPath = execPath;
    host.close();
  }
});

test('where the system refuses to start a process at all, the question fails at once', async () => {
  const host = new ChildPool<PageRequest>(1, PAGE_PROCESS);
  const { execPath } = process;
  try {
    process.execPath = '/nowhere\0node';

    await expect(host.ask(requestOf('/r.db', '/browse'), { msMax: 60_000, signal: never })).rejects.toMatchObject({
      reason: 'ended',
    });
  } finally {
    process.execPath = execPath;
    host.close();
  }
});

test('an answer that nobody reads makes room for the next question at its time limit', async () => {
  await using fixture = await startFixture({ tables: [] });
  const host = new ChildPool<PageRequest>(1, PAGE_PROCESS);
  const question = requestOf(fixture.replica.path, '/browse');
  try {
    const unread = await host.ask(question, { msMax: 4_000, signal: never });
    const { status, body } = await host.ask(question, { msMax: 60_000, signal: never });
    await text(body);

    expect([unread.status, status]).toEqual([200, 200]);
  } finally {
    host.close();
  }
});

test('a question that is taken back while it waits ends as unwanted, and the one behind it is answered', async () => {
  await using fixture = await startFixture({ tables: [] });
  const host = new ChildPool<PageRequest>(1, PAGE_PROCESS);
  const [running, waiting] = [new AbortController(), new AbortController()];
  const endless = requestOf(fixture.replica.path, '/ask', new URLSearchParams({ sql: ENDLESS }).toString());
  const question = requestOf(fixture.replica.path, '/browse');
  try {
    const first = host.ask(endless, { msMax: 60_000, signal: running.signal });
    const second = host.ask(question, { msMax: 60_000, signal: waiting.signal });
    const third = host.ask(question, { msMax: 60_000, signal: never });
    waiting.abort();
    await expect(second).rejects.toMatchObject({ reason: 'unwanted' });
    running.abort();
    await expect(first).rejects.toMatchObject({ reason: 'unwanted' });

    const { status, body } = await third;
    await text(body);

    expect(status).toBe(200);
  } finally {
    host.close();
  }
});

test.runIf(process.platform === 'linux')(
  'a page process is what the system ends first where memory runs out, and has nothing of the environment but where compiled code is kept',
  async () => {
    await using fixture = await startFixture({ tables: [] });
    const host = new ChildPool<PageRequest>(2, PAGE_PROCESS);
    try {
      const { body } = await host.ask(requestOf(fixture.replica.path, '/browse'), { msMax: 60_000, signal: never });
      await text(body);

      const children = readdirSync('/proc').filter((pid) => {
        const words = existsSync(`/proc/${pid}/cmdline`)
          ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
          : [];
        return words.at(-2) === PAGE_PROCESS && parentOf(pid) === process.pid;
      });
      expect(children.map((pid) => readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8'))).toEqual(['1000\n']);
      const names = children.flatMap((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').slice(0, -1));
      expect(names.map((pair) => pair.slice(0, pair.indexOf('='))).toSorted()).toEqual([
        'NODE_CHANNEL_FD',
        'NODE_CHANNEL_SERIALIZATION_MODE',
        ...(getCompileCacheDir() === undefined ? [] : ['NODE_COMPILE_CACHE']),
        'UV_THREADPOOL_SIZE',
      ]);
    } finally {
      host.close();
    }
  },
);

function parentOf(pid: string): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

test('what is no replica is said in words', async () => {
  const host = new ChildPool<PageRequest>(2, PAGE_PROCESS);
  try {
    const { status, body } = await host.ask(requestOf('/nowhere/replica.db', '/browse'), {
      msMax: 60_000,
      signal: never,
    });

    expect(status).toBe(503);
    expect(await text(body)).toContain('There is no replica at /nowhere/replica.db yet');
  } finally {
    host.close();
  }
});

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const HTML = Buffer.from('<script>alert(1)</script>');

describe('files of the store come as what they are, never as what a browser runs', () => {
  const sha256 = 'ab'.repeat(32);
  const outside = 'cd'.repeat(32);
  let fixture: Fixture;
  let host: ChildPool<PageRequest>;

  const ask = (path: string): ReturnType<typeof host.ask> =>
    host.ask(requestOf(fixture.replica.path, path), { msMax: 60_000, signal: never });

  beforeAll(async () => {
    fixture = await startFixture({ tables: [] });
    host = new ChildPool<PageRequest>(2, PAGE_PROCESS);
    const folder = join(fixture.replica.path, '..', 'files');
    for (const shard of ['ab', 'cd']) mkdirSync(join(folder, shard), { recursive: true });
    symlinkSync('/etc/passwd', join(folder, 'cd', outside));
    fixture.execute(`INSERT INTO _rowsync_files (id, table_id, column_id, row_id, table_name, column_name, revision, guid, name, type, sha256, state)
      VALUES (7, 1, 1, 1, 'T', 'C', 1, 'g', '../x".html', 'image/png', '${sha256}', 'here'),
             (8, 1, 1, 2, 'T', 'C', 1, 'h', 'x', 'image/png', '../../etc/passwd', 'here'),
             (9, 1, 1, 3, 'T', 'C', 1, 'i', 'x', 'image/png', '${outside}', 'here')`);
  });

  afterAll(async () => {
    host.close();
    await fixture[Symbol.asyncDispose]();
  });

  test.each([
    ['a picture', PNG, '', 'image/png', 'inline'],
    ['a page that calls itself a picture', HTML, '', 'application/octet-stream', 'attachment'],
    ['a picture to keep', PNG, '/save', 'application/octet-stream', 'attachment'],
    ['a page as text', HTML, '/text', 'text/html; charset=utf-8', undefined],
  ])('%s', async (_what, content, how, type, disposition) => {
    writeFileSync(join(fixture.replica.path, '..', 'files', 'ab', sha256), content);

    const answer = await ask(`/file/7${how}`);
    const body = await text(answer.body);

    expect(answer.type).toBe(type);
    expect(answer.headers['Content-Disposition']?.split(';')[0]).toBe(disposition);
    expect(answer.headers['Content-Disposition'] ?? '').not.toMatch(/[\\/]/);
    expect(body.includes('&lt;script&gt;')).toBe(how === '/text');
  });

  test.each([8, 9, 10])('file %i, which is outside of the store or nowhere, is not there', async (id) => {
    const { status, body } = await ask(`/file/${id}`);
    await body.return();

    expect(status).toBe(404);
  });
});

test.each([
  ['png', '89504e470d0a1a0a', 'image/png'],
  ['jpeg', 'ffd8ffe0', 'image/jpeg'],
  ['gif', '474946383961', 'image/gif'],
  ['webp', '524946460000000057454250', 'image/webp'],
  ['svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('hex'), null],
  ['nothing', '', null],
])('the bytes of %s', (_name, hex, type) => {
  expect(pictureType(Buffer.from(hex, 'hex'))).toBe(type);
});
