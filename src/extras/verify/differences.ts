/**
 * Tables that differed when a running daemon last compared them with the origin.
 */
import { stampFromMs } from '../../base/clock.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { LinkedPart, Metric } from '../shared/linked-extra.ts';
import type { FoundComplaint } from '../../reconcile/account/facts.ts';

const DIFFERENCES: ReadonlySet<ErrorCode | undefined> = new Set(['verify.mismatch', 'verify.notModified']);

export function watchDifferences(): LinkedPart {
  /** By the names of the tables here. */
  const complaints = new Map<string, FoundComplaint>();
  let foundCount = 0;
  return {
    takeWork: (event) => {
      if (event.kind !== 'ended' || event.work !== 'verify') return;
      for (const { localName, held } of event.tables) {
        complaints.delete(localName);
        if (held === null || !DIFFERENCES.has(held.code)) continue;
        const { code, message, hint } = held;
        const since = stampFromMs(event.finishedAtMs);
        complaints.set(localName, { about: 'rows.different', subject: localName, code, message, hint, since });
        foundCount += 1;
      }
    },
    word: () => ({ complaints: [...complaints.values()] }),
    metrics: () => [mismatchMetric(foundCount)],
  };
}

export function mismatchMetric(value: number): Metric {
  const help = 'Tables that verify found to differ from the origin.';
  return { name: 'audit_mismatch_total', kind: 'counter', help, samples: [{ value }] };
}
