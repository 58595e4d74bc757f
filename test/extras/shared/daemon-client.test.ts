/**
 * Asking a daemon over HTTP: what counts as its answer, and that no answer, or a strange one, is none. The servers here
 * answer in place of daemons of this and of other versions.
 */
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig, type Config } from '../../../src/config/load.ts';
import {
  askDaemonForWork,
  askDaemonTo,
  askDaemonToRead,
  failureOf,
  hearDaemon,
  hearDaemonWork,
  pageKeyPath,
  readPageKey,
} from '../../../src/extras/shared/daemon-client.ts';
import type { LinkedExtra } from '../../../src/extras/shared/linked-extra.ts';
import { openReplica } from '../../../src/replica/database.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { makeWorkspace } from '../../support/child.ts';
import { SECTIONS } from '../../support/sections.ts';

/** What was asked of the server. */
interface Question {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly key: string | undefined;
  readonly type: string | undefined;
  readonly body: string;
}

interface World {
  readonly config: Config;
  readonly path: string;
  readonly questions: readonly Question[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** A server that answers everything like this, and the configuration that leads to it; null for no server. */
async function startWorld(
  answer: ((question: Question, response: ServerResponse) => void) | null,
  { hasKey = true, listens = true } = {},
): Promise<World> {
  const questions: Question[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url, headers } = request;
    const body = await text(request);
    const question = { method, path: url, key: headers.authorization, type: headers['content-type'], body };
    questions.push(question);
    answer?.(question, response);
  };
  const server = createServer((request, response) => void take(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const yaml = listens ? `http: { listen: "127.0.0.1:${port}" }\n` : '';
  const workspace = makeWorkspace({ url: 'https://www.example.com', database: '1', token: 'a'.repeat(32) }, yaml);
  if (answer === null) await new Promise((resolve) => server.close(resolve));
  const { config } = loadConfig(join(workspace.folder, 'rowsync.yaml'), { needsCredentials: true, sections: SECTIONS });
  if (hasKey) writeFileSync(pageKeyPath(config.replica.path), 'the-key\n');
  return {
    config,
    path: config.replica.path,
    questions,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      if (answer !== null) await new Promise((resolve) => server.close(resolve));
      workspace[Symbol.dispose]();
    },
  };
}

const json =
  (value: unknown, status = 200) =>
  (_question: Question, response: ServerResponse): void =>
    void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));

const STATUS = {
  status: 'ok',
  working: null,
  failure: null,
  jobs: [{ job: 'pull Note', nextAt: '2026-06-01T12:00:00Z' }],
};
const DECISION = { kind: 'retry', ids: [1] } as const;

describe('a decision', () => {
  test('is posted with the key, and answered with what was done', async () => {
    await using world = await startWorld(json({ kind: 'done', words: 'done', rowCount: 1, decided: [] }));

    expect(await askDaemonTo(world.config, DECISION)).toEqual({
      kind: 'done',
      words: 'done',
      rowCount: 1,
      decided: [],
    });
    expect(world.questions).toEqual([
      {
        method: 'POST',
        path: '/decide',
        key: 'Bearer the-key',
        type: 'application/json',
        body: JSON.stringify(DECISION),
      },
    ]);
  });

  test.each<[string, Parameters<typeof startWorld>[0]]>([
    ['is no answer to it', json({ error: 'wrong key' }, 403)],
    ['is a list', json([])],
    ['is nothing', json(null)],
    ['is no JSON', (_question, response) => void response.end('<html>')],
    ['breaks off', (_question, response) => void (response.write('{"words":'), response.destroy())],
    ['never comes', (_question, response) => void response.destroy()],
  ])('counts as not made where the answer %s', async (_what, answer) => {
    await using world = await startWorld(answer);

    expect(await askDaemonTo(world.config, DECISION)).toBe(null);
  });

  test('is not sent by who may not read the key, nor where no daemon listens', async () => {
    await using keyless = await startWorld(json({ words: 'done' }), { hasKey: false });
    await using silent = await startWorld(json({ words: 'done' }), { listens: false });

    expect(await askDaemonTo(keyless.config, DECISION)).toBe(null);
    expect(await askDaemonTo(silent.config, DECISION)).toBe(null);
    expect([...keyless.questions, ...silent.questions]).toEqual([]);
  });
});

test('work and reading are taken where the answer is empty, and otherwise not', async () => {
  await using taken = await startWorld(json({}, 202));
  await using refused = await startWorld(json({ words: 'no schedule' }, 409));
  await using none = await startWorld(null);

  expect(await askDaemonForWork(taken.config, 'pull')).toBe(true);
  expect(await askDaemonToRead(taken.config, ['Note'])).toBe(true);
  expect(taken.questions.map(({ path, body }) => [path, body])).toEqual([
    ['/cycle', '{"work":"pull"}'],
    ['/read', '{"tables":["Note"]}'],
  ]);
  for (const { config } of [refused, none]) {
    expect(await askDaemonForWork(config, 'pull')).toBe(false);
    expect(await askDaemonToRead(config, ['Note'])).toBe(false);
  }
});

