/**
 * Planted silences: a problem, a row or an edit that the account, or one of its surfaces, forgets.
 */
import type { Mutant } from './mutant.ts';

/** What nobody would be told. */
export const SILENCE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a-push-clears-a-failed-pull',
    without: 'A run in one direction takes away what a run in the other failed of.',
    edits: [{ file: 'replica/stored-errors.ts', find: "GROUP BY replace(kind, 'follow', 'pull'))", replace: ')' }],
  },
  {
    name: 'refused-rows-are-not-told',
    without: 'Rows that the origin refused are not in the account.',
    edits: [
      {
        file: 'reconcile/account/problems.ts',
        find: '=> refusedCount - inDoubtCount - unsendableCount,',
        replace: '=> Math.min(0, refusedCount - inDoubtCount - unsendableCount),',
      },
    ],
  },
  {
    name: 'rows-in-doubt-are-not-told',
    without: 'Rows in doubt are not in the account.',
    edits: [
      {
        file: 'reconcile/account/problems.ts',
        find: '({ inDoubtCount }) => inDoubtCount,',
        replace: '({ inDoubtCount }) => inDoubtCount * 0,',
      },
    ],
  },
  {
    name: 'open-conflicts-are-not-told',
    without: 'Conflicts that wait for a person are not in the account.',
    edits: [
      {
        file: 'reconcile/account/problems.ts',
        find: '({ conflictCount }) => conflictCount,',
        replace: '({ conflictCount }) => conflictCount * 0,',
      },
    ],
  },
  {
    name: 'a-lost-edit-is-not-counted',
    without: 'Of edits that lost, the last one is not counted.',
    edits: [
      {
        file: 'replica/bookkeeping/conflicts.ts',
        find: 'SELECT table_id, count(*) AS count, min(at) AS first',
        replace: 'SELECT table_id, count(*) - 1 AS count, min(at) AS first',
      },
    ],
  },
  {
    name: 'one-unreadable-row-is-none',
    without: 'A single row that cannot be read is not in the account.',
    edits: [
      {
        file: 'reconcile/account/problems.ts',
        find: 'firstUnreadable: first }) =>\n      count === 0',
        replace: 'firstUnreadable: first }) =>\n      count <= 1',
      },
    ],
  },
  {
    name: 'failed-files-are-not-told',
    without: 'Files that could not be fetched are not in the account.',
    edits: [
      {
        file: 'daemon/account-facts.ts',
        find: 'withoutFiles.has(table.table) ? null : (files.get(table.table) ?? null)',
        replace: 'null',
      },
    ],
  },
  {
    name: 'skipped-tables-are-not-told',
    without: 'A table that failed, and that a run skips for it, is left out of the account.',
    edits: [
      {
        file: 'daemon/account-facts.ts',
        find: "about === 'table' && leftOut.has(subject ?? '')",
        replace: "about === 'table' && !leftOut.has(subject ?? '')",
      },
    ],
  },
  {
    name: 'parked-alone-without-words',
    without: 'A row that ends every request that carries it is parked without a reason.',
    edits: [
      {
        file: 'reconcile/push-settle.ts',
        find: 'const reason = `sent alone, it got no answer about it: ${words.message}`;',
        replace: "const reason = '';",
      },
    ],
  },
  {
    name: 'misspelt-keys-are-not-told',
    without: 'A key of the configuration that matches no table is not in the account.',
    edits: [
      {
        file: 'reconcile/option-bindings.ts',
        find: '...strayKeys(configured, described).map(',
        replace: '...strayKeys({ ...configured, keys: [] }, described).map(',
      },
    ],
  },
  {
    name: 'held-tables-are-not-told',
    without: 'What a guard holds of a table is not in the account.',
    edits: [{ file: 'reconcile/account/problems.ts', find: "find: ofTables('held'),", replace: 'find: ofTables(),' }],
  },
  {
    name: 'late-tables-are-not-told',
    without: 'A table that failed, and is tried again, is not in the account.',
    edits: [{ file: 'reconcile/account/problems.ts', find: "find: ofTables('late'),", replace: 'find: ofTables(),' }],
  },
  {
    name: 'one-failed-table-hides-another',
    without: 'Of several tables that failed, the first alone is in the account.',
    edits: [
      {
        file: 'reconcile/account/findings.ts',
        find: "return complaintsAbout('table', (it) => kinds.includes(kindOf(it)));",
        replace: "return (facts) => complaintsAbout('table', (it) => kinds.includes(kindOf(it)))(facts).slice(0, 1);",
      },
    ],
  },
  {
    name: 'refused-credentials-are-not-told',
    without: 'That the origin does not accept the token is not in the account.',
    edits: [{ file: 'reconcile/account/problems.ts', find: "find: ofAll('credentials'),", replace: 'find: ofAll(),' }],
  },
  {
    name: 'probes-forget-what-needs-a-person',
    without: '/readyz does not say what needs a person.',
    edits: [
      {
        file: 'extras/http/server.ts',
        find: "(isReady ? 'ok\\n' : '') + problems.map(",
        replace: "(isReady ? 'ok\\n' : '') + problems.filter((it) => it.severity !== 'person').map(",
      },
    ],
  },
  {
    name: 'agents-are-told-of-listed-tables-only',
    without: 'An agent that asks how old the data is hears nothing of a problem whose table is not listed.',
    edits: [{ file: 'extras/mcp/tool-process.ts', find: '!names.has(table))', replace: 'table === null)' }],
  },
];
