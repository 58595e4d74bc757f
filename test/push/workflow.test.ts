/**
 * Pushes to a table whose workflow changes what was pushed: its values are taken, and nothing is sent back and forth (I9).
 */
import { expect, test } from 'vitest';
import { readOrigin, readReplica } from '../support/compare.ts';
import { changesSent, codesOf, here, pushNow } from '../support/push.ts';
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
