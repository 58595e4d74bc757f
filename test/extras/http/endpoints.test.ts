/**
 * What the server of a daemon answers of its state, read when it is asked. Answers that everyone gets cost a twentieth
 * of the daemon's time at most.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { seldom } from '../../../src/extras/http/endpoints.ts';
import { startDaemon, type TestDaemon } from '../../support/daemon.ts';
import { ask as askServer, portOf } from '../../support/http.ts';
import { keyOf } from '../../support/page.ts';
import { startTestSandbox } from '../../support/sandbox.ts';
import { NOTE } from '../../support/two-way.ts';

const HTTP = 'http: { listen: "127.0.0.1:0" }\n';

/** What it says to who shows the key. */
async function statusOf(daemon: TestDaemon): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await askServer({ port: portOf(daemon) }, '/status', {
    headers: { Authorization: `Bearer ${keyOf(daemon)}` },
  });
  return JSON.parse(body) as Record<string, unknown>;
}

test('the status has the state of the daemon, its jobs and last work, and what is in the replica', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, `${HTTP}schedule: { pull: "*/5 * * * *", follow: false }\n`);
  await daemon.idle();

  const status = await statusOf(daemon);

  expect(status).toMatchObject({
    startedAt: '2026-06-01T12:01:00Z',
    working: null,
    failure: null,
    progress: null,
    jobs: [{ job: 'pull', nextAt: '2026-06-01T12:05:00Z', isDue: false }],
    last: { pull: { outcome: 'done', exitCode: 0 } },
    lastAsked: {},
    complaints: [],
    problems: [],
    tables: [{ table: 'Note', state: 'steady', rowCount: 6 }],
    sinks: [],
    replica: { bytes: statSync(join(daemon.folder, 'replica.db')).size },
  });
});

test('the status of a daemon that cannot work says why, how often it tried, and when it tries again', async () => {
  await using sandbox = await startTestSandbox({ tables: [NOTE] });
  await using daemon = startDaemon(sandbox, `${HTTP}schedule: { pull: "*/5 * * * *", follow: false }\n`);
  await daemon.idle();
  sandbox.store.revokeToken(sandbox.token);
  await daemon.elapse(5);

  const { failure, last, problems } = await statusOf(daemon);

  expect(failure).toMatchObject({ kind: 'auth', count: 1 });
  expect(Number((failure as { retryInMs: unknown }).retryInMs)).toBeGreaterThan(0);
  expect(last).toMatchObject({ pull: { outcome: 'failed' } });
  expect(problems).not.toEqual([]);
});

/** A function that takes ten milliseconds, and says how often it was called. */
function slow() {
  let nowMs = 0;
  let count = 0;
  const clock = { monotonicMs: () => nowMs };
  const make = (): number => {
    nowMs += 10;
    return (count += 1);
  };
  return { clock, make, pass: (ms: number) => (nowMs += ms) };
}

test('an answer is made again after twenty times as long as it took', () => {
  const { clock, make, pass } = slow();
  const ask = seldom(make, clock);

  const first = [ask(), ask()];
  pass(199);
  const before = ask();
  pass(1);

  expect([...first, before, ask()]).toEqual([1, 1, 1, 2]);
});

test('those who ask while an answer is made get the same one, also where it fails', async () => {
  const { clock, make, pass } = slow();
  const ask = seldom(() => Promise.reject(new Error(String(make()))), clock);

  const answers = await Promise.allSettled([ask(), ask()]);
  pass(200);
  const later = await Promise.allSettled([ask()]);

  const words = [...answers, ...later].map((answer) => (answer.status === 'rejected' ? String(answer.reason) : ''));
  expect(words).toEqual(['Error: 1', 'Error: 1', 'Error: 2']);
});
