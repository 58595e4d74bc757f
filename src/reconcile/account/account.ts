/**
 * The account: everything that is wrong, as one list of problems. The command line, the page, probes, metrics, notices
 * and agents only show this list; none of them decides what is a problem. problems.ts explains how to add one. Pure.
 */
import type { AccountFacts } from './facts.ts';
import { complaintsAbout } from './findings.ts';
import { type AddedProblem, CATALOGUE, catalogueWith, type ProblemCode, type Severity } from './problems.ts';

/** The most severe first. */
const SEVERITIES: readonly Severity[] = ['damaged', 'person', 'late', 'notice'];

/** Something that is wrong or worth knowing. */
export interface Problem {
  readonly code: ProblemCode;
  readonly severity: Severity;
  /** The table's local name; null for a problem of several tables, or of none. */
  readonly table: string | null;
  /** How many rows, conflicts or tables; 1 if nothing is counted. */
  readonly count: number;
  /** Since when, as a stamp; null where that is not known. */
  readonly since: string | null;
  /** May contain an age, so a problem is recognized over time by its code, table and `since`. */
  readonly sentence: string;
  readonly hint: string;
  /** The message of the error in the sentence of a failed run. */
  readonly words?: string;
}

/** Every problem, also of those that extras bring, the most severe first. */
export function accountOf(facts: AccountFacts, added: readonly AddedProblem[]): readonly Problem[] {
  const problems = catalogueWith(added).flatMap(({ code, severity, find = complaintsAbout(code) }) =>
    find(facts).map((found): Problem => ({ code, severity, table: null, count: 1, since: null, ...found })),
  );
  // If all work has stopped, everything is late for that reason.
  const isEffect = ({ code }: Problem): boolean => code === 'tables.late' || code === 'edits.late';
  const causes = stopOf(problems) === null ? problems : problems.filter((problem) => !isEffect(problem));
  const distinct = new Map(causes.map((problem) => [`${problem.code} ${problem.table} ${problem.sentence}`, problem]));
  return [...distinct.values()].toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

/** Problems that stop all work. */
const STOPPING: ReadonlySet<ProblemCode> = new Set(CATALOGUE.filter((it) => 'stopsAll' in it).map(({ code }) => code));

/** The first problem that stops all work; null if some work continues. */
export function stopOf(problems: readonly Problem[]): Problem | null {
  return problems.find(({ code }) => STOPPING.has(code)) ?? null;
}

/** Names of the tables that have a problem of their own. */
export function troubledTables(problems: readonly Problem[]): ReadonlySet<string> {
  return new Set(problems.flatMap(({ table }) => table ?? []));
}

/** The worst severity of an account; null if it is empty. */
export function worstOf(problems: readonly Pick<Problem, 'severity'>[]): Severity | null {
  return SEVERITIES.find((severity) => problems.some((problem) => problem.severity === severity)) ?? null;
}
