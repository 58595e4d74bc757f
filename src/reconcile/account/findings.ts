/**
 * Turns facts into problems: one function for each form of fact. The catalogue in problems.ts uses them. Pure.
 */
import { ageText, countText, someOf, withoutName } from '../../base/text.ts';
import type { AccountFacts, FilesNotHere, FoundComplaint, Misnamed, RemadePart, TableFacts } from './facts.ts';

/** What a fact says; without a table it is null, without a count 1. */
export interface Finding {
  readonly sentence: string;
  readonly hint: string;
  /** The message of an error, if the sentence has more: a text with the message need not repeat the sentence. */
  readonly words?: string;
  readonly table?: string | null;
  readonly count?: number;
  readonly since?: string | null;
}

type Find = (facts: AccountFacts) => readonly Finding[];

/** Errors that pass by themselves: rowsync tries again, and no one has to act. */
export const PASSING: ReadonlySet<string> = new Set([
  'origin.busy',
  'origin.cutShort',
  'origin.moving',
  'origin.notApi',
  'origin.proxy',
  'origin.samePage',
  'origin.shortPage',
  'origin.stopped',
  'origin.timeout',
  'origin.truncated',
  'origin.unexpected',
  'origin.unknownOutcome',
  'origin.unreachable',
  'pull.unsettled',
  'push.identity',
  'push.shape',
  'push.unanswered',
  'replica.busy',
  'replica.inUse',
  'sink.busy',
  'sink.unreachable',
]);
const DAMAGED: ReadonlySet<string> = new Set(['replica.damaged', 'replica.newer', 'replica.log']);
const CREDENTIALS: ReadonlySet<string> = new Set(['origin.unauthorized', 'origin.forbidden']);

/** Guards that `--confirm` does not override: a person has to do something else. */
const UNCONFIRMABLE: ReadonlySet<string> = new Set(['guard.columns', 'guard.pending']);

/** Errors by what they require. */
type Kind = 'damaged' | 'credentials' | 'maskKey' | 'kept' | 'held' | 'sum' | 'late' | 'failed';

function kindOf({ code }: FoundComplaint): Kind {
  if (DAMAGED.has(code)) return 'damaged';
  if (CREDENTIALS.has(code)) return 'credentials';
  if (code === 'config.maskKey' || code === 'guard.maskKey') return 'maskKey';
  if (UNCONFIRMABLE.has(code)) return 'kept';
  if (code.startsWith('guard.')) return 'held';
  if (code === 'pull.sum') return 'sum';
  return PASSING.has(code) ? 'late' : 'failed';
}

function isPassing(complaint: FoundComplaint): boolean {
  return kindOf(complaint) === 'late';
}

const OF_ALL: ReadonlySet<FoundComplaint['about']> = new Set(['replica', 'pull', 'push', 'daemon']);

export function ofAll(...kinds: readonly Kind[]): Find {
  return (facts) =>
    facts.complaints
      .filter((it) => OF_ALL.has(it.about) && kinds.includes(kindOf(it)) && !isOver(it, facts))
      .map((it) => saidOfRun(it, facts));
}

/** Whether the failure is over: it passes by itself, a later run succeeded, and no edit waits for another push. */
function isOver(complaint: FoundComplaint, { tables }: AccountFacts): boolean {
  return (
    complaint.about === 'push' &&
    complaint.run?.isAnsweredSince === true &&
    isPassing(complaint) &&
    tables.every(({ oldestPendingAt }) => oldestPendingAt === null)
  );
}

/** Names the run and its time, since others may have succeeded later. A person agrees to a guard's own message. */
function saidOfRun(complaint: FoundComplaint, { nowMs, keeper }: AccountFacts): Finding {
  const { about, run, since, message: words } = complaint;
  const found = said(complaint);
  if (run === undefined || kindOf(complaint) === 'held') return found;
  const next = keeper === 'service' ? 'rowsync tries again by itself' : `run rowsync ${about}`;
  // The origin may refuse one kind of run and answer another.
  const isPassed = run.isAnsweredSince && isPassing(complaint) && complaint.code.startsWith('origin.');
  return {
    ...found,
    words,
    sentence: `The last ${about}, ${ageText(since, nowMs)} (run ${run.id}), failed: ${words}`,
    hint: isPassed ? `The origin has answered since: ${next}.` : found.hint,
  };
}

/** Complaints about one table, of some kinds. */
export function ofTables(...kinds: readonly Kind[]): Find {
  return complaintsAbout('table', (it) => kinds.includes(kindOf(it)));
}

/** A finding with the complaint's own message. */
function said({ message, hint, since, subject: table }: FoundComplaint): Finding {
  // Every surface shows the table before the sentence.
  return { table, sentence: table === null ? message : withoutName(message, table), hint, since };
}

