/**
 * When a change happened, as far as anything tells. At the origin: after the row was last known to be equal to what is here, and not
 * after the answer that brought the change. The origin's own stamp narrows that where it moved with the change and lies inside. Times
 * are whole seconds since 1970; both ends belong to the interval. Pure.
 */

export type Cause = 'pull' | 'push' | 'edit' | 'decision' | 'discard' | 'filter' | 'schema' | 'restore';

export interface ChangeTimes {
  readonly cause: Cause;
  /** Now. */
  readonly at: number;
  /** When the row was last vouched for; null where that is not known. */
  readonly provenAt: number | null;
  /** When edits of the table were last looked for. */
  readonly capturedAt: number | null;
  /** When the origin was last asked for all that it stamps as changed; null for never. */
  readonly followedAt: number | null;
  /** The origin's stamp of the row, where it moved with this change. */
  readonly stampedAt: number | null;
}

/** When it happened: at least one change in between. */
export interface Interval {
  readonly notBefore: number | null;
  readonly notAfter: number;
}

export function intervalOf(times: ChangeTimes): Interval {
  const { cause, at, provenAt, capturedAt, followedAt, stampedAt } = times;
  if (cause === 'edit') return { notBefore: atMost(capturedAt, at), notAfter: at };
  if (cause === 'schema' || cause === 'filter') return { notBefore: null, notAfter: at };
  if (cause === 'decision' || cause === 'discard' || cause === 'restore') return { notBefore: at, notAfter: at };
  const notBefore = atMost(provenAt, at);
  const isInside = stampedAt !== null && stampedAt <= at && (notBefore === null || stampedAt >= notBefore);
  if (!isInside) return { notBefore, notAfter: at };
  // An earlier stamp would have been read then.
  const isBehind = followedAt !== null && stampedAt > followedAt;
  return { notBefore: isBehind ? Math.max(followedAt, notBefore ?? followedAt) : notBefore, notAfter: stampedAt };
}

/** A clock that was set back must not turn an interval round. */
function atMost(bound: number | null, at: number): number | null {
  return bound === null || bound <= at ? bound : null;
}
