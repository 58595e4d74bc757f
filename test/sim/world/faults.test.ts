import { expect, test } from 'vitest';
import type { WireAnswer } from '../../../src/origin/transport.ts';
import { answerOf, FAULTS, type RequestKind } from './faults.ts';
import { Draw } from './tape.ts';

const NOTHING = answerOf(200, {}, '{}');

function struckBy(kind: RequestKind, other: WireAnswer): unknown {
  const fault = FAULTS.find(({ name }) => name === 'otherAnswer');
  return fault?.strike({ answer: NOTHING, other, ids: [], kind, draw: new Draw(0), wallMs: 0 });
}

test.each([
  ['change', 403, false],
  ['change', 401, false],
  ['change', 500, true],
  ['change', 200, true],
  ['rows', 403, true],
] as const)('the answer to another request, for a %s: %i comes through is %s', (kind, status, comes) => {
  const other = answerOf(status, {}, '{"error":1}');

  expect(struckBy(kind, other)).toEqual(comes ? other : null);
});
