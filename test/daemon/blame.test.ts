/**
 * Whether a failure concerns one table, one kind of work or the whole origin, by the error and one small request.
 */
import { expect, test } from 'vitest';
import { RowsyncError } from '../../src/base/errors.ts';
import { questionOf, answerQuestion } from '../../src/daemon/circuit-breaker.ts';
import type { WorkOutcome } from '../../src/daemon/work-kinds.ts';

const BUSY = new RowsyncError('originDown', 'origin.busy', { message: 'busy', hint: '' });
const GONE = new RowsyncError('originDown', 'origin.unreachable', { message: 'not reached', hint: '' });
const REFUSED = new RowsyncError('auth', 'origin.forbidden', { message: 'refused', hint: '' });

function outcome(parts: Partial<WorkOutcome>): WorkOutcome {
  return { error: null, isOver: false, own: null, held: null, tables: [], facts: {}, ...parts };
}

/** One table that failed. */
function failed(error: RowsyncError): Pick<WorkOutcome, 'tables'> {
  const counts = { insertedCount: 0, updatedCount: 0, deletedCount: 0 };
  return { tables: [{ name: 'Note', localName: 'Note', error, held: null, counts, isFollowed: false }] };
}

test.each([
  ['nothing failed', 'pull', outcome({}), null],
  ['a table that could not be read', 'pull', outcome({ error: BUSY, ...failed(BUSY) }), 'outage'],
  ['work that knows that all would fail', 'pull', outcome({ error: BUSY, isOver: true }), null],
  ['an origin that cannot be reached', 'pull', outcome({ error: GONE }), null],
  ['a table that may not be read', 'pull', outcome(failed(REFUSED)), 'rights'],
  ['a pull that was refused as a whole', 'pull', outcome({ error: REFUSED }), null],
  ['a push that was refused as a whole', 'push', outcome({ error: REFUSED }), 'rights'],
] as const)('asks where it is in doubt: %s', (_what, work, came, doubt) => {
  expect(questionOf(work, came)).toBe(doubt);
});

test.each([
  ['the origin is down', outcome({ error: BUSY, ...failed(BUSY) }), 'outage', GONE, { error: GONE, own: null }],
  ['one table fails', outcome({ error: BUSY, ...failed(BUSY) }), 'outage', null, { error: null, own: null }],
  ['the work fails beside its tables', outcome({ error: BUSY }), 'outage', null, { error: null, own: BUSY }],
  [
    'a push lacks a right',
    outcome({ error: REFUSED, ...failed(REFUSED) }),
    'rights',
    null,
    { error: null, own: REFUSED },
  ],
  ['the credentials are refused', outcome({ error: REFUSED }), 'rights', REFUSED, { error: REFUSED, own: null }],
] as const)('puts the error where it belongs: %s', (_what, came, doubt, refusal, expected) => {
  expect(answerQuestion(came, doubt, refusal)).toMatchObject(expected);
});
