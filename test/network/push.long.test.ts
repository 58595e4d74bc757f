/**
 * A fault of every class in place of the answers to a whole push, whether the request had reached the origin or not. A
 * row whose requests end without an answer although the origin answers is parked with what came. When the fault is over
 * and these are tried again, every edit is at the origin exactly once, nothing is parked any more, and both sides are
 * the same.
 */
import { describe, expect, test } from 'vitest';
import { readWaiting } from '../../src/replica/bookkeeping/refusals.ts';
import { readOrigin, readReplica } from '../support/compare.ts';
import type { FaultRequest } from '../support/fault-server.ts';
import { atOrigin, codesOf, countsOf, pushNow } from '../support/push.ts';
import { AT, captured } from '../support/two-way.ts';
import { FAULTS, startFaulty } from './faults.ts';
import { retryRows } from '../../src/capture/writer/apply-outcome.ts';

const isChange = ({ path }: FaultRequest): boolean => /\/(?:create|update|upsert|delete)\.json/.test(path);

/**
 * What says that nothing was done: the push ends with it. Whatever else comes says nothing, and the push looks up what
 * happened.
 */
const SAYS_NO: ReadonlySet<string> = new Set(['a redirect elsewhere', '429', '404 without a message', '401']);

const FATES: readonly (readonly [string, boolean])[] = [
  ['did not reach the origin', false],
  ['was applied by the origin', true],
];

describe.each(FAULTS)('%s', (title, answer, code) => {
  // Nobody who refuses a change carries it out anyway; 429 may come from someone on the way back.
  const isRefusal = (SAYS_NO.has(title) && title !== '429') || title === '400 without a message';
  const fates = FATES.filter(([, isApplied]) => !isApplied || !isRefusal);

  test.each(fates)(
    'in place of the answer to a push that %s: every edit happens exactly once',
    async (_what, isApplied) => {
      await using fixture = await startFaulty();
      fixture.execute(`UPDATE "Note" SET "Title" = 'changed here' WHERE _id = 1`);
      fixture.execute(`INSERT INTO "Note" ("Title", "Code") VALUES ('new here', 'h')`);
      fixture.execute(`DELETE FROM "Note" WHERE _id = 2`);
      fixture.proxy.play({ match: isChange, answer, isApplied });

      const first = await pushNow(fixture);
      const { faultedCount } = fixture.proxy;
      fixture.proxy.play(null);
      const parked = fixture.rows('SELECT row_id FROM sync_failures').length;
      await fixture.replica.write('Retrying', (tx) => retryRows(tx, readWaiting(tx, []), AT));
      const second = await pushNow(fixture);
      await fixture.pull();

      expect(faultedCount).toBeGreaterThan(0);
      const isSaid = SAYS_NO.has(title);
      expect(codesOf(first)).toEqual(isSaid ? [code] : []);
      expect(countsOf(first)['waiting'] ?? 0).toBe(isSaid ? 3 : 0);
      expect(parked).toBe(isApplied || isSaid ? 0 : 3);
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
    },
  );
});
