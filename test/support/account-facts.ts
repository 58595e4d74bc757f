/** Facts for tests of the account: a replica that is well, and what is changed of it. */
import { problemsOf } from '../../src/daemon/account-facts.ts';
import { EXTRAS } from '../../src/extras.ts';
import { accountOf, type Problem } from '../../src/reconcile/account/account.ts';
import { catalogueWith } from '../../src/reconcile/account/problems.ts';
import type { AccountFacts, FoundComplaint, TableFacts } from '../../src/reconcile/account/facts.ts';

/** The problems of all extras, and those of the core as well. */
const ADDED = problemsOf(EXTRAS);
export const ALL_PROBLEMS = catalogueWith(ADDED);

export const NOW = Date.parse('2026-11-21T12:00:00Z');

/** A table of which nothing is to be said. */
export const TABLE: TableFacts = {
  table: 'Customer',
  state: 'steady',
  freshSince: '2026-11-21T11:55:00Z',
  followedAt: null,
  unreadableCount: 0,
  firstUnreadable: null,
  pageRows: null,
  refusedCount: 0,
  inDoubtCount: 0,
  unsendableCount: 0,
  conflictCount: 0,
  lost: null,
  filesNotHere: null,
  oldestPendingAt: null,
  lateAfterMs: 600_000,
  editsLateAfterMs: 600_000,
};

/** Facts of which nothing is to be said. */
export const STEADY: AccountFacts = {
  nowMs: NOW,
  replica: 'here',
  tables: [TABLE],
  complaints: [],
  misnamed: [],
  remade: [],
  putBack: null,
  keeper: 'daemon',
  lastRunAt: null,
};

/** The account of a program with all extras. */
export function accountWithAll(facts: AccountFacts): readonly Problem[] {
  return accountOf(facts, ADDED);
}

/** The problems that these facts make, with their severity. */
export function codes(changes: Partial<AccountFacts>): readonly string[] {
  return accountWithAll({ ...STEADY, ...changes }).map(({ code, severity }) => `${severity} ${code}`);
}

export function complaint(about: FoundComplaint['about'], code: string): FoundComplaint {
  return { about, subject: null, code, message: 'said', hint: 'do', since: null };
}
