/**
 * What the replica remembers of runs that failed as a whole.
 */
import { expect, test } from 'vitest';
import { readComplaints } from '../../src/replica/stored-errors.ts';
import { closeRun, openRun } from '../../src/replica/bookkeeping/runs.ts';
import { startFixture, type Fixture } from '../support/replica.ts';
import { NOTE } from '../support/two-way.ts';

const AT = '2026-01-01T00:00:00Z';
const DOWN = { code: 'origin.timeout', message: 'The origin does not answer', hint: 'Wait.' };

function record(
  { replica }: Fixture,
  kind: 'pull' | 'push' | 'follow' | 'files',
  error: typeof DOWN | null,
  requestCount = 0,
): Promise<void> {
  const counts = { requestCount, notModifiedCount: 0, receivedBytes: 0, tables: [] };
  return replica.write('Recording a run', (tx) => closeRun(tx, openRun(tx, kind, AT), AT, { error, ...counts }));
}

test.each([
  ['pull', 'push'],
  ['push', 'pull'],
] as const)('a %s that failed as a whole is told until one succeeds, also after a %s', async (failing, other) => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await record(fixture, failing, DOWN);
  await record(fixture, other, null);

  const before = readComplaints(fixture.replica, []);
  await record(fixture, failing, null);

  const run = { id: 1, isAnsweredSince: false };
  expect(before).toEqual([{ ...DOWN, about: failing, subject: null, since: AT, run }]);
  expect(readComplaints(fixture.replica, [])).toEqual([]);
});

test.each([
  ['pull', 0, null, false],
  ['pull', 1, null, true],
  ['follow', 1, null, true],
  ['pull', 1, DOWN, false],
] as const)('after a push, a %s with %i requests that failed of %j was answered: %s', async (...row) => {
  const [kind, requestCount, error, isAnsweredSince] = row;
  await using fixture = await startFixture({ tables: [NOTE] });
  await record(fixture, 'push', DOWN);
  await record(fixture, kind, error, requestCount);

  const ofPush = readComplaints(fixture.replica, []).find(({ about }) => about === 'push');

  expect(ofPush?.run).toEqual({ id: 1, isAnsweredSince });
});

test('that the origin has answered a run since stays true when a later one fails', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await record(fixture, 'push', DOWN);
  await record(fixture, 'pull', null, 1);
  await record(fixture, 'pull', DOWN, 1);

  expect(readComplaints(fixture.replica, []).map(({ about, run }) => [about, run?.isAnsweredSince])).toEqual([
    ['pull', false],
    ['push', true],
  ]);
});
