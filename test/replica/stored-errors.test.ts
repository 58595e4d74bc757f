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

function record({ replica }: Fixture, kind: 'pull' | 'push', error: typeof DOWN | null): Promise<void> {
  const counts = { requestCount: 0, notModifiedCount: 0, receivedBytes: 0, tables: [] };
  return replica.write('Recording a run', (tx) => closeRun(tx, openRun(tx, kind, AT), AT, { error, ...counts }));
}

test.each([
  ['pull', 'push'],
  ['push', 'pull'],
] as const)('a %s that failed as a whole is told until one succeeds, also after a %s', async (failing, other) => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await record(fixture, failing, DOWN);
  await record(fixture, other, null);

  const before = readComplaints(fixture.replica);
  await record(fixture, failing, null);

  expect(before).toEqual([{ ...DOWN, about: failing, subject: null, since: AT }]);
  expect(readComplaints(fixture.replica)).toEqual([]);
});
