/**
 * Pushes to a table whose workflow changes what was pushed: its values are taken, and nothing is sent back and forth
 * (I9).
 */
import { expect, test } from 'vitest';
import type { PushStep } from '../../src/push/context.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import { changesSent, codesOf, here, pushNow, setFaults, unreadableAnswer } from '../support/push.ts';
import { captured, NOTE, startTwoWay } from '../support/two-way.ts';

test.each([
  ['with a match column', 'Code'],
  ['without a match column', null],
])('takes what the workflow makes of pushed cells, and sends it only once %s', async (_what, match) => {
  const rules = [{ when: 'write', set: 'Title', to: 'Upper([Title])' }] as const;
  await using fixture = await startTwoWay({ tables: [{ ...NOTE, rules }], editing: { match } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'edited' WHERE _id = 1`);
  fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new', 'n1')`);

  const first = await pushNow(fixture);
  const sentCount = changesSent(fixture).length;
  await fixture.pull();
  await pushNow(fixture);

  expect(codesOf(first)).toEqual([]);
  expect(changesSent(fixture).length).toBe(sentCount);
  expect(here(fixture, ['Title'])).toEqual(expect.arrayContaining([expect.arrayContaining(['EDITED'])]));
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  expect(await captured(fixture)).toEqual([]);
});

test.each([
  ['bin', undefined, [2]],
  ['purge', true, []],
] as const)('a row that was deleted here is in the recycle bin there: %s', async (_what, purges, expected) => {
  await using fixture = await startTwoWay({});
  fixture.execute('DELETE FROM "Note" WHERE _id = 2');

  const report = await pushNow(fixture, { options: { purges } });

  expect(codesOf(report)).toEqual([]);
  const [note] = (await fixture.origin.describeDatabase()).value.tables;
  const { value } = await fixture.origin.deletedIds({ table: { name: note?.recordName ?? '', alias: '' } });
  expect(value).toEqual(expected);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('a purge whose answer is lost is settled by a look, and sent once', async () => {
  await using fixture = await startTwoWay({});
  fixture.execute('DELETE FROM "Note" WHERE _id = 2');
  setFaults(fixture, [{ fault: 'resetAfter', method: 'delete', nth: 1 }]);

  await pushNow(fixture, { options: { purges: true } });
  await pushNow(fixture, { options: { purges: true } });

  expect(changesSent(fixture).filter((method) => method === 'delete')).toHaveLength(1);
  expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
});

test('a row whose read-back cannot be read is named as such by the push', async () => {
  await using fixture = await startTwoWay();
  const unreadable = await unreadableAnswer(fixture, 1);
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  const before = (step: PushStep): void => {
    if (step === 'readBack') fixture.sandbox.answerInstead(1, unreadable, { method: 'retrieve' });
  };

  await pushNow(fixture, { before });

  expect(fixture.rows('SELECT row_id, kind, "column" FROM sync_failures')).toEqual([
    { row_id: 1, kind: 'read', column: 'Done' },
  ]);
});
