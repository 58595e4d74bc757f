/** Rows that wait with a cause that no story of one mishap shows. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadEngine } from '../world/engine.ts';
import { play, type Strike } from '../stories/exhaustive.ts';
import { Runner } from '../run/runner.ts';
import { CALM, colleagueInserts, user, type Scenario } from '../stories/scenario.ts';
import type { Hands } from '../stories/script.ts';

let runner: Runner;

beforeAll(async () => {
  runner = new Runner(await loadEngine(new URL('../../../src/', import.meta.url)));
});

afterAll(() => runner[Symbol.dispose]());

/** Who has the unique value of a new row is asked before it is sent, once in each round of a push. */
const ROUNDS = 3;

/** Lets a user delete rows of a mirror. */
const DROP_GUARD = 'DROP TRIGGER _rowsync_guard_delete_115442';

test('a new row waits with a cause where nothing readable was answered about its unique value', async () => {
  const story: Scenario = {
    name: 'code-asked-for-in-vain',
    setup: { ...CALM, rowCount: 1 },
    acts: [
      user(null, `INSERT INTO Thing (Tag, Code, A) VALUES ('t-1', 'c-1', 'u-1')`),
      colleagueInserts(/^commit: Planning the push/, { Tag: 't-w', Code: 'c-1', A: 'w-1' }),
    ],
    cycles: 2,
    proofs: [],
    hasOneEnd: false,
  };
  const strikes: Strike[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const { steps } = await play(runner, story, strikes);
    const from = strikes.at(-1)?.step ?? steps.findIndex(({ name }) => name.startsWith('push step reread'));
    const step = steps.findIndex(({ name }, index) => index > from && name === 'request select');
    strikes.push({ step, what: 'cellOfOtherType' });
  }

  const { failure, rows } = await play(runner, story, strikes);

  expect(failure).toBeNull();
  expect(rows.map(({ tag }) => tag)).toContain('t-1');
}, 20_000);

test('deletes in a mirror are held for the rows that were missing, whoever takes some away before that', async () => {
  const deeds: readonly { readonly after: RegExp; readonly act: (hands: Hands) => void }[] = [
    {
      after: /^commit: Recording a run/,
      act: (hands) =>
        hands.atOrigin('colleague: deletes three rows', (origin) => {
          for (const id of [1, 2, 3]) origin.delete('Thing', id);
        }),
    },
    {
      after: /^commit: Looking for the missing rows/,
      act: (hands) => hands.user(`${DROP_GUARD}; DELETE FROM Thing WHERE _id IN (1, 2)`),
    },
  ];
  let deedCount = 0;

  const { failure, trace } = await runner.runScript({
    setup: { ...CALM, isMirror: true, match: null, rowCount: 4, maxDeletePercent: 50 },
    goesOn: (lines) => lines.filter((line) => line.startsWith('the cycle ends')).length < 2,
    act: (lines, hands) => {
      const deed = deeds[deedCount];
      if (deed === undefined || !lines.some((line) => deed.after.test(line))) return false;
      deedCount += 1;
      deed.act(hands);
      return true;
    },
    fate: (what) => (what.startsWith('Holding deletes') ? 'pause' : 'on'),
    fault: () => null,
    losesRequests: () => false,
    cutsPower: () => false,
  });

  expect(failure).toBeNull();
  expect(trace.indexOf('commit: Holding deletes of Thing')).toBeGreaterThan(
    trace.findIndex((line) => line.startsWith('user: DROP TRIGGER')),
  );
  expect(deedCount).toBe(deeds.length);
}, 20_000);
