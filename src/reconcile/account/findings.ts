/**
 * What facts of the account become problems: one function for each form of fact. problems.ts names them in its catalogue. Pure.
 */
import { ageText, countText, someOf } from '../../base/text.ts';
import type { AccountFacts, FilesNotHere, FoundComplaint, Misnamed, RemadePart, TableFacts } from './facts.ts';

/** What a fact says; the table is null and the count 1 where it does not say. */
export interface Finding {
  readonly sentence: string;
  readonly hint: string;
  /** The words of an error within the sentence, where it has more: a text that has them need not repeat it. */
  readonly words?: string;
  readonly table?: string | null;
  readonly count?: number;
  readonly since?: string | null;
}

type Find = (facts: AccountFacts) => readonly Finding[];

/** Errors that pass by themselves: rowsync tries again, and nobody has to act. */
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

/** Guards that `--confirm` does not let pass: a person has to do something else. */
const UNCONFIRMABLE: ReadonlySet<string> = new Set(['guard.columns', 'guard.pending']);

/** What an error asks for. */
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

/** Whether a push failed for a reason that passes by itself, a later run succeeded, and no edit waits for another push. */
function isOver(complaint: FoundComplaint, { tables }: AccountFacts): boolean {
  return (
    complaint.about === 'push' &&
    complaint.run?.isAnsweredSince === true &&
    isPassing(complaint) &&
    tables.every(({ oldestPendingAt }) => oldestPendingAt === null)
  );
}

/** Names the run with its time, since later runs of another kind may have succeeded. A person agrees to the words of a guard, which stay as they are. */
function saidOfRun(complaint: FoundComplaint, { nowMs, keeper }: AccountFacts): Finding {
  const { about, run, since, message: words } = complaint;
  const found = said(complaint);
  if (run === undefined || kindOf(complaint) === 'held') return found;
  const next = keeper === 'service' ? 'rowsync tries again by itself' : `run rowsync ${about}`;
  // What the origin refuses of one kind of run it may answer of another.
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

/** A complaint in its own words. */
function said({ message, hint, since, subject: table }: FoundComplaint): Finding {
  // Some messages begin with the name of their table, which every surface puts before the sentence.
  const sentence = table !== null && message.startsWith(`${table}: `) ? message.slice(table.length + 2) : message;
  return { table, sentence, hint, since };
}

/** Complaints about one thing, or some of them, in their own words. */
export function complaintsAbout(what: string, isMeant: (complaint: FoundComplaint) => boolean = () => true): Find {
  return ({ complaints }) => complaints.filter((it) => it.about === what && isMeant(it)).map(said);
}

/** What the facts say once, or null. */
export function ofOne(findingOf: (facts: AccountFacts) => Finding | null): Find {
  return (facts) => [findingOf(facts)].filter((found) => found !== null);
}

/** What is said of a table, or null. */
export function ofEach(findingOf: (table: TableFacts) => Finding | null): Find {
  return ({ tables }) =>
    tables.flatMap((table) => {
      const found = findingOf(table);
      return found === null ? [] : [{ table: table.table, ...found }];
    });
}

/** What is counted of a table. */
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

/** Files that are not here, by table, and what the last work on files failed of. */
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

/** Names in the configuration of one kind. */
export function misnamed(kind: Misnamed['kind'], hint: string): Find {
  return (facts) => facts.misnamed.filter((it) => it.kind === kind).map(({ sentence }) => ({ sentence, hint }));
}

/** Shorter delays are those of a long read, not of a schedule that is missed. */
const LATE_MS_MIN = 15 * 60_000;

/** Tables that were not read as their schedule says, in one sentence. */
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

/** Tables with edits that were not pushed as their schedule says, and no reason of their own. */
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
