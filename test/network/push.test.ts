/**
 * A fault of every class in place of the answers to a whole push, whether the request had reached the origin or not: every edit
 * is at the origin exactly once when the fault is over, no row is parked for what somebody on the way said, and both sides are the same.
 */
import { describe, expect, test } from 'vitest';

import { readOrigin, readReplica } from '../support/compare.ts';
import type { FaultRequest } from '../support/fault-server.ts';
import { atOrigin, codesOf, pushNow } from '../support/push.ts';
import { captured } from '../support/two-way.ts';
import { FAULTS, startFaulty } from './faults.ts';

const isChange = ({ path }: FaultRequest): boolean => /\/(?:create|update|upsert|delete)\.json/.test(path);

describe.each(FAULTS)('%s', (_title, answer, code) => {
  test.each([
    ['did not reach the origin', false],
    ['was applied by the origin', true],
  ])('in place of the answer to a push that %s: every edit happens exactly once', async (_what, isApplied) => {
    // Nobody answers a change by these statuses and carries it out all the same.
    if (isApplied && /^origin\.(?:redirect|unauthorized|refused)$/.test(code)) return;
    await using fixture = await startFaulty();
    fixture.execute(`UPDATE "Note" SET "Title" = 'changed here' WHERE _id = 1`);
    fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new here', 'h')`);
    fixture.execute(`DELETE FROM "Note" WHERE _id = 2`);
    fixture.proxy.play({ match: isChange, answer, isApplied });

    await pushNow(fixture);
    fixture.proxy.play(null);
    const second = await pushNow(fixture);
    await fixture.pull();

    expect(codesOf(second)).toEqual([]);
    expect(await captured(fixture)).toEqual([]);
    expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
    expect(fixture.rows('SELECT * FROM sync_conflicts')).toEqual([]);
    expect(atOrigin(fixture, ['Title', 'Code'])).toEqual([
      [1, 'changed here', 'c1'],
      [3, 'title 3', 'c3'],
      [4, 'title 4', 'c4'],
      [5, 'title 5', 'c5'],
      [6, 'title 6', 'c6'],
      [7, 'new here', 'h'],
    ]);
    expect(readReplica(fixture.path)).toEqual(readOrigin(fixture.sandbox));
  });
});
