/**
 * The top of the page: the account in one sentence, its tone, and the problems with what to do.
 */
import { ageText, countText, durationText, plural } from '../../base/text.ts';
import { stopOf, type Problem } from '../../reconcile/account/account.ts';
import type { TableStatus } from '../../replica/reader.ts';
import type { DaemonState } from '../../daemon/state.ts';

/** All well · work continues, or data is late · a person is needed · nothing works. */
export type Tone = 'ok' | 'busy' | 'warn' | 'bad';

export interface Headline {
  readonly tone: Tone;
  readonly sentence: string;
  readonly note: string;
  readonly problems: readonly Problem[];
}

export function headlineOf(
  problems: readonly Problem[],
  given: { readonly state: DaemonState; readonly tables: readonly TableStatus[]; readonly nowMs: number },
): Headline {
  const { state, tables, nowMs } = given;
  const note = noteOf(state, nowMs);
  if (stopOf(problems) !== null) {
    const { circuitWaitMs } = state;
    const next = circuitWaitMs > 0 ? `It is tried again in ${durationText(circuitWaitMs)}.` : 'It is tried again now.';
    return { tone: 'bad', sentence: 'Syncing is stopped', note: next, problems };
  }
  const needing = problems.filter(({ severity }) => severity === 'person');
  if (needing.length > 0) return { tone: 'warn', sentence: needingText(needing), note, problems };
  const [late] = problems.filter(({ severity }) => severity === 'late');
  if (late !== undefined) {
    const where = late.table === null ? '' : `${late.table}: `;
    return { tone: 'busy', sentence: `${where}${late.sentence}`, note, problems };
  }
  const oldest = tables.flatMap(({ freshSince }) => freshSince ?? []).toSorted()[0] ?? null;
  const pending = tables.reduce((sum, { pendingCount }) => sum + pendingCount, 0);
  const every = tables.length === 1 ? 'The table is' : `All ${countText(tables.length)} tables are`;
  const fresh = `Checked against the origin ${ageText(oldest, nowMs)}.`;
  return pending === 0
    ? { tone: 'ok', sentence: `${every} up to date`, note: `${fresh} ${note}`, problems }
    : { tone: 'busy', sentence: `${plural(pending, 'edited row')} to push`, note: `${fresh} ${note}`, problems };
}

function needingText(problems: readonly Problem[]): string {
  const count = new Set(problems.map(({ code, table }) => table ?? code)).size;
  const noun = problems.every(({ table }) => table !== null) ? 'table' : 'thing';
  return `${plural(count, noun)} ${count === 1 ? 'needs' : 'need'} attention`;
}

function noteOf({ working, jobs }: DaemonState, nowMs: number): string {
  if (working !== null) return `A ${working} is under way.`;
  const [next] = jobs.toSorted((a, b) => a.nextAtMs - b.nextAtMs);
  if (next === undefined) return 'Nothing is scheduled.';
  const kind = next.id.split(' ')[0] ?? next.id;
  return `The next ${kind} is in ${durationText(Math.max(0, next.nextAtMs - nowMs))}.`;
}
