/**
 * Pages for who has signed in, as the daemon hands them to its page process: what it asks, and what a person reads
 * where no page comes.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, ServerResponse } from 'node:http';
import { Socket, type AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Actions, DocumentRequest, Reply } from '../../../src/extras/http/actions.ts';
import { answerSignedIn, failureReply, isSignedInPath, streamWork } from '../../../src/extras/http/signed-in-pages.ts';
import { ChildFailure } from '../../../src/extras/shared/child-pool.ts';
import { PULL_BEGINNING } from '../../../src/pull/report.ts';
import type { WorkProgress } from '../../../src/extras/shared/work-log.ts';

const PAGE: Reply = { status: 200, type: 'text/html; charset=utf-8', body: 'the page' };
const BAR = { identity: null, formToken: 'token' };

/** Asks for a page; `answer` stands for the page process. */
async function ask(
  path: string,
  query: string,
  answer: (request: DocumentRequest) => Reply | Error = () => PAGE,
  leave = false,
) {
  const asked: DocumentRequest[] = [];
  const refreshed: (readonly string[])[] = [];
  const actions = {
    auth: () => ({ formToken: () => 'token' }),
    database: () => null,
    refresh: (tables: readonly string[]) => Promise.resolve(void refreshed.push(tables)),
    document: (request: DocumentRequest) => {
      asked.push(request);
      if (leave) response.emit('close');
      const answered = answer(request);
      return answered instanceof Error ? Promise.reject(answered) : Promise.resolve(answered);
    },
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only its end is waited for
  const response = new ServerResponse({ method: 'GET', socket: new Socket() } as unknown as IncomingMessage);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that is asked of them
  const reply = await answerSignedIn(response, { path, query }, actions as unknown as Actions);
  return { reply, asked, refreshed };
}

test.each([
  ['/browse', true],
  ['/browse/Note/1', true],
  ['/ask', true],
  ['/work', true],
  ['/edit/Note/1', true],
  ['/edits/Note', true],
  ['/file/1', true],
  ['/export/csv', true],
  ['/origin/Note/1', true],
  ['/', false],
  ['/browser', false],
  ['/status', false],
  ['/stale', false],
  ['/changes', false],
  ['//browse', false],
])('the path %s is one of these pages: %s', (path, expected) => {
  expect(isSignedInPath(path)).toBe(expected);
});

describe('a page', () => {
  test('is asked for as it came, with the time that it may take, and the reader sets the pace of a file', async () => {
    const page = await ask('/browse/Note', 'Title=a');
    const file = await ask('/file/1/save', '');

    expect(page.reply).toBe(PAGE);
    expect(page.asked).toMatchObject([
      { path: '/browse/Note', query: 'Title=a', said: null, msMax: 15_000, isStream: false },
    ]);
    expect(file.asked).toMatchObject([{ path: '/file/1/save', msMax: 600_000, isStream: true }]);
  });

  test('says what was done last, by a word of ours in its address and by no other text', async () => {
    const said = async (path: string, query: string) => (await ask(path, query)).asked[0]?.said;

    expect(await said('/', 'said=seen')).toContain('kept in sync_conflicts');
    expect(await said('/browse/Note', '_said=update')).toContain('Saved here.');
    expect(await said('/browse/Note', 'said=update')).toBe(null);
    expect(await said('/', 'said=You+won')).toBe(null);
  });

  test('that needs young tables has them read first; they are asked for by name, and only where a query and an age are given', async () => {
    const stale = (request: DocumentRequest): Reply =>
      request.path === '/stale' ? { ...PAGE, body: '["Note","Other"]' } : PAGE;

    const asked = await ask('/ask', 'sql=SELECT+1&fresh=10m', stale);
    const exported = await ask('/export/csv', 'sql=SELECT+1&fresh=10m', stale);
    const plain = await ask('/ask', 'sql=SELECT+1&fresh=', stale);
    const table = await ask('/browse/Note', 'sql=SELECT+1&fresh=10m', stale);

    expect(asked.asked.map(({ path }) => path)).toEqual(['/stale', '/ask']);
    expect(asked.refreshed).toEqual([['Note', 'Other']]);
    expect(exported.refreshed).toEqual([['Note', 'Other']]);
    expect([...plain.refreshed, ...table.refreshed]).toEqual([]);
  });

  test('is answered without a reading where the process refuses to say which tables are too old', async () => {
    const { reply, refreshed } = await ask('/ask', 'sql=nix&fresh=10m', ({ path }) =>
      path === '/stale' ? { ...PAGE, status: 400, body: '<html>' } : PAGE,
    );

    expect(reply).toBe(PAGE);
    expect(refreshed).toEqual([]);
  });
});

describe('where no page comes', () => {
  test.each([
    ['late', 'It took longer than 15 seconds'],
    ['ended', 'The page could not be made'],
    ['closed', 'The daemon is stopping'],
  ] as const)('since the process was %s, a page says so', async (reason, words) => {
    const { reply } = await ask('/browse/Note', '', () => new ChildFailure(reason));

    expect(reply.status).toBe(503);
    expect(reply.body).toContain(words);
    expect(reply.body).toContain('<nav aria-label="Pages">');
  });

  test('the question of a person comes back with what he typed', async () => {
    const { reply, asked } = await ask('/ask', 'sql=SELECT+1', ({ refused }) =>
      refused === undefined ? new ChildFailure('late') : { ...PAGE, body: refused.words },
    );

    expect(asked.map(({ query }) => query)).toEqual(['sql=SELECT+1', 'sql=SELECT+1']);
    expect(reply.status).toBe(503);
    expect(reply.body).toContain('It took longer than 15 seconds and was stopped. Ask for less');
  });

  test('and the question cannot come back either, the plain page says so', async () => {
    const { reply, asked } = await ask('/ask', 'sql=SELECT+1', () => new ChildFailure('ended'));

    expect(asked).toHaveLength(2);
    expect(reply.body).toContain('The page could not be made');
  });

  test('and nobody waits any more, nothing more is asked', async () => {
    const { asked } = await ask('/ask', 'sql=SELECT+1', () => new ChildFailure('unwanted'), true);

    expect(asked).toHaveLength(1);
    expect(asked[0]?.signal?.aborted).toBe(true);
  });

  test('for a reason that no one foresaw, the server hears of it', async () => {
    await expect(ask('/browse', '', () => new TypeError('a defect'))).rejects.toThrow('a defect');
    expect(() => failureReply(new TypeError('a defect'), BAR)).toThrow('a defect');
    expect(failureReply(new ChildFailure('closed'), BAR).status).toBe(503);
  });
});

test('browsers that watch get the progress at once and with each step, and the ninth takes the place of the first', async () => {
  const listeners = new Set<() => void>();
  let progress: WorkProgress | null = null;
  const view = {
    progress: () => progress,
    onWork: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const closed: Promise<unknown>[] = [];
  const server = createServer((_request, response) => {
    closed.push(once(response, 'close'));
    streamWork(response, view);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const watch = async () => {
    const answer = await fetch(url);
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    return { answer, next: async () => (await reader?.read())?.value ?? null };
  };

  const first = await watch();
  expect(first.answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(await first.next()).toBe('data: null\n\n');
  progress = { work: 'pull', startedAtMs: 1, ...PULL_BEGINNING };
  for (const listener of listeners) listener();
  expect(JSON.parse((await first.next())?.slice(6) ?? '')).toEqual(progress);

  const others = [];
  for (let count = 0; count < 8; count += 1) others.push(await watch());
  expect(await first.next()).toBe(null);
  for (const other of others) expect(await other.next()).toContain('"work":"pull"');

  server.closeAllConnections();
  await Promise.all([...closed, new Promise((resolve) => void server.close(resolve))]);
  expect(listeners.size).toBe(0);
});
