/**
 * Complaints about registered queries, and which checks were run, in the replica: what is no longer true leaves it.
 */
import { expect, test } from 'vitest';
import {
  isChecked,
  readContractComplaints,
  storeChecked,
  storeContractComplaints,
  type ContractComplaint,
} from '../../../src/extras/contracts/complaints.ts';
import { openReplica, type Replica } from '../../../src/replica/database.ts';
import { testClock } from '../../support/clock.ts';
import { temporaryFolder } from '../../support/replica.ts';

function withReplica(): { readonly replica: Replica; [Symbol.dispose](): void } {
  const folder = temporaryFolder();
  const replica = openReplica(`${folder.path}/replica.db`, { clock: testClock() });
  return {
    replica,
    [Symbol.dispose]: () => {
      replica.close();
      folder[Symbol.dispose]();
    },
  };
}

const complaint = (name: string, code = 'contract.breaks'): ContractComplaint => ({
  name,
  code,
  message: `${name} breaks`,
  hint: 'Correct it.',
  since: '2026-11-25T08:00:00Z',
});

test('complaints take the place of those before, all or none', async () => {
  using made = withReplica();
  const { replica } = made;
  const none = readContractComplaints(replica);

  await replica.write('Storing', (tx) =>
    storeContractComplaints(tx, [complaint('b.sql'), complaint('a.sql', 'contract.fails'), complaint('a.sql')]),
  );
  const all = readContractComplaints(replica);
  const twice = replica.write('Storing', (tx) => storeContractComplaints(tx, [complaint('c.sql'), complaint('c.sql')]));
  await expect(twice).rejects.toMatchObject({ code: 'replica.failed' });
  const kept = readContractComplaints(replica);
  await replica.write('Storing', (tx) => storeContractComplaints(tx, []));

  expect(none).toEqual([]);
  expect(all).toEqual([complaint('a.sql'), complaint('a.sql', 'contract.fails'), complaint('b.sql')]);
  expect(kept).toEqual(all);
  expect(readContractComplaints(replica)).toEqual([]);
});

test('a check was run as it is now, or not; one that left and comes back was not', async () => {
  using made = withReplica();
  const { replica } = made;
  const one = { name: 'one.check.sql', text: 'SELECT 1 WHERE 0' };
  const other = { name: 'other.check.sql', text: 'SELECT 2 WHERE 0' };
  const store = (checks: readonly (typeof one)[], registered: readonly (typeof one)[]) =>
    replica.write('Storing', (tx) => storeChecked(tx, checks, registered));
  const checked = () => [one, other].filter((it) => isChecked(replica, it)).map(({ name }) => name);

  await store([], [one]);
  const before = checked();
  await store([one, other], [one, other]);
  const both = checked();
  await store([one], [one, other]);
  const still = checked();
  await store([], [one]);

  expect([before, both, still, checked()]).toEqual([[], [one.name, other.name], [one.name, other.name], [one.name]]);
  expect(isChecked(replica, { ...one, text: 'SELECT 3' })).toBe(false);
});
