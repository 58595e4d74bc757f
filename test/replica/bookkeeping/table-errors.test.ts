/**
 * What stops a table, and for how long: a hold ends with its last edit, and a consent covers only what a person was
 * shown.
 */
import { expect, test } from 'vitest';
import {
  endHolds,
  spendPushConfirmation,
  storeHold,
  storeProblem,
} from '../../../src/replica/bookkeeping/table-errors.ts';
import { readTable, storeFacts } from '../../../src/replica/bookkeeping/tables.ts';
import { openBare, type Bare } from '../../support/bare.ts';
import { AT } from '../../support/two-way.ts';

const PROBLEM = { code: 'origin.refused', message: 'it failed', hint: 'try again' };
const HELD = { code: 'guard.pushRows', message: 'too many', hint: 'confirm' };
const NONE = { message: null, hint: null };

function stored(bare: Bare, of: 'problem' | 'push' | 'held'): unknown {
  return bare.rows(
    `SELECT ${of}_code AS code, ${of}_message AS message, ${of}_hint AS hint FROM _rowsync_tables WHERE id = 1`,
  )[0];
}

function mark(bare: Bare, state: string | null): void {
  bare.execute('DELETE FROM _rowsync_rows');
  if (state !== null) bare.execute(`INSERT INTO _rowsync_rows VALUES (1, 5, '${state}', 0)`);
}

test('what stopped a pull and what stopped a push are kept apart, and each is cleared alone', async () => {
  await using bare = await openBare();
  await bare.makeTable(2, 'Task', []);
  await bare.write((tx) => {
    storeProblem(tx, 1, 'problem', PROBLEM);
    storeProblem(tx, 1, 'push', HELD);
  });
  expect([stored(bare, 'problem'), stored(bare, 'push')]).toEqual([PROBLEM, HELD]);

  await bare.write((tx) => storeProblem(tx, 1, 'problem', null));

  expect([stored(bare, 'problem'), stored(bare, 'push')]).toEqual([{ code: null, ...NONE }, HELD]);
  expect(readTable(bare.replica, 2)).toMatchObject({ problemCode: null, pushCode: null });
});

test('the same error again writes nothing, so that a table which fails each minute does not fill the log', async () => {
  await using bare = await openBare();
  const changed = (): Promise<unknown> =>
    bare.write((tx) => {
      storeProblem(tx, 1, 'problem', PROBLEM);
      return tx
        .prepare('SELECT changes()' as never)
        .pluck()
        .get();
    });

  expect([await changed(), await changed()]).toEqual([1, 0]);
});

test('a hold keeps the time at which it began, until it ends', async () => {
  await using bare = await openBare();
  const since = (): unknown => bare.rows('SELECT held_at AS at FROM _rowsync_tables')[0];
  await bare.write((tx) => storeHold(tx, 1, HELD, AT));
  await bare.write((tx) => storeHold(tx, 1, { ...HELD, message: 'still too many' }, '2026-11-22T12:00:00Z'));
  expect([stored(bare, 'held'), since()]).toEqual([{ ...HELD, message: 'still too many' }, { at: AT }]);

  await bare.write((tx) => storeHold(tx, 1, null, '2026-11-23T12:00:00Z'));
  expect([stored(bare, 'held'), since()]).toEqual([{ code: null, ...NONE }, { at: null }]);

  await bare.write((tx) => storeHold(tx, 1, HELD, '2026-11-24T12:00:00Z'));
  expect(since()).toEqual({ at: '2026-11-24T12:00:00Z' });
});

test.each([
  ['guard.pushRows', null, null],
  ['guard.pushRows', 'edited', 'guard.pushRows'],
  ['guard.pushRows', 'sending', 'guard.pushRows'],
  ['guard.pushRows', 'refused', null],
  ['guard.pushRows', 'conflicted', null],
  ['guard.columns', null, 'guard.columns'],
  ['origin.refused', null, 'origin.refused'],
])('%s with a row that is %s: what is left is %s', async (code, state, left) => {
  await using bare = await openBare();
  mark(bare, state);
  await bare.write((tx) => {
    storeProblem(tx, 1, 'push', { ...HELD, code });
    storeFacts(tx, 1, { push_consent: 7 });
    endHolds(tx, 1);
  });

  const areEditsLeft = state === 'edited' || state === 'sending';
  expect(readTable(bare.replica, 1)).toMatchObject({
    pushCode: left,
    pushConfirmedCount: areEditsLeft ? 7 : null,
  });
});

test.each([
  [null, null],
  ['inDoubt', null],
  ['edited', 'edits'],
  ['refused', 'edits'],
])('edits of an older copy with a row that is %s: what is left of the mark is %s', async (state, left) => {
  await using bare = await openBare();
  mark(bare, state);
  await bare.write((tx) => {
    storeFacts(tx, 1, { older_copy: 'edits' });
    endHolds(tx, 1);
  });

  expect(readTable(bare.replica, 1).olderCopy).toBe(left);
});

test('a consent loses the rows that are sent, is still one for none, and is none where there was none', async () => {
  await using bare = await openBare();
  const after = (consent: number | null, rowCount: number): Promise<number | null> =>
    bare.write((tx) => {
      storeFacts(tx, 1, { push_consent: consent });
      spendPushConfirmation(tx, 1, rowCount);
      return readTable(tx, 1).pushConfirmedCount;
    });

  expect([await after(10, 4), await after(10, 11), await after(0, 3), await after(null, 3)]).toEqual([6, 0, 0, null]);
});
