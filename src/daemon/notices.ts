/**
 * Notices: what a person should hear of without looking, decided from the events of the log. Input: an event with its facts,
 * what was told before, the monotonic time, since nobody must go unheard because a clock was set. Output: a notice, or null. Pure.
 *
 * It tells what needs a person (refused credentials, guards, rows that wait), what keeps failing, a table's first failure, and
 * work that failed. It also tells when something is well again. The same thing is told again only after a while, and all of them
 * together are bounded by the hour: a storm of messages is read by nobody.
 */
import type { LogEvent } from '../base/log-events.ts';
import type { LogFacts } from '../base/log.ts';

/** Why a notice is sent. */
export type NoticeKind = 'needsPerson' | 'failing' | 'recovered';

/** One message to a person. */
export interface Notice {
  readonly kind: NoticeKind;
  /** What it is about: a table, a kind of work, or `everything`. */
  readonly subject: string;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** What was told so far. */
export interface Told {
  /** When a subject was last told to be failing, or to need a person, by kind and subject. */
  readonly atMsByKey: ReadonlyMap<string, number>;
  /** When the notices of the last hour were sent. */
  readonly recentMs: readonly number[];
}

/** The memory of a daemon that has told nothing yet. */
export const NOTHING_TOLD: Told = { atMsByKey: new Map(), recentMs: [] };

/** Failures in a row of an origin that is down before it is told: some three minutes, longer than a restart there. */
const FAILURES_BEFORE_TELLING = 3;
const HOUR_MS = 3_600_000;
/** Notices in an hour. */
const PER_HOUR_MAX = 12;

/** What an event is worth telling; null for nothing, or too soon. */
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
  // What is no error has the name of its event.
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
