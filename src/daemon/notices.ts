/**
 * Notices: messages to people, decided from the events of the log. Input: an event with its facts, earlier notices, and the monotonic time, so that
 * setting the clock suppresses no notice. Output: a notice, or null. Pure.
 *
 * A notice tells what needs a person (refused credentials, guards, waiting rows), repeated failures, a table's first failure, failed work, and
 * recovery. The same notice is repeated only after a while, and their number in an hour is bounded: people do not read a storm of messages.
 */
import type { LogEvent } from '../base/log-events.ts';
import type { LogFacts } from '../base/log.ts';

/** Why a notice is sent. */
export type NoticeKind = 'needsPerson' | 'failing' | 'recovered';

/** One message to a person. */
export interface Notice {
  readonly kind: NoticeKind;
  /** Its subject: a table, a kind of work, or `everything`. */
  readonly subject: string;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** Earlier notices. */
export interface Told {
  /** When a notice of a kind was last sent, by kind and subject. */
  readonly atMsByKey: ReadonlyMap<string, number>;
  /** When the notices of the last hour were sent. */
  readonly recentMs: readonly number[];
}

/** The state before the first notice. */
export const NOTHING_TOLD: Told = { atMsByKey: new Map(), recentMs: [] };

/** Successive failures of the origin before a notice: some three minutes, longer than a restart there. */
const FAILURES_BEFORE_TELLING = 3;
const HOUR_MS = 3_600_000;
/** Notices in an hour. */
const PER_HOUR_MAX = 12;

/** The notice for an event; null for none, or too soon. */
export function judgeNotice(
  event: LogEvent,
  facts: LogFacts,
  told: Told,
  options: { readonly nowMs: number; readonly repeatMs: number },
): { readonly notice: Notice; readonly told: Told } | null {
  const notice = noticeOf(event, facts);
  if (notice === null) return null;
  const { nowMs, repeatMs } = options;
  const recentMs = told.recentMs.filter((ms) => nowMs - ms < HOUR_MS);
  const keys = [`failing ${notice.subject}`, `needsPerson ${notice.subject}`];
  const atMsByKey = new Map(told.atMsByKey);
  if (notice.kind === 'recovered') {
    const wasTold = keys.filter((key) => atMsByKey.delete(key)).length > 0;
    return wasTold ? { notice, told: { atMsByKey, recentMs: [...recentMs, nowMs] } } : null;
  }
  const key = `${notice.kind} ${notice.subject}`;
  const lastMs = atMsByKey.get(key);
  if (lastMs !== undefined && nowMs - lastMs < repeatMs) return null;
  if (recentMs.length >= PER_HOUR_MAX) return null;
  atMsByKey.set(key, nowMs);
  return { notice, told: { atMsByKey, recentMs: [...recentMs, nowMs] } };
}

function noticeOf(event: LogEvent, facts: LogFacts): Notice | null {
  const text = (fact: keyof LogFacts): string => String(facts[fact] ?? '');
  // An event without an error code has its own name as code.
  const said = { code: text('code') || event, message: text('message'), hint: text('hint') };
  const attempt = Number(facts.attempt ?? 0);
  switch (event) {
    case 'circuit.opened':
      if (facts.reason === 'auth' || facts.code === 'replica.damaged')
        return { kind: 'needsPerson', subject: 'everything', ...said };
      return attempt < FAILURES_BEFORE_TELLING ? null : { kind: 'failing', subject: 'everything', ...said };
    case 'circuit.closed':
      return { ...said, kind: 'recovered', subject: 'everything', message: 'Work goes on as before' };
    case 'identity.changed':
      return { ...said, kind: 'needsPerson', subject: 'the calling user' };
    case 'table.gone': {
      const message = 'The origin no longer shows the table; its rows stay here, and its edits wait';
      return { ...said, kind: 'needsPerson', subject: text('table'), message };
    }
    case 'guard.waits':
      return { kind: 'needsPerson', subject: text('table') || 'all tables', ...said };
    case 'rows.parked': {
      const message = `${text('rowCount')} edited ${text('rowCount') === '1' ? 'row waits' : 'rows wait'}: refused, in conflict or in doubt`;
      return { ...said, kind: 'needsPerson', subject: `rows of ${text('table')}`, message };
    }
    case 'rows.settled':
      return { ...said, kind: 'recovered', subject: `rows of ${text('table')}`, message: 'No row waits any more' };
    case 'table.restored':
      return { kind: 'needsPerson', subject: text('table'), ...said };
    case 'table.waits':
      return { kind: 'failing', subject: text('table'), ...said };
    case 'table.recovered':
      return { ...said, kind: 'recovered', subject: text('table'), message: 'The table is well again' };
    case 'work.failed':
      return { kind: 'failing', subject: text('work'), ...said };
    case 'sink.failed': {
      const subject = `sink ${text('sink')}`;
      if (facts.code === 'sink.taken' || facts.code === 'sink.rights') return { kind: 'needsPerson', subject, ...said };
      return attempt < FAILURES_BEFORE_TELLING ? null : { kind: 'failing', subject, ...said };
    }
    case 'sink.recovered':
      return { ...said, kind: 'recovered', subject: `sink ${text('sink')}`, message: 'The sink follows again' };
    default:
      return null;
  }
}
