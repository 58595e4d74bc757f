/**
 * New rows that a pull brings in under the id that the origin gave them, before the answer to their create is settled: what is done to
 * them there is done to what the pull brought.
 */
import { describe, expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import type { PushStep } from '../../src/push/context.ts';
import type { ConflictPolicy } from '../../src/reconcile/merge.ts';
import type { Fixture } from '../support/replica.ts';
import { atOrigin, here, pushNow, setFaults } from '../support/push.ts';
import { captured, startTwoWay } from '../support/two-way.ts';

const COLUMNS = ['Title', 'Code', 'Body'];

const CONFLICTS = 'SELECT kind, "column", local, remote, state FROM sync_conflicts ORDER BY id';

function dies(step: PushStep): void {
  if (step !== 'readBack') return;
  throw new RowsyncError('originDown', 'origin.stopped', { message: 'the process ends', hint: '' });
}

/** A new row that stands at the origin as row 7, with a body that is not from here; the process ended, and then a pull came. */
async function startPulledIn({
  isLost,
  conflict,
}: {
  readonly isLost: boolean;
  readonly conflict: ConflictPolicy;
}): Promise<Fixture> {
  const fixture = await startTwoWay({ editing: { match: 'Code', conflict } });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('mine', 'n1')`);
  if (isLost) setFaults(fixture, [{ fault: 'resetAfter', method: 'upsert', nth: 1 }]);
  await pushNow(fixture, { before: dies, options: { conflict } });
  fixture.sandbox.store.update('Note', 7, { Body: 'made there' });
  await fixture.pull();
  expect(here(fixture, COLUMNS).at(-1)).toEqual([7, 'mine', 'n1', 'made there']);
  return fixture;
}

describe.each([
  ['with an answer', false],
  ['without an answer', true],
])('a new row that a pull brought in, %s', (_what, isLost) => {
  test.each(['origin', 'local'] as const)('is edited there against what was seen there: %s', async (conflict) => {
    await using fixture = await startPulledIn({ isLost, conflict });
    fixture.execute(`UPDATE "Note" SET "Body" = 'edited' WHERE _id = 7`);

    await pushNow(fixture, { options: { conflict } });

    expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([[7, 'mine', 'n1', 'edited']]);
    expect(here(fixture, COLUMNS)).toEqual(atOrigin(fixture, COLUMNS));
    expect(fixture.rows(CONFLICTS)).toEqual([]);
  });

  test.each(['origin', 'local'] as const)('is deleted there as it was seen there: %s', async (conflict) => {
    await using fixture = await startPulledIn({ isLost, conflict });
    fixture.execute(`DELETE FROM "Note" WHERE _id = 7`);

    await pushNow(fixture, { options: { conflict } });

    expect(atOrigin(fixture, COLUMNS)).toHaveLength(6);
    expect(here(fixture, COLUMNS)).toEqual(atOrigin(fixture, COLUMNS));
    expect(fixture.rows(CONFLICTS)).toEqual([]);
  });

  test('is in conflict there with what was written later', async () => {
    await using fixture = await startPulledIn({ isLost, conflict: 'origin' });
    fixture.execute(`UPDATE "Note" SET "Body" = 'edited' WHERE _id = 7`);
    fixture.sandbox.store.update('Note', 7, { Body: 'later' });

    await pushNow(fixture);

    expect(here(fixture, COLUMNS).at(-1)).toEqual([7, 'mine', 'n1', 'later']);
    expect(fixture.rows(CONFLICTS)).toEqual([
      { kind: 'cell', column: 'Body', local: 'edited', remote: 'later', state: 'decided' },
    ]);
  });

  test.each([
    ['an edit', `UPDATE "Note" SET "Body" = 'edited' WHERE _id = 7`, 'cell'],
    ['a delete', `DELETE FROM "Note" WHERE _id = 7`, 'deletedHere'],
  ])('waits for the answer of a person who is asked about %s of it', async (_what2, statement, kind) => {
    await using fixture = await startPulledIn({ isLost, conflict: 'ask' });
    fixture.execute(statement);
    fixture.sandbox.store.update('Note', 7, { Body: 'later' });
    await fixture.pull();
    expect(fixture.rows(CONFLICTS)).toMatchObject([{ kind, state: 'open' }]);

    for (let round = 0; round < 2; round += 1) await pushNow(fixture, { options: { conflict: 'ask' } });

    expect(fixture.rows(CONFLICTS)).toMatchObject([{ kind, state: 'open' }]);
    expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([[7, 'mine', 'n1', 'later']]);
    expect(await captured(fixture)).toHaveLength(1);
  });
});
