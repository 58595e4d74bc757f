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
const FULL = { code: 'replica.full', message: 'The disk is full', hint: 'Make room.' };

function record(
  { replica }: Fixture,
  kind: 'pull' | 'push' | 'follow' | 'files',
  error: typeof DOWN | null,
  requestCount = 1,
): Promise<void> {
  const counts = { requestCount, notModifiedCount: 0, receivedBytes: 0, tables: [] };
  return replica.write('Recording a run', (tx) => closeRun(tx, openRun(tx, kind, AT), AT, { error, ...counts }));
}

test.each([
  ['pull', 'push'],
  ['push', 'pull'],
] as const)('a %s that failed as a whole is told until one succeeds, also after a %s', async (failing, other) => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await record(fixture, failing, FULL);
  await record(fixture, other, null);

  const before = readComplaints(fixture.replica);
  await record(fixture, failing, null);

  expect(before).toEqual([{ ...FULL, about: failing, subject: null, since: AT }]);
  expect(readComplaints(fixture.replica)).toEqual([]);
});

test.each([
  ['push', 'pull', 1, []],
  ['push', 'follow', 1, []],
  ['pull', 'push', 1, []],
  ['pull', 'push', 0, ['origin.timeout']],
  ['files', 'pull', 1, ['origin.timeout']],
] as const)('an origin that a %s did not reach is told until a %s with %i requests reaches it', async (...row) => {
  const [failing, other, requestCount, codes] = row;
  await using fixture = await startFixture({ tables: [NOTE] });
  await record(fixture, failing, DOWN);

  const before = readComplaints(fixture.replica);
  await record(fixture, other, DOWN);
  const both = readComplaints(fixture.replica);
  await record(fixture, other, null, requestCount);

  expect(before).toEqual([{ ...DOWN, about: failing, subject: null, since: AT }]);
  expect(both.map(({ about }) => about)).toContain(failing);
  expect(readComplaints(fixture.replica).map(({ code }) => code)).toEqual(codes);
});
