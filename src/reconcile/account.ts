/**
 * The account: everything that is not as it should be, as one list of problems. The command line, the page, probes, metrics, notices and agents render
 * this list; none of them judges for itself. problems.ts says how to add a problem. Pure.
 */
import type { AccountFacts } from './account-facts.ts';
import { CATALOGUE, type ProblemCode, type Severity } from './problems.ts';

/** The most severe first. */
const SEVERITIES: readonly Severity[] = ['damaged', 'person', 'late', 'notice'];

/** Something that is not as it should be. */
export interface Problem {
  readonly code: ProblemCode;
  readonly severity: Severity;
  /** The name of the table here; null for a problem of more than one, or of none. */
  readonly table: string | null;
  /** How many rows, conflicts or tables; 1 where nothing is counted. */
  readonly count: number;
  /** Since when, as a stamp; null where that is not known. */
  readonly since: string | null;
  readonly sentence: string;
  readonly todo: string;
}

/** Every problem, the most severe first. */
export function accountOf(facts: AccountFacts): readonly Problem[] {
  const problems = CATALOGUE.flatMap(({ code, severity, find }) =>
    find(facts).map((found): Problem => ({ code, severity, table: null, count: 1, since: null, ...found })),
  );
  const distinct = new Map(
    problems.map((problem) => [`${problem.code} ${problem.table} ${problem.sentence}`, problem]),
  );
  return [...distinct.values()].toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

/** The worst severity of an account; null if it is empty. */
export function worstOf(problems: readonly Pick<Problem, 'severity'>[]): Severity | null {
  return SEVERITIES.find((severity) => problems.some((problem) => problem.severity === severity)) ?? null;
}
