/**
 * The account of a replica has what extras keep of their own problems.
 */
import { expect, test } from 'vitest';
import { problemsOf, readAccount } from '../../../src/daemon/account-facts.ts';
import { EXTRAS } from '../../../src/extras.ts';
import { storeContractComplaints } from '../../../src/extras/contracts/complaints.ts';
import { ensureSinks, storeSinkState } from '../../../src/extras/shared/sinks.ts';
import { openReader } from '../../../src/replica/reader.ts';
import { NOTHING_KEPT } from '../../support/kept.ts';
import { startFixture } from '../../support/replica.ts';
import { NOTE } from '../../support/two-way.ts';

const SINCE = '2026-06-01T12:00:00Z';

test('problems of sinks and of registered queries are told as they are stored, by what each needs', async () => {
  await using fixture = await startFixture({ tables: [NOTE] });
  await fixture.pull();
  const problems = (): readonly unknown[] => {
    using reader = openReader(fixture.replica.path);
    const around = { ...NOTHING_KEPT, added: problemsOf(EXTRAS), keeper: 'nobody', complaints: [] } as const;
    const found = readAccount(reader, { ...around, nowMs: Date.parse(SINCE) });
    return found.map(({ code, severity, sentence, since }) => [code, severity, sentence, since]);
  };
  const before = problems();
  const failed = (code: string) => ({ code, message: 'it said no', hint: 'ask it' });
  const held = { tableId: 1, tableName: 'note', state: 'held', problem: failed('sink.foreign') } as const;
  const live = { tableId: 2, tableName: 'other', state: 'live', problem: null } as const;

  await ensureSinks(fixture.replica, ['a', 'b', 'c']);
  const at = SINCE;
  await storeSinkState(fixture.replica, 'a', { problem: failed('sink.rights'), tables: [held, live], at });
  await storeSinkState(fixture.replica, 'b', { problem: failed('sink.unreachable'), tables: null, at });
  await fixture.replica.write('Noting a query', (tx) =>
    storeContractComplaints(tx, [{ ...failed('contract.breaks'), name: 'one.sql', since: SINCE }]),
  );
  const after = problems();
  await ensureSinks(fixture.replica, []);

  expect(before).toEqual([]);
  expect(after).toEqual([
    ['contract.breaks', 'person', 'it said no', SINCE],
    ['sink.failed', 'person', 'Sink a: it said no', SINCE],
    ['sink.held', 'person', 'Sink a: it said no', null],
    ['sink.late', 'late', 'Sink b: it said no', SINCE],
  ]);
  expect(problems()).toEqual([['contract.breaks', 'person', 'it said no', SINCE]]);
});
