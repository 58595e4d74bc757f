/**
 * The weather of a soak: plans of faults at the origin, one after the other, a calm one now and then. Random, from a
 * seed; no I/O.
 */
import type { FaultPlan, FaultRule } from '../../src/sandbox/server/faults.ts';
import type { Random } from '../../src/sandbox/data/random.ts';

/** What may be wrong with the origin for a while; each plan is one kind of bad day. */
const STORMS: Readonly<Record<string, readonly FaultRule[]>> = {
  calm: [],
  failing: [
    { fault: 'failure', probability: 0.1 },
    { fault: 'unavailable', probability: 0.1, retryAfter: 1 },
  ],
  throttled: [{ fault: 'tooMany', probability: 0.25, retryAfter: 1 }],
  cut: [
    { fault: 'resetBefore', probability: 0.06 },
    { fault: 'resetAfter', probability: 0.06 },
    { fault: 'truncated', probability: 0.06 },
  ],
  foreign: [
    { fault: 'html', probability: 0.08 },
    // Not of files: a cell does not say how large its file is, so one that is cut to the length announced looks whole.
    ...['describe', 'user', 'select', 'retrieve', 'attachments', 'create', 'update', 'upsert', 'delete'].map(
      (method): FaultRule => ({ fault: 'wrongLength', method, probability: 0.06, bytes: 3 }),
    ),
  ],
  slow: [
    { fault: 'delay', probability: 0.3, ms: 400 },
    { fault: 'drip', probability: 0.02, bytes: 2_000, ms: 20 },
  ],
  lying: [
    { fault: 'notModified', probability: 0.05 },
    { fault: 'staleEtag', probability: 0.05 },
  ],
  down: [{ fault: 'unavailable', probability: 0.9, retryAfter: 1 }],
  lostWrites: ['create', 'update', 'upsert', 'delete'].flatMap((method): readonly FaultRule[] => [
    { fault: 'resetAfter', method, probability: 0.3 },
    { fault: 'failure', method, probability: 0.1 },
  ]),
};

/** The weather for a while, with its name. */
export function drawStorm(random: Random): { readonly name: string; readonly plan: FaultPlan } {
  const name = random.pick(Object.keys(STORMS));
  return { name, plan: { seed: random.integer(1, 1e9), faults: STORMS[name] ?? [] } };
}