describe('what a daemon says of itself', () => {
  test('is its answer, with its complaints; an earlier version has none', async () => {
    const complaint = { about: 'daemon', subject: null, code: 'x.y', message: 'm', hint: 'h', since: null };
    await using world = await startWorld(json({ ...STATUS, complaints: [complaint] }));
    await using earlier = await startWorld(json(STATUS));

    expect((await hearDaemon(world.config, [])).facts).toMatchObject({ keeper: 'daemon', complaints: [complaint] });
    expect((await hearDaemon(earlier.config, [])).facts).toMatchObject({ keeper: 'daemon', complaints: [] });
    expect(world.questions).toMatchObject([{ method: 'GET', path: '/status', key: 'Bearer the-key', body: '' }]);
  });

  test('is one word to who may not read the key', async () => {
    await using world = await startWorld(json({ state: 'works' }), { hasKey: false });

    const { answer, facts } = await hearDaemon(world.config, []);

    expect(answer).toEqual({ status: 'answers: works', working: null, failure: null, jobs: [] });
    expect(facts.keeper).toBe('daemon');
  });

  test.each(['a page', '{"status":7}', 'null', '[]'])('is nothing where the answer is %s', async (body) => {
    await using world = await startWorld((_question, response) => void response.end(body));

    expect((await hearDaemon(world.config, [])).answer).toBe(null);
    expect(await hearDaemonWork(world.config, 'pull')).toBe(null);
  });

  test('is nothing where the answer is longer than any of a daemon', async () => {
    await using world = await startWorld((_question, response) => {
      response.end(JSON.stringify({ ...STATUS, notes: ['x'.repeat(4 * 1024 * 1024)] }));
    });

    expect((await hearDaemon(world.config, [])).answer).toBe(null);
  });
});

describe('who keeps a replica up to date, without an answer,', () => {
  const service = (isWanted: boolean, isUp: boolean): LinkedExtra => ({
    name: 'service',
    findService: () => Promise.resolve({ isWanted, isUp, findings: [] }),
  });
  const keeperOf = async ({ config }: World, extras: readonly LinkedExtra[]): Promise<string> =>
    (await hearDaemon(config, extras)).facts.keeper;

  test('is nobody, or a daemon that fell silent where one ran before', async () => {
    await using never = await startWorld(null, { hasKey: false });
    await using once = await startWorld(null);
    await using elsewhere = await startWorld(null, { listens: false });

    expect(await keeperOf(never, [])).toBe('nobody');
    expect(await keeperOf(once, [])).toBe('silent');
    expect(await keeperOf(elsewhere, [])).toBe('nobody');
  });

  test('is the service, as the system says', async () => {
    await using world = await startWorld(null, { hasKey: false });

    expect(await keeperOf(world, [service(true, true)])).toBe('service');
    expect(await keeperOf(world, [service(true, false)])).toBe('silent');
    expect(await keeperOf(world, [service(false, false)])).toBe('nobody');
  });

  test('is a process that holds the lock of the replica', async () => {
    await using world = await startWorld(null, { listens: false });
    const replica = openReplica(world.path, { clock: systemClock });
    const keeper = await keeperOf(world, []);
    replica.close();

    expect(keeper).toBe('service');
    expect(await keeperOf(world, [])).toBe('nobody');
  });
});

describe('the work of a daemon', () => {
  const ended = { outcome: 'done', durationMs: 5 };

  test('is scheduled by its kind, for all tables or one', async () => {
    await using world = await startWorld(json({ ...STATUS, working: 'push' }));

    const [pull, push, pul] = await Promise.all(
      ['pull', 'push', 'pul'].map((work) => hearDaemonWork(world.config, work)),
    );

    expect([pull?.isScheduled, push?.isScheduled, pul?.isScheduled]).toEqual([true, false, false]);
    expect([pull?.isUnderWay, push?.isUnderWay]).toEqual([false, true]);
    expect(pull?.last).toBe(null);
  });

  test('that ended last is the one that a person asked for; a daemon of an earlier version has one for both', async () => {
    await using world = await startWorld(json({ ...STATUS, last: { pull: ended }, lastAsked: {} }));
    await using earlier = await startWorld(json({ ...STATUS, last: { pull: ended } }));

    expect((await hearDaemonWork(world.config, 'pull'))?.last).toBe(null);
    expect((await hearDaemonWork(earlier.config, 'pull'))?.last).toEqual(ended);
  });

  test('has another key for each end', async () => {
    const keys: string[] = [];
    for (const endedCount of [1, 1, 2]) {
      await using world = await startWorld(json({ ...STATUS, lastAsked: { pull: { ...ended, endedCount } } }));
      keys.push((await hearDaemonWork(world.config, 'pull'))?.lastKey ?? '');
    }

    expect(keys[0]).toBe(keys[1]);
    expect(keys[2]).not.toBe(keys[1]);
  });
});

test('the failure of a daemon keeps its kind and says when it tries again; one of a later version is that the origin failed', () => {
  const failure = { kind: 'auth', code: 'origin.forbidden', message: 'no', hint: 'Ask.', retryInMs: 54_000 };
  const at = (changes: object) => {
    const { kind, code, message, hint } = failureOf({ ...failure, ...changes });
    return [kind, code, message, hint];
  };

  expect(at({})).toEqual(['auth', 'origin.forbidden', 'The daemon says: no', 'Ask. It tries again in 54 s.']);
  expect(at({ retryInMs: 0 })[3]).toBe('Ask.');
  expect(at({ kind: 'later' }).slice(0, 3)).toEqual(['originDown', 'origin.unexpected', 'The daemon says: no']);
  expect(at({ code: 'toString' })[1]).toBe('origin.unexpected');
});

test('the key of a page is its text; a file that is too long, or a folder, is none', async () => {
  await using world = await startWorld(null, { hasKey: false });
  expect(readPageKey(world.path)).toBe(null);
  writeFileSync(pageKeyPath(world.path), ' key \n');
  expect(readPageKey(world.path)).toBe('key');
  writeFileSync(pageKeyPath(world.path), 'x'.repeat(2_000));
  expect(readPageKey(world.path)).toBe(null);
});
