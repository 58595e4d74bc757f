/**
 * Creates whose answer got lost, and whose row does not have the unique value any more that was sent. A workflow gave it another
 * one, or a colleague did before it was looked for. Nothing is made twice.
 */
import { expect, test } from 'vitest';
import { carryOutDecision } from '../../src/capture/person-decision.ts';
import type { WorkflowRule } from '../../src/sandbox/store/spec.ts';
import { atOrigin, codesOf, here, pushNow, setFaults } from '../support/push.ts';
import type { Fixture } from '../support/replica.ts';
import { AT, NOTE, startTwoWay } from '../support/two-way.ts';

const COLUMNS = ['Title', 'Code'];
/** The origin numbers its rows as it likes. */
const NUMBERED: readonly WorkflowRule[] = [{ when: 'create', set: 'Code', to: '"N-" & [Id]' }];

/** The `nth` request that makes rows gets no answer, after the origin took it or before. */
function lose(fixture: Fixture, fault: 'resetAfter' | 'resetBefore', nth = 1): void {
  setFaults(
    fixture,
    ['upsert', 'create'].map((method) => ({ fault, method, nth })),
  );
}

test.each([
  ['with a match column', 'Code'],
  ['without one', null],
] as const)('a new row without an answer, %s, goes again where a person lets it', async (_what, match) => {
  await using fixture = await startTwoWay({ tables: [{ ...NOTE, rules: NUMBERED }], editing: { match } });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
  lose(fixture, 'resetAfter');
  await pushNow(fixture);
  await fixture.pull();
  const [failure] = fixture.rows('SELECT id FROM sync_failures') as { id: number }[];
  await carryOutDecision(fixture.replica, { kind: 'retry', ids: [failure?.id ?? 0] }, AT);
  await pushNow(fixture);

  expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([
    [7, 'x', 'N-7'],
    [8, 'x', 'N-8'],
  ]);
});

test('a new row without an answer goes again where it has the match value here by now that its row has at the origin', async () => {
  await using fixture = await startTwoWay({ editing: { match: 'Code' } });
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('x', 'n1')`);
  lose(fixture, 'resetAfter');
  const before = (step: string): void => {
    if (step !== 'store') return;
    fixture.sandbox.store.update('Note', 7, { Code: 'k9' });
    fixture.execute(`UPDATE "Note" SET "Code" = 'k9' WHERE "Title" = 'x'`);
  };

  const report = await pushNow(fixture, { before });

  expect(codesOf(report)).toEqual([]);
  expect(fixture.rows('SELECT row_id, kind FROM sync_failures')).toEqual([]);
  expect(here(fixture, COLUMNS).slice(6)).toEqual([[7, 'x', 'k9']]);
  expect(atOrigin(fixture, COLUMNS).slice(6)).toEqual([[7, 'x', 'k9']]);
});