/** Complaints about one subject, or some of them, with their own messages. */
export function complaintsAbout(what: string, isMeant: (complaint: FoundComplaint) => boolean = () => true): Find {
  return ({ complaints }) => complaints.filter((it) => it.about === what && isMeant(it)).map(said);
}

/** At most one finding from all facts. */
export function ofOne(findingOf: (facts: AccountFacts) => Finding | null): Find {
  return (facts) => [findingOf(facts)].filter((found) => found !== null);
}

/** At most one finding per table. */
export function ofEach(findingOf: (table: TableFacts) => Finding | null): Find {
  return ({ tables }) =>
    tables.flatMap((table) => {
      const found = findingOf(table);
      return found === null ? [] : [{ table: table.table, ...found }];
    });
}

/** A finding for each table with a count above 0. */
export function counted(
  countOf: (table: TableFacts) => number,
  sentenceOf: (count: number) => string,
  hint: string,
): Find {
  return ofEach((table) => {
    const count = countOf(table);
    return count === 0 ? null : { count, sentence: sentenceOf(count), hint };
  });
}

/** Files that are not here, by table, and why the last work on files failed. */
export function ofFiles(
  isLate: boolean,
  countOf: (files: FilesNotHere) => number,
  sentenceOf: (count: number) => string,
): Find {
  const hint = "SELECT * FROM sync_files WHERE state = 'failed' says which, and why. rowsync files pull tries now.";
  const ofEachTable = ofEach(({ filesNotHere }) => {
    const count = filesNotHere === null ? 0 : countOf(filesNotHere);
    if (filesNotHere === null || count === 0) return null;
    const worst = filesNotHere.worst === null ? '' : `; the worst is ${filesNotHere.worst}`;
    return { count, sentence: `${sentenceOf(count)}${worst}`, hint };
  });
  const ofWork = complaintsAbout('files', (it) => isPassing(it) === isLate);
  return (facts) => [...ofEachTable(facts), ...ofWork(facts)];
}

export function ofRemade(kind: RemadePart['kind'], sentenceOf: (part: RemadePart) => string, hint: string): Find {
  return ({ remade }) =>
    remade
      .filter((part) => part.kind === kind)
      .map((part) => ({ table: part.table, since: part.since, sentence: sentenceOf(part), hint }));
}

/** Misnamed options of one kind. */
export function misnamed(kind: Misnamed['kind'], hint: string): Find {
  return (facts) => facts.misnamed.filter((it) => it.kind === kind).map(({ sentence }) => ({ sentence, hint }));
}

/** A shorter delay is a long read, not a missed schedule. */
const LATE_MS_MIN = 15 * 60_000;

/** Tables that are late by their schedule, in one sentence. */
export function lateTables({ tables, nowMs, keeper }: AccountFacts): readonly Finding[] {
  if (keeper === 'nobody') return [];
  const late = tables
    .flatMap(({ table, state, freshSince, followedAt, lateAfterMs }) => {
      const last = [freshSince, followedAt]
        .filter((stamp) => stamp !== null)
        .toSorted()
        .at(-1);
      if (last === undefined || lateAfterMs === null || state === 'gone' || state === 'loading') return [];
      return nowMs - Date.parse(last) > Math.max(LATE_MS_MIN, lateAfterMs) ? [{ table, last }] : [];
    })
    .toSorted((a, b) => Date.parse(a.last) - Date.parse(b.last));
  const [oldest] = late;
  if (oldest === undefined) return [];
  const names = someOf(late.map(({ table }) => table));
  const sentence =
    late.length === 1
      ? `${names} was last read ${ageText(oldest.last, nowMs)}, later than its schedule says`
      : `${countText(late.length)} tables were not read as their schedule says, the oldest ${ageText(oldest.last, nowMs)}: ${names}`;
  const hint = 'See whether the daemon works (rowsync check), and whether one read takes longer than schedule.pull.';
  return [{ count: late.length, since: oldest.last, sentence, hint }];
}

/** Tables with edits that are late by their schedule and have no other complaint. */
export function lateEdits({ tables, complaints, nowMs, keeper }: AccountFacts): readonly Finding[] {
  if (keeper === 'nobody') return [];
  const explained = new Set(complaints.filter(({ about }) => about === 'table').map(({ subject }) => subject));
  return tables.flatMap(({ table, state, oldestPendingAt: since, editsLateAfterMs }) => {
    if (since === null || editsLateAfterMs === null || state === 'gone' || explained.has(table)) return [];
    if (nowMs - Date.parse(since) <= Math.max(LATE_MS_MIN, editsLateAfterMs)) return [];
    const sentence = `edits wait to be pushed since ${ageText(since, nowMs)}, longer than the schedule says`;
    return [{ table, since, sentence, hint: 'See whether the daemon works (rowsync check), or run rowsync push.' }];
  });
}
