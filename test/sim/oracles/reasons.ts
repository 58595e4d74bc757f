/** Which problems say why a table is not as it should be. Pure. */
import type { Problem } from '../../../src/reconcile/account/account.ts';

/** What happened to a table once is no reason for what it is now. */
const PAST = 'table.remade';
/** Problems that say why everything is not as it should be. */
const OF_ALL: ReadonlySet<string> = new Set([
  'replica.damaged',
  'replica.unpulled',
  'credentials.refused',
  'run.held',
  'run.failed',
  'run.late',
]);

/** Whether an account says why a table is not as it should be, as a whole; a problem of another table is no reason. */
export function isGivenFor(
  problems: readonly Problem[],
  { table, state }: { readonly table: unknown; readonly state: unknown },
): boolean {
  return problems.some(
    (problem) =>
      OF_ALL.has(problem.code) ||
      (problem.code === 'tables.loading' && (table === null || state === 'loading')) ||
      (problem.table === table && problem.code.startsWith('table.') && problem.code !== PAST),
  );
}
