/**
 * The feed `/changes` of a running daemon: who may read it, that every entry comes once and in order behind a number,
 * as work goes on, and that it ends with the daemon.
 */
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { Feeds } from '../../../src/extras/http/feed.ts';
import { openPageAuth } from '../../../src/extras/http/page-key.ts';
import { testClock } from '../../support/clock.ts';
import { startDaemon, type TestDaemon } from '../../support/daemon.ts';
import { ask, portOf } from '../../support/http.ts';
import { keyOf, postOf, signIn } from '../../support/page.ts';
import { startTestSandbox, type TestSandbox } from '../../support/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

const YAML = 'http: { listen: "127.0.0.1:0" }\ntables: { "*": { history: true } }\n';

interface Feeding {
  readonly sandbox: TestSandbox;
  readonly daemon: TestDaemon;
  readonly port: number;
  readonly key: string;
  [Symbol.asyncDispose](): Promise<void>;
}

async function startFeeding(): Promise<Feeding> {
  const sandbox = await startTestSandbox({ tables: [NOTE] });
  const daemon = startDaemon(sandbox, YAML);
  await daemon.idle();
  return {
    sandbox,
    daemon,
    port: portOf(daemon),
    key: keyOf(daemon),
    [Symbol.asyncDispose]: async () => {
      await daemon[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

interface Event {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
}

/** An open feed. */
interface Feed {
  /** Resolves with all events so far once there are that many. */
  events(count: number): Promise<readonly Event[]>;
  /** Resolves with whether the answer ended as a whole. */
  readonly end: Promise<boolean>;
  leave(): void;
}

function openFeed({ port, key }: Feeding, path: string, headers: Record<string, string> = {}): Feed {
  let text = '';
  let look: () => void = () => undefined;
  const asked = httpRequest({ host: '127.0.0.1', port, path, headers: { Authorization: `Bearer ${key}`, ...headers } });
  const end = new Promise<boolean>((resolve) => {
    asked.on('error', () => resolve(false));
    asked.on('response', (response) => {
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        look();
      });
      response.on('error', () => resolve(false));
      response.on('close', () => resolve(response.complete));
    });
  });
  asked.end();
  const parsed = (): readonly Event[] =>
    [...text.matchAll(/^id: (\d+)\ndata: (.*)\n\n/gm)].map(([, , json = '']) => JSON.parse(json) as Event);
  return {
    end,
    leave: () => void asked.destroy(),
    events: (count) =>
      new Promise((resolve) => {
        look = () => {
          if (parsed().length >= count) resolve(parsed());
        };
        look();
      }),
  };
}

test('the feed has every entry in order, what comes while it is open, and ends with the daemon', async () => {
  await using feeding = await startFeeding();
  const { sandbox, daemon } = feeding;
  const feed = openFeed(feeding, '/changes?after=0');
  const first = await feed.events(1);

  sandbox.store.update('Note', 2, { Title: 'theirs' });
  sandbox.store.delete('Note', 5);
  await daemon.elapse(6);
  const all = await feed.events(3);
  await daemon.stop();

  expect(first).toMatchObject([{ id: '1', type: 'rowsync.history.begin', subject: 'Note' }]);
  expect(all.map(({ id, type, subject }) => [id, type, subject])).toEqual([
    ['1', 'rowsync.history.begin', 'Note'],
    ['2', 'rowsync.row.updated', 'Note/2'],
    ['3', 'rowsync.row.deleted', 'Note/5'],
  ]);
  expect(await feed.end).toBe(true);
});

test('who comes back gets what is behind the last event that it has', async () => {
  await using feeding = await startFeeding();
  feeding.sandbox.store.update('Note', 2, { Title: 'theirs' });
  await feeding.daemon.elapse(6);

  const feed = openFeed(feeding, '/changes?after=0', { 'Last-Event-ID': '1' });
  const events = await feed.events(1);
  feed.leave();

  expect(events.map(({ id }) => id)).toEqual(['2']);
});

test('the feed is for who has signed in or shows the key, from a number that the journal has reached', async () => {
  await using feeding = await startFeeding();
  const { daemon, port, key } = feeding;
  const { cookie } = await signIn(daemon);
  const shown = { Authorization: `Bearer ${key}` };

  const answers = [
    await ask({ port }, '/changes?after=0'),
    await ask({ port }, '/changes?after=0', { headers: { Authorization: `Bearer ${key}x` } }),
    await ask({ port }, '/changes?after=0', { headers: { ...shown, 'Sec-Fetch-Site': 'cross-site' } }),
    await ask({ port }, '/changes', { headers: shown }),
    await ask({ port }, '/changes?after=-1', { headers: shown }),
    await ask({ port }, '/changes?after=2', { headers: shown }),
    await ask({ port }, '/changes?after=0', { method: 'HEAD', headers: { Cookie: cookie } }),
  ];

  expect(answers.map(({ status }) => status)).toEqual([401, 401, 403, 400, 400, 409, 200]);
  expect(answers[5]?.body).toContain('The history ends at 1, before 2.');
  expect(answers[6]?.headers['content-type']).toBe('text/event-stream; charset=utf-8');
});

test('readers beyond the eighth are told so, and one that leaves makes room', async () => {
  await using feeding = await startFeeding();
  const { port, key } = feeding;
  const headers = { Authorization: `Bearer ${key}` };
  const feeds = Array.from({ length: 8 }, () => openFeed(feeding, '/changes?after=0'));
  for (const feed of feeds) await feed.events(1);

  const ninth = await ask({ port }, '/changes?after=0', { headers });
  feeds[0]?.leave();
  let { status } = ninth;
  while (status === 503) ({ status } = await ask({ port }, '/changes?after=0', { method: 'HEAD', headers }));

  expect(ninth.body).toBe('8 readers are connected already\n');
  expect(status).toBe(200);
});

test('a feed ends with the session of its reader, before another event', async () => {
  await using feeding = await startFeeding();
  const { sandbox, daemon, port } = feeding;
  const person = await signIn(daemon);
  const feed = openFeed(feeding, '/changes?after=0', { Authorization: '', Cookie: person.cookie });
  await feed.events(1);

  const { headers } = await ask(
    { port },
    '/sign-out',
    postOf({ token: person.token }, port, { Cookie: person.cookie }),
  );
  sandbox.store.update('Note', 2, { Title: 'theirs' });
  await daemon.elapse(6);

  expect(headers['set-cookie']?.[0]).toContain('Max-Age=0');
  expect(await feed.end).toBe(true);
  expect(await feed.events(1)).toHaveLength(1);
});

test('a reader is told that it is still connected while nothing happens', async () => {
  const auth = openPageAuth('key', testClock());
  const document = () => Promise.resolve({ status: 200, type: '', body: (async function* () {})() });
  const view = { auth: () => auth, document, lastChange: () => 7, onWork: () => () => undefined };
  const feeds = new Feeds(view, { heartbeatMs: 1 });
  const server = createServer((request, response) => void feeds.answer(request, response, 'after=7'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const asked = httpRequest({ host: '127.0.0.1', port, headers: { Authorization: 'Bearer key' } }).end();
    const [response] = (await once(asked, 'response')) as [AsyncIterable<Buffer>];
    let text = '';
    for await (const chunk of response) {
      text += String(chunk);
      if (text.length > 9) await feeds.close();
    }

    expect(text).toMatch(/^(?::\n\n){4,}$/);
  } finally {
    server.close();
  }
});
