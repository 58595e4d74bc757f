/**
 * Notices: which problems of the account are reported to people, and when. A problem for a person is reported at once,
 * and one that may pass once it has lasted some minutes. The end of either is reported if the problem was. An event,
 * such as a lost edit, is reported once, and again when there are more. Where a person has more to do than before, that
 * is reported after half an hour; the same again only after `repeatMs`. The number of notices in an hour is bounded:
 * nobody reads a storm of messages. Times are monotonic, so that setting the clock suppresses nothing. Pure.
 */
import type { LogEvent } from '../../base/log-events.ts';
import type { LogFacts } from '../../base/log.ts';
import { byKey } from '../../daemon/account-watch.ts';
import type { Problem } from '../../reconcile/account/account.ts';
import { CATALOGUE, type ProblemCode, type Severity } from '../../reconcile/account/problems.ts';

/** Problems of which people are sent no notices. */
export const UNTOLD: ReadonlySet<ProblemCode> = new Set([
  ...CATALOGUE.flatMap((it) => ('untold' in it ? it.code : [])),
  'notices.failed',
]);

export type NoticeKind = 'needsPerson' | 'failing' | 'toKnow' | 'recovered' | 'changed';

const KINDS: Readonly<Record<Severity, NoticeKind>> = {
  damaged: 'needsPerson',
  person: 'needsPerson',
  late: 'failing',
  notice: 'toKnow',
};

export interface Notice {
  readonly kind: NoticeKind;
  /** Its subject: a table, or `everything`. */
  readonly subject: string;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

interface SeenProblem {
  readonly problem: Problem;
  readonly sinceMs: number;
  /** When it was last told, and the lowest count since; null for not yet. */
  readonly sent: { readonly ms: number; readonly count: number } | null;
}

export interface SentNotices {
  readonly seenByKey: ReadonlyMap<string, SeenProblem>;
  /** When the notices of the last hour were sent. */
  readonly recentMs: readonly number[];
}

export const NO_NOTICES_SENT: SentNotices = { seenByKey: new Map(), recentMs: [] };

/** How long a problem that may pass has to last: longer than a restart of the origin. */
const LATE_MS_MIN = 180_000;
/** How long after a notice people hear that the problem has grown. */
const GROWN_MS: Readonly<Record<Severity, number>> = { damaged: 0, notice: 0, person: 1_800_000, late: Infinity };
const HOUR_MS = 3_600_000;
/** Notices in an hour. */
const PER_HOUR_MAX = 12;

export function judgeNotices(
  problems: readonly Problem[],
  sent: SentNotices,
  { nowMs, repeatMs }: { readonly nowMs: number; readonly repeatMs: number },
): { readonly notices: readonly Notice[]; readonly sent: SentNotices } {
  const recentMs = sent.recentMs.filter((ms) => nowMs - ms < HOUR_MS);
  const notices: Notice[] = [];
  const tell = (notice: Notice): void => {
    notices.push(notice);
    recentMs.push(nowMs);
  };
  const before = new Map([...sent.seenByKey].map(([key, { problem }]) => [key, problem]));
  const present = byKey(
    problems.filter(({ code }) => !UNTOLD.has(code)),
    before,
  );
  const seenByKey = new Map<string, SeenProblem>();
  for (const [key, problem] of present) {
    const { sinceMs = nowMs, sent: last = null } = sent.seenByKey.get(key) ?? {};
    const { severity, count } = problem;
    const isDue = severity === 'late' ? nowMs - sinceMs >= LATE_MS_MIN : true;
    const againMs = severity === 'notice' ? Infinity : repeatMs;
    const waitMs = last !== null && count > last.count ? Math.min(GROWN_MS[severity], againMs) : againMs;
    const isNews = last === null || nowMs - last.ms >= waitMs;
    const isSent = isDue && isNews && recentMs.length < PER_HOUR_MAX;
    if (isSent) tell(noticeOf(KINDS[severity], problem));
    seenByKey.set(key, {
      problem,
      sinceMs,
      sent: isSent ? { ms: nowMs, count } : last && { ...last, count: Math.min(last.count, count) },
    });
  }
  for (const [key, { problem, sent: last }] of sent.seenByKey) {
    if (last !== null && problem.severity !== 'notice' && !present.has(key)) tell(noticeOf('recovered', problem));
  }
  return { notices, sent: { seenByKey, recentMs } };
}

function noticeOf(kind: NoticeKind, { code, table, sentence, hint }: Problem): Notice {
  const isOver = kind === 'recovered';
  return {
    kind,
    subject: table ?? 'everything',
    code,
    message: isOver ? `No longer: ${sentence}` : sentence,
    hint: isOver ? '' : hint,
  };
}

/** The notice of an event that is over as soon as it has happened, so that no account has it; null for any other. */
export function noticeOfEvent(event: LogEvent, facts: LogFacts): Notice | null {
  const text = (fact: keyof LogFacts): string => String(facts[fact] ?? '');
  if (event === 'schema.changed') {
    return { kind: 'changed', subject: 'the schema', code: event, message: text('message'), hint: '' };
  }
  if (event !== 'identity.changed') return null;
  const subject = 'the calling user';
  return { kind: 'needsPerson', subject, code: event, message: text('message'), hint: text('hint') };
}
