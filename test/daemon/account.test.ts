/**
 * The facts of the account, as they are read from a replica.
 */
import { expect, test } from 'vitest';
import { readProblems } from '../../src/daemon/account.ts';
import { openReader } from '../../src/replica/reader.ts';
import { startFixture } from '../support/replica.ts';
import { NOTE } from '../support/two-way.ts';

const AROUND = {
  word: { keeper: 'nobody' as const, complaints: [] },
  nowMs: Date.now(),
  lateAfterMs: new Map<string, number>(),
  leftOut: new Set<string>(),
  misnamed: [],
};

test('a first pull that ended once it knew who is calling has pulled nothing', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  fixture.execute('DELETE FROM _rowsync_tables');
  const reader = openReader(fixture.path);

  const problems = readProblems(reader, AROUND);
  reader.close();

  expect(problems.map(({ code }) => code)).toEqual(['replica.unpulled']);
});
